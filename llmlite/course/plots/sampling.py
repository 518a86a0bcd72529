"""Figures of chapter 07."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from torch import Tensor

from ... import sampling  # its functions by the module's name: the reader's, once they are installed
from ..show import COLOURS

if TYPE_CHECKING:
    from ...llm import LLM

KEPT, DROPPED = COLOURS[0], COLOURS[1]
SHOWN = 15


def nucleus_picture(chances: Mapping[str, float], p: float) -> Figure:
    """Probabilities laid end to end, the largest first, with a line at p: what begins left of the line is kept."""
    figure, axes = plt.subplots(figsize=(6.4, 1.9))
    left = 0.0
    for n, (name, chance) in enumerate(sorted(chances.items(), key=lambda item: -item[1])):
        kept = n == 0 or left < p - 1e-9
        axes.barh(0, chance, left=left, color=KEPT if kept else DROPPED, edgecolor="white", linewidth=2, height=0.6)
        axes.text(
            left + chance / 2,
            0,
            f"{name}\n{chance:g}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if kept else "black",
        )
        left += chance
    axes.axvline(p, color="black", linestyle="--")
    axes.set(title=f"Top-p with p = {p:g}", xlabel="sum of probabilities, the likeliest first", xlim=(0, 1.0), ylim=(-0.4, 0.4))
    axes.set_yticks([])
    axes.grid(visible=False)
    figure.legend(handles=_patches(), loc="outside right upper", frameon=False)
    return figure


def _patches() -> list[Patch]:
    return [Patch(color=KEPT, label="kept"), Patch(color=DROPPED, label="dropped")]


def drawn_and_expected(names: Sequence[str], drawn: Sequence[float], expected: Sequence[float], draws: int) -> Figure:
    """Shares of the draws beside the probabilities that they were drawn with, in percent."""
    figure, axes = plt.subplots()
    for n, (label, values) in enumerate((("probability", expected), (f"share of {draws} draws", drawn))):
        shown = axes.bar([i + 0.4 * n - 0.2 for i in range(len(names))], values, 0.38, color=COLOURS[n], label=label)
        axes.bar_label(shown, fmt="%.1f", padding=2, fontsize=8)
    axes.set_xticks(range(len(names)), list(names))
    axes.set(title="Draws follow the probabilities", ylabel="percent", xlabel="token")
    axes.grid(axis="x", visible=False)
    axes.legend(frameon=False)
    return figure


def explorer(llm: "LLM") -> Callable[[str, float, int, float, float], Figure]:
    """A drawing of the next token's probabilities under the controls; the model reads each prompt once."""

    @cache
    def logits_of(prompt: str) -> Tensor:
        return sampling.prefill(llm.model, llm.encode(prompt)).float()

    def draw(prompt: str, temperature: float, top_k: int, top_p: float, min_p: float) -> Figure:
        scaled = sampling.apply_temperature(logits_of(prompt), temperature)
        left = sampling.filter_top_p(sampling.filter_top_k(scaled, top_k), top_p)
        kept = sampling.filter_min_p(left, min_p) > -torch.inf
        return _next_token(llm, torch.softmax(scaled, 0), kept)

    return draw


def _next_token(llm: "LLM", chances: Tensor, kept: Tensor) -> Figure:
    top = chances.topk(SHOWN)
    figure, axes = plt.subplots(figsize=(6.4, 4.2))
    colours = [KEPT if kept[i] else DROPPED for i in top.indices.tolist()]
    drawn = axes.barh(range(SHOWN), (100 * top.values).tolist(), color=colours, height=0.7)
    axes.bar_label(drawn, fmt="%.2g", padding=3)
    labels = [repr(llm.tokenizer.decode([i])).replace("$", r"\$") for i in top.indices.tolist()]
    axes.set_yticks(range(SHOWN), labels)
    axes.invert_yaxis()
    axes.margins(x=0.12)
    share = float(chances[kept].sum())
    axes.set(title=f"{int(kept.sum()):,} of {len(kept):,} tokens kept, with {share:.0%} of the probability")
    axes.set(xlabel="probability (%) after the temperature", ylabel=f"the {SHOWN} likeliest tokens")
    axes.grid(axis="y", visible=False)
    axes.legend(handles=_patches(), loc="lower right", frameon=False)
    return figure


def step_times(lengths: Sequence[int], measured: Sequence[Sequence[float]], predicted: Sequence[float]) -> Figure:
    """Milliseconds for the next token against the tokens before it: every repeat as a dot, and the predicted line."""
    figure, axes = plt.subplots()
    axes.plot(lengths, predicted, "--", color=COLOURS[1], label="predicted: proportional to the tokens")
    for n, (length, times) in enumerate(zip(lengths, measured)):
        axes.plot([length] * len(times), times, "o", color=COLOURS[0], label="measured" if n == 0 else None)
    axes.set(title="One more token, without a cache", xlabel="tokens so far", ylabel="milliseconds for the next token")
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.legend(frameon=False)
    return figure
