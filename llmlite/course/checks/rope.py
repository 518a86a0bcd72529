"""Checks of chapter 04."""

import random
from functools import partial
from typing import Any

import torch
from torch import Tensor

from . import Mistake, check, close, equal, named, normal, not_missing, refuses, works

EXERCISES = {
    "rope_frequencies": (
        "Pair i has the exponent -2 i / head_dim, and i runs from 0 to head_dim / 2 - 1.",
        "torch.arange(0, head_dim, 2) holds every 2 i. A number to the power of a tensor is a tensor.",
        "Raise ValueError where head_dim % 2 is not 0; otherwise return theta ** (-torch.arange(0, head_dim, 2) / head_dim).",
    ),
    "apply_rope": (
        "Call the first half of the last dimension a and the second half b. Number i of a and number i of b are a pair.",
        "a, b = x.chunk(2, dim=-1). The new a is a cos - b sin. The new b is b cos + a sin, with the old a.",
        "Put the two new halves side by side with torch.cat((..., ...), dim=-1), and take x's dtype with .to(x.dtype).",
    ),
    "permute": (
        "Within one head the rows are two halves. The new order takes one row of the first half, one of the second, in turn.",
        "Seen as (heads, 2, head_dim / 2, ...), the second one says which half a row is in. Which two change places?",
        "Reshape to (heads, 2, -1, *weight.shape[1:]), transpose dimensions 1 and 2, and reshape to weight.shape.",
    ),
}


