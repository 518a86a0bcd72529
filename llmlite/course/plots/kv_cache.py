"""Figures of chapter 09."""

import statistics
from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ..show import COLOURS

NEW, AGAIN, READ, FREE = COLOURS[0], COLOURS[1], COLOURS[5], "white"


def passes_picture(prompt: int, count: int) -> Figure:
    """Which tokens go through the model in each pass, without a cache and with one."""
    figure, axes = plt.subplots(1, 2, figsize=(7.6, 2.9), sharey=True)
    for ax, cached, title in zip(axes, (False, True), ("Without a cache", "With one")):
        for step in range(count):
            for token in range(prompt + step):
                fresh = token == prompt + step - 1 or step == 0
                _box(ax, token, step, NEW if fresh else READ if cached else AGAIN)
        ax.set(title=title, xlabel="token of the text", xlim=(-0.5, prompt + count - 1.5), ylim=(count - 0.5, -0.5))
        ax.set_xticks(range(0, prompt + count - 1, 2))
        ax.set_yticks(range(count), range(1, count + 1))
        ax.grid(visible=False)
    axes[0].set_ylabel("pass")
    labels = {NEW: "computed", AGAIN: "computed again", READ: "kept: only read"}
    figure.legend(handles=_patches(labels), loc="outside lower center", ncols=3, frameon=False)
    return figure


def _box(ax: Axes, x: float, y: float, colour: str, height: float = 0.84) -> None:
    ax.add_patch(Rectangle((x - 0.42, y - height / 2), 0.84, height, facecolor=colour, edgecolor="black", linewidth=0.7))


def _patches(labels: Mapping[str, str]) -> list[Patch]:
    return [Patch(facecolor=colour, edgecolor="black", label=label) for colour, label in labels.items()]


def filling(words: Sequence[str], capacity: int) -> Callable[[int, int], Figure]:
    """A drawing of the cache after so many passes; the first of them brings the prompt, each other one token."""

    def draw(prompt: int, passes: int) -> Figure:
        held = prompt + passes - 1
        if held > capacity:
            raise ValueError(f"{held} tokens do not fit a cache of {capacity}: fewer passes, or a shorter prompt")
        before = 0 if passes == 1 else held - 1
        figure, (top, bottom) = plt.subplots(2, 1, figsize=(7.6, 3.6), height_ratios=[3, 2])
        for place in range(capacity):
            colour = READ if place < before else NEW if place < held else FREE
            _slot(top, place, colour, words[place] if place < held else "")
        _slots_axes(top, capacity, f"Pass {passes}: {held - before} in, {held} keys and values for its queries to see")
        labels = {READ: "kept from earlier passes", NEW: "written by this pass", FREE: "free"}
        top.legend(handles=_patches(labels), loc="lower center", bbox_to_anchor=(0.5, -0.65), ncols=3, frameon=False)
        through = {"with the cache": held, "without": sum(range(prompt, held + 1))}
        bars = bottom.barh(list(through), list(through.values()), color=[NEW, AGAIN], height=0.6)
        bottom.bar_label(bars, padding=3)
        bottom.set(xlabel="tokens that have gone through the model so far", xlim=(0, 1.08 * sum(range(1, capacity + 1))))
        bottom.grid(axis="y", visible=False)
        return figure

    return draw


def _slot(ax: Axes, place: int, colour: str, word: str) -> None:
    _box(ax, place, 0, colour, height=0.9)
    seen, dark = word.replace("\n", "↵").strip(), colour in (NEW, COLOURS[2])
    ax.text(
        place,
        0,
        seen,
        rotation=90,
        ha="center",
        va="center",
        fontsize=8,
        color="white" if dark else "black",
        parse_math=False,
    )


def _slots_axes(ax: Axes, capacity: int, title: str) -> None:
    ax.set(title=title, xlabel="place in the cache", xlim=(-0.6, capacity - 0.4), ylim=(-0.55, 0.55))
    ax.set_xticks(range(0, capacity, 2))
    ax.set_yticks([])
    ax.grid(visible=False)


