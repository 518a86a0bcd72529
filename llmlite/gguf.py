"""GGUF files: the container (header, metadata, tensor list) and the block formats of the tensors in it.

Source: the GGUF specification and ggml's reference quantizers (github.com/ggml-org/ggml). Everything a file says is checked
against the size of the file before it is believed.
"""

import mmap
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor


class ModelFileError(ValueError):
    """A model file that is damaged, hostile, or of a kind that is not supported; the message names the field."""


@dataclass(frozen=True)
class TensorInfo:
    """Where a tensor lies in its file. shape is in torch's order (rows first); offset counts from the start of the file."""

    name: str
    shape: tuple[int, ...]
    type: str
    offset: int
    nbytes: int | None  # None for a type whose size is not known here


@dataclass(frozen=True)
class GGUF:
    """An opened GGUF file: metadata, the list of tensors, and the bytes on a memory map."""

    version: int
    metadata: dict[str, Any]
    tensors: dict[str, TensorInfo]
    data: mmap.mmap

    def info(self, name: str) -> TensorInfo:
        """One entry of the tensor list. Raises ModelFileError for a missing tensor and for a type without a decoder."""
        if name not in self.tensors:
            raise ModelFileError(f"tensor {name!r} is not in the file")
        info = self.tensors[name]
        if info.type not in DECODERS:
            raise ModelFileError(f"tensor {name!r} has type {info.type}; supported types: {', '.join(DECODERS)}")
        return info

    def read(self, name: str) -> Tensor:
        """Decode one tensor to float32. Raises ModelFileError as `info` does."""
        info = self.info(name)
        assert info.nbytes is not None
        raw = torch.frombuffer(self.data, dtype=torch.uint8, count=info.nbytes, offset=info.offset)
        return DECODERS[info.type](raw).reshape(info.shape)


# --- block formats: raw bytes (a uint8 tensor) to float32 values ---


def decode_f32(raw: Tensor) -> Tensor:
    """float32 values as they are (copied, so that the file can be closed)."""
    return raw.view(torch.float32).clone()


def decode_f16(raw: Tensor) -> Tensor:
    """IEEE half precision: 1 sign, 5 exponent, 10 fraction bits."""
    return raw.view(torch.float16).float()


def decode_bf16(raw: Tensor) -> Tensor:
    """bfloat16: the upper half of a float32."""
    return raw.view(torch.bfloat16).float()


def decode_q8_0(raw: Tensor) -> Tensor:
    """Blocks of 32 values in 34 bytes: a float16 scale d and 32 int8 codes q; value = d * q."""
    blocks = raw.view(-1, 34)
    return blocks[:, 2:].view(torch.int8) * _halves(blocks[:, :2])


def decode_q4_0(raw: Tensor) -> Tensor:
    """Blocks of 32 values in 18 bytes: a float16 scale d and 16 bytes of 4-bit codes q; value = d * (q - 8)."""
    blocks = raw.view(-1, 18)
    return _nibbles(blocks[:, 2:]).sub_(8).mul_(_halves(blocks[:, :2]))


def decode_q4_1(raw: Tensor) -> Tensor:
    """Blocks of 32 values in 20 bytes: scale d, minimum m, 4-bit codes q; value = d * q + m.

    d and m are float16 and come first, then 16 bytes of codes.
    """
    blocks = raw.view(-1, 20)
    return _nibbles(blocks[:, 4:]).mul_(_halves(blocks[:, :2])).add_(_halves(blocks[:, 2:4]))


def _halves(raw: Tensor) -> Tensor:
    return raw.contiguous().view(torch.float16).float()


def _nibbles(packed: Tensor) -> Tensor:
    """(blocks, 16) bytes to (blocks, 32) codes: the low halves are values 0 to 15, the high halves 16 to 31."""
    codes = torch.empty(len(packed), 32)
    codes[:, :16] = packed & 15
    codes[:, 16:] = packed >> 4
    return codes


