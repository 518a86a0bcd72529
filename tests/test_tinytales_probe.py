"""The probe of tinytales: an oracle is always right; a coin, and whoever reads only the answers, half of the time."""

import hashlib
import re
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pytest
import torch
from helpers import random_model, tiny_config
from torch.nn import functional as F

from llmlite import LLM
from llmlite.tokenizer import Tokenizer

sys.path.insert(0, str(Path(__file__).parent.parent / "data"))

import probe_tinytales
from stories import tales


@pytest.fixture(scope="module")
def items():
    return probe_tinytales.probe(48)


def score_by(name):
    """A score that is drawn from the answer alone: the same text always gets the same."""
    return lambda context, answer: int.from_bytes(hashlib.sha256(f"{name}{answer}".encode()).digest()[:6], "big")


def test_every_kind_has_its_items(items):
    counts = Counter(item.kind for item in items)
    assert list(counts) == ["agreement", "holder", "count", "reference", "cause"]
    assert min(counts.values()) >= 48


def test_whoever_reads_only_the_answers_is_right_half_of_the_time(items):
    for name in range(3):
        for right, n in probe_tinytales.accuracy(items, score_by(name)).values():
            assert right == n / 2


def test_oracle_and_coin(items):
    truth = {(item.context, item.right) for item in items}
    oracle = probe_tinytales.accuracy(items, lambda context, answer: (context, answer) in truth)
    assert all(right == n for right, n in oracle.values())
    rng = Random(0)
    coin = probe_tinytales.accuracy(items * 20, lambda context, answer: rng.random())
    assert all(0.45 < right / n < 0.55 for right, n in coin.values())
    tie = probe_tinytales.accuracy(items, lambda context, answer: 0.0)
    assert all(right == n / 2 for right, n in tie.values())


def test_no_context_is_a_part_of_a_training_story(items):
    training = [tale.text for tale in tales(1, 3000)]
    beginnings = {text[:200] for text in training}
    assert not any(item.context[:200] in beginnings for item in items if len(item.context) >= 200)


def test_contexts_end_where_a_token_ends(items):
    for item in items:
        assert not item.context.endswith(" ")
        assert item.right[0] == item.wrong[0] == " " or item.context.endswith('"')
        assert item.right != item.wrong


def test_agreement_is_right(items):
    for item in items:
        last = item.context.split()[-2:]
        if item.kind == "agreement" and item.right.strip() in ("was", "were"):
            plural = last[-1] in ("boots", "mittens", "marbles", "crayons", "skates", "blocks")
            assert (item.right == " were") == plural
        elif item.kind == "agreement" and last[-1] in ("a", "an"):
            assert (last[-1] == "an") == (item.right == " orange")


def test_counts_are_what_is_left(items):
    """The answer follows by subtraction from the last number that was known and what was given or paid since."""
    numbers = {word: n for n, word in enumerate(probe_tinytales.words.NUMBERS)}
    for item in (item for item in items if item.kind == "count"):
        things = "|".join([*probe_tinytales.words.PLURALS, *probe_tinytales.words.PLURALS.values()])
        told = [numbers[word] for word in re.findall(rf"\b({'|'.join(numbers)}) (?:{things})\b", item.context)]
        assert told[-2] - told[-1] == numbers[item.right.strip()], item


def test_wilson_interval():
    low, high = probe_tinytales.wilson(50, 100)
    assert low == pytest.approx(0.4038, abs=1e-4) and high == pytest.approx(0.5962, abs=1e-4)
    assert probe_tinytales.wilson(100, 100)[0] > 0.96


def test_a_model_is_scored_by_the_sum_over_the_tokens_of_the_answer():
    tokenizer = Tokenizer.from_merges([(104, 101)], control=["<|endoftext|>"])
    llm = LLM(random_model(tiny_config(vocab_size=len(tokenizer))), tokenizer)
    score = probe_tinytales.model_score(llm)
    ids = [tokenizer.control["<|endoftext|>"], *tokenizer.encode("Tom had a"), *tokenizer.encode(" hen")]
    logits = llm.model(torch.tensor([ids]))[0]
    answer = len(tokenizer.encode(" hen"))
    expected = -F.cross_entropy(logits[-answer - 1 : -1], torch.tensor(ids[-answer:]), reduction="sum")
    assert score("Tom had a", " hen") == pytest.approx(expected.item(), abs=1e-4)
