import struct
from pathlib import Path

import gguf
import numpy as np
import pytest
import torch
from helpers import METADATA, SHAPES, entry, gguf_bytes, hf_model, refused, text, toy_gguf, value, write_gguf
from hypothesis import given, settings
from hypothesis import strategies as st

from llmlite.fetch import model_path
from llmlite.gguf import DECODERS, TYPES, Header, ModelFileError, read_gguf, read_header
from llmlite.weights import load_gguf

BLOCK_TYPES = ["F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1"]
TOY = toy_gguf()
HEADER = TOY.index(text("blk.0.ffn_down.weight")) + 8 + 21 + 4 + 16 + 4 + 8  # where the last entry ends
ONE = entry("t", (32,), 0, 0)
ZEROS = b"\0" * 128
NOT_READ = [(12, "Q4_K"), (23, "IQ4_XS"), (24, "I8"), (35, "TQ2_0"), (39, "MXFP4")]


@pytest.fixture(scope="module")
def scratch(tmp_path_factory):
    return tmp_path_factory.mktemp("gguf") / "toy.gguf"


def opened(path: Path, content: bytes):
    path.write_bytes(content)
    return read_gguf(path)


# --- block formats ---


def random_blocks(kind: str, blocks: int) -> np.ndarray:
    """Bytes of any value, in which only the floats must not be NaN or infinite."""
    size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[kind]][1]
    raw = np.random.default_rng(7).integers(0, 256, (blocks, size), dtype=np.uint8)
    floats = {"F32": 3, "BF16": 1, "F16": 1, "Q8_0": 1, "Q4_0": 1, "Q4_1": (1, 3)}[kind]
    raw[:, floats] &= 0xBF  # keeps the exponent below its highest value
    return raw


@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_decoders_equal_gguf_py_on_random_blocks(kind):
    """B36: neither zeros nor symmetric data, which hide a wrong order of the values."""
    raw = random_blocks(kind, 500)
    want = gguf.quants.dequantize(raw.reshape(-1), gguf.GGMLQuantizationType[kind])
    got = DECODERS[kind](torch.from_numpy(raw.reshape(-1))).flatten()
    assert got.dtype == torch.float32
    assert np.array_equal(got.numpy(), want)
    assert len(np.unique(want)) > 100


def test_types_have_gguf_pys_numbers_and_sizes():
    """Except Q8_1, which ggml itself now keeps in 36 bytes (two halves and 32 codes) and gguf-py still counts as 40."""
    theirs = {kind.name: gguf.GGML_QUANT_SIZES[kind] for kind in gguf.GGMLQuantizationType} | {"Q8_1": (32, 36)}
    assert {name: (block, size) for name, block, size in TYPES.values()}.items() <= theirs.items()
    assert all(gguf.GGMLQuantizationType(number).name == name for number, (name, _, _) in TYPES.items())


def test_bf16_is_the_upper_half_of_float32():
    """B13: 1, -0, a large number, the smallest subnormal, NaN, infinity."""
    patterns = np.array([0x3F80, 0x8000, 0x7F62, 0x0001, 0x7FC0, 0x7F80], dtype=np.uint16)
    got = DECODERS["BF16"](torch.from_numpy(patterns.view(np.uint8))).numpy()
    assert np.array_equal(got.view(np.uint32), patterns.astype(np.uint32) << 16)


def test_the_real_file_decodes_as_gguf_py_does():
    path = model_path("smollm2")
    file, theirs = read_gguf(path), gguf.GGUFReader(path)
    assert [t.name for t in theirs.tensors] == list(file.tensors)
    assert file.metadata["llama.block_count"] == 30
    assert len(file.metadata["tokenizer.ggml.tokens"]) == 49152
    chosen = theirs.tensors[:12] + theirs.tensors[-4:]
    assert {t.tensor_type.name for t in chosen} == {"F32", "Q4_1", "Q8_0"}
    for tensor in chosen:
        want = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(file.read(tensor.name).numpy(), want), tensor.name


