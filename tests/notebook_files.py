"""The committed notebooks as tests see them: their exercise cells, and copies in which every exercise is solved."""

import ast
import builtins
import re
import sys
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from llmlite.course import engine
from llmlite.course.chapters import Chapter, chapter
from llmlite.course.source import node_of, text_of

ROOT = Path(__file__).resolve().parents[1]
PATHS = sorted((ROOT / "notebooks").glob("*.ipynb"))
IGNORED = "nbval-ignore-output"


def read(path: Path) -> NotebookNode:
    return nbformat.read(path, as_version=4)


def chapter_of(path: Path) -> Chapter:
    return chapter(path.stem.split("_", 1)[1])


def is_exercise(cell: NotebookNode) -> bool:
    return cell.cell_type == "code" and cell.source.startswith("@exercise\n")


def exercise_name(cell: NotebookNode) -> str:
    match = re.match(r"@exercise\n(?:def|class) (\w+)", cell.source)
    assert match, cell.source
    return match[1]


def solve(word: str, name: str) -> str:
    """The exercise's cell with the engine's own source in place of the stub."""
    own = engine.original(word, name)
    return f"{_imports(own)}\n\n\n@exercise\n{text_of(own)}"


def _imports(thing: object) -> str:
    """One import of everything that the engine's source takes from its module."""
    module, node = sys.modules[thing.__module__], node_of(thing)
    assert node is not None
    names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} - {thing.__name__}  # type: ignore[attr-defined]
    needed = sorted(n for n in names if hasattr(module, n) and not hasattr(builtins, n))
    return f"from {module.__name__} import {', '.join(needed)}" if needed else "pass"
