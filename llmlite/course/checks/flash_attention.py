"""Checks of chapter 10."""

import math
import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from ...flash_attention import Partial
from ..watch import Watch
from . import Mistake, check, close, equal, named, normal, not_missing, refuses, works

EXERCISES = {
    "online_softmax": (
        "Keep two tensors, peak and total. Start with peak -inf and total 0, so that the first block needs no rule of its own.",
        "Each block: higher = torch.maximum(peak, block.amax(-1, keepdim=True)). The old total was counted from the old peak: "
        "times exp(peak - higher) it is counted from the new one. Then add the sum of exp(block - higher).",
        "Where higher is still -inf, subtract a finite number in its place, such as "
        "higher.clamp(min=torch.finfo(higher.dtype).min): exp of -inf minus that is 0, as it should be.",
    ),
    "merge": (
        "A part's total is counted from its own peak. With peak = torch.maximum(a.peak, b.peak), a's share of everything is "
        "a.total * exp(a.peak - peak), and b's likewise.",
        "The new total is the sum of both shares; the new out is the average of a.out and b.out, weighted with the shares.",
        "Where both peaks are -inf, subtract a finite number in its place, and divide by the total clamped to a tiny positive "
        "number (torch.finfo(dtype).tiny): 0 / tiny is 0.",
    ),
    "tiled_attention": (
        "Stack the queries of each group first: q.reshape(batch, kv_heads, group * queries, head_dim); query i of each head "
        "stands at offset + i, so the stacked positions are that range repeated `group` times.",
        "One loop over range(0, keys, tile): a slice of k and of v, their scores, -inf where the key's position is larger than "
        "the query's, and then peak and total as in exercise 1, with out treated like total.",
        "out = out * shrink + weights @ v_tile with shrink = exp(old peak - new peak). Divide by total once, after the loop. "
        "partial_attention and merge do it too: start from a Partial of zeros, -inf and zeros.",
    ),
}


def _agree(got: Any, want: Tensor) -> bool:
    return isinstance(got, Tensor) and got.shape == want.shape and torch.allclose(got.double(), want.double(), 1e-6, 1e-6)


# --- online_softmax ---


def _run(blocks: Sequence[Tensor], fault: str = "") -> Tensor:
    """Maximum and sum stacked, in float64, with a fault on request."""
    whole = [block.double() for block in blocks]
    peak = torch.full_like(whole[0][..., :1], 0.0 if fault == "zero" else -math.inf)
    total = torch.zeros_like(peak)
    for n, x in enumerate(whole):
        own = x.amax(-1, keepdim=True)
        higher = own if fault == "last" else torch.maximum(peak, own)
        shrink = {"kept": torch.ones_like(peak), "turned": (higher - peak).exp(), "new": torch.zeros_like(peak)}
        fresh = {"own": (x - own).exp(), "share": x.softmax(-1)}.get(fault, (x - higher).exp())
        old = total * shrink.get(fault, (peak - higher).exp()) if n else total
        peak, total = higher, old + fresh.sum(-1, keepdim=True)
    if fault == "plain":
        total = torch.cat(whole, -1).exp().sum(-1, keepdim=True)
    return torch.stack([peak, total])


_ONLINE = {
    "kept": "the old sum is not rescaled: when the maximum rises by d, what was summed before shrinks by exp(-d)",
    "turned": "the old sum is rescaled the wrong way round: times exp(old maximum - new maximum)",
    "new": "the sum starts anew with every block: the blocks before it count, too",
    "zero": "the maximum starts at 0, it must start at -inf: all scores of a row can lie below 0",
    "own": "a block's exponentials are counted from the block's own maximum; they should be counted from the running one",
    "share": "this is a softmax for each block: each sums to 1 by itself, whatever the other blocks hold",
    "last": "the maximum is that of the last block: take the larger of it and the one before",
    "plain": "the maximum is not subtracted from the scores before the exponential",
}


def _two(got: Any, want: Tensor, **lines: Any) -> Tensor:
    """Maximum and sum stacked, once it is clear that these are two tensors of the right shape in the right order."""
    not_missing(got, **lines)
    if not isinstance(got, (tuple, list)) or len(got) != 2 or not all(isinstance(x, Tensor) for x in got):
        raise Mistake("two tensors should come back: the maximum and the sum", **lines, yours=got)
    for name, x in zip(("maximum", "sum"), got):
        if x.shape != want.shape[1:] and x.shape == want.shape[1:-1]:
            raise Mistake(f"the {name} has lost its last dimension: it should be (..., 1), as keepdim=True gives it", **lines)
        if x.shape != want.shape[1:]:
            raise Mistake(f"the {name} has the shape {tuple(x.shape)}, it should be {tuple(want.shape[1:])}", **lines)
    return torch.stack([x.double() for x in got])


