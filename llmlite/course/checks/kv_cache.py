"""Checks of chapter 09."""

import random
from collections.abc import Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from ...kv_cache import KVCache
from ...transformer import Config, Transformer
from . import Mistake, check, close, equal, named, normal, not_missing, refuses, works

EXERCISES = {
    "cache_bytes": (
        "First count the numbers, then multiply by the bytes of each: dtype.itemsize.",
        "One token leaves a key and a value, each of head_dim numbers, in every key/value head of every layer.",
        "2 * num_hidden_layers * batch * num_key_value_heads * tokens * head_dim * dtype.itemsize",
    ),
    "KVCache": (
        "The new tokens stand at self.length to self.length + k.shape[2]. Refuse first, write afterwards.",
        "self.keys[layer, :, :, start:end] = k writes into the room that is there; self.keys[layer, :, :, :end] is a view.",
        "append leaves self.length alone, so that every layer writes to the same places; advance adds; rewind sets it, once "
        "0 <= length <= self.length holds.",
    ),
    "decode": (
        "What the cache does not hold yet is ids[cache.length:]. After the first pass that is the newest id alone.",
        "Where the cache holds all of ids, nothing would be left to pass: cache.rewind(len(ids) - 1) first.",
        "The last new id is returned but never passed, so the room needed is len(ids) + count - 1. Each step: "
        "int(prefill(model, fresh, cache).argmax()), append it, fresh = [it].",
    ),
    "evict": (
        "All tokens of the window move by the same distance, dropped = cache.length - sinks - window. So one angle serves all.",
        "rope_tables(torch.tensor([-dropped]), frequencies) turns back by that distance; apply_rope takes its two tables.",
        "cache.keys[:, :, :, sinks : sinks + window] = turned keys of the last `window` places; the same for the values with "
        ".clone() in place of the turn; then cache.rewind(sinks + window).",
    ),
}

# --- cache_bytes ---


def _config(draw: random.Random, layers: int = 2) -> Config:
    return Config(VOCAB, 24, 20, layers, 6, 2, 4, 64)


def _byte_slips(c: Config, tokens: int, batch: int, dtype: torch.dtype) -> dict[str, float]:
    """By what factor the usual slips miss the number."""
    return {
        "every query head is counted: keys and values have num_key_value_heads heads": c.num_attention_heads
        / c.num_key_value_heads,
        "only the keys are counted: a token leaves a key and a value": 1 / 2,
        "only one layer is counted: every layer keeps its own keys and values": 1 / c.num_hidden_layers,
        "these are bits: a byte has 8 of them, and dtype.itemsize counts bytes": 8,
        "these are numbers, not bytes: each takes dtype.itemsize bytes": 1 / dtype.itemsize,
        "the batch is missing: every text of it has keys and values of its own": 1 / batch,
        "every number is counted with 4 bytes, whatever the dtype": 4 / dtype.itemsize,
        "head_dim is missing: a key has head_dim numbers in each head": 1 / c.head_dim,
        "the heads are missing: there is a key in each of num_key_value_heads heads": 1 / c.num_key_value_heads,
        "hidden_size is counted: a key has num_key_value_heads × head_dim numbers": c.hidden_size
        / (c.num_key_value_heads * c.head_dim),
        "the whole context is counted: only `tokens` tokens are asked for": c.max_position_embeddings / tokens,
        "the tokens are missing: this is what one token takes": 1 / tokens,
    }


@check("cache_bytes")
def counted(answer: Any, draw: random.Random) -> None:
    for dtype in (torch.float32, torch.bfloat16, torch.float64, torch.int8):
        kv_heads, layers, tokens, batch = draw.choice((3, 5)), draw.choice((11, 13)), draw.choice((17, 19)), draw.choice((7, 9))
        c = Config(999, 1024, 777, layers, 6 * kv_heads, kv_heads, 46, 5000)
        call = (
            f"layers {layers}, heads {6 * kv_heads}, kv_heads {kv_heads}, head_dim 46, tokens {tokens}, batch {batch}, {dtype}"
        )
        _counts(answer(c, tokens, batch, dtype), c, tokens, batch, dtype, call=call)


