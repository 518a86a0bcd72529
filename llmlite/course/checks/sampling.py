"""Checks of chapter 07."""

import math
import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import torch
from torch import Tensor

from ...sampling import SamplingParams
from ...transformer import Config
from . import Faults, Mistake, check, close, equal, named, normal, not_missing, refuses, told_apart, works

EXERCISES = {
    "filter_top_p": (
        "p is a share of probability, so softmax comes first. Then walk from the most likely token down.",
        "probabilities.sort(descending=True, stable=True) gives values and ids. cumsum minus the token's own probability is "
        "what the more likely ones hold already.",
        "Drop a token where those before it already hold p or more, but never the first. Then order[drop] are the ids to set "
        "to -inf, in a copy.",
    ),
    "filter_min_p": (
        "The bar is p times the largest probability, wherever that stands.",
        "probabilities = softmax(logits); which are below p * probabilities.max()? One that is exactly at the bar stays.",
        "return logits.masked_fill(probabilities < p * probabilities.max(), -torch.inf)",
    ),
    "apply_repetition_penalty": (
        "Work on logits.clone(). A set of the seen ids holds each of them once.",
        "A negative logit that is divided by 2 moves up, towards 0. It has to be multiplied.",
        "For each i in set(seen): out[i] = out[i] / penalty if out[i] > 0 else out[i] * penalty.",
    ),
    "continue_ids": (
        "Keep one list of your own with all ids so far, and one generator that is made before the loop.",
        "torch.Generator(model.device) starts with the same seed each time: call manual_seed(params.seed), or seed() for a "
        "fresh one where params.seed is None.",
        "Each step: logits = prefill(model, fresh, cache), sample(logits[:vocab_size], params, generator, ids), append, yield. "
        "fresh is the prompt at first; then everything without a cache, the last id alone with one.",
    ),
    "perplexity": (
        "The logits at place t predict the token at place t + 1: logits[:-1] belong to ids[1:].",
        "torch.nn.functional.cross_entropy(logits, targets, reduction='sum') is the sum of -log p(target).",
        "Add up the sums and the numbers of predicted tokens over all windows; return math.exp(total / count).",
    ),
}

# --- filters ---


def _filtered(answer: Any, logits: Tensor, p: float) -> Tensor:
    """What the filter returns, with the faults named that have nothing to do with which tokens are kept."""
    before, lines = logits.clone(), {"logits": logits.clone(), "p": p}
    got = answer(logits, p)
    not_missing(got, **lines)
    if not torch.equal(logits, before):
        raise Mistake("the logits that were handed in have changed: work on a copy", **lines)
    if not isinstance(got, Tensor) or got.shape != before.shape:
        shape = tuple(got.shape) if isinstance(got, Tensor) else type(got).__name__
        raise Mistake("a tensor of the logits' shape is expected, also for the tokens dropped", **lines, yours=shape)
    if torch.isnan(got).any():
        raise Mistake("the result holds NaN (not a number)", **lines, yours=got)
    if torch.equal(got.sort().values, before.masked_fill(got == 0, 0.0).sort().values) and ((got == 0) & (before != 0)).any():
        raise Mistake("a dropped token gets -inf: a logit of 0 is still a chance", **lines, yours=got)
    kept = got > -math.inf
    shares = bool(kept.any()) and abs(float(got[kept].double().sum()) - 1) < 1e-4 and bool((got[kept] >= 0).all())
    if shares and not torch.equal(got[kept], before[kept]):
        raise Mistake("these are probabilities: the tokens kept keep their logits, the others get -inf", **lines, yours=got)
    return got


def _same_logits(got: Tensor, logits: Tensor, **lines: Any) -> None:
    kept = got > -math.inf
    if not torch.equal(got[kept], logits[kept]):
        sentence = "the tokens kept must keep their logits, each at its own id"
        raise Mistake(sentence, **lines, logits=logits, yours=got)


