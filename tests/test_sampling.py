"""The oracle for the filters is transformers' logits processors; for perplexity, a float64 log-softmax."""

import math
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from transformers import (
    MinPLogitsWarper,
    RepetitionPenaltyLogitsProcessor,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from llmlite.kv_cache import KVCache
from llmlite.llm import LLM
from llmlite.sampling import (
    PREFILL_CHUNK,
    SamplingParams,
    StopStrings,
    apply_repetition_penalty,
    apply_temperature,
    filter_min_p,
    filter_top_k,
    filter_top_p,
    generate,
    perplexity,
    prefill,
    sample,
)
from llmlite.transformer import Cache, Config, Transformer

INF, NAN = math.inf, math.nan


def random_logits(seed: int, size: int = 200) -> Tensor:
    return torch.randn(size, generator=torch.Generator().manual_seed(seed)) * 3


def kept(logits: Tensor) -> list[int]:
    return torch.nonzero(logits > -INF).flatten().tolist()


# --- each filter against transformers ---


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        *[(lambda x, k=k: filter_top_k(x, k), TopKLogitsWarper(k)) for k in (1, 2, 50, 199, 200, 10**7)],
        *[(lambda x, p=p: filter_top_p(x, p), TopPLogitsWarper(p)) for p in (0.001, 0.3, 0.9, 0.999, 1.0)],
        *[(lambda x, p=p: filter_min_p(x, p), MinPLogitsWarper(p)) for p in (0.0, 0.001, 0.05, 0.5, 1.0)],
    ],
)
def test_each_filter_keeps_what_transformers_keeps(ours: Any, theirs: Any, seed: int) -> None:
    logits = random_logits(seed)
    before = logits.clone()
    torch.testing.assert_close(ours(logits), theirs(None, logits[None].clone())[0], rtol=0, atol=0)
    assert torch.equal(logits, before)


@pytest.mark.parametrize("temperature", [0.1, 0.7, 1.0, 2.5])
def test_temperature_gives_the_probabilities_of_transformers(temperature: float) -> None:
    logits = random_logits(3)
    before = logits.clone()
    theirs = TemperatureLogitsWarper(temperature)(None, logits[None])[0]
    torch.testing.assert_close(apply_temperature(logits, temperature).softmax(0), theirs.softmax(0))
    assert torch.equal(logits, before)


@pytest.mark.parametrize("penalty", [0.5, 1.0, 1.3, 2.0])
@pytest.mark.parametrize("seen", [[], [4], [7, 7, 7, 199, 0], list(range(200))])
def test_the_repetition_penalty_equals_that_of_transformers(seen: list[int], penalty: float) -> None:
    logits = random_logits(4)
    before = logits.clone()
    ids = torch.tensor([seen], dtype=torch.long)
    theirs = RepetitionPenaltyLogitsProcessor(penalty)(ids, logits[None].clone())[0] if seen else logits
    torch.testing.assert_close(apply_repetition_penalty(logits, seen, penalty), theirs, rtol=0, atol=0)
    assert torch.equal(logits, before)


# --- stated values (B28 to B32) ---


@pytest.mark.parametrize("options", [{}, {"top_k": 1}, {"top_k": 5}, {"top_p": 0.1}, {"min_p": 1.0}, {"seed": 3}])
@pytest.mark.parametrize("temperature", [0, 0.0, 1e-8, 1e-38, 1e-300, 5e-324])
def test_no_temperature_and_hardly_any_take_the_most_likely(temperature: float, options: dict[str, Any]) -> None:
    logits = random_logits(5) * 1e6
    assert sample(logits, SamplingParams(temperature=temperature, **options)) == int(logits.argmax())


@pytest.mark.parametrize("options", [{"temperature": 0}, {"temperature": 1.0, "top_k": 1}, {"temperature": 1.0, "top_p": 0.1}])
def test_the_lowest_id_wins_a_tie(options: dict[str, Any]) -> None:
    logits = torch.full((10,), -2.0)
    logits[[3, 7]] = 4.0
    assert {sample(logits, SamplingParams(**options)) for _ in range(20)} == {3}


