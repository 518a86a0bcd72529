"""Figures that take more than a few lines: here those of several chapters, in a module of its word those of one.

Each function returns a figure for `show_figure` or `explore`.
"""

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from ..show import COLOURS


def repeats(samples: Mapping[str, Sequence[float]], title: str, ylabel: str) -> Figure:
    """A bar at the median of each set of repeated measurements, with every repeat as a dot."""
    figure, axes = plt.subplots()
    for n, values in enumerate(samples.values()):
        middle = median_bar(axes, n, values, width=0.5, color=COLOURS[n], alpha=0.6)
        axes.annotate(f"{middle:.3g}", (n, middle), textcoords="offset points", xytext=(26, 2), ha="center")
    axes.set_xticks(range(len(samples)), list(samples))
    axes.set(title=title, ylabel=ylabel)
    axes.grid(axis="x", visible=False)
    return figure


def median_bar(axes: Axes, x: float, values: Sequence[float], **look: Any) -> float:
    """Draw a bar at the median of repeated measurements and each of them as a dot. Returns the median."""
    middle = statistics.median(values)
    axes.bar(x, middle, **look)
    axes.plot([x] * len(values), values, "o", color="black", markersize=4)
    return middle


def bars(values: Mapping[str, float], title: str, xlabel: str, fmt: str = "%.3g") -> Figure:
    """Horizontal bars with their values written behind them."""
    figure, axes = plt.subplots()
    drawn = axes.barh(list(values), list(values.values()), color=COLOURS[0], height=0.6)
    axes.bar_label(drawn, fmt=fmt, padding=3)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    axes.set(title=title, xlabel=xlabel)
    axes.grid(axis="y", visible=False)
    return figure


def curve(x: Sequence[float], y: Sequence[float], title: str, xlabel: str, ylabel: str) -> Figure:
    """One line through measured points, from zero."""
    figure, axes = plt.subplots()
    axes.plot(x, y, "o-", markersize=3)
    axes.set(title=title, xlabel=xlabel, ylabel=ylabel)
    axes.set_ylim(bottom=0)
    return figure


def number_grid(ax: Axes, grid: Tensor) -> None:
    """Draw a small grid of numbers, each in its cell, darker for larger ones from -1 to 2."""
    ax.imshow(grid, cmap="Blues", vmin=-1, vmax=2)
    ax.grid(visible=False)
    ax.set_xticks([])
    ax.set_yticks([])
    for (y, x), value in [((y, x), grid[y, x]) for y in range(grid.shape[0]) for x in range(grid.shape[1])]:
        ax.text(x, y, f"{value:g}", ha="center", va="center")
