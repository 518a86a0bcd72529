import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from llmlite import transformer
from llmlite.attention import causal_mask
from llmlite.course.watch import Watch
from llmlite.flash_attention import (
    Partial,
    attention_traffic,
    merge,
    online_softmax,
    partial_attention,
    tile_bytes,
    tiled_attention,
)
from llmlite.kv_cache import KVCache


def qkv(batch, heads, kv_heads, queries, keys, head_dim, dtype=torch.float32):
    shapes = ((heads, queries), (kv_heads, keys), (kv_heads, keys))
    return tuple(torch.randn(batch, *shape, head_dim, dtype=dtype) for shape in shapes)


@given(st.lists(st.integers(1, 6), min_size=1, max_size=6), st.integers(0, 999))
def test_running_maximum_and_sum_are_those_of_the_whole_row(sizes, seed):
    """B21: for any way to cut the row, hidden scores included."""
    generator = torch.Generator().manual_seed(seed)
    row = torch.randn(3, sum(sizes), generator=generator) * 20
    row[torch.rand(row.shape, generator=generator) < 0.3] = -math.inf
    peak, total = online_softmax(row.split(sizes, dim=-1))
    assert torch.equal(peak, row.amax(-1, keepdim=True))
    torch.testing.assert_close(peak + total.log(), row.logsumexp(-1, keepdim=True))


@pytest.mark.parametrize(
    ("row", "peak", "total"),
    [
        ([1000.0, 999.0], 1000.0, 1 + math.exp(-1)),
        ([1e4, -1e4], 1e4, 1.0),
        ([-1e4, -1e4], -1e4, 2.0),
        ([-math.inf, 3.0], 3.0, 1.0),
        ([-math.inf, -math.inf], -math.inf, 0.0),
    ],
)
def test_extreme_scores_one_at_a_time(row, peak, total):
    """B20, B21."""
    got = online_softmax(torch.tensor(row).split(1))
    assert (got[0].item(), got[1].item()) == pytest.approx((peak, total))


def test_the_softmax_of_a_row_from_its_two_numbers():
    row = torch.randn(4, 30, dtype=torch.float64) * 5
    peak, total = online_softmax(row.split(7, dim=-1))
    assert total.dtype == torch.float64
    torch.testing.assert_close((row - peak).exp() / total, row.softmax(-1))


def test_parts_merge_to_the_whole_in_any_order():
    q, k, v = torch.randn(2, 3, 8), torch.randn(2, 13, 8), torch.randn(2, 13, 8)
    parts = [partial_attention(q, k[:, cut], v[:, cut]) for cut in (slice(0, 5), slice(5, 6), slice(6, 13))]
    want = F.scaled_dot_product_attention(q, k, v)
    for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
        a, b, c = (parts[n] for n in order)
        for merged in (merge(merge(a, b), c), merge(a, merge(b, c))):
            torch.testing.assert_close(merged.out, want)
            scores = q @ k.mT / math.sqrt(8)
            torch.testing.assert_close(merged.peak + merged.total.log(), scores.logsumexp(-1, keepdim=True))


def test_a_part_that_saw_nothing_adds_nothing():
    q, k, v = torch.randn(2, 4), torch.randn(3, 4), torch.randn(3, 4)
    nothing = partial_attention(q, k, v, torch.zeros(2, 3, dtype=torch.bool))
    assert (nothing.out == 0).all() and (nothing.peak == -math.inf).all() and (nothing.total == 0).all()
    part = partial_attention(q, k, v)
    for merged in (merge(part, nothing), merge(nothing, part)):
        assert all(torch.equal(a, b) for a, b in zip(merged, part))
    assert all(torch.equal(a, b) for a, b in zip(merge(nothing, nothing), nothing))


SHAPES = [  # batch, heads, kv_heads, queries, keys, head_dim
    (1, 1, 1, 1, 1, 4),
    (2, 4, 2, 5, 5, 8),
    (3, 9, 3, 7, 7, 64),
    (1, 9, 3, 1, 12, 8),
    (2, 6, 1, 3, 10, 6),
    (1, 8, 2, 17, 23, 3),
]


