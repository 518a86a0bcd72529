"""The workbook: a reader's right answers, one plain Python file a chapter, put back by the next lesson.

A file is cut into sections by lines `# === name (sum) ===`; the sum tells whether a section was edited since it was checked.
Nothing of the reader's is ever lost: a file or section that cannot be read is reported and left, and is copied aside before
anything is written in its place.
"""

import ast
import builtins
import hashlib
import os
import re
import symtable
import types
from pathlib import Path
from typing import Any

from . import engine
from .chapters import CHAPTERS, chapter, exercises
from .judge import judge
from .source import scope_of, text_of

_MARK = re.compile(r"^# === (\w+) \(([0-9a-f]{8})\) ===\n", re.MULTILINE)
_HEADER = "# Answers to llmlite's exercises, kept by @exercise. Change them in the notebook rather than here.\n\n"


class CannotSave(Exception):
    """An answer that would not work outside of its notebook; the message says why."""


def folder() -> Path:
    """Where workbooks are: LLMLITE_WORKBOOK where it is set, else `workbook` beside the notebooks folder."""
    if override := os.environ.get("LLMLITE_WORKBOOK"):
        return Path(override)
    here = Path.cwd()
    root = next((p for p in (here, *here.parents) if (p / "notebooks").is_dir()), here)
    return root / "workbook"


def path(word: str) -> Path:
    return folder() / f"{word}.py"


def read(word: str) -> dict[str, tuple[str, str]]:
    """The sections of a chapter's workbook, name -> (sum, source). Raises ValueError for a file that is not one."""
    file = path(word)
    if not file.exists():
        return {}
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise ValueError(f"it cannot be read ({error})") from None
    parts = _MARK.split(text)
    if len(parts) < 4 and text.strip():
        raise ValueError("it holds no answers that llmlite wrote")
    return {name: (sum_, source.strip("\n") + "\n") for name, sum_, source in zip(parts[1::3], parts[2::3], parts[3::3])}


def load(word: str, name: str, source: str) -> Any:
    """Run a section and return its answer. Raises ValueError, with the reason, where that fails."""
    module = types.ModuleType(f"workbook.{word}")
    filename = f"<workbook {word}.{name}>"
    try:
        exec(compile(source, filename, "exec"), vars(module))
        return vars(module)[name]
    except Exception as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


def put_back() -> tuple[dict[str, list[str]], list[str]]:
    """Install every saved answer. Returns the names installed by chapter, and a line for each that was skipped."""
    done: dict[str, list[str]] = {}
    problems: list[str] = []
    for word in [c.word for c in CHAPTERS if c.ready]:
        try:
            sections = read(word)
        except ValueError as error:
            problems.append(f"workbook/{path(word).name} was skipped and left as it is: {error}")
            continue
        for name, (sum_, source) in sections.items():
            if problem := _put_back(word, name, sum_, source):
                problems.append(f"workbook/{path(word).name}: {name} was skipped and left as it is: {problem}")
            else:
                done.setdefault(word, []).append(name)
    return done, problems


def _put_back(word: str, name: str, sum_: str, source: str) -> str:
    if name not in exercises(word):
        return "no exercise has this name"
    try:
        answer = load(word, name, source)
    except ValueError as error:
        return str(error)
    if sum_ != checksum(source):
        verdict = judge(word, answer)
        if verdict.state != "right":
            return f"it was edited, and now {verdict.sentence or 'it is a stub'}"
    engine.install(word, name, answer)
    return ""


def save(word: str, name: str, answer: Any) -> str:
    """Keep an answer. Returns a remark for the reader where an unreadable file had to be copied aside, else "".

    Raises CannotSave for an answer that needs more than can be written down with it.
    """
    source = _portable(word, answer)
    try:
        again = judge(word, load(word, name, source))
    except ValueError as error:
        raise CannotSave(f"outside of this notebook it stops with {error}") from None
    if again.state != "right":
        raise CannotSave(f"outside of this notebook it does not pass: {again.sentence}")
    try:
        sections, remark = {n: source for n, (_, source) in read(word).items()}, ""
        if name in sections and not _loads(word, name, sections[name]):
            remark = _copy_aside(word)
    except ValueError:
        sections, remark = {}, _copy_aside(word)
    sections[name] = source
    _write(word, sections)
    return remark