def _ids(got: Tensor) -> list[int]:
    return [i for i, value in enumerate(got.tolist()) if value > -math.inf]


def _keeps_dtype(answer: Any, draw: random.Random) -> None:
    for dtype in (torch.float32, torch.float64):
        got = _filtered(answer, normal(draw, 4, dtype=dtype), 0.5)
        equal(got.dtype, dtype, "the result keeps the logits' dtype", logits=dtype)


def _which(got: Tensor, want: list[int], faults: Faults, sentence: str, **lines: Any) -> None:
    """Compare the ids kept with those wanted; a known wrong set has its own sentence."""
    ids = _ids(got)
    shown = {**lines, "you_keep": ids, "expected": want}
    named(ids, want, faults, **shown)
    if ids != want:
        raise Mistake(sentence, **shown)


def _shift_free(answer: Any, logits: Tensor, p: float) -> Tensor:
    """The result for the logits; names answers that compare logits where probabilities are meant."""
    results = [_filtered(answer, logits + shift, p) for shift in (0.0, 3.0, -10.0)]
    if len({tuple(_ids(r)) for r in results}) > 1:
        sentence = "adding the same number to every logit must not change what is kept: compare probabilities, after softmax"
        raise Mistake(sentence, logits=logits, p=p, **{f"kept_with_{s}": _ids(r) for s, r in zip(("0", "3", "-10"), results)})
    return results[0]


@check("filter_top_p")
def nucleus_by_hand(answer: Any, draw: random.Random) -> None:
    logits, p = torch.tensor([0.05, 0.5, 0.15, 0.3]).log(), 0.7
    got = _shift_free(answer, logits.clone(), p)
    faults = [
        ("the token with which the sum reaches p belongs to those kept", [1]),
        ("nothing is left: the most likely token always stays", []),
        ("one token too many: the sum had reached p before it", [1, 2, 3]),
        ("the result is in sorted order: each token's fate belongs at its own id", [0, 1]),
        ("the least likely tokens are taken first: sort with the most likely first", [0, 2, 3]),
        ("nothing is dropped: are the most likely taken first?", [0, 1, 2, 3]),
        ("these are the tokens to drop: keep the others", [0, 2]),
    ]
    sentence = "these are not the fewest tokens, most likely first, whose probabilities reach p"
    _which(got, [1, 3], faults, sentence, probabilities="[0.05, 0.5, 0.15, 0.3]", p=p)
    _same_logits(got, logits)


@check("filter_top_p")
def nucleus_alone(answer: Any, draw: random.Random) -> None:
    got = _filtered(answer, torch.tensor([0.06, 0.9, 0.04]).log(), 0.5)
    faults = [
        ("the most likely token alone exceeds p, and everything is dropped: it always stays", []),
        ("the most likely token alone exceeds p, and it is dropped: it always stays", [0]),
        ("the most likely token alone exceeds p, and it is dropped: it always stays", [0, 2]),
        ("one token too many: the sum had reached p before it", [0, 1]),
    ]
    _which(got, [1], faults, "the most likely token alone exceeds p", probabilities="[0.06, 0.9, 0.04]", p=0.5)


@check("filter_top_p")
def nucleus_of_equals(answer: Any, draw: random.Random) -> None:
    got = _filtered(answer, torch.zeros(4), 0.5)
    faults = [
        ("one token too many: a sum of exactly p is enough", [0, 1, 2]),
        ("more equals are kept than needed: two of these four reach 0.5", [0, 1, 2, 3]),
        ("the token with which the sum reaches p belongs to those kept", [0]),
    ]
    _which(got, [0, 1], faults, "among equals the lowest ids are kept", probabilities="[0.25, 0.25, 0.25, 0.25]", p=0.5)
    got = _filtered(answer, torch.zeros(64), 0.25)
    _which(got, list(range(16)), [], "among equals the lowest ids are kept (a stable sort)", logits="64 zeros", p=0.25)


