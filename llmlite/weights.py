"""Model files to a Transformer: GGUF files, and Hugging Face folders (through the safetensors library).

A file's config decides the model's shape; every tensor it needs must be there with that shape, and nothing may be left over.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from .gguf import GGUF, ModelFileError
from .rope import RopeScaling, unpermute
from .transformer import Config, Transformer

T = TypeVar("T")

FAMILIES = ("llama", "qwen2", "qwen3")

_GGUF_NAMES = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm", "ffn_norm": "post_attention_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}  # fmt: skip


def parameter_name(name: str) -> str:
    """The model's name for a GGUF tensor: blk.3.attn_q.weight is layers.3.self_attn.q_proj.weight.

    Raises ModelFileError for a tensor that none of the families has.
    """
    top = {"token_embd": "embed_tokens", "output_norm": "norm", "output": "lm_head"}
    stem, _, kind = name.rpartition(".")
    block, layer, part = (*stem.split("."), "", "")[:3]
    if stem in top:
        return f"{top[stem]}.{kind}"
    if block == "blk" and part in _GGUF_NAMES and stem.count(".") == 2:
        return f"layers.{layer}.{_GGUF_NAMES[part]}.{kind}"
    raise ModelFileError(f"tensor {name!r} is not part of the models supported here")


def load_gguf(file: GGUF, dtype: torch.dtype = torch.float32) -> Transformer:
    """Build the model that an opened GGUF file holds, its weights decoded to dtype one tensor at a time.

    Raises ModelFileError for another architecture, a missing, superfluous or misshapen tensor, and unsupported types.
    """
    config = gguf_config(file)
    names = {parameter_name(n): n for n in file.tensors if n != "rope_freqs.weight"}
    factors = _rope_factors(file, config.head_dim)
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}

    def read(name: str) -> Tensor:
        tensor, part = file.read(names[name]).to(dtype), name.split(".")[-2]
        permuted = file.metadata["general.architecture"] == "llama" and part in heads
        return unpermute(tensor, heads[part]) if permuted else tensor

    shapes = {name: file.info(source).shape for name, source in names.items()}
    return _fill(config, shapes, read, factors)


def _rope_factors(file: GGUF, head_dim: int) -> Tensor | None:
    """What each rotary frequency is divided by, where the file says so (the long-context scaling of Llama 3)."""
    if "rope_freqs.weight" not in file.tensors:
        return None
    if (shape := file.info("rope_freqs.weight").shape) != (head_dim // 2,):
        raise ModelFileError(f"tensor 'rope_freqs.weight' has the shape {shape}, it should be {(head_dim // 2,)}")
    return file.read("rope_freqs.weight")


def gguf_config(file: GGUF) -> Config:
    """The model's shape, from a GGUF file's metadata and tensor list."""
    arch = file.metadata.get("general.architecture")
    if arch not in FAMILIES:
        raise ModelFileError(f"general.architecture is {arch!r}; supported: {', '.join(FAMILIES)}")
    meta = _Fields({k.removeprefix(f"{arch}."): v for k, v in file.metadata.items()}, f"{arch}.")
    heads, hidden = meta.get("attention.head_count", int), meta.get("embedding_length", int)
    head_dim = meta.get("attention.key_length", int, hidden // max(heads, 1))
    for key, want in {"attention.value_length": head_dim, "rope.dimension_count": head_dim, "expert_count": 0}.items():
        if meta.get(key, int, want) != want:
            raise ModelFileError(f"{arch}.{key} is {meta.get(key, int)}; only {want} is supported here")
    scaling = None
    factor, older = "rope.scaling.factor", "rope.scale_linear"
    if factor not in meta.values and older in meta.values:
        factor = older
    implied = "linear" if factor in meta.values else "none"  # as in llama.cpp
    if (kind := meta.get("rope.scaling.type", str, implied)) != "none":
        scaling = _scaling({"rope_type": kind, "factor": meta.get(factor, float)}, f"{arch}.rope.scaling")
    return _make(
        Config,
        vocab_size=file.info("token_embd.weight").shape[0],
        hidden_size=hidden,
        intermediate_size=meta.get("feed_forward_length", int),
        num_hidden_layers=meta.get("block_count", int),
        num_attention_heads=heads,
        num_key_value_heads=meta.get("attention.head_count_kv", int, heads),
        head_dim=head_dim,
        max_position_embeddings=meta.get("context_length", int),
        rope_theta=meta.get("rope.freq_base", float, 10000.0),
        rms_norm_eps=meta.get("attention.layer_norm_rms_epsilon", float),
        tie_word_embeddings="output.weight" not in file.tensors,
        attention_bias="blk.0.attn_q.bias" in file.tensors,
        output_bias="blk.0.attn_output.bias" in file.tensors,
        qk_norm="blk.0.attn_q_norm.weight" in file.tensors,
        rope_scaling=scaling,
    )


def load_folder(folder: Path, dtype: torch.dtype = torch.float32) -> Transformer:
    """Build the model of a Hugging Face folder: config.json beside one or more .safetensors files.

    Raises ModelFileError as `load_gguf` does.
    """
    config = hf_config(read_json(folder / "config.json"))
    paths = sorted(folder.glob("*.safetensors"))
    if not paths:
        raise ModelFileError(f"no .safetensors file in {folder.name}")
    files: dict[str, tuple[Any, str]] = {}
    for path in paths:
        file = _open(path)
        for key in file.keys():  # noqa: SIM118 (not a dict: it cannot be iterated)
            if key.endswith("rotary_emb.inv_freq"):  # old checkpoints carry this constant
                continue
            if (name := key.removeprefix("model.")) in files:
                raise ModelFileError(f"{path.name}: tensor {key!r} stands in the folder twice")
            files[name] = (file, key)
    if config.tie_word_embeddings:
        files.pop("lm_head.weight", None)

    def read(name: str) -> Tensor:
        file, key = files[name]
        if (kind := file.get_slice(key).get_dtype()) not in ("F32", "F16", "BF16"):
            raise ModelFileError(f"tensor {key!r} has type {kind}; supported types: F32, F16, BF16")
        return file.get_tensor(key).to(dtype)

    return _fill(config, {n: tuple(f.get_slice(k).get_shape()) for n, (f, k) in files.items()}, read)


def _open(path: Path) -> Any:
    """Open a safetensors file. The library checks it, except that of two tensors of one name it would keep the last."""
    try:
        file = safe_open(path, framework="pt")
    except SafetensorError as error:
        raise ModelFileError(f"{path.name}: {error}") from None
    with path.open("rb") as raw:
        header = raw.read(int.from_bytes(raw.read(8), "little"))
    names: set[str] = set()
    for name, _ in json.loads(header, object_pairs_hook=list):
        if name in names:
            raise ModelFileError(f"{path.name}: tensor {name!r} stands twice in the file")
        names.add(name)
    return file


def hf_config(spec: Mapping[str, Any]) -> Config:
    """The model's shape, from the contents of a Hugging Face config.json."""
    family = spec.get("model_type")
    if family not in FAMILIES:
        raise ModelFileError(f"config.json: model_type is {family!r}; supported: {', '.join(FAMILIES)}")
    meta = _Fields(spec, "config.json: ")
    rope = meta.get("rope_parameters", dict, {}) or meta.get("rope_scaling", dict, {})
    refused = {"hidden_act": "silu", "mlp_bias": False, "use_sliding_window": False, "partial_rotary_factor": 1.0}
    for key, want in refused.items():
        if (found := spec.get(key, rope.get(key, want))) != want:
            raise ModelFileError(f"config.json: {key} is {found!r}; only {want!r} is supported")
    heads, hidden = meta.get("num_attention_heads", int), meta.get("hidden_size", int)
    theta = meta.get("rope_theta", float, 10000.0)
    return _make(
        Config,
        **{key: meta.get(key, int) for key in ("vocab_size", "intermediate_size", "num_hidden_layers")},
        hidden_size=hidden,
        num_attention_heads=heads,
        num_key_value_heads=meta.get("num_key_value_heads", int, heads),
        head_dim=meta.get("head_dim", int, hidden // max(heads, 1)),
        max_position_embeddings=meta.get("max_position_embeddings", int, 2048),
        rope_theta=_Fields(rope, "config.json: rope_parameters.").get("rope_theta", float, theta),
        rms_norm_eps=meta.get("rms_norm_eps", float, 1e-6),
        tie_word_embeddings=meta.get("tie_word_embeddings", bool, False),
        attention_bias=meta.get("attention_bias", bool, family == "qwen2"),
        output_bias=family != "qwen2" and meta.get("attention_bias", bool, False),
        qk_norm=family == "qwen3",
        rope_scaling=_scaling(rope, "config.json: rope_scaling"),
    )


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file. Raises ModelFileError, naming the file, where there is none."""
    try:
        spec = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelFileError(f"{path.name} is missing from {path.parent.name}") from None
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path.name} is not valid JSON: {error}") from None
    if not isinstance(spec, dict):
        raise ModelFileError(f"{path.name} holds a {type(spec).__name__}, not an object")
    return spec


@dataclass(frozen=True)
class _Fields:
    """Named values of a file, each checked to be of the type that is asked for."""

    values: Mapping[str, Any]
    prefix: str

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        value = self.values.get(key)
        if value is None:
            value = default
        if isinstance(value, int) and kind is float and not isinstance(value, bool) and abs(value) < 2**64:
            value = float(value)
        if not isinstance(value, kind) or isinstance(value, bool) and kind is not bool:
            raise ModelFileError(f"{self.prefix}{key} is {value!r}, it should be of type {kind.__name__}")
        return value


def _scaling(spec: Mapping[str, Any], where: str) -> RopeScaling | None:
    kind = spec.get("rope_type", spec.get("type", "default"))
    if kind == "default":
        return None
    if kind not in ("linear", "llama3"):
        raise ModelFileError(f"{where}: type {kind!r} is not supported; known: linear, llama3")
    meta, types = _Fields(spec, f"{where}."), RopeScaling.__annotations__
    names = ["factor"] if kind == "linear" else list(types)[1:]
    return _make(RopeScaling, kind=kind, **{name: meta.get(name, types[name]) for name in names})


def _make(build: Callable[..., T], **fields: Any) -> T:
    """Build an object from a file's values: what it refuses, the file is refused for."""
    try:
        return build(**fields)
    except ValueError as error:
        raise ModelFileError(str(error)) from None


def _fill(
    config: Config,
    shapes: Mapping[str, tuple[int, ...]],
    read: Callable[[str], Tensor],
    rope_factors: Tensor | None = None,
) -> Transformer:
    """Make the model without memory of its own, check every shape against it, then give it each tensor as it is read."""
    _check_size(config, shapes)
    with torch.device("meta"):
        model = _make(Transformer, config=config, rope_factors=rope_factors)
    wanted = {name: tuple(p.shape) for name, p in model.named_parameters()}
    for name in _differences(wanted, shapes):
        have = shapes.get(name, "none in the file")
        raise ModelFileError(f"tensor for {name!r}: the model needs {wanted.get(name, 'no such tensor')}, there is {have}")
    for name in wanted:
        owner, _, leaf = name.rpartition(".")
        setattr(model.get_submodule(owner), leaf, torch.nn.Parameter(read(name), requires_grad=False))
    return model.eval()


def _check_size(config: Config, shapes: Mapping[str, tuple[int, ...]]) -> None:
    """Refuse a model larger than its file, before anything of that size is made."""
    if config.num_hidden_layers > len(shapes):
        raise ModelFileError(f"{config.num_hidden_layers} layers are claimed, the file holds {len(shapes)} tensors")
    largest = max((dim for shape in shapes.values() for dim in shape), default=0)
    for name in ("hidden_size", "intermediate_size", "vocab_size", "num_attention_heads", "head_dim"):
        if getattr(config, name) > largest:
            raise ModelFileError(f"{name} is {getattr(config, name)}, the longest side of a tensor in the file is {largest}")


def _differences(wanted: Mapping[str, Any], shapes: Mapping[str, Any]) -> Iterator[str]:
    return (name for name in sorted(wanted.keys() | shapes.keys()) if wanted.get(name) != shapes.get(name))
