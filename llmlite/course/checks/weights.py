"""Checks of chapter 06."""

import math
import random
import struct
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...gguf import ModelFileError
from . import Faults, Mistake, check, close, equal, named, normal, not_missing, refuses, works

EXERCISES = {
    "read_header": (
        'b"GGUF" is data[:4]. int.from_bytes(data[a:b], "little") makes a number of the bytes from a to b.',
        "The version is data[4:8], the number of tensors data[8:16], the number of metadata values data[16:24].",
        "Refuse in this order: another magic, fewer than 24 bytes, a version whose low 16 bits are 0 (other-endian), "
        "a version that is not 2 or 3. Then return Header(version, tensors, values).",
    ),
    "decode_q8_0": (
        "raw.view(-1, 34) has one row for each block. What stands in columns 0 and 1, and what in columns 2 to 33?",
        "view(torch.int8) reads bytes as signed; view(torch.float16) reads pairs of bytes; where torch refuses, "
        ".contiguous() helps.",
        "return blocks[:, 2:].view(torch.int8).float() * blocks[:, :2].contiguous().view(torch.float16).float()",
    ),
    "decode_q4_1": (
        "raw.view(-1, 20): columns 0 and 1 are the scale, 2 and 3 the minimum, 4 to 19 the sixteen bytes of codes.",
        "The low half of a byte is byte & 15, the high half byte >> 4. All low halves come first: torch.cat((low, high), 1).",
        "codes * scale + minimum, with the codes from 0 to 15 as they are, everything in float32.",
    ),
    "unpermute": (
        "Within a head of 6 rows the file has 0, 3, 1, 4, 2, 5 of the original. Which rows of the file go to the first half?",
        "Of each head's rows, those with even numbers come first, then those with odd numbers.",
        "weight.reshape(heads, -1, 2, *weight.shape[1:]) makes pairs of rows; swap dims 1 and 2, reshape to weight.shape.",
    ),
}


# --- read_header ---


def _head(version: int, tensors: int, values: int, magic: bytes = b"GGUF") -> bytes:
    return magic + struct.pack("<IQQ", version, tensors, values)


@check("read_header")
def three_numbers(answer: Any, draw: random.Random) -> None:
    version, tensors, values = draw.choice((2, 3)), draw.randrange(300, 60_000), draw.randrange(10, 250)
    data = _head(version, tensors, values)
    lines = {"bytes": data.hex(" ")}
    got = works(partial(answer, data), "a header that is in order is read", **lines)
    _compare(got, (version, tensors, values), data, lines)


@check("read_header")
def large_counts(answer: Any, draw: random.Random) -> None:
    tensors, values = draw.randrange(2**33, 2**40), draw.randrange(2**33, 2**40)
    data = _head(3, tensors, values)
    lines = {"bytes": data.hex(" ")}
    got = works(
        partial(answer, data), "counts have 8 bytes and may be large: whether they can be true is checked later", **lines
    )
    if [int(n) for n in _three(got)[1:]] == [tensors % 2**32, values % 2**32]:
        raise Mistake("the counts are cut to 4 bytes; each has 8 (uint64)", **lines, yours=got, expected=(3, tensors, values))
    _compare(got, (3, tensors, values), data, lines)
    small = _head(2, 2, 3) + b"more bytes follow"
    lines = {"bytes": small.hex(" ")}
    _compare(
        works(partial(answer, small), "version 2 is in order, and the data may be longer", **lines), (2, 2, 3), small, lines
    )


@check("read_header")
def unsigned_counts(answer: Any, draw: random.Random) -> None:
    data = _head(3, 2**64 - 1, 2**63)
    sentence = "large counts are not refused here: whoever reads on compares them with the file's size"
    got = works(partial(answer, data), sentence, bytes=data.hex(" "))
    if any(int(n) < 0 for n in _three(got)):
        raise Mistake("the counts are unsigned (uint64): 2**64 - 1 has become negative", bytes=data.hex(" "), yours=got)
    _compare(got, (3, 2**64 - 1, 2**63), data, {"bytes": data.hex(" ")})