@check("filter_top_p")
def nucleus_everything(answer: Any, draw: random.Random) -> None:
    logits = torch.tensor([0.0, -200.0, -3.0])
    got = _filtered(answer, logits.clone(), 1.0)
    equal(_ids(got), [0, 1, 2], "a p of 1 keeps everything, also what rounds to a probability of 0", logits=logits, p=1.0)
    logits = torch.tensor([1.0, -math.inf, 0.0, -math.inf])
    got = _filtered(answer, logits.clone(), 0.99)
    equal(_ids(got), [0, 2], "what an earlier filter dropped (-inf) stays dropped", logits=logits, p=0.99)


@check("filter_top_p")
def nucleus_at_random(answer: Any, draw: random.Random) -> None:
    for size, p in ((30, 0.9), (200, 0.5), (5, 0.2), (1, 0.3)):
        logits = 3 * normal(draw, size)
        chances = torch.softmax(logits.double(), 0).tolist()
        kept, total = [], 0.0
        for i in sorted(range(size), key=lambda i: -chances[i]):
            kept.append(i)
            total += chances[i]
            if total >= p:
                break
        got = _filtered(answer, logits.clone(), p)
        sentence = "these are not the fewest tokens, most likely first, whose probabilities reach p"
        _which(got, sorted(kept), [], sentence, call=f"{size} random logits, p = {p}")
        _same_logits(got, logits)
    _keeps_dtype(answer, draw)


@check("filter_min_p")
def threshold_by_hand(answer: Any, draw: random.Random) -> None:
    logits, p = torch.tensor([0.10, 0.6, 0.05, 0.25]).log(), 0.15
    got = _shift_free(answer, logits.clone(), p)
    faults = [
        ("p is not the bar itself: the bar is p times the largest probability, here 0.15 × 0.6 = 0.09", [1, 3]),
        ("nothing is dropped: is the largest probability found wherever it stands?", [0, 1, 2, 3]),
        ("these are the tokens to drop: keep the others", [2]),
        ("nothing is left: the most likely token always stays", []),
    ]
    sentence = "the tokens to keep have at least p times the largest probability, here 0.15 × 0.6 = 0.09"
    _which(got, [0, 1, 3], faults, sentence, probabilities="[0.10, 0.6, 0.05, 0.25]", p=p)
    _same_logits(got, logits)


@check("filter_min_p")
def threshold_edges(answer: Any, draw: random.Random) -> None:
    logits = torch.tensor([1.0, 3.0, 3.0, 0.0])
    got = _filtered(answer, logits.clone(), 1.0)
    faults = [
        ("nothing is left: a token exactly at the bar stays (at least p times, not more than)", []),
        ("both of the most likely tokens are at the bar, and stay", [1]),
    ]
    _which(got, [1, 2], faults, "a p of 1 keeps the most likely token and its equals", logits=logits, p=1.0)
    logits = torch.tensor([0.0, -200.0, 2.0])
    got = _filtered(answer, logits.clone(), 0.0)
    equal(_ids(got), [0, 1, 2], "a p of 0 keeps everything, also what rounds to a probability of 0", logits=logits, p=0.0)
    logits = torch.tensor([1.0, -math.inf, 0.0])
    got = _filtered(answer, logits.clone(), 0.01)
    equal(_ids(got), [0, 2], "what an earlier filter dropped (-inf) stays dropped", logits=logits, p=0.01)


@check("filter_min_p")
def threshold_at_random(answer: Any, draw: random.Random) -> None:
    for size, p in ((30, 0.05), (200, 0.3), (1, 0.5)):
        logits = 3 * normal(draw, size)
        chances = torch.softmax(logits.double(), 0).tolist()
        got, want = _filtered(answer, logits.clone(), p), [i for i in range(size) if chances[i] >= p * max(chances)]
        sentence = "the tokens to keep have at least p times the largest probability"
        _which(got, want, [], sentence, call=f"{size} random logits, p = {p}")
        _same_logits(got, logits)
    _keeps_dtype(answer, draw)


