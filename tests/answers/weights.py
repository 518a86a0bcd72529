"""Answers to the exercises of chapter 06."""

import struct

import numpy as np
import torch

from llmlite.gguf import Header, ModelFileError

from . import right, wrong

# read_header


def _refuse(data, version=None):
    if data[:4] != b"GGUF" or len(data) < 24:
        raise ModelFileError("not a GGUF file")
    if version is not None and version & 0xFFFF == 0:
        raise ModelFileError("big-endian")
    if version is not None and version not in (2, 3):
        raise ModelFileError("version")


@wrong("read_header", "this is big-endian")
def big_endian(data):
    return Header(*struct.unpack(">IQQ", data[4:24]))


@wrong("read_header", "the version is read as 8 bytes")
def version_as_uint64(data):
    return Header(*(int.from_bytes(data[a:b], "little") for a, b in ((4, 12), (12, 20), (20, 28))))


@wrong("read_header", "the counts are read as 4 bytes")
def counts_as_uint32(data):
    return Header(*struct.unpack("<III", data[4:16]))


@wrong("read_header", "the counts are cut to 4 bytes")
def half_of_each_count(data):
    version, tensors, _, values, _ = struct.unpack("<IIIII", data[4:24])
    return Header(version, tensors, values)


@wrong("read_header", "the counts are swapped")
def counts_swapped(data):
    version, tensors, values = struct.unpack("<IQQ", data[4:24])
    return Header(version, values, tensors)


@wrong("read_header", "the first four bytes are the magic")
def from_the_magic_on(data):
    return Header(*struct.unpack("<IQQ", data[:20]))


@wrong("read_header", "is no GGUF file")
def magic_unchecked(data):
    return Header(*struct.unpack("<IQQ", data[4:24]))


@wrong("read_header", "is cut short: refuse fewer than 24 bytes")
def length_unchecked(data):
    if data[:4] != b"GGUF":
        raise ModelFileError
    return Header(*(int.from_bytes(data[a:b], "little") for a, b in ((4, 8), (8, 16), (16, 24))))


@wrong("read_header", "is cut short: refuse fewer than 24 bytes")
def struct_refuses(data):
    if data[:4] != b"GGUF":
        raise ModelFileError
    return Header(*struct.unpack_from("<IQQ", data, 4))


@wrong("read_header", "is no GGUF file")
def assertion(data):
    assert data[:4] == b"GGUF" and len(data) >= 24
    return Header(*struct.unpack_from("<IQQ", data, 4))


@wrong("read_header", "version 0 is refused")
def any_version(data):
    _refuse(data)
    return Header(*struct.unpack_from("<IQQ", data, 4))


@wrong("read_header", "version 4 is refused")
def newer_is_fine(data):
    _refuse(data)
    header = Header(*struct.unpack_from("<IQQ", data, 4))
    if header.version < 2:
        raise ModelFileError(f"version {header.version}")
    return header


@wrong("read_header", "is refused by name")
def endianness_unnamed(data):
    _refuse(data)
    header = Header(*struct.unpack_from("<IQQ", data, 4))
    if header.version not in (2, 3):
        raise ModelFileError(f"version {header.version} is not supported")
    return header


@wrong("read_header", "should be a Header")
def plain_tuple(data):
    _refuse(data, int.from_bytes(data[4:8], "little"))
    return struct.unpack_from("<IQQ", data, 4)


@wrong("read_header", "does every path end with a return")
def header_printed(data):
    print(data[:4])


@wrong("read_header", "the counts are unsigned")
def signed_counts(data):
    _refuse(data, int.from_bytes(data[4:8], "little"))
    return Header(*struct.unpack_from("<Iqq", data, 4))


@wrong("read_header", "large counts are not refused here")
def counts_judged_too_early(data):
    _refuse(data, int.from_bytes(data[4:8], "little"))
    header = Header(*struct.unpack_from("<IQQ", data, 4))
    if max(header) > 2**40:
        raise ModelFileError("too many")
    return header


