"""Tiny models of each family in transformers, and GGUF files: well-formed ones by gguf-py, damaged ones byte by byte."""

import math
import struct
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedModel, Qwen2Config, Qwen3Config

from llmlite.gguf import ModelFileError
from llmlite.transformer import Config, Transformer

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}


# --- models ---


def hf_model(family: str, **changes: Any) -> PreTrainedModel:
    """A random transformers model: 9 query heads over 3, two layers, no weight at a value that hides a fault."""
    shape = {
        "vocab_size": 61,
        "hidden_size": 72,
        "intermediate_size": 40,
        "num_hidden_layers": 2,
        "num_attention_heads": 9,
        "num_key_value_heads": 3,
        "max_position_embeddings": 64,
        "head_dim": 8,
        "tie_word_embeddings": True,
    }
    kind = {"llama": LlamaConfig, "qwen2": Qwen2Config, "qwen3": Qwen3Config}[family]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(kind(**shape | changes), attn_implementation="eager", dtype=torch.float32).eval()
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.5 if parameter.dim() == 1 else 0.0, std=0.25)
    return model


def hf_logits(model: PreTrainedModel, ids: Tensor) -> Tensor:
    with torch.no_grad():
        return model(ids).logits


def tiny_config(**changes: Any) -> Config:
    shape = {
        "vocab_size": 19,
        "hidden_size": 24,
        "intermediate_size": 20,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 4,
        "max_position_embeddings": 64,
    }
    return Config(**shape | changes)


FAMILY_CONFIGS = {
    "llama": tiny_config(tie_word_embeddings=True),
    "qwen2": tiny_config(attention_bias=True),
    "qwen3": tiny_config(qk_norm=True, tie_word_embeddings=True, head_dim=6),
}


def random_model(config: Config) -> Transformer:
    torch.manual_seed(0)
    model = Transformer(config).requires_grad_(False)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, mean=0.5 if parameter.dim() == 1 else 0.0, std=0.3)
    return model


# --- GGUF files written by gguf-py ---


def llama_cpp_permute(weight: np.ndarray, heads: int) -> np.ndarray:
    """What llama.cpp's convert_hf_to_gguf.py does to q and k of the Llama family."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, *weight.shape[1:]).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(
    path: Path,
    model: PreTrainedModel,
    kind: str = "F32",
    *,
    version: int = 3,
    alignment: int | None = None,
    metadata: Mapping[str, Any] | None = None,
    extra: Mapping[str, np.ndarray] | None = None,
) -> Path:
    """Write a transformers model as llama.cpp's converter does: matrices in `kind`, vectors in F32."""
    config, family = model.config, model.config.model_type
    writer = gguf.GGUFWriter(path, family)
    if alignment is not None:
        writer.add_custom_alignment(alignment)
    writer.add_context_length(config.max_position_embeddings)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(config.num_attention_heads)
    writer.add_head_count_kv(config.num_key_value_heads)
    writer.add_key_length(config.head_dim)
    writer.add_value_length(config.head_dim)
    writer.add_rope_dimension_count(config.head_dim)
    writer.add_rope_freq_base(config.rope_parameters["rope_theta"])
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    for key, value in (metadata or {}).items():
        (writer.add_string if isinstance(value, str) else writer.add_float32)(key, value)
    arch = {"llama": gguf.MODEL_ARCH.LLAMA, "qwen2": gguf.MODEL_ARCH.QWEN2, "qwen3": gguf.MODEL_ARCH.QWEN3}[family]
    names = gguf.get_tensor_name_map(arch, config.num_hidden_layers)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, parameter in model.named_parameters():
        weight, part = parameter.detach().float().numpy(), name.split(".")[-2]
        if family == "llama" and part in heads:
            weight = llama_cpp_permute(weight, heads[part])
        quantized = gguf.GGMLQuantizationType[kind if weight.ndim == 2 else "F32"]
        data = gguf.quants.quantize(np.ascontiguousarray(weight), quantized)
        writer.add_tensor(names.get_name(name, try_suffixes=(".weight", ".bias")), data, raw_dtype=quantized)
    for name, array in (extra or {}).items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    content = bytearray(path.read_bytes())
    content[4:8] = struct.pack("<I", version)  # little-endian files of versions 2 and 3 differ in nothing else
    path.write_bytes(content)
    return path