# --- penalty ---


@check("apply_repetition_penalty")
def penalty_by_hand(answer: Any, draw: random.Random) -> None:
    logits, seen = torch.tensor([2.0, -1.0, 0.5, -0.25, 4.0]), [0, 1, 1, 2]
    lines: dict[str, Any] = {"logits": logits.clone(), "seen": seen, "penalty": 2.0}
    got = answer(logits, seen, 2.0)
    not_missing(got, **lines)
    if not torch.equal(logits, lines["logits"]):
        raise Mistake("the logits that were handed in have changed: work on a copy", **lines)
    faults = {
        "a negative logit that is divided rises: multiply it": [1.0, -0.5, 0.25, -0.25, 4.0],
        "a negative logit that is divided rises: multiply it, and once only": [1.0, -0.25, 0.25, -0.25, 4.0],
        "id 1 occurs twice in seen and is penalised twice: once for each distinct id": [1.0, -4.0, 0.25, -0.25, 4.0],
        "the penalty is a factor: it is not subtracted": [0.0, -3.0, -1.5, -0.25, 4.0],
        "ids that were not seen are penalised too": [1.0, -2.0, 0.25, -0.5, 2.0],
        "seen tokens become likelier: divide the positive logits, multiply the negative ones": [4.0, -0.5, 1.0, -0.25, 4.0],
        "a positive logit that is multiplied rises: divide it": [4.0, -2.0, 1.0, -0.25, 4.0],
    }
    want = torch.tensor([1.0, -2.0, 0.25, -0.25, 4.0])
    named(got, want, ((fault, torch.tensor(values)) for fault, values in faults.items()), **lines)
    close(got, want, "positive logits of seen ids are divided by the penalty, negative ones multiplied", **lines)


@check("apply_repetition_penalty")
def penalty_edges(answer: Any, draw: random.Random) -> None:
    logits = torch.tensor([0.0, -math.inf, 3.0])
    got = answer(logits.clone(), [0, 1], 1.5)
    close(got, logits, "a logit of 0 stays 0, and -inf stays -inf", logits=logits, seen="[0, 1]", penalty=1.5)
    attempt = partial(answer, logits.clone(), [], 1.5)
    close(works(attempt, "seen may be empty: nothing changes then"), logits, "nothing was seen, so nothing changes")
    for kind, seen in (("a tuple", (2,)), ("a set", {2}), ("an iterator", iter([2, 2]))):
        got = works(partial(answer, logits.clone(), seen, 1.5), "seen is any iterable of ids", seen=kind)
        close(got, torch.tensor([0.0, -math.inf, 2.0]), "seen is any iterable of ids", seen=kind, penalty=1.5)


@check("apply_repetition_penalty")
def penalty_at_random(answer: Any, draw: random.Random) -> None:
    for penalty in (1.3, 1.0, 0.5):
        logits = normal(draw, 20, dtype=torch.float64)
        seen = [draw.randrange(20) for _ in range(12)]
        values = [x if i not in seen else x / penalty if x > 0 else x * penalty for i, x in enumerate(logits.tolist())]
        lower = [x if i not in seen else min(x / penalty, x * penalty) for i, x in enumerate(logits.tolist())]
        before, want = logits.clone(), torch.tensor(values).double()
        got = answer(logits, seen, penalty)
        sentence = "the lower of l / p and l * p is right only for a penalty above 1: the sign of l says which, also below 1"
        named(got, want, [(sentence, torch.tensor(lower).double())], seen=seen, penalty=penalty)
        close(got, want, f"with a penalty of {penalty}, seen ids have the wrong logits", seen=seen)
        equal(got.dtype, torch.float64, "the result keeps the logits' dtype", logits=torch.float64)
        narrow = answer(logits.float(), seen, penalty)
        equal(narrow.dtype, torch.float32, "the result keeps the logits' dtype", logits=torch.float32)
        close(logits, before, "the logits that were handed in have changed: work on a copy")