@wrong("read_header", "here it stops with ValueError")
def plain_value_error(data):
    if data[:4] != b"GGUF":
        raise ValueError("magic")
    _refuse(data, int.from_bytes(data[4:8], "little"))
    return Header(*struct.unpack_from("<IQQ", data, 4))


@wrong("read_header", "version 1 is not big-endian")
def one_message_for_all(data):
    _refuse(data)
    header = Header(*struct.unpack_from("<IQQ", data, 4))
    if header.version not in (2, 3):
        raise ModelFileError("unknown version, or big-endian")
    return header


@wrong("read_header", "the data may be longer")
def exactly_24_bytes(data):
    if len(data) != 24:
        raise ModelFileError("not 24 bytes")
    _refuse(data, int.from_bytes(data[4:8], "little"))
    return Header(*struct.unpack_from("<IQQ", data, 4))


@right("read_header")
def by_int_from_bytes(data):
    version = int.from_bytes(data[4:8], "little")
    _refuse(data, version)
    return Header(version, int.from_bytes(data[8:16], "little"), int.from_bytes(data[16:24], "little"))


@right("read_header")
def byte_by_byte(data):
    def number(start, size):
        return sum(data[start + n] * 256**n for n in range(size))

    if len(data) < 24:
        raise ModelFileError("fewer than 24 bytes")
    if bytes(data[:4]) != b"GGUF":
        raise ModelFileError("magic")
    if number(4, 4) in (2 << 24, 3 << 24):
        raise ModelFileError("this file has the other endianness")
    if number(4, 4) not in (2, 3):
        raise ModelFileError("version")
    return Header(values=number(16, 8), tensors=number(8, 8), version=number(4, 4))


@right("read_header")
def header_in_numpy(data):
    _refuse(data)
    version = int(np.frombuffer(data[4:8], "<u4")[0])
    _refuse(data, version)
    return Header(version, *np.frombuffer(data[8:24], "<u8").tolist())


# decode_q8_0


def _rows(raw, size):
    return raw.view(-1, size)


def _half(raw):
    return raw.contiguous().view(torch.float16).float()


@wrong("decode_q8_0", "the codes are read as unsigned")
def unsigned(raw):
    blocks = _rows(raw, 34)
    return blocks[:, 2:] * _half(blocks[:, :2])


@wrong("decode_q8_0", "the scale is read as bfloat16")
def scale_bfloat16(raw):
    blocks = _rows(raw, 34)
    return blocks[:, 2:].view(torch.int8) * blocks[:, :2].contiguous().view(torch.bfloat16).float()


@wrong("decode_q8_0", "the scale is read as an integer")
def scale_int16(raw):
    blocks = _rows(raw, 34)
    return blocks[:, 2:].view(torch.int8) * blocks[:, :2].contiguous().view(torch.int16).float()


@wrong("decode_q8_0", "the scale is taken from the end of the block")
def scale_last(raw):
    blocks = _rows(raw, 34)
    return blocks[:, :32].contiguous().view(torch.int8) * _half(blocks[:, 32:])


@wrong("decode_q8_0", "every block has its own scale")
def first_scale_for_all(raw):
    blocks = _rows(raw, 34)
    return blocks[:, 2:].view(torch.int8) * _half(blocks[:1, :2])


@wrong("decode_q8_0", "this is transposed")
def q8_transposed(raw):
    blocks = _rows(raw, 34)
    return (blocks[:, 2:].view(torch.int8) * _half(blocks[:, :2])).T.contiguous()


@wrong("decode_q8_0", "the values are float16")
def q8_in_float16(raw):
    blocks = _rows(raw, 34)
    return blocks[:, 2:].view(torch.int8) * blocks[:, :2].contiguous().view(torch.float16)


@wrong("decode_q8_0", "rounded to half precision on the way")
def q8_rounded(raw):
    blocks = _rows(raw, 34)
    scale = _half(blocks[:, :2])
    values = blocks[:, 2:].view(torch.int8) * scale
    return torch.where(values.abs() < 60000, values.half().float(), values)


@wrong("decode_q8_0", "without their scale")
def codes_alone(raw):
    return _rows(raw, 34)[:, 2:].view(torch.int8).float()


