"""Figures of chapter 04."""

import math
from collections.abc import Mapping, Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle
from torch import Tensor

from ..show import COLOURS


def turning(frequency: float, positions: int) -> Figure:
    """The vector (1, 0) at each of the first positions, turned by position times frequency."""
    figure, axes = plt.subplots(figsize=(4.4, 4.4))
    _circle(axes)
    for position in range(positions):
        _arrow(axes, position * frequency, COLOURS[0], alpha=0.35 + 0.65 * position / max(1, positions - 1))
        x, y = 1.13 * math.cos(position * frequency), 1.13 * math.sin(position * frequency)
        axes.text(x, y, str(position), ha="center", va="center")
    axes.set(title=f"One pair, {frequency:g} radians a token", xlabel="first number (no unit)")
    axes.set_ylabel("second number (no unit)")
    return figure


def waves(frequencies: Tensor, positions: int) -> Figure:
    """The cosine of every pair's angle at every position, as a heat map: fast pairs on top."""
    angles = torch.arange(positions) * frequencies[:, None]  # (pairs, positions)
    figure, axes = plt.subplots(figsize=(6.8, 3.8))
    image = axes.imshow(angles.cos(), cmap="RdBu", vmin=-1, vmax=1, aspect="auto", interpolation="nearest")
    axes.grid(visible=False)
    axes.set(title="32 hands of one clock" if len(frequencies) == 32 else "The hands of one clock")
    axes.set(xlabel="position (tokens)", ylabel="pair, from fast to slow")
    figure.colorbar(image, ax=axes, label="cosine of the angle")
    return figure


def clocks(frequencies: Tensor, position: int, pairs: Sequence[int], distance: int = 1) -> Figure:
    """Some pairs as hands on a clock face: blue at the position, orange `distance` tokens later."""
    figure, row = plt.subplots(1, len(pairs), figsize=(1.75 * len(pairs), 2.5))
    for axes, pair in zip(row, pairs):
        frequency = float(frequencies[pair])
        _circle(axes)
        _arrow(axes, (position + distance) * frequency, COLOURS[1])
        _arrow(axes, position * frequency, COLOURS[0])
        axes.set_xticks([])
        axes.set_yticks([])
        axes.spines[:].set_visible(False)
        axes.set_title(f"pair {pair}")
        axes.set_xlabel(f"{position * frequency / (2 * math.pi):,.3f} turns")
    later = f"{distance} token{'s' * (distance != 1)} later"
    figure.suptitle(f"Blue: position {position:,}. Orange: {later}", x=0.01, ha="left", fontsize=11)
    return figure


def stretched(lines: Mapping[str, Tensor], context: int) -> Figure:
    """Turns that each pair makes within the context, one line for each way of setting the frequencies."""
    figure, axes = plt.subplots()
    for n, (name, frequencies) in enumerate(lines.items()):
        turns = frequencies * context / (2 * math.pi)
        axes.plot(range(len(turns)), turns, "os^"[n % 3], markersize=4, color=COLOURS[n], label=name)
    axes.axhline(1, color="black", linewidth=1)
    axes.text(0, 1.25, "one whole turn")
    axes.set_yscale("log")
    axes.set(title=f"Turns within {context:,} tokens", xlabel="pair, from fast to slow", ylabel="turns")
    axes.legend()
    return figure


def _circle(axes: Axes) -> None:
    axes.add_patch(Circle((0, 0), 1, fill=False, color="0.6"))
    axes.set_xlim(-1.3, 1.3)
    axes.set_ylim(-1.3, 1.3)
    axes.set_aspect("equal")


def _arrow(axes: Axes, angle: float, colour: str, alpha: float = 1.0) -> None:
    style = {"arrowstyle": "-|>", "color": colour, "alpha": alpha, "linewidth": 2, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (math.cos(angle), math.sin(angle)), (0, 0), arrowprops=style)
