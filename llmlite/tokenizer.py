"""Byte-level byte-pair encoding: text to token ids, and token ids back to text.

Text is cut into pre-tokens by a pattern, each pre-token becomes its UTF-8 bytes, and pairs of neighbours are merged in
the order in which they were learned. A vocabulary that has all 256 bytes can spell any text.

Sources: Sennrich et al. 2016 (arXiv:1508.07909) for the merges; Radford et al. 2019 (GPT-2) for doing it on bytes; the
pre-tokenizer patterns are those that the model files name.
"""

import codecs
import heapq
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import regex

Pair = tuple[int, int]
Merge = tuple[int, int]  # (rank, id of the merged token); the lowest rank is applied first

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
_LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
PATTERNS: dict[str, tuple[str, ...]] = {
    "gpt-2": (_GPT2,),
    "smollm": (r"\p{N}", _GPT2),
    "llama-bpe": (_LLAMA3,),
    "qwen2": (_LLAMA3.replace(r"\p{N}{1,3}", r"\p{N}"),),
}
"""Pre-tokenizers by the name that GGUF files give them: one or more patterns, applied one after the other."""


def count_pairs(words: Mapping[tuple[int, ...], int]) -> Counter[Pair]:
    """Count every pair of neighbouring ids in words, each word as often as it occurs.

    `words` maps a word (a tuple of ids) to its number of occurrences. Pairs come in the order in which they are first seen.
    """
    counts: Counter[Pair] = Counter()
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] += times
    return counts


def merge_pair(ids: Sequence[int], pair: Pair, new_id: int) -> list[int]:
    """Replace each pair in ids by new_id, from left to right, without overlap."""
    merged: list[int] = []
    i = 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


def train(pieces: Iterable[bytes], num_merges: int) -> list[Pair]:
    """Learn merges from pieces of text: in each round the most frequent pair.

    Among equally frequent pairs the first seen wins. Ids 0 to 255 are the bytes; the n-th merge (from 0) makes id 256 + n.
    Ends after num_merges rounds, or earlier when no pair occurs twice. Raises ValueError for a negative num_merges.
    """
    if num_merges < 0:
        raise ValueError(f"num_merges is {num_merges}, it must be 0 or more")
    words: dict[tuple[int, ...], int] = Counter(tuple(piece) for piece in pieces)
    merges: list[Pair] = []
    while len(merges) < num_merges:
        counts = count_pairs(words)
        best = max(counts, key=counts.__getitem__, default=None)
        if best is None or counts[best] < 2:
            break
        words = {tuple(merge_pair(word, best, 256 + len(merges))): n for word, n in words.items()}
        merges.append(best)
    return merges


def encode_piece(ids: Sequence[int], merges: Mapping[Pair, Merge]) -> list[int]:
    """Merge neighbours in ids, lowest rank first, until no pair is in merges.

    Among equal ranks the leftmost goes first. `merges` maps a pair to (rank, id of the merged token). Takes O(n log n) steps
    for n ids: the candidate pairs wait in a heap, and the ids form a linked list, so that a merge touches only its neighbours.
    """
    symbols, end = list(ids), len(ids)
    left, right = list(range(-1, end - 1)), list(range(1, end + 1))
    heap: list[tuple[int, int, Pair]] = []

    def offer(i: int, j: int) -> None:
        if i >= 0 and j < end and (found := merges.get((symbols[i], symbols[j]))):
            heapq.heappush(heap, (found[0], i, (symbols[i], symbols[j])))

    for i in range(end - 1):
        offer(i, i + 1)
    while heap:
        _, i, pair = heapq.heappop(heap)
        j = right[i]
        if j >= end or (symbols[i], symbols[j]) != pair:
            continue  # one of the two was merged away since this was offered
        symbols[i], symbols[j] = merges[pair][1], -1
        right[i] = right[j]
        if right[i] < end:
            left[right[i]] = i
        offer(left[i], i)
        offer(i, right[i])
    return [symbol for symbol in symbols if symbol >= 0]


