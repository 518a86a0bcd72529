"""From logits to a token, and the loop that makes a text of tokens.

The order is: repetition penalty, temperature, top-k, top-p, min-p, then a draw. Each filter takes and returns logits of shape
(vocab_size) and leaves its argument as it was; a token that is filtered out gets -inf.

Sources: Keskar et al. 2019 (arXiv:1909.05858) for the penalty; Fan et al. 2018 (arXiv:1805.04833) for top-k; Holtzman et al.
2019 (arXiv:1904.09751) for top-p; Nguyen et al. 2024 (arXiv:2407.01082) for min-p.
"""

import math
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from .embedding import softmax
from .transformer import Cache, Config

PREFILL_CHUNK = 512
"""Prompt tokens that pass through the model at once: bounds the size of the score matrices."""


class Model(Protocol):
    """What the loop asks of a model; `transformer.Transformer` is one."""

    config: Config

    @property
    def device(self) -> torch.device: ...

    def __call__(self, ids: Tensor, cache: Cache | None = None, *, last_only: bool = False) -> Tensor: ...


@dataclass(frozen=True)
class SamplingParams:
    """How tokens are chosen. Raises ValueError, by name, for values out of range.

    The defaults for temperature and top_p are those that the makers of SmolLM2-135M-Instruct advise.

    temperature: 0 always takes the most likely token. top_k: 0 is off. top_p: 1 is off. min_p: 0 is off.
    repetition_penalty: 1 is off. seed: None draws anew each time. max_tokens: None goes on to the end of the context.
    """

    temperature: float = 0.2
    top_k: int = 0
    top_p: float = 0.9
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    seed: int | None = None
    max_tokens: int | None = 256
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        finite = sys.float_info.max
        _require("temperature", self.temperature, float, 0 <= _real(self.temperature) <= finite, "0 or more, and finite")
        _require("top_k", self.top_k, int, _real(self.top_k) >= 0, "0 (off) or more")
        _require("top_p", self.top_p, float, 0 < _real(self.top_p) <= 1, "above 0 and at most 1")
        _require("min_p", self.min_p, float, 0 <= _real(self.min_p) <= 1, "from 0 to 1")
        penalty = self.repetition_penalty
        _require("repetition_penalty", penalty, float, 0 < _real(penalty) <= finite, "above 0, and finite")
        if self.seed is not None:
            _require("seed", self.seed, int, 0 <= _real(self.seed) < 2**63, "from 0 to 2**63 - 1")
        if self.max_tokens is not None:
            _require("max_tokens", self.max_tokens, int, _real(self.max_tokens) >= 1, "1 or more")
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop
        if not isinstance(stop, (list, tuple)) or len(stop) > 16 or not all(isinstance(s, str) and s for s in stop):
            raise ValueError("stop must be at most 16 strings, none of them empty")
        object.__setattr__(self, "stop", tuple(stop))


def _real(value: object) -> float:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan


def _require(name: str, value: object, kind: type, holds: bool, rule: str) -> None:
    if kind is int and not isinstance(value, int) or not holds:
        raise ValueError(f"{name} is {value!r}, it must be {'a whole number, ' if kind is int else ''}{rule}")


def apply_temperature(logits: Tensor, temperature: float) -> Tensor:
    """Divide logits by the temperature (above 0): below 1 sharpens, above 1 flattens.

    The maximum is subtracted first, which leaves the probabilities alone and keeps a tiny temperature from overflowing;
    temperatures that float32 cannot hold are brought into its range.
    """
    return (logits - logits.max()) / min(max(temperature, 1e-30), 1e30)


def filter_top_k(logits: Tensor, k: int) -> Tensor:
    """Keep exactly the k most likely tokens; among equals the lowest ids. A k of 0 or past the vocabulary keeps all."""
    if not 0 < k < logits.numel():
        return logits
    smallest = torch.topk(logits, k).values[-1]
    above, tied = logits > smallest, logits == smallest
    keep = above | (tied & (tied.cumsum(0) <= k - above.sum()))
    return logits.masked_fill(~keep, -torch.inf)


def filter_top_p(logits: Tensor, p: float) -> Tensor:
    """Keep the fewest tokens, most likely first, whose probabilities sum to at least p.

    Among equals the lowest ids are kept first. A p of 1 keeps all.
    """
    if p >= 1:
        return logits
    probabilities, order = softmax(logits).sort(descending=True, stable=True)
    before = probabilities.cumsum(0) - probabilities  # what the more likely tokens already hold
    return logits.index_fill(0, order[1:][before[1:] >= p], -torch.inf)


def filter_min_p(logits: Tensor, p: float) -> Tensor:
    """Keep the tokens at least p times as likely as the most likely one. A p of 0 keeps all."""
    if p <= 0:
        return logits
    probabilities = softmax(logits)
    return logits.masked_fill(probabilities < p * probabilities.max(), -torch.inf)


def apply_repetition_penalty(logits: Tensor, seen: Iterable[int], penalty: float) -> Tensor:
    """Divide the positive logits of the seen ids by the penalty, and multiply the others.

    Each id once, however often it was seen: a penalty above 1 makes it less likely.
    """
    out = logits.clone()
    ids = torch.tensor(sorted(set(seen)), dtype=torch.long, device=logits.device)
    scores = out[ids]
    out[ids] = torch.where(scores > 0, scores / penalty, scores * penalty)
    return out


