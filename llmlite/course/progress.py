"""The map of the engine: which parts are the reader's, which are still ours."""

from . import engine, workbook
from .chapters import CHAPTERS, exercises
from .report import map_html, plain_map
from .show import show


def yours() -> dict[str, list[str]]:
    """By chapter, the exercises whose reader's version the engine runs now."""
    return {c.word: [n for n in exercises(c.word) if engine.is_readers(c.word, n)] for c in CHAPTERS if c.ready}


def progress() -> None:
    """Show the map of the engine."""
    done = yours()
    show(None, text=plain_map(done), html=map_html(done) + f"<div>{summary()}</div>")


def summary() -> str:
    """One sentence on how far the reader is."""
    done, total = sum(len(names) for names in yours().values()), sum(len(exercises(c.word)) for c in CHAPTERS)
    return f"{done} of {total} exercises are yours: the engine runs your code there."


def progress_text() -> str:
    """The map for a terminal, after putting the saved answers back."""
    _, problems = workbook.put_back()
    return "\n".join([plain_map(yours()), summary(), *problems])