DECODERS: dict[str, Callable[[Tensor], Tensor]] = {
    "F32": decode_f32,
    "F16": decode_f16,
    "BF16": decode_bf16,
    "Q8_0": decode_q8_0,
    "Q4_0": decode_q4_0,
    "Q4_1": decode_q4_1,
}

# ggml's number for each tensor type: (name, values a block, bytes a block). Those without a decoder are refused by name
TYPES: dict[int, tuple[str, int, int]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 36), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4),
    27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56), 30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip


# --- the GGUF container ---


class Header(NamedTuple):
    """The first 24 bytes of a GGUF file: its version, and how many tensors and metadata values follow."""

    version: int
    tensors: int
    values: int


def read_header(data: bytes) -> Header:
    """Read a GGUF file's first 24 bytes: its magic, version, and counts of tensors and values.

    All are little-endian: a uint32, then two uint64. Raises ModelFileError for fewer bytes, another magic number, a big-endian
    file, and versions other than 2 and 3.
    """
    if not b"GGUF".startswith(data[:4]):
        raise ModelFileError(f"not a GGUF file: it starts with {data[:4]!r}, not b'GGUF'")
    if len(data) < 24:
        raise ModelFileError(f"the file ends inside the header: it needs 24 bytes, there are {len(data)}")
    header = Header(*struct.unpack_from("<IQQ", data, 4))
    if header.version & 0xFFFF == 0 and header.version:
        raise ModelFileError("the file is big-endian; only little-endian GGUF files are supported")
    if header.version not in (2, 3):
        raise ModelFileError(f"GGUF version {header.version} is not supported; versions 2 and 3 are")
    return header


# GGUF's number for each kind of metadata value: struct format; 8 is a string and 9 an array
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_MAX_ARRAY = 1_000_000  # values in one array; real vocabularies have up to about 260,000


class _Cursor:
    """Reads little-endian values one after the other and never past the end of the file."""

    def __init__(self, data: mmap.mmap, position: int) -> None:
        self.data, self.position = data, position

    def take(self, count: int, what: str) -> int:
        """Move over count bytes and return where they start."""
        start, left = self.position, len(self.data) - self.position
        if count > left:
            raise ModelFileError(f"the file ends inside {what}: it needs {count} bytes, {left} are left")
        self.position += count
        return start

    def number(self, fmt: str, what: str) -> Any:
        return struct.unpack_from("<" + fmt, self.data, self.take(struct.calcsize("<" + fmt), what))[0]

    def string(self, what: str) -> str:
        length = self.number("Q", f"the length of {what}")
        start = self.take(length, what)
        try:
            return self.data[start : start + length].decode("utf-8")
        except UnicodeDecodeError:
            raise ModelFileError(f"{what} is not valid UTF-8") from None

    def value(self, kind: int, what: str) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind], what)
        if kind == 8:
            return self.string(what)
        if kind == 9:
            return self.array(what)
        raise ModelFileError(f"{what} has the unknown value type {kind}")

    def array(self, what: str) -> list[Any]:
        kind, count = self.number("I", f"the type of {what}"), self.number("Q", f"the length of {what}")
        if kind != 8 and kind not in _SCALARS:
            raise ModelFileError(f"{what} is an array of value type {kind}, which is not supported")
        width = 8 if kind == 8 else struct.calcsize(_SCALARS[kind])
        if count > _MAX_ARRAY or count * width > len(self.data) - self.position:
            raise ModelFileError(f"{what} claims {count} values: more than the file can hold, or than {_MAX_ARRAY}")
        if kind == 8:
            return [self.string(what) for _ in range(count)]
        return list(struct.unpack_from(f"<{count}{_SCALARS[kind]}", self.data, self.take(count * width, what)))