def sample(logits: Tensor, params: SamplingParams, generator: torch.Generator | None = None, seen: Iterable[int] = ()) -> int:
    """Choose the next token from logits (vocab_size). `seen` are the ids that the repetition penalty weakens.

    Raises ValueError for logits that hold NaN or +inf, or nothing but -inf.
    """
    if params.repetition_penalty != 1:
        logits = apply_repetition_penalty(logits, seen, params.repetition_penalty)
    if not torch.isfinite(peak := logits.max()):  # NaN and +inf come through max; -inf only where all are
        raise ValueError(f"cannot choose a token: the largest logit is {peak.item()}")
    if params.temperature == 0:
        return int(logits.argmax())  # the lowest id among equals
    logits = apply_temperature(logits.float(), params.temperature)
    logits = filter_min_p(filter_top_p(filter_top_k(logits, params.top_k), params.top_p), params.min_p)
    return int(torch.multinomial(softmax(logits), 1, generator=generator))


@torch.inference_mode()
def prefill(model: Model, ids: Sequence[int], cache: Cache | None = None) -> Tensor:
    """Pass ids through the model and return the logits (vocab_size) that follow the last one.

    With a cache the ids continue it, in chunks of PREFILL_CHUNK; without one they are the whole text, in one pass.
    Raises ValueError where there are no ids.
    """
    if not ids:
        raise ValueError("the prompt is empty: there is nothing to continue")
    step = len(ids) if cache is None else PREFILL_CHUNK
    for start in range(0, len(ids), step):
        logits = model(torch.tensor([ids[start : start + step]], device=model.device), cache, last_only=True)
    return logits[0, -1]


def continue_ids(
    model: Model,
    ids: Sequence[int],
    params: SamplingParams,
    count: int,
    cache: Cache | None = None,
    vocab_size: int | None = None,
) -> Iterator[int]:
    """Yield count ids, each chosen from the logits after all the ids before it.

    With an empty cache each step passes on only the ids that the cache does not hold yet; without a cache each step passes
    the whole text again. `vocab_size` cuts off logits that no text belongs to (padding of the table).
    """
    generator = torch.Generator(model.device)
    generator.manual_seed(params.seed) if params.seed is not None else generator.seed()
    ids = fresh = list(ids)
    for _ in range(count):
        logits = prefill(model, fresh, cache)
        ids.append(sample(logits[:vocab_size], params, generator, ids))
        yield ids[-1]
        fresh = ids if cache is None else ids[-1:]


def generate(
    model: Model,
    prompt: Sequence[int],
    params: SamplingParams,
    *,
    cache: Cache | None = None,
    vocab_size: int | None = None,
) -> Iterator[int]:
    """Continue prompt by at most params.max_tokens ids, and no further than the model's context: see `continue_ids`.

    Stopping at an end token is up to the caller. Raises ValueError, at once, for an empty prompt and for one that leaves no
    room for a token.
    """
    limit = model.config.max_position_embeddings
    if not prompt:
        raise ValueError("the prompt is empty: there is nothing to continue")
    if len(prompt) >= limit:
        raise ValueError(f"the prompt has {len(prompt)} tokens; with a context of {limit} at most {limit - 1} leave room")
    room = limit - len(prompt)
    count = room if params.max_tokens is None else min(params.max_tokens, room)
    return continue_ids(model, prompt, params, count, cache, vocab_size)


def perplexity(model: Model, ids: Sequence[int], window: int = 512) -> float:
    """How many equally likely tokens the model hesitates between, on average.

    That is exp of the mean negative log-likelihood. The ids are cut into windows of at most `window` tokens (and the model's
    context); each token but a window's first is predicted from those before it in its window. Raises ValueError for fewer than
    2 ids or a window below 2.
    """
    window = min(window, model.config.max_position_embeddings)
    if len(ids) < 2 or window < 2:
        raise ValueError(f"perplexity needs at least 2 tokens and a window of 2, not {len(ids)} and {window}")
    total, count = 0.0, 0
    for start in range(0, len(ids) - 1, window):
        part = torch.tensor([ids[start : start + window]], device=model.device)
        if part.shape[1] > 1:
            with torch.inference_mode():
                logits = model(part)[0, :-1].float()
            total += F.cross_entropy(logits, part[0, 1:], reduction="sum").item()
            count += part.shape[1] - 1
    return math.exp(total / count)


class StopStrings:
    """Ends a stream of text at the string that is complete first, holding back what might be the beginning of one.

    Where the pieces of text are cut makes no difference.
    """

    def __init__(self, stop: Sequence[str]) -> None:
        self.stop, self.held, self.found = tuple(stop), "", False

    def push(self, text: str) -> str:
        """Take more text; return what is certain not to be part of a stop string. `found` tells that one has come."""
        self.held += text
        places = [(at + len(s), at) for s in self.stop if (at := self.held.find(s)) >= 0]
        if places:
            self.found = True
            return self._release(min(places)[1])
        keep = max((n for s in self.stop for n in range(1, len(s)) if self.held.endswith(s[:n])), default=0)
        return self._release(len(self.held) - keep)

    def finish(self) -> str:
        """Return what is still held back, where no stop string was found."""
        return "" if self.found else self._release(len(self.held))

    def _release(self, count: int) -> str:
        text, self.held = self.held[:count], self.held[count:]
        return text
