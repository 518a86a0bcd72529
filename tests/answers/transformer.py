"""Answers to the exercises of chapter 05."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from llmlite.transformer import MLP, Attention, RMSNorm

from . import right, wrong

# rms_norm


@wrong("rms_norm", "that is LayerNorm")
def layer_norm(x, weight, eps):
    return F.layer_norm(x, x.shape[-1:], weight, None, eps)


@wrong("rms_norm", "that is LayerNorm")
def mean_subtracted(x, weight, eps):
    wide = x.float()
    scale = torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    return ((wide - wide.mean(-1, keepdim=True)) * scale).to(x.dtype) * weight


@wrong("rms_norm", "the mean of the squares, not their sum")
def by_length(x, weight, eps):
    return x / x.norm(dim=-1, keepdim=True) * weight


@wrong("rms_norm", "the mean of the squares, not their sum")
def sum_of_squares(x, weight, eps):
    return x * torch.rsqrt(x.float().square().sum(-1, keepdim=True) + eps) * weight


@wrong("rms_norm", "eps is left out")
def without_eps(x, weight, eps):
    return x / x.float().square().mean(-1, keepdim=True).sqrt() * weight


@wrong("rms_norm", "eps is added outside the root")
def eps_outside(x, weight, eps):
    return x / (x.float().square().mean(-1, keepdim=True).sqrt() + eps) * weight


@wrong("rms_norm", "the root is missing")
def without_root(x, weight, eps):
    return x / (x.float().square().mean(-1, keepdim=True) + eps) * weight


@wrong("rms_norm", "as 1 + weight")
def one_plus_weight(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * (1 + weight)


@wrong("rms_norm", "weight is left out")
def without_weight(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps)


@wrong("rms_norm", "divide by it")
def multiplies(x, weight, eps):
    return x * torch.sqrt(x.square().mean(-1, keepdim=True) + eps) * weight


@wrong("rms_norm", "over the whole tensor")
def one_mean_for_all(x, weight, eps):
    return x * torch.rsqrt(x.square().mean() + eps) * weight


@wrong("rms_norm", "down the columns")
def wrong_dim(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(0, keepdim=True) + eps) * weight


@wrong("rms_norm", "keepdim=True")
def norm_without_keepdim(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1) + eps) * weight


@wrong("rms_norm", "past float16's largest number")
def squares_in_half(x, weight, eps):
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * weight


@wrong("rms_norm", "the result has the dtype of x")
def stays_float32(x, weight, eps):
    wide = x.float()
    return wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps) * weight


@wrong("rms_norm", "the x that was handed in has changed")
def norm_in_place(x, weight, eps):
    wide = x.float()
    wide.mul_(torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps))
    return wide.to(x.dtype) * weight


@wrong("rms_norm", "does every path end with a return")
def norm_prints(x, weight, eps):
    print(F.rms_norm(x, x.shape[-1:], weight, eps))


@right("rms_norm")
def norm_by_torch(x, weight, eps):
    return F.rms_norm(x.float(), x.shape[-1:], None, eps).to(x.dtype) * weight


@right("rms_norm")
def norm_in_float64(x, weight, eps):
    wide = x.double()
    rms = (torch.einsum("...d,...d->...", wide, wide)[..., None] / x.shape[-1] + eps).sqrt()
    return (wide / rms * weight.double()).to(x.dtype)


@right("rms_norm")
def norm_in_numpy(x, weight, eps):
    wide = x.float().numpy().astype(np.float64)
    result = wide / np.sqrt(np.mean(wide**2, axis=-1, keepdims=True) + eps) * weight.float().numpy()
    return torch.from_numpy(result).to(x.dtype)


@right("rms_norm")
def norm_by_loop(x, weight, eps):
    rows = x.double().reshape(-1, x.shape[-1]).tolist()
    result = []
    for row in rows:
        rms = (sum(value * value for value in row) / len(row) + eps) ** 0.5
        result.append([value / rms * w for value, w in zip(row, weight.tolist())])
    return torch.tensor(result).reshape(x.shape).to(x.dtype)


# swiglu


@wrong("swiglu", "gate and up are swapped")
def swapped(gate, up):
    return F.silu(up) * gate


@wrong("swiglu", "gate itself is a factor")
def sigmoid_only(gate, up):
    return torch.sigmoid(gate) * up


@wrong("swiglu", "silu is taken of the product")
def of_the_product(gate, up):
    return F.silu(gate * up)


@wrong("swiglu", "relu(gate)")
def with_relu(gate, up):
    return F.relu(gate) * up


@wrong("swiglu", "gelu(gate)")
def with_gelu(gate, up):
    return F.gelu(gate) * up


@wrong("swiglu", "up is missing")
def gate_alone(gate, up):
    return F.silu(gate)


@wrong("swiglu", "silu is missing")
def plain_product(gate, up):
    return gate * up


@wrong("swiglu", "the sign in the exponential")
def wrong_sign(gate, up):
    return gate / (1 + torch.exp(gate)) * up


@wrong("swiglu", "exp(1000) overflows")
def overflows(gate, up):
    return gate * gate.exp() / (1 + gate.exp()) * up


@wrong("swiglu", "has changed: work without in-place steps")
def gate_in_place(gate, up):
    gate *= torch.sigmoid(gate)
    return gate * up


@wrong("swiglu", "the result has the dtype")
def gate_in_float32(gate, up):
    return F.silu(gate.float()) * up.float()


@right("swiglu")
def with_sigmoid(gate, up):
    return gate * torch.sigmoid(gate) * up


@right("swiglu")
def with_exp(gate, up):
    wide = gate.double()
    return (wide / (1 + (-wide).exp()) * up.double()).to(up.dtype)


@right("swiglu")
def swiglu_by_loop(gate, up):
    pairs = zip(gate.double().flatten(), up.double().flatten())
    return torch.stack([g / (1 + torch.exp(-g)) * u for g, u in pairs]).reshape(gate.shape).to(gate.dtype)


# Block


class Parts(nn.Module):
    """The __init__ of the stub."""

    def __init__(self, config, layer):
        super().__init__()
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)


@wrong("Block", "attention's result replaces x")
class NoFirstResidual(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "the MLP's result replaces x")
class NoSecondResidual(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "nothing is added to x")
class NoResidual(Parts):
    def forward(self, x, cos, sin, mask, cache):
        return self.mlp(self.post_attention_layernorm(self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)))


@wrong("Block", "the stream itself is normalised")
class NormsTheStream(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = self.input_layernorm(x)
        x = x + self.self_attn(x, cos, sin, mask, cache)
        x = self.post_attention_layernorm(x)
        return x + self.mlp(x)


@wrong("Block", "post-norm")
class PostNorm(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = self.input_layernorm(x + self.self_attn(x, cos, sin, mask, cache))
        return self.post_attention_layernorm(x + self.mlp(x))


@wrong("Block", "both parts use input_layernorm")
class OneNorm(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.input_layernorm(x))


@wrong("Block", "the two norms are swapped")
class SwappedNorms(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.post_attention_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.input_layernorm(x))


@wrong("Block", "both parts read the old x")
class Parallel(Parts):
    def forward(self, x, cos, sin, mask, cache):
        attended = self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + attended + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "what attention added is lost")
class OldXTwice(Parts):
    def forward(self, x, cos, sin, mask, cache):
        y = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(y))


@wrong("Block", "the norms are missing")
class NoNorms(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(x, cos, sin, mask, cache)
        return x + self.mlp(x)


@wrong("Block", "the MLP comes first")
class MlpFirst(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.mlp(self.post_attention_layernorm(x))
        return x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)


@wrong("Block", "the x that was handed in has changed")
class InPlace(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x += self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "mask is not passed on")
class NoMask(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, None, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "cache is passed on to attention")
class NoCache(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, None)
        return x + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "cos and sin are swapped")
class SinCos(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), sin, cos, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "advanced by the model")
class Advances(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        if cache is not None:
            cache.advance(x.shape[1])
        return x + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "under its own number")
class LayerZero(Parts):
    def __init__(self, config, layer):
        super().__init__(config, 0)

    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        return x + self.mlp(self.post_attention_layernorm(x))


@wrong("Block", "the parameters are not those of the stub")
class OtherNames(nn.Module):
    def __init__(self, config, layer):
        super().__init__()
        self.norm1 = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.attention = Attention(config, layer)
        self.norm2 = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp = MLP(config)

    def forward(self, x, cos, sin, mask, cache):
        x = x + self.attention(self.norm1(x), cos, sin, mask, cache)
        return x + self.mlp(self.norm2(x))


@wrong("Block", "does every path end with a return")
class ForgetsReturn(Parts):
    def forward(self, x, cos, sin, mask, cache):
        x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache)
        x = x + self.mlp(self.post_attention_layernorm(x))


@right("Block")
class WithNames(Parts):
    def forward(self, x, cos, sin, mask, cache):
        attended = self.self_attn(self.input_layernorm(x), cos=cos, sin=sin, mask=mask, cache=cache)
        middle = torch.add(x, attended)
        return torch.add(middle, self.mlp(self.post_attention_layernorm(middle)))


@right("Block")
class OnACopy(Parts):
    def forward(self, x, cos, sin, mask, cache):
        stream = x.clone()
        stream += self.self_attn(self.input_layernorm(stream), cos, sin, mask, cache)
        stream += self.mlp(self.post_attention_layernorm(stream))
        return stream


@right("Block")
class FromTorch(Parts):
    def forward(self, x, cos, sin, mask, cache):
        first, second = self.input_layernorm, self.post_attention_layernorm
        normed = F.rms_norm(x, x.shape[-1:], first.weight, first.eps)
        x = x + self.self_attn(normed, cos, sin, mask, cache)
        normed = F.rms_norm(x.double(), x.shape[-1:], second.weight.double(), second.eps).float()
        gate, up = (normed @ part.weight.T for part in (self.mlp.gate_proj, self.mlp.up_proj))
        return x + torch.einsum("...i,hi->...h", F.silu(gate) * up, self.mlp.down_proj.weight)


# count_parameters


def _parts(c):
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    return c.hidden_size, q, kv, 3 * c.hidden_size * c.intermediate_size


def _extras(c):
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    return (q + 2 * kv) * c.attention_bias + c.hidden_size * c.output_bias + 2 * c.head_dim * c.qk_norm


def _total(c, block, tables=None):
    if tables is None:
        tables = 1 if c.tie_word_embeddings else 2
    return c.num_hidden_layers * block + tables * c.vocab_size * c.hidden_size + c.hidden_size


@wrong("count_parameters", "although it is tied")
def head_always(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h + _extras(config), 2)


@wrong("count_parameters", "the head is missing")
def head_never(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h + _extras(config), 1)


@wrong("count_parameters", "as wide as q")
def kv_as_wide(config):
    h, q, _, mlp = _parts(config)
    return _total(config, 4 * h * q + mlp + 2 * h + _extras(config))


@wrong("count_parameters", "all norms are missing")
def no_norms(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + _extras(config)) - h


@wrong("count_parameters", "the final norm is missing")
def no_final_norm(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h + _extras(config)) - h


@wrong("count_parameters", "only one norm is counted")
def one_norm_each(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + h + _extras(config))


@wrong("count_parameters", "only two of gate, up and down")
def two_matrices(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp // 3 * 2 + 2 * h + _extras(config))


@wrong("count_parameters", "only one of gate, up and down")
def one_matrix(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp // 3 + 2 * h + _extras(config))


@wrong("count_parameters", "q and o are counted as hidden × hidden")
def hidden_for_heads(config):
    h, _, kv, mlp = _parts(config)
    return _total(config, 2 * h * (h + kv) + mlp + 2 * h + _extras(config))


@wrong("count_parameters", "(attention_bias)")
def no_biases(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h)


@wrong("count_parameters", "the bias on attention's output is missing (output_bias)")
def no_output_bias(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h + _extras(config) - h * config.output_bias)


@wrong("count_parameters", "the norms of q and k are missing (qk_norm)")
def no_qk_norm(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h + _extras(config) - 2 * config.head_dim * config.qk_norm)


@wrong("count_parameters", "share one q norm and one k norm")
def qk_norm_for_each_head(config):
    h, q, kv, mlp = _parts(config)
    extras = _extras(config) + (q + kv - 2 * config.head_dim) * config.qk_norm
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h + extras)


@wrong("count_parameters", "not the number of weights")
def hard_coded(config):
    return 134_515_008


@wrong("count_parameters", "a number of weights is an int")
def counted_in_floats(config):
    return config.vocab_size * config.hidden_size / 1.0


@right("count_parameters")
def by_parts(config):
    h, q, kv, mlp = _parts(config)
    return _total(config, 2 * h * (q + kv) + mlp + 2 * h + _extras(config))


@right("count_parameters")
def by_shapes(config):
    c, sizes = config, []
    for _ in range(c.num_hidden_layers):
        for heads in (c.num_attention_heads, c.num_key_value_heads, c.num_key_value_heads):
            width = heads * c.head_dim
            sizes += [width * c.hidden_size] + [width] * c.attention_bias
        sizes += [c.num_attention_heads * c.head_dim * c.hidden_size] + [c.hidden_size] * c.output_bias
        sizes += [c.hidden_size * c.intermediate_size] * 3 + [c.hidden_size] * 2 + [c.head_dim] * (2 * c.qk_norm)
    sizes += [c.vocab_size * c.hidden_size] * (2 - c.tie_word_embeddings) + [c.hidden_size]
    return sum(sizes)


@right("count_parameters")
def by_modules(config):
    layer = sum(p.numel() for part in (Attention(config, 0), MLP(config)) for p in part.parameters()) + 2 * config.hidden_size
    return (
        layer * config.num_hidden_layers
        + config.vocab_size * config.hidden_size * (1 if config.tie_word_embeddings else 2)
        + config.hidden_size
    )
