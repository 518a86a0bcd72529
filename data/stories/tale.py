"""The world of one story and the grammar that puts it into words.

A `Tale` holds the state (who is there, who holds what, who feels how) and the sentences so far. Plots change the state and
call `say` with several forms of a sentence; one is drawn and realised. A form is plain text with

    [big|small|]    one of these, drawn at random (choices may be nested)
    {a}             the character bound to a: the name, or he or she where nobody else could be meant
    {a.his}         what the character or thing or place offers under that name (see Person, Thing, Place)

Articles (a, an) and capitals are set at the end, from the finished words.
"""

import random
import re
from dataclasses import dataclass, field

from . import words

CHOICE = re.compile(r"\[([^\[\]]*)\]")
FIELD = re.compile(r"\{(\w+)(?:\.(\w+))?\}")
SENTENCE_END = re.compile(r"[.!?]")
EVERYBODY = re.compile(r"\b[Tt]he(y|ir)\b")
BEFORE_SUBJECT = re.compile(r"(^|[.!?,]\"? |\b(but|so|then|now|first|because|that|when|until|soon|there|last) )$", re.I)
BEFORE_OBJECT = re.compile(r"\b(gave|to|for|with|made|thanked|told|helped|hugged) $")
"""What stands before a character where he, and where him, is the right pronoun."""

PRONOUNS = {
    "he": {"he": "he", "him": "him", "his": "his", "himself": "himself"},
    "she": {"he": "she", "him": "her", "his": "her", "himself": "herself"},
}
VERBS = {
    "said": ("said",),
    "beamed": ("said", "said with a smile", "said happily"),
    "asked": ("asked",),
    "answered": ("answered", "said", "replied"),
    "cried": ("cried", "shouted", "called"),
    "whispered": ("whispered", "said softly", "said quietly"),
}
"""Verbs of speech, by the manner that a form asks for."""


@dataclass(eq=False)
class Person:
    """A child, an animal or a grown-up. `kind` is girl, boy, a kind of animal, or grown-up."""

    name: str
    kind: str
    he: str
    adjectives: str = ""
    home: str = ""

    @property
    def is_animal(self) -> bool:
        return self.kind in words.ANIMALS

    @property
    def description(self) -> str:
        return f"a {self.adjectives} {self.kind}"


@dataclass(eq=False)
class Thing:
    """An object: its noun, one adjective, and what can be done with it."""

    noun: str
    adjective: str
    plural: bool = False
    use: str = ""
    used: str = ""

    def form(self, name: str) -> str:
        one, many = {"was": ("was", "were"), "is": ("is", "are"), "has": ("has", "have"), "it": ("it", "them")}.get(
            name, ("it", "they")
        )
        forms = {
            "full": f"the {self.adjective} {self.noun}",
            "bare": f"{self.adjective} {self.noun}",
            "a": f"some {self.adjective} {self.noun}" if self.plural else f"a {self.adjective} {self.noun}",
            "an": f"some {self.noun}" if self.plural else f"a {self.noun}",
            "noun": self.noun,
            "use": self.use,
            "used": self.used,
            "adjective": self.adjective,
        }
        return forms.get(name, many if self.plural else one)


@dataclass(eq=False)
class Place:
    noun: str
    preposition: str

    def form(self, name: str) -> str:
        return {"at": f"{self.preposition} the {self.noun}", "to": f"to the {self.noun}", "noun": self.noun}[name]


def amount(number: int, noun: str) -> str:
    """one apple, two apples"""
    return f"{words.NUMBERS[number]} {noun if number == 1 else words.PLURALS[noun]}"


def definite(noun: str) -> str:
    """a rope -> the rope, some nails -> the nails, four wheels -> the four wheels"""
    return "the " + noun.removeprefix("a ").removeprefix("some ")


def finish(text: str) -> str:
    """Set capitals at the beginnings of sentences, and an before a vowel."""
    text = re.sub(r"\b([Aa]) (?=[aeiou])(?!one\b|use)", r"\1n ", " ".join(text.split()))
    return re.sub(r'(?:^"?|(?<=[.!?] )"?|(?<=[,?"] )")[a-z]', lambda found: found[0].upper(), text)


