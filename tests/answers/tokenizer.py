"""Answers to the exercises of chapter 01."""

import codecs
import heapq
import itertools
import math
from collections import Counter, defaultdict

from . import right, wrong

# count_pairs


@wrong("count_pairs", "has each of its pairs")
def counts_each_word_once(words):
    counts = Counter()
    for word in words:
        counts.update(zip(word, word[1:]))
    return counts


@wrong("count_pairs", "add up the counts over all words")
def the_last_word_wins(words):
    counts = {}
    for word, times in words.items():
        for pair in set(zip(word, word[1:])):
            counts[pair] = times * list(zip(word, word[1:])).count(pair)
    return counts


@wrong("count_pairs", "at its first and at its second place")
def without_overlap(words):
    counts = Counter()
    for word, times in words.items():
        i = 0
        while i + 1 < len(word):
            counts[word[i], word[i + 1]] += times
            i += 2 if word[i : i + 2] == word[i + 1 : i + 3] else 1
    return counts


@wrong("count_pairs", "at its first and at its second place")
def each_pair_once_a_word(words):
    counts = Counter()
    for word, times in words.items():
        for pair in set(zip(word, word[1:])):
            counts[pair] += times
    return counts


@wrong("count_pairs", "a pair never reaches from one word into the next")
def across_words(words):
    ids = [i for word, times in words.items() for i in word * times]
    return Counter(zip(ids, ids[1:]))


@wrong("count_pairs", "each pair of neighbours is counted, and nothing else")
def counts_ids(words):
    counts = Counter()
    for word, times in words.items():
        for i in word:
            counts[i] += times
    return counts


@wrong("count_pairs", "each pair of neighbours is counted, and nothing else")
def misses_the_last_pair(words):
    counts = Counter()
    for word, times in words.items():
        for i in range(len(word) - 2):
            counts[word[i], word[i + 1]] += times
    return counts


@wrong("count_pairs", "each pair of neighbours is counted, and nothing else")
def every_two_ids(words):
    counts = Counter()
    for word, times in words.items():
        for pair in itertools.combinations(word, 2):
            counts[pair] += times
    return counts


@wrong("count_pairs", "it stops with IndexError")
def past_the_end(words):
    counts = Counter()
    for word, times in words.items():
        for i in range(len(word)):
            counts[word[i], word[i + 1]] += times
    return counts


@wrong("count_pairs", "the order in which they are first seen")
def sorted_by_count(words):
    counts = Counter()
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] += times
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


@wrong("count_pairs", "the words that were handed in have changed")
def empties_the_words(words):
    counts = Counter()
    while words:
        word = next(iter(words))
        times = words.pop(word)
        for pair in zip(word, word[1:]):
            counts[pair] += times
    return counts


@wrong("count_pairs", "it should map each pair to its count")
def list_of_counts(words):
    counts = Counter()
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] += times
    return counts.most_common()


@wrong("count_pairs", "does every path end with a return")
def count_forgets_return(words):
    counts = Counter()
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] += times


@wrong("count_pairs", "each pair of neighbours is counted")
def count_hard_coded(words):
    return Counter({(97, 97): 2, (98, 97): 5})


@right("count_pairs")
def with_defaultdict(words):
    counts = defaultdict(int)
    for word in words:
        for i in range(len(word) - 1):
            counts[word[i], word[i + 1]] += words[word]
    return counts


@right("count_pairs")
def with_pairwise(words):
    counts = {}
    for word, times in words.items():
        for a, b in itertools.pairwise(word):
            counts[a, b] = counts.get((a, b), 0) + times
    return counts


@right("count_pairs")
def word_by_word_repeated(words):
    return Counter(pair for word, times in words.items() for _ in range(times) for pair in zip(word[:-1], word[1:]))


# merge_pair


@wrong("merge_pair", "an id can be used by one merge only")
def merges_overlapping(ids, pair, new_id):
    ids = list(ids)
    merged = []
    for i in range(len(ids)):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
        elif i == 0 or tuple(ids[i - 1 : i + 1]) != pair:
            merged.append(ids[i])
    return merged