# --- the container ---


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("alignment", [None, 8, 64])
@pytest.mark.parametrize("kind", BLOCK_TYPES)
def test_reads_what_gguf_py_writes(version, alignment, kind, tmp_path):
    model = hf_model("qwen2", hidden_size=32, num_attention_heads=4, num_key_value_heads=2, intermediate_size=96)
    path = write_gguf(tmp_path / "a.gguf", model, kind, version=version, alignment=alignment)
    file, theirs = read_gguf(path), gguf.GGUFReader(path)
    assert file.version == version
    assert list(file.tensors) == [t.name for t in theirs.tensors]
    for tensor in theirs.tensors:
        want = gguf.quants.dequantize(tensor.data, tensor.tensor_type)
        assert np.array_equal(file.read(tensor.name).numpy(), want)


def test_every_kind_of_metadata(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "a.gguf", "llama")
    numbers = {"uint8": 255, "int8": -128, "uint16": 65535, "int16": -32768, "uint32": 2**32 - 1, "int32": -(2**31)}
    numbers |= {"uint64": 2**64 - 1, "int64": -(2**63), "float32": 0.5, "float64": 1e300, "bool": True, "string": "é ▁"}
    for kind, number in numbers.items():
        getattr(writer, f"add_{kind}")(f"x.{kind}", number)
    arrays = {"x.ints": [3, -1, 2], "x.floats": [0.5, -2.0], "x.strings": ["", "a", "한"], "x.bools": [True, False]}
    for key, array in arrays.items():
        writer.add_array(key, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    want = {f"x.{kind}": number for kind, number in numbers.items()} | arrays | {"general.architecture": "llama"}
    assert read_gguf(tmp_path / "a.gguf").metadata == want


def test_the_toy_file_is_whole(scratch):
    assert load_gguf(opened(scratch, TOY))(torch.tensor([[1, 2, 3]])).isfinite().all()


def test_reading_a_tensor_that_is_not_there(scratch):
    with refused("tensor 'nothing' is not in the file"):
        opened(scratch, TOY).read("nothing")


def test_reading_leaves_the_file_as_it_is(scratch):
    file = opened(scratch, TOY)
    file.read("output_norm.weight").zero_()
    assert scratch.read_bytes() == TOY
    assert file.read("output_norm.weight").any()


# --- damaged and hostile files ---


def test_a_file_cut_anywhere_is_refused(scratch):
    """B12, of GGUF files."""
    for length in [*range(HEADER + 64), *range(HEADER + 64, len(TOY), 9), len(TOY) - 1]:
        scratch.write_bytes(TOY[:length])
        with pytest.raises(ModelFileError, match="ends|empty|can hold|cut short"):
            read_gguf(scratch)


@pytest.mark.parametrize(
    ("head", "match"),
    [
        (b"GGUF\0\0\0\3", "big-endian"),
        (b"GGUF\0\0\0\2", "big-endian"),
        (b"GGUF\0\0\0\0", "version 0 is not supported"),
        (b"GGUF\1\0\0\0", "version 1 is not supported"),
        (b"GGUF\x63\0\0\0", "version 99 is not supported"),
        (b"GGJT\3\0\0\0", "not a GGUF file: it starts with b'GGJT'"),
        (b"\x80\2ck\3\0\0\0", "not a GGUF file"),
    ],
)
def test_other_magic_and_versions(head, match, scratch):
    """B14."""
    with refused(match):
        opened(scratch, gguf_bytes([], [ONE], ZEROS, head=head))


@pytest.mark.parametrize(
    ("content", "match"), [(b"", "empty"), *((content, "needs 24 bytes") for content in (b"GGU", b"GGUF", b"GGUF\3\0\0\0"))]
)
def test_files_too_short_to_be_one(content, match, scratch):
    with refused(match):
        opened(scratch, content)


@pytest.mark.parametrize("count", [2**63, 2**64 - 1, 2**32, 10**6])
def test_absurd_counts(count, scratch):
    many = struct.pack("<Q", count)
    with refused(f"claims {count} tensors"):
        opened(scratch, b"GGUF\3\0\0\0" + many + struct.pack("<Q", 0) + ZEROS)
    with refused(f"claims {count} metadata values"):
        opened(scratch, b"GGUF\3\0\0\0" + struct.pack("<Q", 0) + many + ZEROS)
    with refused("the name of metadata value 0"):
        opened(scratch, gguf_bytes([many + b"name"], [], ZEROS))
    with refused("metadata value 'a'"):
        opened(scratch, gguf_bytes([text("a") + struct.pack("<I", 8) + many + b"long"], [], ZEROS))
    with refused("the name of tensor 0"):
        opened(scratch, gguf_bytes([], [many + b"name"], ZEROS))
    for kind in (0, 7, 8, 12):
        with refused(f"metadata value 'a' claims {count} values"):
            opened(scratch, gguf_bytes([text("a") + struct.pack("<II", 9, kind) + many], [], ZEROS))


def test_an_array_longer_than_any_vocabulary(scratch):
    """The file could hold it, but each byte would become a Python number."""
    with refused("metadata value 'a' claims 5000000 values"):
        opened(scratch, gguf_bytes([text("a") + struct.pack("<IIQ", 9, 0, 5_000_000) + b"\0" * 5_000_000], []))


def test_nested_arrays(scratch):
    inner = struct.pack("<IQ", 9, 1)
    with refused("metadata value 'a' is an array of value type 9"):
        opened(scratch, gguf_bytes([text("a") + struct.pack("<I", 9) + inner * 100_000], [], ZEROS))


@pytest.mark.parametrize("kind", [13, 99, 2**32 - 1])
def test_unknown_value_types(kind, scratch):
    with refused(f"metadata value 'a' has the unknown value type {kind}"):
        opened(scratch, gguf_bytes([text("a") + struct.pack("<I", kind)], [], ZEROS))
    with refused(f"metadata value 'a' is an array of value type {kind}"):
        opened(scratch, gguf_bytes([text("a") + struct.pack("<IIQ", 9, kind, 1)], [], ZEROS))


@pytest.mark.parametrize(
    ("metadata", "entries", "match"),
    [
        ([text(b"\xff\xfe") + value(1)], [ONE], "name of metadata value 0 is not valid UTF-8"),
        ([text("a") + struct.pack("<I", 8) + text(b"\xc3")], [ONE], "metadata value 'a' is not valid UTF-8"),
        ([text("a") + struct.pack("<IIQ", 9, 8, 1) + text(b"\xed\xa0\x80")], [ONE], "metadata value 'a' is not valid UTF-8"),
        ([], [entry(b"\xff", (32,), 0, 0)], "name of tensor 0 is not valid UTF-8"),
        ([text("a") + value(1), text("b") + value(1), text("a") + value(2)], [ONE], "'a' stands twice"),
        ([], [ONE, entry("t", (32,), 0, 128)], "'t' stands twice"),
        ([], [entry("t", (), 0, 0)], "'t' has 0 dimensions"),
        ([], [entry("t", (2, 2, 2, 2, 2), 0, 0)], "'t' has 5 dimensions"),
        ([], [text("t") + struct.pack("<I", 2**32 - 1) + ZEROS], "'t' has 4294967295 dimensions"),
        ([], [entry("t", (0,), 0, 0)], "'t' has the shape .* empty dimension"),
        ([], [entry("t", (32, 0), 2, 0)], "'t' has the shape .* empty dimension"),
        ([], [entry("t", (2**62,), 0, 0)], "'t' ends at byte .* cut short"),
        ([], [entry("t", (2**62, 2**62, 2**62, 2**62), 8, 0)], "'t' ends at byte .* cut short"),
        ([], [entry("t", (2**32, 2**32), 0, 0)], "'t' ends at byte .* cut short"),
        ([], [entry("t", (32,), 0, 32)], "'t' ends at byte .* cut short"),
        ([], [entry("t", (32,), 0, 2**63)], "'t' ends at byte .* cut short"),
        ([], [entry("t", (32,), 0, 2**64 - 32)], "'t' ends at byte .* cut short"),
        ([], [entry("t", (32,), 39, 2**40)], "'t' ends at byte .* cut short"),
        ([], [entry("t", (8,), 0, 4)], "'t': offset 4 is not a multiple of 32"),
        ([], [ONE, entry("u", (8,), 0, 96)], "'u' overlaps tensor 't'"),
        ([], [ONE, entry("u", (8,), 0, 0)], "overlaps"),
        ([], [entry("t", (33,), 8, 0)], "'t': rows of 33 values are not whole Q8_0 blocks"),
        ([], [entry("t", (16, 2), 2, 0)], "'t': rows of 16 values are not whole Q4_0 blocks"),
        ([], [entry("t", (32,), 12, 0)], "'t': rows of 32 values are not whole Q4_K blocks"),
    ],
)
def test_fields_that_cannot_be(metadata, entries, match, scratch):
    with refused(match):
        opened(scratch, gguf_bytes(metadata, entries, ZEROS))


@pytest.mark.parametrize("alignment", [0, 1, 4, 12, -8, "32", 32.0, True, 2**63, 2**64 - 8])
def test_alignments_that_cannot_be(alignment, scratch):
    with refused("general.alignment is|cut short"):
        opened(scratch, gguf_bytes([text("general.alignment") + value(alignment)], [ONE], ZEROS))


@pytest.mark.parametrize(("number", "name"), NOT_READ + [(200, r"200 \(unknown\)")])
def test_a_type_without_a_decoder_is_refused_by_name_when_it_is_read(number, name, scratch):
    """B15: the file opens, and its other tensors can be read."""
    file = opened(scratch, gguf_bytes([], [ONE, entry("odd", (256,), number, 128)], ZEROS + b"\0" * 256))
    assert file.read("t").shape == (32,)
    with refused(f"'odd' has type {name}; supported"):
        file.read("odd")


def test_dims_are_read_in_torch_order(scratch):
    assert opened(scratch, gguf_bytes([], [entry("t", (2, 4, 1, 3), 0, 0)], ZEROS)).read("t").shape == (3, 1, 4, 2)


@settings(max_examples=1000, deadline=None)
@given(flips=st.lists(st.tuples(st.integers(0, HEADER - 1), st.integers(1, 255)), min_size=1, max_size=4))
def test_random_damage_to_the_header_loads_or_is_refused(scratch, flips):
    content = bytearray(TOY)
    for position, mask in flips:
        content[position] ^= mask
    scratch.write_bytes(content)
    try:
        model = load_gguf(read_gguf(scratch))
    except ModelFileError as error:
        assert str(error)
        return
    assert model.config.vocab_size == 8


def test_the_header_is_where_this_file_says():
    assert len(TOY) - HEADER - sum(int(np.prod(s)) * 4 for s in SHAPES.values()) < 32
    assert all(key.encode() in TOY[:HEADER] for key in METADATA)


def test_a_header_is_three_numbers_behind_the_magic() -> None:
    assert read_header(b"GGUF" + struct.pack("<IQQ", 3, 272, 40)) == Header(version=3, tensors=272, values=40)
    for short in range(24):
        with pytest.raises(ModelFileError, match="needs 24 bytes"):
            read_header((b"GGUF" + bytes(20))[:short])
        with pytest.raises(ModelFileError, match="not a GGUF file" if short else "needs 24 bytes"):
            read_header((b"GGJT" + bytes(20))[2:][:short])
