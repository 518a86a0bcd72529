"""lesson("..."): the first cell of each notebook. Checks the environment, puts saved answers back, shows the map."""

import importlib.util
import sys
from pathlib import Path

from . import workbook
from .chapters import chapter
from .show import show, style

_current: list[str] = []


def current(default: str | None = None) -> str:
    """The word of this notebook's chapter. Raises ValueError before `lesson` was called, where there is no default."""
    if _current:
        return _current[-1]
    if default is None:
        raise ValueError('run the first cell of the notebook first: it calls lesson("...")')
    return default


def lesson(word: str) -> None:
    """Open a chapter: one line on the environment, and the map of the engine with this chapter lit."""
    from .progress import yours
    from .report import lesson_html, plain_map

    chapter(word)
    _current.append(word)
    style()
    _, problems = workbook.put_back()
    done = yours()
    line = "\n".join(environment() + problems) or "Ready: the environment is complete and the model is here."
    show(None, text=f"{line}\n{plain_map(done, word)}", html=lesson_html(word, line, done))


def environment() -> list[str]:
    """One plain line, with its fix, for each thing that is missing."""
    import torch

    from ..fetch import is_present

    lines = []
    for package in ("ipywidgets", "matplotlib"):
        if importlib.util.find_spec(package) is None:
            lines.append(f"{package} is missing from {sys.executable}: run {sys.executable} -m pip install {package}")
    if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 6):
        lines.append(f"torch {torch.__version__} is too old: run {sys.executable} -m pip install -U 'torch>=2.6'")
    beside, here = Path.cwd().parent / "llmlite" / "__init__.py", Path(__file__).parents[1] / "__init__.py"
    if beside.exists() and not beside.samefile(here):
        lines.append(f"This kernel uses the llmlite in {here.parent}, not the one beside this notebook. {_fix()}")
    if not is_present("smollm2"):
        lines.append(f"The model is not here yet: it is fetched when first needed, or run {sys.executable} -m llmlite fetch")
    return lines


def _fix() -> str:
    return f"Choose another kernel, or run {sys.executable} -m pip install -e {Path.cwd().parent}"
