"""The stories that tinytales learns from: the same everywhere, correct English, and true to the world they tell of.

Numbers, holders and pronouns are read again from the text, without the code that wrote it.
"""

import hashlib
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from random import Random

import pytest

DATA = Path(__file__).parent.parent / "data"
sys.path.insert(0, str(DATA))

import make_stories  # noqa: E402
from stories import PLOTS, is_held_out, stories, tales, tell, words  # noqa: E402

NUMBERS = {word: number for number, word in enumerate(words.NUMBERS)}
NUMBER = "|".join(words.NUMBERS)
HE = {*words.BOYS, *words.HE_ANIMALS}
SHE = {*words.GIRLS, *words.SHE_ANIMALS}


@cache
def told(count=2000, held_out=False):
    return list(tales(11, count, held_out=held_out))


@cache
def of_plot(name):
    return [tell(Random(f"test {index}"), name).text for index in range(150)]


def contexts(pattern, texts):
    """Where a pattern occurs, with what stands around it."""
    return [text[max(0, m.start() - 40) : m.end() + 40] for text in texts for m in re.finditer(pattern, text)]


# -- the files ---------------------------------------------------------------------------------------------------------


def test_a_seed_gives_the_same_stories_everywhere():
    digest = hashlib.sha256("\n".join(stories(1, 200)).encode()).hexdigest()
    assert digest == "926df376a52637870f5d51a165988488dbe9e1064e964614a15d3009d99fc37e"


def test_seeds_differ_and_a_longer_run_begins_like_a_shorter_one():
    assert list(stories(1, 20)) == list(stories(1, 40))[:20]
    assert not set(stories(1, 200)) & set(stories(2, 200))


def test_files_hold_whole_stories_each_with_its_end(tmp_path):
    count = make_stories.write(tmp_path / "part.txt", stories(1, 100), limit=20_000)
    text = (tmp_path / "part.txt").read_text(encoding="utf-8")
    assert 15_000 < len(text.encode()) <= 20_000
    assert text.split("\n<|endoftext|>\n") == [*stories(1, count), ""]


# -- what is held out --------------------------------------------------------------------------------------------------


def test_held_out_combinations_never_occur_in_training():
    training, kept = told(5000), told(150, held_out=True)
    assert len({tale.combination for tale in kept}) > 100
    assert not {tale.combination for tale in kept} & {tale.combination for tale in training}
    assert not {tale.text for tale in kept} & {tale.text for tale in training}
    assert all(is_held_out(tale.combination) for tale in kept)


def test_a_combination_is_told_in_the_story():
    for tale in told():
        _, name, topic = tale.combination.split("/")
        assert name in tale.text
        assert topic.split()[-1][:3] in tale.text or tale.plot == "helper", tale.text


def test_about_one_story_in_sixteen_is_held_out():
    names = [f"{plot}/{name}/{noun}" for plot in PLOTS for name in HE | SHE for noun in words.TOYS]
    assert 1 / 18 < sum(map(is_held_out, names)) / len(names) < 1 / 14


# -- variety -----------------------------------------------------------------------------------------------------------


def test_every_plot_is_told_about_equally_often():
    counts = Counter(tale.plot for tale in told())
    assert set(counts) == set(PLOTS) and len(PLOTS) >= 25
    assert min(counts.values()) > len(told()) / len(PLOTS) / 2


def test_openings_vary_and_a_quarter_is_once_upon_a_time():
    openings = Counter(" ".join(tale.text.split()[:3]) for tale in told())
    assert len(openings) >= 60
    once = openings.pop("Once upon a") / len(told())
    assert 0.2 < once < 0.33
    assert max(openings.values()) / len(told()) < 0.1


