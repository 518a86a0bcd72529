"""The front door: pick a model's files, build it, and talk to it."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from . import sampling
from .chat import ChatTemplate, Message
from .fetch import EMBEDDED, SOURCES, FetchError, fetch
from .gguf import GGUF, ModelFileError, read_gguf
from .kv_cache import KVCache
from .sampling import SamplingParams, StopStrings
from .tokenizer import StreamDecoder, Tokenizer
from .transformer import Transformer
from .weights import load_folder, load_gguf, read_json

Prompt = str | Sequence[int] | Sequence[Message]


def ms_per_token(seconds: float, tokens: int) -> float:
    """Milliseconds spent on each token, on average; 0.0 where there were no tokens."""
    return 1000 * seconds / tokens if tokens else 0.0


@dataclass
class Completion:
    """What a prompt was answered with, why the answer ended ("stop" or "length"), and how long each phase took.

    The first token comes out of the prefill, so `decode_seconds` covers the other completion_tokens - 1 (and the end token).
    """

    text: str = ""
    ids: list[int] = field(default_factory=list)
    finish_reason: str = "length"
    prompt_tokens: int = 0
    prefill_seconds: float = 0.0
    decode_seconds: float = 0.0
    decode_steps: int = 0

    @property
    def completion_tokens(self) -> int:
        return len(self.ids)

    @property
    def prefill_ms_per_token(self) -> float:
        return ms_per_token(self.prefill_seconds, self.prompt_tokens)

    @property
    def decode_ms_per_token(self) -> float:
        return ms_per_token(self.decode_seconds, self.decode_steps)


class Stream:
    """Pieces of text as they are generated. `completion` fills up along the way and is whole when the pieces end."""

    def __init__(self, pieces: Iterator[str], completion: Completion) -> None:
        self._pieces, self.completion = pieces, completion

    def __iter__(self) -> Iterator[str]:
        return self._pieces


@dataclass
class LLM:
    """A model with its tokenizer, chat template and end tokens. Each call starts from an empty cache.

    A prompt is a text, a list of token ids, or a list of messages {"role": ..., "content": ...}. Options are the fields of
    `SamplingParams`; values out of range raise ValueError, as does a prompt that does not fit the context.
    """

    model: Transformer
    tokenizer: Tokenizer
    template: ChatTemplate | None = None
    eos_ids: frozenset[int] = frozenset()
    name: str = ""

    @property
    def device(self) -> torch.device:
        return self.model.device

    @property
    def dtype(self) -> torch.dtype:
        return self.model.embed_tokens.weight.dtype

    def encode(self, prompt: Prompt) -> list[int]:
        """The token ids of a prompt, with exactly one beginning token where the model wants one."""
        if isinstance(prompt, str):
            ids = self.tokenizer.encode(prompt)
        elif isinstance(prompt, Sequence) and (not prompt or isinstance(prompt[0], (int, float))):
            return self._checked(prompt)
        elif self.template is None:
            raise ValueError(f"{self.name or 'this model'} has no chat template; give it a text instead of messages")
        else:
            ids = self.template.encode(self.tokenizer, prompt)  # type: ignore[arg-type]
        bos = self.tokenizer.bos_id
        return [bos, *ids] if self.tokenizer.add_bos and bos is not None and ids[:1] != [bos] else ids

    def _checked(self, ids: Sequence[Any]) -> list[int]:
        size = len(self.tokenizer)
        for i in ids:
            if not isinstance(i, int) or isinstance(i, bool) or not 0 <= i < size:
                raise ValueError(f"token id {i!r} is not a whole number from 0 to {size - 1}")
        return list(ids)

    def stream(self, prompt: Prompt, **options: Any) -> Stream:
        """Generate piece by piece. Everything that can be refused is refused here, before the first piece."""
        params, ids = _params(options), self.encode(prompt)
        limit = self.model.config.max_position_embeddings
        completion = Completion(prompt_tokens=len(ids))
        cache = None
        if 0 < len(ids) < limit:  # otherwise sampling.generate says what is wrong
            capacity = limit if params.max_tokens is None else min(limit, len(ids) + params.max_tokens)
            cache = KVCache(self.model.config, capacity, dtype=self.dtype, device=self.device)
        tokens = sampling.generate(self.model, ids, params, cache=cache, vocab_size=len(self.tokenizer))
        return Stream(self._pieces(tokens, params, completion), completion)

    def _pieces(self, tokens: Iterator[int], params: SamplingParams, done: Completion) -> Iterator[str]:
        decoder, stops = StreamDecoder(self.tokenizer.vocab), StopStrings(params.stop)
        for token in _timed(tokens, done):
            if token in self.eos_ids:
                done.finish_reason = "stop"
                break
            done.ids.append(token)
            yield from _record(done, stops.push(decoder.push(token)))
            if stops.found:
                done.finish_reason = "stop"
                return
        yield from _record(done, stops.push(decoder.finish()))
        done.finish_reason = "stop" if stops.found else done.finish_reason
        yield from _record(done, stops.finish())

    def generate(self, prompt: Prompt, **options: Any) -> Completion:
        """Generate to the end and return the whole `Completion`."""
        stream = self.stream(prompt, **options)
        for _ in stream:
            pass
        return stream.completion

    def chat(self, messages: str | Sequence[Message], **options: Any) -> Completion:
        """Answer a conversation; a plain text is a conversation of one message from the user."""
        conversation = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        return self.generate(conversation, **options)

    def perplexity(self, text: str, window: int = 512) -> float:
        """See `sampling.perplexity`."""
        return sampling.perplexity(self.model, self.encode(text), window)


def _params(options: dict[str, Any]) -> SamplingParams:
    if unknown := set(options) - set(SamplingParams.__dataclass_fields__):
        known = ", ".join(SamplingParams.__dataclass_fields__)
        raise ValueError(f"no option is called {min(unknown)!r}; known: {known}")
    return SamplingParams(**options)


def _timed(tokens: Iterator[int], done: Completion) -> Iterator[int]:
    """Pass tokens on, adding the time that each took to its phase."""
    first = True
    while True:
        start = time.perf_counter()
        token = next(tokens, None)
        if token is None:
            return
        seconds = time.perf_counter() - start
        if first:
            done.prefill_seconds, first = seconds, False
        else:
            done.decode_seconds += seconds
            done.decode_steps += 1
        yield token


def _record(done: Completion, piece: str) -> Iterator[str]:
    if piece:
        done.text += piece
        yield piece


def load(
    name_or_path: str | Path,
    *,
    device: str | torch.device = "cpu",
    dtype: torch.dtype = torch.float32,
    fallback: str | None = None,
) -> LLM:
    """Load a model: a name, a GGUF file, or a Hugging Face folder.

    "tinytales" and "tinytales-draft" come with llmlite; "smollm2" is fetched where it is missing. Where that cannot be done,
    one line on stderr says so and the model named `fallback` takes its place; without a fallback, FetchError is raised.
    Raises ModelFileError for a file that is damaged or not supported, ValueError for a name or device that is not there.
    """
    name, path = str(name_or_path), Path(name_or_path)
    if isinstance(name_or_path, str) and name in (*SOURCES, *EMBEDDED):
        try:
            path = fetch(name)
        except FetchError as error:
            if fallback is None:
                raise
            print(f"{error}. Until then, {fallback} takes its place.", file=sys.stderr)
            return load(fallback, device=device, dtype=dtype)
    elif path.exists():
        name = path.name
    else:
        raise ValueError(f"{name!r} is neither a model's name ({', '.join([*SOURCES, *EMBEDDED])}) nor a file or folder")
    return _finish(_from_folder(path, dtype) if path.is_dir() else _from_gguf(path, dtype), name, device)


def _finish(llm: LLM, name: str, device: str | torch.device) -> LLM:
    try:
        llm.model.to(device)
    except (RuntimeError, AssertionError) as error:
        raise ValueError(f"device {str(device)!r} cannot be used: {str(error).splitlines()[0]}") from None
    llm.name = name
    return llm


def _from_gguf(path: Path, dtype: torch.dtype) -> LLM:
    file = read_gguf(path)
    tokenizer = _checked_tokenizer(lambda: Tokenizer.from_gguf(file.metadata))
    source = file.metadata.get("tokenizer.chat_template")
    model = load_gguf(file, dtype)
    return LLM(model, tokenizer, _template(source, tokenizer), _gguf_ends(file, tokenizer))


def _gguf_ends(file: GGUF, tokenizer: Tokenizer) -> frozenset[int]:
    """Every end token that a GGUF file names, and by the same rule as llama.cpp the end-of-turn tokens of its vocabulary."""
    keys = ("eos_token_id", "eot_token_id", "eom_token_id")
    named = [file.metadata.get(f"tokenizer.ggml.{key}") for key in keys]
    turns = [tokenizer.control.get(t) for t in ("<|im_end|>", "<|eot_id|>", "<|endoftext|>", "<|end_of_text|>")]
    return frozenset(i for i in (*named, *turns) if i is not None)


def _from_folder(folder: Path, dtype: torch.dtype) -> LLM:
    tokenizer = _checked_tokenizer(lambda: Tokenizer.from_json(read_json(folder / "tokenizer.json")))
    options = _optional(folder / "tokenizer_config.json")
    if "add_bos_token" in options:
        tokenizer.add_bos = bool(options["add_bos_token"])
    special = {**tokenizer.added, **tokenizer.control}
    tokenizer.bos_id = special.get(_content(options.get("bos_token")), tokenizer.bos_id)
    tokenizer.eos_id = special.get(_content(options.get("eos_token")), tokenizer.eos_id)
    ends: set[int] = set() if tokenizer.eos_id is None else {tokenizer.eos_id}
    for spec in (read_json(folder / "config.json"), _optional(folder / "generation_config.json")):
        found = spec.get("eos_token_id")
        ends.update(found if isinstance(found, list) else [] if found is None else [found])
    source = options.get("chat_template")
    if (own := folder / "chat_template.jinja").is_file():
        source = own.read_text(encoding="utf-8")
    return LLM(load_folder(folder, dtype), tokenizer, _template(source, tokenizer), frozenset(ends))


def _optional(path: Path) -> dict[str, Any]:
    return read_json(path) if path.is_file() else {}


def _content(token: Any) -> str:
    return token.get("content", "") if isinstance(token, dict) else token or ""


def _template(source: Any, tokenizer: Tokenizer) -> ChatTemplate | None:
    if not isinstance(source, str):
        return None
    texts = ["" if i is None else tokenizer.decode([i]) for i in (tokenizer.bos_id, tokenizer.eos_id)]
    return ChatTemplate(source, *texts)


def _checked_tokenizer(build: Any) -> Tokenizer:
    try:
        tokenizer: Tokenizer = build()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise error if isinstance(error, ModelFileError) else ModelFileError(f"tokenizer: {error}") from None
    return tokenizer