# --- the loop ---


class _Cache:
    """Holds the ids themselves where a real cache holds their keys and values."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    @property
    def length(self) -> int:
        return len(self.ids)


class _Model:
    """Scores the next token by a rule, from all ids that it can see, and writes down what it is fed."""

    def __init__(self, rule: Callable[[list[int]], Tensor], context: int = 64) -> None:
        size = len(rule([0]))
        self.config = Config(size, 4, 4, 1, 1, 1, 4, context)
        self.device, self.rule = torch.device("cpu"), rule
        self.fed: list[list[int]] = []

    def __call__(self, ids: Tensor, cache: Any = None, *, last_only: bool = False) -> Tensor:
        if not isinstance(ids, Tensor) or ids.dim() != 2 or len(ids) != 1:
            shape = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
            raise Mistake("the model takes a tensor of ids with the shape (1, tokens)", yours=shape)
        new = ids[0].tolist()
        self.fed.append(new)
        seen = [] if cache is None else list(cache.ids)
        if cache is not None:
            cache.ids += new
        rows = torch.stack([self.rule(seen + new[: n + 1]) for n in range(len(new))])
        return rows[None, -1:] if last_only else rows[None]


VOCAB = 50
PROMPT = [3, 1, 4]


def _likeliest(history: Sequence[int]) -> int:
    return (7 * sum(history) + len(history)) % VOCAB


def _peak(history: list[int]) -> Tensor:
    """One likeliest token, which depends on everything before it."""
    return torch.zeros(VOCAB).index_fill(0, torch.tensor([_likeliest(history)]), 5.0)


def _flat(history: list[int]) -> Tensor:
    return torch.zeros(VOCAB)


def _run(answer: Any, model: _Model, ids: Sequence[int], params: SamplingParams, count: int, *more: Any) -> list[int]:
    """The ids that come out; some more than count, where there are more. Torch's own generator stays as it was."""
    state = torch.get_rng_state()
    try:
        got = answer(model, ids, params, count, *more)
        not_missing(got)
        if not isinstance(got, Iterable):
            raise Mistake(f"the result is a {type(got).__name__}: yield one id after another")
        found = list(islice(got, count + 4))
        if not torch.equal(torch.get_rng_state(), state):
            raise Mistake("it draws from torch's global generator: make a torch.Generator of its own and hand that to sample")
    finally:
        torch.set_rng_state(state)
    if not all(isinstance(i, int) for i in found):
        raise Mistake("the ids are plain whole numbers", yours=found)
    return found


@check("continue_ids")
def greedy_without_cache(answer: Any, draw: random.Random) -> None:
    model, ids, count = _Model(_peak), list(PROMPT), 4
    got = _run(answer, model, ids, SamplingParams(temperature=0), count)
    lines: dict[str, Any] = {"prompt": PROMPT, "count": count, "passes": model.fed}
    if ids != PROMPT:
        raise Mistake("the caller's list of ids has changed: add to a list of your own", **lines, list_after=ids)
    if got[:3] == PROMPT:
        raise Mistake("the prompt is yielded too: only the new ids are", **lines, yours=got)
    if len(model.fed) > 1 and len(model.fed[1]) == 1:
        raise Mistake("without a cache each pass needs the whole text again; the second got one id", **lines)
    equal(len(got), count, f"count is {count}: as many ids are expected", **lines, ids=got)
    want = list(PROMPT)
    for _ in range(count):
        want.append(_likeliest(want))
    passes = [want[: len(PROMPT) + n] for n in range(count)]
    if len(model.fed) > count:
        raise Mistake(f"{count} ids take {count} passes; the last id need not pass through the model", **lines)
    equal(model.fed, passes, "each pass gets the prompt and all new ids so far", prompt=PROMPT)
    equal(got, want[3:], "with temperature 0 each id is the likeliest after all those before it", **lines)
    tuples = works(
        lambda: _run(answer, _Model(_peak), tuple(PROMPT), SamplingParams(temperature=0), 2), "the prompt may be a tuple"
    )
    equal(tuples, want[3:5], "the prompt may be a tuple")