def _is_online(answer: Any, blocks: Sequence[Tensor], sentence: str, tolerance: float = 1e-5, **lines: Any) -> None:
    lines = {"blocks": [tuple(b.shape) for b in blocks]} | lines
    row = torch.cat([b.double() for b in blocks], -1)
    peak = row.amax(-1, keepdim=True)
    total = (torch.logsumexp(row, -1, keepdim=True) - peak).exp().nan_to_num(0.0)
    want = torch.stack([peak, total])
    got = _two(works(lambda: answer([b.clone() for b in blocks]), sentence, **lines), want, **lines)
    if not _agree(got, want):
        faults = [(_ONLINE[fault], _run(blocks, fault)) for fault in _ONLINE]
        faults += [
            ("the two results are the wrong way round: first the maximum, then the sum", want.flip(0)),
            ("the second result is the logarithm of the sum: the sum itself is asked for", torch.stack([peak, total.log()])),
        ]
        named(got, want, faults, **lines)
    close(got, want, sentence, tolerance, **lines)


@check("online_softmax")
def two_blocks_by_hand(answer: Any, draw: random.Random) -> None:
    blocks = [torch.tensor([[1.0, 3.0], [4.0, 0.0]]), torch.tensor([[2.0, 5.0], [1.0, 2.0]])]
    sentence = "row 0 has the maximum 5 and the sum e^-4 + e^-2 + e^-3 + 1 = 1.2034"
    _is_online(answer, blocks, sentence, scores=torch.cat(blocks, -1))


@check("online_softmax")
def any_blocks(answer: Any, draw: random.Random) -> None:
    for lead, sizes in (((3,), (4, 4, 4)), ((), (5, 2)), ((2, 3), (3, 3, 1)), ((4,), (1, 1, 1, 1, 1)), ((2,), (6,))):
        blocks = [2 * normal(draw, *lead, size) for size in sizes]
        _is_online(answer, blocks, "maximum and sum are not those of the whole row; blocks may have any number of keys")


@check("online_softmax")
def large_scores(answer: Any, draw: random.Random) -> None:
    sentence = "subtract the maximum before the exponential: exp(1000) is more than a float holds"
    _is_online(answer, [1000 + normal(draw, 2, 4) for _ in range(3)], sentence, tolerance=1e-3)


@check("online_softmax")
def all_below_zero(answer: Any, draw: random.Random) -> None:
    _is_online(answer, [normal(draw, 2, 3) - 6 for _ in range(3)], "all scores lie below 0, and so does the maximum")
    _is_online(answer, [normal(draw, 2, 3) - 300 for _ in range(3)], _ONLINE["zero"], tolerance=1e-3)


@check("online_softmax")
def hidden_scores(answer: Any, draw: random.Random) -> None:
    nothing, some = torch.full((2, 3), -math.inf), normal(draw, 2, 3)
    half = some.clone()
    half[0] = -math.inf
    sentence = "a block in which all scores are -inf adds nothing (careful: -inf minus -inf is NaN)"
    for blocks in ([nothing, some], [some, nothing], [half, nothing, some], [some, half, normal(draw, 2, 2)]):
        _is_online(answer, blocks, sentence, scores=torch.cat(blocks, -1))
    sentence = "a row whose scores are all -inf has the maximum -inf and the sum 0 (careful: -inf minus -inf is NaN)"
    for blocks in ([nothing], [nothing, nothing], [half, half]):
        _is_online(answer, blocks, sentence, scores=torch.cat(blocks, -1))


@check("online_softmax")
def one_pass_and_nothing_kept(answer: Any, draw: random.Random) -> None:
    blocks = [normal(draw, 3, 8) for _ in range(40)]
    want = _run(blocks)
    sentence = "blocks can be anything that a for loop takes, and it can be gone through only once"
    with Watch() as watch:
        got = works(lambda: answer(block.clone() for block in blocks), sentence, blocks="a generator of 40, each (3, 8)")
    close(_two(got, want), want, sentence)
    if math.prod(watch.largest) >= 480:
        raise Mistake("the blocks are joined into one row again: keep no more than the maximum and the sum", made=watch.largest)