@check("cache_bytes")
def as_given(answer: Any, draw: random.Random) -> None:
    c = Config(49152, 576, 1536, 30, 9, 3, 64, 8192)
    call = "cache_bytes(SmolLM2's config, tokens=1)"
    got = works(partial(answer, c, 1), "batch is 1 and dtype float32 where they are not given", call=call)
    _counts(got, c, 1, 1, torch.float32, call=call)
    equal(answer(c, 0), 0, "no tokens take no bytes", call="cache_bytes(config, tokens=0)")


def _counts(got: Any, c: Config, tokens: int, batch: int, dtype: torch.dtype, **lines: Any) -> None:
    not_missing(got, **lines)
    want = torch.empty(
        2, c.num_hidden_layers, batch, c.num_key_value_heads, tokens, c.head_dim, dtype=dtype, device="meta"
    ).nbytes
    if isinstance(got, float) and got == want:
        raise Mistake(f"the result is a float: a number of bytes is an int ({want})", **lines, yours=got)
    slips = [(sentence, want * factor) for sentence, factor in _byte_slips(c, tokens, batch, dtype).items()]
    named(float(got), float(want), [(s, float(wrong)) for s, wrong in slips if wrong != want], **lines)
    equal(got, want, "this is not 2 × layers × batch × kv_heads × tokens × head_dim × bytes per number", **lines)


# --- KVCache ---

Pair = tuple[Tensor, Tensor]


def _new(answer: Any, *arguments: Any) -> Any:
    cache = answer(*arguments)
    not_missing(cache)
    missing = [name for name in ("keys", "values", "capacity", "length") if not hasattr(cache, name)]
    if missing:
        raise Mistake(f"it has no {missing[0]}: build on Slots, and leave what its __init__ makes", missing=missing)
    return cache


def _append(cache: Any, layer: int, k: Tensor, v: Tensor, held: int, **lines: Any) -> Pair:
    """What append returns, once its form is right and length is what it was."""
    sentence = "k and v are (batch, kv_heads, tokens, head_dim), and there is room for them"
    got = works(lambda: cache.append(layer, k, v), sentence, **lines)
    not_missing(got, **lines)
    if not (isinstance(got, (tuple, list)) and len(got) == 2 and all(isinstance(t, Tensor) for t in got)):
        raise Mistake("append returns two tensors: this layer's keys, and its values", **lines, yours=type(got).__name__)
    if cache.length != held:
        sentence = "append has changed length: it stays until all layers have written, and then advance counts the tokens once"
        raise Mistake(sentence, **lines, length_before=held, length_after=cache.length)
    batch, heads, new, d = k.shape
    end = held + new
    faults = {
        f"the view covers the whole capacity: only the first {end} places hold tokens": (batch, heads, cache.capacity, d),
        "the layer's dimension is still there: return this layer alone": (cache.keys.shape[0], batch, heads, end, d),
    }
    if held:
        faults["only the new tokens come back: return all of this layer, those held before them included"] = (
            batch,
            heads,
            new,
            d,
        )
        faults["the new tokens are missing from what comes back: it ends at length + new tokens"] = (batch, heads, held, d)
    elif got[0].shape == (batch, heads, 0, d):
        raise Mistake("the new tokens are missing from what comes back: it ends at length + new tokens", **lines)
    for tensor in got:
        named(tuple(tensor.shape), (batch, heads, end, d), faults.items(), **lines)
        equal(
            tuple(tensor.shape), (batch, heads, end, d), "the shape is (batch, kv_heads, all tokens so far, head_dim)", **lines
        )
    return got[0], got[1]


