"""Figures of chapter 05."""

from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

from ..show import COLOURS
from . import median_bar


def block_picture() -> Figure:
    """The block from left to right: the stream runs through, and two branches read from it and add to it."""
    figure, axes = plt.subplots(figsize=(7.6, 2.6))
    axes.set(xlim=(0, 15.2), ylim=(-0.6, 3.1))
    axes.axis("off")
    arrow = {"arrowstyle": "-|>", "color": "black", "linewidth": 1.4}
    axes.annotate("", (15.1, 0), (0.1, 0), arrowprops={**arrow, "color": COLOURS[0], "linewidth": 4})
    axes.text(0.1, -0.5, "x in", color=COLOURS[0])
    axes.text(14.2, -0.5, "x out", color=COLOURS[0])
    axes.text(7.6, -0.5, "residual stream", color=COLOURS[0], ha="center")
    for left, name, colour in ((1.2, "attention", COLOURS[1]), (8.2, "MLP", COLOURS[2])):
        axes.annotate("", (left, 1.75), (left, 0.1), arrowprops=arrow)
        _box(axes, left - 0.7, 1.4, "norm", COLOURS[5])
        _box(axes, left + 1.9, 2.4, name, colour)
        axes.annotate("", (left + 1.8, 2.1), (left + 0.8, 2.1), arrowprops=arrow)
        axes.plot([left + 4.4, left + 5.3], [2.1, 2.1], color="black", linewidth=1.4)
        axes.annotate("", (left + 5.3, 0.28), (left + 5.3, 2.13), arrowprops=arrow)
        axes.text(
            left + 5.3, 0, "+", ha="center", va="center", fontsize=15, bbox={"boxstyle": "circle,pad=0.15", "fc": "white"}
        )
    axes.set_title("One block: two branches read a normalised copy and add to the stream")
    return figure


def _box(axes: Axes, x: float, width: float, text: str, colour: str) -> None:
    look = FancyBboxPatch((x, 1.7), width, 0.8, boxstyle="round,pad=0.05", facecolor=colour, alpha=0.5, edgecolor="black")
    axes.add_patch(look)
    axes.text(x + width / 2, 2.1, text, ha="center", va="center")


def silu_picture() -> Figure:
    """silu against relu, from -6 to 6."""
    x = torch.linspace(-6, 6, 241)
    figure, axes = plt.subplots(figsize=(5.6, 3.2))
    axes.plot(x, torch.relu(x), "--", color=COLOURS[1], label="relu: 0 below 0")
    axes.plot(x, x * torch.sigmoid(x), color=COLOURS[0], label="silu: x × sigmoid(x)")
    axes.plot([1, -1.28], [0.731, -0.278], "o", color=COLOURS[0])
    axes.annotate("silu(1) = 0.731", (1, 0.731), xytext=(1.5, 0.2))
    axes.annotate("lowest: −0.278", (-1.28, -0.278), xytext=(-4.2, -0.9))
    axes.set(title="How far the gate opens", xlabel="gate (no unit)", ylabel="what up is multiplied by", ylim=(-1.3, 6))
    axes.legend()
    return figure


def stream_picture(lengths: Sequence[float], turns: Sequence[float]) -> Figure:
    """How long the stream of one token is after each layer, and by how many degrees each layer turns it."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.2))
    left.plot(range(len(lengths)), lengths, "o-", markersize=3)
    left.set(title="Length of the stream", xlabel="after layer", ylabel="length (no unit)", ylim=(0, None))
    right.bar(range(1, len(lengths)), turns, color=COLOURS[1])
    right.set(title="Turned by each layer", xlabel="layer", ylabel="degrees")
    return figure


def cost_bars(shares: Mapping[str, Mapping[str, float]], title: str, xlabel: str) -> Figure:
    """A stacked bar for each row: what share of it each part has, in percent."""
    figure, axes = plt.subplots(figsize=(7, 0.5 * len(shares) + 1.6))
    left = [0.0] * len(shares)
    for n, part in enumerate(next(iter(shares.values()))):
        widths = [share[part] for share in shares.values()]
        drawn = axes.barh(list(shares), widths, left=left, color=COLOURS[n], alpha=0.75, height=0.6, label=part)
        axes.bar_label(drawn, [f"{w:.0f}" if w >= 4 else "" for w in widths], label_type="center")
        left = [a + b for a, b in zip(left, widths)]
    axes.invert_yaxis()
    axes.set(title=title, xlabel=xlabel, xlim=(0, 100))
    axes.grid(axis="y", visible=False)
    axes.legend(ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.28), frameon=False)
    return figure


def lens_picture(chances: torch.Tensor, names: Mapping[int, str], layer: int) -> Figure:
    """The model's last choice followed through the layers, and the six likeliest tokens after one of them.

    chances (layers + 1, vocab_size) are the probabilities after each layer; names has the text of the tokens to be named.
    """
    figure, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3.2))
    chosen = int(chances[-1].argmax())
    left.plot(range(len(chances)), 100 * chances[:, chosen], "o-", markersize=3)
    left.axvline(layer, color=COLOURS[3], linestyle="--")
    left.set(title=f"Probability of {names[chosen]}", xlabel="read after layer", ylabel="probability (%)", ylim=(0, 105))
    top = chances[layer].topk(6)
    drawn = right.barh(range(6), 100 * top.values, color=COLOURS[3], alpha=0.75)
    right.bar_label(drawn, fmt="%.1f", padding=3)
    right.set_yticks(range(6), [names[i] for i in top.indices.tolist()])
    right.set(title=f"Likeliest after layer {layer}", xlabel="probability (%)", xlim=(0, 118))
    right.invert_yaxis()
    right.grid(axis="y", visible=False)
    return figure


def times_picture(predicted: Mapping[str, float], measured: Mapping[str, Sequence[float]], title: str) -> Figure:
    """For each part the predicted milliseconds beside the measured ones: the median as a bar, every repeat as a dot."""
    figure, axes = plt.subplots()
    for n, (part, times) in enumerate(measured.items()):
        axes.bar(n - 0.2, predicted[part], 0.38, color=COLOURS[0], alpha=0.75, label=None if n else "predicted")
        label = None if n else "measured (median)"
        middle = median_bar(axes, n + 0.2, times, width=0.38, color=COLOURS[1], alpha=0.75, label=label)
        for x, height in ((n - 0.3, predicted[part]), (n + 0.3, middle)):
            axes.annotate(f"{height:.0f}", (x, height), textcoords="offset points", xytext=(0, 3), ha="center")
    axes.set_xticks(range(len(measured)), list(measured))
    axes.set(title=title, ylabel="milliseconds")
    axes.grid(axis="x", visible=False)
    axes.legend(loc="upper left")
    return figure
