"""Token ids to vectors, and vectors back to scores over the vocabulary.

The embedding table has one row per token, (vocab_size, hidden_size). Reading it turns ids into vectors; multiplying by it
turns vectors into logits. Models that use one table for both are said to tie their embeddings (Press and Wolf 2016,
arXiv:1608.05859).
"""

import torch
from torch import Tensor


def embed(ids: Tensor, table: Tensor) -> Tensor:
    """Look up the row of table for each id: ids (...) to vectors (..., hidden_size).

    Raises ValueError for ids that are not whole numbers or not rows of the table.
    """
    if ids.is_floating_point() or ids.dtype == torch.bool:
        raise ValueError(f"token ids must be integers, not {ids.dtype}")
    if ids.numel() and (int(ids.min()) < 0 or int(ids.max()) >= len(table)):
        raise ValueError(f"token ids span {int(ids.min())} to {int(ids.max())}, the table has rows 0 to {len(table) - 1}")
    return table[ids.long()]  # torch would read uint8 ids as a mask


def softmax(scores: Tensor, dim: int = -1) -> Tensor:
    """Turn scores into probabilities along dim: exponentials divided by their sum.

    The largest score is subtracted first, so that no exponential overflows. A row whose scores are all -inf (nothing is
    allowed) becomes all zeros. Half-precision scores are summed in float32. The shape and dtype stay.
    """
    x = scores.float() if scores.dtype in (torch.float16, torch.bfloat16) else scores
    peak = x.amax(dim, keepdim=True).clamp(min=torch.finfo(x.dtype).min)  # finite even where every score is -inf
    weights = (x - peak).exp_()
    total = weights.sum(dim, keepdim=True).clamp_(min=torch.finfo(x.dtype).tiny)
    return weights.div_(total).to(scores.dtype)


def unembed(hidden: Tensor, table: Tensor) -> Tensor:
    """Score every token of the table for each vector, by dot products.

    hidden is (..., hidden_size), the result (..., vocab_size).
    """
    return hidden @ table.mT


def nearest(query: Tensor, table: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Find the k rows of table that point most nearly in the direction of query.

    query is (hidden_size). Returns their cosine similarities (k) and row numbers (k), best first. A zero row has similarity 0.
    Raises ValueError for a k outside 1 to the number of rows.
    """
    if not 1 <= k <= len(table):
        raise ValueError(f"k is {k}, it must be from 1 to the number of rows, {len(table)}")
    lengths = table.norm(dim=1) * query.norm()
    similarity = (table @ query) / lengths.clamp(min=torch.finfo(table.dtype).tiny)
    return torch.topk(similarity, k)