@check("read_header")
def by_name(answer: Any, draw: random.Random) -> None:
    got = answer(_head(3, 272, 33))
    for name, want in (("version", 3), ("tensors", 272), ("values", 33)):
        if getattr(got, name, None) != want:
            raise Mistake("the result should be a Header(version, tensors, values)", yours=got)


@check("read_header")
def not_this_kind(answer: Any, draw: random.Random) -> None:
    for magic in (b"GGJT", b"PK\x03\x04", b"gguf", b"FUGG"):
        data = _head(3, 1, 1, magic)
        sentence = f"a file that starts with {magic!r} is no GGUF file: refuse it with ModelFileError"
        refuses(partial(answer, data), sentence, ModelFileError, bytes=data.hex(" "))
    for length in (23, 8, 4, 3, 0):
        data = _head(3, 1, 1)[:length]
        sentence = f"a header of {length} bytes is cut short: refuse fewer than 24 bytes with ModelFileError"
        refuses(partial(answer, data), sentence, ModelFileError, bytes=data.hex(" "))


@check("read_header")
def other_versions(answer: Any, draw: random.Random) -> None:
    for version in (0, 1, 4, 99):
        sentence = f"version {version} is refused with ModelFileError: only 2 and 3 are known"
        message = refuses(partial(answer, _head(version, 1, 1)), sentence, ModelFileError, version=version)
        if version and "endian" in message.lower():
            raise Mistake(f"version {version} is not big-endian: its message should not say so", message=message)
    for version in (2, 3):
        data = b"GGUF" + struct.pack(">IQQ", version, 1, 1)
        sentence = "a big-endian file is refused with ModelFileError"
        message = refuses(partial(answer, data), sentence, ModelFileError, bytes=data.hex(" "))
        if "endian" not in message.lower():
            sentence = 'a big-endian file is refused by name: its message holds the word "endian"'
            raise Mistake(sentence, bytes=data.hex(" "), message=message)


def _three(got: Any) -> tuple[Any, Any, Any]:
    not_missing(got)
    if not isinstance(got, (tuple, list)) or len(got) != 3:
        raise Mistake("the result should be a Header: version, tensors, values", yours=got)
    return got[0], got[1], got[2]


def _compare(got: Any, want: tuple[int, int, int], data: bytes, lines: dict[str, Any]) -> None:
    found = _three(got)
    magic_too, big = struct.unpack("<I", data[:4])[0], struct.unpack(">IQQ", data[4:24])
    shown = {**lines, "yours": got, "expected": want}
    whole = {
        "the counts are swapped: tensors come first, then metadata values": (want[0], want[2], want[1]),
        "this is big-endian: in this format the least significant byte comes first": big,
        "the counts are read as 4 bytes; each has 8 (uint64)": (want[0], want[1] % 2**32, want[1] >> 32),
    }
    named(found, want, whole.items(), **shown)
    versions = {
        "the first four bytes are the magic; the version comes after them": magic_too,
        "the version is read as 8 bytes; it has 4 (uint32)": struct.unpack("<Q", data[4:12])[0],
    }
    named(found[0], want[0], versions.items(), **shown)
    if found != want:
        raise Mistake("these are not the numbers in the header", **shown)


# --- blocks ---

ROUNDED = "the values are rounded to half precision on the way: make every factor float32 first"


def _half(number: float) -> bytes:
    return struct.pack("<e", number)


def _raw(blocks: list[bytes]) -> Tensor:
    return torch.frombuffer(bytearray(b"".join(blocks)), dtype=torch.uint8)


def _scale(draw: random.Random) -> float:
    """A number that float16 holds exactly."""
    return float(np.float16(draw.uniform(0.01, 0.2)))


