"""How much does a model of the stories understand? Five kinds of questions with a right and a wrong answer.

    python data/probe_tinytales.py --model tinytales --model tinytales-draft

Each item is the beginning of a story and two continuations; a model is right where it finds the right one more likely.
The stories come from seeds and combinations that training never sees. Every pair of answers occurs as often one way
round as the other, so a model that looks only at the answers, and not at the story, is right exactly half of the time.
The kinds:

    agreement   he or she, was or were, it or them, a or an
    holder      who has the thing, after one hand-over or several
    count       how many are left
    reference   a colour or a place that was told much earlier
    cause       how somebody feels, who gets well, what a friend says, after what has happened
"""

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from random import Random

import torch
from stories import is_held_out, tell, words
from stories.tale import Person, Tale

import llmlite
from llmlite import LLM

SEED = "probe"
HE = [*words.BOYS, *words.HE_ANIMALS]
SHE = [*words.GIRLS, *words.SHE_ANIMALS]
GENDER = {
    **dict.fromkeys(HE, "He"),
    **dict.fromkeys(SHE, "She"),
    **{name.removeprefix("the "): he.capitalize() for name, he in {**words.ELDERS, **words.WORKERS}.items()},
}
NAMED = re.compile(rf"\b(?:{'|'.join(GENDER)})\b")
NUMBER = "|".join(words.NUMBERS[2:])
COLOR = "|".join(color for color in words.COLORS if color != "orange")  # after a swap, a has to stay a


THINGS = "|".join([*words.TOYS, *words.PAIRS, "butterfly"])


@dataclass(frozen=True)
class Item:
    kind: str
    context: str
    right: str
    wrong: str


Cut = tuple[str, str]
"""A story up to some point, and how it goes on. A space between the two belongs to what follows, as it does in a token."""


def before(text: str, at: int, answer: str) -> Cut:
    """Cut a story where an answer begins."""
    context = text[:at].removesuffix(" ")
    return context, " " * (at - len(context)) + answer


# -- stories that training never sees ----------------------------------------------------------------------------------


def swap(text: str, one: str, other: str) -> str:
    """Exchange two words or phrases everywhere."""
    exchange = {one: other, other: one}
    return re.sub(rf"\b({one}|{other})\b", lambda found: exchange[found[0]], text)


def recast(tale: Tale, rng: Random, keys: str) -> str | None:
    """The story with new names for the hero and others (by their keys), so that it is held out whoever of them is the hero.

    None where there are too few such names, or where the others are not like the hero.
    """
    people = [tale.person(key) for key in keys]
    taken = {one.name for one in tale.people()}
    pool = next(names for names in (words.BOYS, words.GIRLS, words.HE_ANIMALS, words.SHE_ANIMALS) if people[0].name in names)
    fresh = [name for name in pool if name not in taken and is_held_out(f"{tale.plot}/{name}/{tale.topic}")]
    if len(fresh) < len(people) or not all(alike(people[0], other) for other in people[1:]):
        return None
    text = tale.text
    for person, name in zip(people, rng.sample(fresh, len(people))):
        text = re.sub(rf"\b{person.name}\b", name, text)
        person.name = name
    return text


def alike(one: Person, other: Person) -> bool:
    """Two girls or two boys: their names can be exchanged."""
    return one.kind == other.kind in ("girl", "boy")


def told(plot: str, keys: str = "a") -> Iterator[tuple[Tale, str]]:
    """Held-out stories of a plot without end, each with its text."""
    index = 0
    while True:
        rng = Random(f"{SEED}:{plot}:{index}")
        index += 1
        tale = tell(rng, plot)
        if text := recast(tale, rng, keys):
            yield tale, text


def in_turn(*plots: str) -> Iterator[tuple[Tale, str]]:
    return (story for together in zip(*map(told, plots)) for story in together)


def cut(text: str, pattern: str) -> Cut | None:
    """Cut a story where the first group of a pattern begins; None where it does not occur."""
    found = re.search(pattern, text)
    return before(text, found.start(1), found[1]) if found else None


# -- balance -----------------------------------------------------------------------------------------------------------


def mirrored(kind: str, context: str, right: str, wrong: str) -> list[Item]:
    """The item, and its twin in which the two answers have changed places in the story, so that the other one is right."""
    one, other = (answer.strip() for answer in (right, wrong))
    if not re.search(rf"\b{one}\b", context):  # the answer begins a sentence, in the story it does not
        one, other = one.lower(), other.lower()
    return [Item(kind, context, right, wrong), Item(kind, swap(context, one, other), wrong, right)]


