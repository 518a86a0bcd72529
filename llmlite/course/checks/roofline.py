"""Checks of chapter 08."""

import math
import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from ...roofline import PARTS, Machine
from ...transformer import Config
from . import Faults, Mistake, check, named, not_missing, told_apart, works

EXERCISES = {
    "pass_flops": (
        "A product of (rows, n) with (n, columns) takes 2 x rows x n x columns FLOPs. With q = num_attention_heads x head_dim "
        "and kv = num_key_value_heads x head_dim, the projections are hidden_size x (q + kv + kv + q) weights in each layer.",
        "Attention, for each sequence and each query head: (new, head_dim) times (head_dim, context + new) for the scores, and "
        "(new, context + new) times (context + new, head_dim) for the averages.",
        "The MLP has three matrices of hidden_size x intermediate_size. The head is batch x hidden_size x vocab_size times 2, "
        "without new. The embedding is 0.",
    ),
    "pass_bytes": (
        "pass_flops(config, 1, 1) gives 2 FLOPs for each weight of the projections, the MLP and the head: half of it is the "
        "number of weights. Neither batch nor new changes it.",
        "The cache holds, for each token of each sequence, a key and a value of num_key_value_heads x head_dim numbers in "
        "every layer; after the pass there are context + new tokens.",
        "The embedding is batch x new rows of hidden_size numbers. Numbers times bytes each gives bytes; 8 appears nowhere.",
    ),
    "predict_seconds": (
        "Bytes divided by bytes per second are seconds, and so are FLOPs divided by FLOPs per second.",
        "For one part: max(nbytes[part] / machine.bandwidth, flops[part] / machine.throughput).",
        "Add up the parts, then add machine.overhead once.",
    ),
    "price_ratio": (
        "A token's cost goes with the machine's time that it takes: seconds of the pass divided by the tokens that share it.",
        "Reading: pass_seconds(config, machine, 1, prompt, 0, bytes_per_weight, bytes_per_cached) / prompt.",
        "Writing: a pass with batch sequences, 1 new token each, and prompt as the context; divide by batch. The ratio is "
        "writing over reading.",
    ),
}

PartFaults = Mapping[str, Sequence[tuple[str, float]]]
TWO = "a multiply-add is 2 FLOPs, one multiplication and one addition: the factor 2 is missing"
LAYER = "this is one layer: there are num_hidden_layers of them"
EVERY_SEQUENCE = "every sequence of the batch passes: batch x new tokens"
EVERY_TOKEN = "every new token passes: batch x new tokens"
KNOWN = "the tokens of the context pass no more: their keys and values are in the cache"


def _config(draw: random.Random, tied: bool | None = None) -> Config:
    kv_heads, group = draw.randint(2, 3), draw.randint(2, 4)
    return Config(
        vocab_size=draw.randint(90, 200),
        hidden_size=draw.randint(20, 60),
        intermediate_size=draw.randint(61, 89),
        num_hidden_layers=draw.randint(2, 7),
        num_attention_heads=kv_heads * group,
        num_key_value_heads=kv_heads,
        head_dim=2 * draw.randint(2, 8),
        max_position_embeddings=4096,
        tie_word_embeddings=draw.random() < 0.5 if tied is None else tied,
    )


def _shapes(config: Config) -> dict[str, list[tuple[int, int]]]:
    """Every matrix of a pass, by part."""
    hidden, wide, layers = config.hidden_size, config.intermediate_size, config.num_hidden_layers
    q, kv = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    return {
        "projections": [(hidden, q), (hidden, kv), (hidden, kv), (q, hidden)] * layers,
        "mlp": [(hidden, wide), (hidden, wide), (wide, hidden)] * layers,
        "head": [(hidden, config.vocab_size)],
    }


def _flops(config: Config, batch: int, new: int, context: int) -> dict[str, float]:
    """The oracle: every product by itself."""
    tokens = {"projections": batch * new, "mlp": batch * new, "head": batch}
    found = {part: float(sum(2 * tokens[part] * n * m for n, m in shapes)) for part, shapes in _shapes(config).items()}
    keys, heads = context + new, config.num_hidden_layers * batch * config.num_attention_heads
    scores, averages = 2 * new * config.head_dim * keys, 2 * new * keys * config.head_dim
    return {"embedding": 0.0, "attention": float(heads * (scores + averages)), **found}


