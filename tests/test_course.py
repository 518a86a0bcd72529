"""The course machinery: installing answers, the workbook, hints, the lesson's report."""

import json
import linecache
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from ipywidgets.widgets.widget import _instances as instances
from notebook_files import ROOT

from llmlite.course import engine, exercise, hint, lesson, progress, solution, workbook
from llmlite.course.chapters import CHAPTERS, exercises
from llmlite.course.exercise import next_hint
from llmlite.course.progress import yours


@pytest.fixture(autouse=True)
def clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LLMLITE_WORKBOOK", str(tmp_path / "workbook"))
    InteractiveShell.instance()  # what `display` sends its reports to
    yield
    for c in CHAPTERS:
        for name in exercises(c.word):
            engine.restore(c.word, name)


def start(word: str) -> str:
    with capture_output() as shown:
        lesson(word)
    return shown.outputs[0].data["text/plain"]


CELLS = iter(range(10_000))


def run_cell(source: str, scope: dict[str, Any] | None = None) -> tuple[dict[str, Any], str]:
    """Run source as a notebook cell would be run; return its names and the report that it shows."""
    filename = f"<cell {next(CELLS)}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope = {"__name__": "__main__", "exercise": exercise} if scope is None else scope
    with capture_output() as shown:
        exec(compile(source, filename, "exec"), scope)
    return scope, "\n".join(o.data["text/plain"] for o in shown.outputs)


RIGHT_MS = """@exercise
def ms_per_token(seconds, tokens):
    return tokens and seconds / tokens * 1000
"""


def test_a_stub_is_to_do_and_the_engines_own_is_used() -> None:
    start("welcome")
    scope, report = run_cell("@exercise\ndef ms_per_token(seconds, tokens):\n    '''Time.'''\n    raise NotImplementedError\n")
    assert report.startswith("○ ms_per_token: to do")
    assert scope["ms_per_token"] is engine.original("welcome", "ms_per_token")
    assert not workbook.path("welcome").exists()


def test_a_wrong_answer_is_named_and_the_engines_own_is_used() -> None:
    start("welcome")
    scope, report = run_cell("@exercise\ndef ms_per_token(seconds, tokens):\n    return seconds / tokens\n")
    assert report.startswith("✗ ms_per_token: not yet: this is in seconds")
    assert "ms_per_token(2, 100)" in report and "hint(" in report
    assert scope["ms_per_token"](2.0, 100) == 20.0


def test_a_right_answer_is_installed_and_kept() -> None:
    start("welcome")
    scope, report = run_cell(RIGHT_MS)
    assert report.startswith("✓ ms_per_token: right (2 checks)")
    assert engine.installed("welcome", "ms_per_token") is scope["ms_per_token"]
    assert "seconds / tokens * 1000" in workbook.path("welcome").read_text(encoding="utf-8")
    assert yours()["welcome"] == ["ms_per_token"]


def test_a_later_wrong_try_keeps_the_earlier_right_answer() -> None:
    start("welcome")
    mine = run_cell(RIGHT_MS)[0]["ms_per_token"]
    before = workbook.path("welcome").read_bytes()
    scope, report = run_cell("@exercise\ndef ms_per_token(seconds, tokens):\n    return 0\n")
    assert "Your earlier right answer stays in use." in report
    assert scope["ms_per_token"] is mine and workbook.path("welcome").read_bytes() == before


def test_the_models_forward_pass_runs_the_readers_function(tiny: Any) -> None:
    """An odd but right softmax leaves a mark; the model reaches it from a module that imported it long before."""
    start("embedding")
    scope, report = run_cell(
        "import torch\n"
        "MARKS = []\n"
        "@exercise\n"
        "def softmax(scores, dim=-1):\n"
        "    MARKS.append(tuple(scores.shape))\n"
        "    wide = scores.double()\n"
        "    return torch.nan_to_num(torch.softmax(wide, dim), nan=0.0).to(scores.dtype)\n"
    )
    assert "right" in report
    scope["MARKS"].clear()
    tiny.model(torch.tensor([[1, 2, 3]]))
    assert len(scope["MARKS"]) == tiny.model.config.num_hidden_layers
    engine.restore("embedding", "softmax")
    scope["MARKS"].clear()
    tiny.model(torch.tensor([[1, 2, 3]]))
    assert scope["MARKS"] == []


def test_a_class_is_installed_and_kept(tiny: Any) -> None:
    start("tokenizer")
    scope, report = run_cell(DECODER)
    assert report.startswith("✓ StreamDecoder: right"), report
    scope["StreamDecoder"].pushed.clear()
    text = tiny.generate([1, 2, 3], max_tokens=3, temperature=0).text
    assert len(scope["StreamDecoder"].pushed) == 3 and isinstance(text, str)
    engine.restore("tokenizer", "StreamDecoder")
    assert workbook.put_back() == ({"tokenizer": ["StreamDecoder"]}, [])


DECODER = """import codecs

@exercise
class StreamDecoder:
    pushed = []

    def __init__(self, vocab):
        self.vocab, self.utf8 = vocab, codecs.getincrementaldecoder("utf-8")("replace")

    def push(self, token_id):
        self.pushed.append(token_id)
        return self.utf8.decode(self.vocab[token_id])

    def finish(self):
        return self.utf8.decode(b"", True)
"""