def _holds(got: Pair, k: Tensor, v: Tensor, held: int, **lines: Any) -> None:
    """Compare with the tokens given; the first `held` of them came in earlier passes."""
    if torch.equal(got[0], v) and torch.equal(got[1], k) and not torch.equal(k, v):
        raise Mistake("keys and values are swapped: the keys come first", **lines)
    for name, tensor, want in (("keys", got[0], k), ("values", got[1], v)):
        new = want.shape[2] - held
        shown = {**lines, "yours": tensor[0, 0], "expected": want[0, 0]}
        if held and torch.equal(tensor[:, :, :new], want[:, :, held:]):
            raise Mistake(f"the new {name} overwrite the first ones: write them from place `length` on", **shown)
        if not torch.equal(tensor[:, :, :held], want[:, :, :held]):
            raise Mistake(f"{name} that were held have changed", **shown)
        if not torch.equal(tensor, want):
            raise Mistake(f"the new {name} are not in the places behind those held", **shown)


@check("KVCache")
def two_passes(answer: Any, draw: random.Random) -> None:
    cache = _new(answer, _config(draw), 7)
    k, v = normal(draw, 2, 1, 2, 5, 4), normal(draw, 2, 1, 2, 5, 4)
    first = []
    for layer in (0, 1):
        lines = {"call": f"append({layer}, 3 tokens), with 0 of 7 places taken"}
        got = _append(cache, layer, k[layer, :, :, :3], v[layer, :, :, :3], 0, **lines)
        _holds(got, k[layer, :, :, :3], v[layer, :, :, :3], 0, **lines)
        first.append(got)
    if not torch.equal(first[0][0], k[0, :, :, :3]):
        raise Mistake("layer 1 has overwritten the keys of layer 0: each layer has places of its own")
    cache.advance(3)
    equal(cache.length, 3, "after the first pass, advance(3) makes the length 3", length=cache.length)
    for layer in (0, 1):
        lines = {"call": f"append({layer}, 2 tokens), with 3 of 7 places taken"}
        got = _append(cache, layer, k[layer, :, :, 3:], v[layer, :, :, 3:], 3, **lines)
        _holds(got, k[layer], v[layer], 3, **lines)
        _in_place(cache, layer, first[layer], got, **lines)
    cache.advance(2)
    equal(cache.length, 5, "advance adds to length: 3 held and 2 more are 5", length=cache.length)


def _in_place(cache: Any, layer: int, before: Pair, now: Pair, **lines: Any) -> None:
    for name, store, old, new in (("keys", cache.keys, before[0], now[0]), ("values", cache.values, before[1], now[1])):
        inside = new.untyped_storage().data_ptr() == store.untyped_storage().data_ptr()
        if inside and old.data_ptr() == new.data_ptr():
            continue
        if not inside and torch.equal(store[layer, :, :, : new.shape[2]], new):
            raise Mistake(f"append returns a copy of the {name}: a slice of self.{name} is a view, and costs nothing", **lines)
        sentence = f"the {name} lie in new memory: write into self.{name}, which was allocated once, and return a view of it"
        raise Mistake(sentence + " (torch.cat copies everything at every step)", **lines)


@check("KVCache")
def views(answer: Any, draw: random.Random) -> None:
    cache = _new(answer, _config(draw), 6, 3)
    k, v = normal(draw, 3, 2, 4, 4), normal(draw, 3, 2, 4, 4)
    _holds(_append(cache, 1, k, v, 0, call="a batch of 3"), k, v, 0, call="a batch of 3")
    cache.advance(4)
    for length in (2, 4, 0):
        call = f"view(1, {length}), with 4 tokens held"
        got = works(partial(cache.view, 1, length), "view takes a layer and a length", call=call)
        not_missing(got, call=call)
        for n, want in enumerate((k, v)):
            close(
                got[n], want[:, :, :length], "view returns the first `length` tokens of that layer, keys and values", call=call
            )
            if length and got[n].untyped_storage().data_ptr() != (cache.keys, cache.values)[n].untyped_storage().data_ptr():
                raise Mistake("view returns a copy: a slice is a view", call=call)


