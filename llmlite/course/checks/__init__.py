"""What a check is made of. Each chapter's module here holds EXERCISES (name -> hints) and functions marked with `check`.

A check calls the reader's answer on inputs drawn anew each time, and compares with torch, numpy, a closed form or a value
computed by hand. It raises `Mistake` with one plain sentence that names the fault, and a small counter-example.
"""

import math
import random
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

Check = Callable[[Any, random.Random], None]
Faults = Iterable[tuple[str, Any]]  # sentences, each with the wrong result that it names; one may stand there more than once
NEAR, APART = 1e-5, 1e-4  # shares of a result's largest number: no more than rounding, and what no rounding explains


class Mistake(Exception):
    """What is wrong with an answer: one sentence, and lines of (label, text) that show it."""

    def __init__(self, sentence: str, **lines: Any) -> None:
        super().__init__(sentence)
        self.sentence, self.lines = sentence, {label: brief(value) for label, value in lines.items()}


def check(exercise: str) -> Callable[[Check], Check]:
    """Mark a function as a check of an exercise. Checks run in the order in which they stand."""

    def mark(function: Check) -> Check:
        function.exercise = exercise  # type: ignore[attr-defined]
        return function

    return mark


def brief(value: Any, limit: int = 300) -> str:
    """A value as short text: tensors as rounded lists with their shape."""
    if isinstance(value, Tensor):
        shape = tuple(value.shape)
        numbers = value.tolist() if not value.is_floating_point() else _rounded(value.tolist())
        text = f"{numbers}" if value.dim() == 0 else f"{numbers}  shape {shape}"
    else:
        text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= limit else text[: limit - 4] + " ..."


def _rounded(value: Any) -> Any:
    return [_rounded(v) for v in value] if isinstance(value, list) else float(f"{value:.5g}")


def normal(draw: random.Random, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """A tensor of normally distributed numbers from draw."""
    generator = torch.Generator().manual_seed(draw.getrandbits(60))
    return torch.randn(*shape, generator=generator).to(dtype)


def equal(got: Any, want: Any, sentence: str, **lines: Any) -> None:
    """Raise Mistake unless got equals want exactly (lists and tuples are the same thing here)."""
    not_missing(got, **lines)
    if _plain(got) != _plain(want):
        raise Mistake(sentence, **lines, yours=got, expected=want)


def close(got: Any, want: Tensor, sentence: str, tolerance: float = 1e-5, **lines: Any) -> None:
    """Raise Mistake unless got is a tensor of want's shape, without NaN, and within tolerance of it."""
    not_missing(got, **lines)
    if not isinstance(got, Tensor):
        raise Mistake(f"the result is a {type(got).__name__}, it should be a tensor", **lines, yours=got, expected=want)
    if got.shape != want.shape:
        raise Mistake(f"the shape is {tuple(got.shape)}, it should be {tuple(want.shape)}", **lines)
    if torch.isnan(got).any() and not torch.isnan(want).any():
        raise Mistake("the result holds NaN (not a number). " + sentence, **lines, yours=got, expected=want)
    if not torch.allclose(got.double(), want.double(), rtol=tolerance, atol=tolerance):
        raise Mistake(sentence, **lines, yours=got, expected=want)


def named(got: Any, want: Any, faults: Faults, **lines: Any) -> None:
    """Raise Mistake where got is a known wrong result, with the sentence of that fault.

    A fault is named only where its result lies clearly apart from want and from the results of all other faults.
    """
    not_missing(got, **lines)
    known = list(faults)
    for sentence, wrong in known:
        others = [want, *(value for text, value in known if text != sentence)]
        if _gap(got, wrong) <= NEAR and all(_gap(wrong, other) > APART for other in others):
            raise Mistake(sentence, **lines, **{k: v for k, v in (("yours", got), ("expected", want)) if k not in lines})


def told_apart(want: Any, faults: Faults) -> bool:
    """Whether no two of these results are alike by chance: the same they may be, but for rounding, or clearly apart."""
    known = [("", want), *faults]
    gaps = [_gap(a, b) for n, (one, a) in enumerate(known) for two, b in known[:n] if one != two]
    return all(gap < 1e-12 or gap > APART for gap in gaps)


def _gap(a: Any, b: Any) -> float:
    """The largest difference of two results as a share of their largest number; infinite where they cannot be compared."""
    if isinstance(a, Tensor) and isinstance(b, Tensor) and a.shape == b.shape:
        measured = a.is_floating_point() or b.is_floating_point()
        return _tensor_gap(a.double(), b.double()) if measured else 0.0 if torch.equal(a, b) else math.inf
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and float in (type(a), type(b)):
        return _tensor_gap(torch.tensor(float(a)), torch.tensor(float(b)))
    return 0.0 if type(a) is type(b) and not isinstance(a, Tensor) and a == b else math.inf


def _tensor_gap(a: Tensor, b: Tensor) -> float:
    finite = a.isfinite()
    odd = a[~finite], b[~finite]
    if not torch.equal(finite, b.isfinite()) or not torch.allclose(*odd, equal_nan=True):
        return math.inf
    largest = max((float(x[finite].abs().max()) for x in (a, b) if finite.any()), default=0.0)
    return float((a - b)[finite].abs().max()) / largest if largest else 0.0


def not_missing(got: Any, **lines: Any) -> None:
    """Raise Mistake for None: the usual sign of a missing return."""
    if got is None:
        raise Mistake("nothing came back: does every path end with a return?", **lines)


def works(attempt: Callable[[], Any], sentence: str, **lines: Any) -> Any:
    """What the attempt returns. Raises Mistake with the sentence where it stops with an error."""
    try:
        return attempt()
    except (Mistake, NotImplementedError):
        raise
    except Exception as error:  # the answer's own, whatever it is
        raise Mistake(f"{sentence}; here it stops with {type(error).__name__}: {error}", **lines) from None


def refuses(attempt: Callable[[], Any], sentence: str, /, kind: type[ValueError] = ValueError, **lines: Any) -> str:
    """The message of the error that the attempt raises. Raises Mistake unless it is of that kind."""
    try:
        got = attempt()
    except kind as error:
        return str(error)
    except NotImplementedError:
        raise
    except Exception as error:  # another kind than the one asked for
        raise Mistake(f"{sentence}; here it stops with {type(error).__name__}", **lines) from None
    raise Mistake(sentence, **lines, yours=got, expected=f"a {kind.__name__}")


def _plain(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value.tolist() if isinstance(value, Tensor) else value
