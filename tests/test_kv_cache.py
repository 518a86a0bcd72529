from itertools import pairwise

import pytest
import torch
from helpers import FAMILY_CONFIGS, random_model, tiny_config
from hypothesis import given, settings
from hypothesis import strategies as st

from llmlite.kv_cache import KVCache

MODELS = {family: random_model(config) for family, config in FAMILY_CONFIGS.items()}
COMPOSITIONS = [[i + 1 for i in range(6) if bits >> i & 1] for bits in range(64)]  # where to cut 7 tokens
families = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Threads that share matrices this small only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def in_chunks(model, ids, cuts, cache):
    """Feed ids in pieces cut at the given places, and join the logits."""
    edges = [0, *sorted(set(cuts)), ids.shape[1]]
    return torch.cat([model(ids[:, a:b], cache) for a, b in pairwise(edges)], dim=1)


@families
def test_cached_equals_uncached_for_every_way_of_cutting_seven_tokens(model):
    ids = torch.randint(0, 19, (2, 7))
    want = model(ids)
    for cuts in COMPOSITIONS:
        cache = KVCache(model.config, 7, batch=2)
        torch.testing.assert_close(in_chunks(model, ids, cuts, cache), want, atol=1e-4, rtol=0)
        assert cache.length == 7


@families
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_cached_equals_uncached_for_longer_prompts(model, data):
    tokens = data.draw(st.integers(1, 64))
    ids = torch.tensor([data.draw(st.lists(st.integers(0, 18), min_size=tokens, max_size=tokens))])
    cuts = data.draw(st.lists(st.integers(1, tokens - 1), max_size=8)) if tokens > 1 else []
    cache = KVCache(model.config, data.draw(st.integers(tokens, 80)))
    torch.testing.assert_close(in_chunks(model, ids, cuts, cache), model(ids), atol=1e-4, rtol=0)


@families
def test_token_by_token_decoding_chooses_the_same_ids(model):
    """B24 in float32."""
    cache = KVCache(model.config, 40)
    ids = torch.tensor([[3, 1, 4, 1, 5]])
    logits = model(ids, cache, last_only=True)
    for _ in range(30):
        token = logits[:, -1:].argmax(-1)
        ids = torch.cat((ids, token), dim=1)
        logits = model(token, cache)
        want = model(ids, last_only=True)
        torch.testing.assert_close(logits, want, atol=1e-4, rtol=0)
        assert torch.equal(logits.argmax(-1), want.argmax(-1))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@families
def test_half_precision_cached_logits_differ_only_by_rounding(model, dtype):
    """B24: the shape of a product changes its rounding; 8 units in the last place of the largest logit bound the difference."""
    half, ids = random_model(model.config).to(dtype), torch.randint(0, 19, (1, 7))
    want = half(ids).float()
    tolerance = 8 * torch.finfo(dtype).eps * want.abs().max().item()
    for cuts in COMPOSITIONS[::9]:
        got = in_chunks(half, ids, cuts, KVCache(model.config, 7, dtype=dtype)).float()
        torch.testing.assert_close(got, want, atol=tolerance, rtol=0)


@families
@pytest.mark.parametrize("keep", range(8))
def test_rewinding_and_going_another_way_equals_a_fresh_start(model, keep):
    first, other = torch.randint(0, 19, (1, 7)), torch.randint(0, 19, (1, 5))
    cache = KVCache(model.config, 16)
    model(first, cache)
    cache.rewind(keep)
    want = model(torch.cat((first[:, :keep], other), dim=1))[:, keep:]
    torch.testing.assert_close(model(other, cache), want, atol=1e-4, rtol=0)
    assert cache.length == keep + 5


