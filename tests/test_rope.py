import pytest
import torch
from helpers import LINEAR, LLAMA3, hf_model
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding, apply_rotary_pos_emb

from llmlite.rope import (
    RopeScaling,
    apply_rope,
    apply_rope_interleaved,
    permute,
    rope_frequencies,
    rope_tables,
    scale_frequencies,
    unpermute,
)

LAYOUTS = [apply_rope, apply_rope_interleaved]


def tables(positions, head_dim=8, theta=10000.0):
    return rope_tables(torch.as_tensor(positions), rope_frequencies(head_dim, theta))


def test_frequencies_are_powers_of_theta():
    want = [500000.0 ** (-2 * i / 64) for i in range(32)]
    torch.testing.assert_close(rope_frequencies(64, 500000.0), torch.tensor(want))


def test_llama3_scaling_keeps_blends_and_divides():
    """B16."""
    plain = rope_frequencies(64, 500000.0)
    scaled = scale_frequencies(plain, RopeScaling("llama3", 32.0, 1.0, 4.0, 8192))
    torch.testing.assert_close(scaled[:15], plain[:15])
    assert ((scaled[15:18] < plain[15:18]) & (scaled[15:18] > plain[15:18] / 32)).all()
    torch.testing.assert_close(scaled[18:], plain[18:] / 32)
    assert plain[16].item() == pytest.approx(1.41421e-3, rel=1e-5)
    assert scaled[16].item() == pytest.approx(4.29557e-4, rel=1e-5)
    assert plain[31].item() == pytest.approx(3.01386e-6, rel=1e-5)
    assert scaled[31].item() == pytest.approx(9.41831e-8, rel=1e-5)