@pytest.mark.parametrize("tile", [1, 2, 3, 5, 16, 128])
@pytest.mark.parametrize("shape", SHAPES)
def test_equals_torch_for_any_tile(shape, tile):
    q, k, v = qkv(*shape)
    offset = shape[4] - shape[3]
    before = [t.clone() for t in (q, k, v)]
    mask = causal_mask(*shape[3:5], offset)
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(tiled_attention(q, k, v, offset, tile), want)
    want = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(tiled_attention(q, k, v, None, tile), want)
    assert all(torch.equal(a, b) for a, b in zip((q, k, v), before))


@pytest.mark.parametrize("tile", [1, 2, 4, 100])
@pytest.mark.parametrize("offset", [-7, -3, -1, 0, 2, 30])
def test_any_offset(offset, tile):
    """B20: queries before all keys get zeros; queries past the last key see all of them."""
    q, k, v = qkv(1, 4, 2, 6, 9, 8)
    mask = causal_mask(6, 9, offset)
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    want = want.masked_fill(~mask.any(-1, keepdim=True), 0.0)
    torch.testing.assert_close(tiled_attention(q, k, v, offset, tile), want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(dtype):
    """A thousand equal weights of 1: bfloat16 cannot count past 256."""
    q, k = torch.zeros(1, 1, 1, 4, dtype=dtype), torch.zeros(1, 1, 1000, 4, dtype=dtype)
    out = tiled_attention(q, k, torch.ones_like(k), None, 7)
    assert out.dtype == dtype
    torch.testing.assert_close(out, torch.ones_like(q))


def test_scores_that_agree_strongly_do_not_overflow():
    q = torch.full((1, 1, 5, 64), 30.0, dtype=torch.float16)
    torch.testing.assert_close(tiled_attention(q, q, torch.ones_like(q), 0, 2), torch.ones_like(q))


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 3), (9, 2), (2, 4)])
def test_heads_that_cannot_share_evenly_are_refused(heads, kv_heads):
    with pytest.raises(ValueError, match=f"{heads} query heads .* {kv_heads} key/value heads"):
        tiled_attention(*qkv(1, heads, kv_heads, 2, 2, 4))


@pytest.mark.parametrize("tile", [0, -3])
def test_a_tile_of_nothing_is_refused(tile):
    with pytest.raises(ValueError, match="at least 1"):
        tiled_attention(*qkv(1, 1, 1, 2, 2, 4), 0, tile)
    with pytest.raises(ValueError, match="at least 1"):
        attention_traffic(10, 9, 3, 64, tile)


def test_no_tensor_is_as_large_as_the_scores():
    q, k, v = qkv(1, 6, 2, 96, 96, 4)
    with Watch() as watch:
        tiled_attention(q, k, v, 0, 8)
    assert math.prod(watch.largest) <= 6 * 96 * 4


def test_traffic_by_hand():
    """2 tokens, 2 heads over 1, head_dim 3, bytes of 1."""
    assert attention_traffic(2, 2, 1, 3, None, 1) == {"queries and results": 24, "keys and values": 12, "scores": 32}
    assert attention_traffic(2, 2, 1, 3, 1, 1) == {"queries and results": 24, "keys and values": 24, "scores": 0}
    assert attention_traffic(2, 2, 1, 3, 50, 1) == {"queries and results": 24, "keys and values": 12, "scores": 0}
    assert tile_bytes(2, 2, 1, 3, 1) == 2 * 2 * 2 * 3 + 2 * 2 * 3 + 2 * 2 * 2


@pytest.mark.parametrize("pieces", [(40,), (16, 1, 23)])
def test_a_whole_model_runs_on_it(build_model, monkeypatch, pieces):
    """The engine calls attention with every query at the end of the keys, with or without a cache."""
    model, ids = build_model(), torch.randint(272, (2, 40))
    want = model(ids)
    calls = []

    def through_tiles(q, k, v, mask):
        calls.append(q.shape[2])
        return tiled_attention(q, k, v, k.shape[2] - q.shape[2], 7)

    monkeypatch.setattr(transformer, "grouped_query_attention", through_tiles)
    cache = KVCache(model.config, 40, batch=2)
    got = torch.cat([model(part, cache) for part in ids.split(pieces, dim=1)], dim=1)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-4)
    assert calls == [n for n in pieces for _ in range(2)]


def test_partial_is_a_tuple_of_three():
    assert Partial._fields == ("out", "peak", "total")
