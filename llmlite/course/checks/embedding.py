"""Checks of chapter 02."""

import math
import random
from functools import partial
from typing import Any

import torch
from torch.nn import functional as F

from . import Mistake, check, close, equal, named, normal, not_missing, refuses, works

EXERCISES = {
    "embed": (
        "Indexing a tensor by a tensor of ids takes one row for each id.",
        "ids.min() and ids.max() tell whether every id is a row. A negative index would silently count from the end.",
        "Raise ValueError where ids.min() < 0 or ids.max() >= len(table); otherwise return table[ids].",
    ),
    "nearest": (
        "Cosine similarity is the dot product divided by both lengths.",
        "table @ query gives every dot product; table.norm(dim=1) gives every row's length. A row of length 0 needs care.",
        "torch.topk(similarity, k) gives the k largest values and where they are, best first.",
    ),
    "unembed": (
        "One logit is the dot product of a vector with one row of the table. All of them at once are a matrix product.",
        "hidden is (..., hidden_size), the table (vocab_size, hidden_size): which of them must be turned over?",
        "return hidden @ table.T",
    ),
    "softmax": (
        "exp of 1000 overflows. Softmax does not change when the same number is taken off every score: which one helps?",
        "scores.amax(dim, keepdim=True) is each row's own maximum; keepdim lets it subtract from the row.",
        "Subtract each row's maximum, take exp, divide by the sum along dim with keepdim=True. Where a row's maximum is -inf, "
        "subtract 0 instead, and let a sum of 0 give zeros.",
    ),
}


@check("embed")
def rows(answer: Any, draw: random.Random) -> None:
    table = normal(draw, 7, 7)
    ids = torch.tensor([draw.randrange(7) for _ in range(5)])
    got, want = answer(ids, table), F.one_hot(ids, 7).float() @ table
    call, sentence = f"embed({ids.tolist()}, table (7, 7))", "these are columns of the table: the vector of an id is its row"
    named(got, want, [(sentence, table[:, ids]), (sentence, table.T[ids])], call=call)
    close(got, want, "a vector is not the row of its id", call=call)


@check("embed")
def any_shape(answer: Any, draw: random.Random) -> None:
    table = normal(draw, 5, 3)
    for shape in ((2, 4), (), (3, 1, 2), (0,)):
        ids = torch.tensor([draw.randrange(5) for _ in range(math.prod(shape))], dtype=torch.int64).reshape(shape)
        sentence, call = "ids of any shape keep it, with the vector's size behind", f"ids of shape {shape}"
        close(works(partial(answer, ids, table), sentence, call=call), F.embedding(ids, table), sentence, call=call)
    got = answer(torch.tensor([1]), table.to(torch.bfloat16))
    not_missing(got)
    equal(got.dtype, torch.bfloat16, "the vectors keep the table's dtype", table="bfloat16")


@check("embed")
def in_range(answer: Any, draw: random.Random) -> None:
    table = normal(draw, 5, 3)
    for ids, sentence in (
        ([0, -1], "a negative id is not a row: it must be refused with ValueError, not counted from the end"),
        ([5], "an id past the last row must be refused with ValueError"),
        ([[1], [99]], "an id past the last row must be refused with ValueError"),
    ):
        refuses(partial(answer, torch.tensor(ids), table), sentence, call=f"embed({ids}, table of 5 rows)")


@check("softmax")
def shares(answer: Any, draw: random.Random) -> None:
    scores = normal(draw, 3, 5)
    _is_softmax(answer, scores, -1, "each row's exponentials are divided by the row's sum")


@check("softmax")
def along_dim(answer: Any, draw: random.Random) -> None:
    scores = normal(draw, 2, 3, 4)
    for dim in (0, 1, 2, -2):
        _is_softmax(
            answer, scores, dim, "the probabilities must sum to 1 along dim", call=f"softmax(scores (2, 3, 4), dim={dim})"
        )