def _bytes(config: Config, batch: int, new: int, context: int, weight: float, cached: float) -> dict[str, float]:
    found = {part: sum(n * m for n, m in shapes) * weight for part, shapes in _shapes(config).items()}
    key = config.num_hidden_layers * config.num_key_value_heads * config.head_dim
    attention = batch * (context + new) * (key + key) * cached
    return {"embedding": batch * new * config.hidden_size * weight, "attention": attention, **found}


def _seconds(flops: Mapping[str, float], nbytes: Mapping[str, float], machine: Machine) -> float:
    return machine.overhead + sum(max(nbytes[p] / machine.bandwidth, flops[p] / machine.throughput) for p in flops)


def _is_parts(got: Any, want: Mapping[str, float], faults: PartFaults, what: str, **lines: Any) -> None:
    """Compare the parts one by one, and name what is wrong with the first that differs."""
    not_missing(got, **lines)
    if not isinstance(got, Mapping):
        sentence = "the result should be a dictionary with a number for each of the five parts"
        raise Mistake(sentence + ("; this may be their sum" if isinstance(got, (int, float)) else ""), **lines, yours=got)
    if set(got) != set(PARTS):
        raise Mistake(f"the keys of the dictionary should be {', '.join(PARTS)}", **lines, yours=list(got))
    for part in PARTS:
        mine = works(partial(float, got[part]), f"{part} should be a number", **lines, yours=got[part])
        shown = {**lines, "part": part, "yours": f"{mine:,.12g}", "expected": f"{want[part]:,.12g}"}
        named(mine, want[part], [(f"{part}: {text}", wrong) for text, wrong in faults.get(part, ())], **shown)
        if not math.isclose(mine, want[part], rel_tol=1e-9):
            raise Mistake(f"{part}: this is not the number of {what}", **shown)


def _apart(want: Mapping[str, float], faults: PartFaults, strict: bool) -> bool:
    """Whether the faults of each part can be told from one another; strictly: whether no two of them give one number."""
    for part in PARTS:
        known = [("", want[part]), *faults.get(part, ())]
        for n, (one, a) in enumerate(known):
            gaps = [abs(a - b) / max(a, b) for two, b in known[:n] if one != two and max(a, b)]
            if any((strict or gap > 1e-12) and gap < 1e-3 for gap in gaps):
                return False
    return True


def _sizes(config: Config) -> str:
    names = "vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads head_dim"
    return ", ".join(f"{name}={getattr(config, name)}" for name in names.split())


def _row_faults(batch: int, new: int, context: int, one: float) -> list[tuple[str, float]]:
    """What goes wrong with the number of tokens, where one of them takes `one` FLOPs."""
    return [
        (TWO, batch * new * one / 2),
        (EVERY_SEQUENCE, new * one),
        (EVERY_TOKEN, batch * one),
        (EVERY_TOKEN, one),
        (KNOWN, batch * (context + new) * one),
    ]