def split(text: str, pattern: str) -> Iterator[str]:
    """Cut text into the matches of pattern and the gaps between them; nothing is lost."""
    end = 0
    for match in _compiled(pattern).finditer(text):
        if match.start() > end:
            yield text[end : match.start()]
        if match.end() > match.start():
            yield match.group()
        end = match.end()
    if end < len(text):
        yield text[end:]


def pre_tokenize(text: str, patterns: Sequence[str]) -> list[str]:
    """Cut text into pre-tokens, by each pattern in turn. Merges never cross the cuts."""
    pieces = [text] if text else []
    for pattern in patterns:
        pieces = [part for piece in pieces for part in split(piece, pattern)]
    return pieces


@cache
def _compiled(pattern: str) -> "regex.Pattern[str]":
    return regex.compile(pattern)


class StreamDecoder:
    """Turn ids into text as they arrive; an incomplete character is held back.

    The pieces joined equal the decoding of all ids at once; bytes that are not UTF-8 become U+FFFD.
    """

    def __init__(self, vocab: Sequence[bytes]) -> None:
        self.vocab = vocab
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def push(self, token_id: int) -> str:
        """Take one more id; return the text that is now certain (it may be empty)."""
        return self.utf8.decode(self.vocab[token_id])

    def finish(self) -> str:
        """Return what is still held back; call it once, after the last id."""
        return self.utf8.decode(b"", final=True)