def test_lengths():
    lengths = sorted(len(tale.text.split()) for tale in told())
    assert lengths[0] >= 50 and lengths[-1] <= 260
    assert lengths[len(lengths) // 10] >= 90 and lengths[-len(lengths) // 10] <= 180


def test_the_vocabulary_suits_a_small_tokenizer():
    vocabulary = {word for tale in told() for word in re.findall(r"[a-z]+", tale.text.lower())}
    assert 900 <= len(vocabulary) <= 1400


def test_no_story_is_told_twice_and_endings_vary():
    texts = [tale.text for tale in told()]
    assert len(set(texts)) == len(texts)
    assert len({text[-60:] for text in texts}) > 500


# -- English -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        r"\b[Aa] (?!one\b|use)[aeiou]",
        r"\b[Aa]n (?:[^aeiou]|one\b|use)",
        r"\b(\w+) \1\b",
        r"\b(?:gave|to|for|with|made|told|helped|of|at|from|thanked|met) (?:he|she|they)\b",
        r"[.!?] [a-z]",
        r"[\[\]{}|]",
        r" [.,!?]",
        r"  ",
        r"[.,!?][.,!?]",
        r"\b(\w+)'s \1\b",
        r"\bone (?:\w+s)\b(?! \w+ed)(?<!one is)(?<!one always)",
        r"\b(?:two|three|four|five|six|seven|eight|nine|ten) (?:" + "|".join(words.PLURALS) + r")\b",
        r"\b(?:boots|mittens|marbles|crayons|skates|blocks) (?:was|is|has)\b",
        r"\ba (?!few)(?:\w+ )?(?:boots|mittens|marbles|crayons|skates|blocks)\b",
        r"^(?:Him|Her|Them)\b",
    ],
)
def test_no_story_says(wrong):
    assert contexts(wrong, [tale.text for tale in told()])[:5] == []


def test_quotes_are_balanced_and_speech_begins_with_a_capital():
    for tale in told():
        pieces = tale.text.split('"')
        assert len(pieces) % 2 == 1, tale.text
        for speech in pieces[1::2]:
            assert speech[0].isupper() and speech[-1] in ".,!?", tale.text
        for outside in pieces[2::2]:
            assert outside == "" or outside[0] == " ", tale.text


def test_stories_end_with_a_full_stop():
    assert all(re.search(r'[.!]"?$', tale.text) for tale in told())


GENDER = {
    **dict.fromkeys(HE, "he"),
    **dict.fromkeys(SHE, "she"),
    **words.ELDERS,
    **{worker.removeprefix("the "): he for worker, he in words.WORKERS.items()},
}


def test_he_and_she_are_who_was_named():
    """Outside speech, he means one who was spoken of at most six short sentences ago, and so does she."""
    names = re.compile(r"\b(?:" + "|".join([*GENDER, *words.ANIMALS]) + r")\b")
    checked = 0
    for tale in told():
        kinds = {one.kind: one.he for one in tale.people() if one.is_animal}
        ago = {"he": 9, "she": 9}
        text = re.sub(r'"[^"]*"', lambda speech: " ".join(names.findall(speech[0])) + ",", tale.text)
        for sentence in re.split(r"(?<=[.!?]) ", text):
            named = {GENDER.get(name) or kinds.get(name) for name in names.findall(sentence)}
            if re.search(r"\bthe(y|ir)\b", sentence, re.I):
                named |= {one.he for one in tale.people()}
            said = {
                he for he, forms in (("he", "he|him|his"), ("she", "she|her")) if re.search(rf"\b({forms})\b", sentence, re.I)
            }
            for he in ago:
                ago[he] = 0 if he in named else ago[he] + 1
                assert he not in said or ago[he] <= 6, (sentence, tale.text)
                if he in said:
                    ago[he], checked = 0, checked + 1
    assert checked > 5000


def test_a_bare_he_or_she_has_one_meaning():
    """A sentence that begins with He or She follows one in which only one of that gender is named."""
    names = re.compile(r"\b(?:" + "|".join([*GENDER, *words.ANIMALS]) + r")\b")
    checked = 0
    for tale in told():
        kinds = {one.kind: one for one in tale.people() if one.is_animal}
        before = set()
        for sentence in re.split(r'(?<=[.!?]") |(?<=[.!?]) ', tale.text):
            if (first := sentence.split()[0].lower()) in ("he", "she") and before:
                assert len({name for name, he in before if he == first}) <= 1, tale.text
                checked += 1
            found = names.findall(sentence)
            before = {(kinds[name].name, kinds[name].he) if name in kinds else (name, GENDER.get(name)) for name in found}
    assert checked > 1000


def test_an_animal_is_introduced_with_its_kind():
    animals = {*words.HE_ANIMALS, *words.SHE_ANIMALS}
    kinds = "|".join(words.ANIMALS)
    for tale in told():
        for name in animals & set(re.findall(r"\w+", tale.text)):
            first = tale.text.index(name)
            around = tale.text[max(0, first - 60) : first + 60]
            assert re.search(rf"\b({kinds}) (named )?{name}|{name}\?? (He |She |{name} )?was an? [\w ]*({kinds})", around), (
                around
            )