@check("KVCache")
def rewinds(answer: Any, draw: random.Random) -> None:
    cache = _new(answer, _config(draw), 8)
    k, v = normal(draw, 1, 2, 5, 4), normal(draw, 1, 2, 5, 4)
    for layer in (0, 1):
        cache.append(layer, k, v)
    cache.advance(5)
    for length, fault in ((-1, "a negative length"), (6, "a length past what is held")):
        sentence = f"rewind must refuse {fault} with ValueError"
        refuses(partial(cache.rewind, length), sentence, call=f"rewind({length}), with 5 tokens held")
        equal(cache.length, 5, "a rewind that is refused changes nothing", call=f"rewind({length})")
    call = "rewind(2), with 5 tokens held"
    works(partial(cache.rewind, 2), "rewind takes any length from 0 to what is held", call=call)
    faults = [("length is the number of tokens kept, not of those dropped", 3)]
    named(cache.length, 2, faults, call=call, length=cache.length)
    equal(cache.length, 2, "rewind(2) keeps the first 2 tokens", length=cache.length)
    sentence, call = "rewinding to the length that is held is allowed, and changes nothing", "rewind(2), with 2 tokens held"
    works(partial(cache.rewind, 2), sentence, call=call)
    equal(cache.length, 2, sentence, call=call)
    other = normal(draw, 1, 2, 1, 4)
    got = _append(cache, 0, other, other, 2, call="append of 1 token after rewind(2)")
    _holds(got, torch.cat((k[:, :, :2], other), 2), torch.cat((v[:, :, :2], other), 2), 2, call="append after rewind(2)")
    works(partial(cache.rewind, 0), "rewind(0) empties the cache")
    equal(cache.length, 0, "rewind(0) empties the cache")


@check("KVCache")
def no_room(answer: Any, draw: random.Random) -> None:
    cache = _new(answer, _config(draw), 4)
    k, v = normal(draw, 1, 2, 4, 4), normal(draw, 1, 2, 4, 4)
    for layer in (0, 1):
        cache.append(layer, k[:, :, :3], v[:, :, :3])
    cache.advance(3)
    call, more = "append of 2 tokens, with 3 of 4 places taken", normal(draw, 1, 2, 2, 4)
    refuses(lambda: cache.append(0, more, more), "tokens past the capacity must be refused with ValueError", call=call)
    equal(cache.length, 3, "an append that is refused changes nothing", call=call)
    close(cache.view(0, 3)[0], k[:, :, :3], "an append that is refused writes nothing", call=call)
    call = "append of 1 token, which fills the cache exactly"
    _holds(_append(cache, 0, k[:, :, 3:], v[:, :, 3:], 3, call=call), k, v, 3, call=call)
    cache = _new(answer, _config(draw), 4, 3)
    for batch in (1, 2):
        call = f"k of a batch of {batch}, in a cache for a batch of 3"
        wrong = normal(draw, batch, 2, 1, 4)
        sentence = "another batch size must be refused with ValueError (a batch of 1 would be copied to all)"
        refuses(lambda wrong=wrong: cache.append(0, wrong, wrong), sentence, call=call)  # type: ignore[misc]


@check("KVCache")
def interrupted(answer: Any, draw: random.Random) -> None:
    cache = _new(answer, _config(draw), 6)
    k, v = normal(draw, 1, 2, 2, 4), normal(draw, 1, 2, 2, 4)
    cache.append(0, v, k)  # a pass that never got to advance
    got = _append(cache, 0, k, v, 0, call="append(0, ...) again, without advance in between")
    _holds(got, k, v, 0, call="a pass that was broken off before advance leaves no trace")


@check("KVCache")
def in_a_model(answer: Any, draw: random.Random) -> None:
    model, ids = _tiny(draw), torch.tensor([[draw.randrange(VOCAB) for _ in range(7)]])
    with torch.inference_mode():
        want, cache, got = model(ids), _new(answer, model.config, 7), []
        for a, b in ((0, 3), (3, 4), (4, 6), (6, 7)):
            got.append(works(lambda a=a, b=b: model(ids[:, a:b], cache), "a model should run on this cache"))  # type: ignore[misc]
    call = "7 ids in passes of 3, 1, 2 and 1, and in one pass without a cache"
    close(torch.cat(got, 1), want, "the logits with this cache are not those without one", 1e-4, call=call)