@pytest.mark.parametrize("temperature", [1e39, 1e300])
def test_a_huge_temperature_draws_evenly_from_what_is_left(temperature: float) -> None:
    logits = torch.tensor([5.0, -INF, -5.0, -INF])
    generator = torch.Generator().manual_seed(0)
    draws = [sample(logits, SamplingParams(temperature=temperature), generator) for _ in range(200)]
    assert set(draws) == {0, 2} and 70 < draws.count(0) < 130


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (0, [0, 1, 2, 3, 4]),
        (1, [1]),
        (2, [1, 2]),
        (3, [1, 2, 4]),
        (4, [0, 1, 2, 4]),
        (5, [0, 1, 2, 3, 4]),
        (10**7, [0, 1, 2, 3, 4]),
    ],
)
def test_top_k_keeps_exactly_k_and_the_lowest_ids_among_equals(k: int, expected: list[int]) -> None:
    assert kept(filter_top_k(torch.tensor([1.0, 2.0, 2.0, 1.0, 2.0]), k)) == expected


@pytest.mark.parametrize(
    ("p", "expected"),
    [(1e-300, [1]), (0.3, [1]), (0.5, [1]), (0.51, [0, 1]), (0.75, [0, 1]), (0.76, [0, 1, 3]), (1.0, [0, 1, 2, 3])],
)
def test_top_p_keeps_the_fewest_that_reach_p(p: float, expected: list[int]) -> None:
    assert kept(filter_top_p(torch.tensor([0.25, 0.5, 0.0625, 0.1875]).log(), p)) == expected


def test_top_p_takes_the_lowest_ids_among_equals() -> None:
    assert kept(filter_top_p(torch.zeros(8), 0.5)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("temperature", "p", "expected"),
    [(1.0, 0.2, [0, 1]), (2.0, 0.2, [0, 1, 2, 3]), (1.0, 1.0, [0]), (1.0, 0.0, [0, 1, 2, 3])],
)
def test_min_p_is_relative_to_the_likeliest_after_the_temperature(temperature: float, p: float, expected: list[int]) -> None:
    logits = torch.tensor([0.6, 0.25, 0.10, 0.05]).log()
    assert kept(filter_min_p(apply_temperature(logits, temperature), p)) == expected
    draws = {
        sample(logits, SamplingParams(temperature=temperature, top_p=1.0, min_p=p), torch.Generator().manual_seed(s))
        for s in range(150)
    }
    assert sorted(draws) == expected


def test_min_p_finds_the_likeliest_wherever_it_stands() -> None:
    assert kept(filter_min_p(torch.tensor([0.05, 0.25, 0.10, 0.6]).log(), 0.2)) == [1, 3]


@pytest.mark.parametrize(
    ("seen", "penalty", "expected"),
    [
        ([0, 1, 2], 2, [1, -2, 0.25]),
        ([1, 1, 1], 2, [2, -2, 0.5]),
        ([0, 1, 2], 1, [2, -1, 0.5]),
        ([], 2, [2, -1, 0.5]),
        ([0, 1], 0.5, [4, -0.5, 0.5]),
    ],
)
def test_the_penalty_weakens_each_seen_token_once(seen: list[int], penalty: float, expected: list[float]) -> None:
    logits = torch.tensor([2.0, -1.0, 0.5])
    assert apply_repetition_penalty(logits, seen, penalty).tolist() == expected
    assert logits.tolist() == [2.0, -1.0, 0.5]


def test_the_penalty_comes_before_the_choice() -> None:
    logits = torch.tensor([2.0, 1.5, -1.0])
    assert sample(logits, SamplingParams(temperature=0, repetition_penalty=2.0), seen=[0]) == 1


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize(
    ("logits", "cause"),
    [([NAN] * 3, "nan"), ([0, NAN, 1], "nan"), ([-INF, NAN, -INF], "nan"), ([-INF] * 3, "-inf"), ([0, INF, 1], "is inf")],
)
def test_logits_that_no_token_can_be_chosen_from_are_refused(logits: list[float], cause: str, temperature: float) -> None:
    with pytest.raises(ValueError, match=f"the largest logit.*{cause}"):
        sample(torch.tensor(logits), SamplingParams(temperature=temperature))


def test_a_penalty_that_overflows_is_refused_in_the_same_words() -> None:
    with pytest.raises(ValueError, match="the largest logit is inf"):
        sample(torch.tensor([2.0, 1.0]), SamplingParams(repetition_penalty=1e-50), seen=[0])


@given(st.floats(0, 2), st.integers(0, 5), st.floats(0.001, 1), st.floats(0, 1), st.floats(0.1, 3), st.integers(0, 4))
def test_the_only_finite_logit_always_wins(t: float, k: int, top_p: float, min_p: float, penalty: float, at: int) -> None:
    logits = torch.full((5,), -INF)
    logits[at] = -3.0
    params = SamplingParams(temperature=t, top_k=k, top_p=top_p, min_p=min_p, repetition_penalty=penalty)
    assert sample(logits, params, seen=[at]) == at


