"""Attention: each token gathers values from the tokens that it may see, weighted by how well query and key agree.

Sources: Vaswani et al. 2017 (arXiv:1706.03762); Ainslie et al. 2023 (arXiv:2305.13245) for grouped queries.
"""

import math

import torch
from torch import Tensor

from .embedding import softmax


def attention_weights(q: Tensor, k: Tensor, mask: Tensor | None = None) -> Tensor:
    """Share each query's attention among the keys: softmax of q.k / sqrt(head_dim).

    q is (..., queries, head_dim), k is (..., keys, head_dim), mask broadcasts to (..., queries, keys). A weight is zero where
    mask is False; a query that may see nothing gets zeros.
    """
    scores = q @ k.mT  # (..., queries, keys): our own, so that what follows may write into it
    scores /= math.sqrt(q.shape[-1])
    if mask is not None:
        scores.masked_fill_(~mask, -torch.inf)
    return softmax(scores)


def attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Average the values with the attention weights: v is (..., keys, head_dim), the result (..., queries, head_dim)."""
    return attention_weights(q, k, mask) @ v


def causal_mask(queries: int, keys: int, offset: int = 0) -> Tensor:
    """Say which keys each query may see: True where key position <= query position.

    The mask is (queries, keys). Keys stand at positions 0 to keys - 1; queries at offset, offset + 1, ... (offset tokens
    came before them).
    """
    query_positions = torch.arange(offset, offset + queries)
    return torch.arange(keys) <= query_positions[:, None]


def grouped_query_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """Attention in which query head h reads key/value head h // (heads / kv_heads).

    q is (batch, heads, queries, head_dim); k and v are (batch, kv_heads, keys, head_dim). The query heads of one group are
    stacked as if they were more queries of their shared head, so keys and values are never copied; mask broadcasts to
    (batch, 1, queries, keys), the same for every head.
    Raises ValueError where heads is not a multiple of kv_heads.
    """
    batch, heads, queries, head_dim = q.shape
    kv_heads = k.shape[1]
    if heads % kv_heads:
        raise ValueError(f"{heads} query heads cannot share {kv_heads} key/value heads evenly")
    group = heads // kv_heads
    stacked = q.reshape(batch, kv_heads, group * queries, head_dim)
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], queries, -1)
        mask = mask.repeat(*[1] * (mask.dim() - 2), group, 1)  # (..., group * queries, keys)
    return attention(stacked, k, v, mask).reshape(batch, heads, queries, head_dim)
