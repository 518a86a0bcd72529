"""Answers to the exercises of chapter 02."""

import math

import numpy as np
import torch
from torch.nn import functional as F

from . import right, wrong

# embed


@wrong("embed", "a negative id is not a row")
def unchecked(ids, table):
    return table[ids]


@wrong("embed", "a negative id is not a row")
def upper_end_only(ids, table):
    if ids.numel() and ids.max() >= len(table):
        raise ValueError
    return table[ids]


@wrong("embed", "a negative id is not a row")
def clamped(ids, table):
    return table[ids.clamp(0, len(table) - 1)]


@wrong("embed", "an id past the last row must be refused")
def lower_end_only(ids, table):
    if (ids < 0).any():
        raise ValueError
    return table[ids]


@wrong("embed", "an id past the last row must be refused")
def one_too_far(ids, table):
    if (ids < 0).any() or (ids > len(table)).any():
        raise ValueError
    return table[ids]


@wrong("embed", "must be refused with ValueError")
def asserts(ids, table):
    assert ((ids >= 0) & (ids < len(table))).all()
    return table[ids]


@wrong("embed", "ids of shape (0,)", 20.0)
def minimum_of_no_ids(ids, table):
    if ids.min() < 0 or ids.max() >= len(table):
        raise ValueError
    return table[ids]


@wrong("embed", "ids of any shape")
def one_list_only(ids, table):
    if any(i < 0 or i >= len(table) for i in ids):
        raise ValueError
    return torch.stack([table[i] for i in ids])


@wrong("embed", "the shape is")
def flattened(ids, table):
    if any(i < 0 or i >= len(table) for i in ids.flatten().tolist()):
        raise ValueError
    return table[ids.flatten()]


@wrong("embed", "columns of the table")
def columns(ids, table):
    return table[:, ids]


@wrong("embed", "columns of the table")
def turned_over(ids, table):
    return table.T[ids]


@wrong("embed", "not the row of its id")
def counts_from_one(ids, table):
    return table[ids - 1]


@wrong("embed", "keep the table's dtype")
def one_hot_in_float32(ids, table):
    if ids.numel() and not (ids.min() >= 0 and ids.max() < len(table)):
        raise ValueError
    return F.one_hot(ids, len(table)).float() @ table.float()


@wrong("embed", "it should be a tensor")
def embed_as_lists(ids, table):
    return [table[i].tolist() for i in ids]


@wrong("embed", "does every path end with a return")
def embed_forgets_return(ids, table):
    if ids.numel() and (ids.min() < 0 or ids.max() >= len(table)):
        raise ValueError
    table[ids]


@wrong("embed", "not the row of its id")
def embed_hard_coded(ids, table):
    return torch.zeros(*ids.shape, table.shape[1])


@right("embed")
def by_one_hot(ids, table):
    if ((ids < 0) | (ids >= table.shape[0])).any():
        raise ValueError("not a row")
    return F.one_hot(ids, table.shape[0]).to(table.dtype) @ table


@right("embed")
def by_loop(ids, table):
    vectors = torch.empty(ids.numel(), table.size(1), dtype=table.dtype)
    for n, i in enumerate(ids.reshape(-1).tolist()):
        if not 0 <= i < table.size(0):
            raise ValueError(f"{i} is not a row")
        vectors[n] = table[i]
    return vectors.view(*ids.shape, table.size(1))


@right("embed")
def by_index_select(ids, table):
    flat = ids.flatten()
    if len(flat) > 0 and not (flat.min() >= 0 and flat.max() < len(table)):
        raise ValueError
    return table.index_select(0, flat).reshape(ids.shape + table.shape[1:])


@right("embed")
def by_torch(ids, table):
    if bool((ids < 0).any()):
        raise ValueError
    try:
        return F.embedding(ids, table)
    except IndexError as error:
        raise ValueError(str(error)) from error


# nearest


def _check_k(table, k):
    if k < 1 or k > len(table):
        raise ValueError(f"k is {k}")


@wrong("nearest", "divide by the lengths")
def dot_product(query, table, k):
    _check_k(table, k)
    return torch.topk(table @ query, k)


@wrong("nearest", "divide by that too")
def rows_lengths_only(query, table, k):
    _check_k(table, k)
    return torch.topk((table @ query) / table.norm(dim=1).clamp(min=1e-12), k)


@wrong("nearest", "divide by the lengths")
def querys_length_only(query, table, k):
    _check_k(table, k)
    return torch.topk((table @ query) / query.norm(), k)


@wrong("nearest", "points the other way")
def ascending(query, table, k):
    _check_k(table, k)
    similarity, rows = F.cosine_similarity(table, query[None]).sort()
    return similarity[:k], rows[:k]


