"""Figures of chapter 02."""

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from ..show import COLOURS
from . import number_grid

if TYPE_CHECKING:
    from ...tokenizer import Tokenizer


def single_tokens(words: str, tokenizer: "Tokenizer") -> dict[str, int]:
    """The comma-separated words, each with its id. Raises ValueError for a word that is not one token, and for under three."""
    found = {}
    for word in dict.fromkeys(w.strip() for w in words.split(",") if w.strip()):
        ids = tokenizer.encode(" " + word)
        if len(ids) != 1:
            raise ValueError(f"{word!r} is {len(ids)} tokens; choose words that are one")
        found[word] = ids[0]
    if len(found) < 3:
        raise ValueError("name at least three words, with commas between them")
    return found


def word_map(words: str, table: Tensor, tokenizer: "Tokenizer") -> Figure:
    """Words as points: the two directions in which their vectors differ most (principal components)."""
    found = single_tokens(words, tokenizer)
    vectors = table[torch.tensor(list(found.values()))].float()
    centred = vectors - vectors.mean(0)
    _, strength, directions = torch.linalg.svd(centred, full_matrices=False)
    signs = torch.sign(directions[:2, directions[:2].abs().argmax(1)].diagonal())  # svd leaves the sign open
    points = centred @ (directions[:2] * signs[:, None]).T  # (words, 2)
    kept = float((strength[:2] ** 2).sum() / (strength**2).sum())
    figure, axes = plt.subplots(figsize=(6.4, 4.4))
    axes.scatter(points[:, 0], points[:, 1], color=COLOURS[0], s=18)
    axes.margins(0.12)
    for word, (x, y), height in zip(found, points.tolist(), _label_heights(points)):
        axes.annotate(word, (x, y), xytext=(x + 0.02 * float(points[:, 0].max() - points[:, 0].min()), height), va="center")
    axes.set(title=f"Words in the two main directions ({kept:.0%} of the variance)")
    axes.set(xlabel="first direction (no unit)", ylabel="second direction (no unit)")
    return figure


def _label_heights(points: Tensor, gap: float = 0.06) -> list[float]:
    """A height for each point's label, pushed up where it would cover the label of a point close by."""
    width, height = (points.max(0).values - points.min(0).values).tolist()
    heights = [float("nan")] * len(points)
    placed: list[tuple[float, float]] = []
    for i in points[:, 1].argsort().tolist():
        x, y = points[i].tolist()
        for other_x, other_y in placed:  # from low to high
            if abs(x - other_x) < 0.15 * width and y - other_y < gap * height:
                y = other_y + gap * height
        heights[i] = y
        placed = sorted([*placed, (x, y)], key=lambda place: place[1])
    return heights


def one_hot_picture(token_id: int, table: Tensor) -> Figure:
    """A one-hot row times a small table, drawn as three grids of numbers: only one row of the table comes through."""
    one_hot = torch.zeros(1, len(table))
    one_hot[0, token_id] = 1
    figure, axes = plt.subplots(1, 3, figsize=(6.4, 2.4), width_ratios=[len(table), table.shape[1], table.shape[1]])
    titles = (f"one-hot of id {token_id}", "× table", "= row of the table")
    for ax, grid, title in zip(axes, (one_hot, table, one_hot @ table), titles):
        number_grid(ax, grid)
        ax.set_title(title)
    axes[1].add_patch(Rectangle((-0.5, token_id - 0.5), table.shape[1], 1, fill=False, edgecolor=COLOURS[3], linewidth=2))
    axes[1].set_ylabel("token id")
    axes[1].set_yticks(range(len(table)))
    return figure
