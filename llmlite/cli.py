"""The llmlite command: generate, chat, fetch, info, progress. Exits with 2 and one line where something is refused."""

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from .llm import LLM, Completion, Stream

_OPTIONS: dict[str, tuple[Callable[[str], Any], str]] = {
    "temperature": (float, "0 always takes the most likely token (default 0.2)"),
    "top-k": (int, "draw from the k most likely tokens (default 0: off)"),
    "top-p": (float, "draw from the most likely tokens that hold this probability together (default 0.9; 1: off)"),
    "min-p": (float, "drop tokens less likely than this share of the most likely one (default 0: off)"),
    "repetition-penalty": (float, "weaken tokens that have occurred (default 1: off)"),
    "seed": (int, "make the draw repeatable"),
    "max-tokens": (int, "end after so many tokens (default 256)"),
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    args = _parser().parse_args(arguments)
    try:
        return int(args.run(args))
    except (ValueError, OSError) as error:
        if isinstance(error, BrokenPipeError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of our output has left
            return 0
        print(f"llmlite: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="llmlite", description="An LLM inference engine that can be read in an afternoon.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        command = commands.add_parser(name, help=text, description=text)
        command.set_defaults(run=run)
        return command

    generate = add("generate", _generate, "Continue a text.")
    generate.add_argument("prompt", metavar="PROMPT")
    _model_options(generate)
    chat = add("chat", _chat, "Talk to the model. /reset starts anew, /exit ends, Ctrl-C stops an answer.")
    chat.add_argument("--system", metavar="TEXT", help="what the model is told about its role")
    _model_options(chat)
    fetch = add("fetch", _fetch, "Download a model into the cache folder.")
    fetch.add_argument("name", metavar="NAME", nargs="?", default="smollm2")
    info = add("info", _info, "Show the metadata and the tensors of a GGUF file.")
    info.add_argument("file", metavar="FILE", help="a path, or a model's name")
    add("progress", _progress, "Show which parts of the engine are yours.")
    return parser


def _model_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("--model", default="smollm2", metavar="NAME_OR_PATH", help="smollm2 (default), tinytales, or a path")
    for name, (kind, text) in _OPTIONS.items():
        command.add_argument(f"--{name}", type=kind, default=argparse.SUPPRESS, help=text)
    command.add_argument("--stop", action="append", default=argparse.SUPPRESS, metavar="TEXT", help="end where this appears")
    command.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    command.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
    command.add_argument("--workbook", action="store_true", help="run your own answers in place of the engine's functions")


def _load(args: argparse.Namespace) -> "LLM":
    import torch

    from .llm import load

    _options(args)  # refuse bad values before the model is read
    if args.workbook:
        from .course import workbook

        for line in workbook.put_back()[1]:
            print(line, file=sys.stderr)
    return load(args.model, device=args.device, dtype=getattr(torch, args.dtype), fallback="tinytales")


def _options(args: argparse.Namespace) -> dict[str, Any]:
    from .sampling import SamplingParams

    names = [*(name.replace("-", "_") for name in _OPTIONS), "stop"]
    options = {name: getattr(args, name) for name in names if hasattr(args, name)}
    SamplingParams(**options)
    return options


def _generate(args: argparse.Namespace) -> int:
    stream = _load(args).stream(args.prompt, **_options(args))
    print(args.prompt, end="", flush=True)
    _print(stream)
    _account(stream.completion)
    return 0


def _print(stream: "Stream") -> None:
    for piece in stream:
        print(piece, end="", flush=True)
    print()


def _account(done: "Completion") -> None:
    """One line on stderr: how many tokens each phase had, and how long each of them took."""
    print(
        f"[in: {done.prompt_tokens} tokens, {done.prefill_ms_per_token:.1f} ms each | "
        f"out: {done.completion_tokens} tokens, {done.decode_ms_per_token:.1f} ms each | ended by {done.finish_reason}]",
        file=sys.stderr,
    )


def _chat(args: argparse.Namespace) -> int:
    llm = _load(args)
    start = [{"role": "system", "content": args.system}] if args.system else []
    messages = list(start)
    print("/reset starts anew, /exit ends, Ctrl-C stops an answer.", file=sys.stderr)
    while (said := _ask()) != "/exit":
        if said == "/reset":
            messages = list(start)
        elif said.strip():
            messages = _turn(llm, [*messages, {"role": "user", "content": said}], _options(args))
    return 0


def _ask() -> str:
    """The next line of the user's; the end of the input, or Ctrl-C at the prompt, is a wish to leave."""
    try:
        return input("> ")
    except (EOFError, KeyboardInterrupt):
        print()
        return "/exit"


def _turn(llm: "LLM", messages: list[dict[str, str]], options: dict[str, Any]) -> list[dict[str, str]]:
    """Stream one answer and return the conversation with it; without the question where that was refused."""
    try:
        stream = llm.stream(messages, **options)
        try:
            _print(stream)
            _account(stream.completion)
        except KeyboardInterrupt:
            print(" [stopped]")
    except ValueError as error:
        print(f"llmlite: {error} (/reset starts anew)", file=sys.stderr)
        return messages[:-1]
    return [*messages, {"role": "assistant", "content": stream.completion.text}]


def _fetch(args: argparse.Namespace) -> int:
    from .fetch import fetch

    print(fetch(args.name))
    return 0


def _info(args: argparse.Namespace) -> int:
    from .fetch import EMBEDDED, SOURCES, fetch
    from .gguf import read_gguf

    if args.file in EMBEDDED:
        raise ValueError(f"{args.file} is a folder in Hugging Face's format, not a GGUF file; look into {fetch(args.file)}")
    file = read_gguf(fetch(args.file) if args.file in SOURCES else Path(args.file))
    rows = [(key, _short(value)) for key, value in file.metadata.items()]
    _table([("metadata", "value"), *rows])
    tensors = file.tensors.values()
    print()
    _table([("tensor", "shape", "type", "bytes"), *((t.name, str(t.shape), t.type, f"{t.nbytes or '?'}") for t in tensors)])
    total = sum(t.nbytes or 0 for t in tensors)
    print(f"\nGGUF version {file.version}, {len(rows)} metadata values, {len(tensors)} tensors of {total:,} bytes")
    return 0


def _short(value: Any) -> str:
    text = f"[{len(value)} values] {value[:4]}" if isinstance(value, list) else str(value)
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "..."


def _table(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())


def _progress(args: argparse.Namespace) -> int:
    from .course.progress import progress_text

    print(progress_text())
    return 0
