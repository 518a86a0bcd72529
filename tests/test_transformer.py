import dataclasses

import pytest
import torch
from helpers import FAMILY_CONFIGS, LINEAR, LLAMA3, hf_logits, hf_model, random_model, tiny_config
from torch.nn import functional as F

from llmlite.transformer import Transformer, count_parameters, linear, rms_norm, swiglu
from llmlite.weights import hf_config, load_folder

MODELS = [
    ("llama", {}),
    ("llama", {"tie_word_embeddings": False}),
    ("llama", {"attention_bias": True}),
    ("llama", {"rope_parameters": LINEAR}),
    ("llama", {"rope_parameters": LLAMA3}),
    ("llama", {"head_dim": 6, "num_attention_heads": 4, "num_key_value_heads": 1}),
    ("llama", {"num_key_value_heads": 9, "rms_norm_eps": 0.1}),
    ("qwen2", {}),
    ("qwen2", {"tie_word_embeddings": False, "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}}),
    ("qwen2", {"rope_parameters": LINEAR}),
    ("qwen3", {}),
    ("qwen3", {"tie_word_embeddings": False, "head_dim": 16}),
    ("qwen3", {"attention_bias": True, "rope_parameters": LLAMA3}),
]


@pytest.mark.parametrize(("family", "changes"), MODELS)
def test_logits_equal_transformers(family, changes, tmp_path):
    theirs = hf_model(family, **changes)
    theirs.save_pretrained(tmp_path)
    ours = load_folder(tmp_path)
    for shape in [(1, 1), (1, 50), (3, 20)]:
        ids = torch.randint(0, 61, shape)
        torch.testing.assert_close(ours(ids), hf_logits(theirs, ids), atol=1e-4, rtol=0)


@pytest.mark.parametrize("config", FAMILY_CONFIGS.values(), ids=FAMILY_CONFIGS)
def test_last_only_is_the_last_row(config):
    model, ids = random_model(config), torch.randint(0, 19, (3, 9))
    last = model(ids, last_only=True)
    assert last.shape == (3, 1, 19)
    torch.testing.assert_close(last, model(ids)[:, -1:], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("config", FAMILY_CONFIGS.values(), ids=FAMILY_CONFIGS)
def test_sequences_of_a_batch_do_not_touch_each_other(config):
    model, ids = random_model(config), torch.randint(0, 19, (4, 6))
    torch.testing.assert_close(model(ids), torch.cat([model(row[None]) for row in ids]), atol=1e-5, rtol=1e-5)


def test_later_tokens_do_not_change_earlier_logits():
    model, ids = random_model(tiny_config()), torch.randint(0, 19, (1, 8))
    other = ids.clone()
    other[0, 5:] = (other[0, 5:] + 1) % 19
    torch.testing.assert_close(model(other)[:, :5], model(ids)[:, :5], atol=1e-6, rtol=0)


def test_tied_head_is_the_table_held_once():
    tied, untied = random_model(tiny_config(tie_word_embeddings=True)), random_model(tiny_config())
    assert tied.head is tied.embed_tokens.weight
    assert untied.head is untied.lm_head.weight
    assert sum(p.numel() for p in untied.parameters()) - sum(p.numel() for p in tied.parameters()) == 19 * 24


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_float32_frequencies(dtype):
    """B18: casting the model must not cast the angles."""
    model, ids = random_model(tiny_config(max_position_embeddings=600)), torch.randint(0, 19, (1, 600))
    want = model(ids)
    got = model.to(dtype)(ids)
    assert model.frequencies.dtype == torch.float32
    assert got.dtype == dtype
    assert (got.float() - want).std() < 0.03 * want.std()


def test_frequencies_survive_the_meta_device():
    with torch.device("meta"):
        model = Transformer(tiny_config())
    assert torch.equal(model.frequencies, Transformer(tiny_config()).frequencies)


@pytest.mark.parametrize(
    "ids", [torch.zeros(1, 0, dtype=torch.long), torch.zeros(0, 3, dtype=torch.long), torch.tensor([1, 2])]
)
def test_ids_that_are_not_batch_by_tokens_are_refused(ids):
    with pytest.raises(ValueError, match="at least one token"):
        random_model(tiny_config())(ids)


@pytest.mark.parametrize("bad", [-1, 19, 10**9])
def test_ids_out_of_range_are_refused(bad):
    with pytest.raises(ValueError, match="rows 0 to 18"):
        random_model(tiny_config())(torch.tensor([[3, bad]]))


def test_the_context_is_a_limit():
    """B25."""
    model = random_model(tiny_config(max_position_embeddings=8))
    assert model(torch.zeros(1, 8, dtype=torch.long)).shape == (1, 8, 19)
    with pytest.raises(ValueError, match="9 tokens .* context of 8"):
        model(torch.zeros(1, 9, dtype=torch.long))


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(tiny_config())][:8])
@pytest.mark.parametrize("size", [0, -3])
def test_config_refuses_sizes_below_one(field, size):
    with pytest.raises(ValueError, match=f"{field} is {size}"):
        tiny_config(**{field: size})


@pytest.mark.parametrize(("heads", "kv_heads"), [(9, 2), (4, 3), (2, 4)])
def test_config_refuses_heads_that_cannot_share(heads, kv_heads):
    with pytest.raises(ValueError, match=f"{heads}.* must be a multiple of .*{kv_heads}"):
        tiny_config(num_attention_heads=heads, num_key_value_heads=kv_heads)


@pytest.mark.parametrize("field", ["rope_theta", "rms_norm_eps"])
@pytest.mark.parametrize("number", [0.0, -1.0, float("nan"), float("inf")])
def test_config_refuses_numbers_that_are_not_positive(field, number):
    with pytest.raises(ValueError, match=f"{field} is"):
        tiny_config(**{field: number})


def test_an_odd_head_dim_is_refused():
    with pytest.raises(ValueError, match="head_dim is 5"):
        Transformer(tiny_config(head_dim=5))


@pytest.mark.parametrize("shape", [(64,), (2, 64), (2, 3, 64)])
@pytest.mark.parametrize("eps", [1e-6, 1e-2])
def test_rms_norm_equals_torch(shape, eps):
    x, weight = torch.randn(shape), torch.randn(64)
    torch.testing.assert_close(rms_norm(x, weight, eps), F.rms_norm(x, (64,), weight, eps))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rms_norm_leaves_its_input_alone(dtype):
    """B22."""
    x, weight = torch.randn(4, 64).to(dtype), torch.randn(64).to(dtype)
    before = x.clone()
    first, second = rms_norm(x, weight, 1e-5), rms_norm(x, weight, 1e-5)
    assert torch.equal(x, before)
    assert torch.equal(first, second)
    assert first.dtype == dtype


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_rms_norm_of_large_and_zero_rows(dtype):
    """B23: 300 squared is past float16's largest number."""
    ones = torch.ones(64, dtype=dtype)
    x = torch.stack((ones * 300, ones * 0, ones * 0))
    x[2, 5] = 60000
    want = torch.stack((ones, ones * 0, ones * 0))
    want[2, 5] = 8
    torch.testing.assert_close(rms_norm(x, ones, 1e-5), want, atol=1e-2, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_swiglu_equals_torch(dtype):
    gate, up = (torch.randn(3, 8, dtype=dtype) * 4).clone(), torch.randn(3, 8, dtype=dtype)
    before = gate.clone(), up.clone()
    torch.testing.assert_close(
        swiglu(gate, up), gate * torch.sigmoid(gate) * up, atol=0.1 if dtype == torch.bfloat16 else 1e-6, rtol=0
    )
    assert torch.equal(gate, before[0])
    assert torch.equal(up, before[1])


@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
@pytest.mark.parametrize("changes", [{}, {"tie_word_embeddings": False}, {"num_hidden_layers": 1, "intermediate_size": 56}])
def test_the_parameters_are_counted_as_transformers_has_them(family, changes):
    theirs = hf_model(family, **changes)
    config = hf_config(theirs.config.to_dict())
    assert count_parameters(config) == sum(p.numel() for p in theirs.parameters())


def test_smollm2_has_134_515_008_parameters(smollm2):
    """The number that its makers' checkpoint has."""
    assert count_parameters(smollm2.model.config) == 134_515_008


@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 1, 24), (24,), (2, 1, 24), (1, 5, 24), (1, 0, 24)])
def test_linear_is_the_same_product_on_any_number_of_threads(shape, dtype, threads):
    x, before = torch.randn(shape, dtype=dtype), torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        for out in (12, 7):  # 7 rows cannot be shared evenly
            weight, bias = torch.randn(out, 24, dtype=dtype), torch.randn(out, dtype=dtype)
            for b in (None, bias):
                torch.testing.assert_close(linear(x, weight, b), F.linear(x, weight, b))
    finally:
        torch.set_num_threads(before)