def test_helpers_imports_and_constants_are_kept_with_an_answer() -> None:
    start("welcome")
    scope: dict[str, Any] = {"__name__": "__main__", "exercise": exercise}
    run_cell(
        "import math as m\nfrom fractions import Fraction\nTHOUSAND = 1000\ndef share(a, b):\n    return m.fsum([a]) / b\n",
        scope,
    )
    _, report = run_cell(
        "@exercise\ndef ms_per_token(seconds, tokens):\n"
        "    return float(Fraction(0)) if tokens == 0 else THOUSAND * share(seconds, tokens)\n",
        scope,
    )
    assert "saved in workbook/welcome.py" in report
    engine.restore("welcome", "ms_per_token")
    assert workbook.put_back() == ({"welcome": ["ms_per_token"]}, [])
    assert engine.installed("welcome", "ms_per_token")(2.0, 100) == 20.0


def test_parameters_and_local_names_are_not_taken_for_the_notebooks_own() -> None:
    start("embedding")
    scope = {"__name__": "__main__", "exercise": exercise, "table": torch.ones(2), "hidden": object(), "out": object()}
    _, report = run_cell("@exercise\ndef unembed(hidden, table):\n    out = hidden @ table.T\n    return out\n", scope)
    assert "saved in workbook/embedding.py" in report
    [(_, source)] = workbook.read("embedding").values()
    assert source == "def unembed(hidden, table):\n    out = hidden @ table.T\n    return out\n"


def test_an_answer_that_cannot_be_kept_still_works_here() -> None:
    start("welcome")
    scope: dict[str, Any] = {"__name__": "__main__", "exercise": exercise, "cache": types.SimpleNamespace(scale=1000)}
    _, report = run_cell("@exercise\ndef ms_per_token(s, n):\n    return cache.scale * s / n if n else 0.0\n", scope)
    assert "✓" in report and "It could not be saved: it uses 'cache' from another cell" in report
    assert engine.is_readers("welcome", "ms_per_token")


def test_calling_the_engines_own_version_is_no_answer() -> None:
    start("welcome")
    _, report = run_cell(
        "from llmlite import llm\n@exercise\ndef ms_per_token(seconds, tokens):\n    return llm.ms_per_token(seconds, tokens)\n"
    )
    assert "this is the part to write yourself" in report


def test_before_the_lesson_there_is_a_plain_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["llmlite.course.lesson"], "_current", [])
    with pytest.raises(ValueError, match="run the first cell"):
        run_cell(RIGHT_MS)


# --- the workbook ---


def saved(text: str, word: str = "welcome") -> Path:
    path = workbook.path(word)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "damage",
    [b"\xff\xfe\x00garbage", b"def half(", b"print('mine')\n", b"\x00" * 40],
    ids=["not utf-8", "not python", "not a workbook", "zeros"],
)
def test_a_damaged_workbook_is_reported_left_and_never_lost(damage: bytes) -> None:
    path = workbook.path("welcome")
    path.parent.mkdir(parents=True)
    path.write_bytes(damage)
    assert "workbook/welcome.py was skipped and left as it is" in start("welcome")
    assert path.read_bytes() == damage
    _, report = run_cell(RIGHT_MS)
    assert "The unreadable workbook was kept as welcome.damaged1" in report
    assert path.with_suffix(".damaged1").read_bytes() == damage
    assert workbook.put_back()[0] == {"welcome": ["ms_per_token"]}


@pytest.mark.parametrize(
    "source,reason",
    [
        ("def ms_per_token(seconds, tokens):\n    return (\n", "SyntaxError"),
        ("import nothing_of_this_name\ndef ms_per_token(s, n):\n    return 0\n", "ModuleNotFoundError"),
        ("def another(s, n):\n    return 0\n", "KeyError"),
        ("def ms_per_token(s, n):\n    return s / n\n", "it was edited, and now this is in seconds"),
    ],
)
def test_a_damaged_section_is_skipped_and_the_others_are_put_back(source: str, reason: str) -> None:
    path = saved(f"# === ms_per_token (00000000) ===\n{source}")
    before = path.read_bytes()
    done, [problem] = workbook.put_back()
    assert done == {} and reason in problem and "left as it is" in problem
    assert path.read_bytes() == before and not engine.is_readers("welcome", "ms_per_token")


def test_an_edited_section_that_is_still_right_is_put_back() -> None:
    saved("# === ms_per_token (00000000) ===\ndef ms_per_token(s, n):\n    return 1e3 * s / n if n else 0.0\n")
    assert workbook.put_back() == ({"welcome": ["ms_per_token"]}, [])


def test_an_unknown_section_is_kept_when_another_is_saved() -> None:
    saved("# === of_a_later_version (12345678) ===\ndef of_a_later_version():\n    return 1\n")
    start("welcome")
    run_cell(RIGHT_MS)
    assert "of_a_later_version" in workbook.path("welcome").read_text(encoding="utf-8")


