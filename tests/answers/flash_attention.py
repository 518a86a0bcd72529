"""Answers to the exercises of chapter 10."""

import math

import torch
from torch.nn import functional as F

from llmlite.attention import causal_mask, grouped_query_attention
from llmlite.flash_attention import Partial, merge, partial_attention

from . import right, wrong

INF = torch.inf


def _safe(peak):
    return peak.clamp(min=torch.finfo(peak.dtype).min)


def _divided(sums, total):
    return sums / total.clamp(min=torch.finfo(total.dtype).tiny)


# online_softmax


def _online(blocks, start=-INF, shrink=None, fresh=None):
    peak = total = None
    for block in blocks:
        if peak is None:
            peak, total = torch.full_like(block[..., :1], start), torch.zeros_like(block[..., :1])
        higher = torch.maximum(peak, block.amax(-1, keepdim=True))
        base = _safe(higher)
        factor = (peak - base).exp() if shrink is None else shrink(peak, base)
        e = (block - base).exp() if fresh is None else fresh(block)
        total = total * factor + e.sum(-1, keepdim=True)
        peak = higher
    return peak, total


@wrong("online_softmax", "the old sum is not rescaled")
def sum_not_rescaled(blocks):
    return _online(blocks, shrink=lambda old, new: torch.ones_like(old))


@wrong("online_softmax", "the wrong way round")
def rescaled_upwards(blocks):
    return _online(blocks, shrink=lambda old, new: (new - _safe(old)).exp().nan_to_num(posinf=0.0))


@wrong("online_softmax", "the maximum starts at 0")
def starts_at_zero(blocks):
    return _online(blocks, start=0.0)


@wrong("online_softmax", "from the block's own maximum")
def own_maximum(blocks):
    return _online(blocks, fresh=lambda block: (block - _safe(block.amax(-1, keepdim=True))).exp())


@wrong("online_softmax", "a softmax for each block")
def softmax_per_block(blocks):
    return _online(blocks, fresh=lambda block: block.softmax(-1))


@wrong("online_softmax", "the sum starts anew with every block")
def newest_block_only(blocks):
    return _online(blocks, shrink=lambda old, new: torch.zeros_like(old))


@wrong("online_softmax", "the maximum is that of the last block")
def last_maximum(blocks):
    peak, total = torch.tensor(-INF), torch.tensor(0.0)
    for block in blocks:
        higher = block.amax(-1, keepdim=True)
        total = total * (peak - higher).exp() + (block - higher).exp().sum(-1, keepdim=True)
        peak = higher
    return peak, total


@wrong("online_softmax", "the maximum is not subtracted")
def plain_exponentials(blocks):
    peak, total = torch.tensor(-INF), torch.tensor(0.0)
    for block in blocks:
        peak = torch.maximum(peak, block.amax(-1, keepdim=True))
        total = total + block.exp().sum(-1, keepdim=True)
    return peak, total


@wrong("online_softmax", "exp(1000) is more than a float holds")
def subtracts_at_the_end(blocks):
    peak, total = torch.tensor(-INF), torch.tensor(0.0)
    for block in blocks:
        peak = torch.maximum(peak, block.amax(-1, keepdim=True))
        total = total + block.exp().sum(-1, keepdim=True)
    return peak, total / peak.exp()


@wrong("online_softmax", "-inf minus -inf is NaN")
def nan_for_hidden(blocks):
    peak, total = torch.tensor(-INF), torch.tensor(0.0)
    for block in blocks:
        higher = torch.maximum(peak, block.amax(-1, keepdim=True))
        total = total * (peak - higher).exp() + (block - higher).exp().sum(-1, keepdim=True)
        peak = higher
    return peak, total


@wrong("online_softmax", "has the maximum -inf and the sum 0")
def finite_start(blocks):
    return _online(blocks, start=-1e30)


@wrong("online_softmax", "lost its last dimension")
def without_keepdim(blocks):
    peak, total = _online(blocks)
    return peak[..., 0], total[..., 0]


@wrong("online_softmax", "the wrong way round: first the maximum")
def sum_first(blocks):
    peak, total = _online(blocks)
    return total, peak


@wrong("online_softmax", "the logarithm of the sum")
def logarithm(blocks):
    peak, total = _online(blocks)
    return peak, total.log()


@wrong("online_softmax", "two tensors should come back")
def logsumexp_only(blocks):
    return torch.cat(list(blocks), -1).logsumexp(-1, keepdim=True)