@families
@pytest.mark.parametrize("layer", [0, 1])
def test_an_interrupted_pass_leaves_no_trace(model, layer):
    ids = torch.randint(0, 19, (1, 9))
    cache = KVCache(model.config, 9)
    model(ids[:, :4], cache)

    def interrupt(module, args, output):
        raise KeyboardInterrupt

    hook = model.layers[layer].register_forward_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        model((ids[:, 4:] + 1) % 19, cache)
    hook.remove()
    assert cache.length == 4
    torch.testing.assert_close(model(ids[:, 4:], cache), model(ids)[:, 4:], atol=1e-4, rtol=0)


def test_a_refused_pass_leaves_no_trace():
    model, ids = MODELS["llama"], torch.randint(0, 19, (1, 8))
    cache = KVCache(model.config, 8)
    model(ids[:, :6], cache)
    with pytest.raises(ValueError, match="9 tokens do not fit a cache of 8"):
        model(ids[:, :3], cache)
    with pytest.raises(ValueError, match="rows 0 to 18"):
        model(torch.tensor([[99]]), cache)
    torch.testing.assert_close(model(ids[:, 6:], cache), model(ids)[:, 6:], atol=1e-4, rtol=0)


def test_the_context_counts_what_the_cache_holds():
    """B25."""
    model = random_model(tiny_config(max_position_embeddings=8))
    cache = KVCache(model.config, 100)
    model(torch.zeros(1, 6, dtype=torch.long), cache)
    model(torch.zeros(1, 2, dtype=torch.long), cache)
    with pytest.raises(ValueError, match="9 tokens .* context of 8"):
        model(torch.zeros(1, 1, dtype=torch.long), cache)
    assert cache.length == 8


def test_append_returns_everything_so_far_without_a_copy():
    cache = KVCache(tiny_config(), 6, batch=3)
    k, v = torch.randn(2, 3, 2, 4, 4)
    cache.append(1, k, v)
    cache.advance(4)
    more_k, more_v = torch.randn(2, 3, 2, 2, 4)
    keys, values = cache.append(1, more_k, more_v)
    assert torch.equal(keys, torch.cat((k, more_k), dim=2))
    assert torch.equal(values, torch.cat((v, more_v), dim=2))
    assert keys.data_ptr() == cache.view(1, 6)[0].data_ptr()
    assert torch.equal(cache.view(1, 4)[1], v)


@pytest.mark.parametrize("length", [-1, 5, 100])
def test_rewinding_to_a_length_that_is_not_held_is_refused(length):
    cache = KVCache(tiny_config(), 8)
    cache.advance(4)
    with pytest.raises(ValueError, match=f"cannot rewind to {length}: the cache holds 4"):
        cache.rewind(length)
    assert cache.length == 4


@pytest.mark.parametrize("capacity", [0, -1])
def test_a_cache_without_room_is_refused(capacity):
    with pytest.raises(ValueError, match=f"cache of {capacity} tokens"):
        KVCache(tiny_config(), capacity)


@pytest.mark.parametrize(("held", "given_"), [(1, 3), (3, 1)])
def test_another_batch_size_is_refused(held, given_):
    model = MODELS["llama"]
    with pytest.raises(ValueError, match=f"batch of {given_} .* batch of {held}"):
        model(torch.zeros(given_, 2, dtype=torch.long), KVCache(model.config, 8, batch=held))


@pytest.mark.parametrize(("dtype", "size"), [(torch.float32, 4), (torch.bfloat16, 2), (torch.float16, 2)])
@pytest.mark.parametrize(("capacity", "batch"), [(1, 1), (100, 3)])
def test_nbytes_is_the_formula(dtype, size, capacity, batch):
    config = tiny_config(num_hidden_layers=5, num_attention_heads=9, num_key_value_heads=3, head_dim=64)
    assert KVCache(config, capacity, batch, dtype).nbytes == 2 * 5 * batch * 3 * capacity * 64 * size


@pytest.mark.parametrize("capacity", [2**40, 2**60])
def test_a_cache_larger_than_the_memory_is_refused_with_its_size(capacity):
    with pytest.raises(ValueError, match=rf"a cache for {capacity} tokens takes [\d.]+ GB"):
        KVCache(tiny_config(), capacity)