@wrong("decode_q8_0", "the shape is (32,)")
def q8_flat(raw):
    blocks = _rows(raw, 34)
    return (blocks[:, 2:].view(torch.int8) * _half(blocks[:, :2])).flatten()


@wrong("decode_q8_0", "the codes are offset by 128")
def q8_offset(raw):
    blocks = _rows(raw, 34)
    return (blocks[:, 2:].float() - 128) * _half(blocks[:, :2])


@wrong("decode_q8_0", "does every path end with a return")
def q8_forgets(raw):
    _rows(raw, 34)


@right("decode_q8_0")
def q8_in_numpy(raw):
    blocks = np.frombuffer(raw.numpy().tobytes(), dtype=[("d", "<f2"), ("q", "i1", 32)])
    return torch.from_numpy(blocks["d"].astype(np.float32)[:, None] * blocks["q"])


@right("decode_q8_0")
def q8_by_struct(raw):
    data, values = bytes(raw.tolist()), []
    for start in range(0, len(data), 34):
        scale, *codes = struct.unpack_from("<e32b", data, start)
        values.append([scale * code for code in codes])
    return torch.tensor(values)


@right("decode_q8_0")
def q8_in_float64(raw):
    blocks = raw.reshape(-1, 34)
    scale = blocks[:, :2].clone().view(torch.float16).double()
    codes = blocks[:, 2:].short()
    return torch.einsum("bi,bj->bj", scale, torch.where(codes > 127, codes - 256, codes).double()).float()


# decode_q4_1


def _parts(raw):
    blocks = _rows(raw, 20)
    return _half(blocks[:, :2]), _half(blocks[:, 2:4]), blocks[:, 4:] & 15, blocks[:, 4:] >> 4


@wrong("decode_q4_1", "low and high halves alternate")
def alternating(raw):
    d, m, low, high = _parts(raw)
    return torch.stack((low, high), 2).flatten(1) * d + m


