"""Checks of chapter 05."""

import random
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ...transformer import Config
from . import Mistake, check, close, equal, named, normal, not_missing, works

EXERCISES = {
    "rms_norm": (
        "Four steps for each row: square, take the mean, take the root, divide. eps joins the mean before the root.",
        "x.float().square().mean(dim=-1, keepdim=True) is the mean square of each row, computed in float32.",
        "With wide = x.float(): return (wide * torch.rsqrt(mean_square + eps)).to(x.dtype) * weight. rsqrt is 1 / root.",
    ),
    "swiglu": (
        "silu(gate) is gate * sigmoid(gate). Only gate goes through it; up is multiplied by the result.",
        "return torch.nn.functional.silu(gate) * up",
    ),
    "Block": (
        "Two lines. Each has the form x = x + part(norm(x)), with a part and a norm that __init__ has made.",
        "The first: x = x + self.self_attn(self.input_layernorm(x), cos, sin, mask, cache). += would change the caller's x.",
        "The second reads what the first returned: return x + self.mlp(self.post_attention_layernorm(x)).",
    ),
    "count_parameters": (
        "Write down the shape of each weight of one block, count, multiply by the layers. Then the tables and the last norm.",
        "q = heads × head_dim and kv = kv_heads × head_dim. q_proj and o_proj are hidden × q, k_proj and v_proj hidden × kv.",
        "A block has 2 × hidden × (q + kv) + 3 × hidden × intermediate + 2 × hidden, and the biases and q/k norms where the "
        "config has them. One table if tied, two if not. One more norm of hidden numbers at the end.",
    ),
}

NO_KEEPDIM = "the shapes do not fit: does the mean keep its dimension (keepdim=True)?"


# rms_norm


def _normed(answer: Any, x: Tensor, weight: Tensor, eps: float) -> Any:
    try:
        return answer(x, weight, eps)
    except RuntimeError as error:
        if "size of tensor" not in str(error):
            raise
        raise Mistake(NO_KEEPDIM, shape=tuple(x.shape), error=str(error)) from None


@check("rms_norm")
def formula(answer: Any, draw: random.Random) -> None:
    x, weight, eps = normal(draw, 4, 6) + 0.7, normal(draw, 6), 0.3
    wide, w = x.double(), weight.double()
    square = wide.square().mean(-1, keepdim=True)
    total, centred = wide.square().sum(-1, keepdim=True), wide - wide.mean(-1, keepdim=True)
    length = "this divides by the row's length: take the mean of the squares, not their sum"
    no_eps = "eps is left out: it is added to the mean of the squares, before the root"
    layer_norm = "the row's mean is subtracted: that is LayerNorm. RMSNorm divides and does nothing else"
    whole = "the mean goes over the whole tensor: each row has its own"
    column = "the mean goes down the columns: each row has its own, along the last dimension"
    tempting = {
        layer_norm: centred / (centred.square().mean(-1, keepdim=True) + eps).sqrt() * w,
        layer_norm + " at all": centred / (square + eps).sqrt() * w,
        length: wide / (total + eps).sqrt() * w,
        length + ", and add eps": wide / total.sqrt() * w,
        "the root is missing: divide by the root of the mean square": wide / (square + eps) * w,
        "eps is added outside the root: it is added to the mean of the squares, before the root": wide
        / (square.sqrt() + eps)
        * w,
        no_eps: wide / square.sqrt() * w,
        "weight is applied as 1 + weight: multiply by weight itself": wide / (square + eps).sqrt() * (1 + w),
        "weight is left out: multiply by it at the end": wide / (square + eps).sqrt(),
        "this multiplies by the root-mean-square: divide by it": wide * (square + eps).sqrt() * w,
        "this divides by weight: multiply by it": wide / (square + eps).sqrt() / w,
        whole: wide / (wide.square().mean() + eps).sqrt() * w,
        column: wide / (wide.square().mean(0, keepdim=True) + eps).sqrt() * w,
    }
    want = (wide / (square + eps).sqrt() * w).float()
    got = _normed(answer, x.clone(), weight.clone(), eps)
    named(got, want, tempting.items(), x=x, weight=weight, eps=eps)
    close(got, want, "a row is not x / sqrt(mean of squares + eps) × weight", x=x, weight=weight, eps=eps)