@given(st.integers(0, 99), st.integers(0, 12), st.floats(0, 1, exclude_min=True), st.floats(0, 1))
def test_filters_always_leave_the_most_likely_token(seed: int, k: int, top_p: float, min_p: float) -> None:
    logits = random_logits(seed, 10)
    left = filter_min_p(filter_top_p(filter_top_k(logits, k), top_p), min_p)
    assert int(logits.argmax()) in kept(left)
    assert torch.equal(left[left > -INF], logits[left > -INF])


# --- draws ---


@pytest.mark.parametrize(
    "options", [{}, {"temperature": 2.0}, {"top_k": 3}, {"top_p": 0.8}, {"min_p": 0.15}, {"temperature": 0.5, "top_k": 4}]
)
def test_draws_follow_the_probabilities(options: dict[str, Any]) -> None:
    logits, n = torch.tensor([0.5, 2.0, 1.0, -1.0, 0.0, 1.5]), 6000
    params = SamplingParams(**{"temperature": 1.0} | options)
    scaled = logits / params.temperature
    expected = filter_min_p(filter_top_p(filter_top_k(scaled, params.top_k), params.top_p), params.min_p).softmax(0) * n
    generator = torch.Generator().manual_seed(0)
    counts = torch.bincount(torch.tensor([sample(logits, params, generator) for _ in range(n)]), minlength=6)
    assert not counts[expected == 0].any()
    possible = expected > 0
    chi_square = ((counts - expected)[possible] ** 2 / expected[possible]).sum()
    assert chi_square < 20.5  # 5 degrees of freedom: one right sampler in 1000 is above


def test_a_draw_leaves_the_logits_and_torchs_own_generator_alone() -> None:
    logits = random_logits(6)
    before, state = logits.clone(), torch.get_rng_state()
    options = {"temperature": 0.5, "top_k": 9, "top_p": 0.9, "min_p": 0.1, "repetition_penalty": 1.5}
    sample(logits, SamplingParams(**options), torch.Generator(), seen=[1, 2])
    assert torch.equal(logits, before) and torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_sampled(dtype: torch.dtype) -> None:
    logits = random_logits(7).to(dtype)
    assert 0 <= sample(logits, SamplingParams(top_p=0.9, repetition_penalty=1.2), seen=[1]) < 200


# --- parameters ---

WRONG: list[tuple[str, list[Any]]] = [
    ("temperature", [-1, -1e-9, NAN, INF, -INF, True, "1", None, [1], 10**400]),
    ("top_k", [-1, 1.5, 1.0, NAN, INF, True, "5", None, -(10**400)]),
    ("top_p", [0, 0.0, -0.1, 1.1, NAN, INF, True, "0.9", None]),
    ("min_p", [-0.1, 1.1, NAN, INF, True, "0.1", None]),
    ("repetition_penalty", [0, -1, NAN, INF, True, "1", None, 10**400]),
    ("seed", [-1, 2**63, 1.0, NAN, True, "7", 10**400]),
    ("max_tokens", [0, -1, 1.5, 5.0, NAN, INF, True, "5"]),
    ("stop", ["", [""], ["a", ""], [1], [None], None, 5, True, b"ab", {"a": 1}, ["x"] * 17]),
]


@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name, values in WRONG for value in values], ids=lambda v: repr(v)[:12]
)
def test_a_value_out_of_range_is_refused_under_its_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{name} (is|must)"):
        SamplingParams(**{name: value})


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("temperature", [0, 0.0, 1e-8, 1, 100.0]),
        ("top_k", [0, 1, 10**7, 10**400]),
        ("top_p", [1e-9, 0.5, 1, 1.0]),
        ("min_p", [0, 0.5, 1]),
        ("repetition_penalty", [0.1, 1, 2.0]),
        ("seed", [None, 0, 2**63 - 1]),
        ("max_tokens", [None, 1, 10**9, 10**400]),
    ],
)
def test_every_value_in_range_is_accepted(name: str, values: list[Any], tiny: LLM) -> None:
    for value in values:
        params = SamplingParams(**{name: value})
        assert getattr(params, name) == value
        assert len(list(islice(generate(tiny.model, [1], params), 2))) == min(2, params.max_tokens or 2)