def _loads(word: str, name: str, source: str) -> bool:
    try:
        load(word, name, source)
    except ValueError:
        return False
    return True


def _copy_aside(word: str) -> str:
    file = path(word)
    n = next(n for n in range(1, 10_000) if not file.with_suffix(f".damaged{n}").exists())
    file.with_suffix(f".damaged{n}").write_bytes(file.read_bytes())
    return f"the unreadable workbook was kept as {file.stem}.damaged{n}"


def checksum(source: str) -> str:
    return hashlib.sha256(source.encode("utf-8")).hexdigest()[:8]


def _write(word: str, sections: dict[str, str]) -> None:
    order = [n for n in exercises(word) if n in sections] + [n for n in sections if n not in exercises(word)]
    text = _HEADER + "\n\n".join(f"# === {n} ({checksum(sections[n])}) ===\n{sections[n]}" for n in order)
    file = path(word)
    file.parent.mkdir(parents=True, exist_ok=True)
    part = file.with_suffix(".part")
    part.write_text(text, encoding="utf-8")
    part.replace(file)


def _portable(word: str, answer: Any) -> str:
    """The answer's source behind the imports, constants and helper functions that it uses."""
    source = text_of(answer)
    if source is None:
        raise CannotSave("its source text cannot be found")
    imports: dict[str, str] = {}
    helpers: dict[str, str] = {}
    _collect(word, answer, imports, helpers)
    helpers.pop(answer.__name__, None)
    return "\n".join(sorted(imports.values())) + "\n" * bool(imports) + "\n".join([*helpers.values(), source])


def _collect(word: str, thing: Any, imports: dict[str, str], helpers: dict[str, str]) -> None:
    scope = scope_of(thing)
    helpers.setdefault(thing.__name__, "")
    for name in sorted(_names(thing) - {thing.__name__}):
        if name in imports or name in helpers or name not in scope or hasattr(builtins, name):
            continue
        value, origin = scope[name], getattr(scope[name], "__module__", None)
        if name in exercises(word):
            imports[name] = f"from {chapter(word).home(name).__name__} import {name}"
        elif module := _answered_in(value):
            imports[name] = f"from {module} import {value.__name__} as {name}"
        elif isinstance(value, types.ModuleType):
            imports[name] = f"import {value.__name__} as {name}"
        elif callable(value) and origin not in (None, "__main__", thing.__module__):
            imports[name] = f"from {origin} import {value.__name__} as {name}"
        elif isinstance(value, (types.FunctionType, type)) and text_of(value):
            _collect(word, value, imports, helpers)
            helpers[name] = text_of(value) or ""
        elif _is_constant(value):
            helpers[name] = f"{name} = {value!r}\n"
        else:
            raise CannotSave(f"it uses {name!r} from another cell; move what it needs inside")


def _answered_in(value: Any) -> str | None:
    """The engine's module in which a value stands as the reader's answer to an exercise, of whichever chapter."""
    for c in CHAPTERS:
        for name in exercises(c.word):
            if engine.is_readers(c.word, name) and engine.installed(c.word, name) is value:
                return c.home(name).__name__
    return None


def _names(thing: Any) -> set[str]:
    """The global names that an answer reads; its parameters and local variables are not among them."""
    found: set[str] = set()

    def visit(table: symtable.SymbolTable) -> None:
        for symbol in table.get_symbols():
            outside = symbol.is_global() or (table.get_type() == "module" and not symbol.is_assigned())
            if symbol.is_referenced() and outside:
                found.add(symbol.get_name())
        for child in table.get_children():
            visit(child)

    visit(symtable.symtable(text_of(thing) or "", "<answer>", "exec"))
    return found


def _is_constant(value: Any) -> bool:
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except (ValueError, SyntaxError):
        return False
