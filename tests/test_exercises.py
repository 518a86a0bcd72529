"""The checks of the exercises: wrong answers are refused by name, right ones pass, and nothing outside is touched."""

import ast
import functools
import importlib
import linecache
import random
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import nbformat
import numpy as np
import pytest
import torch
from answers import RIGHT, WRONG, Case

from llmlite.course import engine, source
from llmlite.course.chapters import CHAPTERS, chapter, exercises
from llmlite.course.judge import checks_of, judge

ROOT = Path(__file__).resolve().parent.parent
WORDS = [c.word for c in CHAPTERS if c.ready]
EXERCISES = [(word, name) for word in WORDS for name in exercises(word)]
for found in (ROOT / "tests" / "answers").glob("[a-z]*.py"):
    importlib.import_module(f"answers.{found.stem}")  # fills WRONG and RIGHT
TIMES = 3  # inputs are drawn anew each time


@pytest.fixture(autouse=True, scope="module")
def files_are_parsed_once():
    """Judging an answer parses its file, and here many answers share one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(source, "ast", SimpleNamespace(**vars(ast) | {"parse": functools.cache(ast.parse)}))
        yield


@pytest.fixture(autouse=True)
def nothing_is_touched(capfd):
    """Judging leaves the engine, the global random numbers and the terminal alone."""
    before = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].copy()
    yield
    assert not any(engine.is_readers(word, name) for word, name in EXERCISES)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert random.getstate() == before[1]
    assert (np.random.get_state()[1] == before[2]).all()
    assert capfd.readouterr() == ("", "")


def by_name(case: Case) -> str:
    return f"{case.exercise}-{case.label}"


@pytest.mark.parametrize("case", WRONG, ids=by_name)
def test_a_wrong_answer_is_refused_by_the_name_of_its_fault(case):
    for _ in range(TIMES if case.seconds > 1 else 1):
        verdict = judge(case.word, case.answer, case.seconds)
        assert verdict.state == "wrong"
        assert case.fragment in " | ".join([verdict.sentence, *verdict.lines.values()])


@pytest.mark.parametrize("case", RIGHT, ids=by_name)
def test_a_right_answer_written_another_way_passes(case):
    for _ in range(TIMES):
        verdict = judge(case.word, case.answer, case.seconds)
        assert (verdict.state, verdict.sentence, verdict.lines) == ("right", "", {})
        assert verdict.checks == len(checks_of(case.word, case.exercise))


@pytest.mark.parametrize("word, name", EXERCISES)
def test_the_engines_own_version_passes(word, name):
    for _ in range(TIMES):
        assert judge(word, engine.original(word, name)).state == "right"


@pytest.mark.parametrize("word, name", EXERCISES)
def test_the_stub_of_the_notebook_is_still_to_do(word, name):
    assert judge(word, from_notebook(word, name)).state == "todo"


@pytest.mark.parametrize("word, name", EXERCISES)
def test_calling_the_engines_own_version_is_refused(word, name):
    module = chapter(word).home(name)

    class Borrowed:
        def __new__(cls, *args: Any) -> Any:
            return getattr(module, name)(*args)

    def borrowed(*args: Any) -> Any:
        return getattr(module, name)(*args)

    answer: Any = Borrowed if isinstance(engine.original(word, name), type) else borrowed
    answer.__name__ = name
    verdict = judge(word, answer)
    assert verdict.state == "wrong"
    assert f"llmlite's own {name}: this is the part to write yourself" in verdict.sentence


@pytest.mark.parametrize("word, name", EXERCISES)
def test_every_exercise_has_answers_and_hints(word, name):
    wrong, right = (Counter((case.word, case.exercise) for case in cases) for cases in (WRONG, RIGHT))
    assert wrong[word, name] >= 4
    assert right[word, name] >= 2
    assert 2 <= len(chapter(word).checks.EXERCISES[name]) <= 3


def test_every_answer_belongs_to_an_exercise():
    assert {(case.word, case.exercise) for case in WRONG + RIGHT} == set(EXERCISES)
    labels = Counter((case.word, case.label) for case in WRONG + RIGHT)
    assert max(labels.values()) == 1


@pytest.mark.parametrize("word, name", EXERCISES)
def test_an_endless_loop_is_stopped(word, name):
    def endless(*_: Any) -> Any:
        while True:
            print("on and on")

    endless.__name__ = name
    verdict = judge(word, endless, seconds=0.2)
    assert verdict.state == "wrong"
    assert verdict.sentence == "stopped after 0.2 seconds: is there a loop that never ends?"


@pytest.mark.parametrize("word, name", EXERCISES)
def test_what_an_answer_prints_is_shown_with_its_fault(word, name):
    def chatty(*_: Any) -> Any:
        print("here I am")
        return SimpleNamespace(push=lambda token_id: None, finish=lambda: None) if name == "StreamDecoder" else None

    chatty.__name__ = name
    verdict = judge(word, chatty)
    assert verdict.state == "wrong"
    assert "here I am" in verdict.lines["it printed"]


def from_notebook(word: str, name: str) -> Any:
    """The stub of an exercise, run from its cell as a kernel runs it: the source is found by the cell's file name."""
    path = ROOT / "notebooks" / f"{chapter(word).notebook}.ipynb"
    notebook = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)
    starts = (f"@exercise\ndef {name}(", f"@exercise\nclass {name}:", f"@exercise\nclass {name}(")
    cells = [c.source for c in notebook.cells if c.cell_type == "code" and any(s in c.source for s in starts)]
    assert len(cells) == 1
    file = f"<cell of {name}>"
    linecache.cache[file] = (len(cells[0]), None, cells[0].splitlines(keepends=True), file)
    space: dict[str, Any] = {"exercise": lambda answer: answer, "nn": torch.nn, "__name__": "__main__"}
    exec(compile("from __future__ import annotations\n" + cells[0], file, "exec"), space)
    return space[name]