@pytest.mark.parametrize(
    ("given", "held"), [("a", ("a",)), (["a", "b"], ("a", "b")), (("ab",), ("ab",)), ([], ()), (["x"] * 16, ("x",) * 16)]
)
def test_stop_is_one_string_or_up_to_sixteen(given: Any, held: tuple[str, ...]) -> None:
    assert SamplingParams(stop=given).stop == held


# --- the loop ---

PROMPT = [5, 90, 33, 7]


@pytest.mark.parametrize("options", [{"temperature": 0}, {"seed": 1}, {"seed": 2, "top_p": 0.9, "repetition_penalty": 1.3}])
def test_generation_with_a_cache_equals_generation_without(tiny: LLM, options: dict[str, Any]) -> None:
    params = SamplingParams(max_tokens=40, **options)
    cache = KVCache(tiny.model.config, 64)
    cached = list(generate(tiny.model, PROMPT, params, cache=cache))
    assert cached == list(generate(tiny.model, PROMPT, params)) and len(set(cached)) > 5
    assert cache.length == len(PROMPT) + 39  # the last token was never fed


def test_greedy_generation_takes_the_argmax_of_each_whole_pass(tiny: LLM) -> None:
    ids = list(PROMPT)
    for token in generate(tiny.model, PROMPT, SamplingParams(temperature=0, max_tokens=20)):
        assert token == int(tiny.model(torch.tensor([ids]))[0, -1].argmax())
        ids.append(token)


def seeded(llm: LLM, seed: int | None) -> list[int]:
    params = SamplingParams(temperature=1.0, seed=seed, max_tokens=20)
    return list(generate(llm.model, PROMPT, params, cache=KVCache(llm.model.config, 64)))


def test_a_seed_gives_the_same_ids_and_none_gives_others(tiny: LLM) -> None:
    assert seeded(tiny, 42) == seeded(tiny, 42)
    assert len({tuple(seeded(tiny, seed)) for seed in (1, 2, None, None)}) == 4


def test_a_seed_does_not_depend_on_a_neighbour(tiny: LLM) -> None:
    params = [SamplingParams(temperature=1.0, seed=seed, max_tokens=20) for seed in (None, 42, 7)]
    alone = seeded(tiny, 42)
    torch.manual_seed(0)
    together = zip(*(generate(tiny.model, PROMPT, p, cache=KVCache(tiny.model.config, 64)) for p in params))
    assert [step[1] for step in together] == alone


def test_ids_without_a_text_are_never_chosen(tiny: LLM) -> None:
    params = SamplingParams(temperature=1e6, seed=0, max_tokens=60)
    assert max(generate(tiny.model, [1], params, vocab_size=20)) < 20
    assert max(generate(tiny.model, [1], params)) >= 20


@pytest.mark.parametrize("length", [1, 2, PREFILL_CHUNK - 1, PREFILL_CHUNK, PREFILL_CHUNK + 1, 2 * PREFILL_CHUNK + 3])
def test_chunked_prefill_equals_one_pass(build_model: Callable[..., Transformer], length: int) -> None:
    model = build_model(max_position_embeddings=2000, num_hidden_layers=1)
    ids = torch.randint(0, 272, (length,), generator=torch.Generator().manual_seed(0)).tolist()
    cache = KVCache(model.config, length)
    torch.testing.assert_close(prefill(model, ids, cache), prefill(model, ids), rtol=1e-4, atol=1e-4)
    assert cache.length == length


# --- empty and full contexts (B09, B25) ---


@pytest.mark.parametrize("cached", [True, False])
def test_an_empty_prompt_is_refused_at_once(tiny: LLM, cached: bool) -> None:
    cache = KVCache(tiny.model.config, 8) if cached else None
    with pytest.raises(ValueError, match="the prompt is empty"):
        generate(tiny.model, [], SamplingParams(), cache=cache)
    with pytest.raises(ValueError, match="the prompt is empty"):
        prefill(tiny.model, [], cache)


@pytest.fixture(scope="module")
def short(build_model: Callable[..., Transformer]) -> Transformer:
    """A model with a context of 8."""
    return build_model(max_position_embeddings=8)


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize(
    ("prompt", "max_tokens", "count"), [(6, 10, 2), (6, None, 2), (7, 10, 1), (1, None, 7), (6, 1, 1), (1, 10**9, 7)]
)
def test_generation_ends_with_the_context(
    short: Transformer, prompt: int, max_tokens: int | None, count: int, cached: bool
) -> None:
    cache = KVCache(short.config, 8) if cached else None
    assert len(list(generate(short, [1] * prompt, SamplingParams(max_tokens=max_tokens), cache=cache))) == count