@wrong("online_softmax", "joined into one row again")
def joins_the_blocks(blocks):
    row = torch.cat(list(blocks), -1)
    peak = row.amax(-1, keepdim=True)
    return peak, (row - _safe(peak)).exp().sum(-1, keepdim=True)


@wrong("online_softmax", "gone through only once")
def two_passes(blocks):
    peak = torch.stack([block.amax(-1, keepdim=True) for block in blocks]).amax(0)
    return peak, torch.stack([(block - _safe(peak)).exp().sum(-1, keepdim=True) for block in blocks]).sum(0)


@wrong("online_softmax", "has changed")
def in_place(blocks):
    def fresh_blocks():
        for block in blocks:
            yield block
            block.zero_()

    return _online(fresh_blocks())


@wrong("online_softmax", "does every path end with a return")
def online_forgets_return(blocks):
    _online(blocks)


@right("online_softmax")
def online_by_torch(blocks):
    blocks = iter(blocks)
    first = next(blocks)
    peak, log_sum = first.amax(-1, keepdim=True), first.logsumexp(-1, keepdim=True)
    for block in blocks:
        peak = torch.maximum(peak, block.amax(-1, keepdim=True))
        log_sum = torch.logaddexp(log_sum, block.logsumexp(-1, keepdim=True))
    return peak, (log_sum - _safe(peak)).exp()


@right("online_softmax")
def online_score_by_score(blocks):
    peak = total = None
    for block in blocks:
        for n in range(block.shape[-1]):
            x = block[..., n : n + 1]
            if peak is None:
                peak, total = torch.full_like(x, -INF), torch.zeros_like(x)
            higher = torch.maximum(peak, x)
            old = torch.where(peak == -INF, 0.0, total * (peak - higher).exp())
            total = old + torch.where(x == -INF, 0.0, (x - higher).exp())
            peak = higher
    return peak, total


@right("online_softmax")
def online_in_float64(blocks):
    dtype, pairs = None, []
    for block in blocks:
        dtype, wide = block.dtype, block.double()
        own = wide.amax(-1, keepdim=True)
        pairs.append((own, (wide - own).exp().nan_to_num(0.0).sum(-1, keepdim=True)))
    peak = torch.stack([own for own, _ in pairs]).amax(0)
    total = sum(part * (own - peak).exp().nan_to_num(0.0) for own, part in pairs)
    return peak.to(dtype), total.to(dtype)


# merge


def _shares(a, b):
    peak = torch.maximum(a.peak, b.peak)
    return peak, a.total * (a.peak - _safe(peak)).exp(), b.total * (b.peak - _safe(peak)).exp()


@wrong("merge", "averaged as if both parts weighed the same")
def mean_of_outputs(a, b):
    peak, wa, wb = _shares(a, b)
    return Partial((a.out + b.out) / 2, peak, wa + wb)


@wrong("merge", "weighted by their totals alone")
def by_totals(a, b):
    peak = torch.maximum(a.peak, b.peak)
    return Partial(_divided(a.out * a.total + b.out * b.total, a.total + b.total), peak, a.total + b.total)


@wrong("merge", "weighted by their totals alone")
def outputs_by_totals(a, b):
    peak, wa, wb = _shares(a, b)
    return Partial(_divided(a.out * a.total + b.out * b.total, a.total + b.total), peak, wa + wb)


@wrong("merge", "weighted by their peaks alone")
def by_peaks(a, b):
    peak, wa, wb = _shares(a, b)
    ea, eb = (a.peak - peak).exp(), (b.peak - peak).exp()
    return Partial((a.out * ea + b.out * eb) / (ea + eb), peak, wa + wb)


@wrong("merge", "the outputs are averages already")
def as_if_unnormalised(a, b):
    peak, wa, wb = _shares(a, b)
    ea, eb = (a.peak - peak).exp(), (b.peak - peak).exp()
    return Partial((a.out * ea + b.out * eb) / (wa + wb), peak, wa + wb)


@wrong("merge", "not divided by the new total")
def undivided(a, b):
    peak, wa, wb = _shares(a, b)
    return Partial(a.out * wa + b.out * wb, peak, wa + wb)


@wrong("merge", "the outputs are added")
def outputs_added(a, b):
    peak, wa, wb = _shares(a, b)
    return Partial(a.out + b.out, peak, wa + wb)