def _decoded(answer: Any, raw: Tensor, want: Tensor, lines: dict[str, Any]) -> Tensor:
    """The answer's values, of the right kind and shape."""
    before = raw.clone()
    got = answer(raw)
    not_missing(got, **lines)
    if not torch.equal(raw, before):
        raise Mistake("the bytes that were handed in have changed: work on a copy", **lines)
    if isinstance(got, Tensor) and got.shape == want.shape[::-1] and got.shape != want.shape:
        raise Mistake("the blocks should be rows and their 32 values columns: this is transposed", **lines, yours=got.shape)
    if not isinstance(got, Tensor) or got.shape != want.shape:
        close(got, want, "", **lines)
    if got.dtype != torch.float32:
        raise Mistake(f"the values are {str(got.dtype).removeprefix('torch.')}, they should be float32", **lines)
    return got


def _match(got: Tensor, want: Tensor, faults: Faults, sentence: str, lines: dict[str, Any]) -> None:
    """Raise Mistake unless got is want, with the sentence of a known fault; a block that differs is shown."""
    off = ((got - want).abs().nan_to_num(math.inf) > 1e-5 * want.abs().clamp(min=0.1)).any(1)
    if off.any():
        block = int(off.nonzero()[0])
        lines = {**lines, "block": block}
        named(got, want, faults, **lines, yours=got[block], expected=want[block])
        close(got[block], want[block], sentence, **lines)


@check("decode_q8_0")
def one_block_by_hand(answer: Any, draw: random.Random) -> None:
    codes = [draw.choice((1, -1)) * (n + 1) for n in range(31)] + [-128]
    raw = _raw([_half(0.5) + struct.pack("32b", *codes)])
    _match_q8(answer, raw, [0.5], [codes], "scale 0.5 (bytes 00 38)")


@check("decode_q8_0")
def several_blocks(answer: Any, draw: random.Random) -> None:
    for count in (3, 32, 5):
        scales = [_scale(draw) for _ in range(count)]
        codes = [[draw.randrange(-128, 128) for _ in range(32)] for _ in range(count)]
        raw = _raw([_half(d) + struct.pack("32b", *q) for d, q in zip(scales, codes)])
        _match_q8(answer, raw, scales, codes, f"{count} blocks")


@check("decode_q8_0")
def large_scales(answer: Any, draw: random.Random) -> None:
    codes = [[draw.choice((1, -1)) * (100 + n % 28) for n in range(32)]]
    _match_q8(answer, _raw([_half(1000.0) + struct.pack("32b", *codes[0])]), [1000.0], codes, "scale 1000")
    scale = _scale(draw)
    exact = torch.tensor([[127.0] * 32]) * scale
    got = answer(_raw([_half(scale) + struct.pack("32b", *[127] * 32)]))
    if not torch.equal(got, exact):
        raise Mistake(ROUNDED, yours=float(got[0, 0]), expected=float(exact[0, 0]))


def _match_q8(answer: Any, raw: Tensor, scales: list[float], codes: list[list[int]], what: str) -> None:
    d, q = torch.tensor(scales)[:, None], torch.tensor(codes).float()
    lines = {"call": f"decode_q8_0({what}, {len(raw)} bytes)"}
    want = d * q
    got = _decoded(answer, raw, want, lines)
    blocks = raw.view(-1, 34)
    as_bf16, as_int = (blocks[:, :2].contiguous().view(t).float() for t in (torch.bfloat16, torch.int16))
    tail, head = blocks[:, 32:].contiguous().view(torch.float16).float(), blocks[:, :32].view(torch.int8).float()
    swapped = blocks[:, :2].flip(1).contiguous().view(torch.float16).float()
    faults = [
        ("the codes are read as unsigned: they are int8, from -128 to 127", d * (q % 256)),
        ("the scale is read as bfloat16; it is float16", as_bf16 * q),
        ("the scale is read as an integer; it is float16", as_int * q),
        ("the scale's two bytes are read big-endian", swapped * q),
        ("the scale is taken from the end of the block; it comes first", tail * head),
        ("every block has its own scale; here all have the first one's", d[:1] * q),
        ("the codes come back without their scale", q),
        (ROUNDED, (d * q).half().float()),
        ("the code is divided by the scale; value = d * q", q / d),
        ("the codes are offset by 128; they are int8 and signed as they stand", d * (q % 256 - 128)),
    ]
    _match(got, want, faults, "value = d * q", lines)


