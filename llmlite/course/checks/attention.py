"""Checks of chapter 03."""

import math
import random
from collections.abc import Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from . import Mistake, check, close, equal, named, normal, not_missing, refuses, works

EXERCISES = {
    "attention_weights": (
        "Every query with every key is one matrix product: q @ k with the last two dimensions of k turned over, k.mT.",
        "Divide by math.sqrt(q.shape[-1]). Then scores.masked_fill(~mask, -torch.inf), where there is a mask.",
        "The softmax of chapter 02 along the last dimension does the rest, and it gives zeros where everything is -inf.",
    ),
    "causal_mask": (
        "Query i stands at position offset + i, key j at position j. Write both positions down as tensors with torch.arange.",
        "Comparing a column with a row compares each with each: positions[:, None] turns a row into a column.",
        "return torch.arange(keys) <= torch.arange(offset, offset + queries)[:, None]",
    ),
    "grouped_query_attention": (
        "With group = heads // kv_heads, query head h reads key/value head h // group: neighbours share.",
        "The short way: k.repeat_interleave(group, dim=1), the same for v, and then attention(q, k, v, mask).",
        "The engine copies no keys or values: it reshapes q to (batch, kv_heads, group * queries, head_dim), repeats the "
        "mask's rows `group` times, attends, and reshapes the result back.",
    ),
}

TRUE_MEANS = "the mask is upside down: True marks a key that the query may see"


def _weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """The oracle, in float64: rows in which nothing may be seen are zeros."""
    scores = torch.einsum("...qd,...kd->...qk", q.double(), k.double()) / math.sqrt(q.shape[-1])
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -math.inf).softmax(-1).masked_fill(~mask, 0.0).nan_to_num(0.0)


def _weight_faults(q: Tensor, k: Tensor) -> dict[str, Tensor]:
    (queries, d), keys = q.shape[-2:], k.shape[-2]
    dots = torch.einsum("...qd,...kd->...qk", q.double(), k.double())
    scaled = dots / math.sqrt(d)
    cosines = dots / (q.double().norm(dim=-1)[..., None] * k.double().norm(dim=-1)[..., None, :])
    return {
        "there is no scale: the dot products are divided by sqrt(head_dim)": dots.softmax(-1),
        "the scale is 1/head_dim, it should be 1/sqrt(head_dim)": (dots / d).softmax(-1),
        "the dot products are multiplied by sqrt(head_dim): divide them by it": (dots * math.sqrt(d)).softmax(-1),
        "the scale is 1/sqrt(keys), it should be 1/sqrt(head_dim)": (dots / math.sqrt(keys)).softmax(-1),
        "the scale is 1/sqrt(queries), it should be 1/sqrt(head_dim)": (dots / math.sqrt(queries)).softmax(-1),
        "the softmax runs over the queries; it should run over the keys, the last dimension": scaled.softmax(-2),
        "these are the scaled scores: the softmax is missing": scaled,
        "these are the plain dot products: the scale and the softmax are missing": dots,
        "the scale comes after the softmax: divide the scores by sqrt(head_dim) before it": dots.softmax(-1) / math.sqrt(d),
        "the scores are cosines: divide the dot products by sqrt(head_dim), not by the lengths": cosines.softmax(-1),
        "the rows do not sum to 1: the exponentials must be divided by their sum": scaled.exp(),
    }