def _tiny(draw: random.Random) -> Transformer:
    model = Transformer(_config(draw)).requires_grad_(False)
    for parameter in model.parameters():
        parameter.copy_(0.3 * normal(draw, *parameter.shape) + (1 if parameter.dim() == 1 else 0))
    return model


# --- decode ---

VOCAB = 50
PROMPT = [3, 1, 4, 1, 5]


class _Held:
    """A cache that holds the ids themselves."""

    def __init__(self, ids: Sequence[int] = (), capacity: int = 64) -> None:
        self.ids, self.capacity = list(ids), capacity

    @property
    def length(self) -> int:
        return len(self.ids)

    def rewind(self, length: int) -> None:
        if not 0 <= length <= len(self.ids):
            raise ValueError(f"cannot rewind to {length}: the cache holds {len(self.ids)} tokens")
        del self.ids[length:]


class _Model:
    """Scores the next token by a rule from all ids that it can see, and writes down what it is fed, and behind how many."""

    def __init__(self) -> None:
        self.config, self.device = Config(VOCAB, 4, 4, 1, 1, 1, 4, 64), torch.device("cpu")
        self.fed: list[list[int]] = []
        self.alone = False  # whether a pass came without the cache

    def __call__(self, ids: Tensor, cache: Any = None, *, last_only: bool = False) -> Tensor:
        if not isinstance(ids, Tensor) or ids.dim() != 2 or len(ids) != 1:
            shape = tuple(ids.shape) if isinstance(ids, Tensor) else type(ids).__name__
            raise Mistake("the model takes a tensor of ids with the shape (1, tokens)", yours=shape)
        new = ids[0].tolist()
        if not new:
            raise ValueError("ids must be (batch, tokens) with at least one token")
        if cache is not None and len(cache.ids) + len(new) > cache.capacity:
            raise ValueError(f"{len(cache.ids) + len(new)} tokens do not fit a cache of {cache.capacity}")
        self.fed.append(new)
        self.alone |= cache is None
        seen = [] if cache is None else list(cache.ids)
        if cache is not None:
            cache.ids += new
        history = [seen + new[: n + 1] for n in range(len(new))]
        rows = torch.stack([torch.zeros(VOCAB).index_fill(0, torch.tensor([_next(h)]), 5.0) for h in history])
        return rows[None, -1:] if last_only else rows[None]


def _next(history: Sequence[int]) -> int:
    return (7 * sum(history) + len(history)) % VOCAB


def _text(count: int) -> list[int]:
    text = list(PROMPT)
    for _ in range(count):
        text.append(_next(text))
    return text


def _decoded(answer: Any, held: int, count: int, sentence: str, capacity: int = 64) -> None:
    """Run on a cache that holds the first ids of the prompt, and compare everything with what should happen."""
    model, cache, ids, text = _Model(), _Held(PROMPT[:held], capacity), list(PROMPT), _text(count)
    lines: dict[str, Any] = {"ids": PROMPT, "count": count, "held_before": held}
    got = works(lambda: answer(model, ids, count, cache), sentence, **lines, passes=model.fed)
    lines["passes"] = model.fed
    not_missing(got, **lines)
    equal(ids, PROMPT, "the caller's list of ids has changed: work on a list of your own", **lines)
    _passes(model, held, count, text, **lines)
    got = list(got)
    if got[: len(PROMPT)] == PROMPT and len(got) > count:
        raise Mistake("the prompt comes back too: only the new ids do", **lines, yours=got)
    equal(len(got), count, f"count is {count}: as many new ids come back", **lines, yours=got)
    faults = [
        (
            "the first id is taken from the first row of the logits: the last row tells what comes next",
            _next(PROMPT[: held + 1]),
        ),
        ("the first id is a token that was there already: the likeliest after the last id is meant", PROMPT[-1]),
    ]
    named(got[0], text[len(PROMPT)], faults, **lines, your_ids=got)
    if not all(isinstance(i, int) for i in got):
        raise Mistake("the ids are plain whole numbers: int(...)", **lines, yours=got)
    equal(got, text[len(PROMPT) :], "each id is the likeliest after all those before it", **lines)
    equal(cache.ids, text[:-1], "at the end the cache holds all ids but the last new one", **lines, length_after=cache.length)