# -- the world ---------------------------------------------------------------------------------------------------------


def test_counting_adds_up():
    """had five, gave two: three left; found one more: four."""
    things = "|".join([*words.PLURALS, *words.PLURALS.values()])
    for text in of_plot("counting"):
        have = None
        for sentence in re.split(r'(?<=[.!?])"? ', text):
            numbers = [NUMBERS[word] for word in re.findall(rf"\b({NUMBER}) (?:more|{things})\b", sentence)]
            if not numbers:
                continue
            if have is None:
                (have,) = numbers
            elif re.search(r"left|I have|In the evening|came home with|took the", sentence):
                assert numbers == [have], text
            elif "more" in sentence:
                have += numbers[0]
            elif re.search(r"gave|can have", sentence):
                have -= numbers[0]
            else:
                raise AssertionError((sentence, text))


def test_coins_add_up_at_the_market():
    for text in of_plot("market"):
        have = None
        for number in re.findall(rf"(?<!need )\b({NUMBER}) coins?\b", text):
            amount = NUMBERS[number]
            if have is None:
                have, paid = amount, None
            elif paid is None:
                paid = amount
            elif amount == have - paid:
                have, paid = amount, None
            else:
                assert paid is not None and amount == have, text


def test_who_has_it_is_answered_by_the_one_who_got_it_last():
    """Follow every hand-over in the text; the question asked afterwards must be answered with its last receiver."""
    checked = 0
    for text in of_plot("passed_along"):
        kinds = {kind: name for kind, name in re.findall(r"(\w+) named (\w+)", text) if kind in words.ANIMALS}
        question = re.search(r'"Who has [^"]*\?" [^.]*\. "([^"]*)," (.*?)\.', text)
        answer, tag = question.groups()
        holder = re.match(r"(\w+) (?:has|have)", answer).group(1)
        if holder == "I":
            who = re.findall(r"[A-Z]\w+", tag)
            if not who:
                continue
            holder = who[0]
        giving = r"[^.\"]*\b(?:gave|handed|passed|took|got|put)\b[^.\"]*\."
        last = re.findall(giving, text[: question.start()])[-1]
        receiver = receiver_of(last, kinds)
        if receiver:
            assert receiver == holder, (last, text)
            checked += 1
    assert checked > 40


def receiver_of(sentence, kinds):
    """The one who has the thing after a sentence such as: Tom gave the ball to Lily. Lily took the ball from Tom."""
    for kind, name in kinds.items():
        sentence = re.sub(rf"\b[Tt]he {kind}\b", name, sentence)
    if found := re.search(r"(\w+) (?:took|got) [\w ]+ from", sentence):
        name = found[1]
    elif found := re.search(r" to (\w+)\.|into (\w+)'s|gave (?!the )(\w+) the", sentence):
        name = next(group for group in found.groups() if group)
    else:
        return None
    return name if name in HE | SHE else None


def test_the_swapped_things_are_with_the_other_one_at_the_end():
    """What a story says at its end of who has what agrees with the last answer or hand-over of each thing."""
    checked = 0
    for text in of_plot("swap"):
        end = re.search(r"So now .*?\.|In the evening, [\w ]+ had .*?\.|At the end of the day, the .*?\.", text)
        holders = dict(re.findall(r"the ([\w ]+?) (?:was|were) with (\w+)", end[0]))
        holders |= {thing: name for name, thing in re.findall(r"(\w+) had the ([\w ]+?)(?:,|\.| and)", end[0])}
        answers = dict(
            re.findall(r'"Who has the ([\w ]+?)(?: now|, please)?\?" [^.]*\. "(\w+) ha(?:s|ve) ', text[: end.start()])
        )
        for thing, name in answers.items():
            if name != "I" and holders.get(thing) in HE | SHE:
                assert holders[thing] == name, text
                checked += 1
    assert checked > 30


def test_what_is_asked_in_the_evening_was_told_before():
    checked = 0
    for tale in told():
        for thing, color in re.findall(r'"What color (?:was|were) (?:your|the) (\w+)\?" .*?"(\w+),"', tale.text):
            assert f"{color.lower()} {thing}" in tale.text, tale.text
            checked += 1
        for place in re.findall(r'"Where did you meet \w+\?" .*?"(\w+ the \w+),"', tale.text):
            assert tale.text.count(place.split()[-1]) >= 2, tale.text
            checked += 1
    assert checked > 80