@check("continue_ids")
def one_at_a_time(answer: Any, draw: random.Random) -> None:
    model = _Model(_peak)
    next(iter(answer(model, PROMPT, SamplingParams(temperature=0), 5)))
    sentence = "the first id must come before the second pass: yield each id as soon as it is chosen"
    equal(len(model.fed), 1, sentence, passes=model.fed)


@check("continue_ids")
def greedy_with_cache(answer: Any, draw: random.Random) -> None:
    model, count = _Model(_peak), 4
    want = list(PROMPT)
    for _ in range(count):
        want.append(_likeliest(want))
    got = _run(answer, model, list(PROMPT), SamplingParams(temperature=0), count, _Cache())
    lines: dict[str, Any] = {"prompt": PROMPT, "passes": model.fed}
    if len(model.fed) > 1 and len(model.fed[1]) > 1:
        raise Mistake("with a cache the second pass gets ids that the cache already holds: pass on the newest alone", **lines)
    if model.fed and model.fed[0] != PROMPT:
        raise Mistake("with an empty cache the first pass gets the whole prompt", **lines)
    passes = [PROMPT, *([i] for i in want[3:-1])]
    equal(model.fed[: len(passes)], passes, "with a cache each pass gets the ids that it does not hold yet", prompt=PROMPT)
    equal(len(model.fed), count, f"{count} ids take {count} passes; the last id need not pass through the model", **lines)
    equal(got, want[3:], "with a cache the ids are the same as without", **lines)


@check("continue_ids")
def draws_by_seed(answer: Any, draw: random.Random) -> None:
    def run(seed: int | None) -> list[int]:
        return _run(answer, _Model(_flat), [1], SamplingParams(temperature=1.0, top_p=1.0, seed=seed), 12)

    first = run(11)
    if set(first) == {0}:
        raise Mistake("these are the argmax each time: let sample choose, with the params", temperature=1.0, ids=first)
    if len(set(first)) == 1:
        raise Mistake("every draw is the same: seed the generator once, before the loop", seed=11, ids=first)
    equal(run(11), first, "the same seed must give the same ids", seed=11)
    if run(12) == first:
        raise Mistake("another seed gives the same ids: is params.seed used?", seeds="11 and 12", ids=first)
    if run(None) == run(None):
        sentence = "a seed of None must draw anew each time; a new torch.Generator always starts alike, so call its seed()"
        raise Mistake(sentence, ids=run(None))
    if run(0) == run(0) != run(None):
        return
    raise Mistake("0 is a seed like any other: only None means a fresh one", seed=0)


@check("continue_ids")
def seen_ids(answer: Any, draw: random.Random) -> None:
    def falling(history: list[int]) -> Tensor:
        return torch.linspace(3.0, 2.5, 10)

    params = SamplingParams(temperature=0, repetition_penalty=2.0)
    for cache in (None, _Cache()):
        got = _run(answer, _Model(falling), [0], params, 4, cache)
        lines = {"prompt": "[0]", "logits": "always falling from id 0 to id 9", "penalty": 2.0, "ids": got}
        if got[:1] == [0]:
            raise Mistake("the penalty must see the prompt: hand sample all ids so far, the prompt's too", **lines)
        if got[:2] == [1, 1]:
            raise Mistake("the penalty must see the new ids: hand sample all ids so far", **lines)
        equal(got, [1, 2, 3, 4], "the penalty must see all ids so far", **lines)


