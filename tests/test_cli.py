"""The command line, as it is typed: exit codes, one-line refusals, a chat with commands and Ctrl-C."""

import subprocess
import sys
from pathlib import Path

import pytest

from llmlite import cli


def llmlite(*arguments: str, said: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "llmlite", *arguments]
    return subprocess.run(command, input=said, capture_output=True, text=True, encoding="utf-8", timeout=120)


def test_generate_continues_with_paris() -> None:
    done = llmlite("generate", "The capital of France is", "--temperature", "0", "--max-tokens", "8")
    assert done.returncode == 0
    assert done.stdout.startswith("The capital of France is Paris")
    assert "in: 5 tokens" in done.stderr and "out: 8 tokens" in done.stderr


@pytest.mark.parametrize(
    "arguments,says",
    [
        (["generate", "x", "--temperature", "-1"], "temperature is -1.0"),
        (["generate", "x", "--temperature", "warm"], "warm"),
        (["generate", "x", "--top-p", "0"], "top_p is 0.0"),
        (["generate", "x", "--max-tokens", "0"], "max_tokens is 0"),
        (["generate", "x", "--no-such-option"], "--no-such-option"),
        (["generate", "x", "--model", "no/such/file.gguf"], "no/such/file.gguf"),
        (["generate"], "PROMPT"),
        (["fetch", "gpt-9"], "known names: smollm2"),
        (["info", "no/such/file.gguf"], "no/such/file.gguf"),
        (["frobnicate"], "frobnicate"),
        ([], "COMMAND"),
    ],
    ids=" ".join,
)
def test_refuses_with_one_line_and_2(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = cli.main(arguments)
    except SystemExit as stop:
        code = int(stop.code or 0)
    shown = capsys.readouterr()
    assert code == 2 and shown.out == ""
    assert len(shown.err.splitlines()) == 1 and says in shown.err


def test_a_damaged_file_is_refused_with_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "broken.gguf"
    path.write_bytes(b"GGUF\x03\x00")
    for arguments in (["info", str(path)], ["generate", "x", "--model", str(path)]):
        assert cli.main(arguments) == 2
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_info_lists_metadata_and_tensors(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["info", "smollm2"]) == 0
    shown = capsys.readouterr().out
    assert "llama.block_count" in shown and "272 tensors" in shown
    assert "blk.29.ffn_up.weight" in shown and "(1536, 576)" in shown and "Q4_1" in shown


def test_chat_streams_resets_and_leaves(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny) -> None:
    lengths: list[int] = []
    monkeypatch.setattr(cli, "_load", lambda args: tiny)
    stream = type(tiny).stream

    def spy(self, messages, **options):  # type: ignore[no-untyped-def]
        lengths.append(len(messages))
        return stream(self, [1, 2, 3], **options)

    monkeypatch.setattr(type(tiny), "stream", spy)
    lines = iter(["one", "", "two", "/reset", "three", "/exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert cli.main(["chat", "--system", "Be kind.", "--max-tokens", "3", "--seed", "1"]) == 0
    assert lengths == [2, 4, 2], "the conversation grows, and starts anew after /reset"
    assert capsys.readouterr().err.count("out: 3 tokens") == 3


def test_ctrl_c_stops_the_answer_and_not_the_chat(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny
) -> None:
    monkeypatch.setattr(cli, "_load", lambda args: tiny)
    calls: list[int] = []

    class Interrupted:
        completion = type("C", (), {"text": "half an ans"})()

        def __iter__(self):  # type: ignore[no-untyped-def]
            yield "half an ans"
            raise KeyboardInterrupt

    def stream(self, messages, **options):  # type: ignore[no-untyped-def]
        calls.append(len(messages))
        return Interrupted()

    monkeypatch.setattr(type(tiny), "stream", stream)
    lines = iter(["one", "two"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines, None) or (_ for _ in ()).throw(EOFError))
    assert cli.main(["chat"]) == 0
    assert calls == [1, 3], "the half answer stays in the conversation"
    assert capsys.readouterr().out.count("[stopped]") == 2


def test_a_question_that_does_not_fit_is_refused_and_the_chat_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tiny
) -> None:
    monkeypatch.setattr(cli, "_load", lambda args: tiny)

    def stream(self, messages, **options):  # type: ignore[no-untyped-def]
        raise ValueError(f"too long: {len(messages)}")

    monkeypatch.setattr(type(tiny), "stream", stream)
    lines = iter(["one", "two", "/exit"])
    monkeypatch.setattr("builtins.input", lambda _: next(lines))
    assert cli.main(["chat"]) == 0
    assert capsys.readouterr().err.count("too long: 1") == 2