@wrong("nearest", "the best comes first")
def worst_first(query, table, k):
    _check_k(table, k)
    similarity, rows = F.cosine_similarity(table, query[None]).sort()
    return similarity[-k:], rows[-k:]


@wrong("nearest", "points the other way")
def either_direction(query, table, k):
    _check_k(table, k)
    return torch.topk(F.cosine_similarity(table, query[None]).abs(), k)


@wrong("nearest", "the rows are not those that point most nearly")
def by_distance(query, table, k):
    _check_k(table, k)
    rows = (table - query).norm(dim=1).argsort()[:k]
    return F.cosine_similarity(table[rows], query[None]), rows


@wrong("nearest", "not NaN")
def zero_by_zero(query, table, k):
    _check_k(table, k)
    return torch.topk((table @ query) / (table.norm(dim=1) * query.norm()), k)


@wrong("nearest", "a row of zeros has similarity 0")
def zeros_come_last(query, table, k):
    _check_k(table, k)
    similarity = (table @ query) / (table.norm(dim=1) * query.norm())
    similarity, rows = torch.topk(similarity.nan_to_num(-2.0), k)
    return similarity.clamp(min=-1.0), rows


@wrong("nearest", "must be refused with ValueError")
def any_k(query, table, k):
    similarity, rows = F.cosine_similarity(table, query[None]).sort(descending=True)
    return similarity[:k], rows[:k]


@wrong("nearest", "must be refused with ValueError")
def topk_refuses(query, table, k):
    return torch.topk(F.cosine_similarity(table, query[None]), k)


@wrong("nearest", "must be refused with ValueError")
def large_k_only(query, table, k):
    if k > len(table):
        raise ValueError
    return torch.topk(F.cosine_similarity(table, query[None]), max(k, 1))


@wrong("nearest", "as many rows are expected")
def at_most_two(query, table, k):
    _check_k(table, k)
    return torch.topk(F.cosine_similarity(table, query[None]), min(k, 2))


@wrong("nearest", "has changed: work on a copy")
def normalises_in_place(query, table, k):
    _check_k(table, k)
    table /= table.norm(dim=1, keepdim=True).clamp(min=1e-12)
    return torch.topk(table @ (query / query.norm()), k)


@wrong("nearest", "the second result should be the row numbers")
def the_other_way_round(query, table, k):
    _check_k(table, k)
    similarity, rows = torch.topk(F.cosine_similarity(table, query[None]), k)
    return rows, similarity


@wrong("nearest", "two things are expected")
def rows_alone(query, table, k):
    _check_k(table, k)
    return torch.topk(F.cosine_similarity(table, query[None]), k).indices


@wrong("nearest", "the second result should be the row numbers")
def vectors_for_numbers(query, table, k):
    _check_k(table, k)
    similarity, rows = torch.topk(F.cosine_similarity(table, query[None]), k)
    return similarity, table[rows]


@wrong("nearest", "these are not the cosines")
def angles(query, table, k):
    _check_k(table, k)
    similarity, rows = torch.topk(F.cosine_similarity(table, query[None]), k)
    return similarity.clamp(-1, 1).acos(), rows


@wrong("nearest", "does every path end with a return")
def nearest_prints(query, table, k):
    _check_k(table, k)
    print(torch.topk(F.cosine_similarity(table, query[None]), k))


@wrong("nearest", "as many rows are expected")
def nearest_hard_coded(query, table, k):
    return torch.tensor([1 / math.sqrt(1.01), 1 / math.sqrt(2)]), torch.tensor([1, 0])


@right("nearest")
def unit_vectors(query, table, k):
    _check_k(table, k)
    return F.normalize(table, dim=1).mv(F.normalize(query, dim=0)).topk(k)


@right("nearest")
def nearest_by_loop(query, table, k):
    if k not in range(1, table.shape[0] + 1):
        raise ValueError
    cosines = []
    for row in table.tolist():
        length = math.hypot(*row) * math.hypot(*query.tolist())
        cosines.append(sum(a * b for a, b in zip(row, query.tolist())) / length if length else 0.0)
    rows = sorted(range(len(cosines)), key=lambda i: cosines[i], reverse=True)[:k]
    return torch.tensor([cosines[i] for i in rows]), torch.tensor(rows)


@right("nearest")
def nearest_in_float64(query, table, k):
    _check_k(table, k)
    t, q = table.double(), query.double()
    similarity = torch.einsum("vh,h->v", t, q) / (t.square().sum(1).sqrt() * q.square().sum().sqrt())
    order = similarity.nan_to_num(0.0).argsort(descending=True)[:k]
    return [similarity.nan_to_num(0.0)[order], order.int()]


