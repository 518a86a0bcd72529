"""Figures of chapter 03, and what is read from the model for them."""

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from ...attention import attention_weights, causal_mask
from ...rope import apply_rope, rope_tables
from ..show import COLOURS
from . import number_grid

if TYPE_CHECKING:
    from ...llm import LLM

LONGEST = 24  # tokens of a sentence whose map can still be read


def run_with_hooks(llm: "LLM", text: str, modules: Sequence[torch.nn.Module]) -> list[Tensor]:
    """What each module puts out while the model reads text, each (tokens, size)."""
    heard: list[Tensor] = []

    def listen(module: Any, inputs: Any, output: Tensor) -> None:
        heard.append(output[0].clone())

    listeners = [module.register_forward_hook(listen) for module in modules]
    try:
        with torch.inference_mode():
            llm.model(torch.tensor([llm.encode(text)], device=llm.device))
    finally:
        for listener in listeners:
            listener.remove()
    return heard


def layer_vectors(llm: "LLM", text: str) -> Tensor:
    """The vector of the text's last token: from the table, and after each layer. (layers + 1, hidden_size)"""
    outputs = run_with_hooks(llm, text, [llm.model.embed_tokens, *llm.model.layers])
    return torch.stack([output[-1] for output in outputs])


def keys_and_values(llm: "LLM", text: str) -> list[Tensor]:
    """The keys and the values of every layer while the model reads text, each (tokens, kv_heads * head_dim)."""
    blocks: list[Any] = [layer.self_attn for layer in llm.model.layers]
    return run_with_hooks(llm, text, [m for block in blocks for m in (block.k_proj, block.v_proj)])


class AttentionMaps:
    """Who looks at whom in a model: the attention weights of every layer and head, kept for the last few sentences."""

    def __init__(self, llm: "LLM") -> None:
        self.llm = llm
        self.of = functools.lru_cache(maxsize=8)(self._of)

    def tokens(self, text: str) -> list[str]:
        """The tokens of text as they are read. Raises ValueError for fewer than 2 and for more than fit a picture."""
        ids = self.llm.encode(text)
        if not 2 <= len(ids) <= LONGEST:
            raise ValueError(f"{len(ids)} tokens; a sentence of 2 to {LONGEST} tokens can be shown")
        return [self.llm.tokenizer.decode([i]) for i in ids]

    def _of(self, text: str) -> Tensor:
        """The weights (layers, heads, queries, keys): queries and keys turned by their positions, then exercise 1."""
        blocks: list[Any] = [layer.self_attn for layer in self.llm.model.layers]
        outputs = run_with_hooks(self.llm, text, [m for block in blocks for m in (block.q_proj, block.k_proj)])
        tokens, config = len(outputs[0]), self.llm.model.config
        cos, sin = rope_tables(torch.arange(tokens), self.llm.model.frequencies.cpu())
        group, mask = config.num_attention_heads // config.num_key_value_heads, causal_mask(tokens, tokens)
        q, k = (
            apply_rope(torch.stack(part).cpu().unflatten(-1, (-1, config.head_dim)).transpose(1, 2), cos, sin)
            for part in (outputs[::2], outputs[1::2])
        )  # (layers, heads, tokens, head_dim)
        return attention_weights(q, k.repeat_interleave(group, dim=1), mask)

    def heads(self, text: str, chosen: Mapping[str, tuple[int, int]]) -> Figure:
        """The maps of several heads side by side: name -> (layer, head)."""
        words, maps = self.tokens(text), self.of(text)
        figure, axes = plt.subplots(1, len(chosen), figsize=(8.8, 3.6), sharey=True)
        for ax, (name, (layer, head)) in zip(axes, chosen.items()):
            image = _map(ax, maps[layer, head], words)
            ax.set_title(f"{name}\n(layer {layer}, head {head})")
        axes[0].set_ylabel("this token ...")
        figure.supxlabel("... looks at this one", fontsize=10)
        figure.colorbar(image, ax=axes, label="share of its attention", shrink=0.8)
        return figure

    def draw(self, text: str, layer: int, head: int, token: int) -> Figure:
        """One head's map, and beside it how one token (counted from 0) shares out its attention."""
        words, maps = self.tokens(text), self.of(text)
        token = min(token, len(words) - 1)
        figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4.2), width_ratios=[3, 2])
        _map(left, maps[layer, head], words)
        left.add_patch(Rectangle((-0.5, token - 0.5), len(words), 1, fill=False, edgecolor=COLOURS[3], linewidth=2))
        left.set(title=f"Layer {layer}, head {head}", xlabel="... looks at this one", ylabel="this token ...")
        shares = maps[layer, head, token]
        right.barh(range(len(words)), shares, color=COLOURS[3])
        right.set_yticks(range(len(words)), words, parse_math=False)
        right.set_title(f"Token {token}: {words[token]!r}", parse_math=False)
        right.set(xlabel="share of its attention", xlim=(0, 1))
        right.set_ylim(len(words) - 0.5, -0.5)
        right.grid(axis="y", visible=False)
        return figure