@cache
def byte_symbols() -> dict[str, int]:
    """GPT-2's printable stand-in for each byte, as symbol -> byte: vocabularies in files are written with them."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    others = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + n): byte for n, byte in enumerate(others)}


@dataclass
class Tokenizer:
    """A byte-level BPE vocabulary with its merges and pre-tokenizer.

    vocab: the bytes of each id. merges: see `encode_piece`. patterns: see `pre_tokenize`. control: control tokens such as
    `<|im_end|>`, read only where the caller asks for it. added: other whole tokens, always read. ignore_merges: a pre-token
    that is itself in the vocabulary is taken whole. normalization: None or "NFC".
    """

    vocab: list[bytes]
    merges: dict[Pair, Merge]
    patterns: tuple[str, ...]
    control: dict[str, int] = field(default_factory=dict)
    added: dict[str, int] = field(default_factory=dict)
    bos_id: int | None = None
    eos_id: int | None = None
    add_bos: bool = False
    ignore_merges: bool = False
    normalization: Literal["NFC"] | None = None

    def __post_init__(self) -> None:
        special = {*self.control.values(), *self.added.values()}
        self._ids = {piece: i for i, piece in enumerate(self.vocab) if i not in special}
        self._byte_ids = [self._ids.get(bytes([byte])) for byte in range(256)]

    def __len__(self) -> int:
        return len(self.vocab)

    @classmethod
    def from_merges(cls, merges: Sequence[Pair], pattern: str = "gpt-2", control: Sequence[str] = ()) -> "Tokenizer":
        """Build a tokenizer from what `train` returns: 256 bytes, then the merges, then the control tokens."""
        vocab = [bytes([byte]) for byte in range(256)]
        for a, b in merges:
            vocab.append(vocab[a] + vocab[b])
        ranks = {pair: (rank, 256 + rank) for rank, pair in enumerate(merges)}
        specials = {text: len(vocab) + n for n, text in enumerate(control)}
        return cls(vocab + [text.encode() for text in control], ranks, _patterns(pattern), specials)

    @classmethod
    def from_strings(
        cls, tokens: Sequence[str], merges: Iterable[str | Sequence[str]], patterns: tuple[str, ...], **options: Any
    ) -> "Tokenizer":
        """Build a tokenizer from a file's token strings and merges ("a b" or ["a", "b"]), written in `byte_symbols`.

        Options are the other fields of the class. Raises ValueError where a merge names a token that is not there.
        """
        ids = {token: i for i, token in enumerate(tokens)}
        ranked: dict[Pair, Merge] = {}
        for rank, merge in enumerate(merges):
            pair = merge.split(" ") if isinstance(merge, str) else merge
            a, b = pair if len(pair) == 2 else ("", "")
            if a not in ids or b not in ids or a + b not in ids:
                raise ValueError(f"merge {rank} ({merge!r}) names a token that is not in the vocabulary")
            ranked.setdefault((ids[a], ids[b]), (rank, ids[a + b]))
        whole = {*options.get("control", {}).values(), *options.get("added", {}).values()}
        return cls([_to_bytes(t, i in whole) for i, t in enumerate(tokens)], ranked, patterns, **options)

    @classmethod
    def from_gguf(cls, metadata: Mapping[str, Any]) -> "Tokenizer":
        """Build the tokenizer that the metadata of a GGUF file describes.

        Raises ValueError for another kind of tokenizer than byte-level BPE, and for a pre-tokenizer that is not in PATTERNS.
        """
        prefix = "tokenizer.ggml."
        if (kind := metadata.get(prefix + "model")) != "gpt2":
            raise ValueError(f"tokenizer.ggml.model is {kind!r}; only 'gpt2' (byte-level BPE) is supported")
        tokens, merges = metadata.get(prefix + "tokens"), metadata.get(prefix + "merges")
        if not isinstance(tokens, list) or not isinstance(merges, list):
            raise ValueError("tokenizer.ggml.tokens and tokenizer.ggml.merges must both be arrays of strings")
        types = list(metadata.get(prefix + "token_type", [1] * len(tokens)))
        if len(types) != len(tokens):
            raise ValueError(f"tokenizer.ggml.token_type has {len(types)} entries for {len(tokens)} tokens")
        pre = metadata.get(prefix + "pre", "gpt-2")
        return cls.from_strings(
            tokens,
            merges,
            _patterns(pre),
            control={t: i for i, (t, kind) in enumerate(zip(tokens, types)) if kind == 3},
            added={t: i for i, (t, kind) in enumerate(zip(tokens, types)) if kind == 4},
            bos_id=metadata.get(prefix + "bos_token_id"),
            eos_id=metadata.get(prefix + "eos_token_id"),
            add_bos=bool(metadata.get(prefix + "add_bos_token", pre == "llama-bpe")),
            ignore_merges=pre == "llama-bpe",
        )

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> "Tokenizer":
        """Build a tokenizer from the contents of a Hugging Face tokenizer.json.

        Raises ValueError, by name, for a model, normalizer or pre-tokenizer that is not supported.
        """
        model = spec.get("model", {})
        if model.get("type", "BPE") != "BPE" or model.get("byte_fallback"):
            raise ValueError(f"tokenizer.json: model {model.get('type')!r} is not byte-level BPE")
        normalizer = (spec.get("normalizer") or {}).get("type")
        if normalizer not in (None, "NFC"):
            raise ValueError(f"tokenizer.json: normalizer {normalizer!r} is not supported (none or NFC)")
        extra = spec.get("added_tokens", [])
        if awkward := [t["content"] for t in extra if t.get("lstrip") or t.get("rstrip") or t.get("single_word")]:
            raise ValueError(f"tokenizer.json: added token {awkward[0]!r} asks for lstrip, rstrip or single_word")
        by_id = {i: token for token, i in model["vocab"].items()} | {t["id"]: t["content"] for t in extra}
        tokens = [by_id.get(i, f"<unused {i}>") for i in range(max(by_id, default=-1) + 1)]
        first = _leading_token(spec.get("post_processor") or {})
        control = {t["content"]: t["id"] for t in extra if t.get("special")}
        return cls.from_strings(
            tokens,
            model["merges"],
            tuple(_json_patterns(spec.get("pre_tokenizer") or {})),
            control=control,
            added={t["content"]: t["id"] for t in extra if not t.get("special")},
            bos_id=control.get(first) if first else None,
            add_bos=first is not None,
            ignore_merges=bool(model.get("ignore_merges")),
            normalization=normalizer,
        )

    def encode(self, text: str, *, parse_special: bool = False, remove: str = "") -> list[int]:
        """Turn text into ids. Control tokens written in the text are ordinary text unless parse_special is set.

        `remove` is a mark to take out of the ordinary text after control tokens have been read (see `chat.ChatTemplate`).
        Raises ValueError for a lone surrogate, which no UTF-8 text can hold, and for a byte that the vocabulary lacks (as
        SmolLM2's lacks six control characters): it is never dropped in silence.
        """
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, not {type(text).__name__}")
        whole = self.added | self.control if parse_special else self.added
        ids: list[int] = []
        for part in split(text, _any_of(tuple(whole))) if whole else [text]:
            ids += [whole[part]] if part in whole else self._encode_text(part.replace(remove, "") if remove else part)
        return ids

    def _encode_text(self, text: str) -> list[int]:
        if self.normalization:
            text = unicodedata.normalize(self.normalization, text)
        ids: list[int] = []
        for piece in pre_tokenize(text, self.patterns):
            data = _utf8(piece)
            known = self._ids.get(data) if self.ignore_merges else None
            ids += encode_piece(self._bytes_to_ids(data), self.merges) if known is None else [known]
        return ids

    def _bytes_to_ids(self, data: bytes) -> list[int]:
        ids = [self._byte_ids[byte] for byte in data]
        if None in ids:
            raise ValueError(f"this vocabulary has no token for the byte 0x{data[ids.index(None)]:02x}")
        return ids  # type: ignore[return-value]

    def decode(self, ids: Iterable[int]) -> str:
        """Turn ids back into text; bytes that are not UTF-8 become U+FFFD. Raises ValueError for an id out of range."""
        return b"".join(self.token_bytes(i) for i in ids).decode("utf-8", errors="replace")

    def token_bytes(self, token_id: int) -> bytes:
        """The bytes of one token. Raises ValueError for an id out of range."""
        if not 0 <= token_id < len(self.vocab):
            raise ValueError(f"token id {token_id} is out of range: the vocabulary has ids 0 to {len(self.vocab) - 1}")
        return self.vocab[token_id]


def _utf8(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        code = ord(text[error.start])
        raise ValueError(f"the text holds a lone surrogate (U+{code:04X}), which UTF-8 cannot encode") from None


def _to_bytes(token: str, whole: bool) -> bytes:
    symbols = byte_symbols()
    if whole or any(char not in symbols for char in token):
        return token.encode("utf-8", errors="replace")
    return bytes(symbols[char] for char in token)


@cache
def _any_of(tokens: tuple[str, ...]) -> str:
    return "|".join(regex.escape(token) for token in sorted(tokens, key=len, reverse=True) if token)


def _patterns(name: str) -> tuple[str, ...]:
    if name not in PATTERNS:
        raise ValueError(f"pre-tokenizer {name!r} is not supported; known: {', '.join(PATTERNS)}")
    return PATTERNS[name]


def _json_patterns(spec: Mapping[str, Any]) -> Iterator[str]:
    kind = spec.get("type")
    if kind == "Sequence":
        for part in spec["pretokenizers"]:
            yield from _json_patterns(part)
    elif kind == "Digits" and spec.get("individual_digits"):
        yield r"\p{N}"
    elif kind == "Split" and "Regex" in spec["pattern"] and spec["behavior"] == "Isolated" and not spec.get("invert"):
        yield spec["pattern"]["Regex"]
    elif kind == "ByteLevel" and not spec.get("add_prefix_space"):
        yield from PATTERNS["gpt-2"] if spec.get("use_regex", True) else ()
    else:
        raise ValueError(f"tokenizer.json: pre-tokenizer {kind!r} with these options is not supported: {dict(spec)}")


def _leading_token(post: Mapping[str, Any]) -> str | None:
    """The token that a post-processor puts before every text (a beginning-of-sequence token), if it does."""
    if post.get("type") == "Sequence":
        return next((first for part in post["processors"] if (first := _leading_token(part))), None)
    single = post.get("single", []) if post.get("type") == "TemplateProcessing" else []
    return single[0]["SpecialToken"]["id"] if single and "SpecialToken" in single[0] else None