@wrong("decode_q4_1", "the halves are swapped")
def high_first(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((high, low), 1) * d + m


@wrong("decode_q4_1", "that is Q4_0")
def minus_eight(raw):
    d, m, low, high = _parts(raw)
    return (torch.cat((low, high), 1).float() - 8) * d + m


@wrong("decode_q4_1", "two's complement")
def twos_complement(raw):
    d, m, low, high = _parts(raw)
    codes = torch.cat((low, high), 1).float()
    return torch.where(codes > 7, codes - 16, codes) * d + m


@wrong("decode_q4_1", "scale and minimum are swapped")
def minimum_first(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((low, high), 1) * m + d


@wrong("decode_q4_1", "the minimum is subtracted")
def minimum_subtracted(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((low, high), 1) * d - m


@wrong("decode_q4_1", "the minimum is multiplied by the code too")
def minimum_times_code(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((low, high), 1) * (d + m)


@wrong("decode_q4_1", "the minimum is added before the product")
def minimum_before(raw):
    d, m, low, high = _parts(raw)
    return (torch.cat((low, high), 1) + m) * d


@wrong("decode_q4_1", "the minimum is left out")
def no_minimum(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((low, high), 1) * d


@wrong("decode_q4_1", "not shifted down by 4 bits")
def not_shifted(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((low, _rows(raw, 20)[:, 4:] & 240), 1) * d + m


@wrong("decode_q4_1", "the values are float16")
def q4_in_float16(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((low, high), 1) * d.half() + m.half()


@wrong("decode_q4_1", "rounded to half precision on the way")
def q4_rounded(raw):
    d, m, low, high = _parts(raw)
    values = torch.cat((low, high), 1) * d + m
    return torch.where(values > 400, values.half().float(), values)


@wrong("decode_q4_1", "rounded to half precision on the way")
def q4_computed_in_half(raw):
    d, m, low, high = _parts(raw)
    return (torch.cat((low, high), 1) * d.half() + m.half()).float()


@wrong("decode_q4_1", "the high halves are read as signed")
def q4_signed_shift(raw):
    d, m, low, _ = _parts(raw)
    return torch.cat((low, _rows(raw, 20)[:, 4:].view(torch.int8) >> 4), 1) * d + m


@wrong("decode_q4_1", "all have the first one's")
def q4_first_scale(raw):
    d, m, low, high = _parts(raw)
    return torch.cat((low, high), 1) * d[:1] + m[:1]


@wrong("decode_q4_1", "this is transposed")
def q4_transposed(raw):
    d, m, low, high = _parts(raw)
    return (torch.cat((low, high), 1) * d + m).T


@wrong("decode_q4_1", "does every path end with a return")
def q4_forgets(raw):
    _parts(raw)


@right("decode_q4_1")
def q4_in_numpy(raw):
    blocks = np.frombuffer(raw.numpy().tobytes(), dtype=[("d", "<f2"), ("m", "<f2"), ("q", "u1", 16)])
    codes = np.concatenate((blocks["q"] % 16, blocks["q"] // 16), axis=1)
    return torch.from_numpy(blocks["d"][:, None].astype(np.float32) * codes + blocks["m"][:, None].astype(np.float32))


@right("decode_q4_1")
def q4_by_struct(raw):
    data, values = bytes(raw.tolist()), []
    for start in range(0, len(data), 20):
        d, m, *packed = struct.unpack_from("<ee16B", data, start)
        values.append([d * (byte & 15) + m for byte in packed] + [d * (byte >> 4) + m for byte in packed])
    return torch.tensor(values, dtype=torch.float32)


@right("decode_q4_1")
def q4_in_float64(raw):
    d, m, low, high = _parts(raw)
    return torch.addcmul(m.double(), torch.hstack((low, high)).double(), d.double()).float()


# unpermute


@wrong("unpermute", "this is permute once more")
def permute_again(weight, heads):
    return weight.reshape(heads, 2, -1, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@wrong("unpermute", "the even rows of all heads come first")
def across_heads(weight, heads):
    return torch.cat((weight[0::2], weight[1::2]))


@wrong("unpermute", "the columns are put in order")
def by_columns(weight, heads):
    return torch.cat((weight[:, 0::2], weight[:, 1::2]), 1)


@wrong("unpermute", "nothing has moved")
def unmoved(weight, heads):
    return weight.clone()


@wrong("unpermute", "the halves are swapped")
def odd_rows_first(weight, heads):
    rows = weight.reshape(heads, -1, *weight.shape[1:])
    return torch.cat((rows[:, 1::2], rows[:, 0::2]), 1).reshape(weight.shape)


@wrong("unpermute", "a bias has one dimension")
def matrices_only(weight, heads):
    rows, columns = weight.shape
    return weight.reshape(heads, -1, 2, columns).transpose(1, 2).reshape(rows, columns)


@wrong("unpermute", "has changed: make a new tensor")
def in_place(weight, heads):
    rows = weight.reshape(heads, -1, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)
    weight.copy_(rows)
    return weight


@wrong("unpermute", "the weight keeps its dtype")
def as_float32(weight, heads):
    return weight.float().reshape(heads, -1, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@wrong("unpermute", "the shape is")
def left_in_heads(weight, heads):
    return weight.reshape(heads, -1, 2, *weight.shape[1:]).transpose(1, 2)


@wrong("unpermute", "does every path end with a return")
def unpermute_forgets(weight, heads):
    weight.reshape(heads, -1, 2, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)


@right("unpermute")
def head_by_head(weight, heads):
    size = weight.shape[0] // heads
    parts = []
    for head in range(heads):
        rows = weight[head * size : (head + 1) * size]
        parts += [rows[0::2], rows[1::2]]
    return torch.cat(parts)


@right("unpermute")
def row_numbers(weight, heads):
    size = len(weight) // heads
    return weight[[h * size + i for h in range(heads) for start in (0, 1) for i in range(start, size, 2)]]


@right("unpermute")
def with_flatten(weight, heads):
    return weight.unflatten(0, (heads, -1, 2)).swapaxes(1, 2).flatten(0, 2).clone()