@check("rms_norm")
def by_hand(answer: Any, draw: random.Random) -> None:
    x = torch.tensor([[3.0, 4.0], [30.0, 40.0]])
    want = torch.tensor([[0.84853, 1.13137], [0.84853, 1.13137]])
    sentence = "[3, 4] has the root-mean-square 3.5355: the row becomes [0.849, 1.131], and so does one ten times as long"
    close(_normed(answer, x.clone(), torch.ones(2), 1e-6), want, sentence, tolerance=1e-4, x=x)


@check("rms_norm")
def any_shape(answer: Any, draw: random.Random) -> None:
    for shape in ((5,), (2, 3, 4), (4, 4), (1, 1, 6), (2, 5, 5)):
        x, weight = normal(draw, *shape), normal(draw, shape[-1])
        want = F.rms_norm(x, (shape[-1],), weight, 1e-5)
        sentence = "each row along the last dimension has a root-mean-square of its own"
        got = works(partial(answer, x.clone(), weight, 1e-5), "x may have any number of dimensions", shape=shape)
        close(got, want, sentence, shape=shape)


@check("rms_norm")
def zeros(answer: Any, draw: random.Random) -> None:
    x = torch.tensor([[0.0, 0.0], [1.0, 1.0]])
    close(answer(x, torch.ones(2), 1e-5), x, "a row of zeros stays zeros: eps keeps it from 0 / 0", 1e-4, x=x)


@check("rms_norm")
def unchanged(answer: Any, draw: random.Random) -> None:
    x, weight = normal(draw, 3, 4), normal(draw, 4)
    before = x.clone(), weight.clone()
    answer(x, weight, 1e-5)
    sentence = "the x that was handed in has changed: in float32, x.float() is x itself, so work without in-place steps"
    close(x, before[0], sentence, yours_after=x)
    close(weight, before[1], "the weight that was handed in has changed: work on a copy")


@check("rms_norm")
def half_precision(answer: Any, draw: random.Random) -> None:
    for dtype in (torch.bfloat16, torch.float16):
        x = normal(draw, 3, 8, dtype=dtype)
        got = answer(x, torch.ones(8, dtype=dtype), 1e-5)
        not_missing(got)
        equal(got.dtype, dtype, "the result has the dtype of x", x=dtype)
        close(got, F.rms_norm(x.double(), (8,), eps=1e-5), f"the rows are not normalised in {dtype}", tolerance=2e-2)
    for value in (300.0, 60000.0):
        x = torch.full((1, 64), value, dtype=torch.float16)
        got = answer(x, torch.ones(64, dtype=torch.float16), 1e-5)
        sentence = f"{value:.0f}² is past float16's largest number, 65,504: compute the squares and their mean in float32"
        close(got, torch.ones(1, 64), sentence, tolerance=2e-3, x=f"64 times {value:.0f} in float16")
    many = torch.full((1, 4000), 10.0, dtype=torch.float16)
    many[0, ::2] = -10.0
    got = answer(many, torch.ones(4000, dtype=torch.float16), 1e-5)
    sentence = "4000 squares of 10 sum to more than 65,504: compute the mean in float32"
    close(got, many.float() / 10, sentence, tolerance=2e-3)


# swiglu


@check("swiglu")
def gates(answer: Any, draw: random.Random) -> None:
    gate, up = normal(draw, 3, 5), normal(draw, 3, 5) + 0.5
    g, u = gate.double(), up.double()
    silu = "silu(gate) is gate × sigmoid(gate)"
    tempting = {
        "gate and up are swapped: silu is taken of gate, the first argument": F.silu(u) * g,
        f"this is sigmoid(gate) × up: {silu}, so gate itself is a factor": g.sigmoid() * u,
        "silu is taken of the product: take it of gate alone, then multiply by up": F.silu(g * u),
        "up is missing: multiply silu(gate) by it": F.silu(g),
        "silu is missing: gate goes through it before the product": g * u,
        f"this is relu(gate) × up (ReGLU): {silu}": g.relu() * u,
        f"this is gelu(gate) × up (GEGLU): {silu}": F.gelu(g) * u,
        f"this is gelu(gate) × up, with tanh: {silu}": F.gelu(g, approximate="tanh") * u,
        "up goes through silu too: only gate does": F.silu(g) * F.silu(u),
        "up is added: multiply by it": F.silu(g) + u,
        "the sign in the exponential is turned: sigmoid(x) = 1 / (1 + exp(-x))": g * (-g).sigmoid() * u,
        f"this is tanh(gate) × up: {silu}": g.tanh() * u,
    }
    got, want = answer(gate.clone(), up.clone()), F.silu(g) * u
    named(got, want, tempting.items(), gate=gate, up=up)
    close(got, want, "a value is not gate × sigmoid(gate) × up", gate=gate, up=up)