@pytest.mark.parametrize("length", [8, 9, 1000])
def test_a_prompt_that_leaves_no_room_is_refused_at_once_with_both_numbers(short: Transformer, length: int) -> None:
    with pytest.raises(ValueError, match=f"has {length} tokens.*context of 8 at most 7"):
        generate(short, [1] * length, SamplingParams())


# --- perplexity ---


def reference_perplexity(model: Any, ids: Sequence[int], window: int) -> float:
    losses = []
    for start in range(0, len(ids), window):
        part = list(ids[start : start + window])
        logs = model(torch.tensor([part]))[0].double().log_softmax(-1)
        losses += [-logs[i, part[i + 1]].item() for i in range(len(part) - 1)]
    return math.exp(sum(losses) / len(losses))


@pytest.mark.parametrize(("length", "window"), [(2, 512), (30, 512), (64, 64), (65, 64), (66, 64), (150, 512), (50, 7), (9, 2)])
def test_perplexity_equals_its_definition(tiny: LLM, length: int, window: int) -> None:
    ids = torch.randint(0, 259, (length,), generator=torch.Generator().manual_seed(0)).tolist()
    assert perplexity(tiny.model, ids, window) == pytest.approx(
        reference_perplexity(tiny.model, ids, min(window, 64)), rel=1e-5
    )


class Uniform:
    """A model that finds every token equally likely."""

    def __init__(self, config: Config) -> None:
        self.config, self.device = config, torch.device("cpu")

    def __call__(self, ids: Tensor, cache: Cache | None = None, *, last_only: bool = False) -> Tensor:
        return torch.zeros(*ids.shape, self.config.vocab_size)


def test_perplexity_of_a_model_that_knows_nothing_is_its_vocabulary(tiny: LLM) -> None:
    assert perplexity(Uniform(tiny.model.config), list(range(40))) == pytest.approx(272)


@pytest.mark.parametrize(("ids", "window"), [([], 8), ([1], 8), ([1, 2, 3], 1), ([1, 2, 3], 0)])
def test_perplexity_of_too_little_is_refused(tiny: LLM, ids: list[int], window: int) -> None:
    with pytest.raises(ValueError, match="at least 2 tokens and a window of 2"):
        perplexity(tiny.model, ids, window)


# --- stop strings ---


def run_stop(pieces: Sequence[str], stop: Sequence[str]) -> tuple[str, bool]:
    stops, text = StopStrings(stop), ""
    for piece in pieces:
        text += stops.push(piece)
        if stops.found:
            break
    return text + stops.finish(), stops.found


@pytest.mark.parametrize(
    ("text", "stop", "expected", "found"),
    [
        ("hello world", ["o w"], "hell", True),
        ("hello world", ["world", "lo"], "hel", True),
        ("aaab", ["ab"], "aa", True),
        ("abcd", ["abcd", "bc"], "a", True),
        ("abc", ["bc", "abc"], "", True),
        ("ends with an EN", ["END"], "ends with an EN", False),
        ("nothing", [], "nothing", False),
        ("abab abc", ["abac", "abc"], "abab ", True),
        ("한글입니다", ["입니"], "한글", True),
        ("", ["x"], "", False),
    ],
)
def test_text_ends_before_the_stop_string_that_is_complete_first(
    text: str, stop: list[str], expected: str, found: bool
) -> None:
    assert run_stop([text], stop) == (expected, found)
    assert run_stop(list(text), stop) == (expected, found)


@given(st.lists(st.text("ab", max_size=4), max_size=8), st.lists(st.text("ab", min_size=1, max_size=5), max_size=4))
def test_where_the_pieces_are_cut_makes_no_difference(pieces: list[str], stop: list[str]) -> None:
    text = "".join(pieces)
    assert run_stop(pieces, stop) == run_stop([text], stop)
    assert run_stop(pieces, stop)[1] == any(s in text for s in stop)


def test_only_what_may_begin_a_stop_string_is_held_back() -> None:
    stops = StopStrings(["<end>"])
    assert [stops.push(piece) for piece in ("a<", "en", "d", "<e", "x", "y")] == ["a", "", "", "<end", "<ex", "y"]
