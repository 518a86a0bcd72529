"""Figures of chapter 10, and what is measured for them."""

import inspect
import json
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle
from torch import Tensor

from ...flash_attention import attention_traffic, tile_bytes
from ..show import COLOURS

KB, MB = 1024, 1024**2


def seconds(work: Callable[[], Any], times: int = 5) -> list[float]:
    """How long each of several runs took, after one to warm up."""
    work()
    marks = [time.perf_counter()]
    for _ in range(times):
        work()
        marks.append(time.perf_counter())
    return [b - a for a, b in zip(marks, marks[1:])]


def read_speed(size: int, least: int = 64 * MB) -> float:
    """Bytes a second at which this many bytes can be read again and again, at least so many in one call."""
    numbers = torch.ones(size // 4)
    again = numbers.expand(max(1, least // size), -1)  # the same memory, over and over
    return again.numel() * 4 / statistics.median(seconds(again.sum))


def size_name(size: int) -> str:
    """A number of bytes as text."""
    return f"{size // MB} MB" if size >= MB else f"{size // KB} KB"


def speeds(sizes: Sequence[int], measured: Sequence[float]) -> Figure:
    """Reading speed over the bytes that are read again and again."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    axes.plot(sizes, [m / 1e9 for m in measured], "o-")
    axes.set_xscale("log", base=2)
    axes.set_xticks(sizes[::2], [size_name(size) for size in sizes[::2]])
    axes.set(title="The same bytes, again and again", xlabel="how many bytes they are", ylabel="gigabytes read a second")
    axes.set_ylim(bottom=0)
    return figure


def tile_map(tokens: int, tile: int, offset: int = 0) -> Figure:
    """The tiles of a causal score matrix: which are whole, which are cut by the diagonal, which are never made."""
    queries = tokens - offset
    figure, axes = plt.subplots(figsize=(5.6, 0.9 + 0.22 * queries + 0.6))
    looks = {"all of it visible": COLOURS[0], "the diagonal passes through": COLOURS[1], "in the future: never made": "white"}
    visible, partly, future = looks.values()
    for top in range(0, queries, tile):
        for left in range(0, tokens, tile):
            height, width = min(tile, queries - top), min(tile, tokens - left)
            first, last = offset + top, offset + top + height - 1
            look = visible if left + width - 1 <= first else partly if left <= last else future
            place = (left - 0.5, offset + top - 0.5)
            axes.add_patch(Rectangle(place, width, height, facecolor=look, edgecolor="black", alpha=0.75))
    for query in range(offset, tokens):
        axes.plot(range(query + 1), [query] * (query + 1), ".", color="black", markersize=3)
    axes.set(title=f"{tokens} tokens in tiles of {tile}", xlabel="position of the key", ylabel="position of the query")
    axes.set(xlim=(-0.5, tokens - 0.5), ylim=(tokens - 0.5, offset - 0.5), aspect="equal")
    axes.grid(visible=False)
    keys = [Patch(facecolor=look, edgecolor="black", alpha=0.75, label=name) for name, look in looks.items()]
    axes.legend(handles=keys, loc="center left", bbox_to_anchor=(1.02, 0.5), frameon=False)
    return figure


class Traffic:
    """Bytes that attention to a prompt moves, with and without tiles, for a model of this shape."""

    def __init__(self, heads: int, kv_heads: int, head_dim: int) -> None:
        self.shape = heads, kv_heads, head_dim

    def draw(self, tokens: int, tile: int) -> Figure:
        """Left: what moves. Right: what one tile needs close by, beside common sizes of a core's own caches."""
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2), width_ratios=[3, 2])
        ways = {"score matrix": None, f"tiles of {tile}": tile}
        base = [0.0] * len(ways)
        parts = [attention_traffic(tokens, *self.shape, tile=size) for size in ways.values()]
        for n, name in enumerate(parts[0]):
            values = [part[name] / 1e6 for part in parts]
            left.bar(list(ways), values, bottom=base, label=name, color=COLOURS[n], width=0.5)
            base = [b + v for b, v in zip(base, values)]
        for n, total in enumerate(base):
            left.annotate(f"{total:,.1f}", (n, total), textcoords="offset points", xytext=(0, 3), ha="center")
        left.set(title=f"One layer, {tokens:,} tokens", ylabel="megabytes moved")
        left.margins(x=0.2, y=0.12)
        left.grid(axis="x", visible=False)
        left.legend(fontsize=8)
        need = tile_bytes(tile, *self.shape)
        right.bar([f"tiles of {tile}"], [need / KB], color=COLOURS[0], width=0.4)
        right.annotate(f"{need / KB:,.0f} KB", (0, need / KB), textcoords="offset points", xytext=(0, 3), ha="center")
        for name, size in (("L1, often 32 KB", 32), ("L2, often 1 MB", 1024)):
            right.axhline(size, color="black", linestyle="--", linewidth=1)
            right.annotate(name, (0.6, size), textcoords="offset points", xytext=(0, 3), ha="right", fontsize=8)
        right.set(title="Needed close by", ylabel="kilobytes", yscale="log", ylim=(1, 3e4), xlim=(-0.6, 0.6))
        right.grid(axis="x", visible=False)
        return figure


def lines(x: Sequence[int], series: Mapping[str, Sequence[float]], title: str, xlabel: str, ylabel: str) -> Figure:
    """Several measured lines over a number that doubles, both axes logarithmic."""
    figure, axes = plt.subplots(figsize=(6.4, 3.2))
    for (name, values), mark in zip(series.items(), ("o-", "s-", "^-")):
        axes.plot(x, values, mark, label=name)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(x, [f"{n:,}" for n in x])
    axes.minorticks_off()
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.legend()
    return figure


_CHILD = """
import json, sys, time, statistics, torch
torch.set_num_threads(1)
source, rows, columns = json.loads(sys.argv[1])
exec(source)
work = locals()[source.split("(")[0].split()[-1]]
x = torch.randn(rows, columns, generator=torch.Generator().manual_seed(0))
start = time.perf_counter()
fused = torch.compile(work)
same = torch.allclose(fused(x), work(x), atol=1e-5)
compiling = time.perf_counter() - start
spent = []
for run in (work, fused):
    times = []
    for _ in range(7):
        start = time.perf_counter()
        run(x)
        times.append(time.perf_counter() - start)
    spent.append(statistics.median(times))
print(json.dumps([compiling, same, *spent]))
"""


def compile_apart(work: Callable[[Tensor], Tensor], shape: tuple[int, int], limit: float = 25.0) -> str:
    """What torch.compile makes of a function of one matrix, tried in a process of its own that may take limit seconds.

    Returns a few lines of text; where there is no C++ compiler, or no time, one that says so.
    """
    if not any(map(shutil.which, ("g++", "clang++", "c++", "cl"))):
        return "torch.compile needs a C++ compiler, and this machine has none: the cell is skipped."
    command = [sys.executable, "-c", _CHILD, json.dumps([inspect.getsource(work), *shape])]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, encoding="utf-8")
        compiling, same, plain, fused = json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return f"torch.compile took more than {limit:.0f} seconds on this machine: the cell is skipped."
    except ValueError:
        return "torch.compile does not work on this machine: the cell is skipped."
    return (
        f"compiling took {compiling:.1f} s, same result: {same}\n"
        f"operation by operation: {1000 * plain:.1f} ms, compiled: {1000 * fused:.1f} ms"
    )


def profile_table(events: Any, rows: int = 10) -> tuple[list[tuple[str, int, float]], float]:
    """The slowest operations of a torch profile, as (name, calls, milliseconds of its own), and the milliseconds of all."""
    spent = sorted(((e.key, e.count, e.self_cpu_time_total / 1000) for e in events), key=lambda e: -e[2])
    return spent[:rows], sum(own for _, _, own in spent)