def _passes(model: _Model, held: int, count: int, text: list[int], /, **lines: Any) -> None:
    fed, fresh = model.fed, PROMPT[min(held, len(PROMPT) - 1) :]
    if model.alone:
        sentence = "a pass goes without the cache: its tokens stand at position 0 and see nothing before them"
        raise Mistake(sentence, **lines)
    if held and fed and fed[0] == PROMPT:
        raise Mistake(f"the whole prompt is fed again: the cache holds its first {held} ids already", **lines)
    if len(fed) > 1 and fed[1] == PROMPT[-1:] != text[len(PROMPT) :][:1]:
        raise Mistake("the prompt's last id passes twice: the first pass has given the logits after it", **lines)
    if len(fed) > len(fresh) > 1 and all(len(ids) == 1 for ids in fed[: len(fresh)]):
        raise Mistake("the ids that are not held pass one by one: let them pass together, at once", **lines)
    if len(fed) > 1 and len(fed[1]) > 1:
        raise Mistake(f"the second pass gets {len(fed[1])} ids: the cache holds all but the newest, pass that alone", **lines)
    if len(fed) > count:
        raise Mistake(f"{count} ids take {count} passes; the last id need not pass through the model", **lines)
    equal(fed[:1], [fresh], "the first pass gets the ids that the cache does not hold, ids[cache.length:]", **lines)


@check("decode")
def from_an_empty_cache(answer: Any, draw: random.Random) -> None:
    _decoded(answer, 0, 4, "the cache may be empty")
    _decoded(answer, 0, 1, "count may be 1")


@check("decode")
def from_a_cache_that_holds_a_beginning(answer: Any, draw: random.Random) -> None:
    for held in (2, 4):
        _decoded(answer, held, 3, f"the cache may hold the first {held} ids")


@check("decode")
def from_a_cache_that_holds_everything(answer: Any, draw: random.Random) -> None:
    sentence = "where the cache holds all of ids, forget the last one (rewind), and pass it again for its logits"
    _decoded(answer, 5, 3, sentence)
    again = works(lambda: answer(_Model(), tuple(PROMPT), 2, _Held(PROMPT[:1])), "ids may be a tuple")
    equal(again, _text(2)[5:], "ids may be a tuple")


@check("decode")
def into_the_last_place(answer: Any, draw: random.Random) -> None:
    sentence = "5 ids and 3 more fit a cache of 7: the last new id never passes"
    _decoded(answer, 0, 3, sentence, capacity=7)
    model, cache = _Model(), _Held(PROMPT[:2], 6)
    lines: dict[str, Any] = {"call": "5 ids, 3 more, in a cache of 6 that holds the first 2"}
    refuses(lambda: answer(model, PROMPT, 3, cache), "too little room must be refused with ValueError", **lines)
    equal(model.fed, [], "too little room must be refused before the first pass, not in the middle", **lines)
    equal(cache.ids, PROMPT[:2], "what is refused leaves the cache as it was", **lines)
    refuses(lambda: answer(_Model(), [], 3, _Held()), "no ids at all must be refused with ValueError", ids="[]")


# --- evict ---


def _turned(x: Tensor, positions: Tensor, frequencies: Tensor) -> Tensor:
    """Half-split rotation of x (..., tokens, head_dim) by complex numbers, in float64."""
    a, b = x.double().chunk(2, -1)
    angles = positions.double()[:, None] * frequencies.double()
    z = torch.complex(a, b) * torch.polar(torch.ones_like(angles), angles)
    return torch.cat((z.real, z.imag), -1)


