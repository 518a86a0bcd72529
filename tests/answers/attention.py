"""Answers to the exercises of chapter 03."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from llmlite.attention import attention

from . import right, wrong

# attention_weights


def _zeros_for_nan(weights):
    return weights.nan_to_num(0.0)


def _scores(q, k):
    return q @ k.mT / math.sqrt(q.shape[-1])


def _masked(scores, mask):
    return scores if mask is None else scores.masked_fill(~mask, -torch.inf)


@wrong("attention_weights", "there is no scale")
def no_scale(q, k, mask=None):
    return _zeros_for_nan(_masked(q @ k.mT, mask).softmax(-1))


@wrong("attention_weights", "the scale is 1/head_dim, it should be 1/sqrt(head_dim)")
def scale_by_d(q, k, mask=None):
    return _zeros_for_nan(_masked(q @ k.mT / q.shape[-1], mask).softmax(-1))


@wrong("attention_weights", "are multiplied by sqrt(head_dim)")
def times_the_root(q, k, mask=None):
    return _zeros_for_nan(_masked(q @ k.mT * math.sqrt(q.shape[-1]), mask).softmax(-1))


@wrong("attention_weights", "the scale is 1/sqrt(keys)")
def scale_by_keys(q, k, mask=None):
    return _zeros_for_nan(_masked(q @ k.mT / math.sqrt(k.shape[-2]), mask).softmax(-1))


@wrong("attention_weights", "it should be 1/sqrt(head_dim)")
def scale_by_dimension_one(q, k, mask=None):
    return _zeros_for_nan(_masked(q @ k.mT / math.sqrt(q.shape[1]), mask).softmax(-1))


@wrong("attention_weights", "runs over the queries")
def over_queries(q, k, mask=None):
    return _zeros_for_nan(_masked(_scores(q, k), mask).softmax(-2))


@wrong("attention_weights", "the softmax is missing")
def scores_only(q, k, mask=None):
    return _masked(_scores(q, k), mask)


@wrong("attention_weights", "the scale comes after the softmax")
def scale_after(q, k, mask=None):
    return _masked(q @ k.mT, mask).softmax(-1) / math.sqrt(q.shape[-1])


@wrong("attention_weights", "divide the dot products by sqrt(head_dim), not by the lengths")
def cosine_scores(q, k, mask=None):
    return _masked(F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).mT, mask).softmax(-1)


@wrong("attention_weights", "only the last two of k are turned over")
def turns_k_over_whole(q, k, mask=None):
    return _zeros_for_nan(_masked(q @ k.permute(*range(k.dim() - 1, -1, -1)) / math.sqrt(q.shape[-1]), mask).softmax(-1))


@wrong("attention_weights", "turned over: one row for each query")
def keys_by_queries(q, k, mask=None):
    return (k @ q.mT / math.sqrt(q.shape[-1])).softmax(-2)


@wrong("attention_weights", "the mask is upside down")
def inverted(q, k, mask=None):
    return _zeros_for_nan(_masked(_scores(q, k), None if mask is None else ~mask).softmax(-1))


@wrong("attention_weights", "the mask is ignored")
def no_mask(q, k, mask=None):
    return _scores(q, k).softmax(-1)


@wrong("attention_weights", "no longer sum to 1")
def masked_after(q, k, mask=None):
    weights = _scores(q, k).softmax(-1)
    return weights if mask is None else weights * mask


@wrong("attention_weights", "however large its score")
def masked_after_and_shared_out(q, k, mask=None):
    weights = _scores(q, k).softmax(-1)
    if mask is None:
        return weights
    weights = weights * mask
    return weights / weights.sum(-1, keepdim=True)


@wrong("attention_weights", "its score must be -inf")
def times_the_mask(q, k, mask=None):
    scores = _scores(q, k)
    return (scores if mask is None else scores * mask).softmax(-1)


@wrong("attention_weights", "added as the numbers 0 and 1")
def plus_the_mask(q, k, mask=None):
    scores = _scores(q, k)
    return (scores if mask is None else scores + mask).softmax(-1)


@wrong("attention_weights", "gets zeros; with a finite stand-in for -inf")
def a_billion(q, k, mask=None):
    scores = _scores(q, k)
    return (scores if mask is None else scores.masked_fill(~mask, -1e9)).softmax(-1)


@wrong("attention_weights", "gets zeros; with a finite stand-in for -inf")
def minus_a_billion(q, k, mask=None):
    scores = _scores(q, k).double()
    return (scores if mask is None else scores - 1e9 * ~mask).softmax(-1).to(q.dtype)


@wrong("attention_weights", "however small the others' scores")
def minus_a_thousand(q, k, mask=None):
    scores = _scores(q, k)
    return (scores if mask is None else scores.masked_fill(~mask, -1e3)).softmax(-1)


@wrong("attention_weights", "gets zeros, not NaN")
def torch_softmax(q, k, mask=None):
    return _masked(_scores(q, k), mask).softmax(-1)


@wrong("attention_weights", "has changed")
def q_in_place(q, k, mask=None):
    q /= math.sqrt(q.shape[-1])
    return _zeros_for_nan(_masked(q @ k.mT, mask).softmax(-1))


@wrong("attention_weights", "keep the dtype of q and k")
def always_float32(q, k, mask=None):
    return _zeros_for_nan(_masked(_scores(q.float(), k.float()), mask).softmax(-1))


@wrong("attention_weights", "does every path end with a return")
def weights_forget_return(q, k, mask=None):
    _scores(q, k).softmax(-1)


@wrong("attention_weights", "the mask may have any shape that broadcasts")
def mask_by_index(q, k, mask=None):
    scores = _scores(q, k)
    if mask is not None:
        scores[~mask] = -torch.inf
    return _zeros_for_nan(scores.softmax(-1))


@right("attention_weights")
def weights_in_float64(q, k, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", q.double(), k.double()) * q.shape[-1] ** -0.5
    scores = _masked(scores, mask)
    e = (scores - scores.amax(-1, keepdim=True).clamp(min=-1e300)).exp()
    return (e / e.sum(-1, keepdim=True).clamp(min=1e-300)).to(q.dtype)


@right("attention_weights")
def weights_by_loop(q, k, mask=None):
    queries, keys = q.shape[-2], k.shape[-2]
    shape = q.shape[:-2] + (queries, keys)
    out = torch.zeros(shape, dtype=q.dtype)
    see = torch.ones(shape, dtype=torch.bool) if mask is None else mask.expand(shape)
    flat = zip(q.reshape(-1, *q.shape[-2:]), k.reshape(-1, *k.shape[-2:]), see.reshape(-1, queries, keys))
    for n, (rows, columns, may) in enumerate(flat):
        for i in range(queries):
            seen = [j for j in range(keys) if may[i, j]]
            if seen:
                scores = torch.stack([rows[i].dot(columns[j]) for j in seen]) / math.sqrt(q.shape[-1])
                out.view(-1, queries, keys)[n, i, seen] = scores.softmax(0)
    return out


@right("attention_weights")
def weights_by_added_mask(q, k, mask=None):
    scores = (q / math.sqrt(q.shape[-1])) @ k.transpose(-2, -1)
    if mask is not None:
        scores = scores + torch.where(mask, 0.0, -torch.inf).to(q.dtype)
    return torch.nan_to_num(torch.softmax(scores, dim=-1))


@right("attention_weights")
def weights_masked_in_place(q, k, mask=None):
    scores = torch.matmul(q, k.transpose(-1, -2)).div_(q.size(-1) ** 0.5)
    if mask is None:
        return scores.softmax(-1)
    scores.masked_fill_(mask.logical_not(), float("-inf"))
    return scores.softmax(-1).masked_fill(~mask, 0)


# causal_mask


@wrong("causal_mask", "a token may see itself")
def strict(queries, keys, offset=0):
    return torch.arange(keys) < torch.arange(offset, offset + queries)[:, None]


@wrong("causal_mask", "the mask is upside down")
def forbidden(queries, keys, offset=0):
    return torch.arange(keys) > torch.arange(offset, offset + queries)[:, None]


@wrong("causal_mask", "the offset is ignored")
def top_left(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool).tril()


@wrong("causal_mask", "the offset has the wrong sign")
def wrong_sign(queries, keys, offset=0):
    return torch.arange(keys) <= torch.arange(queries)[:, None] - offset


@wrong("causal_mask", "the offset has the wrong sign")
def offset_on_the_keys(queries, keys, offset=0):
    return torch.arange(keys) + offset <= torch.arange(queries)[:, None]


@wrong("causal_mask", "the last query is put at the last key")
def bottom_right(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool).tril(keys - queries)


@wrong("causal_mask", "which is in its future")
def everything(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool)


@wrong("causal_mask", "every query sees its future")
def upper(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool).triu(offset)


@wrong("causal_mask", "rows are queries")
def mask_turned_over(queries, keys, offset=0):
    return (torch.arange(keys) <= torch.arange(offset, offset + queries)[:, None]).T.contiguous()


@wrong("causal_mask", "should hold True and False")
def ones_and_zeros(queries, keys, offset=0):
    return torch.ones(queries, keys).tril(offset)


@wrong("causal_mask", "should hold True and False")
def minus_infinity(queries, keys, offset=0):
    return torch.full((queries, keys), -torch.inf).triu(offset + 1)


@wrong("causal_mask", "one key too few")
def one_too_few(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool).tril(max(offset - 1, 0))


@wrong("causal_mask", "one key too many")
def offset_counted_from_one(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool).tril(offset + 1 if offset else 0)


@wrong("causal_mask", "can see key 1")
def one_ahead(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool).tril(offset + 1)


@wrong("causal_mask", "it should be a tensor")
def mask_as_lists(queries, keys, offset=0):
    return [[key <= offset + query for key in range(keys)] for query in range(queries)]


@wrong("causal_mask", "the shape is")
def square(queries, keys, offset=0):
    return torch.ones(queries, queries, dtype=torch.bool).tril(offset)


@wrong("causal_mask", "does every path end with a return")
def mask_forgets_return(queries, keys, offset=0):
    torch.ones(queries, keys).tril(offset)


@right("causal_mask")
def by_tril(queries, keys, offset=0):
    return torch.ones(queries, keys, dtype=torch.bool).tril(offset)


@right("causal_mask")
def mask_by_loop(queries, keys, offset=0):
    mask = torch.zeros(queries, keys, dtype=torch.bool)
    for i in range(queries):
        mask[i, : offset + i + 1] = True
    return mask


@right("causal_mask")
def rows_of_the_whole(queries, keys, offset=0):
    size = max(keys, offset + queries)
    return torch.ones(size, size).tril().bool()[offset : offset + queries, :keys]


@right("causal_mask")
def mask_by_numpy(queries, keys, offset=0):
    return torch.from_numpy(np.tri(queries, keys, k=offset, dtype=bool))


# grouped_query_attention


def _group(q, k):
    if q.shape[1] % k.shape[1]:
        raise ValueError("uneven")
    return q.shape[1] // k.shape[1]


@wrong("grouped_query_attention", "the heads are tiled")
def tiled(q, k, v, mask=None):
    group = _group(q, k)
    return attention(q, k.repeat(1, group, 1, 1), v.repeat(1, group, 1, 1), mask)


@wrong("grouped_query_attention", "the heads are tiled")
def grouped_the_other_way(q, k, v, mask=None):
    group, (batch, _, queries, d) = _group(q, k), q.shape
    q = q.reshape(batch, group, k.shape[1], queries, d)
    return attention(q, k[:, None], v[:, None], mask if mask is None or mask.dim() < 3 else mask[:, None]).flatten(1, 2)


@wrong("grouped_query_attention", "the keys' heads are tiled")
def keys_tiled(q, k, v, mask=None):
    group = _group(q, k)
    return attention(q, k.repeat(1, group, 1, 1), v.repeat_interleave(group, 1), mask)


@wrong("grouped_query_attention", "the heads are tiled")
def values_tiled(q, k, v, mask=None):
    group = _group(q, k)
    return attention(q, k.repeat_interleave(group, 1), v.repeat(1, group, 1, 1), mask)


@wrong("grouped_query_attention", "the mask is forgotten")
def mask_forgotten(q, k, v, mask=None):
    group = _group(q, k)
    return attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1))


@wrong("grouped_query_attention", "the mask is upside down")
def group_mask_inverted(q, k, v, mask=None):
    group = _group(q, k)
    mask = None if mask is None else ~mask
    return attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask)


@wrong("grouped_query_attention", "made anew from the shapes")
def own_mask(q, k, v, mask=None):
    group = _group(q, k)
    if mask is not None:
        mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool).tril()
    return attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask)


@wrong("grouped_query_attention", "must be refused with ValueError")
def uneven_cut_off(q, k, v, mask=None):
    group = -(-q.shape[1] // k.shape[1])
    k, v = (x.repeat_interleave(group, 1)[:, : q.shape[1]] for x in (k, v))
    return attention(q, k, v, mask)


@wrong("grouped_query_attention", "must be refused with ValueError")
def uneven_asserted(q, k, v, mask=None):
    assert q.shape[1] % k.shape[1] == 0
    group = q.shape[1] // k.shape[1]
    return attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask)


@wrong("grouped_query_attention", "the heads stand behind the queries")
def heads_behind(q, k, v, mask=None):
    group = _group(q, k)
    return attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask).transpose(1, 2)


@wrong("grouped_query_attention", "the heads are joined")
def heads_joined(q, k, v, mask=None):
    group = _group(q, k)
    out = attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask)
    return out.transpose(1, 2).flatten(2)


@wrong("grouped_query_attention", "one result for each key/value head")
def mean_of_a_group(q, k, v, mask=None):
    group = _group(q, k)
    out = attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask)
    return out.unflatten(1, (-1, group)).mean(2)


@wrong("grouped_query_attention", "the queries of a group are averaged")
def queries_averaged(q, k, v, mask=None):
    group = _group(q, k)
    q = q.unflatten(1, (-1, group)).mean(2)
    return attention(q, k, v, mask).repeat_interleave(group, 1)


@wrong("grouped_query_attention", "the mean of all key/value heads")
def heads_averaged(q, k, v, mask=None):
    _group(q, k)
    return attention(q, k.mean(1, keepdim=True), v.mean(1, keepdim=True), mask)


@wrong("grouped_query_attention", "reads key/value head 0")
def first_head_only(q, k, v, mask=None):
    _group(q, k)
    return attention(q, k[:, :1], v[:, :1], mask)


@wrong("grouped_query_attention", "each key/value head serves")
def as_if_equal(q, k, v, mask=None):
    _group(q, k)
    return attention(q, k, v, mask)


@wrong("grouped_query_attention", "the scale is there twice")
def scaled_twice(q, k, v, mask=None):
    group = _group(q, k)
    q = q / math.sqrt(q.shape[-1])
    return attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask)


@wrong("grouped_query_attention", "there is no scale")
def group_without_scale(q, k, v, mask=None):
    group = _group(q, k)
    scores = _masked(q @ k.repeat_interleave(group, 1).mT, mask)
    return _zeros_for_nan(scores.softmax(-1)) @ v.repeat_interleave(group, 1)


@wrong("grouped_query_attention", "in another order than the stacked queries")
def mask_rows_mixed(q, k, v, mask=None):
    group = _group(q, k)
    batch, heads, queries, d = q.shape
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], queries, -1).repeat_interleave(group, -2)
    return attention(q.reshape(batch, k.shape[1], group * queries, d), k, v, mask).reshape(q.shape)


@wrong("grouped_query_attention", "still stacked as queries")
def left_stacked(q, k, v, mask=None):
    group = _group(q, k)
    batch, heads, queries, d = q.shape
    return attention(q.reshape(batch, k.shape[1], group * queries, d), k, v)


@wrong("grouped_query_attention", "the mask may be (queries, keys)")
def mask_not_repeated(q, k, v, mask=None):
    group = _group(q, k)
    batch, heads, queries, d = q.shape
    return attention(q.reshape(batch, k.shape[1], group * queries, d), k, v, mask).reshape(q.shape)


@wrong("grouped_query_attention", "a query that may see nothing gets zeros")
def group_with_nan(q, k, v, mask=None):
    group = _group(q, k)
    scores = _masked(_scores(q, k.repeat_interleave(group, 1)), mask)
    return scores.softmax(-1) @ v.repeat_interleave(group, 1)


@wrong("grouped_query_attention", "does every path end with a return")
def group_forgets_return(q, k, v, mask=None):
    attention(q, k.repeat_interleave(_group(q, k), 1), v.repeat_interleave(_group(q, k), 1), mask)


@right("grouped_query_attention")
def by_repeating(q, k, v, mask=None):
    group = _group(q, k)
    return attention(q, k.repeat_interleave(group, 1), v.repeat_interleave(group, 1), mask)


@right("grouped_query_attention")
def head_by_head(q, k, v, mask=None):
    group = _group(q, k)
    per_head = mask if mask is None or mask.dim() == 2 else mask[:, 0]
    return torch.stack([attention(q[:, h], k[:, h // group], v[:, h // group], per_head) for h in range(q.shape[1])], 1)


@right("grouped_query_attention")
def five_dimensions(q, k, v, mask=None):
    group = _group(q, k)
    grouped = q.unflatten(1, (k.shape[1], group))  # (batch, kv_heads, group, queries, head_dim)
    if mask is not None and mask.dim() > 2:
        mask = mask[:, None]
    return attention(grouped, k[:, :, None], v[:, :, None], mask).flatten(1, 2)


@right("grouped_query_attention")
def group_in_float64(q, k, v, mask=None):
    if q.shape[1] // k.shape[1] * k.shape[1] != q.shape[1]:
        raise ValueError
    grouped = q.double().unflatten(1, (k.shape[1], -1))
    scores = torch.einsum("bhgqd,bhkd->bhgqk", grouped, k.double()) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~(mask if mask.dim() == 2 else mask[:, None]), -math.inf)
    weights = scores.softmax(-1).nan_to_num(0.0)
    return torch.einsum("bhgqk,bhkd->bhgqd", weights, v.double()).flatten(1, 2).to(q.dtype)