def paired(kind: str, cuts: Iterator[Cut], n: int, fits: Callable[[Cut, str], bool] = lambda place, wrong: True) -> list[Item]:
    """Join cuts two by two, to at least n items: what is right for one is wrong for the other, and fits there."""
    waiting: list[Cut] = []
    items: list[Item] = []
    for one in cuts:
        other = next((w for w in waiting if w[1] != one[1] and fits(one, w[1]) and fits(w, one[1])), None)
        if other is None:
            waiting.append(one)
            continue
        waiting.remove(other)
        items += [Item(kind, one[0], one[1], other[1]), Item(kind, other[0], other[1], one[1])]
        if len(items) >= n:
            break
    return items


def found_in(pattern: str, *plots: str) -> Iterator[Cut]:
    """Cut the stories of some plots, in turn, at a pattern."""
    for _, text in in_turn(*plots):
        if place := cut(text, pattern):
            yield place


# -- the kinds ---------------------------------------------------------------------------------------------------------


def agreement(n: int) -> list[Item]:
    def one_gender(place: Cut) -> bool:
        return len({GENDER[name] for name in NAMED.findall(place[0])}) == 1

    def other_article(place: Cut, wrong: str) -> bool:
        return place[0].endswith(" an") == (wrong != " orange")

    he = filter(one_gender, found_in(r'[.!"] (He|She) (?!and)', "fear", "learning", "rescue", "mistake", "lost_in_wood"))
    was = found_in(rf"\b[Tt]he (?:\w+ )?(?:{THINGS}) (was|were)\b", "lost_and_found", "passed_along", "swap", "race")
    it = found_in(r"(?:has|have|with|for|wanted) (it|them)\b", "passed_along", "promise")
    plots = ("lost_and_found", "promise", "swap", "newcomer")
    articles = zip(found_in(r"\ban (orange)\b", *plots), found_in(rf"\ba ({COLOR}) (?:{THINGS})\b", *plots))
    return [
        *paired("agreement", he, n // 4),
        *paired("agreement", was, n // 4),
        *paired("agreement", it, n // 4),
        *paired("agreement", (place for both in articles for place in both), n // 4, other_article),
    ]


def holder(n: int) -> list[Item]:
    def after(plot: str, keys: str) -> Iterator[Item]:
        """Two who are alike have had the thing; the question is answered with one of them."""
        for tale, text in told(plot, keys if "a" in keys else "a"):
            place = cut(text, r'"Who has [^"]*\?" [^"]*\. "(\w+) has ')
            if place and set(keys) <= set(tale.cast) and alike(*(tale.person(key) for key in keys)):
                one, other = (tale.person(key).name for key in keys)
                if place[1] in (one, other):
                    yield from mirrored("holder", *place, other if place[1] == one else one)

    return [*islice(after("swap", "ab"), n // 2), *islice(after("passed_along", "bc"), n // 2)]


def count(n: int) -> list[Item]:
    def possible(place: Cut, wrong: str) -> bool:
        """A number that a reader who cannot subtract might believe: no more than there were."""
        numbers = [words.NUMBERS.index(word) for word in re.findall(rf"\b({NUMBER})\b", place[0])]
        return words.NUMBERS.index(wrong.strip()) <= max(numbers, default=0)

    return paired("count", found_in(rf"\b({NUMBER}) \w+ left\b", "counting", "market"), n, possible)


def reference(n: int) -> list[Item]:
    asked = r'[^"]*\?" (?:[^"]*\. )?'

    def colors() -> Iterator[Item]:
        for _, text in in_turn("swap", "passed_along", "lost_and_found"):
            if place := cut(text, rf'"What color (?:was|were) your {asked}"((?i:{COLOR})),"'):
                others = [color.capitalize() for color in re.findall(rf"\b({COLOR}) (?:{THINGS})\b", place[0])]
                if other := next((color for color in others if color != place[1]), None):
                    yield from mirrored("reference", *place, other)

    def spots() -> Iterator[Item]:
        for tale, text in told("key_and_box"):
            place, other = cut(text, rf'"Where was the key{asked}"([^",]+),"'), str(tale.cast["s2"])
            if place and other in place[0]:
                yield from mirrored("reference", *place, other.capitalize())

    def new(place: Cut, wrong: str) -> bool:
        return wrong.split()[0] == place[1].split()[0] and wrong.split()[-1] not in place[0]

    plots = ("quarrel", "counting", "storm", "sharing", "swap")
    places = found_in(rf'"Where did you meet \w+{asked}"(\w+ the \w+),"', *plots)
    return [*islice(colors(), n // 3), *islice(spots(), n // 3), *paired("reference", places, n // 3, new)]


def cause(n: int) -> list[Item]:
    def moods(plot: str, bad: str, good: str) -> Iterator[Item]:
        for _, text in told(plot):
            first, last = (cut(text, rf"\b(?:was|felt|made \w+)(?: very| so)? ({mood})\.") for mood in (bad, good))
            if first and last:
                yield Item("cause", *first, last[1])
                yield Item("cause", *last, first[1])

    def well_again() -> Iterator[Item]:
        for tale, text in told("sick_friend", "ab"):
            place = cut(text, r"(?:After \w+ days|\w+ days later), (\w+) (?:was well|could get)")
            if place and place[1].strip() == tale.person("b").name:
                yield from mirrored("cause", *place, f" {tale.person('a').name}")

    def fell() -> Iterator[Item]:
        for tale, text in told("race"):
            names = [tale.person(key).name for key in "bc"]
            place = cut(text, rf"{tale.person('a').name} stopped to help (\w+) up")
            if place and alike(tale.person("b"), tale.person("c")) and place[1].strip() in names:
                names.remove(place[1].strip())
                yield from mirrored("cause", *place, f" {names[0]}")

    said = found_in(r'("You kept your promise,"|"I was sad, but I forgive you,")', "promise")
    return [
        *islice(moods("lost_and_found", "sad|worried|unhappy", "happy|glad"), n // 4),
        *islice(moods("learning", "sad|angry|tired", "proud|happy"), n // 4),
        *islice(well_again(), n // 6),
        *islice(fell(), n // 6),
        *paired("cause", said, n // 6),
    ]


KINDS = (agreement, holder, count, reference, cause)


def probe(n: int = 240) -> list[Item]:
    """All items, about n of each kind; the same on every machine."""
    return [item for kind in KINDS for item in kind(n)]


# -- the score ---------------------------------------------------------------------------------------------------------


def wilson(right: float, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval for a share of which `right` of n were seen."""
    share = right / n
    middle = share + z * z / (2 * n)
    spread = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - spread) / (1 + z * z / n), (middle + spread) / (1 + z * z / n)


def log_probability(llm: LLM, context: list[int], continuation: list[int]) -> float:
    """The sum over the tokens of a continuation, each given all before it."""
    ids = torch.tensor([context + continuation], device=llm.device)
    with torch.inference_mode():
        scores = llm.model(ids)[0, len(context) - 1 : -1].float().log_softmax(-1)
    return scores.gather(-1, ids[0, len(context) :, None]).sum().item()


def model_score(llm: LLM) -> Callable[[str, str], float]:
    """A function of context and continuation. A story begins after the end of another one, as it did in training."""
    end = llm.tokenizer.control.get("<|endoftext|>")

    def score(context: str, continuation: str) -> float:
        ids = llm.encode(context)
        start = [end] if end is not None and ids[0] != end else []
        return log_probability(llm, start + ids, llm.tokenizer.encode(continuation))

    return score


def accuracy(items: list[Item], score: Callable[[str, str], float]) -> dict[str, tuple[float, int]]:
    """How many items of each kind are answered right, and how many there are; a tie counts half."""
    right: dict[str, float] = defaultdict(float)
    for item in items:
        one, other = score(item.context, item.right), score(item.context, item.wrong)
        right[item.kind] += 0.5 if one == other else float(one > other)
    return {kind: (right[kind], n) for kind, n in Counter(item.kind for item in items).items()}


def main() -> None:
    parser = argparse.ArgumentParser(description="Ask a model of the stories questions with a right and a wrong answer.")
    parser.add_argument("--model", action="append", help="a model's name or folder; may be given more than once")
    parser.add_argument("--show", type=int, default=0, help="print so many items of each kind instead")
    args = parser.parse_args()
    items = probe()
    if args.show:
        for kind in KINDS:
            for item in Random(0).sample([item for item in items if item.kind == kind.__name__], args.show):
                print(f"[{item.kind}] {item.context}\n    right: {item.right.strip()}   wrong: {item.wrong.strip()}\n")
        return
    for name in args.model or ["tinytales"]:
        print(f"{name}\n  {'kind':<12}{'right':>8}   95 % interval      n")
        for kind, (right, n) in accuracy(items, model_score(llmlite.load(name))).items():
            low, high = wilson(right, n)
            print(f"  {kind:<12}{right / n:>8.1%}   {low:.1%} to {high:.1%}{n:>7}")


if __name__ == "__main__":
    main()