class _Story:
    """A cache filled with keys, turned by their positions, and values; and what should be left of it."""

    def __init__(self, raw: Tensor, values: Tensor, frequencies: Tensor, capacity: int, sinks: int, window: int) -> None:
        layers, batch, heads, length, d = raw.shape
        self.cache = KVCache(Config(VOCAB, 24, 20, layers, heads, heads, d, 64), capacity, batch, raw.dtype)
        self.cache.keys.zero_()
        self.cache.values.zero_()
        self.cache.keys[:, :, :, :length] = _turned(raw, torch.arange(length), frequencies)
        self.cache.values[:, :, :, :length] = values
        self.cache.advance(length)
        self.raw, self.v, self.frequencies = raw, values, frequencies
        self.length, self.sinks, self.window = length, sinks, window
        self.stay = [*range(sinks), *range(length - window, length)]
        self.dropped = length - sinks - window
        self.lines: dict[str, Any] = {"call": f"evict: {length} tokens held, sinks {sinks}, window {window}"}

    def at(self, tokens: Sequence[int], positions: Sequence[int]) -> Tensor:
        """The keys of these tokens, turned by these positions."""
        return _turned(self.raw[:, :, :, list(tokens)], torch.tensor(list(positions)), self.frequencies)

    def run(self, answer: Any) -> None:
        call = partial(answer, self.cache, self.sinks, self.window, self.frequencies)
        sentence = "old and new places may overlap: copy what is moved (clone) before it is written"
        try:
            call()
        except RuntimeError as error:
            if "clone" in str(error):
                raise Mistake(sentence, **self.lines) from None
            raise
        kept = self.sinks + self.window
        lines = {**self.lines, "length_after": self.cache.length}
        faults = [
            ("length has not changed: what is left are the sinks and the window", self.length),
            ("the sinks are dropped: the first tokens stay, in front of the window", self.window if self.sinks else -1),
            ("the window has one token too few", kept - 1),
            ("the window has one token too many", kept + 1),
        ]
        named(self.cache.length, kept, faults, **lines)
        equal(self.cache.length, kept, "what is left are sinks + window tokens", **lines)
        self.compare(self.cache.keys[:, :, :, :kept], self.cache.values[:, :, :, :kept])

    def compare(self, keys: Tensor, values: Tensor) -> None:
        n, s, new = self.length, self.sinks, range(self.sinks + self.window)
        old = self.stay
        lines = {**self.lines, "frequencies": self.frequencies}
        sinks_only, drop = [*range(s)], self.dropped
        off_by_one = "the turn is off by one position: the distance is length - sinks - window"
        on_top = "the new positions are added to the old ones: a key is turned already, turn it by the difference"
        window = old[s:]
        wrong_keys = [
            ("the window's keys are not turned: they still stand at their old positions", self.at(old, old)),
            (
                "the window's keys are turned the wrong way: they go back, by -dropped",
                self.at(old, sinks_only + [p + drop for p in window]),
            ),
            (on_top, self.at(old, sinks_only + [p + q for p, q in zip(window, new[s:])])),
            (on_top, self.at(old, [p + q for p, q in zip(old, new)])),
            (
                "the keys are turned to position 0: turn them back by the distance they move",
                self.at(old, sinks_only + [0] * self.window),
            ),
            (
                "the sinks' keys are turned too: they stay at their positions",
                self.at(old, [q - drop for q in sinks_only] + list(new[s:])),
            ),
            (off_by_one, self.at(old, sinks_only + [q + 1 for q in new[s:]])),
            (off_by_one, self.at(old, sinks_only + [q - 1 for q in new[s:]])),
            (
                "the window's first key is turned to position 0: the sinks stand in front of it",
                self.at(old, sinks_only + [q - s for q in new[s:]]),
            ),
            ("the sinks are dropped: the first tokens stay, in front of the window", self.at(range(n - len(new), n), new)),
            ("the newest tokens are dropped: the window is the last tokens", self.at(new, new)),
            ("the window is off by one: it ends with the newest token", self.at(sinks_only + [t - 1 for t in window], new)),
        ]
        want = self.at(old, new)
        if len(keys) > 1 and torch.equal(keys[1:].double(), self.at(new, new)[1:].to(keys.dtype).double()) and self.dropped:
            raise Mistake("only layer 0 is changed: the tokens leave every layer", **lines)
        named(keys, want, wrong_keys, **lines)
        close(keys, want, "the keys are not those of the sinks and the window at their new positions", 1e-4, **lines)
        wrong_values = {
            "the values are turned too: only keys carry a position": torch.cat(
                (
                    self.v[:, :, :, :s].double(),
                    _turned(self.v[:, :, :, old[s:]], torch.full((self.window,), -self.dropped), self.frequencies),
                ),
                3,
            ),
            "the values have not moved with their keys": self.v[:, :, :, : len(new)],
        }
        want = self.v[:, :, :, old]
        named(values, want, wrong_values.items(), **lines)
        sentence = "the values are not those of the sinks and the window; where places overlap, copy (clone) before writing"
        close(values, want, sentence, 1e-4, **lines)