@check("online_softmax")
def leaves_the_blocks(answer: Any, draw: random.Random) -> None:
    blocks = [normal(draw, 2, 3) for _ in range(3)]
    given = [block.clone() for block in blocks]
    answer(given)
    if not all(torch.equal(a, b) for a, b in zip(given, blocks)):
        raise Mistake("a block that was handed in has changed: work on copies")
    for result in answer([block.double() for block in blocks]):
        equal(result.dtype, torch.float64, "the results have the dtype of the blocks", blocks=torch.float64)


# --- merge ---


def _part(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Partial:
    """The oracle: attention to these keys with maximum and sum, in float64."""
    scores = torch.einsum("...qd,...kd->...qk", q.double(), k.double()) / math.sqrt(q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    peak = scores.amax(-1, keepdim=True)
    total = (scores.logsumexp(-1, keepdim=True) - peak).exp().nan_to_num(0.0)
    return Partial(scores.softmax(-1).nan_to_num(0.0) @ v.double(), peak, total)


def _single(part: Partial) -> Partial:
    return Partial(*(x.float() for x in part))


def _joined(part: Partial) -> Tensor:
    return torch.cat([x.double() for x in part], -1)


def _merge_faults(a: Partial, b: Partial) -> list[tuple[str, Tensor]]:
    (ao, ap, at), (bo, bp, bt) = a, b
    peak = torch.maximum(ap, bp)
    sa, sb = at * (ap - peak).exp(), bt * (bp - peak).exp()
    total, right = sa + sb, (ao * sa + bo * sb) / (sa + sb)
    by_sums, ea, eb = (ao * at + bo * bt) / (at + bt), (ap - peak).exp(), (bp - peak).exp()
    ta, tb = at * (peak - ap).exp(), bt * (peak - bp).exp()
    averaged = (
        "the outputs are averaged as if both parts weighed the same; the weight of a part is total * exp(its peak - peak)"
    )
    sums = "the parts are weighted by their totals alone; each total is counted from its own peak: times exp(its peak - peak)"
    peaks = "the parts are weighted by their peaks alone; a part with more keys has a larger total, and weighs more"
    unscaled = "the new total adds up totals counted from different peaks: each must be multiplied by exp(its peak - peak)"
    wrong = {
        averaged: [(o, peak, t) for o in ((ao + bo) / 2,) for t in (total, at + bt, (at + bt) / 2)],
        sums: [(by_sums, peak, t) for t in (total, at + bt)],
        peaks: [((ao * ea + bo * eb) / (ea + eb), peak, t) for t in (total, at + bt)],
        "the outputs are added: together the weights of the two parts must be 1": [(ao + bo, peak, total)],
        unscaled: [(right, peak, at + bt), ((ao * sa + bo * sb) / (at + bt), peak, at + bt)],
        "the weighted outputs are not divided by the new total": [(ao * sa + bo * sb, peak, total)],
        "the outputs are averages already: without the factor total they are weighted by the peaks alone": [
            ((ao * ea + bo * eb) / total, peak, total)
        ],
        "the totals are rescaled the wrong way round: times exp(its peak - peak)": [
            ((ao * ta + bo * tb) / (ta + tb), peak, ta + tb)
        ],
        "the new peak is that of one part: it is the larger of the two": [(right, ap, total), (right, bp, total)],
        "the peaks are added: the new peak is the larger of the two": [(right, ap + bp, total)],
        "b's keys are forgotten: this is a alone": [(ao, ap, at), (ao, peak, total)],
        "a's keys are forgotten: this is b alone": [(bo, bp, bt), (bo, peak, total)],
    }
    return [(sentence, _joined(Partial(*parts))) for sentence, many in wrong.items() for parts in many]


def _is_merged(
    answer: Any, a: Partial, b: Partial, want: Partial, sentence: str, tolerance: float = 2e-5, **lines: Any
) -> Partial:
    got = works(lambda: answer(_single(a), _single(b)), sentence, **lines)
    not_missing(got, **lines)
    if not isinstance(got, Partial) or not all(isinstance(x, Tensor) for x in got):
        raise Mistake("a Partial should come back: Partial(out, peak, total)", **lines, yours=type(got).__name__)
    for name, x, right in zip(Partial._fields, got, want):
        if x.shape != right.shape:
            raise Mistake(f"{name} has the shape {tuple(x.shape)}, it should be {tuple(right.shape)}", **lines)
    shown = lines | {"a": _joined(a), "b": _joined(b)} if a.out.numel() < 10 else lines
    if not _agree(_joined(got), _joined(want)):
        named(_joined(got), _joined(want), _merge_faults(a, b), **shown)
    for name, x, right in zip(Partial._fields, got, want):
        close(x, right, f"{name} is wrong: {sentence}", tolerance, **shown)
    return got


@check("merge")
def two_keys_by_hand(answer: Any, draw: random.Random) -> None:
    a = Partial(torch.tensor([[10.0, 0.0]]), torch.tensor([[1.0]]), torch.tensor([[1.0]]))
    b = Partial(torch.tensor([[0.0, 10.0]]), torch.tensor([[3.0]]), torch.tensor([[2.0]]))
    share = math.exp(-2.0)
    out = torch.tensor([[10 * share, 20.0]]) / (share + 2)
    want = Partial(out, torch.tensor([[3.0]]), torch.tensor([[share + 2]]))
    sentence = "a has one key of score 1, b two of score 3: they weigh e^-2 to 2"
    _is_merged(answer, a, b, want, sentence)


@check("merge")
def two_parts(answer: Any, draw: random.Random) -> None:
    for lead, queries, keys, cut in (((), 3, 7, 2), ((2,), 1, 9, 8), ((2, 3), 4, 6, 3), ((1,), 2, 2, 1)):
        q, k, v = normal(draw, *lead, queries, 4) * 2, normal(draw, *lead, keys, 4), normal(draw, *lead, keys, 5)
        k[..., :cut, :] *= 2.0
        a, b = _part(q, k[..., :cut, :], v[..., :cut, :]), _part(q, k[..., cut:, :], v[..., cut:, :])
        call = f"q {tuple(q.shape)}; a saw {cut} keys, b {keys - cut}"
        sentence = "it should be attention to the keys of both"
        _is_merged(answer, a, b, _part(q, k, v), sentence, call=call)
        _is_merged(answer, b, a, _part(q, k, v), f"{sentence}, whichever comes first", call=call)


@check("merge")
def far_apart(answer: Any, draw: random.Random) -> None:
    q = torch.full((2, 1), 1.0)
    for high, low in ((1000.0, 990.0), (-900.0, -1000.0), (500.0, -500.0)):
        k, v = torch.tensor([[high], [high - 1], [low]]), normal(draw, 3, 2)
        a, b = _part(q, k[:2], v[:2]), _part(q, k[2:], v[2:])
        sentence = "large peaks: take exp of differences to the larger peak only, exp(1000) is more than a float holds"
        _is_merged(answer, a, b, _part(q, k, v), sentence, tolerance=1e-3, scores=k.flatten())


@check("merge")
def parts_that_see_nothing(answer: Any, draw: random.Random) -> None:
    q, k, v = normal(draw, 3, 4), normal(draw, 5, 4), normal(draw, 5, 2)
    see = torch.tensor([[True] * 5, [True, True, False, False, False], [False] * 5])
    a, b = _part(q, k[:2], v[:2], see[:, :2]), _part(q, k[2:], v[2:], see[:, 2:])
    sentence = "a part that saw nothing (out 0, peak -inf, total 0) adds nothing, and two of them stay so"
    sentence += " (careful: -inf minus -inf is NaN)"
    for one, other in ((a, b), (b, a)):
        _is_merged(answer, one, other, _part(q, k, v, see), sentence, peaks=torch.cat([one.peak, other.peak], -1))


@check("merge")
def many_parts(answer: Any, draw: random.Random) -> None:
    q, k, v = normal(draw, 2, 3, 8), normal(draw, 2, 12, 8), normal(draw, 2, 12, 8)
    parts = [_part(q, k[:, n : n + 3], v[:, n : n + 3]) for n in range(0, 12, 3)]
    for order in (parts, parts[::-1]):
        done, seen = order[0], [0] if order is parts else [3]
        for n in range(1, 4):
            seen.append(n if order is parts else 3 - n)
            keys = [3 * s + j for s in seen for j in range(3)]
            want = _part(q, k[:, keys], v[:, keys])
            done = _is_merged(answer, done, order[n], want, "a merged part can be merged again", merged=n)
    close(done.out, F.scaled_dot_product_attention(q, k, v), "four parts together should be attention to all keys")


@check("merge")
def leaves_the_parts(answer: Any, draw: random.Random) -> None:
    q, k, v = normal(draw, 3, 4), normal(draw, 6, 4), normal(draw, 6, 4)
    parts = [_single(_part(q, k[:2], v[:2])), _single(_part(q, k[2:], v[2:]))]
    given = [Partial(*(x.clone() for x in part)) for part in parts]
    answer(*given)
    if not all(torch.equal(_joined(x), _joined(y)) for x, y in zip(given, parts)):
        raise Mistake("a part that was handed in has changed: work on copies")
    wide = [Partial(*(x.double() for x in part)) for part in parts]
    for name, x in zip(Partial._fields, answer(*wide)):
        equal(x.dtype, torch.float64, f"{name} keeps the dtype of the parts", parts=torch.float64)


# --- tiled_attention ---


def _attend(q: Tensor, k: Tensor, v: Tensor, offset: int | None, tiled_heads: bool = False) -> Tensor:
    """The oracle, by torch in float64; rows in which nothing may be seen are zeros."""
    group = q.shape[1] // k.shape[1]
    k, v = (x.double().repeat(1, group, 1, 1) if tiled_heads else x.double().repeat_interleave(group, 1) for x in (k, v))
    mask = None if offset is None else _sees(q.shape[2], k.shape[2], offset)
    got = F.scaled_dot_product_attention(q.double(), k, v, attn_mask=mask)
    return got if mask is None else got.masked_fill(~mask.any(-1, keepdim=True), 0.0)


def _sees(queries: int, keys: int, offset: int) -> Tensor:
    return torch.ones(queries, keys, dtype=torch.bool).tril(offset)


def _loop(q: Tensor, k: Tensor, v: Tensor, offset: int | None, tile: int, fault: str) -> Tensor:
    """Attention over tiles of keys in float64, with a fault."""
    group, (queries, keys) = q.shape[1] // k.shape[1], (q.shape[2], k.shape[2])
    k, v = (x.double().repeat_interleave(group, 1) for x in (k, v))
    scores = q.double() @ k.mT / math.sqrt(q.shape[-1])
    out, total = torch.zeros(*scores.shape[:-1], v.shape[-1], dtype=v.dtype), torch.zeros_like(scores[..., :1])
    peak, tiles = torch.full_like(total, -math.inf), 0
    for start in range(0, keys - tile + 1 if fault == "ragged" else keys, tile):
        part = slice(start, start + tile)
        x = scores[..., part]
        if offset is not None:
            see = _sees(queries, x.shape[-1], offset) if fault == "restart" else _sees(queries, keys, offset)[:, part]
            x = x * see if fault == "hidden" else x.masked_fill(~see, -math.inf)
        higher = torch.maximum(peak, x.amax(-1, keepdim=True))
        base = higher.clamp(min=-1e300)
        weights, shrink, one = (x - base).exp(), (peak - base).exp(), torch.ones_like(peak)
        if fault in ("softmaxes", "mean of softmaxes"):
            weights, shrink = x.softmax(-1).nan_to_num(0.0), one
        total = total * (one if fault in ("sum", "both") else shrink) + weights.sum(-1, keepdim=True)
        out = out * (one if fault in ("out", "both") else shrink) + weights @ v[..., part, :]
        if fault in ("inside", "inside and after"):
            out = out / total.clamp(min=1e-300)
        peak, tiles = higher, tiles + 1
    if fault in ("inside", "softmaxes"):
        return out
    return out / (max(tiles, 1) if fault == "mean of softmaxes" else total.clamp(min=1e-300))


_TILED = {
    "sum": "the old sum is not rescaled when the maximum rises: times exp(old maximum - new maximum)",
    "out": "the old output is not rescaled when the maximum rises: times exp(old maximum - new maximum), like the sum",
    "both": "neither the old sum nor the old output is rescaled when the maximum rises: times exp(old maximum - new maximum)",
    "inside": "the output is divided by the sum inside the loop: divide once, after the last tile",
    "inside and after": "the output is divided by the sum inside the loop: divide once, after the last tile",
    "softmaxes": "this is a softmax for each tile, added up: the tiles must share one maximum and one sum",
    "mean of softmaxes": "this is a softmax for each tile, averaged: the tiles must share one maximum and one sum",
    "ragged": "the last tile is dropped where keys is not a multiple of tile: it is only shorter",
    "restart": "the keys' positions start again at 0 in every tile: key j of a tile stands at start + j",
    "hidden": "a hidden key has the score 0, and e^0 is 1: its score must be -inf",
}


def _tiled_faults(q: Tensor, k: Tensor, v: Tensor, offset: int | None, tile: int) -> list[tuple[str, Tensor]]:
    queries, keys, root = q.shape[2], k.shape[2], math.sqrt(q.shape[-1])
    faults = [(sentence, _loop(q, k, v, offset, tile, fault)) for fault, sentence in _TILED.items()]
    faults += [
        (
            "the heads are in the wrong order (0, 1, 0, 1), neighbours share (0, 0, 1, 1): head h reads h // group",
            _attend(q, k, v, offset, tiled_heads=True),
        ),
        ("there is no scale: the dot products are divided by sqrt(head_dim)", _attend(q.double() * root, k, v, offset)),
        ("the scale is there twice: the dot products are divided by sqrt(head_dim) once", _attend(q / root, k, v, offset)),
    ]
    if offset is None:
        faults.append(("it is causal although offset is None: then every query sees every key", _attend(q, k, v, 0)))
        return faults
    everything = "with an offset attention is causal: here queries see their future"
    if offset == 0:
        everything = "offset 0 is causal, too: only None means that every query sees every key (`if offset:` takes 0 for None)"
    return [
        *faults,
        (everything, _attend(q, k, v, None)),
        ("the offset is forgotten: query i stands at position offset + i", _attend(q, k, v, 0)),
        ("the offset has the wrong sign: query i stands at position offset + i", _attend(q, k, v, -offset)),
        ("a token may see itself: key position <= query position, not <", _attend(q, k, v, offset - 1)),
        ("one key too many: the query at position p sees the keys 0 to p", _attend(q, k, v, offset + 1)),
        (
            "the last query is put at the last key: its position is offset + queries - 1, wherever the keys end",
            _attend(q, k, v, keys - queries),
        ),
    ]


def _is_tiled(answer: Any, sizes: tuple[int, ...], offset: int | None, tile: int, sentence: str, draw: random.Random) -> None:
    batch, heads, kv_heads, queries, keys, d = sizes
    q = 2 * normal(draw, batch, heads, queries, d)
    k, v = normal(draw, batch, kv_heads, keys, d), normal(draw, batch, kv_heads, keys, d)
    call = f"q {tuple(q.shape)}, k and v {tuple(k.shape)}, offset {offset}, tile {tile}"
    got = works(partial(answer, q.clone(), k.clone(), v.clone(), offset, tile), sentence, call=call)
    want = _attend(q, k, v, offset)
    not_missing(got, call=call)
    if isinstance(got, Tensor) and got.shape != want.shape:
        shape = f"the result should be (batch, heads, queries, head_dim), {tuple(want.shape)}; here it is {tuple(got.shape)}"
        raise Mistake(shape, call=call)
    if not _agree(got, want):  # only then is it worth the time to find out why
        named(got, want, _tiled_faults(q, k, v, offset, tile), call=call)
    close(got, want, sentence, tolerance=2e-5, call=call)


@check("tiled_attention")
def one_head(answer: Any, draw: random.Random) -> None:
    for queries, keys, tile in ((1, 6, 3), (3, 8, 2), (2, 5, 5)):
        sentence = "with no offset, every query should get the average of all values that plain attention gives it"
        _is_tiled(answer, (1, 1, 1, queries, keys, 4), None, tile, sentence, draw)


@check("tiled_attention")
def any_tile(answer: Any, draw: random.Random) -> None:
    for keys, tile in ((7, 3), (7, 1), (7, 7), (7, 100), (9, 4), (1, 1), (5, 3)):
        sentence = "the tile may have any size: the last one is shorter, or there is only one"
        _is_tiled(answer, (2, 2, 2, 4, keys, 8), None, tile, sentence, draw)


@check("tiled_attention")
def causal(answer: Any, draw: random.Random) -> None:
    for queries, keys, offset, tile in ((6, 6, 0, 2), (3, 8, 5, 3), (3, 9, 2, 4), (1, 7, 6, 2), (5, 4, 0, 3), (4, 6, 1, 4)):
        sentence = "query i should see the keys at positions 0 to offset + i, whatever the tiles are"
        _is_tiled(answer, (1, 2, 2, queries, keys, 8), offset, tile, sentence, draw)


@check("tiled_attention")
def grouped(answer: Any, draw: random.Random) -> None:
    for sizes, offset, tile in (
        ((1, 4, 2, 1, 5, 8), None, 2),
        ((2, 9, 3, 5, 5, 4), 0, 2),
        ((2, 6, 1, 3, 7, 6), 4, 3),
        ((1, 6, 2, 4, 9, 8), 2, 4),
    ):
        _is_tiled(answer, sizes, offset, tile, "query head h should read key/value head h // (heads / kv_heads)", draw)


@check("tiled_attention")
def queries_before_all_keys(answer: Any, draw: random.Random) -> None:
    sentence = "a query at a position below 0 sees nothing and gets zeros (careful: -inf minus -inf is NaN)"
    for queries, keys, offset, tile in ((5, 4, -2, 2), (3, 4, -3, 3), (6, 9, -1, 4)):
        _is_tiled(answer, (1, 4, 2, queries, keys, 4), offset, tile, sentence, draw)


@check("tiled_attention")
def low_and_high_scores(answer: Any, draw: random.Random) -> None:
    for level, sentence in (
        (-400.0, "all scores lie far below 0: the maximum must start at -inf, not at 0"),
        (400.0, "scores of several hundred: subtract the running maximum before the exponential"),
    ):
        k, v = normal(draw, 1, 1, 7, 4), normal(draw, 1, 1, 7, 4)
        k[..., 0] = level
        q = torch.cat([torch.full((1, 1, 3, 1), 2.0), normal(draw, 1, 1, 3, 3)], -1)  # scores near the level
        got = works(partial(answer, q.clone(), k.clone(), v.clone(), None, 3), sentence, scores=f"near {level}")
        close(got, _attend(q, k, v, None), sentence, tolerance=1e-3, scores=f"near {level}")


@check("tiled_attention")
def no_large_tensor(answer: Any, draw: random.Random) -> None:
    n, sentence = 60, "a prompt of 60 tokens in tiles of 3 should work"
    q, k, v = normal(draw, 1, 2, n, 4), normal(draw, 1, 1, n, 4), normal(draw, 1, 1, n, 4)
    for offset in (None, 0):
        with Watch() as watch:
            got = works(partial(answer, q.clone(), k.clone(), v.clone(), offset, 3), sentence)
        close(got, _attend(q, k, v, offset), sentence, tolerance=2e-5, offset=offset)
        if math.prod(watch.largest) >= n * n:
            fault = "a tensor with an entry for every query and key is made, of scores or of a mask: make one tile's at a time"
            raise Mistake(fault, queries=n, keys=n, tile=3, made=watch.largest)


@check("tiled_attention")
def refuses_what_cannot_be(answer: Any, draw: random.Random) -> None:
    for heads, kv_heads in ((4, 3), (9, 2), (2, 4)):
        q, k = normal(draw, 1, heads, 2, 4), normal(draw, 1, kv_heads, 2, 4)
        sentence = "heads that are no multiple of kv_heads must be refused with ValueError"
        refuses(partial(answer, q, k, k, None, 2), sentence, call=f"{heads} query heads, {kv_heads} key/value heads")
    q = normal(draw, 1, 2, 3, 4)
    for tile in (0, -1):
        refuses(partial(answer, q, q, q, None, tile), "a tile below 1 must be refused with ValueError", tile=tile)


@check("tiled_attention")
def keeps_its_inputs(answer: Any, draw: random.Random) -> None:
    q, k, v = normal(draw, 2, 4, 5, 4), normal(draw, 2, 2, 5, 4), normal(draw, 2, 2, 5, 4)
    given = tuple(x.clone() for x in (q, k, v))
    answer(*given, 0, 2)
    if not all(torch.equal(a, b) for a, b in zip(given, (q, k, v))):
        raise Mistake("q, k or v that was handed in has changed: work on copies")
    for dtype in (torch.float64, torch.bfloat16):
        got = works(partial(answer, q.to(dtype), k.to(dtype), v.to(dtype), 0, 2), "q, k and v may have any dtype", dtype=dtype)
        not_missing(got)
        equal(got.dtype, dtype, "the result keeps the dtype of q, k and v", q=dtype)