@check("swiglu")
def gate_by_hand(answer: Any, draw: random.Random) -> None:
    gate, up = torch.tensor([0.0, 1.0, -1.0]), torch.tensor([5.0, 2.0, 2.0])
    sentence = "silu(0) = 0, silu(1) = 0.731 and silu(-1) = -0.269, each times up"
    close(answer(gate.clone(), up.clone()), torch.tensor([0.0, 1.46212, -0.53788]), sentence, 1e-4, gate=gate, up=up)


@check("swiglu")
def gate_shapes(answer: Any, draw: random.Random) -> None:
    for shape in ((4,), (2, 3, 4), (1, 1, 7)):
        gate, up = normal(draw, *shape), normal(draw, *shape)
        got = works(partial(answer, gate.clone(), up.clone()), "any shape is allowed", shape=shape)
        close(got, F.silu(gate) * up, "the result is value by value, in the shape of gate", shape=shape)
    for dtype in (torch.float16, torch.bfloat16, torch.float64):
        got = answer(normal(draw, 4, dtype=dtype), normal(draw, 4, dtype=dtype))
        not_missing(got)
        equal(got.dtype, dtype, "the result has the dtype of gate and up", gate=dtype)


@check("swiglu")
def far_out(answer: Any, draw: random.Random) -> None:
    gate = torch.tensor([1000.0, -1000.0])
    sentence = "exp(1000) overflows: write sigmoid as 1 / (1 + exp(-x)), or use torch.sigmoid"
    close(answer(gate.clone(), torch.ones(2)), torch.tensor([1000.0, 0.0]), sentence, gate=gate, up="[1, 1]")


@check("swiglu")
def gate_unchanged(answer: Any, draw: random.Random) -> None:
    gate, up = normal(draw, 3, 4), normal(draw, 3, 4)
    before = gate.clone(), up.clone()
    answer(gate, up)
    for name, now, then in (("gate", gate, before[0]), ("up", up, before[1])):
        close(now, then, f"the {name} that was handed in has changed: work without in-place steps")


# Block