def _flop_faults(config: Config, batch: int, new: int, context: int) -> dict[str, list[tuple[str, float]]]:
    c, rows, keys = config, batch * new, context + new
    want = _flops(c, batch, new, context)
    layers, hidden, wide, vocab = c.num_hidden_layers, c.hidden_size, c.intermediate_size, c.vocab_size
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    one = {part: want[part] / rows for part in ("projections", "mlp")}
    seen = sum(context + i + 1 for i in range(new))
    lookup = "a lookup is no product: it takes rows out of the table, without a multiplication, so 0 FLOPs"
    shared = "k and v have num_key_value_heads x head_dim columns: the query heads of a group share them"
    both = "there are two products, q times the keys and the weights times the values, with 2 FLOPs for each multiply-add"
    each = "every query head has scores of its own: FLOPs go with num_attention_heads; the shared heads save bytes"
    return {
        "embedding": [
            (lookup, 2.0 * rows * hidden * vocab),
            (lookup, 1.0 * rows * hidden * vocab),
            (lookup, 2.0 * rows * hidden),
            (lookup, 1.0 * rows * hidden),
        ],
        "projections": [
            *_row_faults(batch, new, context, one["projections"]),
            (LAYER, want["projections"] / layers),
            (shared, 2.0 * layers * rows * hidden * 4 * q),
            (shared, 2.0 * layers * rows * hidden * 4 * hidden),
            (
                "the output projection o is missing: it leads from num_attention_heads x head_dim back to hidden_size",
                2.0 * layers * rows * hidden * (q + 2 * kv),
            ),
            ("v is missing: k and v have a matrix each", 2.0 * layers * rows * hidden * (2 * q + kv)),
            (
                "q has num_attention_heads x head_dim columns, which need not be hidden_size",
                2.0 * layers * rows * hidden * (2 * hidden + 2 * kv),
            ),
        ],
        "attention": [
            (both, want["attention"] / 2),
            (both, want["attention"] / 4),
            (LAYER, want["attention"] / layers),
            ("every sequence of the batch attends", want["attention"] / batch),
            ("every new token is a query: new x (context + new) scores", want["attention"] / new),
            (
                "the scores that the mask hides are computed too: new x (context + new) for each head",
                4.0 * layers * batch * q * seen,
            ),
            (each, 4.0 * layers * rows * keys * kv),
            ("this is one head: there are num_attention_heads", 4.0 * layers * rows * keys * c.head_dim),
            ("the new tokens see themselves and each other: there are context + new keys", 4.0 * layers * rows * context * q),
            ("the context is forgotten: there are context + new keys", 4.0 * layers * rows * new * q),
            ("only the new tokens ask: new x (context + new) scores", 4.0 * layers * batch * keys * keys * q),
        ],
        "mlp": [
            *_row_faults(batch, new, context, one["mlp"]),
            (LAYER, want["mlp"] / layers),
            ("there are three matrices: gate, up and down", 4.0 * layers * rows * hidden * wide),
        ],
        "head": [
            (TWO, want["head"] / 2),
            ("it is computed for the last token of each sequence only: batch rows, not batch x new", want["head"] * new),
            ("it is computed for the last token of every sequence: batch rows", want["head"] / batch),
            ("it is computed for the last token of every sequence: batch rows", want["head"] / batch * new),
            ("a tied head is a product all the same: tying saves memory, not arithmetic", 0.0),
            ("there is one head, not one in every layer", want["head"] * layers),
        ],
    }


def _pass(draw: random.Random, least: int) -> tuple[int, int, int]:
    """Numbers of sequences, new tokens and tokens before: a few of each, or a single one of some."""
    if least > 1:
        return draw.choice([(5, 7, 11), (7, 3, 13), (5, 3, 17), (7, 5, 9)])
    return draw.choice([(5, 1, 23), (1, 7, 0), (1, 1, 0)])


def _counts_flops(answer: Any, draw: random.Random, least: int) -> None:
    while True:
        config, (batch, new, context) = _config(draw), _pass(draw, least)
        want, faults = _flops(config, batch, new, context), _flop_faults(config, batch, new, context)
        if _apart(want, faults, strict=least > 1):
            break
    call = f"batch={batch}, new={new}, context={context}"
    got = works(partial(answer, config, batch, new, context), "any sizes are allowed", call=call, config=_sizes(config))
    _is_parts(got, want, faults, "FLOPs of its products", call=call, config=_sizes(config))


@check("pass_flops")
def flops_of_any_pass(answer: Any, draw: random.Random) -> None:
    for _ in range(3):
        _counts_flops(answer, draw, 2)


@check("pass_flops")
def flops_of_single_tokens_and_prompts(answer: Any, draw: random.Random) -> None:
    for _ in range(3):
        _counts_flops(answer, draw, 1)


@check("pass_flops")
def no_context_unless_told(answer: Any, draw: random.Random) -> None:
    config = _config(draw)
    got = works(lambda: answer(config, 2, 3), "context may be left out: it is 0 then")
    _is_parts(got, _flops(config, 2, 3, 0), {}, "FLOPs without a context", call="batch=2, new=3", config=_sizes(config))