@check("continue_ids")
def within_vocabulary(answer: Any, draw: random.Random) -> None:
    def padded(history: list[int]) -> Tensor:
        return torch.arange(10.0)

    got = _run(answer, _Model(padded), [0], SamplingParams(temperature=0), 2, None, 8)
    equal(got, [7, 7], "only the first vocab_size logits belong to a text", logits="0, 1, ... 9", vocab_size=8)


# --- perplexity ---


def _bigram(draw: random.Random, size: int = 6) -> Callable[[list[int]], Tensor]:
    table = 2 * normal(draw, size, size)
    return lambda history: table[history[-1]]


def _losses(rule: Callable[[list[int]], Tensor], ids: list[int], window: int) -> list[list[float]]:
    """-log p of each predicted token, window by window."""
    parts = [ids[start : start + window] for start in range(0, len(ids), window)]
    logs = [[torch.log_softmax(rule(part[: n + 1]).double(), 0) for n in range(len(part))] for part in parts]
    return [[-float(row[i]) for row, i in zip(rows, part[1:])] for rows, part in zip(logs, parts)]


def _number(got: Any, **lines: Any) -> float:
    not_missing(got, **lines)
    if not isinstance(got, (int, float)):
        raise Mistake(f"the result is a {type(got).__name__}, it should be a float", **lines, yours=got)
    return float(got)


def _is_number(got: float, want: float, sentence: str, **lines: Any) -> None:
    if not math.isclose(got, want, rel_tol=1e-4):
        raise Mistake(sentence, **lines)


@check("perplexity")
def knows_nothing(answer: Any, draw: random.Random) -> None:
    size = draw.randrange(8, 30)
    model = _Model(lambda history: torch.zeros(size))
    got = _number(answer(model, [draw.randrange(size) for _ in range(9)]))
    lines: dict[str, Any] = {"model": f"all {size} tokens equally likely", "yours": got, "expected": size}
    faults = {
        "this is the mean of -log p: perplexity is exp of that": math.log(size),
        "the sign is lost: perplexity is exp of the mean of minus log p": 1 / size,
        "a logarithm to base 2 is raised to the power of e: use one base for both": math.exp(math.log2(size)),
        "a natural logarithm is raised to the power of 2: use one base for both": 2 ** math.log(size),
        "the sum over 8 tokens is divided by 9: a window's first token does not count": size ** (8 / 9),
    }
    named(got, float(size), faults.items(), **lines)
    sentence = "a model that finds all tokens equally likely has the vocabulary's size as its perplexity"
    _is_number(got, size, sentence, **lines)


@check("perplexity")
def one_window(answer: Any, draw: random.Random) -> None:
    rule, ids, want, faults = _clear(draw, 12, _slips)
    got = _number(answer(_Model(rule), list(ids)))
    lines: dict[str, Any] = {"ids": ids, "yours": got, "expected": want}
    named(got, want, faults, **lines)
    _is_number(got, want, "this is not exp of the mean of -log p over the predicted tokens", **lines)


def _clear(
    draw: random.Random, length: int, slips: Callable[[Callable[[list[int]], Tensor], list[int]], tuple[float, Faults]]
) -> tuple[Callable[[list[int]], Tensor], list[int], float, Faults]:
    """A model's rule and a text for which the right number and those of the usual slips are all clearly different."""
    while True:
        rule, ids = _bigram(draw), [draw.randrange(6) for _ in range(length)]
        want, faults = slips(rule, ids)
        if told_apart(want, faults):
            return rule, ids, want, faults


def _slips(rule: Callable[[list[int]], Tensor], ids: list[int]) -> tuple[float, Faults]:
    [losses] = _losses(rule, ids, 512)
    same = [-float(torch.log_softmax(rule([i]).double(), 0)[i]) for i in ids]
    back = [-float(torch.log_softmax(rule([b]).double(), 0)[a]) for a, b in zip(ids, ids[1:])]
    one_late = "the logits at place t predict the token at place t + 1, not the one at t"
    faults: list[tuple[str, Any]] = [(one_late, _exp_mean(part)) for part in (same, same[1:], same[:-1])]
    faults += [
        ("this is the mean of 1 / p: take the mean of the logarithms first, exp last", sum(map(math.exp, losses)) / 11),
        ("the targets are shifted the wrong way: the logits at place t predict the token at t + 1", _exp_mean(back)),
    ]
    return _exp_mean(losses), faults