def streaming(words: Sequence[str], capacity: int) -> Callable[[int, int, int], Figure]:
    """A drawing of a cache that evicts whenever it is full, after so many tokens of a text."""

    def draw(read: int, sinks: int, window: int) -> Figure:
        if sinks + window >= capacity:
            raise ValueError(f"{sinks} sinks and a window of {window} leave no free place in a cache of {capacity}")
        held: list[int] = []
        for token in range(read):
            if len(held) == capacity:
                held = held[:sinks] + held[-window:]
            held.append(token)
        figure, ax = plt.subplots(figsize=(7.6, 2.6))
        for place in range(capacity):
            token = held[place] if place < len(held) else -1
            colour = FREE if token < 0 else COLOURS[2] if place < sinks else READ
            _slot(ax, place, colour, words[token] if token >= 0 else "")
            ax.text(place, 0.6, "" if token < 0 else str(token), ha="center", fontsize=8)
        _slots_axes(ax, capacity, f"{read} tokens read, {len(held)} held, {read - len(held)} forgotten")
        ax.set_ylim(-0.55, 0.85)
        ax.set_xlabel("place in the cache: the position its key is turned to\n(above the boxes: the place in the text)")
        labels = {COLOURS[2]: "sinks", READ: "window", FREE: "free"}
        figure.legend(handles=_patches(labels), loc="outside lower center", ncols=3, frameon=False)
        return figure

    return draw


def step_costs(lengths: Sequence[int], measured: Mapping[str, Sequence[Sequence[float]]]) -> Figure:
    """Milliseconds for the next token over the tokens before it: a line through the medians, each repeat as a dot."""
    figure, axes = plt.subplots()
    for (label, repeats), colour in zip(measured.items(), (AGAIN, NEW)):
        _medians(axes, lengths, repeats, colour, label)
    axes.set(
        title="One more token, without a cache and with one", xlabel="tokens so far", ylabel="milliseconds for the next token"
    )
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def _medians(axes: Axes, lengths: Sequence[int], repeats: Sequence[Sequence[float]], colour: str, label: str) -> None:
    axes.plot(lengths, [statistics.median(times) for times in repeats], "-", color=colour, label=label)
    for length, times in zip(lengths, repeats):
        axes.plot([length] * len(times), times, "o", color=colour, markersize=4)


def long_costs(lengths: Sequence[int], repeats: Sequence[Sequence[float]], predicted: Sequence[float]) -> Figure:
    """Milliseconds for a cached token over the tokens held, and the line that the bytes predict."""
    figure, axes = plt.subplots()
    axes.plot(lengths, predicted, "--", color="black", label="predicted from the bytes read")
    _medians(axes, lengths, repeats, NEW, "measured, with the cache")
    axes.set(title="With a cache, a token still costs more after a longer text", xlabel="tokens held", ylabel="milliseconds")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False)
    return figure


def memory_lines(lengths: Sequence[int], megabytes: Mapping[str, Sequence[float]], weights: float) -> Figure:
    """Megabytes of several caches over the tokens they hold, with the weights as a line across."""
    figure, axes = plt.subplots()
    for (label, values), style in zip(megabytes.items(), ("-", "-.", ":")):
        axes.plot(lengths, values, style, label=label)
    axes.axhline(weights, color="black", linestyle="--", label="the weights, 32 bits")
    axes.set(title="SmolLM2's cache and its weights", xlabel="tokens held", ylabel="megabytes", ylim=(0, None), xlim=(0, None))
    axes.legend(frameon=False)
    return figure


def loss_lines(losses: Mapping[str, Sequence[float]], capacity: int, span: int = 48) -> Figure:
    """How surprised the model is along a text: the mean of the last `span` tokens, for several ways to keep a cache."""
    figure, axes = plt.subplots(figsize=(6.8, 3.8))
    styles = ("-", "--", "-.", ":")
    for n, ((label, values), style) in enumerate(zip(losses.items(), styles)):
        ends = range(span, len(values) + 1)
        axes.plot(
            list(ends), [statistics.fmean(values[end - span : end]) for end in ends], style, label=label, color=COLOURS[n]
        )
    axes.axvline(capacity, color="black", linewidth=0.8)
    axes.annotate("the cache is full", (capacity, axes.get_ylim()[1]), xytext=(4, -10), textcoords="offset points", fontsize=8)
    axes.set(
        title="Forgetting the first tokens hurts most", xlabel="token of the text", ylabel="mean −ln p of the last 48 tokens"
    )
    axes.set_ylim(bottom=0)
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    return figure
