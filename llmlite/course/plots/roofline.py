"""Figures of chapter 08, and the models and machines that its widget offers."""

from collections.abc import Callable, Mapping, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ... import roofline  # its functions by the module's name: the reader's, once they are installed
from ...roofline import PARTS, Machine
from ...transformer import Config
from ..show import COLOURS

MARKS = "os^Dv"

LLAMA_8B = Config(
    vocab_size=128256,
    hidden_size=4096,
    intermediate_size=14336,
    num_hidden_layers=32,
    num_attention_heads=32,
    num_key_value_heads=8,
    head_dim=128,
    max_position_embeddings=131072,
)
LLAMA_70B = Config(
    vocab_size=128256,
    hidden_size=8192,
    intermediate_size=28672,
    num_hidden_layers=80,
    num_attention_heads=64,
    num_key_value_heads=8,
    head_dim=128,
    max_position_embeddings=131072,
)

# from NVIDIA's data sheets: memory bandwidth, dense 16-bit matrix products; then memory in bytes, and a rent that we assume
A100 = Machine(bandwidth=2.039e12, throughput=312e12)
H100 = Machine(bandwidth=3.35e12, throughput=989e12)
RENTED = {"A100, 80 GB": (A100, 80e9, 1.5), "H100, 80 GB": (H100, 80e9, 3.0)}
PRECISIONS = {"16 bits": 2.0, "8 bits": 1.0, "4 bits and scales": 0.5625}
PROMPT = 1024


