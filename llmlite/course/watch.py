"""What tensors a piece of work makes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode


class Watch(TorchDispatchMode):
    """While it is on, notes the shape of every tensor that an operation writes, new or in place; views write nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []
        self.written = 0  # bytes

    def __torch_dispatch__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        for made in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(made, Tensor) and not func.is_view:
                self.shapes.append(tuple(made.shape))
                self.written += made.nbytes
        return result

    @property
    def largest(self) -> tuple[int, ...]:
        """The shape with the most numbers."""
        return max(self.shapes, key=math.prod, default=())
