"""Every notebook runs solved as it runs unsolved, twice in one kernel, on one thread, and in little memory."""

import copy
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import notebook_files as notebooks
import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook
from notebook_files import PATHS

from llmlite.course.chapters import exercises
from notebooks import execute

NOT_COMPARED = {"image/png", "application/vnd.jupyter.widget-view+json"}
PEAK = "print('peak', open('/proc/self/status', encoding='utf-8').read().split('VmHWM:')[1].split()[0])"

each = pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)


@pytest.fixture(autouse=True)
def empty_workbook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LLMLITE_WORKBOOK", str(tmp_path / "workbook"))
    return tmp_path / "workbook"


@each
def test_solved_on_two_threads(path: Path, empty_workbook: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    committed, word = notebooks.read(path), notebooks.chapter_of(path).word
    solved = copy.deepcopy(committed)
    for cell in filter(notebooks.is_exercise, solved.cells):
        cell.source = notebooks.solve(word, notebooks.exercise_name(cell))
    solved.cells.append(new_code_cell(PEAK))
    execute(solved, path.parent, timeout=600)
    for before, after in zip(committed.cells, solved.cells):
        if notebooks.is_exercise(before):
            name = notebooks.exercise_name(before)
            assert after.outputs[0].data["text/plain"].startswith(f"✓ {name}: right"), after.outputs
            assert f"# === {name} (" in (empty_workbook / f"{word}.py").read_text(encoding="utf-8")
        elif before.cell_type == "code" and notebooks.IGNORED not in before.metadata.get("tags", []):
            assert _compared(after.outputs) == _compared(before.outputs), before.id
    peak = int(solved.cells[-1].outputs[0].text.split()[1]) // 1024
    assert peak < 2000, f"{peak} MB"


@each
def test_twice_in_one_kernel_on_one_thread(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    notebook = notebooks.read(path)
    first = [cell for cell in notebook.cells if cell.cell_type == "code"]
    second = copy.deepcopy(first)
    for cell in second:
        cell.id += "-again"
    committed = {cell.id: _compared(cell.outputs) for cell in copy.deepcopy(first)}
    notebook.cells = first + second
    execute(notebook, path.parent, timeout=600)
    for cell in second:
        if notebooks.IGNORED not in cell.metadata.get("tags", []) and "hint(" not in cell.source:
            assert _compared(cell.outputs) == committed[cell.id.removesuffix("-again")], cell.id


def test_the_engine_runs_on_a_workbook_that_holds_every_answer(empty_workbook: Path) -> None:
    """Every exercise solved, in one kernel; then other processes find the answers, and the model says what it always says."""
    notebook = new_notebook(cells=[new_code_cell("from llmlite.course import exercise, lesson")])
    words = [notebooks.chapter_of(path).word for path in PATHS]
    for word in words:
        notebook.cells += [new_code_cell(f'lesson("{word}")')]
        notebook.cells += [new_code_cell(notebooks.solve(word, name)) for name in exercises(word)]
    execute(notebook, PATHS[0].parent, timeout=600)
    total = sum(len(exercises(word)) for word in words)
    assert f"{total} of {total} exercises are yours" in _command("progress")
    prompt = ("generate", "The capital of France is", "--temperature=0", "--max-tokens=12")
    assert _command(*prompt, "--workbook") == _command(*prompt) != ""


def _command(*arguments: str) -> str:
    """What the llmlite command prints."""
    run = subprocess.run([sys.executable, "-m", "llmlite", *arguments], capture_output=True, text=True, encoding="utf-8")
    assert run.returncode == 0, run.stderr
    return run.stdout


def _compared(outputs: list[NotebookNode]) -> list[Any]:
    """What nbval compares of a cell's outputs."""
    found: list[Any] = []
    for output in outputs:
        if output.output_type == "stream":
            found.append((output.name, output.text))
        else:
            found.append({k: v for k, v in output.get("data", {}).items() if k not in NOT_COMPARED})
    return found


def test_the_comparison_notices_a_difference() -> None:
    committed = notebooks.read(next(p for p in PATHS if "tokenizer" in p.stem))
    cell = next(c for c in committed.cells if c.id == "use-merge_pair")
    changed = copy.deepcopy(cell.outputs)
    changed[0].text = re.sub("256", "255", changed[0].text)
    assert _compared(changed) != _compared(cell.outputs)