@check("decode_q4_1")
def one_small_block(answer: Any, draw: random.Random) -> None:
    low = [draw.randrange(16) for _ in range(16)]
    high = [(n + draw.randrange(1, 16)) % 16 for n in low]
    _match_q4(answer, [0.25], [-2.0], [low], [high], "scale 0.25, minimum -2")


@check("decode_q4_1")
def more_blocks(answer: Any, draw: random.Random) -> None:
    for count in (3, 32, 6):
        scales, minima = [_scale(draw) for _ in range(count)], [-8 * _scale(draw) for _ in range(count)]
        low, high = ([[draw.randrange(16) for _ in range(16)] for _ in range(count)] for _ in range(2))
        _match_q4(answer, scales, minima, low, high, f"{count} blocks")


@check("decode_q4_1")
def in_single_precision(answer: Any, draw: random.Random) -> None:
    scale, minimum = float(np.float16(draw.uniform(1, 2))), float(np.float16(draw.uniform(500, 600)))
    got = answer(_raw([_half(scale) + _half(minimum) + bytes(range(0, 256, 16))]))
    want = torch.cat((torch.zeros(16), torch.arange(16.0)))[None] * scale + minimum
    close(got, want, ROUNDED, tolerance=1e-6)


def _match_q4(
    answer: Any, scales: list[float], minima: list[float], low: list[list[int]], high: list[list[int]], what: str
) -> None:
    packed = [bytes(a | b << 4 for a, b in zip(lows, highs)) for lows, highs in zip(low, high)]
    raw = _raw([_half(d) + _half(m) + codes for d, m, codes in zip(scales, minima, packed)])
    d, m = torch.tensor(scales)[:, None], torch.tensor(minima)[:, None]
    a, b = torch.tensor(low).float(), torch.tensor(high).float()
    q, lines = torch.cat((a, b), 1), {"call": f"decode_q4_1({what}, {len(raw)} bytes)"}
    got = _decoded(answer, raw, d * q + m, lines)
    mixed, turned = torch.stack((a, b), 2).flatten(1), torch.stack((b, a), 2).flatten(1)
    last = raw.view(-1, 20)[:, 2:18]
    shifted = torch.cat((last & 15, last >> 4), 1).float()
    faults = [
        ("low and high halves alternate here; all 16 low halves come first, then the high ones", d * mixed + m),
        ("low and high halves alternate here; all 16 low halves come first, then the high ones", d * turned + m),
        ("the halves are swapped: the low halves are values 0 to 15, the high ones 16 to 31", d * torch.cat((b, a), 1) + m),
        ("8 is subtracted from the codes: that is Q4_0; here the minimum does that work", d * (q - 8) + m),
        ("8 is subtracted from the codes and the minimum left out: that is Q4_0", d * (q - 8)),
        ("the codes are read as signed (two's complement); they go from 0 to 15", d * (q - 16 * (q > 7)) + m),
        ("scale and minimum are swapped: the scale comes first", m * q + d),
        ("the minimum is subtracted; value = d * q + m", d * q - m),
        ("the minimum is multiplied by the code too; value = d * q + m", (d + m) * q),
        ("the minimum is added before the product; value = d * q + m", d * (q + m)),
        ("the minimum is left out; value = d * q + m", d * q),
        ("every block has its own scale and minimum; here all have the first one's", d[:1] * q + m[:1]),
        ("the codes begin two bytes early: behind the scale comes the minimum", d * shifted + m),
        (
            "the high halves are read as signed: keep the bytes uint8 while they are shifted",
            d * torch.cat((a, b - 16 * (b > 7)), 1) + m,
        ),
        (ROUNDED, (d * q + m).half().float()),
        (ROUNDED, (d.half() * q.half() + m.half()).float()),
        ("the high halves are not shifted down by 4 bits", d * torch.cat((a, 16 * b), 1) + m),
    ]
    _match(got, d * q + m, faults, "value = d * q + m", lines)


