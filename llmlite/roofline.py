"""The roofline: FLOPs and bytes of a pass, what this machine can do, the time that follows, and the price of that time.

A pass takes `new` tokens of each of `batch` sequences through the model, behind `context` tokens whose keys and values are
cached. Norms, biases and element-by-element work are not counted: their time is part of the overhead, which is measured.

Sources: Williams et al. 2009 (doi:10.1145/1498765.1498785) for the roofline; Pope et al. 2022 (arXiv:2211.05102) for inference.
"""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import torch
from torch import Tensor
from torch.nn import functional as F

from .kv_cache import KVCache
from .transformer import Config, Transformer

PARTS = ("embedding", "projections", "attention", "mlp", "head")
"""The parts of a pass. Projections are q, k, v and o; attention is q times keys and weights times values."""

BEYOND_CACHE = 2**28
"""Bytes that are read to measure the memory: more than the caches of a processor hold."""


@dataclass(frozen=True)
class Machine:
    """What a machine can do: bytes per second from memory, FLOPs per second, and seconds that every pass takes besides.

    Raises ValueError for a rate that is not positive, or a negative overhead.
    """

    bandwidth: float
    throughput: float
    overhead: float = 0.0

    def __post_init__(self) -> None:
        if not (self.bandwidth > 0 and self.throughput > 0 and 0 <= self.overhead < math.inf):
            raise ValueError(f"rates must be positive and the overhead at least 0: {self}")

    @property
    def ridge(self) -> float:
        """The intensity, in FLOPs per byte, from which on arithmetic takes longer than memory."""
        return self.throughput / self.bandwidth

    def attainable(self, intensity: float) -> float:
        """The roofline: the most FLOPs per second at so many FLOPs per byte."""
        return min(self.throughput, intensity * self.bandwidth)


def pass_flops(config: Config, batch: int, new: int, context: int = 0) -> dict[str, int]:
    """Count the FLOPs of the matrix products in each part of a pass.

    A multiply-add is 2 FLOPs. Scores that the causal mask hides are computed too; the head reads each sequence's last token.
    Raises ValueError for a pass of nothing.
    """
    _check_pass(batch, new, context)
    layers, rows, hidden = config.num_hidden_layers, batch * new, config.hidden_size
    q, kv = (heads * config.head_dim for heads in (config.num_attention_heads, config.num_key_value_heads))
    return {
        "embedding": 0,  # rows are looked up
        "projections": layers * 2 * rows * hidden * (2 * q + 2 * kv),
        "attention": layers * 2 * rows * (context + new) * (q + q),
        "mlp": layers * 2 * rows * 3 * hidden * config.intermediate_size,
        "head": 2 * batch * hidden * config.vocab_size,
    }