def _map(ax: Axes, weights: Tensor, words: Sequence[str]) -> Any:
    image = ax.imshow(weights, cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(len(words)), list(words), rotation=90, parse_math=False)
    ax.set_yticks(range(len(words)), list(words), parse_math=False)
    ax.grid(visible=False)
    return image


def drift(same: Sequence[float], other: Sequence[float], labels: tuple[str, str]) -> Figure:
    """Two lines of cosines over the layers, with the table at 0."""
    figure, axes = plt.subplots(figsize=(6.4, 3.0))
    for values, label in zip((same, other), labels):
        axes.plot(range(len(values)), values, "o-", markersize=3, label=label)
    axes.set(title="How alike the vectors of “bank” are", xlabel="after layer (0: from the table)", ylabel="cosine (no unit)")
    axes.set_ylim(0, 1.05)
    axes.set_yticks([0, 0.5, 1])
    axes.legend(loc="lower left")
    return figure


def soft_lookup(weights: Tensor, values: Tensor) -> Figure:
    """A row of weights times a small table of values, drawn as three grids of numbers."""
    grids = (weights.round(decimals=3), values, (weights @ values).round(decimals=2))
    figure, axes = plt.subplots(1, 3, figsize=(6.4, 2.4), width_ratios=[3, 2, 2])
    for ax, grid, title in zip(axes, grids, ("weights", "× values", "= average")):
        number_grid(ax, grid / 10 if float(grid.max()) > 2 else grid)
        for text, value in zip(ax.texts, grid.flatten().tolist()):
            text.set_text(f"{value:g}" if ax is axes[1] else f"{value:.3g}" if value > 1 else f"{value:.3f}")
        ax.set_title(title)
    axes[0].set_xlabel("key")
    axes[0].set_xticks(range(len(values)))
    axes[1].set_ylabel("key")
    axes[1].set_yticks(range(len(values)))
    return figure


def scale_picture(sizes: Sequence[int], spread: Sequence[float], largest: Mapping[str, Sequence[float]]) -> Figure:
    """Left: how the spread of dot products grows with head_dim. Right: the largest weight with and without the scale."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.0, 3.0))
    left.plot(sizes, spread, "o", label="measured")
    left.plot(sizes, [d**0.5 for d in sizes], "--", color="black", label="√head_dim")
    left.set_yscale("log", base=2)
    left.set_yticks([2, 8, 32], ["2", "8", "32"])
    left.set(title="Spread of q · k", ylabel="standard deviation (no unit)")
    for (label, values), mark in zip(largest.items(), ("s-", "o-")):
        right.plot(sizes, values, mark, label=label)
    right.set(title="The largest of 16 weights, on average", ylabel="weight (no unit)", ylim=(0, 1))
    for ax in (left, right):
        ax.set_xscale("log", base=2)
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.set_xlabel("head_dim")
    left.legend()
    right.legend(loc="center right")
    return figure


def mask_picture(masks: Mapping[str, tuple[Tensor, int]]) -> Figure:
    """Masks side by side, a dot where a query may look: title -> (mask, position of the first query)."""
    tallest = max(len(mask) for mask, _ in masks.values())
    figure, axes = plt.subplots(1, len(masks), figsize=(3.4 * len(masks), 0.9 + 0.45 * tallest), squeeze=False)
    for ax, (title, (mask, first)) in zip(axes[0], masks.items()):
        ax.imshow(mask, cmap="Blues", vmin=0, vmax=2)
        for query, key in mask.nonzero().tolist():
            ax.plot(key, query, "o", color=COLOURS[0], markersize=6)
        ax.set_xticks(range(mask.shape[1]))
        ax.set_yticks(range(len(mask)), range(first, first + len(mask)))
        ax.grid(visible=False)
        ax.set(title=title, xlabel="position of the key", ylabel="position of the query")
    return figure


def growth(lengths: Sequence[int], milliseconds: Mapping[str, Sequence[float]]) -> Figure:
    """Lines over the number of tokens, both axes in powers of two: a square law is a straight line."""
    figure, axes = plt.subplots(figsize=(5.6, 2.9))
    for (label, values), style in zip(milliseconds.items(), ("--", "o-")):
        axes.plot(lengths, values, style, label=label, color="black" if style == "--" else None)
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(lengths, [str(n) for n in lengths])
    axes.minorticks_off()
    axes.set(title="One layer's attention to a whole prompt", xlabel="tokens", ylabel="milliseconds")
    axes.legend()
    return figure
