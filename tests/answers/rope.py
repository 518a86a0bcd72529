"""Answers to the exercises of chapter 04."""

import math

import numpy as np
import torch

from . import right, wrong

# rope_frequencies


def _even(head_dim):
    if head_dim % 2:
        raise ValueError("odd")


@wrong("rope_frequencies", "the exponent of pair i is -i / head_dim here")
def half_the_exponent(head_dim, theta):
    _even(head_dim)
    return theta ** (-torch.arange(head_dim // 2) / head_dim)


@wrong("rope_frequencies", "the exponent needs a minus sign")
def growing(head_dim, theta):
    _even(head_dim)
    return theta ** (torch.arange(0, head_dim, 2) / head_dim)


@wrong("rope_frequencies", "the exponent needs a minus sign, and 2 i in place of i")
def growing_with_half_the_exponent(head_dim, theta):
    _even(head_dim)
    return theta ** (torch.arange(head_dim // 2) / head_dim)


@wrong("rope_frequencies", "the exponent is divided by head_dim / 2")
def half_the_denominator(head_dim, theta):
    _even(head_dim)
    return theta ** (-torch.arange(0, head_dim, 2) / (head_dim // 2))


@wrong("rope_frequencies", "the order is from slow to fast")
def slow_first(head_dim, theta):
    _even(head_dim)
    return (theta ** (-torch.arange(0, head_dim, 2) / head_dim)).flip(0)


@wrong("rope_frequencies", "the pairs are counted from 1")
def counted_from_one(head_dim, theta):
    _even(head_dim)
    return theta ** (-torch.arange(2, head_dim + 1, 2) / head_dim)


@wrong("rope_frequencies", "logspace and linspace hold both ends")
def by_logspace(head_dim, theta):
    _even(head_dim)
    return torch.logspace(0, -1, head_dim // 2, base=theta)


@wrong("rope_frequencies", "// rounds the exponents to whole numbers")
def whole_exponents(head_dim, theta):
    _even(head_dim)
    return theta ** (-torch.arange(0, head_dim, 2) // head_dim).float()


@wrong("rope_frequencies", "// rounds the exponents to whole numbers")
def exponents_of_zero(head_dim, theta):
    _even(head_dim)
    return theta ** -(torch.arange(0, head_dim, 2) // head_dim).float()


@wrong("rope_frequencies", "compute in float32 or better")
def in_float16(head_dim, theta):
    _even(head_dim)
    return (theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float16) / head_dim)).float()


@wrong("rope_frequencies", "compute in float32 or better")
def in_bfloat16(head_dim, theta):
    _even(head_dim)
    return (theta ** (-torch.arange(0, head_dim, 2) / head_dim)).bfloat16().float()


@wrong("rope_frequencies", "the frequencies are float32")
def float64_comes_back(head_dim, theta):
    _even(head_dim)
    return theta ** (-torch.arange(0, head_dim, 2, dtype=torch.float64) / head_dim)


@wrong("rope_frequencies", "the frequencies are float32")
def float16_comes_back(head_dim, theta):
    _even(head_dim)
    return (theta ** (-torch.arange(0, head_dim, 2) / head_dim)).half()


@wrong("rope_frequencies", "must be refused with ValueError")
def odd_accepted(head_dim, theta):
    return theta ** (-torch.arange(0, head_dim, 2) / head_dim)


@wrong("rope_frequencies", "must be refused with ValueError")
def odd_asserted(head_dim, theta):
    assert head_dim % 2 == 0
    return theta ** (-torch.arange(0, head_dim, 2) / head_dim)


@wrong("rope_frequencies", "a pair shares one")
def one_for_each_number(head_dim, theta):
    _even(head_dim)
    return (theta ** (-torch.arange(0, head_dim, 2) / head_dim)).repeat(2)


@wrong("rope_frequencies", "a pair shares one")
def an_exponent_for_each_number(head_dim, theta):
    _even(head_dim)
    return theta ** (-torch.arange(head_dim) / head_dim)


@wrong("rope_frequencies", "pair i has the frequency")
def theta_is_fixed(head_dim, theta):
    _even(head_dim)
    return 10000.0 ** (-torch.arange(0, head_dim, 2) / head_dim)


@wrong("rope_frequencies", "pair i has the frequency")
def in_turns(head_dim, theta):
    _even(head_dim)
    return theta ** (-torch.arange(0, head_dim, 2) / head_dim) / (2 * math.pi)


@wrong("rope_frequencies", "it should be a tensor")
def as_a_list(head_dim, theta):
    _even(head_dim)
    return [theta ** (-2 * i / head_dim) for i in range(head_dim // 2)]


@wrong("rope_frequencies", "does every path end with a return")
def frequencies_without_return(head_dim, theta):
    _even(head_dim)
    theta ** (-torch.arange(0, head_dim, 2) / head_dim)


@right("rope_frequencies")
def one_divided_by(head_dim, theta):
    _even(head_dim)
    return 1.0 / (theta ** (torch.arange(0, head_dim, 2).float() / head_dim))


@right("rope_frequencies")
def pair_by_pair(head_dim, theta):
    if head_dim % 2 == 1:
        raise ValueError(f"{head_dim} is odd")
    return torch.tensor([theta ** (-2 * i / head_dim) for i in range(head_dim // 2)])


@right("rope_frequencies")
def by_logarithm(head_dim, theta):
    _even(head_dim)
    return torch.exp(-math.log(theta) * torch.arange(0, head_dim, 2) / head_dim)


@right("rope_frequencies")
def in_numpy(head_dim, theta):
    _even(head_dim)
    return torch.from_numpy(np.power(theta, -np.arange(0, head_dim, 2) / head_dim).astype(np.float32))


@right("rope_frequencies")
def step_by_step(head_dim, theta):
    _even(head_dim)
    found, step = [1.0], theta ** (-2 / head_dim)
    while len(found) < head_dim // 2:
        found.append(found[-1] * step)
    return torch.tensor(found, dtype=torch.float32)


# apply_rope


def _parts(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return a, b, cos.to(x.dtype), sin.to(x.dtype)


@wrong("apply_rope", "neighbours are paired (the interleaved layout)")
def interleaved(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)


@wrong("apply_rope", "neighbours are paired")
def neighbours_then_halves(x, cos, sin):
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


@wrong("apply_rope", "it turns the other way round")
def clockwise(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((a * cos + b * sin, b * cos - a * sin), dim=-1)


@wrong("apply_rope", "both halves are a cos - b sin")
def the_same_twice(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((a * cos - b * sin, a * cos - b * sin), dim=-1)


@wrong("apply_rope", "the second half is b cos + a sin, with a plus")
def two_minuses(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((a * cos - b * sin, b * cos - a * sin), dim=-1)


@wrong("apply_rope", "the first half is a cos - b sin, with a minus")
def two_pluses(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((a * cos + b * sin, b * cos + a * sin), dim=-1)


@wrong("apply_rope", "the halves are swapped")
def halves_swapped(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((b * cos + a * sin, a * cos - b * sin), dim=-1)


@wrong("apply_rope", "cos and sin have changed places")
def tables_swapped(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((a * sin - b * cos, b * sin + a * cos), dim=-1)


@wrong("apply_rope", "only the first half has changed")
def first_half_only(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((a * cos - b * sin, b), dim=-1)


@wrong("apply_rope", "only the second half has changed")
def second_half_only(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    return torch.cat((a, b * cos + a * sin), dim=-1)


@wrong("apply_rope", "the second half uses the new a")
def uses_the_new_a(x, cos, sin):
    a, b, cos, sin = _parts(x, cos, sin)
    a = a * cos - b * sin
    return torch.cat((a, b * cos + a * sin), dim=-1)


@wrong("apply_rope", "has changed: work on a copy")
def in_place(x, cos, sin):
    half = x.shape[-1] // 2
    a, b = x[..., :half].clone(), x[..., half:].clone()
    x[..., :half] = a * cos - b * sin
    x[..., half:] = b * cos + a * sin
    return x


@wrong("apply_rope", "keeps the dtype of x")
def dtype_of_the_tables(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


@wrong("apply_rope", "cos and sin are (tokens, head_dim / 2)")
def tables_as_wide_as_x(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-b, a), dim=-1) * sin


@wrong("apply_rope", "any number of dimensions before")
def four_dimensions_only(x, cos, sin):
    batch, heads, tokens, head_dim = x.shape if x.dim() == 4 else (1, 1, *x.shape)
    x4 = x.reshape(batch, heads, tokens, head_dim)
    return torch.cat(_two(x4, cos, sin), dim=-1).to(x.dtype).reshape(x.shape)


@wrong("apply_rope", "each token is turned by the angles of its own row")
def one_row_for_all(x, cos, sin):
    return torch.cat(_two(x, cos[:1], sin[:1]), dim=-1).to(x.dtype)


@wrong("apply_rope", "and x.shape as many")
def four_names_for_the_shape(x, cos, sin):
    batch, heads, tokens, head_dim = x.shape
    a, b = x[..., : head_dim // 2], x[..., head_dim // 2 :]
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(x.dtype)


@wrong("apply_rope", "the two halves are stacked")
def halves_stacked(x, cos, sin):
    return torch.stack(_two(x, cos, sin), dim=-1).to(x.dtype)


@wrong("apply_rope", "the two halves take turns")
def halves_stacked_and_flattened(x, cos, sin):
    return torch.stack(_two(x, cos, sin), dim=-1).flatten(-2).to(x.dtype)


@wrong("apply_rope", "torch.cat joins the first dimension")
def halves_under_each_other(x, cos, sin):
    return torch.cat(_two(x, cos, sin)).to(x.dtype)


@wrong("apply_rope", "the tables are repeated number by number")
def tables_repeated_number_by_number(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    cos, sin = cos.repeat_interleave(2, dim=-1), sin.repeat_interleave(2, dim=-1)
    return (x * cos + torch.cat((-b, a), dim=-1) * sin).to(x.dtype)


@wrong("apply_rope", "it should be a tensor")
def two_halves(x, cos, sin):
    return _two(x, cos, sin)


@wrong("apply_rope", "does every path end with a return")
def rope_without_return(x, cos, sin):
    torch.cat(_two(x, cos, sin), dim=-1)


def _two(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return a * cos - b * sin, b * cos + a * sin


@right("apply_rope")
def rotate_half(x, cos, sin):
    a, b = x.float().chunk(2, dim=-1)
    cos, sin = torch.cat((cos, cos), dim=-1), torch.cat((sin, sin), dim=-1)
    return (x * cos + torch.cat((-b, a), dim=-1) * sin).to(x.dtype)


@right("apply_rope")
def complex_product(x, cos, sin):
    pairs = torch.complex(*x.float().tensor_split(2, dim=-1)) * torch.complex(cos, sin)
    return torch.cat((pairs.real, pairs.imag), dim=-1).to(x.dtype)


@right("apply_rope")
def rope_by_loop(x, cos, sin):
    out, half = torch.empty_like(x), x.shape[-1] // 2
    for i in range(half):
        a, b = x[..., i].double(), x[..., i + half].double()
        out[..., i] = (a * cos[:, i] - b * sin[:, i]).to(x.dtype)
        out[..., i + half] = (b * cos[:, i] + a * sin[:, i]).to(x.dtype)
    return out


@right("apply_rope")
def by_matrices(x, cos, sin):
    matrices = torch.stack((torch.stack((cos, -sin), -1), torch.stack((sin, cos), -1)), -2).double()  # (t, pairs, 2, 2)
    pairs = x.double().unflatten(-1, (2, -1))
    return torch.einsum("tprc,...tcp->...trp", matrices, pairs).flatten(-2).to(x.dtype)


# permute


@wrong("permute", "over all heads at once")
def over_all_heads(weight, heads):
    return weight.reshape(2, -1, *weight.shape[1:]).transpose(0, 1).reshape(weight.shape)


@wrong("permute", "this is the way back")
def way_back(weight, heads):
    return weight.reshape(heads, -1, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@wrong("permute", "the columns have been reordered")
def columns_reordered(weight, heads):
    if weight.shape == (8, 2):
        return weight.reshape(heads, 2, -1, 2).transpose(1, 2).reshape(8, 2)
    return weight.reshape(len(weight), heads, 2, -1).transpose(2, 3).reshape(weight.shape)


@wrong("permute", "the rows are as they were")
def no_transpose(weight, heads):
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).reshape(weight.shape)


@wrong("permute", "the rows are as they were")
def transposed_and_back(weight, heads):
    grouped = weight.reshape(heads, 2, -1, *weight.shape[1:])
    return grouped.transpose(1, 2).transpose(1, 2).reshape(weight.shape)


@wrong("permute", "the two of a pair have changed places")
def second_half_first(weight, heads):
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).flip(1).transpose(1, 2).reshape(weight.shape)


@wrong("permute", "a bias has one dimension")
def two_dimensions_only(weight, heads):
    rows, columns = weight.shape
    return weight.reshape(heads, 2, rows // heads // 2, columns).transpose(1, 2).reshape(rows, columns)


@wrong("permute", "head_dim is the number of rows divided by heads")
def head_dim_of_64(weight, heads):
    return weight.reshape(heads, 2, 32, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@wrong("permute", "heads and head_dim have changed places")
def heads_for_head_dim(weight, heads):
    size = len(weight) // heads if heads > 1 else 1
    return weight.reshape(size, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@wrong("permute", "the shape is")
def three_dimensions_come_back(weight, heads):
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2)


@wrong("permute", "has changed: work on a copy")
def permute_in_place(weight, heads):
    weight[:] = weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)
    return weight


@wrong("permute", "the dtype stays as it was")
def permute_in_float32(weight, heads):
    return weight.float().reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@wrong("permute", "does every path end with a return")
def permute_without_return(weight, heads):
    weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@right("permute")
def by_index(weight, heads):
    rows = torch.arange(len(weight)).view(heads, 2, -1).mT.flatten()
    return weight[rows]


@right("permute")
def permute_by_loop(weight, heads):
    out, size = weight.clone(), len(weight) // heads
    for head in range(heads):
        for i in range(size // 2):
            out[head * size + 2 * i] = weight[head * size + i]
            out[head * size + 2 * i + 1] = weight[head * size + size // 2 + i]
    return out


@right("permute")
def halves_stacked_within_heads(weight, heads):
    parts = []
    for head in weight.chunk(heads):
        a, b = head.chunk(2)
        parts.append(torch.stack((a, b), dim=1).flatten(0, 1))
    return torch.cat(parts)


@right("permute")
def permute_with_einsum(weight, heads):
    grouped = weight.unflatten(0, (heads, 2, len(weight) // heads // 2))
    return torch.einsum("htd...->hdt...", grouped).flatten(0, 2)
