"""The six rules of the house, as far as a test can hold them."""

import ast
import inspect
import re
import tomllib
from pathlib import Path

import notebook_files as notebooks
import pytest
import yaml
from notebook_files import PATHS, ROOT

from llmlite.course import engine
from llmlite.course.chapters import CHAPTERS, exercises

ENGINE = sorted((ROOT / "llmlite").glob("*.py"))
SOURCES = sorted(p for p in ROOT.rglob("*.py") if not {".venv", "build", "workbook"} & set(p.relative_to(ROOT).parts))

# A module may import those before it; llm and cli stand above them all.
ORDER = ["tokenizer", "embedding", "attention", "rope", "transformer", "gguf", "weights", "sampling", "chat", "kv_cache"]
ORDER += ["flash_attention", "fetch", "llm", "cli", "__main__"]

READY = [c for c in CHAPTERS if c.ready]


def test_one_name_four_places() -> None:
    assert [path.stem for path in PATHS] == [c.notebook for c in READY]
    for c in READY:
        assert (ROOT / f"tests/answers/{c.word}.py").exists()
        if c.word != "welcome":  # the welcome works on the front door
            assert (ROOT / f"llmlite/{c.word}.py").exists()
            assert (ROOT / f"tests/test_{c.word}.py").exists()
    assert [c.number for c in CHAPTERS] == list(range(len(CHAPTERS)))


def _relative_imports(path: Path) -> set[str]:
    """The engine's modules that a file imports, anywhere in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").startswith("llmlite")):
            module = (node.module or "").removeprefix("llmlite").strip(".")
            found |= {module} if module else {alias.name for alias in node.names}
    return found


@pytest.mark.parametrize("path", ENGINE, ids=lambda p: p.stem)
def test_the_reading_order_is_the_import_order(path: Path) -> None:
    if path.stem == "__init__":
        assert _relative_imports(path) == {"llm"}
        return
    assert path.stem in ORDER, "give a new module its place in ORDER"
    earlier = ORDER[: ORDER.index(path.stem)]
    assert {name.split(".")[0] for name in _relative_imports(path)} - {"course"} <= set(earlier)


@pytest.mark.parametrize("path", ENGINE, ids=lambda p: p.stem)
def test_the_engine_does_not_know_the_course(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.stem != "cli":  # the command line serves readers too
        assert "course" not in {name.split(".")[0] for name in _relative_imports(path)}
    assert not re.search(r"^\s*(import|from) (matplotlib|ipywidgets|IPython)", text, re.MULTILINE)
    assert "@exercise" not in text


def test_the_engine_can_be_read_in_an_afternoon() -> None:
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in ENGINE) < 3000


@pytest.mark.parametrize("word,name", [(c.word, n) for c in READY for n in exercises(c.word)])
def test_stubs_match_the_engine(word: str, name: str) -> None:
    """A stub has the engine's signature and the first line of its docstring; for a class, of each public method too."""
    path = next(p for p in PATHS if notebooks.chapter_of(p).word == word)
    cell = next(c for c in notebooks.read(path).cells if notebooks.is_exercise(c) and notebooks.exercise_name(c) == name)
    own = engine.original(word, name)
    source = ast.parse(inspect.getsource(own)).body[0]
    assert _outline(ast.parse(cell.source).body[0]) == _outline(source)


def _outline(node: ast.stmt) -> list[tuple[str, str]]:
    assert isinstance(node, (ast.FunctionDef, ast.ClassDef))
    first = (ast.get_docstring(node) or "").split("\n")[0]
    if isinstance(node, ast.FunctionDef):
        return [(f"{node.name}({ast.unparse(node.args)}) -> {ast.unparse(node.returns) if node.returns else ''}", first)]
    methods = [m for m in node.body if isinstance(m, ast.FunctionDef)]
    return [(node.name, first)] + [line for m in methods for line in _outline(m)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_text_files_name_their_encoding(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            keywords = {k.arg for k in node.keywords}
            if node.func.attr in ("read_text", "write_text"):
                assert "encoding" in keywords, f"line {node.lineno}"


@pytest.mark.parametrize("path", ENGINE, ids=lambda p: p.stem)
def test_public_things_say_what_they_do(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            assert ast.get_docstring(node), node.name


def test_environment_yml_installs_what_pyproject_asks_for() -> None:
    spec = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert spec["name"] == project["name"] and spec["channels"]
    plain = [d for d in spec["dependencies"] if isinstance(d, str)]
    [pip] = [d["pip"] for d in spec["dependencies"] if isinstance(d, dict)]
    assert "pip" in plain and pip == ["-e .[test]"]
    [python] = [d for d in plain if d.startswith("python=")]
    least = project["requires-python"].removeprefix(">=")
    assert tuple(map(int, python.removeprefix("python=").split("."))) >= tuple(map(int, least.split(".")))


def test_constraints_pin_everything_that_is_asked_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    asked = project["dependencies"] + project["optional-dependencies"]["test"]
    pinned = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split())
    for requirement in asked:
        match = re.match(r"([\w-]+)([>=]=)([\d.]+)$", requirement)
        assert match, requirement
        name, _, least = match.groups()
        version = tuple(int(part) for part in re.findall(r"\d+", pinned[name])[:3])
        assert version >= tuple(map(int, least.split("."))), name