@wrong("merge", "counted from different peaks")
def total_unscaled(a, b):
    peak, wa, wb = _shares(a, b)
    return Partial(_divided(a.out * wa + b.out * wb, wa + wb), peak, a.total + b.total)


@wrong("merge", "the wrong way round")
def rescaled_the_wrong_way(a, b):
    peak = torch.maximum(a.peak, b.peak)
    wa, wb = a.total * (peak - a.peak).exp(), b.total * (peak - b.peak).exp()
    return Partial(_divided(a.out * wa + b.out * wb, wa + wb), peak, wa + wb)


@wrong("merge", "the new peak is that of one part")
def peak_of_the_first(a, b):
    _, wa, wb = _shares(a, b)
    return Partial(_divided(a.out * wa + b.out * wb, wa + wb), a.peak, wa + wb)


@wrong("merge", "exp(1000) is more than a float holds")
def bare_exponentials(a, b):
    wa, wb = a.total * a.peak.exp(), b.total * b.peak.exp()
    peak = torch.maximum(a.peak, b.peak)
    return Partial((a.out * wa + b.out * wb) / (wa + wb), peak, (wa + wb) / peak.exp())


@wrong("merge", "-inf minus -inf is NaN")
def merge_with_nan(a, b):
    peak = torch.maximum(a.peak, b.peak)
    wa, wb = a.total * (a.peak - peak).exp(), b.total * (b.peak - peak).exp()
    return Partial((a.out * wa + b.out * wb) / (wa + wb), peak, wa + wb)


@wrong("merge", "-inf minus -inf is NaN")
def nothing_over_nothing(a, b):
    peak, wa, wb = _shares(a, b)
    return Partial((a.out * wa + b.out * wb) / (wa + wb), peak, wa + wb)


@wrong("merge", "a Partial should come back")
def output_only(a, b):
    peak, wa, wb = _shares(a, b)
    return _divided(a.out * wa + b.out * wb, wa + wb)


@wrong("merge", "a part that was handed in has changed")
def merge_in_place(a, b):
    peak, wa, wb = _shares(a, b)
    a.out.mul_(wa).add_(b.out * wb)
    return Partial(_divided(a.out, wa + wb), peak, wa + wb)


@right("merge")
def merge_by_logarithms(a, b):
    la, lb = a.total.log() + a.peak, b.total.log() + b.peak
    both = torch.logaddexp(la, lb)
    peak = torch.maximum(a.peak, b.peak)
    share = torch.where(both == -INF, 0.0, (la - _safe(both)).exp())
    rest = torch.where(both == -INF, 0.0, (lb - _safe(both)).exp())
    return Partial(a.out * share + b.out * rest, peak, (both - _safe(peak)).exp())


@right("merge")
def merge_by_softmax(a, b):
    peaks = torch.cat([a.peak, b.peak], -1)
    peak = peaks.amax(-1, keepdim=True)
    weights = torch.cat([a.total, b.total], -1) * torch.exp(peaks - peak).nan_to_num(0.0)
    total = weights.sum(-1, keepdim=True)
    share = torch.where(total > 0, weights / total, 0.0)
    return Partial(torch.einsum("n...d,...n->...d", torch.stack([a.out, b.out]), share), peak, total)


@right("merge")
def merge_in_float64(a, b):
    wide = [Partial(*(x.double() for x in part)) for part in (a, b)]
    peak, wa, wb = _shares(*wide)
    out = _divided(wide[0].out * wa + wide[1].out * wb, wa + wb)
    return Partial(*(x.to(a.out.dtype) for x in (out, peak, wa + wb)))


# tiled_attention


def _stack(q, k, offset):
    (batch, heads, queries, d), kv_heads = q.shape, k.shape[1]
    if heads % kv_heads:
        raise ValueError("uneven")
    group = heads // kv_heads
    positions = None if offset is None else offset + torch.arange(queries).repeat(group)
    return q.reshape(batch, kv_heads, group * queries, d), positions


