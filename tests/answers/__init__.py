"""Answers that readers might give, wrong ones and right ones, to every exercise. `tests/test_exercises.py` judges them all.

Each stands in its chapter's file under a name of its own; the decorator gives it the exercise's name, which judge looks at.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Case:
    """One answer. A wrong one has a fragment of the text that must name its fault; seconds is how long it may run."""

    word: str
    exercise: str
    label: str
    answer: Any
    fragment: str = ""
    seconds: float = 20.0


WRONG: list[Case] = []
RIGHT: list[Case] = []


def wrong(exercise: str, fragment: str, seconds: float = 20.0) -> Callable[[Any], Any]:
    """Collect an answer that must be refused with a text that holds the fragment."""

    def collect(answer: Any) -> Any:
        WRONG.append(_case(exercise, answer, fragment, seconds))
        return answer

    return collect


def right(exercise: str) -> Callable[[Any], Any]:
    """Collect an answer that must pass."""

    def collect(answer: Any) -> Any:
        RIGHT.append(_case(exercise, answer, "", 20.0))
        return answer

    return collect


def _case(exercise: str, answer: Any, fragment: str, seconds: float) -> Case:
    word, label = answer.__module__.rsplit(".", 1)[-1], answer.__name__
    answer.__name__ = exercise
    return Case(word, exercise, label, answer, fragment, seconds)