@check("softmax")
def large(answer: Any, draw: random.Random) -> None:
    scores = torch.tensor([[1000.0, 999.0]])
    got = answer(scores.clone())
    if isinstance(got, torch.Tensor) and torch.isfinite(got).all() and got.shape == (1, 2) and got[0, 0] == got[0, 1]:
        sentence = "large scores are cut off, and so are all the same: subtract the largest score instead"
        raise Mistake(sentence, scores=scores, yours=got, expected=[[0.73106, 0.26894]])
    for rows, sentence in (
        ([[1000.0, 999.0]], "exp(1000) overflows: subtract the largest score first"),
        ([[-1e4, -1e4]], "exp(-10000) is 0, and 0 / 0 is NaN: subtract the largest score first"),
        ([[1000.0, 999.0], [0.0, -1.0]], "each row has its own maximum; the whole tensor's makes other rows vanish"),
    ):  # the tolerance allows for float32, in which numbers near 10000 lie 0.001 apart
        _is_softmax(answer, torch.tensor(rows), -1, sentence, tolerance=1e-3, scores=rows)


@check("softmax")
def nothing_allowed(answer: Any, draw: random.Random) -> None:
    inf = math.inf
    _is_softmax(answer, torch.tensor([[0.0, -inf, 1.0]]), -1, "a score of -inf gets the probability 0")
    got = answer(torch.tensor([[-inf, -inf], [0.0, 0.0]]))
    want = torch.tensor([[0.0, 0.0], [0.5, 0.5]])
    close(got, want, "a row in which everything is -inf becomes all zeros", scores="[[-inf, -inf], [0, 0]]")


@check("softmax")
def keeps(answer: Any, draw: random.Random) -> None:
    scores = normal(draw, 2, 4)
    before = scores.clone()
    answer(scores)
    close(scores, before, "the scores that were handed in have changed: work on a copy")
    for dtype in (torch.float16, torch.float64):
        got = answer(normal(draw, 2, 3, dtype=dtype))
        not_missing(got)
        equal(got.dtype, dtype, "the probabilities keep the dtype of the scores", scores=dtype)


@check("softmax")
def many_halves(answer: Any, draw: random.Random) -> None:
    number = 70_000
    got = answer(torch.zeros(number, dtype=torch.float16))
    total = got.double().sum()
    if not 0.97 < total < 1.03:
        sentence = "float16 ends at 65504, so the sum of many exponentials overflows: sum in float32"
        raise Mistake(sentence, scores=f"{number} zeros in float16", yours=f"they sum to {total:.4g}", expected="they sum to 1")


def _is_softmax(answer: Any, scores: torch.Tensor, dim: int, sentence: str, /, tolerance: float = 1e-5, **lines: Any) -> None:
    want, given = torch.softmax(scores.double(), dim).float(), scores.clone()  # an answer may overwrite what it is given
    try:
        got = answer(given, dim) if dim != -1 else answer(given)
    except RuntimeError as error:
        if "size of tensor" not in str(error):
            raise
        text = "the shapes do not fit: do the maximum and the sum keep their dimension (keepdim=True)?"
        raise Mistake(text, **lines, shape=tuple(scores.shape), dim=dim, error=str(error)) from None
    close(got, want, sentence, tolerance=tolerance, **lines)


@check("unembed")
def dot_products(answer: Any, draw: random.Random) -> None:
    hidden, table = normal(draw, 4), normal(draw, 6, 4)
    got, want = _logits(answer, hidden, table), torch.einsum("h,vh->v", hidden, table)
    cosines = torch.cosine_similarity(table, hidden[None], dim=1)
    named(got, want, [("these are cosines; a logit is the plain dot product, lengths included", cosines)])
    close(got, want, "logit v is the dot product of hidden with row v of the table", call="unembed(hidden (4), table (6, 4))")


@check("unembed")
def batches(answer: Any, draw: random.Random) -> None:
    table = normal(draw, 6, 4)
    for shape in ((3, 4), (2, 3, 4), (1, 1, 4), (4, 4)):
        hidden = normal(draw, *shape)
        want = torch.einsum("...h,vh->...v", hidden, table)
        got, call = _logits(answer, hidden, table), f"unembed(hidden {shape}, table (6, 4))"
        close(got, want, "a logit is not its dot product", call=call)
    square, hidden = normal(draw, 4, 4), normal(draw, 2, 4)
    got, want = _logits(answer, hidden, square), torch.einsum("bh,vh->bv", hidden, square)
    close(got, want, "the tokens are the table's rows, not its columns", call="hidden (2, 4), table (4, 4)")