# --- GGUF files byte by byte ---


def text(value: str | bytes) -> bytes:
    raw = value.encode() if isinstance(value, str) else value
    return struct.pack("<Q", len(raw)) + raw


def value(item: Any) -> bytes:
    """The type number and the bytes of one metadata value; bytes are taken as they are."""
    if isinstance(item, bytes):
        return item
    if isinstance(item, bool):
        return struct.pack("<I?", 7, item)
    if isinstance(item, int):
        return struct.pack("<IQ", 10, item) if item >= 0 else struct.pack("<Iq", 11, item)
    if isinstance(item, float):
        return struct.pack("<If", 6, item)
    if isinstance(item, str):
        return struct.pack("<I", 8) + text(item)
    assert isinstance(item, list)
    parts = [value(part) for part in item]
    return struct.pack("<I", 9) + parts[0][:4] + struct.pack("<Q", len(parts)) + b"".join(part[4:] for part in parts)


def entry(name: str | bytes, dims: tuple[int, ...], kind: int, offset: int) -> bytes:
    """One entry of the tensor list; dims are in GGUF's order (row length first)."""
    return text(name) + struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)


def gguf_bytes(
    metadata: list[bytes], entries: list[bytes], data: bytes = b"", *, head: bytes = b"GGUF\3\0\0\0", alignment: int = 32
) -> bytes:
    header = head + struct.pack("<QQ", len(entries), len(metadata)) + b"".join(metadata) + b"".join(entries)
    return header + b"\0" * (-len(header) % alignment) + data


METADATA = {
    "general.architecture": "llama",
    "llama.context_length": 32,
    "llama.embedding_length": 8,
    "llama.block_count": 1,
    "llama.feed_forward_length": 8,
    "llama.attention.head_count": 2,
    "llama.attention.head_count_kv": 1,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
}
SHAPES = {
    "token_embd.weight": (8, 8),
    "output_norm.weight": (8,),
    "blk.0.attn_norm.weight": (8,),
    "blk.0.attn_q.weight": (8, 8),
    "blk.0.attn_k.weight": (8, 4),
    "blk.0.attn_v.weight": (8, 4),
    "blk.0.attn_output.weight": (8, 8),
    "blk.0.ffn_norm.weight": (8,),
    "blk.0.ffn_gate.weight": (8, 8),
    "blk.0.ffn_up.weight": (8, 8),
    "blk.0.ffn_down.weight": (8, 8),
}


def toy_gguf(metadata: Mapping[str, Any] | None = None, tensors: Mapping[str, Any] | None = None) -> bytes:
    """A whole one-layer Llama of F32 tensors, with metadata and tensors changed, added, or (None) left out.

    A tensor is given as its dims, or as (dims, type number) for another type (with the same bytes). Large ones have no data.
    """
    fields = {k: v for k, v in (METADATA | dict(metadata or {})).items() if v is not None}
    entries, data, generator = [], b"", np.random.default_rng(0)
    for name, shape in (SHAPES | dict(tensors or {})).items():
        if shape is None:
            continue
        dims, kind = shape if isinstance(shape[0], tuple) else (shape, 0)
        entries.append(entry(name, dims, kind, len(data)))
        raw = generator.normal(size=dims).astype("<f4").tobytes() if math.prod(dims) < 2**20 else b""
        data += raw + b"\0" * (-len(raw) % 32)
    return gguf_bytes([text(key) + value(item) for key, item in fields.items()], entries, data)


# --- what a hostile file may cost ---


class LargestTensor(TorchDispatchMode):
    """Notes the bytes of the largest tensor that any torch operation returns while it is active."""

    nbytes = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and result.device.type == "cpu":
            self.nbytes = max(self.nbytes, result.nbytes)
        return result


@contextmanager
def refused(match: str) -> Iterator[None]:
    """The block must raise ModelFileError with a message that matches, in under a second and without taking memory."""
    start = time.perf_counter()
    tracemalloc.start()
    try:
        with LargestTensor() as largest, pytest.raises(ModelFileError, match=match):
            yield
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert time.perf_counter() - start < 1
    assert peak < 16e6
    assert largest.nbytes < 16e6