def pass_bytes(
    config: Config,
    batch: int,
    new: int,
    context: int = 0,
    bytes_per_weight: float = 4.0,
    bytes_per_cached: float = 4.0,
) -> dict[str, float]:
    """Count the bytes that each part of a pass moves between memory and processor.

    Each matrix is read once, however many tokens share it; of the embedding table, one row for each token. Each number of
    the cache moves once: old ones are read, new ones written. Raises ValueError for a pass of nothing.
    """
    flops = pass_flops(config, 1, 1)  # one token: 2 FLOPs for each weight
    weights = {part: flops[part] // 2 for part in ("projections", "mlp", "head")}
    cached = 2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim  # numbers of one token
    _check_pass(batch, new, context)
    return {
        "embedding": batch * new * config.hidden_size * bytes_per_weight,
        "projections": weights["projections"] * bytes_per_weight,
        "attention": batch * (context + new) * cached * bytes_per_cached,
        "mlp": weights["mlp"] * bytes_per_weight,
        "head": weights["head"] * bytes_per_weight,
    }


def _check_pass(batch: int, new: int, context: int) -> None:
    if batch < 1 or new < 1 or context < 0:
        raise ValueError(f"a pass needs batch and new of at least 1 and a context of at least 0, not {batch}, {new}, {context}")


def intensity(flops: Mapping[str, float], nbytes: Mapping[str, float]) -> float:
    """FLOPs for each byte moved, over all parts."""
    return sum(flops.values()) / sum(nbytes.values())


def predict_seconds(flops: Mapping[str, float], nbytes: Mapping[str, float], machine: Machine) -> float:
    """Add up the slower of memory and arithmetic of each part, and the overhead of the pass."""
    parts = (max(nbytes[part] / machine.bandwidth, flops[part] / machine.throughput) for part in flops)
    return sum(parts) + machine.overhead


def pass_seconds(
    config: Config,
    machine: Machine,
    batch: int,
    new: int,
    context: int = 0,
    bytes_per_weight: float = 4.0,
    bytes_per_cached: float = 4.0,
) -> float:
    """The predicted time of a pass on a machine."""
    nbytes = pass_bytes(config, batch, new, context, bytes_per_weight, bytes_per_cached)
    return predict_seconds(pass_flops(config, batch, new, context), nbytes, machine)


def price_per_million(seconds_per_token: float, dollars_per_hour: float) -> float:
    """Dollars for a million tokens, where a token takes so long on a machine that costs so much."""
    return 1e6 * seconds_per_token * dollars_per_hour / 3600


def price_ratio(
    config: Config,
    machine: Machine,
    batch: int,
    prompt: int,
    bytes_per_weight: float = 4.0,
    bytes_per_cached: float = 4.0,
) -> float:
    """Divide the cost of an output token by that of an input token.

    Input is read in passes of one prompt of `prompt` tokens each, output written behind `batch` such prompts at once.
    """
    read = pass_seconds(config, machine, 1, prompt, 0, bytes_per_weight, bytes_per_cached) / prompt
    written = pass_seconds(config, machine, batch, 1, prompt, bytes_per_weight, bytes_per_cached) / batch
    return written / read


def measure_bandwidth(rows: int = 0, dtype: torch.dtype = torch.float32, threads: int | None = None) -> float:
    """Bytes per second that come from memory: plainly read, or with `rows` as weights of products with so many rows.

    The matrices have the shape of SmolLM2's, since products reach other rates on other shapes. `threads`: as torch is set.
    """
    weights = torch.ones(BEYOND_CACHE // (1536 * 576 * dtype.itemsize), 1536, 576, dtype=dtype)
    if rows == 0:
        return weights.nbytes / _seconds(lambda: weights.view(torch.int32).sum(dtype=torch.int32), threads)
    return weights.nbytes / _seconds(lambda: _products(torch.ones(rows, 576, dtype=dtype), weights), threads)


def measure_throughput(rows: int = 256, dtype: torch.dtype = torch.float32, threads: int | None = None) -> float:
    """FLOPs per second of products with so many rows, on weights of SmolLM2's shapes."""
    weights = torch.ones(8, 1536, 576, dtype=dtype)
    return 2 * rows * weights.numel() / _seconds(lambda: _products(torch.ones(rows, 576, dtype=dtype), weights), threads)


def _products(x: Tensor, weights: Tensor) -> None:
    for weight in weights:
        F.linear(x, weight)


def measure_overhead(
    config: Config,
    batch: int = 1,
    new: int = 1,
    context: int = 0,
    dtype: torch.dtype = torch.float32,
    threads: int | None = None,
) -> float:
    """Seconds of a pass through a model of as many layers and heads whose matrices are next to nothing.

    What is left is the framework's own time for each operation, and the work on scores, which have their full size.
    """
    model = tiny_twin(config, dtype)
    return measure_pass(model, batch, new, context, threads)


def tiny_twin(config: Config, dtype: torch.dtype = torch.float32) -> Transformer:
    """A model of the same operations with vectors of 16 numbers, heads of 2 and 64 tokens; all weights are 0.01."""
    small = replace(config, hidden_size=16, intermediate_size=16, head_dim=2, vocab_size=64)
    model = Transformer(small).to(dtype).eval().requires_grad_(False)
    for weight in model.parameters():
        weight.fill_(0.01)
    return model


def measure_pass(model: Transformer, batch: int, new: int, context: int = 0, threads: int | None = None) -> float:
    """Seconds that a pass takes, the least of several. The context is made up: what it says makes no difference."""
    cache = KVCache(model.config, context + new, batch, model.head.dtype, model.device)
    cache.keys.fill_(0.01)
    cache.values.fill_(0.01)
    ids = torch.ones(batch, new, dtype=torch.long, device=model.device)

    def work() -> None:
        cache.length = context
        model(ids, cache, last_only=True)

    return _seconds(work, threads)


def measure_machine(
    config: Config,
    batch: int = 1,
    new: int = 1,
    context: int = 0,
    dtype: torch.dtype = torch.float32,
    threads: int | None = None,
) -> Machine:
    """The rates that torch's products reach here in a pass of this kind, and the overhead of such a pass."""
    return Machine(
        bandwidth=measure_bandwidth(batch, dtype, threads),
        throughput=measure_throughput(dtype=dtype, threads=threads),
        overhead=measure_overhead(config, batch, new, context, dtype, threads),
    )


@torch.inference_mode()
def _seconds(work: Callable[[], object], threads: int | None, repeats: int = 7) -> float:
    """The least time of several runs, after one to warm up: whatever else the machine does only ever adds to it."""
    times = []
    with _threads(threads):
        work()
        for _ in range(repeats):
            start = time.perf_counter()
            work()
            times.append(time.perf_counter() - start)
    return min(times)


@contextmanager
def _threads(count: int | None) -> Iterator[None]:
    """Let torch compute with so many threads for a while."""
    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)