def shares(counts: Mapping[str, Mapping[str, Mapping[str, float]]]) -> Figure:
    """Where the FLOPs and the bytes of passes go, in percent: title of a panel -> name of a pass -> number of each part."""
    figure, axes = plt.subplots(1, len(counts), figsize=(8.4, 2.6), sharey=True)
    for ax, (title, passes) in zip(axes, counts.items()):
        for y, values in enumerate(passes.values()):
            left, total = 0.0, sum(values.values())
            for n, part in enumerate(PARTS):
                share = 100 * values[part] / total
                ax.barh(y, share, left=left, height=0.6, color=COLOURS[n], label=part if y == 0 else None)
                left += share
        ax.set_yticks(range(len(passes)), list(passes))
        ax.set(title=title, xlabel="share of the pass (%)", xlim=(0, 100))
        ax.invert_yaxis()
        ax.grid(axis="y", visible=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return figure


def roof(machines: Mapping[str, Machine], points: Mapping[str, tuple[float, float]]) -> Figure:
    """Rooflines, and measured passes as points: name -> (FLOPs per byte, FLOPs per second)."""
    figure, axes = plt.subplots(figsize=(6.8, 4.0))
    _roofs(axes, machines)
    for n, (name, (x, y)) in enumerate(points.items()):
        axes.plot(x, y / 1e9, MARKS[n], color=COLOURS[n], markersize=8, label=name)
    axes.set(title="The roofline of this machine, and three passes under it")
    axes.legend(frameon=False, loc="lower right", fontsize=9)
    return figure


def _roofs(axes: Axes, machines: Mapping[str, Machine]) -> None:
    x = [2 ** (n / 4) for n in range(-8, 57)]
    for (name, machine), line in zip(machines.items(), ("-", "--", ":")):
        axes.plot(x, [machine.attainable(i) / 1e9 for i in x], line, color="black", label=name)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(xlabel="arithmetic intensity (FLOPs per byte)", ylabel="GFLOPs per second")


def account(predicted: Mapping[str, Mapping[str, float]], measured: Mapping[str, float]) -> Figure:
    """Predicted times as stacked bars, seconds of each part and the overhead, and the measured time as a black bar's end."""
    figure, axes = plt.subplots(figsize=(7.2, 3.6))
    for y, (name, parts) in enumerate(predicted.items()):
        left = 0.0
        for n, (part, seconds) in enumerate(parts.items()):
            axes.barh(y, 1000 * seconds, left=left, height=0.5, color=COLOURS[n], label=part if y == 0 else None)
            left += 1000 * seconds
        label = "measured" if y == 0 else None
        axes.plot([1000 * measured[name]] * 2, [y - 0.4, y + 0.4], color="black", linewidth=3, label=label)
    axes.set_yticks(range(len(predicted)), list(predicted))
    axes.invert_yaxis()
    axes.set(title="Where the time of a pass goes: predicted, and measured", xlabel="milliseconds")
    axes.grid(axis="y", visible=False)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return figure


def ratios(batches: Sequence[int], lines: Mapping[str, Sequence[float]]) -> Figure:
    """How the price ratio falls with the number of customers that share a pass."""
    figure, axes = plt.subplots()
    for n, (name, values) in enumerate(lines.items()):
        axes.plot(batches, values, f"{MARKS[n]}-", color=COLOURS[n], markersize=4, label=name)
    axes.axhline(5, color="black", linestyle="--", label="a list price: 5")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(batches, [str(b) for b in batches])
    axes.set_yticks([1, 2, 5, 10, 20, 50, 100, 200], ["1", "2", "5", "10", "20", "50", "100", "200"])
    axes.minorticks_off()
    axes.set(title="Output over input: an 8B model on an H100", xlabel="sequences in a pass", ylabel="price ratio (no unit)")
    axes.legend(frameon=False)
    return figure


def explorer(config: Config, mine: Machine, dollars_per_hour: float) -> Callable[[str, int, str, str], Figure]:
    """A drawing of the decode pass and the prefill under a roofline, and the prices that follow."""
    models = {"SmolLM2 135M": config, "Llama 3.1 8B": LLAMA_8B, "Llama 3.1 70B": LLAMA_70B}
    machines = {"this machine": (mine, float("inf"), dollars_per_hour), **RENTED}

    def draw(model: str, batch: int, weights: str, machine: str) -> Figure:
        return _explored(models[model], 2**batch, PRECISIONS[weights], machine, *machines[machine])

    return draw


def choices(kind: str) -> list[str]:
    """What a menu of the widget offers: models, weights or machines."""
    menus = {
        "model": ["SmolLM2 135M", "Llama 3.1 8B", "Llama 3.1 70B"],
        "weights": list(PRECISIONS),
        "machine": ["this machine", *RENTED],
    }
    return menus[kind]


def _explored(config: Config, batch: int, size: float, name: str, machine: Machine, memory: float, rent: float) -> Figure:
    """The cache stays in 16 bits; prompt and context are PROMPT tokens."""
    shapes = {f"reading {PROMPT} tokens": (1, PROMPT, 0), f"writing, batch {batch}": (batch, 1, PROMPT)}
    figure, axes = plt.subplots(figsize=(6.8, 4.2))
    _roofs(axes, {name: machine})
    prices = []
    for n, (label, (sequences, new, context)) in enumerate(shapes.items()):
        flops = roofline.pass_flops(config, sequences, new, context)
        nbytes = roofline.pass_bytes(config, sequences, new, context, size, 2.0)
        seconds = roofline.predict_seconds(flops, nbytes, machine)
        prices.append(roofline.price_per_million(seconds / (sequences * new), rent))
        x, y = roofline.intensity(flops, nbytes), sum(flops.values()) / seconds
        axes.plot(x, y / 1e9, MARKS[n], color=COLOURS[n], markersize=9, label=label)
    held = sum(roofline.pass_bytes(config, batch, 1, PROMPT, size, 2.0).values())
    fits = "" if held <= memory else f"  DOES NOT FIT: {held / 1e9:.0f} GB in {memory / 1e9:.0f} GB"
    money = f"a million in: {prices[0]:.3g} dollars, out: {prices[1]:.3g}, ratio {prices[1] / prices[0]:.1f}"
    axes.set_title(f"{money}\n({rent:g} dollars an hour){fits}")
    axes.legend(frameon=False, loc="lower right")
    return figure
