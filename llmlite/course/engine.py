"""Puts a reader's functions in the place of the engine's own, and takes them out again."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .chapters import chapter

_originals: dict[tuple[str, str], Any] = {}


def original(word: str, name: str) -> Any:
    """The engine's own version, whatever is installed. Raises ValueError where the chapter's module has no such name."""
    return _originals.setdefault((word, name), getattr(chapter(word).home(name), name))


def installed(word: str, name: str) -> Any:
    """What the engine runs now: the reader's version or its own."""
    original(word, name)
    return getattr(chapter(word).home(name), name)


def install(word: str, name: str, answer: Any) -> None:
    """Make every module of the engine that uses this name, also in a table of functions, use the answer from now on."""
    before = installed(word, name)
    modules = [m for n, m in sys.modules.items() if n.startswith("llmlite.") and not n.startswith("llmlite.course")]
    names = [vars(module) for module in modules]
    tables = [t for n in names for key, t in n.items() if isinstance(t, dict) and not key.startswith("__")]
    for table in names + tables:
        for key, value in list(table.items()):
            if value is before:
                table[key] = answer


def restore(word: str, name: str) -> None:
    """Put the engine's own version back."""
    install(word, name, original(word, name))


def is_readers(word: str, name: str) -> bool:
    """Whether the engine runs the reader's version now."""
    return installed(word, name) is not original(word, name)


@contextmanager
def without(word: str, name: str, scope: dict[str, Any]) -> Iterator[None]:
    """For a while, let whoever calls the engine's version be told to write it instead, also from an answer's own scope."""
    before = installed(word, name)

    def missing(*_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"it calls llmlite's own {name}: this is the part to write yourself")

    install(word, name, missing)
    bound = scope.get(name, missing)  # the notebook's name: the engine's own, since the stub was run
    if bound is before or bound is original(word, name):
        scope[name] = missing
    try:
        yield
    finally:
        install(word, name, before)
        if bound is not missing:
            scope[name] = bound