def _logits(answer: Any, hidden: torch.Tensor, table: torch.Tensor) -> Any:
    try:
        return answer(hidden, table)
    except NotImplementedError:
        raise
    except RuntimeError as error:
        sentence = "the shapes do not fit: hidden (..., hidden_size) stands before the table, and the table is turned over"
        call = f"unembed(hidden {tuple(hidden.shape)}, table {tuple(table.shape)})"
        raise Mistake(sentence, call=call, error=str(error)) from None


@check("nearest")
def by_direction(answer: Any, draw: random.Random) -> None:
    table = torch.tensor([[10.0, 10.0], [1.0, 0.1], [0.0, 1.0], [-1.0, 0.0]])
    similarity, rows = _pair(answer(torch.tensor([2.0, 0.0]), table, 2))
    lines: dict[str, Any] = {"table": table, "query": "[2, 0]", "k": 2}
    if rows.tolist() == [0, 1] and similarity[0] < similarity[1]:
        raise Mistake("the order is reversed: the best comes first", **lines, yours=rows, expected="[1, 0]")
    if rows.tolist()[:1] == [0]:
        raise Mistake(
            "a long row wins although it points elsewhere: divide by the lengths", **lines, yours=rows, expected="[1, 0]"
        )
    if rows.tolist()[:1] == [3]:
        raise Mistake("this is the row that points the other way: the largest similarity is nearest", **lines, yours=rows)
    equal(rows, [1, 0], "the rows are not those that point most nearly in the query's direction", **lines)
    want = torch.tensor([1 / math.sqrt(1.01), 1 / math.sqrt(2)])
    named(similarity, want, [("these are the cosines times the query's length: divide by that too", 2 * want)], **lines)
    close(similarity, want, "these are not the cosines", **lines)


@check("nearest")
def as_torch_has_it(answer: Any, draw: random.Random) -> None:
    table, query = normal(draw, 30, 5), normal(draw, 5)
    k = draw.randint(3, 30)
    before = table.clone(), query.clone()
    similarity, rows = _pair(answer(query, table, k))
    if not (torch.equal(table, before[0]) and torch.equal(query, before[1])):
        raise Mistake("the table or the query that was handed in has changed: work on a copy")
    want = torch.cosine_similarity(table, query[None], dim=1)
    equal(len(rows), k, f"k is {k}: as many rows are expected")
    close(similarity, want.sort(descending=True).values[:k], "the similarities are not the k largest, best first")
    close(want[rows], similarity, "a similarity does not belong to its row")


@check("nearest")
def edges(answer: Any, draw: random.Random) -> None:
    table = torch.tensor([[0.0, 0.0], [-1.0, 0.0], [1.0, 1.0]])
    similarity, rows = _pair(answer(torch.tensor([1.0, 0.0]), table, 3))
    if torch.isnan(similarity).any():
        raise Mistake("a row of zeros has no direction: its similarity is 0, not NaN", table=table, yours=similarity)
    equal(rows, [2, 0, 1], "a row of zeros has similarity 0", table=table, query="[1, 0]")
    for k in (0, -1, 4):
        sentence = "a k that is not from 1 to the number of rows must be refused with ValueError"
        refuses(partial(answer, torch.ones(2), table, k), sentence, call=f"nearest(query, table of 3 rows, {k})")


def _pair(got: Any) -> tuple[torch.Tensor, torch.Tensor]:
    not_missing(got)
    if not isinstance(got, (tuple, list)) or len(got) != 2:
        raise Mistake("two things are expected: the similarities and the row numbers", yours=got)
    similarity, rows = got
    if not isinstance(rows, torch.Tensor) or rows.is_floating_point():
        raise Mistake("the second result should be the row numbers, as an integer tensor", yours=rows)
    return similarity, rows
