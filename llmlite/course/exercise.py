"""@exercise, hint and solution: what a reader calls in a notebook."""

from typing import Any, TypeVar

from . import engine, workbook
from .chapters import CHAPTERS, exercises
from .judge import judge
from .lesson import current
from .report import card, plain_card, solution_html
from .show import show
from .source import text_of

Answer = TypeVar("Answer")

_given: dict[str, int] = {}  # hints shown so far, by exercise


def exercise(answer: Answer) -> Answer:
    """Check a reader's function or class, and report below the cell.

    A right answer takes the place of the engine's function of that name and is saved in the workbook. Otherwise the name is
    bound to the version in use (the engine's own, or an earlier right answer), so that the notebook goes on.
    """
    word, name = current(), answer.__name__  # type: ignore[attr-defined]
    if name not in exercises(word):
        raise ValueError(f"{name!r} is not an exercise of {word}; they are: {', '.join(exercises(word))}")
    verdict = judge(word, answer)
    note = _keep(word, name, answer) if verdict.state == "right" else _in_use(word, name)
    html, text = card(name, verdict, note), plain_card(name, verdict, note)
    show(None if verdict.state == "right" else _buttons(name, html), text=text, html=html)
    return engine.installed(word, name)


def _keep(word: str, name: str, answer: Any) -> str:
    try:
        remark = workbook.save(word, name, answer)
    except (workbook.CannotSave, OSError) as reason:
        engine.install(word, name, answer)
        return f"The engine now runs your version, in this notebook only. It could not be saved: {reason}."
    engine.install(word, name, answer)
    saved = f"The engine now runs your version; it is saved in workbook/{word}.py."
    return f"{saved} {remark[0].upper()}{remark[1:]}." if remark else saved


def _in_use(word: str, name: str) -> str:
    if engine.is_readers(word, name):
        return "Your earlier right answer stays in use."
    return "Until it is right, llmlite's own version is used."


def hint(name: str) -> None:
    """Show the next hint for an exercise; after the last one, start again."""
    text = next_hint(name)
    show(None, text=text, html=f"<div>{text}</div>")


def next_hint(name: str) -> str:
    hints = _find(name)
    n = _given.get(name, 0) % len(hints)
    _given[name] = n + 1
    last = f' (the last; solution("{name}") shows one way)' if n + 1 == len(hints) else ""
    return f"Hint {n + 1} of {len(hints)} for {name}: {hints[n]}{last}"


def solution(name: str) -> None:
    """Show the engine's own version of an exercise."""
    source = solution_text(name)
    show(None, text=source, html=solution_html(source))


def solution_text(name: str) -> str:
    _find(name)
    word = next(c.word for c in _order() if name in exercises(c.word))
    return text_of(engine.original(word, name)) or "The source is not on this machine."


def _find(name: str) -> tuple[str, ...]:
    """The hints of an exercise. Raises ValueError for a name that is none."""
    for chapter in _order():
        if name in exercises(chapter.word):
            return tuple(chapter.checks.EXERCISES[name])
    known = ", ".join(n for c in CHAPTERS for n in exercises(c.word))
    raise ValueError(f"no exercise is called {name!r}; the exercises are: {known}")


def _order() -> list[Any]:
    """All chapters, this notebook's first."""
    return sorted(CHAPTERS, key=lambda c: c.word != current(default=""))


def _buttons(name: str, html: str) -> Any:
    """The report with two buttons under it, for the next hint and for the solution."""
    try:
        import ipywidgets as widgets
    except ImportError:
        return None
    more = widgets.HTML()
    ask, reveal = widgets.Button(description="Next hint"), widgets.Button(description="Show the solution")
    ask.on_click(lambda _: setattr(more, "value", next_hint(name)))
    reveal.on_click(lambda _: setattr(more, "value", solution_html(solution_text(name))))
    return widgets.VBox([widgets.HTML(html), widgets.HBox([ask, reveal]), more])