@pytest.mark.parametrize("rope", [{"rope_type": "default", "rope_theta": 10000.0}, LINEAR, LLAMA3])
@pytest.mark.parametrize("head_dim", [8, 64])
def test_equals_transformers(rope, head_dim):
    config = hf_model("llama", rope_parameters=rope, head_dim=head_dim, num_hidden_layers=1).config
    q, k, positions = torch.randn(1, 9, 50, head_dim), torch.randn(1, 3, 50, head_dim), torch.arange(50)
    their_cos, their_sin = LlamaRotaryEmbedding(config)(q, positions[None])
    want_q, want_k = apply_rotary_pos_emb(q, k, their_cos, their_sin)
    names = ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings")
    scaling = None
    if rope["rope_type"] != "default":
        scaling = RopeScaling(rope["rope_type"], **{name: rope[name] for name in names if name in rope})
    cos, sin = rope_tables(positions, scale_frequencies(rope_frequencies(head_dim, 10000.0), scaling))
    torch.testing.assert_close(apply_rope(q, cos, sin), want_q, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(apply_rope(k, cos, sin), want_k, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("rotate", "want"),
    [
        (apply_rope, [-1.984111, 1.959901, 2.462378, 4.0198]),
        (apply_rope_interleaved, [-1.142640, 1.922076, 2.959851, 4.0298]),
    ],
)
def test_both_layouts_by_hand(rotate, want):
    """B17."""
    x = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    torch.testing.assert_close(rotate(x, *tables([1], 4)), torch.tensor([want]), atol=1e-5, rtol=0)


@pytest.mark.parametrize("rotate", LAYOUTS)
def test_position_zero_changes_nothing(rotate):
    x = torch.randn(2, 3, 1, 8)
    assert torch.equal(rotate(x, *tables([0])), x)


@pytest.mark.parametrize("rotate", LAYOUTS)
@pytest.mark.parametrize("shift", [1, 10, 500])
def test_scores_depend_on_the_distance_alone(rotate, shift):
    q, k = torch.randn(6, 8), torch.randn(6, 8)

    def scores(start):
        cos, sin = tables(torch.arange(start, start + 6))
        return rotate(q, cos, sin) @ rotate(k, cos, sin).T

    torch.testing.assert_close(scores(shift), scores(0), atol=1e-3, rtol=1e-4)
    assert not torch.allclose(scores(0), q @ k.T, atol=0.1)


@pytest.mark.parametrize("rotate", LAYOUTS)
def test_rotations_add_up(rotate):
    """R(a) R(b) = R(a + b), which is what lets a key be moved (B26)."""
    x = torch.randn(3, 8)
    twice = rotate(rotate(x, *tables([4, 5, 6])), *tables([7, 7, 7]))
    torch.testing.assert_close(twice, rotate(x, *tables([11, 12, 13])), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("shape", "heads"), [((72, 5), 9), ((24, 5), 3), ((24,), 3), ((8, 8), 1)])
def test_permute_and_unpermute_undo_each_other(shape, heads):
    weight = torch.randn(shape)
    assert torch.equal(unpermute(permute(weight, heads), heads), weight)
    assert torch.equal(permute(unpermute(weight, heads), heads), weight)
    assert not torch.equal(permute(weight, heads), weight)


def test_permute_interleaves_the_halves_of_each_head():
    assert permute(torch.arange(8), 1).tolist() == [0, 4, 1, 5, 2, 6, 3, 7]
    assert permute(torch.arange(8), 2).tolist() == [0, 2, 1, 3, 4, 6, 5, 7]


def test_layouts_agree_after_the_permutation():
    """B17: rotate(W x) in halves = rotate(permute(W) x) interleaved, up to the order of the dimensions."""
    heads, weight, x = 3, torch.randn(24, 16), torch.randn(5, 16)
    cos, sin = tables(torch.arange(5))

    def project(w):
        return (x @ w.T).reshape(5, heads, 8).transpose(0, 1)  # (heads, tokens, head_dim)

    half = apply_rope(project(weight), cos, sin)
    interleaved = apply_rope_interleaved(project(permute(weight, heads)), cos, sin)
    back = unpermute(interleaved.transpose(0, 1).reshape(5, 24).T, heads).T.reshape(5, heads, 8).transpose(0, 1)
    torch.testing.assert_close(back, half, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(half @ half.mT, interleaved @ interleaved.mT, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.float32])
def test_tables_are_exact_enough_to_tell_neighbours_apart(dtype):
    """B18: bfloat16 turns 257 into 256, so neither positions nor angles may pass through it."""
    positions = torch.tensor([0, 256, 257, 258, 259, 4095])
    cos, sin = rope_tables(positions.to(dtype), rope_frequencies(64, 10000.0))
    angles = positions.double()[:, None] * 10000.0 ** (-torch.arange(0, 64, 2).double() / 64)
    assert cos.dtype == sin.dtype == torch.float32
    torch.testing.assert_close(cos.double(), angles.cos(), atol=1e-3, rtol=0)
    torch.testing.assert_close(sin.double(), angles.sin(), atol=1e-3, rtol=0)


@pytest.mark.parametrize("rotate", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_vectors_lose_only_their_own_rounding(rotate, dtype):
    x = torch.randn(6, 64).to(dtype)
    cos, sin = tables([0, 256, 257, 258, 259, 4095], 64)
    rotated, eps = rotate(x, cos, sin), torch.finfo(dtype).eps
    assert rotated.dtype == dtype
    torch.testing.assert_close(rotated.float(), rotate(x.float(), cos, sin), atol=8 * eps, rtol=2 * eps)


@pytest.mark.parametrize("head_dim", [1, 7])
def test_odd_head_dim_is_refused(head_dim):
    with pytest.raises(ValueError, match=f"head_dim is {head_dim}"):
        rope_frequencies(head_dim, 10000.0)


@pytest.mark.parametrize("kind", ["yarn", "dynamic", "longrope", ""])
def test_unknown_scaling_is_refused_by_name(kind):
    with pytest.raises(ValueError, match=f"'{kind}' is not supported"):
        scale_frequencies(rope_frequencies(8, 10000.0), RopeScaling(kind, 2.0))


@pytest.mark.parametrize("factor", [0.0, -1.0, float("nan"), float("inf")])
def test_a_factor_that_is_not_positive_is_refused(factor):
    with pytest.raises(ValueError, match="factor is"):
        RopeScaling("linear", factor)


@pytest.mark.parametrize(("low", "high"), [(4.0, 4.0), (4.0, 1.0), (1.0, float("nan"))])
def test_llama3_bands_the_wrong_way_round_are_refused(low, high):
    with pytest.raises(ValueError, match="low_freq_factor"):
        RopeScaling("llama3", 8.0, low, high)
