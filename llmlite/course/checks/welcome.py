"""Checks of chapter 00."""

import random
from typing import Any

from . import Mistake, check, named, not_missing

EXERCISES = {
    "ms_per_token": (
        "Divide the time by the number of tokens. Which unit does that give?",
        "A second has 1000 milliseconds. And before you divide: what if tokens is 0?",
        "return 1000 * seconds / tokens, but 0.0 where tokens is 0.",
    ),
}


@check("ms_per_token")
def time_by_tokens(answer: Any, draw: random.Random) -> None:
    for seconds, tokens in ((2.0, 100), (draw.uniform(3.0, 9.0), draw.randint(2, 100))):
        got, want = answer(seconds, tokens), 1000 * seconds / tokens
        call = f"ms_per_token({seconds:.4g}, {tokens})"
        not_missing(got, call=call)
        if not isinstance(got, (int, float)):
            raise Mistake(f"the result is a {type(got).__name__}, it should be a number", call=call, yours=got, expected=want)
        faults = {
            "this is in seconds; a millisecond is a thousandth of one, so there are 1000 times as many": seconds / tokens,
            "this is tokens per second; turn the division around, and count milliseconds": tokens / seconds,
            "the division is upside down: time goes above, tokens below": 1000 * tokens / seconds,
        }
        named(got, want, faults.items(), call=call, yours=f"{got:.6g}", expected=f"{want:.6g}")
        if got in [want // 1, *(round(want, digits) for digits in range(4))] and abs(got - want) > 1e-9 * want:
            raise Mistake("it is rounded: return the number as the division gives it", call=call, yours=got, expected=want)
        if not abs(got - want) <= 1e-9 * want:  # so written, NaN does not pass
            raise Mistake("this is not the time of one token in milliseconds", call=call, yours=got, expected=want)


@check("ms_per_token")
def no_tokens(answer: Any, draw: random.Random) -> None:
    call = "ms_per_token(1.5, 0)"
    try:
        got = answer(1.5, 0)
    except ZeroDivisionError:
        raise Mistake("it divides by zero where there are no tokens", call=call, expected="0.0") from None
    if got != 0:
        raise Mistake("where there are no tokens the time per token is 0.0", call=call, yours=got, expected="0.0")