class _Past:
    """A cache that holds some keys and values before those of the new tokens."""

    def __init__(self, k: Tensor, v: Tensor) -> None:
        self.k, self.v, self.length, self.layers = k, v, k.shape[2], []  # type: ignore[var-annotated]

    def append(self, layer: int, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        self.layers.append(layer)
        return torch.cat((self.k, k), dim=2), torch.cat((self.v, v), dim=2)

    def advance(self, tokens: int) -> None:
        self.length += tokens


class _Layer:
    """A reader's block with random weights, and what it should compute, from torch's own operators."""

    def __init__(self, answer: Any, draw: random.Random, number: int = 3) -> None:
        config = Config(11, 12, 20, 2, 2, 1, 4, 64)
        self.block = answer(config, number)
        if not isinstance(self.block, nn.Module):
            raise Mistake("Block(config, layer) should make a torch.nn.Module", yours=self.block)
        self.w = {name: p.detach() for name, p in self.block.named_parameters()}
        missing = [name for name in SHAPES if name not in self.w]
        if missing or len(self.w) != len(SHAPES):
            sentence = "the parameters are not those of the stub's __init__, so a model's file would not fit"
            raise Mistake(sentence, missing=missing, yours=sorted(self.w))
        for name, shape in SHAPES.items():
            if self.w[name].shape != shape:
                raise Mistake(f"{name} has the shape {tuple(self.w[name].shape)}, it should be {shape}")
            self.w[name].copy_(normal(draw, *shape) * (0.5 if len(shape) > 1 else 1.0))
        self.cos, self.sin = normal(draw, 5, 2).cos(), normal(draw, 5, 2).sin()
        self.cos, self.sin = self.cos.to(torch.float32), (1 - self.cos.square()).sqrt()
        self.x = 3 * normal(draw, 2, 5, 12)
        self.causal = torch.ones(5, 5, dtype=torch.bool).tril()

    def run(self, mask: Tensor | None, cache: Any = None) -> Any:
        with torch.no_grad():
            return self.block(self.x.clone(), self.cos, self.sin, mask, cache)

    def n1(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (12,), self.w["input_layernorm.weight"], 1e-5)

    def n2(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, (12,), self.w["post_attention_layernorm.weight"], 1e-5)

    def mlp(self, x: Tensor) -> Tensor:
        gate, up, down = (self.w[f"mlp.{name}_proj.weight"] for name in ("gate", "up", "down"))
        return F.linear(F.silu(F.linear(x, gate)) * F.linear(x, up), down)

    def attention(self, x: Tensor, mask: Tensor | None, past: _Past | None = None, *, turned: bool = False) -> Tensor:
        q, k, v = (F.linear(x, self.w[f"self_attn.{n}_proj.weight"]).unflatten(-1, (-1, 4)).transpose(1, 2) for n in "qkv")
        cos, sin = (self.sin, self.cos) if turned else (self.cos, self.sin)
        turn = torch.complex(cos, sin)
        q, k = (torch.complex(*t.chunk(2, -1)) * turn for t in (q, k))
        q, k = (torch.cat((t.real, t.imag), -1) for t in (q, k))
        if past is not None:
            k, v = torch.cat((past.k, k), 2), torch.cat((past.v, v), 2)
        out = F.scaled_dot_product_attention(q, k.expand(-1, 2, -1, -1), v.expand(-1, 2, -1, -1), attn_mask=mask)
        return F.linear(out.transpose(1, 2).flatten(2), self.w["self_attn.o_proj.weight"])

    def want(self, mask: Tensor | None, past: _Past | None = None, *, turned: bool = False) -> Tensor:
        y = self.x + self.attention(self.n1(self.x), mask, past, turned=turned)
        return y + self.mlp(self.n2(y))


SHAPES = {
    "input_layernorm.weight": (12,),
    "self_attn.q_proj.weight": (8, 12),
    "self_attn.k_proj.weight": (4, 12),
    "self_attn.v_proj.weight": (4, 12),
    "self_attn.o_proj.weight": (12, 8),
    "post_attention_layernorm.weight": (12,),
    "mlp.gate_proj.weight": (20, 12),
    "mlp.up_proj.weight": (20, 12),
    "mlp.down_proj.weight": (12, 20),
}


@check("Block")
def order_of_parts(answer: Any, draw: random.Random) -> None:
    layer = _Layer(answer, draw)
    x, n1, n2, mlp = layer.x, layer.n1, layer.n2, layer.mlp

    def attn(x: Tensor) -> Tensor:
        return layer.attention(x, layer.causal)

    y = x + attn(n1(x))
    h, bare, post, late = n1(x), attn(n1(x)), n1(x + attn(x)), x + n1(attn(x))
    h2 = n2(h + attn(h))
    norms_stream = "the stream itself is normalised: norm a copy for the part, and add the result to the x from before"
    tempting = {
        "attention's result replaces x: add it to x": bare + mlp(n2(bare)),
        "the MLP's result replaces x: add it to what attention returned": mlp(n2(y)),
        "nothing is added to x: each part's result is added to what went in": mlp(n2(bare)),
        norms_stream: h2 + mlp(h2),
        norms_stream + " (before attention)": (h + attn(h)) + mlp(n2(h + attn(h))),
        norms_stream + " (before the MLP)": n2(y) + mlp(n2(y)),
        "the norm comes after the sum (post-norm): here each part gets a normalised copy": n2(post + mlp(post)),
        "the norm comes after the part: it belongs before": late + n2(mlp(late)),
        "both parts use input_layernorm: the MLP has post_attention_layernorm": y + mlp(n1(y)),
        "both parts use post_attention_layernorm: attention has input_layernorm": (x + attn(n2(x))) + mlp(n2(x + attn(n2(x)))),
        "the two norms are swapped": (x + attn(n2(x))) + mlp(n1(x + attn(n2(x)))),
        "both parts read the old x: the MLP reads what attention has already added to": y + mlp(n2(x)),
        "the MLP's result is added to the old x: what attention added is lost": x + mlp(n2(y)),
        "the norms are missing: each part gets a normalised copy": (x + attn(x)) + mlp(x + attn(x)),
        "attention gets x itself: it should get a normalised copy": (x + attn(x)) + mlp(n2(x + attn(x))),
        "the MLP gets x itself: it should get a normalised copy": y + mlp(y),
        "the MLP comes first: attention comes first": (x + mlp(n2(x))) + attn(n1(x + mlp(n2(x)))),
        "the MLP comes first, with attention's norm": (x + mlp(n1(x))) + attn(n2(x + mlp(n1(x)))),
        "the MLP is missing": y,
        "x is added once too often": y + y + mlp(n2(y)),
        "mask is not passed on: a token sees those that come after it": layer.want(None),
        "cos and sin are swapped": layer.want(layer.causal, turned=True),
    }
    got, want = layer.run(layer.causal), layer.want(layer.causal)
    named(got, want, tempting.items(), shape="x (2, 5, 12)")
    sentence = "the result is not x + attention(norm(x)), and then the same with the MLP"
    close(got, want, sentence, tolerance=1e-4, shape="x (2, 5, 12)")


@check("Block")
def other_masks(answer: Any, draw: random.Random) -> None:
    layer = _Layer(answer, draw)
    close(layer.run(None), layer.want(None), "mask may be None: then every token sees every other", tolerance=1e-4)
    window = layer.causal & ~layer.causal.tril(-2)
    got = layer.run(window)
    close(got, layer.want(window), "the mask that was handed in is not the one that attention gets", tolerance=1e-4)


@check("Block")
def with_a_cache(answer: Any, draw: random.Random) -> None:
    layer = _Layer(answer, draw, number := draw.randrange(2, 9))
    past = _Past(normal(draw, 2, 1, 3, 4), normal(draw, 2, 1, 3, 4))
    mask = torch.cat((torch.ones(5, 3, dtype=torch.bool), layer.causal), dim=1)
    call = "5 tokens with a cache of 3"
    got = works(lambda: layer.run(mask, past), "cache is passed on to attention, which then has 8 keys", call=call)
    close(got, layer.want(mask, past), "the result with a cache is not what the older keys and values give", 1e-4, call=call)
    equal(past.layers, [number], "the layer adds its keys and values to the cache once, under its own number", call=call)
    equal(past.length, 3, "the cache is advanced by the model, once for all layers, not by a block", call=call)


@check("Block")
def stream_unchanged(answer: Any, draw: random.Random) -> None:
    layer = _Layer(answer, draw)
    x = layer.x.clone()
    with torch.no_grad():
        layer.block(x, layer.cos, layer.sin, layer.causal, None)
    close(x, layer.x, "the x that was handed in has changed: x = x + ... makes a new tensor, x += ... writes into the caller's")


@check("Block")
def as_configured(answer: Any, draw: random.Random) -> None:
    config = Config(11, 12, 20, 2, 2, 1, 4, 64, attention_bias=True, output_bias=True, qk_norm=True, rms_norm_eps=0.5)
    block = answer(config, 0)
    names = {name.removeprefix("self_attn.") for name, _ in block.named_parameters() if name not in SHAPES}
    want = {"q_proj.bias", "k_proj.bias", "v_proj.bias", "o_proj.bias", "q_norm.weight", "k_norm.weight"}
    equal(sorted(names), sorted(want), "the parts are made from config: leave __init__ as it is")
    equal(block.input_layernorm.eps, 0.5, "the norms take their eps from config: leave __init__ as it is")


# count_parameters


def _shapes(c: Config) -> list[tuple[int, ...]]:
    """The shape of every tensor in a model's file."""
    hidden, q, kv = c.hidden_size, c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    layer: list[tuple[int, ...]] = [(hidden,), (hidden,), (q, hidden), (kv, hidden), (kv, hidden), (hidden, q)]
    layer += [(c.intermediate_size, hidden)] * 2 + [(hidden, c.intermediate_size)]
    layer += [(q,), (kv,), (kv,)] if c.attention_bias else []
    layer += [(hidden,)] if c.output_bias else []
    layer += [(c.head_dim,), (c.head_dim,)] if c.qk_norm else []
    return layer * c.num_hidden_layers + [(c.vocab_size, hidden)] * (1 if c.tie_word_embeddings else 2) + [(hidden,)]


def _slips(c: Config) -> dict[str, int]:
    """By how much the usual slips miss the number."""
    hidden, wide, layers = c.hidden_size, c.intermediate_size, c.num_hidden_layers
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    table, matrix = c.vocab_size * hidden, hidden * wide * layers
    slips = {
        "the final norm is missing": -hidden,
        "the norms in the blocks are missing: two of hidden_size numbers in each": -2 * hidden * layers,
        "all norms are missing: two in each block and one at the end": -2 * hidden * layers - hidden,
        "k and v are counted as wide as q: they have num_key_value_heads heads": 2 * hidden * (q - kv) * layers,
        "only one of gate, up and down is counted": -2 * matrix,
        "only two of gate, up and down are counted": -matrix,
        "the MLP is missing": -3 * matrix,
        "attention's output projection o is missing": -hidden * q * layers,
        "v is missing": -hidden * kv * layers,
        "q and o are counted as hidden × hidden: they are hidden × (heads × head_dim)": 2 * hidden * (hidden - q) * layers,
        "o is counted as hidden × hidden: it is (heads × head_dim) × hidden": hidden * (hidden - q) * layers,
        "the embedding table is missing": -table * (1 if c.tie_word_embeddings else 2),
    }
    if c.tie_word_embeddings:
        slips["the head is counted although it is tied: it is the embedding table itself"] = table
    else:
        slips["the head is missing: untied, it is a second table of vocab_size × hidden_size"] = -table
    if c.attention_bias:
        slips["the biases on q, k and v are missing (attention_bias)"] = -(q + 2 * kv) * layers
        slips["the biases of k and v are missing"] = -2 * kv * layers
        slips["a bias has as many numbers as its projection puts out: kv for k and v"] = 2 * (q - kv) * layers
        slips["attention_bias is on q, k and v alone: o has output_bias"] = hidden * layers
    if c.output_bias:
        slips["the bias on attention's output is missing (output_bias)"] = -hidden * layers  # as much as one norm
        slips["the output's bias has hidden_size numbers: it stands behind o"] = (q - hidden) * layers
    else:
        slips["only one norm is counted in each block: there are two"] = -hidden * layers
    if c.qk_norm:
        slips["the norms of q and k are missing (qk_norm)"] = -2 * c.head_dim * layers
        slips["q and k have a norm each: two of head_dim numbers"] = -c.head_dim * layers
        slips["the heads share one q norm and one k norm of head_dim numbers"] = (q + kv - 2 * c.head_dim) * layers
    return slips


def _counts(answer: Any, c: Config) -> None:
    want = sum(torch.empty(shape, device="meta").numel() for shape in _shapes(c))
    got = answer(c)
    not_missing(got)
    if not isinstance(got, int):
        raise Mistake(f"the result is a {type(got).__name__}: a number of weights is an int", config=repr(c), yours=got)
    named(got, want, ((sentence, want + miss) for sentence, miss in _slips(c).items()), config=repr(c))
    sentence = "this is not the number of weights of the shapes in the text"
    equal(got, want, sentence, config=repr(c))


def _config(draw: random.Random, **options: bool) -> Config:
    kv_heads = draw.randint(2, 4)
    hidden, wide, vocab = draw.randrange(101, 151, 2), draw.randrange(211, 299, 2), draw.randrange(1009, 1999, 2)
    return Config(vocab, hidden, wide, draw.randint(3, 5), 3 * kv_heads, kv_heads, 14, 64, **options)  # type: ignore[arg-type]


@check("count_parameters")
def tied(answer: Any, draw: random.Random) -> None:
    _counts(answer, _config(draw, tie_word_embeddings=True))


@check("count_parameters")
def untied(answer: Any, draw: random.Random) -> None:
    _counts(answer, _config(draw))


@check("count_parameters")
def options(answer: Any, draw: random.Random) -> None:
    for name in ("attention_bias", "output_bias", "qk_norm"):
        _counts(answer, _config(draw, **{name: True}))
    _counts(answer, _config(draw, attention_bias=True, output_bias=True, qk_norm=True, tie_word_embeddings=True))


@check("count_parameters")
def smollm2(answer: Any, draw: random.Random) -> None:
    config = Config(49152, 576, 1536, 30, 9, 3, 64, 8192, tie_word_embeddings=True)
    equal(answer(config), 134_515_008, "SmolLM2-135M has 134,515,008 parameters")