def _byte_faults(
    config: Config, batch: int, new: int, context: int, weight: float, cached: float
) -> dict[str, list[tuple[str, float]]]:
    c, rows, keys = config, batch * new, context + new
    want = _bytes(c, batch, new, context, weight, cached)
    layers, hidden, vocab = c.num_hidden_layers, c.hidden_size, c.vocab_size
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    number, flops = 2.0 * layers * kv * cached, _flops(c, batch, new, context)
    table = "one row of the table for each token is read, not the whole table; tied or not, that is read for the head, once"
    return {
        "embedding": [
            *_unit_faults(want["embedding"], weight, "bytes_per_weight"),
            (table, vocab * hidden * weight),
            (table, (vocab + rows) * hidden * weight),
            ("looking a row up reads it: hidden_size numbers for each token", 0.0),
            ("a row is read for every token of every sequence: batch x new rows", new * hidden * weight),
            ("a row is read for every token of every sequence: batch x new rows", batch * hidden * weight),
            ("a row is read for every token of every sequence: batch x new rows", hidden * weight),
            (KNOWN, batch * keys * hidden * weight),
        ],
        "projections": _matrix_faults(c, "projections", want, flops, batch, new, weight)
        + [
            (
                "k and v have num_key_value_heads x head_dim columns: the query heads of a group share them",
                4.0 * layers * hidden * q * weight,
            ),
        ],
        "attention": [
            *_unit_faults(want["attention"], cached, "bytes_per_cached"),
            ("the cache holds keys and values: this is one of the two", want["attention"] / 2),
            (
                "the cache holds num_key_value_heads heads: the query heads of a group share them",
                2.0 * layers * batch * keys * q * cached,
            ),
            ("this is one head: there are num_key_value_heads", 2.0 * layers * batch * keys * c.head_dim * cached),
            (LAYER, want["attention"] / layers),
            ("every sequence has keys and values of its own: they are not shared like the weights", keys * number),
            ("the new tokens' keys and values move too: context + new tokens", batch * context * number),
            ("the context is forgotten: it is what is read", batch * new * number),
            ("all new tokens share one reading of the cache: not once for each of them", rows * keys * number),
            ("each number of the cache moves once: old ones are read, new ones written", batch * (keys + new) * number),
            (
                "the cache has a precision of its own: bytes_per_cached, not bytes_per_weight",
                batch * keys * number / cached * weight,
            ),
        ],
        "mlp": _matrix_faults(c, "mlp", want, flops, batch, new, weight)
        + [
            ("there are three matrices: gate, up and down", want["mlp"] * 2 / 3),
        ],
        "head": _matrix_faults(c, "head", want, flops, batch, new, weight)
        + [
            ("the head's matrix is read whole, also where it is the embedding table (tied)", 0.0),
            ("the matrix is read once: a tied table is not counted a second time", 2 * want["head"]),
        ],
    }


def _unit_faults(want: float, size: float, name: str) -> list[tuple[str, float]]:
    return [
        (f"{name} is in bytes already, not in bits: nothing is divided by 8", want / 8),
        ("the result is in bytes, not in bits: nothing is multiplied by 8", want * 8),
        (f"this is how many numbers there are: each takes {name} bytes", want / size),
        (f"{name} is left out of account: it is not always 4", want / size * 4),
        (f"{name} is left out of account: it is not always 2", want / size * 2),
    ]


def _matrix_faults(
    config: Config,
    part: str,
    want: Mapping[str, float],
    flops: Mapping[str, float],
    batch: int,
    new: int,
    weight: float,
) -> list[tuple[str, float]]:
    once = "the weights are read once in a pass: all tokens and all sequences share that reading"
    wrong = [(once, want[part] * times) for times in (batch, new, batch * new)]
    layer = [(LAYER, want[part] / config.num_hidden_layers)] if part != "head" else []
    doubled = [("2 FLOPs for each weight are not 2 weights: halve them", 2 * want[part])] if part != "head" else []
    return [*_unit_faults(want[part], weight, "bytes_per_weight"), *wrong, *layer, *doubled, (once, flops[part] / 2 * weight)]


def _counts_bytes(answer: Any, draw: random.Random, least: int, tied: bool | None = None) -> None:
    while True:
        config, (batch, new, context) = _config(draw, tied), _pass(draw, least)
        weight, cached = draw.sample([0.625, 1.0625, 2.0, 4.0], 2) if least == 1 else draw.sample([0.625, 1.0625, 3.0], 2)
        want = _bytes(config, batch, new, context, weight, cached)
        faults = _byte_faults(config, batch, new, context, weight, cached)
        if _apart(want, faults, strict=least > 1):
            break
    call = f"batch={batch}, new={new}, context={context}, bytes_per_weight={weight}, bytes_per_cached={cached}"
    arguments = (config, batch, new, context, weight, cached)
    got = works(
        partial(answer, *arguments), "any sizes are allowed, and bytes need not be whole", call=call, config=_sizes(config)
    )
    _is_parts(got, want, faults, "bytes that it moves", call=call, config=_sizes(config))


@check("pass_bytes")
def bytes_of_any_pass(answer: Any, draw: random.Random) -> None:
    for tied in (True, False, None):
        _counts_bytes(answer, draw, 2, tied)


