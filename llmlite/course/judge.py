"""Runs an exercise's checks on a reader's answer: right, wrong, or still to do."""

import ast
import contextlib
import ctypes
import io
import os
import random
import threading
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

from .chapters import chapter
from .checks import Check, Mistake
from .engine import original, without
from .source import node_of, scope_of

SECONDS = 5.0
"""How long the checks of one answer may take together before it is stopped."""


@dataclass
class Verdict:
    """The outcome, one sentence on it, and lines of (label, text) that show what went wrong."""

    state: Literal["todo", "wrong", "right"]
    sentence: str = ""
    lines: dict[str, str] = field(default_factory=dict)
    checks: int = 0


class _Stopped(BaseException):
    """Raised inside an answer that ran for too long. Not an Exception, so that an answer's own handlers let it through."""


def judge(word: str, answer: Any, seconds: float = SECONDS) -> Verdict:
    """Check an answer to the exercise of its name. The engine's own version cannot be called meanwhile."""
    if is_stub(answer):
        return Verdict("todo")
    checks = checks_of(word, answer.__name__)
    if isinstance(answer, type) and original(word, answer.__name__) in answer.__mro__[1:]:
        return Verdict("wrong", f"it builds on llmlite's own {answer.__name__}: this is the part to write yourself")
    with without(word, answer.__name__, scope_of(answer)):
        verdict = _within(lambda: _run(checks, answer), seconds)
    return verdict


def checks_of(word: str, name: str) -> list[Check]:
    """The checks of one exercise, in the order in which they stand in the chapter's module."""
    return [f for f in vars(chapter(word).checks).values() if getattr(f, "exercise", None) == name]


def is_stub(answer: Any) -> bool:
    """Whether a function or any method of a class is still as handed out: nothing but a docstring, pass, ... or the raise."""
    node = node_of(answer)
    if isinstance(node, ast.ClassDef):
        return any(_is_empty(item) for item in node.body if isinstance(item, ast.FunctionDef))
    return isinstance(node, ast.FunctionDef) and _is_empty(node)


def _is_empty(function: ast.FunctionDef) -> bool:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return all(isinstance(s, ast.Pass) or _is_ellipsis(s) or _raises_not_implemented(s) for s in body)


def _is_ellipsis(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and value.value is ...


def _raises_not_implemented(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Raise) and "NotImplementedError" in ast.dump(statement)


def _run(checks: list[Check], answer: Any) -> Verdict:
    for check in checks:
        printed = io.StringIO()
        try:
            with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                check(answer, random.Random(os.urandom(8)))
        except Mistake as mistake:
            return Verdict("wrong", mistake.sentence, {**mistake.lines, **_output(printed)})
        except Exception as error:  # the answer's own, whatever it is
            return Verdict("wrong", *_describe(error, answer, printed))
    return Verdict("right", checks=len(checks))


def _output(printed: io.StringIO) -> dict[str, str]:
    lines = printed.getvalue().splitlines()
    return {"it printed": "\n".join(lines[:10])} if lines else {}


def _describe(error: Exception, answer: Any, printed: io.StringIO) -> tuple[str, dict[str, str]]:
    """Say which line of the answer an error came from."""
    if isinstance(error, NotImplementedError):
        return str(error) or "part of it still raises NotImplementedError", _output(printed)
    if isinstance(error, RecursionError):
        return "it calls itself without end (RecursionError)", _output(printed)
    code = getattr(answer, "__code__", None) or next(
        (f.__code__ for f in vars(answer).values() if hasattr(f, "__code__")), None
    )
    frames = [f for f in traceback.extract_tb(error.__traceback__) if code and f.filename == code.co_filename]
    lines = {"at the line": frames[-1].line or ""} if frames else {}
    return f"it stops with {type(error).__name__}: {error}", {**lines, **_output(printed)}


def _within(work: Callable[[], Verdict], seconds: float) -> Verdict:
    """Run work in a thread and stop it when the time is over, on every platform."""
    results: list[Verdict] = []

    def target() -> None:
        with contextlib.suppress(_Stopped):
            results.append(work())

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    try:
        thread.join(seconds)
    finally:  # also when the reader interrupts the kernel
        for _ in range(20):
            if not thread.is_alive():
                break
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident or 0), ctypes.py_object(_Stopped))
            thread.join(0.1)
    late = f"stopped after {seconds:g} seconds: is there a loop that never ends?"
    return results[0] if results else Verdict("wrong", late)
