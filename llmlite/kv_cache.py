"""The cache of keys and values: what earlier tokens computed, kept so that the next token need not compute it again.

Source: Xiao et al. 2023 (arXiv:2309.17453) for what `evict` keeps, and at which positions.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from .rope import apply_rope, rope_tables
from .sampling import Model, prefill
from .transformer import Config


def cache_bytes(config: Config, tokens: int, batch: int = 1, dtype: torch.dtype = torch.float32) -> int:
    """Count the bytes that the keys and values of tokens take, in every layer.

    That is 2 (keys and values) x layers x batch x kv_heads x tokens x head_dim x bytes per number.
    """
    numbers = 2 * config.num_hidden_layers * batch * config.num_key_value_heads * tokens * config.head_dim
    return numbers * dtype.itemsize


class Slots:
    """Room for the keys and values of up to `capacity` tokens in every layer, allocated once; `length` of them are held.

    `keys` and `values` are (layers, batch, kv_heads, capacity, head_dim). Their numbers are not set to anything at first.
    Raises ValueError for a capacity below 1, or past the memory.
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
            size = cache_bytes(config, capacity, batch, dtype)
            raise ValueError(f"a cache for {capacity} tokens takes {size / 1e9:.1f} GB, more than there is") from None
        self.capacity, self.length = capacity, 0

    @property
    def nbytes(self) -> int:
        """Bytes allocated, whether tokens are in them or not."""
        return self.keys.nbytes + self.values.nbytes


class KVCache(Slots):
    """The cache that a model writes into: see `transformer.Cache`.

    `append` writes one layer's new tokens behind the `length` that are held; `advance` counts them once every layer has
    written, so a pass that was interrupted leaves no trace.
    """

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write k and v behind the tokens held, and return all of this layer's as views.

        k and v are (batch, kv_heads, tokens, head_dim). Raises ValueError where they do not fit.
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


def decode(model: Model, ids: Sequence[int], count: int, cache: KVCache) -> list[int]:
    """Continue ids by the count likeliest ids, passing on only what the cache does not hold.

    The cache holds the first `cache.length` of ids, and at the end all ids but the last new one. At least one id has to pass,
    since logits are not kept: a cache that holds them all forgets the last. Raises ValueError for no ids, and at once where the
    cache has too little room.
    """
    if not ids:
        raise ValueError("there is nothing to continue: ids is empty")
    if (needed := len(ids) + count - 1) > cache.capacity:
        raise ValueError(f"{len(ids)} ids and {count} more need room for {needed} tokens; the cache has {cache.capacity}")
    cache.rewind(min(cache.length, len(ids) - 1))
    fresh, new = list(ids[cache.length :]), []
    for _ in range(count):
        new.append(int(prefill(model, fresh, cache).argmax()))
        fresh = new[-1:]
    return new


def evict(cache: KVCache, sinks: int, window: int, frequencies: Tensor) -> None:
    """Keep the first `sinks` tokens and the last `window`, moved together; turn moved keys to their new positions.

    Nothing happens while the cache holds no more than that. frequencies (head_dim / 2) are the model's. A key was turned by
    its old position; turning it back by the number of tokens dropped leaves it at the new one. Values carry no position.
    Raises ValueError for negative sinks, a window below 1, and where a full cache would stay full.
    """
    kept = sinks + window
    if sinks < 0 or window < 1 or kept >= cache.capacity:
        raise ValueError(f"sinks {sinks} and window {window} must be at least 0 and 1, and together below {cache.capacity}")
    if (dropped := cache.length - kept) <= 0:
        return
    cos, sin = rope_tables(torch.tensor([-dropped], device=frequencies.device), frequencies)
    old, new = slice(sinks + dropped, cache.length), slice(sinks, kept)
    moved = apply_rope(cache.keys[:, :, :, old].float(), cos.to(cache.keys.device), sin.to(cache.keys.device))
    cache.keys[:, :, :, new] = moved.to(cache.keys.dtype)
    cache.values[:, :, :, new] = cache.values[:, :, :, old].clone()  # old and new places may overlap
    cache.rewind(kept)