# --- unpermute ---


def _interleaved(weight: np.ndarray, heads: int) -> np.ndarray:
    """What llama.cpp's converter does: within each head, row i of the first half and row i of the second become neighbours."""
    size = len(weight) // heads
    half = size // 2
    order = [h * size + i + half * part for h in range(heads) for i in range(half) for part in (0, 1)]
    return weight[order]


@check("unpermute")
def one_head(answer: Any, draw: random.Random) -> None:
    columns = torch.tensor([0.0, 0.1, 0.2, 0.3])
    rows = torch.tensor([0.0, 3.0, 1.0, 4.0, 2.0, 5.0])[:, None] + columns
    want = torch.arange(6.0)[:, None] + columns
    _match_rows(answer, rows, 1, want, {"rows": "0, 3, 1, 4, 2, 5, of 4 columns", "heads": 1})


@check("unpermute")
def several_heads(answer: Any, draw: random.Random) -> None:
    for heads, size, columns in ((3, 8, 5), (2, 4, 8), (9, 6, 54), (1, 8, 8)):
        want = normal(draw, heads * size, columns)
        given = torch.from_numpy(_interleaved(want.numpy(), heads))
        _match_rows(answer, given, heads, want, {"weight": tuple(given.shape), "heads": heads})


@check("unpermute")
def biases(answer: Any, draw: random.Random) -> None:
    want = torch.arange(12.0)
    given = torch.from_numpy(_interleaved(want.numpy(), 2))
    sentence = "a bias has one dimension and is put in order like the rows"
    got = works(partial(answer, given, 2), sentence, bias=given, heads=2)
    close(got, want, sentence, bias=given, heads=2)


@check("unpermute")
def keeps_weight(answer: Any, draw: random.Random) -> None:
    given = normal(draw, 12, 4, dtype=torch.bfloat16)
    before = given.clone()
    got = answer(given, 3)
    not_missing(got)
    close(given, before, "the weight that was handed in has changed: make a new tensor")
    equal(got.dtype, torch.bfloat16, "the weight keeps its dtype", weight="bfloat16")


def _match_rows(answer: Any, given: Tensor, heads: int, want: Tensor, lines: dict[str, Any]) -> None:
    before = given.clone()
    got = answer(given, heads)
    not_missing(got, **lines)
    if not torch.equal(given, before):
        raise Mistake("the weight that was handed in has changed: make a new tensor", **lines)
    if isinstance(got, Tensor) and got.shape == want.shape:
        size = len(given) // heads
        columns = torch.cat((given[:, 0::2], given[:, 1::2]), 1)
        by_head = given.reshape(heads, size, -1)
        across = torch.cat((given[0::2], given[1::2]))
        odd_first = torch.cat((by_head[:, 1::2], by_head[:, 0::2]), 1).reshape(given.shape)
        again = torch.from_numpy(_interleaved(given.numpy(), heads))
        faults = {
            "nothing has moved: the rows are still interleaved": given,
            "this is permute once more: it goes from half-split to interleaved, and the way back is asked for": again,
            "the even rows of all heads come first here: each head is put in order by itself": across,
            "the columns are put in order; the rows should be": columns,
            "the halves are swapped: even rows come first, then odd ones": odd_first,
        }
        named(got, want, faults.items(), **lines)
    close(got, want, "within each head, even rows come first, then odd ones", **lines)
