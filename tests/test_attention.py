import pytest
import torch
from torch.nn import functional as F

from llmlite.attention import attention, attention_weights, causal_mask, grouped_query_attention

SHAPES = [  # batch, heads, kv_heads, queries, keys, head_dim
    (1, 1, 1, 1, 1, 4),
    (2, 4, 4, 5, 5, 8),
    (2, 4, 2, 5, 5, 8),
    (3, 9, 3, 7, 7, 64),
    (1, 9, 3, 1, 12, 8),
    (2, 6, 1, 3, 10, 6),
    (1, 8, 2, 6, 6, 3),
]


def qkv(batch, heads, kv_heads, queries, keys, head_dim):
    return (
        torch.randn(batch, heads, queries, head_dim),
        torch.randn(batch, kv_heads, keys, head_dim),
        torch.randn(batch, kv_heads, keys, head_dim),
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_torch_with_queries_later_than_keys(shape):
    q, k, v = qkv(*shape)
    queries, keys = shape[3], shape[4]
    mask = causal_mask(queries, keys, offset=keys - queries)
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(grouped_query_attention(q, k, v, mask), want)


@pytest.mark.parametrize("shape", SHAPES)
def test_equals_torch_without_a_mask(shape):
    q, k, v = qkv(*shape)
    before = [t.clone() for t in (q, k, v)]
    want = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    torch.testing.assert_close(grouped_query_attention(q, k, v), want)
    assert all(torch.equal(a, b) for a, b in zip((q, k, v), before))


@pytest.mark.parametrize("mask_shape", [(5, 7), (1, 7), (1, 1, 5, 7), (3, 1, 5, 7), (3, 1, 1, 7)])
@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_equals_torch_with_masks_for_each_sequence_of_a_batch(mask_shape, kv_heads):
    q, k, v = qkv(3, 6, kv_heads, 5, 7, 8)
    mask = torch.rand(mask_shape) < 0.6
    mask[..., 0] = True
    want = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, enable_gqa=True)
    torch.testing.assert_close(grouped_query_attention(q, k, v, mask), want)


@pytest.mark.parametrize("queries", [1, 2, 5])
@pytest.mark.parametrize("offset", [0, 1, 4])
@pytest.mark.parametrize("keys", [1, 3, 9])
def test_causal_mask_compares_positions(queries, offset, keys):
    want = [[key <= offset + query for key in range(keys)] for query in range(queries)]
    assert causal_mask(queries, keys, offset).tolist() == want


def test_attention_is_a_weighted_average():
    q, k, v = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 7)
    weights = attention_weights(q, k)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 3))
    torch.testing.assert_close(weights, torch.softmax(q @ k.transpose(1, 2) / 2, -1))
    torch.testing.assert_close(attention(q, k, v), F.scaled_dot_product_attention(q, k, v))


def test_hidden_keys_get_exactly_zero():
    mask = causal_mask(4, 4)
    weights = attention_weights(torch.randn(4, 8), torch.randn(4, 8), mask)
    assert torch.equal(weights == 0, ~mask)


def test_query_heads_are_repeated_not_tiled():
    """B19: 4 query heads over 2, all queries zero; key/value head 0 says 0 and head 1 says 1."""
    v = torch.tensor([0.0, 1.0]).reshape(1, 2, 1, 1).expand(1, 2, 3, 4)
    out = grouped_query_attention(torch.zeros(1, 4, 1, 4), torch.randn(1, 2, 3, 4), v)
    assert out[0, :, 0, 0].tolist() == [0, 0, 1, 1]


def test_nine_heads_over_three():
    """B19: SmolLM2's query head h reads key/value head h // 3."""
    v = torch.arange(3.0).reshape(1, 3, 1, 1).expand(1, 3, 2, 4)
    out = grouped_query_attention(torch.zeros(1, 9, 5, 4), torch.randn(1, 3, 2, 4), v)
    assert out[0, :, 4, 0].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]


@pytest.mark.parametrize(("heads", "kv_heads"), [(4, 3), (9, 2), (2, 4)])
def test_heads_that_cannot_share_evenly_are_refused(heads, kv_heads):
    with pytest.raises(ValueError, match=f"{heads} query heads .* {kv_heads} key/value heads"):
        grouped_query_attention(*qkv(1, heads, kv_heads, 2, 2, 4))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_a_query_that_may_see_nothing_gets_zeros(dtype):
    """B20: one dark row in one sequence, and one sequence all dark; every other row as if they were not there."""
    q, k, v = (t.to(dtype) for t in qkv(3, 4, 2, 5, 5, 8))
    mask = causal_mask(5, 5).repeat(3, 1, 1, 1)
    want = grouped_query_attention(q, k, v, mask)
    mask[0, :, 2] = False
    mask[1] = False
    want[0, :, 2] = 0
    want[1] = 0
    assert torch.equal(grouped_query_attention(q, k, v, mask), want)
    assert not want.isnan().any()


def test_float16_queries_that_agree_strongly_do_not_overflow():
    q = torch.full((1, 1, 2, 64), 30.0, dtype=torch.float16)
    out = grouped_query_attention(q, q, torch.ones_like(q), causal_mask(2, 2))
    torch.testing.assert_close(out, torch.ones_like(q))