@check("pass_bytes")
def bytes_of_single_tokens_and_prompts(answer: Any, draw: random.Random) -> None:
    for _ in range(3):
        _counts_bytes(answer, draw, 1)


@check("pass_bytes")
def four_bytes_unless_told(answer: Any, draw: random.Random) -> None:
    config = _config(draw)
    got = works(lambda: answer(config, 2, 3), "context and bytes may be left out: 0, 4 and 4 then")
    _is_parts(
        got, _bytes(config, 2, 3, 0, 4, 4), {}, "bytes without a context, with 4 bytes for each number", call="batch=2, new=3"
    )


def _second_faults(flops: Mapping[str, float], nbytes: Mapping[str, float], machine: Machine) -> Faults:
    memory = {p: nbytes[p] / machine.bandwidth for p in flops}
    work = {p: flops[p] / machine.throughput for p in flops}
    parts, extra = {p: max(memory[p], work[p]) for p in flops}, machine.overhead
    once = "the overhead comes once for each pass, not once for each part"
    return [
        (
            "memory and arithmetic run side by side: a part takes the longer of the two times, not both",
            sum(memory.values()) + sum(work.values()) + extra,
        ),
        ("memory and arithmetic run side by side, and the overhead is left out", sum(memory.values()) + sum(work.values())),
        ("the overhead of the pass is left out", sum(parts.values())),
        (once, sum(parts.values()) + len(parts) * extra),
        ("a part takes the longer of its two times, not the shorter", sum(min(memory[p], work[p]) for p in parts) + extra),
        (
            "the parts come one after the other: take the longer time of each part, then add up",
            max(sum(memory.values()), sum(work.values())) + extra,
        ),
        ("the parts come one after the other: add them all up", max(parts.values()) + extra),
        ("the overhead adds to the rest: it does not run beside it", max(sum(parts.values()), extra)),
        ("the arithmetic is left out", sum(memory.values()) + extra),
        ("the memory is left out", sum(work.values()) + extra),
        ("the result is in seconds, not in milliseconds", 1000 * (sum(parts.values()) + extra)),
        ("the overhead is in seconds already, not in milliseconds", sum(parts.values()) + extra / 1000),
        (
            "bytes go with the bandwidth, FLOPs with the throughput: here they are exchanged",
            sum(max(nbytes[p] / machine.throughput, flops[p] / machine.bandwidth) for p in parts) + extra,
        ),
    ]


@check("predict_seconds")
def slower_of_the_two(answer: Any, draw: random.Random) -> None:
    """Two parts by hand: one waits for memory (3 s against 1), the other for arithmetic (5 s against 2)."""
    machine = Machine(bandwidth=10.0, throughput=100.0, overhead=0.25)
    _takes(answer, {"a": 100.0, "b": 500.0}, {"a": 30.0, "b": 20.0}, machine)


@check("predict_seconds")
def any_machine(answer: Any, draw: random.Random) -> None:
    for _ in range(4):
        while True:
            machine = Machine(draw.uniform(5, 50) * 1e9, draw.uniform(50, 500) * 1e9, draw.uniform(0.01, 0.05))
            nbytes = {part: draw.uniform(1e8, 1e9) for part in PARTS}
            flops = {part: draw.choice([0.2, 0.5, 2, 5]) * nbytes[part] * machine.ridge for part in PARTS} | {"embedding": 0.0}
            if told_apart(_seconds(flops, nbytes, machine), _second_faults(flops, nbytes, machine)):
                break
        _takes(answer, flops, nbytes, machine)


def _takes(answer: Any, flops: dict[str, float], nbytes: dict[str, float], machine: Machine) -> None:
    lines = {"machine": machine, "flops": _brief(flops), "bytes": _brief(nbytes)}
    got = works(lambda: answer(dict(flops), dict(nbytes), machine), "the parts are the keys of both dictionaries", **lines)
    _is_number(
        got, _seconds(flops, nbytes, machine), _second_faults(flops, nbytes, machine), "the seconds of the pass", **lines
    )


def _brief(values: Mapping[str, float]) -> str:
    return ", ".join(f"{key}: {value:.4g}" for key, value in values.items())