def _loop(q, k, v, offset=None, tile=128, fault=""):
    """The usual loop over tiles of keys, with one fault."""
    if tile < 1:
        raise ValueError("tile")
    stacked, positions = _stack(q, k, offset)
    out, keys = torch.zeros_like(stacked), k.shape[2]
    total = torch.zeros_like(stacked[..., :1])
    peak = torch.full_like(total, 0.0 if fault == "zero" else -INF)
    for start in range(0, keys - tile + 1 if fault == "ragged" else keys, tile):
        some_k, some_v = k[:, :, start : start + tile], v[:, :, start : start + tile]
        scores = stacked @ some_k.mT / math.sqrt(q.shape[-1])
        if positions is not None:
            first = 0 if fault == "restart" else start
            hidden = torch.arange(first, first + some_k.shape[2]) > positions[:, None]
            scores = scores * ~hidden if fault == "hidden" else scores.masked_fill(hidden, -INF)
        higher = torch.maximum(peak, scores.amax(-1, keepdim=True))
        base = higher if fault == "nan" else _safe(higher)
        weights, shrink = (scores - base).exp(), (peak - base).exp()
        total = total * (1 if fault in ("sum", "both") else shrink) + weights.sum(-1, keepdim=True)
        out = out * (1 if fault in ("out", "both") else shrink) + weights @ some_v
        if fault == "inside":
            out = out / total
        peak = higher
    return (out if fault == "inside" else out / total if fault == "nan" else _divided(out, total)).reshape(q.shape)


@wrong("tiled_attention", "the old sum is not rescaled")
def tiled_old_sum(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "sum")


@wrong("tiled_attention", "the old output is not rescaled")
def tiled_old_output(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "out")


@wrong("tiled_attention", "neither the old sum nor the old output")
def tiled_nothing_rescaled(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "both")


@wrong("tiled_attention", "must start at -inf, not at 0")
def tiled_from_zero(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "zero")


@wrong("tiled_attention", "inside the loop")
def tiled_divides_inside(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "inside")


@wrong("tiled_attention", "inside the loop")
def tiled_divides_twice(q, k, v, offset=None, tile=128):
    stacked, positions = _stack(q, k, offset)
    out, total, peak = torch.zeros_like(stacked), torch.zeros(1), torch.tensor(-INF)
    for start in range(0, k.shape[2], tile):
        scores = stacked @ k[:, :, start : start + tile].mT / math.sqrt(q.shape[-1])
        higher = torch.maximum(peak, scores.amax(-1, keepdim=True))
        weights, shrink = (scores - higher).exp(), (peak - higher).exp()
        total = total * shrink + weights.sum(-1, keepdim=True)
        out = (out * shrink + weights @ v[:, :, start : start + tile]) / total
        peak = higher
    return (out / total).reshape(q.shape)


@wrong("tiled_attention", "-inf minus -inf is NaN")
def tiled_with_nan(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "nan")


@wrong("tiled_attention", "the last tile is dropped")
def tiled_without_the_rest(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, min(tile, k.shape[2]), "ragged")


