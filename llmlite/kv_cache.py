"""The cache of keys and values: what earlier tokens computed, kept so that the next token need not compute it again."""

import math

import torch
from torch import Tensor

from .transformer import Config


class KVCache:
    """Keys and values of every layer for up to `capacity` tokens, allocated once.

    `append` writes one layer's new tokens behind the `length` that are held; `advance` counts them once every layer has
    written, so a pass that was interrupted leaves no trace. Raises ValueError for a capacity below 1, or past the memory.
    """

    def __init__(
        self,
        config: Config,
        capacity: int,
        batch: int = 1,
        dtype: torch.dtype = torch.float32,
        device: torch.device | str = "cpu",
    ) -> None:
        if capacity < 1:
            raise ValueError(f"a cache of {capacity} tokens holds nothing; the capacity must be at least 1")
        shape = (config.num_hidden_layers, batch, config.num_key_value_heads, capacity, config.head_dim)
        try:
            self.keys = torch.empty(shape, dtype=dtype, device=device)
            self.values = torch.empty(shape, dtype=dtype, device=device)
        except RuntimeError:
            size = 2 * math.prod(shape) * dtype.itemsize
            raise ValueError(f"a cache for {capacity} tokens takes {size / 1e9:.1f} GB, more than there is") from None
        self.capacity, self.length = capacity, 0

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add k and v, each (batch, kv_heads, tokens, head_dim), and return all of this layer's as views.

        Raises ValueError where they do not fit.
        """
        if len(k) != self.keys.shape[1]:
            raise ValueError(f"a batch of {len(k)} does not fit a cache for a batch of {self.keys.shape[1]}")
        end = self.length + k.shape[2]
        if end > self.capacity:
            raise ValueError(f"{end} tokens do not fit a cache of {self.capacity}")
        self.keys[layer, :, :, self.length : end] = k
        self.values[layer, :, :, self.length : end] = v
        return self.view(layer, end)

    def view(self, layer: int, length: int) -> tuple[Tensor, Tensor]:
        """One layer's keys and values of the first `length` tokens, without a copy."""
        return self.keys[layer, :, :, :length], self.values[layer, :, :, :length]

    def advance(self, tokens: int) -> None:
        """Count tokens that every layer has appended."""
        self.length += tokens

    def rewind(self, length: int) -> None:
        """Forget all but the first `length` tokens. Raises ValueError for a length that is not held."""
        if not 0 <= length <= self.length:
            raise ValueError(f"cannot rewind to {length}: the cache holds {self.length} tokens")
        self.length = length

    @property
    def nbytes(self) -> int:
        """Bytes allocated: 2 (keys and values) x layers x batch x kv_heads x capacity x head_dim x bytes per number."""
        return self.keys.nbytes + self.values.nbytes