@check("attention_weights")
def by_hand(answer: Any, draw: random.Random) -> None:
    q = torch.tensor([[2.0, 0.0, 0.0, 2.0], [0.0, 2.0, 0.0, 0.0]])
    k = torch.tensor([[1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    got, want = answer(q.clone(), k.clone()), torch.tensor([[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]]).softmax(-1)
    _not_turned(got, want, q=q, k=k)
    named(got, want, _weight_faults(q, k).items(), q=q, k=k)
    close(got, want, "these are not the softmax of the scores [2, 1, 0] and [0, 0, 1]", tolerance=1e-4, q=q, k=k)


def _not_turned(got: Any, want: Tensor, **lines: Any) -> None:
    if isinstance(got, Tensor) and got.shape == want.mT.shape != want.shape:
        raise Mistake("the result is turned over: one row for each query, one column for each key", **lines)


@check("attention_weights")
def scaled(answer: Any, draw: random.Random) -> None:
    q, k = normal(draw, 3, 16), normal(draw, 5, 16)
    want, call = _weights(q, k), "attention_weights(q (3, 16), k (5, 16))"
    got = answer(q.clone(), k.clone())
    _not_turned(got, want, call=call)
    named(got, want, _weight_faults(q, k).items(), call=call)
    close(got, want, "row i should be the softmax of q[i] with every key, divided by sqrt(head_dim)", call=call)


@check("attention_weights")
def any_leading_dimensions(answer: Any, draw: random.Random) -> None:
    for lead, queries, keys, d in (((2,), 3, 5, 8), ((2, 3), 4, 7, 16), ((1, 2), 1, 6, 64), ((2,), 4, 4, 4), ((), 1, 1, 3)):
        q, k = normal(draw, *lead, queries, d), normal(draw, *lead, keys, d)
        call = f"attention_weights(q {tuple(q.shape)}, k {tuple(k.shape)})"
        sentence = "q and k may have any dimensions in front; only the last two of k are turned over (k.mT)"
        got, want = works(partial(answer, q.clone(), k.clone()), sentence, call=call), _weights(q, k)
        named(got, want, _weight_faults(q, k).items(), call=call)
        close(got, want, sentence, call=call)


@check("attention_weights")
def masked(answer: Any, draw: random.Random) -> None:
    for lead, shape in (((), (3, 6)), ((2, 4), (3, 6)), ((2, 4), (2, 1, 3, 6)), ((2, 4), (2, 1, 1, 6)), ((2,), (6,))):
        q, k = normal(draw, *lead, 3, 8), normal(draw, *lead, 6, 8)
        mask = normal(draw, *shape) > 0
        first = draw.randrange(6)
        mask[..., first], mask[..., (first + 1) % 6] = True, False
        want, plain = _weights(q, k, mask), _weights(q, k)
        dots = torch.einsum("...qd,...kd->...qk", q.double(), k.double()) / math.sqrt(8)
        faults = {
            TRUE_MEANS: _weights(q, k, ~mask),
            "the mask is ignored: a hidden key must get the weight 0": plain,
            "the weights of a row no longer sum to 1: hide the keys before the softmax, with the score -inf": plain * mask,
            "a hidden key has the score 0, and e^0 is 1: its score must be -inf": (dots * mask).softmax(-1),
            "the mask is added as the numbers 0 and 1: where it is False, the score must be -inf": (dots + mask).softmax(-1),
        }
        call = f"q {tuple(q.shape)}, k {tuple(k.shape)}, mask {shape}"
        sentence = "the mask may have any shape that broadcasts to (..., queries, keys)"
        got = works(partial(answer, q.clone(), k.clone(), mask.clone()), sentence, call=call)
        named(got, want, faults.items(), call=call, mask=mask)
        close(got, want, "the softmax should run over the keys that may be seen, and the others get 0", call=call, mask=mask)


@check("attention_weights")
def hidden_keys_do_not_count(answer: Any, draw: random.Random) -> None:
    q, hidden = torch.tensor([[100.0, 0.0, 0.0, 0.0]]), torch.tensor([[False, True, True]])
    for first, rest, sentence in (
        (100.0, 0.0, "a hidden key must not count, however large its score: give it -inf before the softmax"),
        (0.0, -100.0, "a hidden key must not count, however small the others' scores: give it -inf, not a small number"),
    ):
        k = torch.zeros(3, 4)
        k[:, 0] = torch.tensor([first, rest, rest])
        lines: dict[str, Any] = {"scores": (q @ k.mT / 2), "mask": hidden}
        close(answer(q.clone(), k.clone(), hidden.clone()), torch.tensor([[0.0, 0.5, 0.5]]), sentence, **lines)


@check("attention_weights")
def nothing_to_see(answer: Any, draw: random.Random) -> None:
    q, k = normal(draw, 2, 4), normal(draw, 3, 4)
    mask = torch.tensor([[True, True, False], [False, False, False]])
    got, want = answer(q.clone(), k.clone(), mask.clone()), _weights(q, k, mask)
    not_missing(got)
    if isinstance(got, Tensor) and got.shape == want.shape:
        if torch.isnan(got[1]).any():
            sentence = "a query that may see nothing gets zeros, not NaN (the softmax of chapter 02 does that)"
            raise Mistake(sentence, mask=mask, yours=got, expected=want)
        sentence = "a query that may see nothing gets zeros; with a finite stand-in for -inf it sees what is hidden"
        seen = [(sentence, torch.full((3,), 1 / 3)), (sentence, _weights(q, k)[1])]
        named(got[1], want[1], seen, mask=mask, yours=got, expected=want)
    close(got, want, "a query that may see nothing gets zeros, and the others are as without it", mask=mask)


@check("attention_weights")
def leaves_its_inputs(answer: Any, draw: random.Random) -> None:
    q, k, mask = normal(draw, 2, 4), normal(draw, 3, 4), torch.tensor([[True, False, True], [True, True, False]])
    given = q.clone(), k.clone(), mask.clone()
    answer(*given)
    if not all(torch.equal(a, b) for a, b in zip(given, (q, k, mask))):
        raise Mistake("q, k or the mask that was handed in has changed: work on copies")
    for dtype in (torch.float64, torch.bfloat16):
        got = answer(q.to(dtype), k.to(dtype), mask)
        not_missing(got)
        equal(got.dtype, dtype, "the weights keep the dtype of q and k", q=dtype)


def _visible(queries: int, keys: int, offset: int) -> Tensor:
    return torch.tensor([[key <= offset + query for key in range(keys)] for query in range(queries)])


def _is_mask(answer: Any, queries: int, keys: int, offset: int | None, faults: Mapping[str, Tensor] | None = None) -> None:
    arguments = (queries, keys) if offset is None else (queries, keys, offset)
    call, want = f"causal_mask({', '.join(map(str, arguments))})", _visible(queries, keys, offset or 0)
    got = works(lambda: answer(*arguments), "queries, keys and offset may be any numbers", call=call)
    not_missing(got, call=call)
    if isinstance(got, Tensor) and got.dtype != torch.bool:
        sentence = "the mask should hold True and False (dtype torch.bool): a comparison gives that"
        raise Mistake(sentence, call=call, yours=got, expected=want)
    if isinstance(got, Tensor) and got.shape == (keys, queries) != (queries, keys):
        raise Mistake("the mask is turned over: one row for each query, one column for each key", call=call, expected=want)
    named(got, want, (faults or {}).items(), call=call)
    if isinstance(got, Tensor) and got.shape == want.shape and not torch.equal(got, want):
        query, key = (got != want).nonzero()[0].tolist()
        place = f"query {query}, at position {query + (offset or 0)},"
        wrong = f"can see key {key}, which is in its future" if got[query, key] else f"cannot see key {key}"
        raise Mistake(f"{place} {wrong}", call=call, yours=got, expected=want)
    close(got, want, "True where key position <= query position", call=call)


@check("causal_mask")
def triangle(answer: Any, draw: random.Random) -> None:
    n = draw.randint(3, 5)
    lower = _visible(n, n, 0)
    faults = {
        "a token may see itself: key position <= query position, not <": _visible(n, n, -1),
        TRUE_MEANS: ~lower,
        "every query sees its future: rows are queries, columns are keys, and True stands where key <= query": lower.T,
        "query 0 can see key 1, which is in its future": torch.ones(n, n, dtype=torch.bool),
        "query 0 can see key 1, the token after it: key position <= query position": _visible(n, n, 1),
    }
    _is_mask(answer, n, n, None, faults)


@check("causal_mask")
def queries_that_start_later(answer: Any, draw: random.Random) -> None:
    for queries, keys, offset in ((2, 5, 3), (2, 8, 3), (3, 9, 2)):
        faults = {
            "the offset is ignored: query 0 stands at position `offset`, it may see that many keys more": _visible(
                queries, keys, 0
            ),
            "the offset has the wrong sign: the queries come later than the keys before them": _visible(queries, keys, -offset),
            "the last query is put at the last key: its position is offset + queries - 1, wherever the keys end": _visible(
                queries, keys, keys - queries
            ),
            "one key too few: the query at position p sees the keys 0 to p, itself included": _visible(
                queries, keys, offset - 1
            ),
            "one key too many: the query at position p sees the keys 0 to p": _visible(queries, keys, offset + 1),
            TRUE_MEANS: ~_visible(queries, keys, offset),
        }
        _is_mask(answer, queries, keys, offset, faults)


@check("causal_mask")
def every_size(answer: Any, draw: random.Random) -> None:
    for queries in (1, 2, 5):
        for keys in (1, 3, 7):
            for offset in (0, 1, 4, 9):
                _is_mask(answer, queries, keys, offset)


def _attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, tiled: str = "") -> Tensor:
    """The oracle, with repeated heads; those named in `tiled` are tiled instead."""
    group = q.shape[1] // k.shape[1]
    k, v = (
        x.double().repeat(1, group, 1, 1) if name in tiled else x.double().repeat_interleave(group, 1)
        for name, x in (("k", k), ("v", v))
    )
    return _weights(q, k, mask) @ v


def _heads(draw: random.Random, batch: int, heads: int, kv_heads: int, queries: int, keys: int, d: int) -> tuple[Tensor, ...]:
    return (
        normal(draw, batch, heads, queries, d),
        normal(draw, batch, kv_heads, keys, d),
        normal(draw, batch, kv_heads, keys, d),
    )


def _shaped(got: Any, want: Tensor, kv_heads: int, **lines: Any) -> None:
    """Name the usual wrong shapes of the result."""
    not_missing(got, **lines)
    if not isinstance(got, Tensor) or got.shape == want.shape:
        return
    batch, heads, queries, d = want.shape
    end = "; the result should be (batch, heads, queries, head_dim)"
    faults = {
        "the heads stand behind the queries" + end: (batch, queries, heads, d),
        "the heads are joined to one long vector: the engine does that later" + end: (batch, queries, heads * d),
        "there is one result for each key/value head, not for each query head" + end: (batch, kv_heads, queries, d),
        "the groups are still apart: join them to one dimension of heads" + end: (
            batch,
            kv_heads,
            heads // kv_heads,
            queries,
            d,
        ),
        "the groups are still stacked as queries: shape them back" + end: (batch, kv_heads, heads // kv_heads * queries, d),
    }
    named(tuple(got.shape), tuple(want.shape), faults.items(), **lines)


FIT = "each key/value head serves heads / kv_heads query heads: repeat the heads of k and v, or group those of q"


@check("grouped_query_attention")
def who_reads_whom(answer: Any, draw: random.Random) -> None:
    for heads, kv_heads in ((4, 2), (9, 3)):
        group = heads // kv_heads
        v = torch.arange(float(kv_heads)).reshape(1, -1, 1, 1).expand(1, kv_heads, 3, 4).clone()
        q, k = torch.zeros(1, heads, 5, 4), normal(draw, 1, kv_heads, 3, 4)
        call = f"{heads} query heads, {kv_heads} key/value heads; q all zeros, v[:, h] all h; what each query head gets"
        got = works(partial(answer, q.clone(), k.clone(), v.clone()), FIT, call=call)
        want = torch.arange(kv_heads).repeat_interleave(group)
        _shaped(got, want.reshape(1, -1, 1, 1).expand(1, heads, 5, 4), kv_heads, call=call)
        if isinstance(got, Tensor) and got.shape == (1, heads, 5, 4):
            read = got[0, :, 0, 0]
            faults = {
                "the heads are tiled (0, 1, 0, 1), they should be repeated (0, 0, 1, 1): head h reads h // group": torch.arange(
                    kv_heads
                ).repeat(group),
                "every query head gets the mean of all key/value heads; each should read one": want * 0 + (kv_heads - 1) / 2,
                "every query head reads key/value head 0": want * 0,
            }
            named(read, want, faults.items(), call=call)
            close(read, want, "query head h should read key/value head h // (heads / kv_heads)", call=call)


@check("grouped_query_attention")
def as_torch_has_it(answer: Any, draw: random.Random) -> None:
    for sizes in ((2, 4, 2, 3, 5, 16), (1, 9, 3, 4, 4, 8), (2, 6, 1, 1, 7, 8), (1, 3, 3, 2, 6, 4), (3, 8, 2, 8, 2, 4)):
        q, k, v = _heads(draw, *sizes)
        call = f"q {tuple(q.shape)}, k and v {tuple(k.shape)}, no mask"
        got = works(partial(answer, q.clone(), k.clone(), v.clone()), FIT, call=call)
        want = F.scaled_dot_product_attention(q.double(), k.double(), v.double(), enable_gqa=True)
        _shaped(got, want, sizes[2], call=call)
        named(got, want, _head_faults(q, k, v).items(), call=call)
        close(got, want, "a query head's result is not the average of its key/value head's values", call=call)


def _head_faults(q: Tensor, k: Tensor, v: Tensor) -> dict[str, Tensor]:
    heads, kv_heads, d = q.shape[1], k.shape[1], q.shape[-1]
    group, root = heads // kv_heads, math.sqrt(d)
    shared = q.double().unflatten(1, (kv_heads, group)).mean(2).repeat_interleave(group, 1)
    return {
        "the heads are tiled, they should be repeated: query head h reads key/value head h // group": _attend(
            q, k, v, None, "kv"
        ),
        "the keys' heads are tiled, they should be repeated like the values'": _attend(q, k, v, None, "k"),
        "the values' heads are tiled, they should be repeated like the keys'": _attend(q, k, v, None, "v"),
        "there is no scale: the dot products are divided by sqrt(head_dim)": _attend(q.double() * root, k, v),
        "the scale is there twice: attention divides by sqrt(head_dim) already": _attend(q.double() / root, k, v),
        "the queries of a group are averaged: every query head looks for itself": _attend(shared, k, v),
        "all heads get the mean over the heads: every query head has a result of its own": _attend(q, k, v)
        .mean(1, keepdim=True)
        .expand(q.shape),
    }


@check("grouped_query_attention")
def with_masks(answer: Any, draw: random.Random) -> None:
    causal = _visible(4, 6, 2)
    each = normal(draw, 2, 1, 4, 6) > 0
    each[..., 0], each[..., 1] = True, False
    pad = torch.tensor([[True] * 6, [False, False, True, True, True, True]]).reshape(2, 1, 1, 6)
    for mask, name in ((causal, "causal (4, 6)"), (each, "(batch, 1, 4, 6)"), (pad, "(batch, 1, 1, 6)")):
        q, k, v = _heads(draw, 2, 6, 2, 4, 6, 8)
        call = f"q {tuple(q.shape)}, k and v {tuple(k.shape)}, mask {name}"
        sentence = "the mask may be (queries, keys), (batch, 1, queries, keys), or have 1 in place of queries"
        got, want = (
            works(partial(answer, q.clone(), k.clone(), v.clone(), mask.clone()), sentence, call=call),
            _attend(q, k, v, mask),
        )
        _shaped(got, want, 2, call=call)
        named(got, want, _mask_faults(q, k, v, mask).items(), call=call)
        close(got, want, "the mask does not hide the same keys from every query head", call=call)


def _mask_faults(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> dict[str, Tensor]:
    batch, heads, queries, d = q.shape
    kv_heads = k.shape[1]
    group = heads // kv_heads
    rows = mask.expand(*mask.shape[:-2], queries, -1).repeat_interleave(group, -2)
    mixed = _weights(q.reshape(batch, kv_heads, -1, d), k, rows) @ v.double()
    repeated = v.double().repeat_interleave(group, 1)
    return {
        "the mask is forgotten: queries see hidden keys": _attend(q, k, v),
        TRUE_MEANS: _attend(q, k, v, ~mask),
        "the mask is applied after the softmax: the weights no longer sum to 1": (
            _weights(q, k.repeat_interleave(group, 1)) * mask @ repeated
        ),
        "the mask's rows are in another order than the stacked queries: repeat it as a whole, head after head": mixed.reshape(
            q.shape
        ),
        "the mask is made anew from the shapes: use the one that is handed in": _attend(
            q, k, v, _visible(queries, k.shape[2], 0)
        ),
    }


@check("grouped_query_attention")
def nothing_for_a_query(answer: Any, draw: random.Random) -> None:
    q, k, v = _heads(draw, 1, 4, 2, 3, 3, 4)
    mask = torch.tensor([[True, False, False], [False, False, False], [True, True, True]])
    got = answer(q.clone(), k.clone(), v.clone(), mask.clone())
    sentence = "a query that may see nothing gets zeros (attention does that), and the others are as without it"
    close(got, _attend(q, k, v, mask), sentence, mask=mask)


@check("grouped_query_attention")
def even_shares_only(answer: Any, draw: random.Random) -> None:
    for heads, kv_heads in ((4, 3), (9, 2), (2, 4)):
        q, k, v = _heads(draw, 1, heads, kv_heads, 2, 2, 4)
        sentence = "heads that are no multiple of kv_heads must be refused with ValueError"
        refuses(partial(answer, q, k, v), sentence, call=f"{heads} query heads, {kv_heads} key/value heads")


@check("grouped_query_attention")
def keeps_its_inputs(answer: Any, draw: random.Random) -> None:
    q, k, v = _heads(draw, 2, 4, 2, 3, 3, 4)
    mask = _visible(3, 3, 0)
    given = tuple(x.clone() for x in (q, k, v, mask))
    answer(*given)
    if not all(torch.equal(a, b) for a, b in zip(given, (q, k, v, mask))):
        raise Mistake("q, k, v or the mask that was handed in has changed: work on copies")
    for dtype in (torch.float64, torch.bfloat16):
        got = answer(q.to(dtype), k.to(dtype), v.to(dtype), mask)
        not_missing(got)
        equal(got.dtype, dtype, "the result keeps the dtype of q, k and v", q=dtype)