@wrong("tiled_attention", "the last tile is dropped")
def tiled_skips_the_diagonal(q, k, v, offset=None, tile=128):
    if offset is None:
        return _loop(q, k, v, None, tile)
    keys = max(1, min(k.shape[2], (offset + q.shape[2]) // tile * tile))
    return _loop(q, k[:, :, :keys], v[:, :, :keys], offset, tile)


@wrong("tiled_attention", "start again at 0 in every tile")
def tiled_positions_restart(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "restart")


@wrong("tiled_attention", "a hidden key has the score 0")
def tiled_hidden_as_zero(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, tile, "hidden")


@wrong("tiled_attention", "the offset is forgotten")
def tiled_without_offset(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, None if offset is None else 0, tile)


@wrong("tiled_attention", "takes 0 for None")
def tiled_offset_by_truth(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset or None, tile)


@wrong("tiled_attention", "it is causal although offset is None")
def tiled_always_causal(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset or 0, tile)


@wrong("tiled_attention", "the last query is put at the last key")
def tiled_bottom_right(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset if offset is None else k.shape[2] - q.shape[2], tile)


@wrong("tiled_attention", "a token may see itself")
def tiled_strict(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset if offset is None else offset - 1, tile)


@wrong("tiled_attention", "the heads are in the wrong order")
def tiled_heads(q, k, v, offset=None, tile=128):
    _stack(q, k, offset)
    group = q.shape[1] // k.shape[1]
    return _loop(q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1), offset, tile)


@wrong("tiled_attention", "a softmax for each tile, added up")
def tiled_softmax_each(q, k, v, offset=None, tile=128):
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    parts = []
    for start in range(0, k.shape[2], tile):
        some = slice(start, start + tile)
        mask = None if offset is None else causal_mask(q.shape[2], k.shape[2], offset)[:, some]
        parts.append(partial_attention(q, k[:, :, some], v[:, :, some], mask).out)
    return sum(parts)


@wrong("tiled_attention", "there is no scale")
def tiled_no_scale(q, k, v, offset=None, tile=128):
    return _loop(q * math.sqrt(q.shape[-1]), k, v, offset, tile)


@wrong("tiled_attention", "an entry for every query and key")
def tiled_not_at_all(q, k, v, offset=None, tile=128):
    if tile < 1:
        raise ValueError
    return grouped_query_attention(q, k, v, None if offset is None else causal_mask(q.shape[2], k.shape[2], offset))


@wrong("tiled_attention", "an entry for every query and key")
def tiled_with_a_whole_mask(q, k, v, offset=None, tile=128):
    if tile < 1:
        raise ValueError
    stacked, _ = _stack(q, k, offset)
    group = q.shape[1] // k.shape[1]
    mask = None if offset is None else causal_mask(q.shape[2], k.shape[2], offset).repeat(group, 1)
    done = Partial(torch.zeros_like(stacked), torch.full_like(stacked[..., :1], -INF), torch.zeros_like(stacked[..., :1]))
    for start in range(0, k.shape[2], tile):
        some = slice(start, start + tile)
        see = None if mask is None else mask[:, some]
        done = merge(done, partial_attention(stacked, k[:, :, some], v[:, :, some], see))
    return done.out.reshape(q.shape)


@wrong("tiled_attention", "heads that are no multiple of kv_heads must be refused")
def tiled_uneven(q, k, v, offset=None, tile=128):
    group = -(-q.shape[1] // k.shape[1])
    k, v = (x.repeat_interleave(group, 1)[:, : q.shape[1]] for x in (k, v))
    return _loop(q, k, v, offset, tile)


@wrong("tiled_attention", "a tile below 1 must be refused")
def tiled_of_nothing(q, k, v, offset=None, tile=128):
    return _loop(q, k, v, offset, max(tile, 1))


@wrong("tiled_attention", "does every path end with a return")
def tiled_forgets_return(q, k, v, offset=None, tile=128):
    _loop(q, k, v, offset, tile)


@right("tiled_attention")
def tiled_by_merging(q, k, v, offset=None, tile=128):
    if tile < 1:
        raise ValueError("tile")
    stacked, positions = _stack(q, k, offset)
    done = Partial(torch.zeros_like(stacked), torch.full_like(stacked[..., :1], -INF), torch.zeros_like(stacked[..., :1]))
    for start in range(0, k.shape[2], tile):
        some_k, some_v = k[:, :, start : start + tile], v[:, :, start : start + tile]
        see = None
        if positions is not None:
            see = torch.arange(start, start + some_k.shape[2]) <= positions[:, None]
        done = merge(done, partial_attention(stacked, some_k, some_v, see))
    return done.out.reshape(q.shape)


@right("tiled_attention")
def tiled_head_by_head(q, k, v, offset=None, tile=128):
    if q.shape[1] % k.shape[1] or tile < 1:
        raise ValueError
    group, out = q.shape[1] // k.shape[1], torch.zeros_like(q)
    for head in range(q.shape[1]):
        out[:, head : head + 1] = _loop(
            q[:, head : head + 1], k[:, head // group][:, None], v[:, head // group][:, None], offset, tile
        )
    return out


@right("tiled_attention")
def tiled_repeated_in_float64(q, k, v, offset=None, tile=128):
    if q.shape[1] % k.shape[1] or tile <= 0:
        raise ValueError
    group = q.shape[1] // k.shape[1]
    wide = (q.double(), k.double().repeat_interleave(group, 1), v.double().repeat_interleave(group, 1))
    return _loop(*wide, offset, tile).to(q.dtype)


@right("tiled_attention")
def tiled_queries_only(q, k, v, offset=None, tile=128):
    """Every row of the score matrix is whole, but only for a tile of queries, which keeps the promise as well."""
    if q.shape[1] % k.shape[1] or tile < 1:
        raise ValueError
    group, keys = q.shape[1] // k.shape[1], k.shape[2]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    rows = []
    for start in range(0, q.shape[2], tile):
        some = q[:, :, start : start + tile]
        mask = None if offset is None else causal_mask(some.shape[2], keys, offset + start)
        rows.append(F.scaled_dot_product_attention(some, k, v, attn_mask=mask).nan_to_num(0.0))
    return torch.cat(rows, 2)