def test_answers_come_back_in_another_process(tmp_path: Path) -> None:
    start("welcome")
    run_cell(RIGHT_MS)
    command = [sys.executable, "-m", "llmlite", "progress"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=True)
    total = sum(len(exercises(c.word)) for c in CHAPTERS)
    assert "1 of 1 yours" in done.stdout and f"1 of {total} exercises are yours" in done.stdout


def test_the_workbook_stands_beside_the_notebooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LLMLITE_WORKBOOK")
    monkeypatch.chdir(ROOT / "notebooks")
    assert workbook.folder() == ROOT / "workbook"


# --- hints, solutions, reports ---


def test_hints_come_one_by_one_and_start_again() -> None:
    texts = [next_hint("embed") for _ in range(4)]
    assert [t.split(" for ")[0] for t in texts] == ["Hint 1 of 3", "Hint 2 of 3", "Hint 3 of 3", "Hint 1 of 3"]
    assert [t.endswith('(the last; solution("embed") shows one way)') for t in texts] == [False, False, True, False]


def test_every_exercise_has_two_or_three_hints_and_a_solution() -> None:
    for c in CHAPTERS:
        for name in exercises(c.word):
            assert 2 <= len(c.checks.EXERCISES[name]) <= 3
            with capture_output() as shown:
                solution(name)
            assert name in shown.outputs[0].data["text/plain"].splitlines()[0]


@pytest.mark.parametrize("call", [hint, solution])
def test_an_unknown_name_is_refused_with_the_known_ones(call: Any) -> None:
    with pytest.raises(ValueError, match="no exercise is called 'atention'.*embed"):
        call("atention")


def test_the_report_has_buttons_that_help() -> None:
    start("welcome")
    with capture_output() as shown:
        exec(compile("@exercise\ndef ms_per_token(s, n): ...\n", "<b>", "exec"), {"exercise": exercise, "__name__": "__main__"})
    data = shown.outputs[0].data
    view = data["application/vnd.jupyter.widget-view+json"]["model_id"]
    _, row, more = instances[view].children
    row.children[0].click()
    assert more.value.startswith("Hint ")
    row.children[1].click()
    assert "def ms_per_token" in more.value


def test_lesson_says_what_is_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert start("tokenizer").startswith("Ready: the environment is complete and the model is here.")
    monkeypatch.setenv("LLMLITE_HOME", str(tmp_path / "nothing here"))
    monkeypatch.setattr(torch, "__version__", "2.1.0")
    first, second = start("tokenizer").splitlines()[:2]
    assert "torch 2.1.0 is too old" in first and sys.executable in first
    assert "The model is not here yet" in second and "llmlite fetch" in second


def test_lesson_notices_a_kernel_of_another_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "llmlite").mkdir()
    (tmp_path / "notebooks").mkdir()
    (tmp_path / "llmlite" / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.chdir(tmp_path / "notebooks")
    assert "not the one beside this notebook. Choose another kernel" in start("tokenizer")


def test_an_unknown_lesson_is_refused() -> None:
    with pytest.raises(ValueError, match="no chapter is called 'kvcache'"):
        lesson("kvcache")


def test_progress_shows_every_chapter() -> None:
    with capture_output() as shown:
        progress()
    text = shown.outputs[0].data["text/plain"]
    assert all(c.word in text for c in CHAPTERS)
    json.dumps(shown.outputs[0].data)


@pytest.mark.parametrize(
    "word,source",
    [
        ("embedding", "@exercise\ndef softmax(scores, dim=-1):\n    return softmax(scores, dim)\n"),
        ("tokenizer", "import llmlite.tokenizer\n@exercise\nclass StreamDecoder(llmlite.tokenizer.StreamDecoder):\n    pass\n"),
    ],
)
def test_the_engines_own_under_its_notebook_name_is_no_answer(word: str, source: str) -> None:
    start(word)
    name = exercises(word)[-1] if word == "tokenizer" else "softmax"
    scope: dict[str, Any] = {"__name__": "__main__", "exercise": exercise, name: engine.original(word, name)}
    _, report = run_cell(source, scope)
    assert report.startswith(f"✗ {name}") and "write yourself" in report
    assert scope[name] is engine.original(word, name)


def test_an_answer_that_uses_an_earlier_chapters_answer_is_saved() -> None:
    """The earlier answer comes from a workbook, whose module other processes do not have."""
    source = "import torch\n\n\ndef softmax(scores, dim=-1):\n    return torch.softmax(scores, dim)\n"
    engine.install("embedding", "softmax", workbook.load("embedding", "softmax", source))
    start("attention")
    answer = "def causal_mask(queries, keys, offset=0):\n    softmax\n    rows = torch.arange(offset, offset + queries)\n"
    answer += "    return torch.arange(keys) <= rows[:, None]\n"
    imports = "from llmlite.embedding import softmax\nimport torch\n"
    _, report = run_cell(f"{imports}@exercise\n{answer}")
    assert "it is saved in workbook/attention.py" in report, report
    assert "from llmlite.embedding import softmax as softmax" in workbook.path("attention").read_text(encoding="utf-8")
