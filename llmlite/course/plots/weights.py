"""Figures of chapter 06."""

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.patches import Patch, Rectangle

from ...gguf import DECODERS, GGUF, TYPES
from ..show import COLOURS

PALE = 0.35
HEADS = {"Q8_0": "d", "Q4_1": "dm", "Q4_0": "d"}  # the numbers of 2 bytes before the codes: scale, minimum
BLOCKS = {name: size for name, _, size in TYPES.values() if name in HEADS}  # bytes of a block of 32 values


def hex_view(data: bytes, start: int, rows: int) -> str:
    """Rows of 16 bytes from start on: where they begin, each byte as two hexadecimal digits, and the same bytes as text."""
    lines = []
    for at in range(start, start + 16 * rows, 16):
        part = bytes(data[at : at + 16])
        lines.append(f"{at:>8}  {part.hex(' '):<47}  {_as_text(part)}")
    return "\n".join(lines)


def _as_text(part: bytes) -> str:
    return "".join(chr(byte) if 32 <= byte < 127 else "." for byte in part)


def byte_fields(data: bytes, fields: Sequence[tuple[str, int]], title: str) -> Figure:
    """The first bytes of a file in rows of 16, coloured by the fields (name, number of bytes) that they belong to."""
    total = sum(size for _, size in fields)
    rows = -(-total // 16)
    figure, axes = plt.subplots(figsize=(7.6, 0.42 * rows + 1.4))
    names = list(dict.fromkeys(name for name, _ in fields))
    owners = [names.index(name) for name, size in fields for _ in range(size)]
    for at, owner in enumerate(owners):
        x, y = at % 16, at // 16
        axes.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, facecolor=COLOURS[owner], alpha=PALE, edgecolor="white"))
        shown = _as_text(data[at : at + 1])
        label = f"{data[at]:02x}" if shown == "." else f"{data[at]:02x} {shown}"
        axes.text(x, y, label, ha="center", va="center", fontsize=8, family="monospace")
    axes.set(xlim=(-0.5, 15.5), ylim=(rows - 0.5, -0.5), title=title, xlabel="byte in the row", ylabel="row begins at byte")
    axes.set_xticks(range(16))
    axes.set_yticks(range(rows), [str(16 * row) for row in range(rows)])
    axes.grid(visible=False)
    handles = [Patch(facecolor=COLOURS[n], alpha=PALE, label=name) for n, name in enumerate(names)]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def block_layouts() -> Figure:
    """One block of each format as a row of bytes: scale, minimum where there is one, and the codes of 32 values."""
    figure, axes = plt.subplots(figsize=(7.6, 2.9))
    for y, (name, head) in enumerate(HEADS.items()):
        for at in range(BLOCKS[name]):
            first = at - 2 * len(head)  # the number of the byte's value, or of the first of its two
            part = at // 2 if first < 0 else 2
            x = at + 0.5
            axes.add_patch(Rectangle((at, y - 0.32), 1, 0.64, facecolor=COLOURS[part], alpha=PALE, edgecolor="white"))
            if part < 2:
                axes.text(x, y, "dm"[part], ha="center", va="center", fontsize=9, weight="bold")
            elif _bits(name) == 8:
                axes.text(x, y, str(first), ha="center", va="center", fontsize=7)
            else:
                axes.text(x, y, f"{first + 16}\n{first}", ha="center", va="center", fontsize=7, linespacing=1.5)
    axes.set_yticks(range(len(HEADS)), [f"{name}\n{BLOCKS[name]} bytes" for name in HEADS])
    axes.set(xlim=(0, 34), ylim=(2.5, -0.5), xlabel="byte of the block", title="Where 32 values stand in a block")
    axes.grid(visible=False)
    labels = ("scale d", "minimum m", "codes, by the number of their value")
    handles = [Patch(facecolor=COLOURS[n], alpha=PALE, label=label) for n, label in enumerate(labels)]
    figure.legend(handles=handles, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


def _bits(name: str) -> int:
    """The bits of one code."""
    return (BLOCKS[name] - 2 * len(HEADS[name])) // 4


def block_view(file: GGUF, name: str, number: int) -> Figure:
    """One block of a tensor: its 32 raw codes, its scale (and minimum), and the values that the engine's decoder makes."""
    info = file.info(name)
    size, bits, head = BLOCKS[info.type], _bits(info.type), HEADS[info.type]
    count = (info.nbytes or 0) // size
    if not 0 <= number < count:
        raise ValueError(f"{name} has the blocks 0 to {count - 1}")
    raw = torch.frombuffer(file.data, dtype=torch.uint8, count=size, offset=info.offset + number * size).clone()
    values = DECODERS[info.type](raw).flatten()
    halves, packed = raw[: 2 * len(head)].view(torch.float16).tolist(), raw[2 * len(head) :]
    codes = packed.view(torch.int8) if bits == 8 else torch.cat((packed & 15, packed >> 4))
    parts = ", ".join(f"{n} = {h:.5f}" for n, h in zip(head, halves))
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(6.8, 4.4), sharex=True)
    top.bar(range(32), codes.tolist(), color=COLOURS[2], alpha=0.7)
    top.set_title(f"{name}\nblock {number:,} of {count:,} ({info.type}): {parts}")
    top.set(ylabel="code")
    top.set_ylim((-130, 130) if bits == 8 else (0, 16))
    bottom.bar(range(32), values.tolist(), color=COLOURS[0], alpha=0.7)
    bottom.axhline(0, color="black", linewidth=0.8)
    bottom.set(xlabel="value of the block", ylabel="weight (no unit)")
    return figure