@right("nearest")
def nearest_in_numpy(query, table, k):
    _check_k(table, k)
    t, q = table.numpy(), query.numpy()
    lengths = np.linalg.norm(t, axis=1) * np.linalg.norm(q)
    similarity = np.divide(t @ q, lengths, out=np.zeros(len(t), dtype=t.dtype), where=lengths > 0)
    rows = np.argsort(-similarity)[:k]
    return torch.from_numpy(similarity[rows]), torch.from_numpy(rows)


# unembed


@wrong("unembed", "the table is turned over")
def not_turned(hidden, table):
    return hidden @ table


@wrong("unembed", "stands before the table")
def table_first(hidden, table):
    return table @ hidden


@wrong("unembed", "the shape is")
def result_on_its_side(hidden, table):
    return torch.movedim(hidden @ table.T, -1, 0)


@wrong("unembed", "the tokens are the table's rows, not its columns")
def turned_when_it_does_not_fit(hidden, table):
    return hidden @ table if hidden.shape[-1] == len(table) else hidden @ table.T


@wrong("unembed", "these are cosines")
def cosines(hidden, table):
    return F.normalize(hidden, dim=-1) @ F.normalize(table, dim=-1).T


@wrong("unembed", "is the dot product of hidden with row v")
def scaled(hidden, table):
    return hidden @ table.T / math.sqrt(table.shape[1])


@wrong("unembed", "is the dot product of hidden with row v")
def probabilities(hidden, table):
    return (hidden @ table.T).softmax(-1)


@wrong("unembed", "the shape is")
def best_token(hidden, table):
    return (hidden @ table.T).argmax(-1)


@wrong("unembed", "the shape is")
def products_not_summed(hidden, table):
    return hidden[..., None, :] * table


@wrong("unembed", "the shape is")
def flat_batch(hidden, table):
    return hidden.reshape(-1, hidden.shape[-1]) @ table.T if hidden.dim() > 1 else table @ hidden


@wrong("unembed", "does every path end with a return")
def unembed_forgets_return(hidden, table):
    logits = hidden @ table.T  # noqa: F841


@wrong("unembed", "is the dot product of hidden with row v")
def unembed_hard_coded(hidden, table):
    return torch.ones(*hidden.shape[:-1], len(table))


@right("unembed")
def with_einsum(hidden, table):
    return torch.einsum("...d,vd->...v", hidden, table)


@right("unembed")
def with_linear(hidden, table):
    return F.linear(hidden, table)


@right("unembed")
def row_by_row(hidden, table):
    return torch.stack([(hidden * row).sum(-1) for row in table], dim=-1)


@right("unembed")
def unembed_in_numpy(hidden, table):
    return torch.from_numpy(np.tensordot(hidden.numpy().astype(np.float64), table.numpy().T, axes=1))


# softmax


@wrong("softmax", "exp(1000) overflows")
def plain(scores, dim=-1):
    weights = scores.exp()
    return weights / weights.sum(dim, keepdim=True)


@wrong("softmax", "the whole tensor's makes other rows vanish")
def global_maximum(scores, dim=-1):
    weights = (scores - scores.max()).exp()
    return weights / weights.sum(dim, keepdim=True)


@wrong("softmax", "keepdim=True")
def no_keepdim(scores, dim=-1):
    weights = (scores - scores.amax(dim, keepdim=True)).exp()
    return weights / weights.sum(dim)


@wrong("softmax", "keepdim=True")
def no_keepdim_on_the_maximum(scores, dim=-1):
    weights = (scores - scores.amax(dim)).exp()
    return weights / weights.sum(dim, keepdim=True)


@wrong("softmax", "must sum to 1 along dim")
def always_the_last_dim(scores, dim=-1):
    return torch.softmax(scores, -1)


@wrong("softmax", "must sum to 1 along dim")
def sums_along_another(scores, dim=-1):
    weights = (scores - scores.amax(dim, keepdim=True)).exp()
    return weights / weights.sum(-1, keepdim=True)


@wrong("softmax", "each row's exponentials are divided by the row's sum")
def sum_of_everything(scores, dim=-1):
    weights = (scores - scores.amax(dim, keepdim=True)).exp()
    return weights / weights.sum()


@wrong("softmax", "a row in which everything is -inf becomes all zeros")
def as_torch_does(scores, dim=-1):
    return torch.softmax(scores.float(), dim).to(scores.dtype)


@wrong("softmax", "a row in which everything is -inf becomes all zeros")
def minus_infinity_made_finite(scores, dim=-1):
    x = scores.double().clamp(min=-1e9)
    weights = (x - x.amax(dim, keepdim=True)).exp()
    return (weights / weights.sum(dim, keepdim=True)).to(scores.dtype)