def _is_number(got: Any, want: float, faults: Faults, what: str, **lines: Any) -> None:
    not_missing(got, **lines)
    mine = works(lambda: float(got), "the result should be a number", **lines, yours=got)
    named(mine, want, faults, **lines)
    if not math.isclose(mine, want, rel_tol=1e-9):
        raise Mistake(f"this is not {what}", **lines, yours=mine, expected=want)


def _cost(config: Config, machine: Machine, batch: int, new: int, context: int, weight: float, cached: float) -> float:
    """The oracle's time of a pass."""
    return _seconds(_flops(config, batch, new, context), _bytes(config, batch, new, context, weight, cached), machine)


def _ratio_faults(config: Config, machine: Machine, batch: int, prompt: int, weight: float, cached: float) -> Faults:
    cost = partial(_cost, config, machine)
    read, written = cost(1, prompt, 0, weight, cached), cost(batch, 1, prompt, weight, cached)
    want = written / batch / (read / prompt)
    return [
        ("the ratio is upside down: output divided by input", 1 / want),
        ("this compares whole passes: divide each by the tokens that share it", written / read),
        ("one pass writes a token for every sequence of the batch: divide its time by batch", written / (read / prompt)),
        ("the prompt's pass reads `prompt` tokens: divide its time by them", written / batch / read),
        (
            "the batch is forgotten: output is written for `batch` sequences in one pass",
            cost(1, 1, prompt, weight, cached) * prompt / read,
        ),
        (
            "output is written for `batch` sequences in one pass: its time is not that of a single sequence",
            cost(1, 1, prompt, weight, cached) / batch * prompt / read,
        ),
        (
            "output comes behind the prompt: the context of that pass is `prompt` tokens",
            cost(batch, 1, 0, weight, cached) / batch * prompt / read,
        ),
        (
            "a prompt is read in a pass of its own, with batch 1",
            written / batch / (cost(batch, prompt, 0, weight, cached) / prompt / batch),
        ),
        (
            "a prompt is read in a pass of its own, with batch 1",
            written / batch / (cost(batch, prompt, 0, weight, cached) / prompt),
        ),
        (
            "output comes one token at a time: each sequence has 1 new token",
            cost(1, batch, prompt, weight, cached) / batch * prompt / read,
        ),
        (
            "hand bytes_per_weight and bytes_per_cached on",
            cost(batch, 1, prompt, 4, 4) / batch * prompt / cost(1, prompt, 0, 4, 4),
        ),
        ("hand bytes_per_weight and bytes_per_cached on to both passes", written / batch * prompt / cost(1, prompt, 0, 4, 4)),
        ("hand bytes_per_weight and bytes_per_cached on to both passes", cost(batch, 1, prompt, 4, 4) / batch * prompt / read),
    ]


@check("price_ratio")
def output_over_input(answer: Any, draw: random.Random) -> None:
    for _ in range(4):
        while True:
            config, machine = (
                _config(draw),
                Machine(draw.uniform(1, 3) * 1e9, draw.uniform(10, 30) * 1e9, draw.uniform(1e-5, 3e-5)),
            )
            batch, prompt = draw.randint(3, 9), draw.randint(40, 90)
            weight, cached = draw.sample([0.625, 1.0625, 2.0], 2)
            want = _cost(config, machine, batch, 1, prompt, weight, cached) / batch
            want /= _cost(config, machine, 1, prompt, 0, weight, cached) / prompt
            faults = _ratio_faults(config, machine, batch, prompt, weight, cached)
            if told_apart(want, faults):
                break
        arguments = (config, machine, batch, prompt, weight, cached)
        call = f"batch={batch}, prompt={prompt}, bytes_per_weight={weight}, bytes_per_cached={cached}"
        lines = {"call": call, "config": _sizes(config), "machine": machine}
        got = works(partial(answer, *arguments), "any sizes are allowed", **lines)
        _is_number(got, want, faults, "the cost of an output token over that of an input token", **lines)


@check("price_ratio")
def four_bytes_for_the_ratio_unless_told(answer: Any, draw: random.Random) -> None:
    config, machine = _config(draw), Machine(1e9, 2e10, 1e-5)
    got = works(lambda: answer(config, machine, 2, 30), "the bytes may be left out: 4 and 4 then")
    want = _cost(config, machine, 2, 1, 30, 4, 4) / 2 / (_cost(config, machine, 1, 30, 0, 4, 4) / 30)
    _is_number(got, want, [], "the ratio with 4 bytes for each number", call="batch=2, prompt=30", config=_sizes(config))
