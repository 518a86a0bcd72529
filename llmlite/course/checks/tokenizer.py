"""Checks of chapter 01."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import Any

from . import Mistake, brief, check, equal, named, not_missing, refuses, works

EXERCISES = {
    "count_pairs": (
        "zip(word, word[1:]) gives the neighbours of one word.",
        "A word that occurs five times has each of its pairs five times: add the word's number, not 1.",
        "counts = Counter(); for word, times in words.items(): for pair in zip(word, word[1:]): counts[pair] += times",
    ),
    "merge_pair": (
        "Walk along ids with an index that you move yourself: by 2 after a match, by 1 otherwise.",
        "A match at position i means ids[i] and ids[i + 1] are the pair; make sure that i + 1 still exists.",
        "Build a new list: append new_id at a match, ids[i] otherwise, while i < len(ids).",
    ),
    "train": (
        "Count equal pieces first: words = Counter(tuple(piece) for piece in pieces). A tuple of bytes is a tuple of ids.",
        "In each round: count_pairs, take the pair with the highest count, merge it in every word, and count anew.",
        "max(counts, key=counts.get) takes the first among equals. Stop when that count is below 2 or there are no pairs.",
    ),
    "encode_piece": (
        "In each round, look at all neighbours that are in merges, and take the one with the lowest rank.",
        "min(zip(ids, ids[1:]), key=lambda pair: merges.get(pair, (inf, 0))) finds it; stop when it is not in merges.",
        "merge_pair(ids, pair, new_id) does the rest: while one of the pairs is in merges, replace the best of them.",
    ),
    "StreamDecoder": (
        "One token may end in the middle of a character. Keep the bytes that are not a whole character yet in self.",
        "Python has this machine: codecs.getincrementaldecoder('utf-8')(errors='replace'). Make one for each StreamDecoder.",
        "Its decode(data) returns what is complete; decode(b'', final=True) returns what was left over.",
    ),
}

A, B, C, D = b"abcd"


@check("count_pairs")
def neighbours(answer: Any, draw: random.Random) -> None:
    words = {(1, 2, 3): 1}
    _counts(answer, words, {(1, 2): 1, (2, 3): 1}, "each pair of neighbours is counted, and nothing else")


@check("count_pairs")
def overlapping(answer: Any, draw: random.Random) -> None:
    _counts(answer, {(A, A, A): 1}, {(A, A): 2}, "a a a holds the pair (a, a) twice: at its first and at its second place")


@check("count_pairs")
def inside_words(answer: Any, draw: random.Random) -> None:
    _counts(answer, {(1, 2): 1, (3, 4): 1}, {(1, 2): 1, (3, 4): 1}, "a pair never reaches from one word into the next")
    _counts(answer, {(7,): 3, (): 1}, {}, "a word of one id has no pairs")


@check("count_pairs")
def weighted(answer: Any, draw: random.Random) -> None:
    times = draw.randint(2, 9)
    sentence = f"a word that occurs {times} times has each of its pairs {times} times"
    _counts(answer, {(1, 2): times}, {(1, 2): times}, sentence)
    _counts(answer, {(1, 2): times, (3, 1, 2): 1}, {(1, 2): times + 1, (3, 1): 1}, "add up the counts over all words")


@check("count_pairs")
def many(answer: Any, draw: random.Random) -> None:
    words = {tuple(draw.choices(range(4), k=draw.randint(1, 8))): draw.randint(1, 5) for _ in range(20)}
    want: dict[Any, int] = {}
    for word, times in words.items():
        for i in range(1, len(word)):
            want[word[i - 1], word[i]] = want.get((word[i - 1], word[i]), 0) + times
    before = dict(words)
    got = _counts(answer, words, want, "a count is off")
    equal(words, before, "the words that were handed in have changed")
    equal(list(got), list(want), "the pairs should come in the order in which they are first seen")


def _counts(answer: Any, words: Mapping[Any, int], want: Mapping[Any, int], sentence: str) -> Any:
    got = answer(words)
    call = f"count_pairs({brief(dict(words))})"
    not_missing(got, call=call)
    if not isinstance(got, Mapping):
        raise Mistake(f"the result is a {type(got).__name__}, it should map each pair to its count", call=call)
    equal(dict(got), dict(want), sentence, call=call)
    return got


@check("merge_pair")
def every_occurrence(answer: Any, draw: random.Random) -> None:
    got = answer([1, 2, 3], (1, 2), 9)
    faults = {
        "nothing is replaced. Is a list compared with a tuple? [1, 2] == (1, 2) is False": [1, 2, 3],
        "the last id must not get lost": [9],
    }
    named(got, [9, 3], faults.items(), call="merge_pair([1, 2, 3], (1, 2), 9)")
    _merge(answer, [1, 2, 3], (1, 2), 9, [9, 3], "the pair becomes one new id")
    _merge(answer, [1, 2, 3, 1, 2], (1, 2), 9, [9, 3, 9], "every occurrence is replaced, the last one too")
    _merge(answer, [3, 2, 1], (1, 2), 9, [3, 2, 1], "(2, 1) is not the pair (1, 2): the order counts")


@check("merge_pair")
def no_overlap(answer: Any, draw: random.Random) -> None:
    sentence = "an id can be used by one merge only: a a a becomes X a, from left to right"
    _merge(answer, [5, 5, 5], (5, 5), 9, [9, 5], sentence)
    _merge(answer, [5, 5, 5, 5], (5, 5), 9, [9, 9], sentence)
    _merge(answer, [1, 2, 2], (1, 2), 1, [1, 2], "a new id is not merged again in the same pass")


@check("merge_pair")
def nothing_lost(answer: Any, draw: random.Random) -> None:
    _merge(answer, [1], (1, 2), 9, [1], "a single id stays")
    _merge(answer, [], (1, 2), 9, [], "an empty list stays empty")
    _merge(answer, [1, 2, 1], (1, 2), 9, [9, 1], "the last id must not get lost")
    sentence, call = "ids may be a tuple as well as a list", "merge_pair((1, 2, 1), (1, 2), 9)"
    equal(_ids(works(lambda: answer((1, 2, 1), (1, 2), 9), sentence, call=call), call), [9, 1], sentence, call=call)


@check("merge_pair")
def at_random(answer: Any, draw: random.Random) -> None:
    for _ in range(20):
        ids = draw.choices(range(3), k=draw.randint(0, 12))
        before = list(ids)
        pair = (draw.randrange(3), draw.randrange(3))
        _merge(answer, ids, pair, 7, _merged(ids, pair, 7), "the merged ids are not right")
        equal(ids, before, "the list that was handed in has changed", pair=pair)


def _merge(answer: Any, ids: Sequence[int], pair: tuple[int, int], new: int, want: list[int], sentence: str) -> None:
    call = f"merge_pair({ids}, {pair}, {new})"
    equal(_ids(answer(ids, pair, new), call), want, sentence, call=call)


def _ids(got: Any, call: str) -> list[Any]:
    not_missing(got, call=call)
    if not isinstance(got, (list, tuple)):
        raise Mistake(f"the result is a {type(got).__name__}, it should be a list of ids", call=call)
    return list(got)


def _merged(ids: Sequence[int], pair: tuple[int, int], new: int) -> list[int]:
    """By text replacement: one character an id, replaced from left to right without overlap."""
    text = "".join(map(chr, ids)).replace("".join(map(chr, pair)), "\uffff")
    return [new if c == "\uffff" else ord(c) for c in text]


@check("train")
def new_ids(answer: Any, draw: random.Random) -> None:
    _trained(answer, [b"abcabcabcab"], 2, "a merge is not the most frequent pair of its round")


@check("train")
def classic(answer: Any, draw: random.Random) -> None:
    _trained(answer, [b"aaabdaaabac"], 3, "aaabdaaabac learns aa, then aaa, then aaab")


@check("train")
def asked_for(answer: Any, draw: random.Random) -> None:
    equal(_list(answer([b"abab"], 0)), [], "0 merges were asked for", call="train([b'abab'], 0)")
    got = _list(answer([b"abcabc" * 4], 2))
    equal(len(got), 2, "2 merges were asked for", call="train([b'abcabcabc...'], 2)")


@check("train")
def in_pieces(answer: Any, draw: random.Random) -> None:
    _trained(answer, [b"ab", b"abc", b"xy", b"xy", b"xy"], 1, "equal pieces count as often as they occur")
    _trained(answer, [b"xa", b"bx", b"xa", b"bx", b"ab"], 9, "a pair never reaches from one piece into the next")


@check("train")
def ties(answer: Any, draw: random.Random) -> None:
    for pieces in ([b"ab", b"cd", b"cd", b"ab"], [b"cd", b"ab", b"ab", b"cd"]):
        _trained(answer, pieces, 2, "among equally frequent pairs, the one first seen wins")


@check("train")
def stops(answer: Any, draw: random.Random) -> None:
    for text in (b"abcdef", b"", b"a"):
        call = f"train([{text!r}], 5)"
        try:
            got = _list(answer([text], 5))
        except (ValueError, IndexError, KeyError, TypeError) as error:
            sentence = "when no pairs are left, training ends; here it stops with an error"
            raise Mistake(f"{sentence} ({error})", call=call, expected="[]") from None
        equal(got, [], "no pair occurs twice here, so there is nothing to learn", call=call)


@check("train")
def as_counted(answer: Any, draw: random.Random) -> None:
    for _ in range(5):
        pieces = [bytes(draw.choices(b"abc", k=draw.randint(1, 9))) for _ in range(12)]
        _trained(answer, pieces, 6, "a merge is not the most frequent pair of its round")
    call = "train((piece for piece in [b'abab']), 1)"
    equal(
        _list(answer((p for p in [b"abab"]), 1)), [(A, B)], "pieces may be an iterator, which can be read once only", call=call
    )


@check("train")
def negative(answer: Any, draw: random.Random) -> None:
    refuses(lambda: answer([b"abab"], -1), "a negative num_merges must be refused with ValueError", call="train([b'abab'], -1)")


def _list(merges: Any) -> list[Any]:
    not_missing(merges)
    pairs = isinstance(merges, (list, tuple)) and all(isinstance(m, (list, tuple)) and len(m) == 2 for m in merges)
    if not pairs:
        raise Mistake(f"the result is a {type(merges).__name__}; a list of pairs of ids is expected", yours=merges)
    return [tuple(pair) for pair in merges]


def _trained(answer: Any, pieces: list[bytes], num: int, sentence: str) -> None:
    """Follow the answer merge by merge, and compare each with the counts of its round."""
    call = f"train({pieces}, {num})"
    got = _list(answer(list(pieces), num))
    words = [list(piece) for piece in pieces]
    for n in range(num):
        counts: dict[tuple[int, int], int] = {}
        for word in words:
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + 1
        top = max(counts.values(), default=0)
        if top < 2:
            equal(len(got), n, "training goes on although no pair occurs twice", call=call)
            return
        if len(got) <= n:
            raise Mistake(f"training ends after {len(got)} merges; a pair still occurs {top} times", call=call, yours=got)
        best = next(pair for pair, count in counts.items() if count == top)
        if got[n] != best:
            _explain(got, n, best, counts, sentence, call)
        words = [_merged(word, best, 256 + n) for word in words]


def _explain(got: list[Any], n: int, best: Any, counts: Mapping[Any, int], sentence: str, call: str) -> None:
    lines = {"call": call, "yours": f"merge {n} is {got[n]}, with count {counts.get(got[n], 0)}"}
    lines["expected"] = f"{best}, with count {counts[best]}"
    if counts.get(got[n], 0) == counts[best]:
        sentence = "among equally frequent pairs, the one first seen wins"
    elif n and got[n] == got[n - 1]:
        sentence = "the same pair is learned again: is it merged in the words before the next round counts?"
    elif n and max(got[n]) > 255 + n:
        sentence = "the first merge makes id 256, the next 257, and so on"
    elif n and max(got[n]) < 256 <= max(best):
        sentence = "merged pairs must be counted in the next round as new ids, 256 and up: count anew after each merge"
    raise Mistake(sentence, **lines)


@check("encode_piece")
def by_rank(answer: Any, draw: random.Random) -> None:
    _encoded(answer, [A, B, C], [(B, C), (A, B)], [A, 300], "the lowest rank goes first, not the leftmost pair")
    _encoded(answer, [A, A, A], [(A, A)], [300, A], "a a a becomes X a: an id can be used by one merge only, from the left")


@check("encode_piece")
def rank_is_not_id(answer: Any, draw: random.Random) -> None:
    merges = {(B, C): (1, 301), (A, B): (0, 300)}
    call = f"encode_piece({[A, B, C]}, {merges})"
    sentence = "the rank decides, not the order in which merges holds the pairs"
    equal(_ids(answer([A, B, C], merges), call), [300, C], sentence, call=call)
    merges = {(A, B): (1, 300), (B, C): (0, 400)}
    call = f"encode_piece({[A, B, C]}, {merges})"
    sentence = "the rank decides, not the id of the merged token: a vocabulary may number its tokens in any order"
    equal(_ids(answer([A, B, C], merges), call), [A, 400], sentence, call=call)


@check("encode_piece")
def goes_on(answer: Any, draw: random.Random) -> None:
    sentence = "a merged token may merge again: go on until no pair is left"
    _encoded(answer, [A, B, C], [(A, B), (300, C)], [301], sentence)
    _encoded(answer, [A, B, A, B], [(A, B), (300, 300)], [301], sentence)
    _encoded(answer, [A, B, D, A, B], [(A, B)], [300, D, 300], "every occurrence is merged")
    merges = {(A, B): (1, 300), (300, C): (0, 301)}
    call = f"encode_piece({[A, B, C]}, {merges})"
    sentence = "a merge may bring about a pair of a lower rank: look at all pairs again after each merge"
    equal(_ids(answer([A, B, C], merges), call), [301], sentence, call=call)


@check("encode_piece")
def small_pieces(answer: Any, draw: random.Random) -> None:
    works(lambda: answer([], {(A, B): (0, 300)}), "an empty piece stays empty", call="encode_piece([], {(97, 98): (0, 300)})")
    _encoded(answer, [], [(A, B)], [], "an empty piece stays empty")
    _encoded(answer, [A], [(A, B)], [A], "a single id stays")
    _encoded(answer, [C, D, A], [(A, B)], [C, D, A], "ids stay where none of their pairs is in merges")


@check("encode_piece")
def like_the_rule(answer: Any, draw: random.Random) -> None:
    for _ in range(20):
        pairs: list[tuple[int, int]] = []
        for n in range(6):
            pair = (draw.choice([A, B, C, *range(300, 300 + n)]), draw.choice([A, B, C, *range(300, 300 + n)]))
            pairs += [pair] if pair not in pairs else []
        ids = draw.choices([A, B, C], k=draw.randint(2, 14))
        before, want = list(ids), list(ids)
        while found := [p for p in pairs if p in set(zip(want, want[1:]))]:
            want = _merged(want, found[0], 300 + pairs.index(found[0]))
        _encoded(answer, ids, pairs, want, "the ids are not those that merging by rank gives")
        equal(ids, before, "the list that was handed in has changed")


def _encoded(answer: Any, ids: list[int], pairs: list[tuple[int, int]], want: list[int], sentence: str) -> None:
    merges = {pair: (rank, 300 + rank) for rank, pair in enumerate(pairs)}
    call = f"encode_piece({ids}, {merges})"
    equal(_ids(answer(ids, merges), call), want, sentence, call=call)


@check("StreamDecoder")
def whole_characters(answer: Any, draw: random.Random) -> None:
    _streamed(answer, [b"he", b"llo"], ["he", "llo"], "a whole character is returned at once, not held back")
    _streamed(answer, ["é".encode(), b"t"], ["é", "t"], "a token of two bytes can be a whole character")


@check("StreamDecoder")
def one_each(answer: Any, draw: random.Random) -> None:
    earlier, later = answer([b"\xc3"]), answer([b"ok"])
    earlier.push(0)
    equal(later.push(0), "ok", "a decoder must not hold bytes of an earlier one: what it keeps belongs to self")


@check("StreamDecoder")
def split_characters(answer: Any, draw: random.Random) -> None:
    first, vocab = answer([b"\xc3", b"\xa9"]), "[b'\\xc3', b'\\xa9'], the two bytes of é"
    got = first.push(0)
    if got is not None and "\ufffd" in got:
        sentence = "each token is decoded on its own; the first byte of a character must wait for the rest"
        raise Mistake(sentence, vocab=vocab, call="push(0)", yours=got, expected="''")
    if [first.push(1), first.finish()] == ["", ""]:
        sentence = "bytes are dropped; the first byte of a character must be kept until the rest is there"
        raise Mistake(sentence, vocab=vocab, call="push(0), push(1)", yours="''", expected="é")
    _streamed(answer, [b"\xc3", b"\xa9"], ["", "é"], "the first byte of é must wait for the second")
    parts = [bytes([byte]) for byte in "🦙".encode()]
    _streamed(answer, parts, ["", "", "", "🦙"], "the four bytes of 🦙 must wait for each other")
    _streamed(answer, [b"a\xe2\x82", b"\xac!"], ["a", "€!"], "what comes before a split character need not wait")


@check("StreamDecoder")
def left_over(answer: Any, draw: random.Random) -> None:
    vocab = [b"a", b"\xe2\x82"]
    decoder = answer(vocab)
    texts = [decoder.push(0), decoder.push(1), decoder.finish()]
    sentence = "finish returns U+FFFD for a character that was never completed"
    equal(texts, ["a", "", "\ufffd"], sentence, vocab=vocab, call="push(0), push(1), finish()")
    equal(answer([b"ok"]).finish(), "", "with nothing held back, finish returns ''", call="finish()")


@check("StreamDecoder")
def no_characters(answer: Any, draw: random.Random) -> None:
    sentence = "a byte that can never become a character is returned as U+FFFD at once, and what follows does not wait"
    _streamed(answer, [b"\xff", b"a"], ["\ufffd", "a"], sentence)
    _streamed(answer, [b"\xc3", b"a"], ["", "\ufffda"], sentence)


@check("StreamDecoder")
def joined(answer: Any, draw: random.Random) -> None:
    pools: list[Callable[[], bytes]] = [
        lambda: draw.choice("aé€🦙한 ").encode(),
        lambda: bytes([draw.randrange(256)]),
        lambda: draw.choice("é€🦙".encode()).to_bytes(1, "big"),
    ]
    for _ in range(50):
        vocab = [draw.choice(pools)() for _ in range(12)]
        decoder = answer(vocab)
        got = "".join(decoder.push(i) for i in range(len(vocab))) + decoder.finish()
        want = b"".join(vocab).decode("utf-8", errors="replace")
        equal(got, want, "the pieces joined are not b''.join(tokens).decode(errors='replace')", tokens=vocab)


def _streamed(answer: Any, vocab: list[bytes], want: list[str], sentence: str) -> None:
    decoder = answer(vocab)
    got = [decoder.push(i) for i in range(len(vocab))]
    call = ", ".join(f"push({i})" for i in range(len(vocab)))
    if None in got:
        raise Mistake("push returned nothing: it returns a text, '' where none is ready", vocab=vocab, call=call)
    named(got, want, [("push returns what is new, not all of the text so far", list(accumulate(want)))], vocab=vocab, call=call)
    equal(got, want, sentence, vocab=vocab, call=call)
