"""Attention tile by tile: the same result as `attention`, without ever writing the matrix of scores down.

Softmax needs two numbers of a whole row, its largest score and the sum of the exponentials. Both can be kept up to date
while the row is read piece by piece, and so can the average of the values that they belong to.
Sources: Milakov and Gimelshein 2018 (arXiv:1805.02867) for the running sum; Dao et al. 2022 (arXiv:2205.14135) for the
tiles; Dao et al. 2023, https://pytorch.org/blog/flash-decoding/, for merging parts.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor


class Partial(NamedTuple):
    """Attention to some of the keys: the average of their values, the largest score, the sum of exp(score - peak).

    out is (..., queries, head_dim); peak and total are (..., queries, 1). A query that sees none of these keys has out 0,
    peak -inf and total 0.
    """

    out: Tensor
    peak: Tensor
    total: Tensor


def online_softmax(blocks: Iterable[Tensor]) -> tuple[Tensor, Tensor]:
    """Read rows of scores block by block: their maximum, and the sum of exp(score - maximum).

    Blocks are (..., keys) in float32 or float64, alike but for their number of keys; both results are (..., 1). A row whose
    scores are all -inf has the maximum -inf and the sum 0.
    """
    peak, total = torch.tensor([-torch.inf]), torch.tensor([0.0])
    for block in blocks:
        higher = torch.maximum(peak.to(block), block.amax(-1, keepdim=True))
        base = _finite(higher)
        total = total * (peak - base).exp() + (block - base).exp().sum(-1, keepdim=True)
        peak = higher
    return peak, total


def partial_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Partial:
    """Attention to these keys, with what is needed to `merge` it with attention to others; shapes as in `attention`."""
    scores = q @ k.mT / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf)
    peak = scores.amax(-1, keepdim=True)
    weights = (scores - _finite(peak)).exp()
    total = weights.sum(-1, keepdim=True)
    return Partial(_divide(weights @ v, total), peak, total)


def merge(a: Partial, b: Partial) -> Partial:
    """Attention to the keys of a and of b together, from their outputs, peaks and totals."""
    peak = torch.maximum(a.peak, b.peak)
    base = _finite(peak)
    share_a, share_b = a.total * (a.peak - base).exp(), b.total * (b.peak - base).exp()
    total = share_a + share_b
    return Partial(_divide(a.out * share_a + b.out * share_b, total), peak, total)


def tiled_attention(q: Tensor, k: Tensor, v: Tensor, offset: int | None = None, tile: int = 128) -> Tensor:
    """Grouped-query attention that makes scores for one tile at a time, and keeps none.

    q is (batch, heads, queries, head_dim); k and v are (batch, kv_heads, keys, head_dim); tile is how many queries and how
    many keys make one. With an offset attention is causal: key j stands at position j, query i at offset + i. With None every
    query sees every key. A query that sees nothing gets zeros. Half precision is summed in float32.
    Raises ValueError where heads is not a multiple of kv_heads, and for a tile below 1.
    """
    (heads, queries), (kv_heads, keys) = q.shape[1:3], k.shape[1:3]
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads cannot share {kv_heads} key/value heads evenly")
    if tile < 1:
        raise ValueError(f"a tile of {tile} holds nothing; it must be at least 1")
    grouped = q.unflatten(1, (kv_heads, -1))  # (batch, kv_heads, group, queries, head_dim)
    out = torch.empty_like(grouped)
    for start in range(0, queries, tile):
        rows = slice(start, min(start + tile, queries))
        some = grouped[:, :, :, rows]  # a group's queries are stacked, so that keys and values are never copied
        seen = keys if offset is None else max(0, min(keys, offset + rows.stop))  # later tiles are in the future of all
        positions = None if offset is None else torch.arange(offset + start, offset + rows.stop, device=q.device)
        done = _over_tiles(some.flatten(2, 3), k[:, :, :seen], v[:, :, :seen], positions, tile)
        out[:, :, :, rows] = done.view_as(some)
    return out.flatten(1, 2)


def _over_tiles(q: Tensor, k: Tensor, v: Tensor, positions: Tensor | None, tile: int) -> Tensor:
    """Stacked queries (batch, kv_heads, rows, head_dim) over all keys, a tile of keys at a time; positions are one head's."""
    wide = torch.promote_types(q.dtype, torch.float32)
    q = q.to(wide) / math.sqrt(q.shape[-1])
    out, total = torch.zeros_like(q), q.new_zeros(*q.shape[:-1], 1)
    peak = torch.full_like(total, -torch.inf)
    for start in range(0, k.shape[2], tile):
        some_k, some_v = (x[:, :, start : start + tile].to(wide) for x in (k, v))
        scores = _tile_scores(q, some_k, start, positions)
        higher = torch.maximum(peak, scores.amax(-1, keepdim=True))
        base = _finite(higher)
        weights, shrink = scores.sub_(base).exp_(), (peak - base).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        out = out * shrink + weights @ some_v
        peak = higher
    return _divide(out, total)


def _tile_scores(q: Tensor, k: Tensor, start: int, positions: Tensor | None) -> Tensor:
    """Scores of stacked queries with the keys from position start on, -inf for keys in a query's future."""
    scores, stop = q @ k.mT, start + k.shape[2]
    if positions is not None and stop - 1 > positions[0]:  # the diagonal passes through this tile
        hidden = torch.arange(start, stop, device=q.device) > positions[:, None]
        scores.unflatten(2, (-1, len(positions))).masked_fill_(hidden, -torch.inf)
    return scores


def attention_traffic(
    tokens: int, heads: int, kv_heads: int, head_dim: int, tile: int | None = None, bytes_each: int = 4
) -> dict[str, int]:
    """Bytes that one layer's attention to a prompt moves at the least between the cores and a memory that holds everything.

    Queries are read and results written once. Without a tile, keys and values are read once, and the matrix of scores is
    written and read twice (q.k, softmax, times the values). With one, keys and values are read anew for every tile of queries,
    and no score leaves the tile. The causal mask, which halves the work for both, is left out.
    Raises ValueError for tokens or a tile below 1.
    """
    if tokens < 1 or (tile is not None and tile < 1):
        raise ValueError(f"{tokens} tokens in tiles of {tile}: both must be at least 1")
    rounds = 1 if tile is None else -(-tokens // tile)
    return {
        "queries and results": 2 * heads * tokens * head_dim * bytes_each,
        "keys and values": 2 * kv_heads * tokens * head_dim * bytes_each * rounds,
        "scores": 4 * heads * tokens * tokens * bytes_each if tile is None else 0,
    }


def tile_bytes(tile: int, heads: int, kv_heads: int, head_dim: int, bytes_each: int = 4) -> int:
    """Bytes that must stay close by while one tile is worked on, for one key/value head and the queries that share it.

    That is a tile of queries and of results for each head of the group, one of keys and of values, and the tile's scores.
    """
    group = heads // kv_heads
    return (2 * group * tile * head_dim + 2 * tile * head_dim + group * tile * tile) * bytes_each


def _finite(peak: Tensor) -> Tensor:
    """The peak, or where it is -inf a number that can be subtracted: -inf minus -inf would be NaN."""
    return peak.clamp(min=torch.finfo(peak.dtype).min)


def _divide(sums: Tensor, total: Tensor) -> Tensor:
    return sums / total.clamp(min=torch.finfo(total.dtype).tiny)
