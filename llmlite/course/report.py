"""The HTML and the plain text of the course's reports: exercise cards and the map of the engine."""

from collections.abc import Mapping
from html import escape

from .chapters import CHAPTERS, exercises
from .judge import Verdict

_COLOURS = {"right": "#009E73", "wrong": "#D55E00", "todo": "#0072B2"}
_SIGNS = {"right": "✓", "wrong": "✗", "todo": "○"}


def headline(name: str, verdict: Verdict) -> str:
    """One line: the sign, the exercise, and what came of it."""
    said = {
        "right": f"right ({verdict.checks} checks)",
        "wrong": f"not yet: {verdict.sentence}",
        "todo": "to do",
    }[verdict.state]
    return f"{_SIGNS[verdict.state]} {name}: {said}"


def _help(name: str) -> str:
    return f'Stuck? hint("{name}") and solution("{name}") help.'


def plain_card(name: str, verdict: Verdict, note: str) -> str:
    """The report of an exercise as text."""
    lines = [headline(name, verdict), *(f"    {label}: {text}" for label, text in verdict.lines.items()), note]
    return "\n".join(lines if verdict.state == "right" else [*lines, _help(name)])


def card(name: str, verdict: Verdict, note: str) -> str:
    """The report of an exercise as HTML."""
    rows = "".join(
        f"<tr><td style='text-align:left;vertical-align:top'>{escape(label)}</td>"
        f"<td style='text-align:left'><pre style='margin:0'>{escape(text)}</pre></td></tr>"
        for label, text in verdict.lines.items()
    )
    tail = "" if verdict.state == "right" else " " + _help(name)
    return (
        f"<div style='border-left:5px solid {_COLOURS[verdict.state]};padding:4px 12px'>"
        f"<b>{escape(headline(name, verdict))}</b>{f'<table>{rows}</table>' if rows else ''}"
        f"<div>{escape(note + tail)}</div></div>"
    )


def solution_html(source: str) -> str:
    """Source code as HTML."""
    return f"<pre style='padding:8px 12px;border-left:5px solid #999'>{escape(source)}</pre>"


def plain_map(yours: Mapping[str, list[str]], lit: str = "") -> str:
    """The map of the engine as text: each chapter, and how many of its exercises are the reader's."""
    lines = []
    for c in CHAPTERS:
        count = f"{len(yours.get(c.word, []))} of {len(exercises(c.word))} yours" if c.ready else "not written yet"
        lines.append(f"{'>' if c.word == lit else ' '} {c.number:02d} {c.word:<16} {c.gain:<44} {count}")
    return "\n".join(lines)


def map_html(yours: Mapping[str, list[str]], lit: str = "") -> str:
    """The map of the engine as HTML: a box for each chapter, one of them lit, its exercises as dots."""
    boxes = []
    for c in CHAPTERS:
        dots = "".join("●" if name in yours.get(c.word, []) else "○" for name in exercises(c.word)) or "·"
        border = f"2px solid {_COLOURS['todo']}" if c.word == lit else "1px solid #bbb"
        boxes.append(
            f"<div title='{escape(c.gain)}' style='border:{border};border-radius:4px;padding:2px 8px;"
            f"opacity:{1 if c.ready else 0.45};font-weight:{'bold' if c.word == lit else 'normal'}'>"
            f"{c.number:02d} {c.word}<br><span style='color:{_COLOURS['right']}'>{dots}</span></div>"
        )
    return f"<div style='display:flex;flex-wrap:wrap;gap:4px;font-size:85%;max-width:60em'>{''.join(boxes)}</div>"


def lesson_html(word: str, line: str, yours: Mapping[str, list[str]]) -> str:
    """What `lesson` shows: the environment in one line, and the map with this chapter lit."""
    key = "● yours, ○ still ours; faint: not written yet"
    return f"<div>{escape(line).replace(chr(10), '<br>')}</div>{map_html(yours, word)}<div style='font-size:80%'>{key}</div>"
