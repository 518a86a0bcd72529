"""The whole model: RMSNorm, SwiGLU, the block, and the stack of blocks between embedding and head.

One class serves the Llama, Qwen2 and Qwen3 families; parameters carry the names of Hugging Face checkpoints.
Sources: Zhang and Sennrich 2019 (arXiv:1910.07467) for RMSNorm; Shazeer 2020 (arXiv:2002.05202) for SwiGLU; Touvron et al.
2023 (arXiv:2302.13971) for the Llama block.
"""

import math
from dataclasses import dataclass, fields
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .attention import causal_mask, grouped_query_attention
from .embedding import embed, unembed
from .rope import RopeScaling, apply_rope, rope_frequencies, rope_tables, scale_frequencies


@dataclass(frozen=True)
class Config:
    """The shape of a model, under the names that Hugging Face's config.json uses."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    head_dim: int
    max_position_embeddings: int
    rope_theta: float = 10000.0
    rms_norm_eps: float = 1e-5
    tie_word_embeddings: bool = False
    attention_bias: bool = False  # on q, k and v
    output_bias: bool = False  # on the attention's output projection
    qk_norm: bool = False
    rope_scaling: RopeScaling | None = None

    def __post_init__(self) -> None:
        for name in [field.name for field in fields(self)][:8]:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} is {getattr(self, name)}, it must be at least 1")
        for name in ("rope_theta", "rms_norm_eps"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} is {getattr(self, name)}, it must be a positive number")
        if self.num_attention_heads % self.num_key_value_heads:
            raise ValueError(
                f"num_attention_heads ({self.num_attention_heads}) must be a multiple of "
                f"num_key_value_heads ({self.num_key_value_heads})"
            )


class Cache(Protocol):
    """What the model asks of a cache of keys and values; `kv_cache.KVCache` is one."""

    length: int

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]: ...

    def advance(self, tokens: int) -> None: ...


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Scale each row of x to unit root-mean-square, then by weight.

    Computed in float32, returned in x's dtype.
    """
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return (wide * scale).to(x.dtype) * weight


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """Let silu(gate) = gate * sigmoid(gate) decide, value by value, how much of up passes."""
    return F.silu(gate) * up


def count_parameters(config: Config) -> int:
    """Count the numbers that training sets in a model of this shape; a tied table counts once."""
    hidden, q = config.hidden_size, config.num_attention_heads * config.head_dim
    kv = config.num_key_value_heads * config.head_dim
    attention = 2 * hidden * q + 2 * hidden * kv  # q and o, k and v
    attention += config.attention_bias * (q + 2 * kv) + config.output_bias * hidden + config.qk_norm * 2 * config.head_dim
    block = attention + 3 * hidden * config.intermediate_size + 2 * hidden
    tables = 1 if config.tie_word_embeddings else 2
    return config.num_hidden_layers * block + tables * config.vocab_size * hidden + hidden


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """Multiply x (..., in_features) by a weight (out_features, in_features): the result is (..., out_features).

    On a CPU, torch may leave the float32 product of a single row to one thread, which cannot read memory as fast as all of
    them together. So each thread gets a slice of the weight's rows: a batch of small products, without a copy.
    """
    threads = torch.get_num_threads()
    one_row = x.numel() == x.shape[-1] and x.dtype == torch.float32 and x.device.type == "cpu"
    if not one_row or threads == 1 or len(weight) % threads:
        return F.linear(x, weight, bias)
    slices = weight.unflatten(0, (threads, -1))  # (threads, out_features / threads, in_features)
    out = (x.reshape(1, 1, -1).expand(threads, 1, -1) @ slices.mT).view(*x.shape[:-1], -1)
    return out if bias is None else out + bias


class Linear(nn.Module):
    """x times a weight of shape (out_features, in_features), plus a bias where there is one. The weight starts unset."""

    def __init__(self, in_features: int, out_features: int, bias: bool = False) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))
        self.bias = nn.Parameter(torch.empty(out_features)) if bias else None

    def forward(self, x: Tensor) -> Tensor:
        return linear(x, self.weight, self.bias)


class Embedding(nn.Module):
    """`embed` with its table, (vocab_size, hidden_size). The table starts unset."""

    def __init__(self, vocab_size: int, hidden_size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(vocab_size, hidden_size))

    def forward(self, ids: Tensor) -> Tensor:
        return embed(ids, self.weight)


class RMSNorm(nn.Module):
    """`rms_norm` with its weight, which starts unset."""

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(size))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return rms_norm(x, self.weight, self.eps)


