"""Answers to the exercise of chapter 00."""

from fractions import Fraction

from . import right, wrong


@wrong("ms_per_token", "this is in seconds")
def in_seconds(seconds, tokens):
    return seconds / tokens if tokens else 0.0


@wrong("ms_per_token", "tokens per second")
def as_a_rate(seconds, tokens):
    return tokens / seconds if seconds else 0.0


@wrong("ms_per_token", "upside down")
def upside_down(seconds, tokens):
    return 1000 * tokens / seconds


@wrong("ms_per_token", "divides by zero")
def no_guard(seconds, tokens):
    return 1000 * seconds / tokens


@wrong("ms_per_token", "where there are no tokens")
def guard_by_one(seconds, tokens):
    return 1000 * seconds / max(tokens, 1)


@wrong("ms_per_token", "where there are no tokens")
def guard_by_infinity(seconds, tokens):
    return 1000 * seconds / tokens if tokens else float("inf")


@wrong("ms_per_token", "where there are no tokens")
def guard_by_nan(seconds, tokens):
    return 1000 * seconds / tokens if tokens else float("nan")


@wrong("ms_per_token", "where there are no tokens")
def returns_none_for_none(seconds, tokens):
    if tokens:
        return 1000 * seconds / tokens


@wrong("ms_per_token", "it is rounded")
def whole_numbers(seconds, tokens):
    return 1000 * seconds // tokens if tokens else 0.0


@wrong("ms_per_token", "it is rounded")
def one_digit(seconds, tokens):
    return round(1000 * seconds / tokens, 1) if tokens else 0.0


@wrong("ms_per_token", "not the time of one token")
def hard_coded(seconds, tokens):
    return 20.0


@wrong("ms_per_token", "not the time of one token")
def not_a_number(seconds, tokens):
    return float("nan") if tokens else 0.0


@wrong("ms_per_token", "the result is a str")
def with_its_unit(seconds, tokens):
    return f"{1000 * seconds / tokens:.1f} ms"


@wrong("ms_per_token", "does every path end with a return")
def printed(seconds, tokens):
    print(1000 * seconds / tokens if tokens else 0.0)


@wrong("ms_per_token", "loop that never ends", seconds=0.3)
def counts_without_end(seconds, tokens):
    share = 1000 * seconds
    while tokens != 0:
        share /= tokens
    return share


@right("ms_per_token")
def unit_by_unit(seconds, tokens):
    if tokens == 0:
        return 0.0
    milliseconds = seconds * 1e3
    return milliseconds / tokens


@right("ms_per_token")
def by_the_rate(seconds, tokens):
    try:
        return 1 / (tokens / seconds) * 1000
    except ZeroDivisionError:
        return 0.0


@right("ms_per_token")
def exactly(seconds, tokens):
    return float(Fraction(seconds) * 1000 / tokens) if tokens > 0 else 0
