"""Rotary position embedding: queries and keys are turned by an angle that grows with their position.

Each pair of dimensions turns at its own frequency, so that a dot product depends only on the distance between query and key.
Sources: Su et al. 2021 (arXiv:2104.09864); the Llama 3 herd of models 2024 (arXiv:2407.21783) for its scaling.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class RopeScaling:
    """How frequencies are stretched for a longer context: kind "linear" or "llama3" (which alone uses the last three)."""

    kind: str
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_max_position_embeddings: int = 8192

    def __post_init__(self) -> None:
        if not 0 < self.factor < math.inf:
            raise ValueError(f"the RoPE scaling factor is {self.factor}, it must be a positive number")
        if self.kind == "llama3" and not -math.inf < self.low_freq_factor < self.high_freq_factor < math.inf:
            raise ValueError(f"low_freq_factor {self.low_freq_factor} must be below high_freq_factor {self.high_freq_factor}")


def rope_frequencies(head_dim: int, theta: float) -> Tensor:
    """Radians per position for each pair: theta ** (-2 i / head_dim) for pair i, float32.

    There are head_dim / 2 pairs, from fast to slow. Raises ValueError for an odd head_dim.
    """
    if head_dim % 2:
        raise ValueError(f"head_dim is {head_dim}, it must be even: dimensions rotate in pairs")
    return (theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)).float()


def scale_frequencies(frequencies: Tensor, scaling: RopeScaling | None) -> Tensor:
    """Slow frequencies down for a longer context. Raises ValueError for an unknown kind of scaling."""
    if scaling is None:
        return frequencies
    if scaling.kind == "linear":
        return frequencies / scaling.factor
    if scaling.kind == "llama3":
        return _llama3(frequencies, scaling)
    raise ValueError(f"RoPE scaling {scaling.kind!r} is not supported; known: linear, llama3")


def _llama3(frequencies: Tensor, scaling: RopeScaling) -> Tensor:
    """Keep fast pairs, slow the slow ones by the factor, and blend in between (by turns in the original context)."""
    turns = frequencies * scaling.original_max_position_embeddings / (2 * math.pi)
    low, high = scaling.low_freq_factor, scaling.high_freq_factor
    keep = ((turns - low) / (high - low)).clamp(0, 1)
    return frequencies * (keep + (1 - keep) / scaling.factor)


def rope_tables(positions: Tensor, frequencies: Tensor) -> tuple[Tensor, Tensor]:
    """Cosines and sines of every position's angles, each (tokens, head_dim / 2), always computed in float32.

    A lower precision cannot tell neighbouring positions apart: bfloat16 turns 257 into 256.
    """
    angles = positions.float()[:, None] * frequencies.float()
    return angles.cos(), angles.sin()


def apply_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate x (..., tokens, head_dim) in the half-split layout: i pairs with i + head_dim / 2."""
    a, b = x.chunk(2, dim=-1)
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def apply_rope_interleaved(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate x (..., tokens, head_dim) in the interleaved layout: dimension 2 i pairs with 2 i + 1."""
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)


def permute(weight: Tensor, heads: int) -> Tensor:
    """Reorder the rows of a q or k weight (or bias), head by head: half-split to interleaved."""
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


def unpermute(weight: Tensor, heads: int) -> Tensor:
    """Undo `permute`: bring the rows of a q or k weight (or bias) back to half-split.

    GGUF files of the Llama family store them interleaved.
    """
    return weight.reshape(heads, -1, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)