@dataclass
class Tale:
    """One story in the making."""

    rng: random.Random
    plot: str = ""
    topic: str = ""
    cast: dict[str, Person | Thing | Place | str] = field(default_factory=dict)
    holder: dict[str, Person] = field(default_factory=dict)
    facts: list[tuple[str, str]] = field(default_factory=list)
    wet: Person | None = None
    sentences: list[str] = field(default_factory=list)
    _now: list[Person] = field(default_factory=list)
    _before: list[Person] = field(default_factory=list)
    _earlier: list[Person] = field(default_factory=list)
    _shown: list[Thing] = field(default_factory=list)
    _left: str = ""

    # -- the text ------------------------------------------------------------------------------------------------------

    @property
    def text(self) -> str:
        return " ".join(self.sentences)

    @property
    def combination(self) -> str:
        """What is told of whom: the plot, its hero and its topic. Some combinations are held out from training."""
        return f"{self.plot}/{self.person('a').name}/{self.topic}"

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def say(self, *forms: str, **more: Person | Thing | Place | str) -> None:
        """Draw one form, put it into words, and add it to the story. `more` are names for this sentence only."""
        form = self.rng.choice(forms)
        while CHOICE.search(form):
            form = CHOICE.sub(lambda found: self.rng.choice(found[1].split("|")), form)
        parts, end = [], 0
        for found in FIELD.finditer(form):
            parts.append(self._literal(form[end : found.start()]))
            self._left = "".join(parts)
            parts.append(self._realise({**self.cast, **more}[found[1]], found[2] or ""))
            end = found.end()
        parts.append(self._literal(form[end:]))
        self.sentences.append(finish("".join(parts)))

    def maybe(self, probability: float, *forms: str, **more: Person | Thing | Place | str) -> None:
        if self.chance(probability):
            self.say(*forms, **more)

    # -- words for what is there ---------------------------------------------------------------------------------------

    def _literal(self, text: str) -> str:
        """Plain text: it may end a sentence, and they and their speak of everybody."""
        if EVERYBODY.search(text):
            self._now.extend(one for one in self.people() if one not in self._now)
        if SENTENCE_END.search(text) and self._now:
            self._earlier, self._before, self._now = self._before, self._now, []
        return text

    def _realise(self, entity: Person | Thing | Place | str, form: str) -> str:
        if isinstance(entity, str):
            return entity
        if isinstance(entity, Place):
            return entity.form(form) if form else f"the {entity.noun}"
        if isinstance(entity, Thing):
            return self._thing(entity, form)
        return self._person(entity, form)

    def _thing(self, thing: Thing, form: str) -> str:
        known = thing in self._shown
        self._shown.append(thing)
        if form:
            return thing.form(form)
        return f"the {thing.noun}" if known and self.chance(0.5) else thing.form("full")

    def _person(self, person: Person, form: str) -> str:
        pronoun = self._pronoun_is_clear(person)
        strict = pronoun and not self._rivals(person, self._now + self._before + self._earlier)
        if person not in self._now:
            self._now.append(person)
        if form in VERBS:
            return self._speech(person, form, strict)
        if form == "":
            return self._mention(person, strict)
        if form in ("he", "him", "himself"):
            return PRONOUNS[person.he][form] if pronoun else person.name
        if form == "his":
            return PRONOUNS[person.he]["his"] if pronoun else f"{person.name}'s"
        if form == "intro":
            return self._introduction(person)
        return {
            "name": person.name,
            "s": f"{person.name}'s",
            "kind": person.kind,
            "home": person.home,
            "named": f"{person.description} named {person.name}",
            "desc": person.description,
        }[form]

    def _mention(self, person: Person, pronoun: bool) -> str:
        if pronoun and self.chance(0.5):
            if BEFORE_SUBJECT.search(self._left):
                return person.he
            if BEFORE_OBJECT.search(self._left):
                return PRONOUNS[person.he]["him"]
        return self._name(person)

    def _rivals(self, person: Person, mentioned: list[Person]) -> bool:
        return any(other is not person and other.he == person.he for other in mentioned)

    def _pronoun_is_clear(self, person: Person) -> bool:
        """Whether he or she can only mean this one: mentioned a moment ago, and nobody else with that pronoun was."""
        if person in self._now:
            return not self._rivals(person, self._now)
        return person in self._before and not self._rivals(person, self._before + self._now + self._earlier)

    def _name(self, person: Person) -> str:
        kinds = [other.kind for other in self.people()]
        if person.is_animal and kinds.count(person.kind) == 1 and self.chance(0.2):
            return f"the {person.kind}"
        return person.name

    def _speech(self, person: Person, manner: str, pronoun: bool) -> str:
        verb = self.rng.choice(VERBS[manner])
        if pronoun and self.chance(0.4):
            return f"{person.he} {verb}"
        verb, _, rest = verb.partition(" ")
        return f"{verb} {person.name} {rest}".strip() if self.chance(0.75) else f"{person.name} {verb} {rest}".strip()

    def _introduction(self, person: Person) -> str:
        if person.is_animal:
            return f"{person.description} named {person.name}"
        if person.kind == "grown-up":
            return person.name
        hero = self.person("a")
        here = [other for other in self._now if other is not person]
        if hero in here and not self._rivals(hero, here) and self.chance(0.5):
            return f"{PRONOUNS[hero.he]['his']} friend {person.name}"
        return f"a {person.kind} named {person.name}"

    # -- who and what is there -----------------------------------------------------------------------------------------

    def people(self) -> list[Person]:
        return [one for one in self.cast.values() if isinstance(one, Person)]

    def person(self, key: str) -> Person:
        found = self.cast[key]
        assert isinstance(found, Person)
        return found

    def thing(self, key: str) -> Thing:
        found = self.cast[key]
        assert isinstance(found, Thing)
        return found

    def place_at(self) -> str:
        """Where the story plays: in the garden."""
        place = self.cast["p"]
        return place.form("at") if isinstance(place, Place) else ""

    def add_person(self, key: str, animal: float = 0.45, other_pronoun_than: str = "") -> Person:
        """Bring a new child or animal into the story: nobody has the name, no two animals are of one kind."""
        taken = [one.name for one in self.people()] + [one.kind for one in self.people() if one.is_animal]
        he = self.rng.choice(("he", "she"))
        if other_pronoun_than:
            he = "he" if self.person(other_pronoun_than).he == "she" else "she"
        if self.chance(animal):
            names = words.HE_ANIMALS if he == "he" else words.SHE_ANIMALS
            kind = self.rng.choice([kind for kind in words.ANIMALS if kind not in taken])
            adjectives = self.rng.choice(words.ANIMALS[kind])
            home = self.rng.choice(words.ANIMAL_HOMES.get(kind, words.WILD_HOMES))
        else:
            names, kind = (words.BOYS, "boy") if he == "he" else (words.GIRLS, "girl")
            adjectives = self.rng.choice(("little", "young", "small", self.rng.choice(words.TRAITS)))
            home = self.rng.choice(words.CHILD_HOMES)
        name = self.rng.choice([name for name in names if name not in taken])
        self.cast[key] = person = Person(name, kind, he, adjectives, home)
        return person

    def add_elder(self, key: str = "e") -> Person:
        name = self.rng.choice(list(words.ELDERS))
        self.cast[key] = person = Person(name, "grown-up", words.ELDERS[name])
        return person

    def add_worker(self, key: str = "w", *names: str) -> Person:
        taken = [one.name for one in self.people()]
        name = self.rng.choice([name for name in names or words.WORKERS if name not in taken])
        self.cast[key] = person = Person(name, "grown-up", words.WORKERS[name])
        return person

    def add_thing(self, key: str, kind: str = "toy") -> Thing:
        """A new object of a kind (toy, pair, treasure, fragile), with an adjective that no other object here has."""
        there = [one for one in self.cast.values() if isinstance(one, Thing)]
        nouns = {"toy": words.TOYS, "pair": words.PAIRS, "treasure": words.TREASURES, "fragile": words.FRAGILE}[kind]
        noun = self.rng.choice([noun for noun in nouns if noun not in [one.noun for one in there]])
        own = nouns[noun] if kind in ("treasure", "fragile") else nouns[noun][0]
        pool = [*words.COLORS, *words.COLORS, *words.SIZES, *own]
        adjective = self.rng.choice([word for word in pool if word not in [one.adjective for one in there]])
        use, used = nouns[noun][1:] if kind in ("toy", "pair") else ("", "")
        self.cast[key] = thing = Thing(noun, adjective, kind == "pair", use, used)
        return thing

    def add_toy(self, key: str) -> Thing:
        return self.add_thing(key, "pair" if self.chance(0.2) else "toy")

    def add_place(self, key: str = "p", *nouns: str) -> Place:
        taken = [one.noun for one in self.cast.values() if isinstance(one, Place)]
        noun = self.rng.choice([noun for noun in nouns or words.PLACES if noun not in taken])
        self.cast[key] = place = Place(noun, words.PLACES[noun])
        return place

    def add_spot(self, key: str) -> str:
        """A spot to hide or find something: outside where the story plays at the place p, otherwise in the house."""
        taken = [one for one in self.cast.values() if isinstance(one, str)]
        spots = words.SPOTS_OUTSIDE if "p" in self.cast else words.SPOTS_INSIDE
        self.cast[key] = spot = self.rng.choice([spot for spot in spots if spot not in taken])
        return spot