def read_gguf(path: Path) -> GGUF:
    """Open a GGUF file (version 2 or 3): read its header, metadata and tensor list, and map its bytes.

    Raises ModelFileError, naming the field, for anything that does not fit the file or the format.
    """
    data = _map(path)
    header = read_header(data[:24])
    for what, count, least in (("tensors", header.tensors, 24), ("metadata values", header.values, 13)):
        if count * least > len(data):
            raise ModelFileError(f"the file claims {count} {what}, more than its {len(data)} bytes can hold")
    cursor = _Cursor(data, 24)
    metadata: dict[str, Any] = {}
    for n in range(header.values):
        key = cursor.string(f"the name of metadata value {n}")
        if key in metadata:
            raise ModelFileError(f"metadata key {key!r} stands twice in the file")
        metadata[key] = cursor.value(cursor.number("I", f"the type of {key!r}"), f"metadata value {key!r}")
    infos = [_tensor_info(cursor, n) for n in range(header.tensors)]
    return GGUF(header.version, metadata, _place(infos, _data_start(cursor, metadata), len(data)), data)


def _map(path: Path) -> mmap.mmap:
    try:
        with path.open("rb") as file:  # copy-on-write: torch wants a writable buffer, the file stays as it is
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except ValueError:
        raise ModelFileError(f"{path.name} is empty") from None


def _tensor_info(cursor: _Cursor, n: int) -> TensorInfo:
    """Read one entry of the tensor list; its offset still counts from the start of the data."""
    name = cursor.string(f"the name of tensor {n}")
    dims = cursor.number("I", f"the number of dimensions of {name!r}")
    if not 1 <= dims <= 4:
        raise ModelFileError(f"tensor {name!r} has {dims} dimensions; 1 to 4 are allowed")
    shape = tuple(cursor.number("Q", f"the shape of {name!r}") for _ in range(dims))
    if 0 in shape:
        raise ModelFileError(f"tensor {name!r} has the shape {shape}, with an empty dimension")
    number, offset = cursor.number("I", f"the type of {name!r}"), cursor.number("Q", f"the offset of {name!r}")
    if number not in TYPES:
        return TensorInfo(name, shape[::-1], f"{number} (unknown)", offset, None)
    type_name, block, size = TYPES[number]
    if shape[0] % block:
        raise ModelFileError(f"tensor {name!r}: rows of {shape[0]} values are not whole {type_name} blocks of {block}")
    count = 1
    for dim in shape:
        count *= dim
    return TensorInfo(name, shape[::-1], type_name, offset, count // block * size)


def _data_start(cursor: _Cursor, metadata: Mapping[str, Any]) -> tuple[int, int]:
    """Where the tensor data starts, and the alignment of every offset in it."""
    alignment = metadata.get("general.alignment", 32)
    if not isinstance(alignment, int) or alignment < 8 or alignment % 8:
        raise ModelFileError(f"general.alignment is {alignment!r}, it must be a positive multiple of 8")
    return -(-cursor.position // alignment) * alignment, alignment


def _place(infos: list[TensorInfo], data_start: tuple[int, int], size: int) -> dict[str, TensorInfo]:
    """Check names, alignment, overlap and the end of the file; make offsets count from the start of the file."""
    start, alignment = data_start
    tensors: dict[str, TensorInfo] = {}
    end, last = start, ""
    for info in sorted(infos, key=lambda info: info.offset):
        offset = start + info.offset
        if info.name in tensors:
            raise ModelFileError(f"tensor {info.name!r} stands twice in the file")
        if info.offset % alignment:
            raise ModelFileError(f"tensor {info.name!r}: offset {info.offset} is not a multiple of {alignment}")
        if offset < end:
            raise ModelFileError(f"tensor {info.name!r} overlaps tensor {last!r}")
        end, last = offset + (info.nbytes or 0), info.name
        if end > size:
            raise ModelFileError(f"tensor {info.name!r} ends at byte {end}, the file has {size}: it is cut short")
        tensors[info.name] = TensorInfo(info.name, info.shape, info.type, offset, info.nbytes)
    return {info.name: tensors[info.name] for info in infos}