@wrong("merge_pair", "an id can be used by one merge only")
def from_the_right(ids, pair, new_id):
    merged, i = [], len(ids) - 1
    while i >= 0:
        if i > 0 and (ids[i - 1], ids[i]) == tuple(pair):
            merged.append(new_id)
            i -= 2
        else:
            merged.append(ids[i])
            i -= 1
    return merged[::-1]


@wrong("merge_pair", "every occurrence is replaced")
def merges_the_first_only(ids, pair, new_id):
    ids = list(ids)
    for i in range(len(ids) - 1):
        if (ids[i], ids[i + 1]) == pair:
            return [*ids[:i], new_id, *ids[i + 2 :]]
    return ids


@wrong("merge_pair", "nothing is replaced")
def list_against_tuple(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if ids[i : i + 2] == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


@wrong("merge_pair", "the pair becomes one new id")
def keeps_the_second(ids, pair, new_id):
    merged = list(ids)
    for i in range(len(merged) - 1):
        if (merged[i], merged[i + 1]) == pair:
            merged[i] = new_id
    return merged


@wrong("merge_pair", "it stops with IndexError")
def looks_past_the_end(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if ids[i] == pair[0] and ids[i + 1] == pair[1]:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


@wrong("merge_pair", "the last id must not get lost")
def loses_a_lone_last_id(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids) - 1:
        if tuple(ids[i : i + 2]) == tuple(pair):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


@wrong("merge_pair", "the pair becomes one new id")
def replaces_single_ids(ids, pair, new_id):
    return [new_id if i in pair else i for i in ids]


@wrong("merge_pair", "the order counts")
def either_order(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if sorted(ids[i : i + 2]) == sorted(pair):
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1
    return merged


@wrong("merge_pair", "a new id is not merged again in the same pass")
def merges_the_new_id_too(ids, pair, new_id):
    merged = []
    for i in ids:
        merged.append(i)
        while tuple(merged[-2:]) == pair:
            merged[-2:] = [new_id]
    return merged


@wrong("merge_pair", "the list that was handed in has changed")
def in_place(ids, pair, new_id):
    if isinstance(ids, tuple):
        ids = list(ids)
    i = 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) == pair:
            ids[i : i + 2] = [new_id]
        i += 1
    return ids


@wrong("merge_pair", "ids may be a tuple")
def lists_only(ids, pair, new_id):
    merged = ids.copy()
    i = 0
    while i < len(merged) - 1:
        if (merged[i], merged[i + 1]) == pair:
            merged[i : i + 2] = [new_id]
        i += 1
    return merged


@wrong("merge_pair", "it should be a list of ids")
def one_id_at_a_time(ids, pair, new_id):
    i = 0
    while i < len(ids):
        matches = tuple(ids[i : i + 2]) == pair
        yield new_id if matches else ids[i]
        i += 2 if matches else 1


@wrong("merge_pair", "does every path end with a return")
def merge_forgets_return(ids, pair, new_id):
    merged, i = [], 0
    while i < len(ids):
        if tuple(ids[i : i + 2]) == pair:
            merged.append(new_id)
            i += 2
        else:
            merged.append(ids[i])
            i += 1


@wrong("merge_pair", "loop that never ends", seconds=0.3)
def never_moves_on(ids, pair, new_id):
    i, merged = 0, list(ids)
    while i < len(merged):
        if tuple(merged[i : i + 2]) == pair:
            merged[i : i + 2] = [new_id]
            i += 1
    return merged


@wrong("merge_pair", "every occurrence is replaced")
def merge_hard_coded(ids, pair, new_id):
    return [9, 3]


@right("merge_pair")
def with_a_flag(ids, pair, new_id):
    merged, used = [], False
    for a, b in itertools.zip_longest(ids, ids[1:]):
        if used:
            used = False
        elif (a, b) == tuple(pair):
            merged.append(new_id)
            used = True
        else:
            merged.append(a)
    return merged


@right("merge_pair")
def by_replacing_text(ids, pair, new_id):
    text = "".join(f"<{i}>" for i in ids).replace(f"<{pair[0]}><{pair[1]}>", f"<{new_id}>")
    return [int(i) for i in text.strip("<>").split("><")] if text else []


@right("merge_pair")
def on_a_copy(ids, pair, new_id):
    merged = list(ids)
    i = 0
    while i < len(merged) - 1:
        if merged[i] == pair[0] and merged[i + 1] == pair[1]:
            merged[i] = new_id
            del merged[i + 1]
        i += 1
    return merged


@right("merge_pair")
def with_a_stack(ids, pair, new_id):
    merged, free = [], False  # free: the last one may still be the first of a pair
    for i in ids:
        if free and (merged[-1], i) == pair:
            merged[-1], free = new_id, False
        else:
            merged.append(i)
            free = True
    return tuple(merged)


# train


def _count(words):
    counts = {}
    for word, times in words.items():
        for pair in zip(word, word[1:]):
            counts[pair] = counts.get(pair, 0) + times
    return counts


def _merge(word, pair, new_id):
    merged, i = [], 0
    while i < len(word):
        found = tuple(word[i : i + 2]) == pair
        merged.append(new_id if found else word[i])
        i += 2 if found else 1
    return tuple(merged)


def _train(pieces, num_merges, choose=lambda counts: max(counts, key=counts.get), least=2, first_id=256):
    """The right way, with one part of it exchanged."""
    if num_merges < 0:
        raise ValueError("num_merges is negative")
    words, merges = Counter(map(tuple, pieces)), []
    for n in range(num_merges):
        counts = _count(words)
        if not counts or counts[choose(counts)] < least:
            break
        best = choose(counts)
        merges.append(best)
        words = {_merge(word, best, first_id + n): times for word, times in words.items()}
    return merges


@wrong("train", "merged pairs must be counted in the next round")
def counts_only_once(pieces, num_merges):
    if num_merges < 0:
        raise ValueError
    counts = Counter(_count(Counter(map(tuple, pieces))))
    return [pair for pair, count in counts.most_common(num_merges) if count > 1]


@wrong("train", "the same pair is learned again")
def never_merges(pieces, num_merges):
    words, merges = Counter(map(tuple, pieces)), []
    for _ in range(num_merges):
        counts = _count(words)
        best = max(counts, key=counts.get, default=None)
        if best is None or counts[best] < 2:
            break
        merges.append(best)
    return merges


@wrong("train", "the first merge makes id 256")
def ids_from_257(pieces, num_merges):
    return _train(pieces, num_merges, first_id=257)


@wrong("train", "the one first seen wins")
def largest_pair_wins_ties(pieces, num_merges):
    return _train(pieces, num_merges, choose=lambda counts: max(counts, key=lambda pair: (counts[pair], pair)))


@wrong("train", "the one first seen wins")
def smallest_pair_wins_ties(pieces, num_merges):
    return _train(pieces, num_merges, choose=lambda counts: min(counts, key=lambda pair: (-counts[pair], pair)))


@wrong("train", "the one first seen wins")
def last_seen_wins_ties(pieces, num_merges):
    return _train(pieces, num_merges, choose=lambda counts: max(reversed(counts), key=counts.get))


@wrong("train", "a merge is not the most frequent pair")
def the_rarest_pair(pieces, num_merges):
    return _train(pieces, num_merges, choose=lambda counts: min(counts, key=counts.get), least=1)


@wrong("train", "no pair occurs twice")
def learns_single_pairs(pieces, num_merges):
    return _train(pieces, num_merges, least=1)


@wrong("train", "training ends after")
def stops_at_two(pieces, num_merges):
    return _train(pieces, num_merges, least=3)


@wrong("train", "when no pairs are left, training ends")
def max_of_nothing(pieces, num_merges):
    words, merges = Counter(map(tuple, pieces)), []
    if num_merges < 0:
        raise ValueError
    for n in range(num_merges):
        counts = _count(words)
        best = max(counts, key=counts.get)
        if counts[best] < 2:
            break
        merges.append(best)
        words = {_merge(word, best, 256 + n): times for word, times in words.items()}
    return merges


@wrong("train", "0 merges were asked for")
def as_many_as_there_are(pieces, num_merges):
    if num_merges < 0:
        raise ValueError
    merges = _train(pieces, 99)
    return merges[:num_merges] if num_merges else merges


@wrong("train", "merges were asked for")
def counts_up_to_a_vocabulary(pieces, num_merges):
    return _train(pieces, num_merges + 1)


@wrong("train", "a negative num_merges must be refused")
def negative_is_none(pieces, num_merges):
    return _train(pieces, max(num_merges, 0))


@wrong("train", "equal pieces count as often as they occur")
def each_piece_once(pieces, num_merges):
    return _train(dict.fromkeys(pieces), num_merges)


@wrong("train", "never reaches from one piece into the next")
def one_long_text(pieces, num_merges):
    return _train([b"".join(pieces)], num_merges)


@wrong("train", "can be read once only")
def reads_pieces_again(pieces, num_merges):
    longest = max((len(piece) for piece in pieces), default=0)
    return _train(pieces, num_merges) if longest else []


@wrong("train", "a list of pairs of ids is expected")
def dict_of_merges(pieces, num_merges):
    return {pair: 256 + n for n, pair in enumerate(_train(pieces, num_merges))}


@wrong("train", "a list of pairs of ids is expected")
def list_of_new_ids(pieces, num_merges):
    return [256 + n for n, _ in enumerate(_train(pieces, num_merges))]


@wrong("train", "does every path end with a return")
def train_forgets_return(pieces, num_merges):
    print(_train(pieces, num_merges))


@wrong("train", "loop that never ends", seconds=0.3)
def train_without_end(pieces, num_merges):
    words, merges = Counter(map(tuple, pieces)), []
    while len(merges) < num_merges:
        counts = _count(words)
        best = max(counts, key=counts.get, default=None)
        if best is not None and counts[best] >= 2:
            merges.append(best)
            words = {_merge(word, best, 255 + len(merges)): times for word, times in words.items()}
    return merges


@wrong("train", "not the most frequent pair of its round")
def train_hard_coded(pieces, num_merges):
    return [(97, 97), (256, 97), (257, 98)][:num_merges]


@right("train")
def piece_by_piece(pieces, num_merges):
    if num_merges < 0:
        raise ValueError(f"{num_merges} merges?")
    sequences, merges = [list(piece) for piece in pieces], []
    for new_id in range(256, 256 + num_merges):
        counts = defaultdict(int)
        for sequence in sequences:
            for a, b in itertools.pairwise(sequence):
                counts[a, b] += 1
        top = max(counts.values(), default=0)
        if top <= 1:
            return merges
        best = [pair for pair in counts if counts[pair] == top][0]
        merges.append(list(best))
        sequences = [_merge(sequence, best, new_id) for sequence in sequences]
    return merges


@right("train")
def with_most_common(pieces, num_merges):
    if num_merges < 0:
        raise ValueError
    words, merges = Counter(tuple(piece) for piece in pieces), []
    while num_merges > len(merges):
        top = Counter(_count(words)).most_common(1)
        if not top or top[0][1] == 1:
            break
        words = {_merge(word, top[0][0], 256 + len(merges)): times for word, times in words.items()}
        merges += [top[0][0]]
    return merges


@right("train")
def by_sorting(pieces, num_merges):
    return _train(pieces, num_merges, choose=lambda counts: sorted(counts, key=lambda pair: -counts[pair])[0])


# encode_piece


@wrong("encode_piece", "the lowest rank goes first, not the leftmost pair")
def left_to_right(ids, merges):
    ids, i = list(ids), 0
    while i < len(ids) - 1:
        if (ids[i], ids[i + 1]) in merges:
            ids[i : i + 2] = [merges[ids[i], ids[i + 1]][1]]
            i = max(i - 1, 0)
        else:
            i += 1
    return ids


@wrong("encode_piece", "the lowest rank goes first, not the leftmost pair")
def longest_token_first(ids, merges):
    tokens = {}  # the ids that each merged token stands for
    for (a, b), (_, new_id) in sorted(merges.items(), key=lambda item: item[1]):
        tokens[new_id] = tokens.get(a, (a,)) + tokens.get(b, (b,))
    by_ids, result, i = {token: new_id for new_id, token in tokens.items()}, [], 0
    while i < len(ids):
        fits = [j for j in range(i + 2, len(ids) + 1) if tuple(ids[i:j]) in by_ids]
        end = max(fits, default=i + 1)
        result.append(by_ids.get(tuple(ids[i:end]), ids[i]))
        i = end
    return result


@wrong("encode_piece", "the rank decides, not the id")
def ids_as_ranks(ids, merges):
    return _encode(ids, merges, key=lambda pair: merges[pair][1])


@wrong("encode_piece", "not the order in which merges holds the pairs")
def order_of_the_dict(ids, merges):
    ids = list(ids)
    for pair, (_, new_id) in merges.items():
        ids = list(_merge(ids, pair, new_id))
    return ids


@wrong("encode_piece", "the lowest rank goes first")
def highest_rank_first(ids, merges):
    return _encode(ids, merges, key=lambda pair: -merges[pair][0])


@wrong("encode_piece", "a merged token may merge again")
def one_pass(ids, merges):
    for pair in sorted(set(zip(ids, ids[1:])), key=lambda pair: merges.get(pair, (math.inf,))[0]):
        if pair in merges:
            ids = _merge(ids, pair, merges[pair][1])
    return list(ids)


@wrong("encode_piece", "a merge may bring about a pair of a lower rank")
def once_through_the_ranks(ids, merges):
    for pair, (_, new_id) in sorted(merges.items(), key=lambda item: item[1]):
        ids = _merge(ids, pair, new_id)
    return list(ids)


@wrong("encode_piece", "an id can be used by one merge only")
def encode_overlapping(ids, merges):
    ids = list(ids)
    while True:
        found = [pair for pair in zip(ids, ids[1:]) if pair in merges]
        if not found:
            return ids
        best = min(found, key=merges.get)
        starts = [i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) == best]
        gone = {i + 1 for i in starts} - set(starts)
        ids = [merges[best][1] if i in starts else ids[i] for i in range(len(ids)) if i not in gone]


@wrong("encode_piece", "the lowest rank goes first")
def the_rank_as_the_id(ids, merges):
    return _encode(ids, merges, new=0)


@wrong("encode_piece", "an empty piece stays empty")
def minimum_of_nothing(ids, merges):
    ids = list(ids)
    while True:
        best = min(zip(ids, ids[1:]), key=lambda pair: merges.get(pair, (math.inf, 0)))
        if best not in merges:
            return ids
        ids = list(_merge(ids, best, merges[best][1]))
        if len(ids) == 1:
            return ids


@wrong("encode_piece", "the list that was handed in has changed")
def encode_in_place(ids, merges):
    while True:
        found = [i for i in range(len(ids) - 1) if (ids[i], ids[i + 1]) in merges]
        if not found:
            return ids
        i = min(found, key=lambda i: merges[ids[i], ids[i + 1]][0])
        ids[i : i + 2] = [merges[ids[i], ids[i + 1]][1]]


@wrong("encode_piece", "does every path end with a return")
def encode_forgets_return(ids, merges):
    if len(ids) < 2:
        return list(ids)
    ids = _encode(ids, merges)


@wrong("encode_piece", "loop that never ends", seconds=0.3)
def encode_without_end(ids, merges):
    ids = list(ids)
    while True:
        found = [pair for pair in zip(ids, ids[1:]) if pair in merges]
        if found:
            best = min(found, key=merges.get)
            ids = list(_merge(ids, best, merges[best][1]))


@wrong("encode_piece", "the lowest rank goes first")
def encode_hard_coded(ids, merges):
    return [97, 256]


def _encode(ids, merges, key=None, new=1):
    """The right way, with one part of it exchanged."""
    while found := [pair for pair in zip(ids, ids[1:]) if pair in merges]:
        best = min(found, key=key or merges.get)
        ids = _merge(ids, best, merges[best][new])
    return list(ids)


@right("encode_piece")
def all_of_the_best(ids, merges):
    return _encode(ids, merges)


@right("encode_piece")
def one_place_at_a_time(ids, merges):
    ids = list(ids)
    while True:
        best = None
        for i in range(len(ids) - 1):
            merge = merges.get((ids[i], ids[i + 1]))
            if merge is not None and (best is None or merge[0] < best[0]):
                best = (merge[0], i, merge[1])
        if best is None:
            return ids
        _, i, new_id = best
        ids = ids[:i] + [new_id] + ids[i + 2 :]


@right("encode_piece")
def calling_itself(ids, merges):
    def go(ids):
        ranked = [(merges[pair][0], i) for i, pair in enumerate(zip(ids, ids[1:])) if pair in merges]
        if not ranked:
            return ids
        i = min(ranked)[1]
        return go((*ids[:i], merges[ids[i], ids[i + 1]][1], *ids[i + 2 :]))

    return list(go(tuple(ids)))


@right("encode_piece")
def with_a_heap(ids, merges):
    ids, place = list(ids), list(range(len(ids)))
    heap = [(merges[pair], i, i + 1, pair) for i, pair in enumerate(zip(ids, ids[1:])) if pair in merges]
    heapq.heapify(heap)
    while heap:
        (_, new_id), i, j, pair = heapq.heappop(heap)
        if i not in place or j not in place or (ids[i], ids[j]) != pair:
            continue
        ids[i] = new_id
        place.remove(j)
        at = place.index(i)
        for a, b in zip(place[max(at - 1, 0) : at + 2], place[max(at - 1, 0) + 1 : at + 2]):
            if (ids[a], ids[b]) in merges:
                heapq.heappush(heap, (merges[ids[a], ids[b]], a, b, (ids[a], ids[b])))
    return [ids[i] for i in place]


# StreamDecoder


@wrong("StreamDecoder", "each token is decoded on its own")
class EachAlone:
    def __init__(self, vocab):
        self.vocab = vocab

    def push(self, token_id):
        return self.vocab[token_id].decode("utf-8", errors="replace")

    def finish(self):
        return ""


@wrong("StreamDecoder", "bytes are dropped")
class EachAloneIgnoring:
    def __init__(self, vocab):
        self.vocab = vocab

    def push(self, token_id):
        return self.vocab[token_id].decode("utf-8", errors="ignore")

    def finish(self):
        return ""


class _Incremental:
    errors = "replace"

    def __init__(self, vocab):
        self.vocab = vocab
        self.utf8 = codecs.getincrementaldecoder("utf-8")(errors=self.errors)

    def push(self, token_id):
        return self.utf8.decode(self.vocab[token_id])

    def finish(self):
        return self.utf8.decode(b"", final=True)


@wrong("StreamDecoder", "finish returns U+FFFD")
class IncrementalIgnoring(_Incremental):
    errors = "ignore"


@wrong("StreamDecoder", "it stops with UnicodeDecodeError")
class IncrementalStrict(_Incremental):
    errors = "strict"


@wrong("StreamDecoder", "finish returns U+FFFD")
class FinishForgetsTheRest(_Incremental):
    def finish(self):
        return ""


@wrong("StreamDecoder", "finish returns U+FFFD")
class FinishForgetsReturn(_Incremental):
    def finish(self):
        self.utf8.decode(b"", final=True)


@wrong("StreamDecoder", "push returned nothing")
class PushPrints(_Incremental):
    def push(self, token_id):
        print(self.utf8.decode(self.vocab[token_id]), end="", flush=True)


@wrong("StreamDecoder", "a whole character is returned at once, not held back")
class OneTokenBehind(_Incremental):
    held = ""

    def push(self, token_id):
        ready, self.held = self.held, self.utf8.decode(self.vocab[token_id])
        return ready

    def finish(self):
        return self.held + self.utf8.decode(b"", final=True)


@wrong("StreamDecoder", "a whole character is returned at once, not held back")
class EverythingAtTheEnd:
    def __init__(self, vocab):
        self.vocab, self.data = vocab, b""

    def push(self, token_id):
        self.data += self.vocab[token_id]
        return ""

    def finish(self):
        return self.data.decode("utf-8", errors="replace")


@wrong("StreamDecoder", "not all of the text so far")
class AllSoFar:
    def __init__(self, vocab):
        self.vocab, self.data = vocab, b""

    def push(self, token_id):
        self.data += self.vocab[token_id]
        return self.data.decode("utf-8", errors="ignore")

    def finish(self):
        return ""


@wrong("StreamDecoder", "what comes before a split character need not wait")
class HoldsTheWholeToken:
    def __init__(self, vocab):
        self.vocab, self.data = vocab, b""

    def push(self, token_id):
        self.data += self.vocab[token_id]
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError:
            return ""
        self.data = b""
        return text

    def finish(self):
        return self.data.decode("utf-8", errors="replace")


@wrong("StreamDecoder", "a byte that can never become a character")
class StuckAtABadByte:
    def __init__(self, vocab):
        self.vocab, self.data = vocab, b""

    def push(self, token_id):
        self.data += self.vocab[token_id]
        try:
            text, self.data = self.data.decode("utf-8"), b""
        except UnicodeDecodeError as error:
            text = self.data[: error.start].decode("utf-8")
            self.data = self.data[error.start :]
        return text

    def finish(self):
        return self.data.decode("utf-8", errors="replace")


@wrong("StreamDecoder", "a byte that can never become a character")
class WaitsForFourBytes:
    def __init__(self, vocab):
        self.vocab, self.data = vocab, b""

    def push(self, token_id):
        self.data += self.vocab[token_id]
        for held in range(4):
            cut = len(self.data) - held
            try:
                text = self.data[: max(cut, 0)].decode("utf-8")
            except UnicodeDecodeError:
                continue
            self.data = self.data[max(cut, 0) :]
            return text
        text, self.data = self.data.decode("utf-8", errors="replace"), b""
        return text

    def finish(self):
        return self.data.decode("utf-8", errors="replace")


@wrong("StreamDecoder", "what it keeps belongs to self")
class OneDecoderForAll:
    utf8 = codecs.getincrementaldecoder("utf-8")(errors="replace")

    def __init__(self, vocab):
        self.vocab = vocab

    def push(self, token_id):
        return self.utf8.decode(self.vocab[token_id])

    def finish(self):
        return self.utf8.decode(b"", final=True)


@wrong("StreamDecoder", "what it keeps belongs to self")
class OneBufferForAll:
    def __init__(self, vocab, held=[]):  # noqa: B006 (the mistake)
        self.vocab, self.held = vocab, held

    def push(self, token_id):
        decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        text = decoder.decode(b"".join(self.held) + self.vocab[token_id])
        self.held[:] = [decoder.getstate()[0]]
        return text

    def finish(self):
        return b"".join(self.held).decode("utf-8", errors="replace")


@wrong("StreamDecoder", "a token of two bytes can be a whole character")
class ByteByByte:
    def __init__(self, vocab):
        self.vocab = vocab

    def push(self, token_id):
        return "".join(chr(byte) for byte in self.vocab[token_id])

    def finish(self):
        return ""


@wrong("StreamDecoder", "a whole character is returned at once")
class DecoderHardCoded:
    def __init__(self, vocab):
        pass

    def push(self, token_id):
        return "he"

    def finish(self):
        return ""


@wrong("StreamDecoder", "loop that never ends", seconds=0.3)
class DecoderWithoutEnd(_Incremental):
    def push(self, token_id):
        text = ""
        while not text.isprintable() or not text:
            text = self.utf8.decode(b"")
        return text


@right("StreamDecoder")
class FromTheState:
    def __init__(self, vocab):
        self.vocab, self.rest = vocab, b""

    def push(self, token_id):
        text, used = codecs.utf_8_decode(self.rest + self.vocab[token_id], "replace", False)
        self.rest = (self.rest + self.vocab[token_id])[used:]
        return text

    def finish(self):
        text, self.rest = self.rest.decode("utf-8", "replace"), b""
        return text


@right("StreamDecoder")
class ByTheReason:
    def __init__(self, vocab):
        self.vocab = [bytes(piece) for piece in vocab]
        self.rest = b""

    def push(self, token_id):
        self.rest += self.vocab[token_id]
        text = ""
        while self.rest:
            try:
                text, self.rest = text + self.rest.decode("utf-8"), b""
            except UnicodeDecodeError as error:
                text += self.rest[: error.start].decode("utf-8")
                if error.reason == "unexpected end of data":
                    self.rest = self.rest[error.start :]
                    break
                text += "\ufffd"
                self.rest = self.rest[error.end :]
        return text

    def finish(self):
        return "\ufffd" if self.rest else ""


@right("StreamDecoder")
class AllAgainEachTime:
    """Slow, but right: decode everything so far, and return what was not returned yet."""

    def __init__(self, vocab):
        self.vocab, self.data, self.returned = vocab, b"", 0

    def push(self, token_id):
        self.data += self.vocab[token_id]
        text = codecs.getincrementaldecoder("utf-8")(errors="replace").decode(self.data)
        new, self.returned = text[self.returned :], len(text)
        return new

    def finish(self):
        return self.data.decode("utf-8", errors="replace")[self.returned :]