class Attention(nn.Module):
    """Project to queries, keys and values, rotate them, attend to everything seen so far, project back."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self.layer, self.head_dim = layer, config.head_dim
        q_size = config.num_attention_heads * config.head_dim
        kv_size = config.num_key_value_heads * config.head_dim
        self.q_proj = Linear(config.hidden_size, q_size, bias=config.attention_bias)
        self.k_proj = Linear(config.hidden_size, kv_size, bias=config.attention_bias)
        self.v_proj = Linear(config.hidden_size, kv_size, bias=config.attention_bias)
        self.o_proj = Linear(q_size, config.hidden_size, bias=config.output_bias)
        self.q_norm = RMSNorm(config.head_dim, config.rms_norm_eps) if config.qk_norm else nn.Identity()
        self.k_norm = RMSNorm(config.head_dim, config.rms_norm_eps) if config.qk_norm else nn.Identity()

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        q = apply_rope(self.q_norm(self._heads(self.q_proj(x))), cos, sin)
        k = apply_rope(self.k_norm(self._heads(self.k_proj(x))), cos, sin)
        v = self._heads(self.v_proj(x))
        if cache is not None:
            k, v = cache.append(self.layer, k, v)  # (batch, kv_heads, all tokens so far, head_dim)
        out = grouped_query_attention(q, k, v, mask)
        return self.o_proj(out.transpose(1, 2).flatten(2))  # (batch, tokens, hidden_size)

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.head_dim)).transpose(1, 2)  # (batch, heads, tokens, head_dim)


class MLP(nn.Module):
    """Widen, gate, narrow."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gate_proj = Linear(config.hidden_size, config.intermediate_size)
        self.up_proj = Linear(config.hidden_size, config.intermediate_size)
        self.down_proj = Linear(config.intermediate_size, config.hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(swiglu(self.gate_proj(x), self.up_proj(x)))


class Block(nn.Module):
    """One layer: attention, then the MLP; each reads a normalised copy and adds to the stream."""

    def __init__(self, config: Config, layer: int) -> None:
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor, mask: Tensor | None, cache: Cache | None) -> Tensor:
        """The stream x (batch, tokens, hidden_size) after this layer."""
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


class Transformer(nn.Module):
    """Token ids in, logits out. With tied embeddings the head is the embedding table itself, held once."""

    def __init__(self, config: Config, rope_factors: Tensor | None = None) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(Block(config, layer) for layer in range(config.num_hidden_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        if not config.tie_word_embeddings:
            self.lm_head = Linear(config.hidden_size, config.vocab_size)
        with torch.device("cpu"):  # never left on the meta device: these are not read from a file
            frequencies = rope_frequencies(config.head_dim, config.rope_theta)
            frequencies = scale_frequencies(frequencies, config.rope_scaling)
        self.frequencies = frequencies if rope_factors is None else frequencies / rope_factors

    @property
    def head(self) -> Tensor:
        """The table that turns hidden states into logits, (vocab_size, hidden_size)."""
        return self.embed_tokens.weight if self.config.tie_word_embeddings else self.lm_head.weight

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.embed_tokens.weight.device

    def forward(self, ids: Tensor, cache: Cache | None = None, *, last_only: bool = False) -> Tensor:
        """Logits (batch, tokens, vocab_size) for ids (batch, tokens); with last_only for the last token alone.

        With a cache, ids continue what it holds, and their keys and values are added to it.
        Raises ValueError for no tokens, for ids out of range, and for positions past the context.
        """
        start = 0 if cache is None else cache.length
        tokens = self._check(ids, start)
        positions = torch.arange(start, start + tokens, device=ids.device)
        cos, sin = rope_tables(positions, self.frequencies.to(ids.device))
        mask = causal_mask(tokens, start + tokens, start).to(ids.device) if tokens > 1 else None
        x = self.embed_tokens(ids)  # (batch, tokens, hidden_size)
        cos, sin = cos.to(x.dtype), sin.to(x.dtype)  # once, not in every layer
        for layer in self.layers:
            x = layer(x, cos, sin, mask, cache)
        if cache is not None:
            cache.advance(tokens)
        return unembed(self.norm(x[:, -1:] if last_only else x), self.head)

    def _check(self, ids: Tensor, start: int) -> int:
        if ids.dim() != 2 or ids.numel() == 0:
            raise ValueError(f"ids must be (batch, tokens) with at least one token, not {tuple(ids.shape)}")
        tokens, limit = ids.shape[1], self.config.max_position_embeddings
        if start + tokens > limit:
            raise ValueError(f"{start + tokens} tokens do not fit the model's context of {limit}")
        return tokens
