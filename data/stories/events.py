"""Events that many plots share: openings, meetings, hand-overs, questions, small adventures on the way, endings.

An event changes the state of the world and says so. The names of its arguments are keys of the tale's cast.
"""

from . import words
from .tale import Person, Tale, Thing

END_OF_DAY = (
    "It had been a [good|long|wonderful|lovely] day.",
    "And they were [good friends|the best of friends] from that day on.",
    "That night everyone slept well.",
    "They never forgot that day.",
)


def opening(t: Tale, place: bool = True) -> None:
    """Introduce the hero a, and with `place` also bring the hero to the place p."""
    if place and "p" not in t.cast:
        t.add_place()
    if t.chance(0.27):
        t.say("Once upon a time, there was {a.named}.", "Once upon a time, there was {a.named} who lived {a.home}.")
        like(t, 0.6)
        if place:
            arrive(t)
        return
    if place:
        t.say(
            "One day, {a.named} was [playing|sitting|resting] {p.at}.",
            "One [sunny|quiet|bright|windy] [morning|afternoon], {a.named} [went|walked|ran] {p.to}.",
            "Every morning, {a.named} [went|walked] {p.to}.",
            "[It was a warm day|The sun was shining|It was a fine morning], and {a.named} was {p.at}.",
            "This is a story about {a.named}. One day, {a} [went|walked] {p.to}.",
            '"What a [lovely|beautiful|fine] day!" said {a.named}. {a} was {p.at}.',
            "In a [small|quiet|little] village, there lived {a.named}. One [day|morning], {a} [went|walked] {p.to}.",
            "Early one morning, {a.named} woke up and [went|ran] {p.to}.",
        )
        like(t, 0.35)
        return
    t.say(
        "In a [small|quiet|little|faraway] [village|town], there lived {a.named}.",
        "There once was {a.named} who lived {a.home}.",
        "Long ago, {a.named} lived {a.home}.",
        "Far away, behind the blue hills, there lived {a.named}.",
        "This is the story of {a.named}.",
        "{a.name} was {a.desc} who lived {a.home}.",
        "One [quiet|cold|gray] [day|morning], {a.named} was at home.",
        "Do you know {a.name}? {a.he} was {a.desc} who lived {a.home}.",
    )
    like(t, 0.5)


def like(t: Tale, probability: float) -> None:
    first, second = t.rng.sample(words.LIKES, 2)
    t.maybe(
        probability,
        "{a} liked to {first}.",
        "{a} [loved|liked] to {first} and to {second}.",
        "More than anything, {a} liked to {first}.",
        "{a} liked to {first} [all day long|every day|when the sun was shining].",
        first=first,
        second=second,
    )


def arrive(t: Tale) -> None:
    """The hero comes to the place p."""
    t.say(
        "One [day|morning|afternoon], {a} [went|walked|ran] {p.to}.",
        "On a [sunny|cold|windy|warm] day, {a} was {p.at}.",
        "One [day|afternoon], {a} was [playing|sitting|resting] {p.at}.",
        "One [morning|evening], {a} took a walk {p.to}.",
    )


def meet(t: Tale, key: str = "b") -> None:
    """The hero meets somebody who has not been introduced."""
    t.say(
        "There {a} met {b.intro}.",
        "[Soon|After a while|A little later], {a} met {b.intro}.",
        "On the way, {a} [saw|met] {b.intro}.",
        "Just then, {b.intro} came along.",
        "{a} looked up and saw {b.intro}.",
        b=t.person(key),
    )
    if "p" in t.cast and key == "b" and t.chance(0.5):
        t.facts.append((f"Where did you meet {t.person(key).name}?", t.place_at()))
    if t.chance(0.3):
        t.say(
            '"[Hello|Good morning|Good day], {b.name}!" {a.beamed}.',
            '"[Hello|Good morning], {a.name}!" {b.beamed}.',
            "They [smiled at|greeted] each other.",
            b=t.person(key),
        )


def own(t: Tale, owner: str, thing: str) -> None:
    """Tell who has the thing at first, and perhaps where it came from."""
    t.holder[t.thing(thing).noun] = t.person(owner)
    color_of(t, owner, thing)
    name = t.rng.choice([name for name in words.ELDERS if name not in [one.name for one in t.people()]])
    t.say(
        "{o} had {x.a}.",
        "{o} had {x.a} from {giver}.",
        "{giver} had given {o.him} {x.a}.",
        "{o} owned {x.a} and liked to {x.use}.",
        "{o} had {x.a}. {o} [often|always|sometimes] {x.used}.",
        o=t.person(owner),
        x=t.thing(thing),
        giver=Person(name, "grown-up", words.ELDERS[name]),
    )


def color_of(t: Tale, owner: str, thing: str) -> None:
    """Remember the colour of a thing as something that can be asked later."""
    x, one = t.thing(thing), t.person(owner)
    if x.adjective in words.COLORS:
        whose = "your" if one is t.person("a") else f"{one.name}'s"
        t.facts.append((f"What color {x.form('was')} {whose} {x.noun}?", x.adjective))


def hand(t: Tale, giver: str, taker: str, thing: str) -> None:
    """One gives the thing to another, who has it from then on."""
    one, other, x = t.person(giver), t.person(taker), t.thing(thing)
    assert t.holder[x.noun] is one, f"{one.name} does not have the {x.noun}"
    t.holder[x.noun] = other
    t.say(
        "{g} gave {x} to {r}.",
        "{g} [handed|passed] {x} to {r}.",
        "So {g} gave {x} to {r}.",
        '"Here, {r.name}," {g.said}, and gave {x} to {r.him}.',
        '"Here you are," {g.said}, and gave {r} {x}.',
        "{r} [took|got] {x} from {g}.",
        "Then {g} put {x} into {r.his} [arms|hands]." if not (one.is_animal or other.is_animal) else "{g} gave {r} {x}.",
        g=one,
        r=other,
        x=x,
    )


