"""The notebooks as committed: clean, and of the size and form that the course has set itself."""

import json
import re
from pathlib import Path

import notebook_files as notebooks
import pytest
from notebook_files import PATHS, ROOT

from llmlite.course.chapters import exercises

TAGS = {"nbval-ignore-output", "raises-exception"}

each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@each
def test_was_run_and_is_clean(path: Path) -> None:
    notebook = notebooks.read(path)
    assert notebook.metadata.kernelspec.name == "python3"
    assert set(notebook.metadata) == {"kernelspec", "language_info"}, "no widget state, no versions"
    for cell in notebook.cells:
        assert set(cell.metadata) <= {"tags"}, f"{cell.id}: no times, no collapsed state"
        assert set(cell.metadata.get("tags", [])) <= TAGS, cell.id
        if cell.cell_type == "code":
            assert cell.execution_count, f"{cell.id} was never run: nbval would compare nothing"
            if "raises-exception" not in cell.metadata.get("tags", []):
                assert not any(o.output_type == "error" for o in cell.outputs), cell.id
            assert "NBVAL" not in cell.source, f"{cell.id}: tags, not comments"
            assert not any("widget" in mime for o in cell.outputs for mime in o.get("data", {})), cell.id


@each
def test_ids_tell_what_a_cell_is(path: Path) -> None:
    ids = [cell.id for cell in notebooks.read(path).cells]
    assert len(ids) == len(set(ids))
    assert not any(len(i) == 8 and set(i) <= set("0123456789abcdef") for i in ids), "random ids change at every save"


@each
def test_size(path: Path) -> None:
    cells = notebooks.read(path).cells
    words = sum(len(cell.source.split()) for cell in cells if cell.cell_type == "markdown")
    assert path.stat().st_size < 300_000
    assert 25 <= len(cells) <= 55
    assert 900 <= words <= 2000
    for cell in cells:
        lines = [line for line in cell.source.splitlines() if line.strip()]
        assert cell.cell_type != "code" or len(lines) <= 15, f"{cell.id} has {len(lines)} lines"
        assert cell.cell_type != "code" or max(map(len, lines)) <= 100, f"{cell.id} is too wide for a screen"


@each
def test_most_outputs_are_compared(path: Path) -> None:
    code = [cell for cell in notebooks.read(path).cells if cell.cell_type == "code"]
    ignored = [cell.id for cell in code if notebooks.IGNORED in cell.metadata.get("tags", [])]
    assert len(ignored) <= len(code) / 3, ignored


@each
def test_every_picture_has_a_text(path: Path) -> None:
    for cell in notebooks.read(path).cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                assert len(output.data["text/plain"]) > 30, cell.id
                assert not output.data["text/plain"].startswith("<Figure"), cell.id
                assert output.metadata["image/png"]["alt"] == output.data["text/plain"]


@each
def test_has_every_exercise_in_order(path: Path) -> None:
    cells = [cell for cell in notebooks.read(path).cells if notebooks.is_exercise(cell)]
    assert list(map(notebooks.exercise_name, cells)) == exercises(notebooks.chapter_of(path).word)


@each
def test_links_lead_somewhere(path: Path) -> None:
    text = "\n".join(cell.source for cell in notebooks.read(path).cells if cell.cell_type == "markdown")
    for target in re.findall(r"\]\(([^)]+)\)", text):
        assert target.startswith("https://") or (path.parent / target).exists(), target


@each
def test_no_dollar_turns_prose_into_a_formula(path: Path) -> None:
    for cell in notebooks.read(path).cells:
        if cell.cell_type == "markdown":
            assert "$" not in re.sub(r"\$\$.*?\$\$", "", cell.source, flags=re.DOTALL), cell.id


def test_no_stray_characters() -> None:
    for path in PATHS:
        text = json.dumps(json.loads(path.read_text(encoding="utf-8")), ensure_ascii=False)
        assert str(ROOT) not in text, f"{path.name} holds a path of the machine that it was run on"