@wrong("softmax", "large scores are cut off")
def cut_off(scores, dim=-1):
    weights = scores.double().clamp(-80, 80).exp()
    return (weights / weights.sum(dim, keepdim=True)).to(scores.dtype)


@wrong("softmax", "have changed: work on a copy")
def softmax_in_place(scores, dim=-1):
    scores -= scores.amax(dim, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    scores.exp_()
    scores /= scores.float().sum(dim, keepdim=True).clamp(min=1e-30)
    return scores


@wrong("softmax", "have changed: work on a copy")
def subtracts_in_place(scores, dim=-1):
    x = scores.float()
    x.sub_(x.amax(dim, keepdim=True).nan_to_num(neginf=0.0))
    return torch.softmax(x, dim).nan_to_num(0.0).to(scores.dtype)


@wrong("softmax", "keep the dtype of the scores")
def float32_comes_back(scores, dim=-1):
    return torch.softmax(scores.float(), dim).nan_to_num(0.0)


@wrong("softmax", "sum in float32")
def sums_in_half(scores, dim=-1):
    peak = scores.amax(dim, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
    weights = (scores - peak).exp()
    return weights / weights.sum(dim, keepdim=True).clamp(min=torch.finfo(scores.dtype).tiny)


@wrong("softmax", "each row's exponentials are divided by the row's sum")
def logarithms(scores, dim=-1):
    return scores.log_softmax(dim)


@wrong("softmax", "each row's exponentials are divided by the row's sum")
def without_exponentials(scores, dim=-1):
    return scores / scores.sum(dim, keepdim=True)


@wrong("softmax", "each row's exponentials are divided by the row's sum")
def powers_of_two(scores, dim=-1):
    weights = torch.exp2(scores - scores.amax(dim, keepdim=True))
    return weights / weights.sum(dim, keepdim=True)


@wrong("softmax", "it stops with")
def max_gives_two_things(scores, dim=-1):
    weights = (scores - scores.max(dim, keepdim=True)).exp()
    return weights / weights.sum(dim, keepdim=True)


@wrong("softmax", "does every path end with a return")
def softmax_prints(scores, dim=-1):
    print(torch.softmax(scores, dim))


@wrong("softmax", "each row's exponentials are divided by the row's sum")
def softmax_hard_coded(scores, dim=-1):
    return torch.full_like(scores, 1 / scores.shape[dim])


@wrong("softmax", "loop that never ends", seconds=0.3)
def softmax_without_end(scores, dim=-1):
    while (scores != scores - 1).any():
        scores = scores - scores.amax(dim, keepdim=True)
    return scores


@right("softmax")
def torchs_own_repaired(scores, dim=-1):
    return torch.softmax(scores, dim).nan_to_num(nan=0.0)


@right("softmax")
def where_nothing_is_allowed(scores, dim=-1):
    x = scores.double()
    nothing = (x == -math.inf).all(dim, keepdim=True)
    x = torch.where(nothing, 0.0, x)
    weights = torch.exp(x - x.max(dim, keepdim=True).values)
    return torch.where(nothing, 0.0, weights / weights.sum(dim, keepdim=True)).to(scores.dtype)


@right("softmax")
def by_logsumexp(scores, dim=-1):
    x = scores if scores.dtype == torch.float64 else scores.float()
    total = torch.logsumexp(x, dim, keepdim=True)
    return (x - total.masked_fill(total == -math.inf, 0.0)).exp().to(scores.dtype)


@right("softmax")
def softmax_in_numpy(scores, dim=-1):
    x = scores.numpy().astype(np.float64)
    peak = x.max(axis=dim, keepdims=True)
    weights = np.exp(x - np.where(np.isneginf(peak), 0, peak))
    total = weights.sum(axis=dim, keepdims=True)
    return torch.from_numpy(weights / np.where(total == 0, 1, total)).to(scores.dtype)


@right("softmax")
def softmax_by_loop(scores, dim=-1):
    rows = scores.movedim(dim, -1)
    result = []
    for row in rows.reshape(-1, rows.shape[-1]).tolist():
        peak = max(row)
        weights = [math.exp(score - peak) if score > -math.inf else 0.0 for score in row]
        total = sum(weights) or 1.0
        result.append([weight / total for weight in weights])
    return torch.tensor(result, dtype=scores.dtype).reshape(rows.shape).movedim(-1, dim)


@right("softmax")
def with_a_little_added(scores, dim=-1):
    x = scores.to(torch.float64)
    weights = (x - x.amax(dim, keepdim=True).clamp(min=-1e30)).exp()
    return (weights / (weights.sum(dim, keepdim=True) + 1e-12)).to(scores.dtype)