def _exp_mean(values: Sequence[float]) -> float:
    return math.exp(sum(values) / len(values))


@check("perplexity")
def nearly_impossible(answer: Any, draw: random.Random) -> None:
    """One token in 20 that the model gives e^-200: in float32 that is 0, its logarithm is not."""
    peaked = torch.tensor([0.0, -200.0])
    ids = [0] * 10 + [1] + [0] * 10
    got, want = _number(answer(_Model(lambda history: peaked), ids)), math.exp(200 / 20)
    sentence = "a probability that rounds to 0 has a finite logarithm all the same: use log_softmax or cross_entropy"
    _is_number(got, want, sentence, logits="[0, -200] for every token", ids=ids, yours=got, expected=want)


@check("perplexity")
def windows(answer: Any, draw: random.Random) -> None:
    for length, window, context in ((11, 4, 64), (13, 4, 64), (12, 5, 64), (17, 512, 6), (8, 4, 64)):
        size = min(window, context)
        rule, ids, want, faults = _clear(draw, length, partial(_window_slips, size=size))
        model, call = _Model(rule, context), f"{length} ids, window={window}, a context of {context}"
        got = works(partial(answer, model, list(ids), window), "a text may take several windows", call=call)
        got = _number(got, call=call)
        lines: dict[str, Any] = {"call": call, "yours": got, "expected": want}
        if max(map(len, model.fed), default=0) > size:
            raise Mistake(f"a pass of {max(map(len, model.fed))} tokens, and at most {size} are allowed", **lines)
        if length % size == 1 and math.isnan(got):
            raise Mistake("a last window of a single token predicts nothing: leave it out", **lines)
        named(got, want, faults, **lines)
        _is_number(got, want, "the windows follow one another without overlap; the mean is over all predicted tokens", **lines)


def _window_slips(rule: Callable[[list[int]], Tensor], ids: list[int], size: int) -> tuple[float, Faults]:
    parts = [part for part in _losses(rule, ids, size) if part]
    flat = [x for part in parts for x in part]
    shared = [x for start in range(0, len(ids) - 1, size - 1) for x in _losses(rule, ids[start : start + size], size)[0]]
    means = [sum(part) / len(part) for part in parts]
    faults = {
        "a short last window counts as much as a long one: take the mean over tokens, not windows": _exp_mean(means),
        "this is the mean of the windows' perplexities: take the mean over tokens, exp last": sum(map(math.exp, means))
        / len(means),
        "each window's first token is not predicted, and does not count": math.exp(sum(flat) / (len(ids) - 1)),
        "the windows overlap: a window begins after the last token of the one before": _exp_mean(shared),
    }
    return _exp_mean(flat), faults.items()


@check("perplexity")
def too_little(answer: Any, draw: random.Random) -> None:
    rule = _bigram(draw)
    for ids, window, context, sentence in (
        ([], 512, 64, "fewer than 2 ids predict nothing: ValueError"),
        ([1], 512, 64, "fewer than 2 ids predict nothing: ValueError"),
        ([1, 2, 3], 1, 64, "a window below 2 predicts nothing: ValueError"),
        ([1, 2, 3], 0, 64, "a window below 2 predicts nothing: ValueError"),
        ([1, 2, 3], 512, 1, "a context of 1 makes every window too short: ValueError"),
    ):
        call = f"ids {ids}, window={window}, a context of {context}"
        refuses(partial(answer, _Model(rule, context), ids, window), sentence, call=call)
