import importlib.util
import json
import re
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from helpers import LINEAR, LLAMA3, hf_logits, hf_model, refused, toy_gguf, write_gguf
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

from llmlite.gguf import read_gguf
from llmlite.weights import hf_config, load_folder, load_gguf, parameter_name, read_json

FAMILIES = ["llama", "qwen2", "qwen3"]
IDS = torch.arange(40).reshape(2, 20)
INF, NAN = float("inf"), float("nan")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A saved tiny Llama, to be copied and never changed."""
    path = tmp_path_factory.mktemp("whole")
    hf_model("llama").save_pretrained(path)
    return path


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "copy")


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("gguf") / "toy.gguf"


def load_toy(path, **changes):
    path.write_bytes(toy_gguf(**changes))
    return load_gguf(read_gguf(path))


def edit(folder, **changes):
    """Change config.json; None removes a key."""
    spec = json.loads((folder / "config.json").read_text(encoding="utf-8")) | changes
    kept = {k: v for k, v in spec.items() if v is not None}
    (folder / "config.json").write_text(json.dumps(kept), encoding="utf-8")


# --- the same model from both kinds of file ---


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("kind", "dtype"), [("F32", torch.float32), ("F16", torch.float16), ("BF16", torch.bfloat16)])
@pytest.mark.parametrize("tied", [True, False])
def test_gguf_equals_safetensors(family, kind, dtype, tied, tmp_path):
    """B10: q and k of the Llama family are un-permuted, with 9 query heads over 3; those of Qwen stay."""
    theirs = hf_model(family, tie_word_embeddings=tied).to(dtype)
    theirs.save_pretrained(tmp_path)
    folder, file = load_folder(tmp_path), load_gguf(read_gguf(write_gguf(tmp_path / "a.gguf", theirs, kind)))
    wanted, found = folder.state_dict(), file.state_dict()
    assert wanted.keys() == found.keys()
    for name in wanted:
        assert torch.equal(found[name], wanted[name]), name
    torch.testing.assert_close(file(IDS), folder(IDS), atol=1e-6, rtol=0)
    theirs = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float32)
    torch.testing.assert_close(file(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


@pytest.mark.parametrize("family", ["llama", "qwen3"])
def test_biases_travel_too(family, tmp_path):
    theirs = hf_model(family, attention_bias=True)
    theirs.save_pretrained(tmp_path)
    file = load_gguf(read_gguf(write_gguf(tmp_path / "a.gguf", theirs)))
    torch.testing.assert_close(file(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)
    torch.testing.assert_close(load_folder(tmp_path)(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


@pytest.mark.parametrize("changes", [{"head_dim": 6, "num_attention_heads": 4, "num_key_value_heads": 1}, {"head_dim": 16}])
def test_an_explicit_head_dim_in_gguf(changes, tmp_path):
    theirs = hf_model("llama", **changes)
    file = load_gguf(read_gguf(write_gguf(tmp_path / "a.gguf", theirs)))
    torch.testing.assert_close(file(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("alignment", [8, 64])
def test_versions_and_alignments(version, alignment, tmp_path):
    theirs = hf_model("llama")
    path = write_gguf(tmp_path / "a.gguf", theirs, version=version, alignment=alignment)
    torch.testing.assert_close(load_gguf(read_gguf(path))(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["Q8_0", "Q4_0", "Q4_1"])
def test_quantized_files_load_as_gguf_py_dequantizes(kind, tmp_path):
    theirs = hf_model("llama", hidden_size=64, num_attention_heads=4, num_key_value_heads=2, head_dim=16, intermediate_size=32)
    file = load_gguf(read_gguf(write_gguf(tmp_path / "a.gguf", theirs, kind)))
    quantized = gguf.GGMLQuantizationType[kind]
    for name, parameter in theirs.named_parameters():
        if parameter.dim() == 2 and name.split(".")[-2] not in ("q_proj", "k_proj"):  # those were quantized permuted
            want = gguf.quants.dequantize(gguf.quants.quantize(parameter.detach().numpy(), quantized), quantized)
            assert np.array_equal(file.get_parameter(name.removeprefix("model.")).numpy(), want)
            parameter.data = torch.from_numpy(want)
    for layer, theirs_layer in zip(file.layers, theirs.model.layers):
        theirs_layer.self_attn.q_proj.weight.data = layer.self_attn.q_proj.weight
        theirs_layer.self_attn.k_proj.weight.data = layer.self_attn.k_proj.weight
    torch.testing.assert_close(file(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_weights_have_the_dtype_that_was_asked_for(dtype, folder, tmp_path):
    path = write_gguf(tmp_path / "a.gguf", hf_model("llama"))
    for model in (load_folder(folder, dtype), load_gguf(read_gguf(path), dtype)):
        assert {p.dtype for p in model.parameters()} == {dtype}
        assert not any(p.requires_grad for p in model.parameters())
        assert not model.training


def test_gguf_names():
    assert parameter_name("blk.31.attn_q.weight") == "layers.31.self_attn.q_proj.weight"
    assert parameter_name("token_embd.weight") == "embed_tokens.weight"


# --- the head (B11) ---


def test_without_an_output_weight_the_head_is_the_embedding(tmp_path):
    model = load_gguf(read_gguf(write_gguf(tmp_path / "a.gguf", hf_model("llama"))))
    assert model.config.tie_word_embeddings
    assert model.head is model.embed_tokens.weight


def test_an_output_weight_wins_over_the_embedding(tmp_path):
    theirs = hf_model("llama", tie_word_embeddings=False)
    model = load_gguf(read_gguf(write_gguf(tmp_path / "a.gguf", theirs)))
    assert torch.equal(model.head, theirs.lm_head.weight)
    assert not torch.equal(model.head, model.embed_tokens.weight)


def test_without_an_embedding_nothing_loads(scratch):
    for others in ({}, {"output.weight": (8, 8)}, {"embed_tokens.weight": (8, 8)}):
        with refused("'token_embd.weight' is not in the file"):
            load_toy(scratch, tensors={"token_embd.weight": None, **others})


def test_a_tied_folder_ignores_a_stored_copy_of_the_head(copy):
    weights = load_file(copy / "model.safetensors")
    save_file(weights | {"lm_head.weight": torch.zeros(61, 72)}, copy / "model.safetensors")
    model = load_folder(copy)
    assert torch.equal(model.head, weights["model.embed_tokens.weight"])


# --- positions ---


@pytest.mark.parametrize("key", ["rope.scaling.factor", "rope.scale_linear"])
@pytest.mark.parametrize("named", [True, False])
def test_linear_scaling_in_gguf(key, named, tmp_path):
    theirs = hf_model("llama", rope_parameters=LINEAR)
    metadata = {f"llama.{key}": 4.0} | ({"llama.rope.scaling.type": "linear"} if named else {})
    file = load_gguf(read_gguf(write_gguf(tmp_path / "a.gguf", theirs, metadata=metadata)))
    torch.testing.assert_close(file(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


def test_rope_freqs_in_gguf_are_llama3_scaling(tmp_path):
    """B16."""
    theirs, plain = hf_model("llama", rope_parameters=LLAMA3), hf_model("llama")
    factors = LlamaRotaryEmbedding(plain.config).inv_freq / LlamaRotaryEmbedding(theirs.config).inv_freq
    path = write_gguf(tmp_path / "a.gguf", theirs, extra={"rope_freqs.weight": factors.numpy()})
    torch.testing.assert_close(load_gguf(read_gguf(path))(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


@pytest.mark.parametrize("shape", [(1,), (4,), (2, 1)])
def test_rope_freqs_of_another_shape(shape, scratch):
    with refused("'rope_freqs.weight' has the shape"):
        load_toy(scratch, tensors={"rope_freqs.weight": shape})


@pytest.mark.parametrize("key", ["type", "rope_type"])
def test_older_spellings_of_scaling_in_config_json(key, copy):
    edit(copy, rope_parameters=None, rope_theta=10000.0, rope_scaling={key: "linear", "factor": 4.0})
    theirs = hf_model("llama", rope_parameters=LINEAR)
    torch.testing.assert_close(load_folder(copy)(IDS), hf_logits(theirs, IDS), atol=1e-4, rtol=0)


# --- GGUF files that are whole but wrong ---


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("general.architecture", ["mamba", "gpt2", "", 3, None, ["llama"]]),
        ("llama.block_count", ["1", 1.0, True, None, 0, -1, 2, 10**9, 2**63, [1]]),
        ("llama.embedding_length", ["8", 8.0, None, 0, -8, 7, 16, 2**40, 2**63, [8]]),
        ("llama.feed_forward_length", ["8", None, 0, -8, 9, 2**40, 2**63, [8]]),
        ("llama.attention.head_count", ["2", 2.0, None, 0, -2, 3, 2**40, 2**63, [2]]),
        ("llama.attention.head_count_kv", ["1", 0, -1, 2, 3, 2**63, [1]]),
        ("llama.attention.key_length", ["4", 0, -4, 3, 2**31, 2**40, 2**63]),
        ("llama.attention.value_length", ["4", 0, 8, -4]),
        ("llama.context_length", ["32", None, 0, -1, [32]]),
        ("llama.attention.layer_norm_rms_epsilon", ["x", None, 0.0, -1.0, NAN, INF, True]),
        ("llama.rope.freq_base", ["x", 0.0, -1.0, NAN, INF, [1.0]]),
        ("llama.rope.dimension_count", [2, 8, 0, "4"]),
        ("llama.expert_count", [1, 8, "8"]),
        ("llama.rope.scaling.factor", ["x", 0.0, -1.0, NAN, INF]),
        ("llama.rope.scaling.type", ["yarn", "longrope", "", 1, "linear"]),
    ],
)
def test_metadata_that_cannot_be(key, wrong, scratch):
    names = {  # what a check of the built config calls it
        "llama.block_count": "num_hidden_layers|layers are claimed|layers.1",
        "llama.embedding_length": "hidden_size|head_dim|embed_tokens|layers",
        "llama.feed_forward_length": "intermediate_size|mlp",
        "llama.attention.head_count": "num_attention_heads|head_dim|q_proj|k_proj",
        "llama.attention.head_count_kv": "num_key_value_heads|k_proj",
        "llama.attention.key_length": "head_dim|value_length|q_proj|k_proj",
        "llama.context_length": "max_position_embeddings",
        "llama.attention.layer_norm_rms_epsilon": "rms_norm_eps",
        "llama.rope.freq_base": "rope_theta",
        "llama.rope.scaling.factor": "RoPE scaling factor",
        "llama.rope.scaling.type": "rope.scaling",
    }
    for item in wrong:
        with refused(f"{key}|{names.get(key, key)}"):
            load_toy(scratch, metadata={key: item})


@pytest.mark.parametrize("kind", ["yarn", "longrope", "dynamic"])
def test_unknown_scaling_is_refused_by_name(kind, scratch, copy):
    """B16: never skipped."""
    with refused(f"llama.rope.scaling: type '{kind}' is not supported"):
        load_toy(scratch, metadata={"llama.rope.scaling.type": kind, "llama.rope.scaling.factor": 2.0})
    edit(copy, rope_parameters={"rope_type": kind, "rope_theta": 10000.0, "factor": 2.0})
    with refused(f"rope_scaling: type '{kind}' is not supported"):
        load_folder(copy)


@pytest.mark.parametrize("name", ["blk.0.attn_norm", "blk.0.attn_q", "blk.0.attn_v", "blk.0.ffn_down", "output_norm"])
def test_missing_and_misshapen_tensors(name, scratch):
    theirs = parameter_name(f"{name}.weight")
    for shape in (None, (16,), (8, 16), (16, 8), (8, 8, 1)):
        with refused(f"{theirs}.*the model needs"):
            load_toy(scratch, tensors={f"{name}.weight": shape})


@pytest.mark.parametrize(
    "name",
    [
        "blk.0.attn_q.bias",  # without those of k and v
        "blk.0.attn_norm.bias",
        "blk.0.attn_q_norm.weight",
        "blk.1.attn_q.weight",
        "blk.00.attn_q.weight",
        "blk.0.ffn_gate_inp.weight",
        "blk.0.attn_sinks",
        "layers.0.self_attn.q_proj.weight",
        "embed_tokens.weight",
        "lm_head.weight",
        "mystery",
        "",
    ],
)
def test_superfluous_tensors(name, scratch):
    with refused(f"'{name}' is not part of|for '.*': the model needs"):
        load_toy(scratch, tensors={name: (8,)})


@pytest.mark.parametrize("name", ["token_embd.weight", "blk.0.ffn_up.weight", "output_norm.weight", "rope_freqs.weight"])
@pytest.mark.parametrize(("number", "said"), [(200, r"200 \(unknown\)"), (26, "I32")])
def test_types_without_a_decoder(name, number, said, scratch):
    """B15."""
    with refused(f"'{name}' has type {said}"):
        load_toy(scratch, tensors={name: ((2,) if "freqs" in name else (8,) if "norm" in name else (8, 8), number)})


def test_an_undecodable_tensor_cannot_set_the_size_of_the_model(scratch):
    """Its bytes cannot be counted, so neither can its shape be believed."""
    with refused("'token_embd.weight' has type 200"):
        load_toy(scratch, tensors={"token_embd.weight": ((2**40, 2**62), 200)}, metadata={"llama.embedding_length": 2**40})


# --- Hugging Face folders ---


def test_several_shards(copy):
    weights = load_file(copy / "model.safetensors")
    want = load_folder(copy)(IDS)
    (copy / "model.safetensors").unlink()
    for n in range(3):
        part = {name: w for i, (name, w) in enumerate(sorted(weights.items())) if i % 3 == n}
        save_file(part, copy / f"model-0000{n + 1}-of-00003.safetensors")
    assert torch.equal(load_folder(copy)(IDS), want)
    (copy / "model-00002-of-00003.safetensors").unlink()
    with refused("the model needs .* none in the file"):
        load_folder(copy)


def test_a_tensor_in_two_files(copy):
    """B15: neither replaces the other in silence."""
    save_file({"model.norm.weight": torch.ones(72)}, copy / "other.safetensors")
    with refused("other.safetensors: tensor 'model.norm.weight' stands in the folder twice"):
        load_folder(copy)


def test_constants_of_old_checkpoints_are_left_out(copy):
    weights = load_file(copy / "model.safetensors")
    save_file(weights | {"model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(4)}, copy / "model.safetensors")
    assert torch.equal(load_folder(copy).norm.weight, weights["model.norm.weight"])


@pytest.mark.parametrize(
    ("name", "tensor"),
    [
        ("model.norm.weight", None),
        ("model.norm.weight", torch.ones(71)),
        ("model.norm.weight", torch.ones(72, 1)),
        ("model.layers.1.mlp.up_proj.weight", torch.ones(72, 40)),
        ("model.layers.2.mlp.up_proj.weight", torch.ones(40, 72)),
        ("model.layers.0.self_attn.q_proj.bias", torch.ones(72)),
        ("mystery", torch.ones(3)),
    ],
)
def test_missing_misshapen_and_superfluous_tensors_in_a_folder(name, tensor, copy):
    weights = load_file(copy / "model.safetensors")
    weights.pop(name, None)
    save_file(weights if tensor is None else weights | {name: tensor}, copy / "model.safetensors")
    with refused(f"{name.removeprefix('model.')}.*the model needs"):
        load_folder(copy)


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2, torch.int8, torch.int64, torch.float64, torch.bool])
def test_folder_tensors_of_other_types(dtype, copy):
    """B13."""
    weights = load_file(copy / "model.safetensors")
    weights["model.norm.weight"] = weights["model.norm.weight"].to(dtype)
    save_file(weights, copy / "model.safetensors")
    with refused("'model.norm.weight' has type .*; supported types: F32, F16, BF16"):
        load_folder(copy)


def tensor_spec(start, end, shape=(2,), dtype="F32"):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [start, end]}


def safetensors_bytes(header, data=b"", length=None):
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw) if length is None else length) + raw + data


REPEATED = b'{"twin":%s,"twin":%s}' % ((json.dumps(tensor_spec(0, 8)).encode(),) * 2)
DAMAGED = {
    "empty": b"",
    "three bytes": b"abc",
    "header length 2^60": safetensors_bytes({}, length=2**60),
    "header longer than the file": safetensors_bytes({}, length=1000),
    "truncated data": safetensors_bytes({"a": tensor_spec(0, 8)}, b"\0" * 7),
    "begin after end": safetensors_bytes({"a": tensor_spec(8, 0)}, b"\0" * 8),
    "size mismatch": safetensors_bytes({"a": tensor_spec(0, 8, (3,))}, b"\0" * 8),
    "overlap": safetensors_bytes({"a": tensor_spec(0, 8), "b": tensor_spec(4, 12)}, b"\0" * 12),
    "the same bytes twice": safetensors_bytes({"a": tensor_spec(0, 8), "b": tensor_spec(0, 8)}, b"\0" * 8),
    "hole": safetensors_bytes({"a": tensor_spec(0, 8), "b": tensor_spec(12, 20)}, b"\0" * 20),
    "trailing bytes": safetensors_bytes({"a": tensor_spec(0, 8)}, b"\0" * 9),
    "negative shape": safetensors_bytes({"a": tensor_spec(0, 8, (-2,))}, b"\0" * 8),
    "huge shape": safetensors_bytes({"a": tensor_spec(0, 8, (2**62, 8))}, b"\0" * 8),
    "huger shape": safetensors_bytes({"a": tensor_spec(0, 8, (2**70,))}, b"\0" * 8),
    "offsets past the end": safetensors_bytes({"a": tensor_spec(2**60, 2**60 + 8)}, b"\0" * 8),
    "invalid JSON": safetensors_bytes(b"{nope"),
    "a list": safetensors_bytes(b"[]"),
    "deep nesting": safetensors_bytes(b'{"a":' + b"[" * 100_000),
    "invalid UTF-8": safetensors_bytes(b'{"\xff":%s}' % json.dumps(tensor_spec(0, 8)).encode(), b"\0" * 8),
    "unknown type": safetensors_bytes({"a": tensor_spec(0, 2, dtype="Q9")}, b"\0" * 2),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damaged_safetensors(content, copy):
    """B12: one sound file does not make up for it."""
    (copy / "bad.safetensors").write_bytes(content)
    with refused("bad.safetensors: "):
        load_folder(copy)


def test_a_name_that_stands_twice_in_one_safetensors_file(copy):
    (copy / "bad.safetensors").write_bytes(safetensors_bytes(REPEATED, b"\0" * 8))
    with refused("bad.safetensors: tensor 'twin' stands twice in the file"):
        load_folder(copy)


@pytest.mark.parametrize("dtype", ["F4", "F6_E2M3", "F8_E8M0", "U64", "C64"])
def test_types_that_only_a_hand_made_file_has(dtype, copy):
    weights = load_file(copy / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, copy / "model.safetensors")
    size = 72 * {"F4": 4, "F6_E2M3": 6, "F8_E8M0": 8, "U64": 64, "C64": 64}[dtype] // 8
    header = {"model.norm.weight": tensor_spec(0, size, (72,), dtype)}
    (copy / "norm.safetensors").write_bytes(safetensors_bytes(header, b"\0" * size))
    with refused(f"'model.norm.weight' has type {dtype}"):
        load_folder(copy)


def test_safetensors_cut_anywhere(copy):
    path = copy / "model.safetensors"
    whole = path.read_bytes()
    for length in [*range(0, 200), len(whole) // 2, len(whole) - 100, len(whole) - 1]:
        path.write_bytes(whole[:length])
        with refused("model.safetensors: "):
            load_folder(copy)


def test_metadata_alone_is_a_file_of_no_tensors(copy):
    """B12."""
    content = safetensors_bytes({"__metadata__": {"format": "pt"}})
    (copy / "alone.safetensors").write_bytes(content)
    assert load_folder(copy)(IDS).shape == (2, 20, 61)
    (copy / "model.safetensors").unlink()
    with refused("2 layers are claimed, the file holds 0 tensors"):
        load_folder(copy)


def test_a_folder_without_weights(copy):
    (copy / "model.safetensors").unlink()
    with refused("no .safetensors file in copy"):
        load_folder(copy)


@pytest.mark.parametrize(
    ("content", "match"),
    [
        (b"", "config.json is not valid JSON"),
        (b"{", "config.json is not valid JSON"),
        (b"\xff\xfe{}", "config.json is not valid JSON"),
        (b"[" * 200_000, "config.json is not valid JSON"),
        (b"[1]", "config.json holds a list"),
        (b"3", "config.json holds a int"),
        (b"null", "config.json holds a NoneType"),
        (b"{}", "model_type is None"),
    ],
)
def test_config_json_that_is_none(content, match, copy):
    (copy / "config.json").write_bytes(content)
    with refused(match):
        load_folder(copy)


def test_config_json_missing(copy):
    (copy / "config.json").unlink()
    with refused("config.json is missing from copy"):
        load_folder(copy)


@pytest.mark.parametrize(
    ("key", "wrong"),
    [
        ("model_type", ["mixtral", "gpt2", None, 3, ["llama"]]),
        ("vocab_size", ["61", 61.0, None, 0, -1, 2**40, 2**70, True, [61]]),
        ("hidden_size", ["72", None, 0, -72, 2**40, 2**70]),
        ("intermediate_size", ["40", None, 0, 2**40]),
        ("num_hidden_layers", ["2", None, 0, -1, 10**9, 2**70]),
        ("num_attention_heads", ["9", None, 0, -9, 8, 2**40]),
        ("num_key_value_heads", ["3", 0, -3, 2, 18]),
        ("head_dim", ["8", 0, -8, 7, 2**31, 2**40, 2**70]),
        ("max_position_embeddings", ["64", 0, -1, 64.0]),
        ("rms_norm_eps", ["x", 0, -1e-6, NAN, INF, True, 10**400]),
        ("tie_word_embeddings", ["yes", 1]),
        ("attention_bias", ["yes", 1]),
        ("hidden_act", ["gelu", "relu", ["silu"]]),
        ("mlp_bias", [True]),
        ("use_sliding_window", [True]),
        ("partial_rotary_factor", [0.5]),
        ("rope_parameters", ["linear", [1], 5]),
    ],
)
def test_config_values_that_cannot_be(key, wrong, copy):
    others = {"num_hidden_layers": "layers are claimed", "num_attention_heads": "num_key_value_heads|q_proj"}
    for item in wrong:
        edit(copy, **{key: item})
        with refused(f"{key}|{others.get(key, key)}"):
            load_folder(copy)


@pytest.mark.parametrize(
    ("rope", "match"),
    [
        ({"rope_type": "default", "rope_theta": "x"}, "rope_theta is 'x'"),
        ({"rope_type": "default", "rope_theta": [1]}, "rope_theta is"),
        ({"rope_type": "default", "rope_theta": 10**400}, "rope_theta is"),
        ({"rope_type": "default", "rope_theta": -5.0}, "rope_theta is -5.0"),
        ({"rope_type": "default", "partial_rotary_factor": 0.25}, "partial_rotary_factor is 0.25"),
        ({"rope_type": ["linear"], "factor": 2.0}, r"type \['linear'\] is not supported"),
        ({"rope_type": "linear"}, "factor is None"),
        ({"rope_type": "linear", "factor": "2"}, "factor is '2'"),
        ({"rope_type": "linear", "factor": 0}, "factor is 0"),
        ({"rope_type": "linear", "factor": True}, "factor is True"),
        (LLAMA3 | {"high_freq_factor": None}, "high_freq_factor is None"),
        (LLAMA3 | {"high_freq_factor": 1.0}, "low_freq_factor 1.0 must be below"),
        (LLAMA3 | {"original_max_position_embeddings": "x"}, "original_max_position_embeddings is 'x'"),
    ],
)
def test_rope_values_that_cannot_be(rope, match, copy):
    edit(copy, rope_parameters=rope)
    with refused(match):
        load_folder(copy)


def test_config_defaults_are_those_of_transformers(folder):
    spec = read_json(folder / "config.json")
    for key in ("num_key_value_heads", "head_dim", "rope_parameters", "attention_bias", "mlp_bias"):
        spec.pop(key)
    config = hf_config(spec)
    assert (config.num_key_value_heads, config.head_dim, config.rope_theta) == (9, 8, 10000.0)
    assert not config.attention_bias
    assert hf_config(spec | {"model_type": "qwen2"}).attention_bias


# --- the real model against another engine ---


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    """What tools/reference_logits.py computes now, from the file by way of the gguf package and transformers."""
    path = Path(__file__).resolve().parents[1] / "tools" / "reference_logits.py"
    spec = importlib.util.spec_from_file_location("reference_logits", path)
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    return {"path": tool.DATA, "content": tool.reference()}


def test_the_reference_in_data_is_what_its_script_makes(made):
    kept = json.loads(made["path"].read_text(encoding="utf-8"))
    assert kept["model"] == made["content"]["model"]
    for prompt, again in zip(kept["prompts"], made["content"]["prompts"], strict=True):
        assert (prompt["text"], prompt["ids"]) == (again["text"], again["ids"])
        assert len(prompt["logits"].keys() ^ again["logits"].keys()) <= 2  # two logits that are nearly equal may change places
        for i in prompt["logits"].keys() & again["logits"].keys():
            assert prompt["logits"][i] == pytest.approx(again["logits"][i], abs=1e-3)


def test_the_real_model_has_the_logits_of_the_reference(smollm2, made):
    for prompt in json.loads(made["path"].read_text(encoding="utf-8"))["prompts"]:
        assert smollm2.encode(prompt["text"]) == prompt["ids"]
        with torch.inference_mode():
            logits = smollm2.model(torch.tensor([prompt["ids"]]))[0, -1]
        got = {i: float(logits[int(i)]) for i in prompt["logits"]}
        assert got == pytest.approx(prompt["logits"], abs=1e-3)
        assert str(int(logits.argmax())) == next(iter(prompt["logits"]))


# --- what loading costs ---


def test_loading_the_real_model_does_not_double_its_memory():
    """R07: 0.54 GB of float32 weights, beside Python, torch and the mapped file."""
    code = "import llmlite; llmlite.load('smollm2'); print(open('/proc/self/status', encoding='utf-8').read())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8", check=True)
    peak = re.search(r"VmHWM:\s+(\d+) kB", run.stdout)  # ru_maxrss would count what the parent held before the exec
    assert peak and int(peak[1]) * 1024 < 1.3e9