@check("evict")
def one_head(answer: Any, draw: random.Random) -> None:
    raw = torch.stack((torch.arange(1.0, 10.0), torch.zeros(9)), -1).expand(1, 1, 1, 9, 2)
    story = _Story(raw, raw.flip(-1), torch.tensor([0.5]), 9, 2, 4)
    story.lines["key_n"] = "(n + 1, 0), turned by n / 2 radians"
    story.run(answer)


@check("evict")
def at_random(answer: Any, draw: random.Random) -> None:
    frequencies = torch.tensor([1.0, 0.3, 0.09])
    for length, capacity, sinks, window in ((9, 10, 2, 3), (10, 10, 1, 7), (12, 16, 0, 4), (11, 12, 4, 6), (12, 12, 3, 1)):
        raw, values = normal(draw, 3, 2, 2, length, 6), normal(draw, 3, 2, 2, length, 6)
        _Story(raw, values, frequencies, capacity, sinks, window).run(answer)


@check("evict")
def nothing_to_do(answer: Any, draw: random.Random) -> None:
    for length in (5, 6, 1):
        story = _Story(normal(draw, 2, 1, 2, length, 4), normal(draw, 2, 1, 2, length, 4), torch.tensor([1.0, 0.1]), 8, 2, 4)
        keys, values = story.cache.keys.clone(), story.cache.values.clone()
        sentence = "where no more than sinks + window tokens are held, nothing happens"
        works(lambda story=story: answer(story.cache, 2, 4, story.frequencies), sentence, **story.lines)  # type: ignore[misc]
        equal(story.cache.length, length, sentence, **story.lines)
        if not torch.equal(story.cache.keys, keys) or not torch.equal(story.cache.values, values):
            raise Mistake(sentence, **story.lines)


@check("evict")
def refused(answer: Any, draw: random.Random) -> None:
    for sinks, window, sentence in (
        (-1, 3, "negative sinks must be refused with ValueError"),
        (2, 0, "a window below 1 must be refused with ValueError"),
        (4, 4, "sinks and window that fill the cache must be refused with ValueError: no place would be free"),
    ):
        story = _Story(normal(draw, 1, 1, 1, 8, 4), normal(draw, 1, 1, 1, 8, 4), torch.tensor([1.0, 0.1]), 8, 2, 4)
        call = f"sinks {sinks}, window {window}, capacity 8"
        refuses(partial(answer, story.cache, sinks, window, story.frequencies), sentence, call=call)
        equal(story.cache.length, 8, "what is refused leaves the cache as it was", call=call)


@check("evict")
def in_half_precision(answer: Any, draw: random.Random) -> None:
    raw, values = normal(draw, 2, 1, 2, 9, 4, dtype=torch.bfloat16), normal(draw, 2, 1, 2, 9, 4, dtype=torch.bfloat16)
    story = _Story(raw, values, torch.tensor([1.0, 0.1]), 9, 1, 4)
    works(lambda: answer(story.cache, 1, 4, story.frequencies), "the cache may hold bfloat16", **story.lines)
    equal(story.cache.keys.dtype, torch.bfloat16, "the cache keeps its dtype")
    want = story.at(story.stay, range(5))
    close(story.cache.keys[:, :, :, :5], want, "the keys in bfloat16 are off by more than rounding", 0.05, **story.lines)