def ask_holder(t: Tale, asker: str, thing: str) -> None:
    """A question whose answer the state knows: who has the thing now? Somebody present answers."""
    x, one = t.thing(thing), t.person(asker)
    holder = t.holder[x.noun]
    assert holder is not one, "nobody asks for what they hold"
    more: dict[str, Person | Thing] = {"q": one, "h": holder, "x": x}
    t.say(
        '"Who has {x.full}?" {q.asked}.',
        '"Who has {x.full}, please?" {q.asked}.',
        '"Who has {x.full} now?" {q.asked}.',
        **more,
    )
    others = [other for other in t.people() if other not in (one, holder) and other.kind != "grown-up"]
    if others and t.chance(0.6):
        t.say('"{h.name} has {x.it}," {r.answered}.', r=t.rng.choice(others), **more)
    else:
        t.say('"I have {x.it}," {h.answered}.', '"I have {x.it} here," {h.answered}.', **more)


def thank(t: Tale, who: str, whom: str) -> None:
    t.say(
        '"Thank you, {r.name}," {g.beamed}.',
        '"Thank you[ so much| very much|]!" {g.beamed}.',
        "{g} thanked {r}.",
        "{g} [hugged|thanked] {r} and smiled.",
        '"You are [so kind|very kind|a good friend], {r.name}," {g.said}.',
        g=t.person(who),
        r=t.person(whom),
    )
    t.maybe(
        0.3,
        '"You are welcome," {r.answered}.',
        '"That is what friends are for," {r.answered}.',
        r=t.person(whom),
    )


def feel(t: Tale, who: str, mood: str) -> None:
    """happy, sad, proud, tired, afraid, ..."""
    t.say(
        "{g} was [very |so |]{mood}.",
        "{g} felt [very |]{mood}.",
        "This made {g} [very |]{mood}.",
        "Now {g} was {mood}.",
        g=t.person(who),
        mood=mood,
    )


def on_the_way(t: Tale, probability: float = 0.35, rain: bool = True) -> None:
    """A small adventure beside the plot; what it changes is remembered until the end."""
    if not t.chance(probability):
        return
    if rain and t.wet is None and t.chance(0.3):
        t.wet = t.person("a")
        t.say(
            "[Suddenly|Just then|On the way], it began to rain, and {a} got wet.",
            "Dark clouds came, and it rained. {a} got [all |]wet.",
            "{a} stepped into a puddle and got [all |very |]wet.",
        )
        t.maybe(0.5, "But {a} did not [mind|care].", '"It is only water," {a.said}.', "{a} went on all the same.")
        return
    if t.chance(0.3):
        food = t.rng.choice(list(words.FOODS))
        t.say("{a} was hungry, so {a.he} stopped and ate a {food}.", "{a} had a {food} and ate it on the way.", food=food)
        t.facts.append(("What did you eat on the way?", f"a {food}"))
        return
    if t.chance(0.4):
        seen, number = t.rng.choice(("birds", "ducks", "sheep", "cows", "boats")), words.NUMBERS[t.rng.randint(2, 9)]
        where = "on the water" if seen in ("ducks", "boats") else "in the sky" if seen == "birds" else "in a field"
        t.say(
            "{a} [saw|counted] {number} {seen} {where}.",
            "There were {number} {seen} {where}, and {a} [counted|watched] them.",
            number=number,
            seen=seen,
            where=where,
        )
        t.facts.append((f"How many {seen} did you see?", number))
        return
    color = t.rng.choice(words.COLORS[:9])
    if t.chance(0.4):
        t.say("A {color} butterfly flew by, and {a} [waved at it|watched it].", "{a} saw a {color} butterfly.", color=color)
        t.facts.append(("What color was the butterfly?", color))
        return
    t.say(
        "A bird sang in a tree, and {a} [stopped to listen|listened].",
        "The wind blew, and the leaves [danced|fell] around {a}.",
        "{a} [jumped over a puddle|walked over a little bridge|hummed a song] on the way.",
        "{a} fell over a stone, but {a.he} got up again.",
    )


def remember(t: Tale) -> None:
    """In the evening somebody asks the hero about the day, and the answer is what was told before."""
    if not t.facts or t.text.count(" ") > 170 or not t.chance(0.6):
        return
    if "e" not in t.cast or t.person("e").name not in words.ELDERS:
        t.add_elder("e")
    question, answer = t.rng.choice(t.facts)
    t.say(
        'In the evening, {e} asked about the day. "{question}" {e.asked}. "{answer}," {a.answered}.',
        '"{question}" {e.asked} [in the evening|at dinner|later]. "{answer}," {a.answered}.',
        'At home, {e} asked, "{question}" "{answer}," {a.answered}.',
        question=question,
        answer=answer,
    )
    if t.chance(0.3):
        t.say('"What a day!" {e.said}.', '"I am glad that you had [such |]a good day," {e.said}.', "{e} smiled.")


def ending(t: Tale, *morals: str, one_day: bool = False) -> None:
    """Close the story: dry who is wet, then a sentence that fits the plot, or where it took one day, any day."""
    if t.wet is not None:
        t.say(
            "At home, {g} sat by the fire until {g.he} was dry [again|and warm].",
            "Later {g} got dry and warm by the fire.",
            "{g} was still wet, so {g.he} sat in the sun until {g.he} was dry.",
            g=t.wet,
        )
    if one_day:
        remember(t)
    if one_day and t.chance(0.3):
        t.maybe(0.6, *END_OF_DAY)
    else:
        t.maybe(0.9, *morals)
    t.maybe(0.12, "The end.", "And that is the end of the story.")