def _frequencies(head_dim: int, theta: float) -> Tensor:
    return torch.tensor([float(theta) ** (-2 * i / head_dim) for i in range(head_dim // 2)], dtype=torch.float64)


@check("rope_frequencies")
def by_hand(answer: Any, draw: random.Random) -> None:
    lines: dict[str, Any] = {"call": "rope_frequencies(8, 10000.0)"}
    got, want = answer(8, 10000.0), torch.tensor([1.0, 0.1, 0.01, 0.001], dtype=torch.float64)
    not_missing(got, **lines)
    if isinstance(got, Tensor) and got.dim() == 1 and len(got) == 8:
        raise Mistake(
            "there is one frequency for each number: a pair shares one, so head_dim / 2 are expected", **lines, yours=got
        )
    whole = "// rounds the exponents to whole numbers: divide by head_dim with /"
    exponents: dict[str, list[float]] = {
        "the exponent of pair i is -i / head_dim here, it should be -2 i / head_dim": [0, -1 / 8, -2 / 8, -3 / 8],
        "the frequencies grow: the exponent needs a minus sign": [0, 1 / 4, 2 / 4, 3 / 4],
        "the frequencies grow: the exponent needs a minus sign, and 2 i in place of i": [0, 1 / 8, 2 / 8, 3 / 8],
        "the exponent is divided by head_dim / 2, it should be -2 i / head_dim": [0, -2 / 4, -4 / 4, -6 / 4],
        "the order is from slow to fast: pair 0 is the fastest, with the frequency 1": [-3 / 4, -2 / 4, -1 / 4, 0],
        "the pairs are counted from 1: pair 0 has the exponent 0, and so the frequency 1": [-1 / 4, -2 / 4, -3 / 4, -1],
        whole: [0, -1, -1, -1],
        whole + ", and all are 0 here": [0, 0, 0, 0],
        "the exponents run to -1 (logspace and linspace hold both ends): they end a step before": [0, -1 / 3, -2 / 3, -1],
    }
    faults = [(sentence, 10000.0 ** torch.tensor(powers, dtype=torch.float64)) for sentence, powers in exponents.items()]
    named(got, want, faults, **lines)
    close(got, want, "pair i has the frequency theta ** (-2 i / head_dim)", tolerance=1e-3, **lines)


@check("rope_frequencies")
def real_sizes(answer: Any, draw: random.Random) -> None:
    for head_dim, theta in ((64, 100000.0), (128, 500000.0), (2, 10000.0), (2 * draw.randint(3, 60), draw.uniform(2e3, 1e6))):
        call = f"rope_frequencies({head_dim}, {theta:.6g})"
        got, want = answer(head_dim, theta), _frequencies(head_dim, theta)
        if isinstance(got, Tensor) and got.shape == want.shape and len(got) > 1 and not got[1:].any():
            sentence = (
                "float16 ends at 65504, so a larger theta is infinite: compute in float32 or better, not in half precision"
            )
            raise Mistake(sentence, call=call, yours=got[:4], expected=want[:4])
        close(got, want, "pair i has the frequency theta ** (-2 i / head_dim)", call=call, tolerance=2e-2)
        equal(got.dtype, torch.float32, "the frequencies are float32", call=call)
        if not torch.allclose(got.double(), want, rtol=1e-5, atol=0):  # of each number, also of the small ones
            sentence = "the slow frequencies are inexact: compute in float32 or better, not in half precision"
            raise Mistake(sentence, call=call, yours=got[-3:], expected=want[-3:])


@check("rope_frequencies")
def pairs_only(answer: Any, draw: random.Random) -> None:
    for head_dim in (7, 1):
        sentence = "an odd head_dim cannot be split into pairs: it must be refused with ValueError"
        refuses(partial(answer, head_dim, 10000.0), sentence, call=f"rope_frequencies({head_dim}, 10000.0)")


def _rotated(x: Tensor, angles: Tensor) -> Tensor:
    """The pairs as complex numbers, turned by a product; float64."""
    a, b = x.double().tensor_split(2, dim=-1)
    turned = torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((turned.real, turned.imag), dim=-1)


def _turn(answer: Any, x: Tensor, angles: Tensor) -> Any:
    """What the answer makes of x; an error about sizes is explained."""
    shapes = f"x {tuple(x.shape)}, cos and sin {tuple(angles.shape)}"
    try:
        return answer(x, angles.cos().float(), angles.sin().float())
    except (RuntimeError, ValueError) as error:
        if "to unpack" in str(error):
            sentence = "x may have any number of dimensions before (tokens, head_dim), and x.shape as many"
        elif "size" in str(error):
            sentence = "the shapes do not fit: cos and sin are (tokens, head_dim / 2), as wide as half of x"
        else:
            raise
        raise Mistake(sentence, shapes=shapes, error=str(error)) from None


@check("apply_rope")
def worked_example(answer: Any, draw: random.Random) -> None:
    x, angles = torch.tensor([[1.0, 2.0, 3.0, 4.0]]), torch.tensor([[1.0, 0.01]], dtype=torch.float64)
    got, want = _turn(answer, x.clone(), angles), _rotated(x, angles).float()
    cos, sin = angles.cos().float(), angles.sin().float()
    a, b = x.chunk(2, dim=-1)
    even, odd = x[:, 0::2], x[:, 1::2]
    lines: dict[str, Any] = {"x": "[[1, 2, 3, 4]]", "angles": "[[1, 0.01]]"}
    left, right = a * cos - b * sin, b * cos + a * sin
    interleaved = torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)
    mixed = torch.cat((even * cos - odd * sin, odd * cos + even * sin), dim=-1)
    twice = [table.repeat_interleave(2, -1) for table in (cos, sin)]
    joined = "the two halves are stacked: that makes a new dimension; put them side by side with torch.cat((..., ...), dim=-1)"
    turns = "the two halves take turns (stack and flatten): they stand side by side, as torch.cat((..., ...), dim=-1) puts them"
    under = "the two halves stand one under the other: torch.cat joins the first dimension unless it is told dim=-1"
    faults = (
        (joined, torch.stack((left, right), dim=-1)),
        (joined, torch.stack((left, right), dim=-2)),
        (joined, torch.stack((left, right))),
        (turns, torch.stack((left, right), dim=-1).flatten(-2)),
        (under, torch.cat((left, right))),
        (
            "the tables are repeated number by number (c0, c0, c1, c1): torch.cat((cos, cos), dim=-1) gives c0, c1, c0, c1",
            x * twice[0] + torch.cat((-b, a), -1) * twice[1],
        ),
        ("neighbours are paired (the interleaved layout): number i belongs with number i + head_dim / 2", interleaved),
        ("neighbours are paired: number i belongs with number i + head_dim / 2", mixed),
        ("it turns the other way round: the signs of sin are swapped", torch.cat((a * cos + b * sin, b * cos - a * sin), -1)),
        ("both halves are a cos - b sin: the second is b cos + a sin", torch.cat((left, left), -1)),
        ("the halves are swapped: a cos - b sin comes first", torch.cat((right, left), -1)),
        ("only the first half has changed: the second one turns too, it is b cos + a sin", torch.cat((left, b), -1)),
        ("only the second half has changed: the first one turns too, it is a cos - b sin", torch.cat((a, right), -1)),
        ("the second half is b cos + a sin, with a plus", torch.cat((left, b * cos - a * sin), -1)),
        ("the first half is a cos - b sin, with a minus", torch.cat((a * cos + b * sin, right), -1)),
        ("the second half uses the new a, it needs the old one", torch.cat((left, b * cos + left * sin), -1)),
        ("cos and sin have changed places", torch.cat((a * sin - b * cos, b * sin + a * cos), -1)),
    )
    named(got, want, faults, **lines)
    close(got, want, "a pair (a, b) becomes (a cos - b sin, b cos + a sin)", **lines)


@check("apply_rope")
def keeps_x(answer: Any, draw: random.Random) -> None:
    x = normal(draw, 3, 8)
    before, angles = x.clone(), normal(draw, 3, 4, dtype=torch.float64)
    tables = angles.cos().float(), angles.sin().float()
    copies = tuple(table.clone() for table in tables)
    answer(x, *tables)
    if not torch.equal(x, before):
        raise Mistake("the x that was handed in has changed: work on a copy", before=before[0], after=x[0])
    if not all(map(torch.equal, tables, copies)):
        raise Mistake("the cos or sin that was handed in has changed: work on a copy")


@check("apply_rope")
def shapes(answer: Any, draw: random.Random) -> None:
    for shape in ((5, 8), (1, 2), (3, 4, 6), (2, 3, 4, 64), (2, 6, 1, 8), (4, 4, 4, 8)):
        x, angles = normal(draw, *shape), normal(draw, shape[-2], shape[-1] // 2, dtype=torch.float64)
        call, sentence = (
            f"x {shape}, cos and sin {tuple(angles.shape)}",
            "x may have any number of dimensions before (tokens, head_dim)",
        )
        got = works(partial(_turn, answer, x, angles), sentence, call=call)
        close(got, _rotated(x, angles), "each token is turned by the angles of its own row", call=call)


@check("apply_rope")
def dtypes(answer: Any, draw: random.Random) -> None:
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        x, angles = normal(draw, 4, 16, dtype=dtype), normal(draw, 4, 8, dtype=torch.float64)
        got, line = works(partial(_turn, answer, x, angles), "x may be in half or double precision", x=dtype), {"x": dtype}
        not_missing(got)
        equal(getattr(got, "dtype", None), dtype, "the result keeps the dtype of x; the tables are float32", **line)
        tolerance = 8 * torch.finfo(dtype).eps if dtype != torch.float64 else 1e-5
        close(got, _rotated(x, angles), "a pair (a, b) becomes (a cos - b sin, b cos + a sin)", tolerance=tolerance, **line)


def _order(rows: int, heads: int) -> list[int]:
    """The new order of the rows, written out."""
    size = rows // heads
    return [head * size + i + half * (size // 2) for head in range(heads) for i in range(size // 2) for half in (0, 1)]


@check("permute")
def one_head(answer: Any, draw: random.Random) -> None:
    weight = torch.arange(8.0)[:, None] + torch.tensor([0.0, 0.1])  # (8, 2): a row's number before the point
    got = _reordered(answer, weight, 1)
    lines = {"call": "rows 0 to 7, heads=1", "expected": "rows 0, 4, 1, 5, 2, 6, 3, 7"}
    if isinstance(got, Tensor) and got.shape == weight.shape:
        rows = got[:, 0].round().int().tolist()
        as_they_were = (
            "the rows are as they were: make (heads, 2, head_dim / 2, ...) of the first dimension, swap the 2nd and 3rd"
        )
        faults = {
            as_they_were: list(range(8)),
            "this is the way back (from interleaved to half-split)": [0, 2, 4, 6, 1, 3, 5, 7],
            "the two of a pair have changed places: the first half's row comes first": [4, 0, 5, 1, 6, 2, 7, 3],
        }
        named(rows, _order(8, 1), faults.items(), **lines)
        equal(rows, _order(8, 1), "the rows of the two halves do not take turns", **lines)
    close(got, weight[_order(8, 1)], "a row must move as a whole", call=lines["call"])


@check("permute")
def rows_not_columns(answer: Any, draw: random.Random) -> None:
    weight, order = normal(draw, 8, 8), _order(8, 1)
    got = _reordered(answer, weight, 1)
    sentence = "the columns have been reordered: the rows of the weight make the numbers of q"
    named(got, weight[order], [(sentence, weight[:, order])], weight="(8, 8)", heads=1)
    close(got, weight[order], "the rows of the two halves take turns", weight="(8, 8)", heads=1)


@check("permute")
def within_each_head(answer: Any, draw: random.Random) -> None:
    for rows, columns, heads in ((8, 3, 2), (24, 5, 3), (72, 10, 9), (12, 12, 3)):
        weight = normal(draw, rows, columns)
        lines: dict[str, Any] = {"weight": f"({rows}, {columns})", "heads": heads}
        got = _reordered(answer, weight, heads)
        faults = {
            "the rows are interleaved over all heads at once: do it within each head": weight[_order(rows, 1)],
            "heads and head_dim have changed places: there are `heads` groups of rows": weight[_order(rows, rows // heads)],
        }
        want = weight[_order(rows, heads)]
        named(got, want, faults.items(), **lines)
        close(got, want, "within each head, the rows of its two halves take turns", **lines)


@check("permute")
def a_bias(answer: Any, draw: random.Random) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        bias = torch.arange(12).to(dtype)
        sentence = "a bias has one dimension, and is reordered like the rows of its weight"
        lines: dict[str, Any] = {"bias": "0 to 11", "heads": 3}
        got = works(partial(answer, bias.clone(), 3), sentence, **lines)
        close(got, bias[_order(12, 3)], sentence, **lines)
        equal(got.dtype, dtype, "the dtype stays as it was", **lines)


@check("permute")
def keeps_weight(answer: Any, draw: random.Random) -> None:
    weight = normal(draw, 12, 4)
    before = weight.clone()
    answer(weight, 3)
    if not torch.equal(weight, before):
        raise Mistake("the weight that was handed in has changed: work on a copy", weight="(12, 4)", heads=3)


def _reordered(answer: Any, weight: Tensor, heads: int) -> Any:
    """What the answer makes of a copy of weight."""
    lines = {"weight": tuple(weight.shape), "heads": heads}
    sentence = "the rows are heads × head_dim: head_dim is the number of rows divided by heads"
    got = works(partial(answer, weight.clone(), heads), sentence, **lines)
    not_missing(got, **lines)
    return got
