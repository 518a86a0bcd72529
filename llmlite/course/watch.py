"""What tensors a piece of work makes."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode


class Watch(TorchFunctionMode):
    """While it is on, notes the shape of every tensor that a call into torch returns, new or changed in place.

    Views are left out: they are not written. What a call makes and drops inside torch is not seen.
    """

    def __init__(self) -> None:
        super().__init__()
        self.shapes: list[tuple[int, ...]] = []
        self.written = 0  # bytes

    def __torch_function__(
        self, func: Any, types: Sequence[type], args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        in_place = func.__name__.endswith("_") and not func.__name__.endswith("__")
        for made in result if isinstance(result, (tuple, list)) else (result,):
            if isinstance(made, Tensor) and (in_place or not _is_view(made, args)):
                self.shapes.append(tuple(made.shape))
                self.written += made.nbytes
        return result

    @property
    def largest(self) -> tuple[int, ...]:
        """The shape with the most numbers."""
        return max(self.shapes, key=math.prod, default=())


def _is_view(made: Tensor, args: Sequence[Any]) -> bool:
    place = made.untyped_storage().data_ptr()
    return any(isinstance(a, Tensor) and a.untyped_storage().data_ptr() == place for a in args)
