"""Plots in which something changes hands, gets lost, is counted, breaks or is built."""

from . import words
from .events import ask_holder, ending, feel, hand, meet, on_the_way, opening, own, thank
from .tale import Tale, amount, definite


def lost_and_found(t: Tale) -> None:
    opening(t)
    x = t.add_toy("x")
    t.topic = x.noun
    own(t, "a", "x")
    t.say(
        "But {x.they} {x.was} gone!",
        "Then {a} saw that {x.they} {x.was} gone.",
        "But that day, {a} could not find {x.it}.",
        '"Oh no! {x.full} {x.is} gone!" {a.cried}.',
    )
    feel(t, "a", t.rng.choice(("sad", "worried", "unhappy")))
    wrong, other, right = (t.add_spot(key) for key in ("s1", "s2", "s3"))
    t.say(
        "{a} looked {wrong}, but {x.they} {x.was} not there.",
        "First {a} looked {wrong}. No, {x.they} {x.was} not there.",
        "{a} looked {wrong} and {other}, but {a.he} found nothing.",
        wrong=wrong,
        other=other,
    )
    on_the_way(t, 0.25)
    t.add_person("b")
    meet(t)
    t.say(
        '"Why are you [so |]sad, {a.name}?" {b.asked}. "I lost my {x.bare}," {a.answered}.',
        '"Have you seen my {x.bare}?" {a.asked}.',
        '"What are you looking for?" {b.asked}. "My {x.bare}," {a.answered}.',
    )
    t.say(
        '"Let us look together," {b.said}.',
        '"I will help you," {b.said}.',
        '"Did you look {right}?" {b.asked}.',
        "{b} wanted to help.",
        right=right,
    )
    finder = t.person(t.rng.choice("ab"))
    t.say(
        "They looked {right}, and there {x.they} {x.was}!",
        "At last, {f} found {x} {right}.",
        "Then {f} looked {right}. There {x.was} {x}!",
        f=finder,
        right=right,
    )
    t.maybe(0.4, "The wind had blown {x.it} there.", "{a} had left {x.it} there the day before.", "What a surprise!")
    feel(t, "a", t.rng.choice(("happy", "glad")))
    thank(t, "a", "b")
    t.facts.append((f"Where {x.form('was')} your {x.noun}?", right))
    t.maybe(
        0.7,
        "Then {a} {x.used} all day.",
        "Then they took turns with {x.it}.",
        "From then on, {a} never left {x.it} {right} again.",
        right=right,
    )
    ending(
        t,
        "Looking together is [easier|better] than looking alone.",
        "A friend who helps is worth more than {x.an}.",
        "After that, {a} took good care of {x.it}.",
        one_day=True,
    )


def sharing(t: Tale) -> None:
    meal = t.rng.choice(words.MEALS)
    t.topic = meal
    opening(t)
    t.add_elder()
    t.say(
        "{e} had made a [big|small|warm|sweet] {meal} for {a.him}.",
        "{a} had a [big|fresh|warm] {meal} from {e}.",
        '"This is for you," {e.said}, and gave {a.him} a {meal}.',
        meal=meal,
    )
    t.add_person("b")
    meet(t)
    t.say(
        "{b} looked [very |]hungry.",
        '"I am so hungry," {b.said}. "I have not eaten [all day|since yesterday]."',
        "{b} had nothing to eat.",
        "{b} saw the {meal} and looked sad, because {b.he} was hungry.",
        meal=meal,
    )
    t.maybe(
        0.5,
        "{a} wanted to eat it all, but then {a.he} thought of {b}.",
        "At first, {a} did not want to share.",
        "{a} thought for a moment.",
    )
    t.say(
        "{a} cut the {meal} in two and gave {b} the bigger half.",
        '"You can have half of my {meal}," {a.said}.',
        '"Let us share the {meal}," {a.said}, and they sat down {p.at}.',
        "So {a} gave half of the {meal} to {b}.",
        meal=meal,
    )
    t.say(
        "They ate [it |]together[ under a tree| in the sun|].",
        "It tasted [very good|wonderful|sweet].",
        "Soon the {meal} was gone, and both were full.",
        meal=meal,
    )
    thank(t, "b", "a")
    if t.chance(0.6):
        food = t.rng.choice(list(words.FOODS))
        number = t.rng.randint(2, 8)
        t.say(
            "The next day, {b} came back with {foods} for {a}.",
            "A few days later, {a} was hungry, and {b} brought {a.him} {foods}.",
            "The next morning, {a} found {foods} at the door. They were from {b}.",
            foods=amount(number, food),
        )
        t.say(
            '"You shared your {meal} with me, and now I share with you," {b.said}.',
            '"This is for the {meal}," {b.said}.',
            "{b} had not forgotten the {meal}.",
            meal=meal,
        )
    feel(t, t.rng.choice("ab"), "happy")
    ending(
        t,
        "Food tastes better when you share it.",
        "Half a {meal} and a friend are better than a whole {meal} alone.".replace("{meal}", meal),
        "Those who share are never alone.",
    )


def counting(t: Tale) -> None:
    opening(t)
    noun = t.rng.choice([*words.FOODS, *words.FINDS])
    t.topic = noun
    many = words.PLURALS[noun]
    have = t.rng.randint(3, 10)
    t.say(
        "{a} had {have} in {a.his} [basket|bag].",
        "{a} [found|picked up] {have} and put them into a [basket|bag].",
        "{e} gave {a} {have}.",
        "{a} had {have}. {a} counted them twice.",
        have=amount(have, noun),
        e=t.add_elder(),
    )
    people = ["b"] if have < 4 or t.chance(0.45) else ["b", "c"]
    for key in people:
        t.add_person(key)
        if have < 2:
            break
        gift = t.rng.randint(1, min(4, have - 1))
        have -= gift
        meet(t, key)
        g = t.person(key)
        t.say(
            '"May I have some {many}?" {g.asked}.',
            '"What do you have there?" {g.asked}. "I have some {many}," {a.answered}.',
            "{g} had no {many} and looked sad.",
            '"I would like [some|a few] {many}," {g.said}.',
            g=g,
            many=many,
        )
        t.say(
            "{a} gave {gift} to {g}.",
            '"You can have {gift}," {a.said}.',
            "So {a} gave {g} {gift}.",
            g=g,
            gift=amount(gift, noun),
        )
        thank(t, key, "a")
        t.say(
            "Now {a} had {left} left.",
            "Then {a} had {left} left.",
            "{a} counted again. There [were|were only] {left} left.".replace("were", "was" if have == 1 else "were"),
            left=amount(have, noun),
        )
    if have < 9 and t.chance(0.5):
        more = t.rng.randint(1, min(3, 11 - have))
        have += more
        t.say(
            "On the way home, {a} found {more} more[ under a tree| in the grass| by the gate|].",
            "Then {e} gave {a.him} {more} more.",
            more=words.NUMBERS[more],
        )
        t.say(
            '"How many do you have now?" {e.asked}. "I have {have}," {a.answered}.',
            "In the evening, {a} had {have}.",
            "So {a} came home with {have}.",
            have=amount(have, noun),
        )
    else:
        t.say(
            '"How many {many} do you have left?" {e.asked}. "I have {have} left," {a.answered}.',
            "{a} took the {have} home.",
            "At home, {a} showed {e} what was left: {have}.",
            have=amount(have, noun),
            many=many,
        )
    feel(t, "a", t.rng.choice(("happy", "glad")))
    ending(
        t,
        "{a} had fewer {many} now, but more friends.".replace("{many}", many) if have > 1 else "Giving made {a.him} happy.",
        "It is good to give.",
        '"You have a [kind|good] heart," {e.said}.',
        one_day=True,
    )


def swap(t: Tale) -> None:
    opening(t)
    x, y = t.add_toy("x"), t.add_toy("y")
    t.topic = x.noun
    own(t, "a", "x")
    t.add_person("b")
    meet(t)
    t.holder[y.noun] = t.person("b")
    t.say("{b} had {y.a}.", "{b} was carrying {y.a}.", "{b} had brought {y.a}.")
    t.say(
        '"I like your {y.bare}," {a.said}.',
        '"I wish I had {y.a}," {a.said}.',
        "{a} liked {y.full} very much.",
        '"Your {x.bare} {x.is} [so pretty|wonderful]," {b.said}.',
    )
    t.say(
        '"Shall we swap?" {b.asked}. "Yes, [please|let us swap]," {a.answered}.',
        '"If you give me your {x.noun}, I will give you my {y.noun}," {b.said}.',
        '"Let us swap, my {x.noun} for your {y.noun}," {a.said}.',
    )
    hand(t, "a", "b", "x")
    t.say(
        "And {b} gave {y.full} to {a}.",
        "In return, {a} got {y.full}.",
        "Then {b} handed {y.full} to {a}.",
    )
    t.holder[y.noun] = t.person("a")
    if t.chance(0.6):
        t.add_person("c")
        t.say("[Soon|Later|Then] {c.intro} came along.", "A little later, they met {c.intro}.")
        ask_holder(t, "c", t.rng.choice("xy"))
        if t.chance(0.6):
            lent = t.rng.choice("xy")
            owner = "b" if lent == "x" else "a"
            t.say(
                '"May I borrow {l.full}?" {c.asked}.',
                '"May I have {l.full} for a while?" {c.asked}.',
                l=t.thing(lent),
            )
            hand(t, owner, "c", lent)
            ask_holder(t, "a" if owner == "b" else "b", lent)
    t.say(
        "So now {h} had {x.full}, and {g} had {y.full}.",
        "In the evening, {g} had {y.full}, and {h} had {x.full}.",
        "At the end of the day, {x.full} {x.was} with {h}, and {y.full} {y.was} with {g}.",
        h=t.holder[x.noun],
        g=t.holder[y.noun],
    )
    mine = "your old " + x.noun
    if t.holder[x.noun] is not t.person("a"):
        t.facts.append((f"Who has {mine} now?", t.holder[x.noun].name))
    t.facts.append((f"What did you get for your {x.noun}?", y.form("a")))
    t.say("Everyone was [happy|glad].", "They played until it got dark.", "Then they all played together.")
    ending(t, "A fair swap makes two people happy.", "What is old to one is new to another.", one_day=True)


def passed_along(t: Tale) -> None:
    """A thing goes from hand to hand; at the end somebody asks who has it."""
    opening(t)
    x = t.add_toy("x")
    t.topic = x.noun
    own(t, "a", "x")
    t.add_person("b")
    meet(t)
    t.say(
        '"May I [borrow|have|hold] {x.full} for a while?" {b.asked}.',
        '"Can I play with your {x.bare}?" {b.asked}.',
        "{b} wanted to {x.use}, too.",
    )
    t.maybe(0.5, '"Yes, but please be careful," {a.said}.', '"Of course," {a.said}.', '"Yes, you may," {a.said}.')
    hand(t, "a", "b", "x")
    t.say("{b} {x.used} [for a long time|all morning|with joy].", "{b} was very careful with {x.it}.")
    on_the_way(t, 0.2)
    t.add_person("c")
    t.say(
        "Then {c.intro} [came along|came by] and wanted {x.it}, too.",
        "Later, {c.intro} asked for {x.it}.",
        "In the afternoon, {c.intro} wanted a turn.",
    )
    hand(t, "b", "c", "x")
    if t.chance(0.3):
        t.say("{c} {x.used}, too.", "{c} was happy with {x.it}.")
    last = "c"
    if t.chance(0.35):
        back = "b"
        t.say("But soon {b} wanted to {x.use} again.", "After a while, {b} wanted {x.it} again.")
        hand(t, last, back, "x")
        last = back
    t.say(
        "In the evening, {a} came back.",
        "When it got late, {a} wanted to go home.",
        "At the end of the day, {a} looked around.",
    )
    ask_holder(t, "a", "x")
    hand(t, last, "a", "x")
    thank(t, "a", last)
    t.say(
        "{a} took {x.it} home[ with care| and put {x.it} on the shelf|].",
        "Now {x.full} {x.was} back with {a}.",
        '"Tomorrow we can all play again," {a.said}.',
    )
    ending(t, "What you lend to a friend comes back.", "It is more fun to play together.", one_day=True)


def key_and_box(t: Tale) -> None:
    opening(t)
    treasure = t.add_thing("x", "treasure")
    t.topic = treasure.noun
    box = t.rng.choice(("box", "chest", "case", "trunk"))
    color = t.rng.choice(("small", "old", "wooden", "heavy", "red", "green"))
    t.cast["box"] = f"{color} {box}"
    t.cast["short"] = box
    spot, wrong = t.add_spot("s1"), t.add_spot("s2")
    key = t.rng.choice(("golden", "tiny", "silver", "black", "long"))
    t.say(
        "There {a} found a {box}, but it was locked.",
        "{a} saw a {box} there. It was locked.",
        "There stood a {box}. {a} could not open it.",
        "{a} had a {box}, but the key was lost.",
    )
    t.say(
        '"What is in the {short}?" {a.asked}.',
        '"I need the key," {a.said}.',
        "{a} shook it, and something moved inside.",
        "{a} wanted to know what was in it.",
    )
    t.say(
        "{a} looked for the key {wrong}, but it was not there.",
        "First {a} looked {wrong}, but there was no key.",
        "{a} searched {wrong}. There was nothing.",
        wrong=wrong,
    )
    t.add_person("b")
    meet(t)
    t.say(
        '"Do you know where the key is?" {a.asked}.',
        '"I am looking for a key," {a.said}.',
        '"Can you help me open the {box}?" {a.asked}.',
    )
    t.say(
        '"I saw a {key} key {spot}," {b.said}.',
        '"There is a {key} key {spot}," {b.answered}.',
        '"Look {spot}. I saw a {key} key there," {b.said}.',
        key=key,
        spot=spot,
    )
    t.say(
        "So {a} looked {spot} and found the {key} key.",
        "They ran and looked {spot}. There was the {key} key!",
        "And so it was. The {key} key lay {spot}.",
        key=key,
        spot=spot,
    )
    t.say(
        "{a} put the key in the lock and turned it. [Click!|The {short} opened.]",
        "The key fit, and the {short} opened.",
        "With the {key} key, {a} opened the {short}.",
        key=key,
    )
    t.facts.append(("Where was the key?", spot))
    t.facts.append((f"What was in the {box}?", treasure.form("a")))
    t.say("Inside was {x.a}!", "In it lay {x.a}.", "And what was inside? It was {x.a}.", "There was {x.a} inside.")
    t.say(
        "It had belonged to {e} a long time ago.",
        '"That is mine!" {e.said}. "I lost it long ago."',
        "{a} gave {x.full} to {b}, because {b.he} had found the key.",
        "{a} and {b} were [so |very |]happy.",
        e=t.add_elder(),
    )
    t.say(
        "After that, the {key} key always stayed {spot}.",
        "{a} put the {key} key back {spot}.",
        "{a} kept the {key} key on a string.",
        key=key,
        spot=spot,
    )
    ending(t, "Sometimes you only need the right key.", "It is good to ask when you do not know.", one_day=True)


def trading_up(t: Tale) -> None:
    opening(t)
    first = t.rng.choice([*words.FOODS, *words.FINDS])
    goal = t.add_thing("x")
    t.topic = goal.noun
    t.say(
        "{a} wanted {x.a}, but all {a.he} had was a {first}.",
        "{a} had only a {first}, but {a.he} dreamed of {x.a}.",
        '"I would like to have {x.a}," {a.said}. But {a} had only a {first}.',
        first=first,
    )
    middle = t.rng.sample(["egg", "candle", "basket", "spoon", "pumpkin", "pot of honey", "bottle of milk"], 2)
    steps = [first, middle[0], middle[1]] if t.chance(0.5) else [first, middle[0]]
    keys = ["b", "c", "d"]
    goods = [*steps[1:], "goal"]
    for key, have, get in zip(keys, steps, goods):
        t.add_person(key, animal=0.3) if t.chance(0.6) else t.add_worker(key)
        r = t.person(key)
        got = goal.form("a") if get == "goal" else f"a {get}"
        t.say(
            "{a} met {r.intro}, who needed a {have}.",
            "On the road came {r.intro}. {r} was looking for a {have}.",
            "Next, {a} met {r.intro}." if key != "b" else "Soon {a} met {r.intro}.",
            r=r,
            have=have,
        )
        t.say(
            '"I will give you {got} for your {have}," {r.said}. {a} was glad to trade.',
            "{a} gave {r} the {have} and got {got}.",
            "So they traded: the {have} for {got}.",
            '"Give me your {have}, and you will get {got}," {r.said}. {a} agreed.',
            r=r,
            have=have,
            got=got,
        )
    t.say(
        "Now {a} had {x.a}, just as {a.he} had wished.",
        "At last, {a} had {x.full}.",
        "{a} could not believe it. Now {a.he} had {x.a}!",
    )
    feel(t, "a", t.rng.choice(("happy", "proud")))
    t.say(
        "And it had all begun with one {first}.",
        "{a} {x.used} and thought of the {first}.",
        '"And all I had was a {first}!" {a.said}.',
        first=first,
    )
    ending(t, "Small things can become big things.", "Step by step, you can go far.")


def quarrel(t: Tale) -> None:
    opening(t)
    t.add_person("b")
    x = t.add_toy("x")
    t.topic = x.noun
    meet(t)
    t.say(
        "{p.at}, they found {x.a}.",
        "Then they saw {x.a} in the grass.",
        "Both of them wanted {x.full} that lay there.",
    )
    t.say(
        '"I saw {x.it} first!" {a.cried}. "No, I did!" {b.cried}.',
        '"{x.full} {x.is} mine!" {a.said}. "No, mine!" {b.cried}.',
        "{a} pulled on one side, and {b} pulled on the other.",
    )
    t.maybe(0.6, "They were [both |very |]angry.", "Soon they did not speak to each other.", "Nobody was happy.")
    t.add_elder() if t.chance(0.5) else t.add_worker("e")
    t.say(
        "Then {e} came by.",
        "{e} heard the noise and came.",
        "They went to {e} and asked who was right.",
    )
    t.say(
        '"Why are you [so angry|fighting]?" {e.asked}. "We both want {x.full}," {r.answered}.',
        '"What is the matter?" {e.asked}. "There is only one {x.noun}," {r.said}.'
        if not x.plural
        else '"What is the matter?" {e.asked}. "We both want the {x.noun}," {r.said}.',
        r=t.person(t.rng.choice("ab")),
    )
    first, second = (t.person(key) for key in t.rng.sample("ab", 2))
    how = t.rng.choice(("turns", "days", "owner"))
    if how == "turns":
        t.say(
            '"Take turns," {e.said}. "First {one.name}, then {two.name}."',
            '"{one.name} may have {x.it} in the morning, and {two.name} in the afternoon," {e.said}.',
            one=first,
            two=second,
        )
        t.say("{one} {x.used} first, and then {two} {x.used}, too.", one=first, two=second)
    elif how == "days":
        t.say(
            '"{one.name} can have {x.it} today, and {two.name} tomorrow," {e.said}.',
            one=first,
            two=second,
        )
        t.say(
            "So {one} took {x.it} home that day, and the next day {x.they} {x.was} with {two}.",
            "That day {one} {x.used}, and the next day {two} did.",
            one=first,
            two=second,
        )
    else:
        t.say(
            '"Somebody must have lost {x.it}," {e.said}. "Let us find out who."',
            '"Is it not sad for the one who lost {x.it}?" {e.asked}.',
        )
        t.add_person("c")
        t.say(
            "Then {c.intro} came, looking for {x.it}. They gave {x.it} back.",
            "They asked around, and {x.they} belonged to {c.intro}. So they gave {x.it} back to {c.him}.",
        )
        t.say('"Thank you! Now we can all play," {c.said}.', '"You may both play with me," {c.said}.')
    t.say('"I am sorry," {a.said}. "Me too," {b.said}.', "They said sorry to each other.", "The quarrel was over.")
    if how == "owner":
        ending(t, "What you find may belong to someone.", "It is good to give back what you find.", one_day=True)
    else:
        ending(t, "Taking turns is better than fighting.", "A fair answer makes everyone happy.")


def building(t: Tale) -> None:
    goal, used, parts = t.rng.choice(
        (
            ("boat", "It floated on the water", ("some boards", "a rope", "a sail", "some nails", "some paint")),
            ("kite", "It flew high in the sky", ("some paper", "some string", "two sticks", "some glue", "a ribbon")),
            ("little house", "It had room for everyone", ("some boards", "some nails", "a door", "some bricks", "some straw")),
            ("wagon", "It rolled down the road", ("four wheels", "some boards", "a rope", "some nails", "some paint")),
            ("swing", "It swung up and down", ("a rope", "a board", "a strong branch", "some paint")),
            (
                "bird house",
                "A bird moved in at once",
                ("some boards", "some nails", "some paint", "some straw", "a little door"),
            ),
        )
    )
    t.topic = goal
    t.cast["goal"] = goal
    opening(t, place=t.chance(0.6))
    t.say(
        "{a} wanted to build a {goal}.",
        '"I will build a {goal}," {a.said}.',
        "{a} had a plan: {a.he} wanted to build a {goal}.",
    )
    need = t.rng.sample(parts, 3)
    t.say(
        "For that, {a.he} needed {one}, {two} and {three}.",
        '"I need {one}, {two} and {three}," {a.said}.',
        one=need[0],
        two=need[1],
        three=need[2],
    )
    spot = t.add_spot("s1")
    t.say(
        "{a} found {one} {spot}.",
        "{a} had {one} at home.",
        one=need[0],
        spot=spot,
    )
    t.add_worker("w")
    t.say(
        "{w} gave {a} {two}.",
        "{a} got {two} from {w}.",
        '"You can have {two} from me," {w.said}.',
        two=need[1],
    )
    t.add_person("b")
    t.say(
        "But where could {a.he} get {three}? Then {b.intro} came and brought {three}.",
        "Last of all, {b.intro} brought {three}.",
        '{a} still needed {three}. {b.intro} came and said, "I have {three} for you."',
        three=need[2],
    )
    t.say(
        "They worked [all day|until evening|for three days].",
        "They worked hard. {a} held, and {b} pulled.",
        "Together they put everything in its place.",
    )
    t.maybe(
        0.45,
        "Once it fell apart, but they did not give up.",
        "It was not easy, but they helped each other.",
        '"It is too hard," {b.said}. "Let us try once more," {a.answered}.',
    )
    t.say(
        "At last, the {goal} was ready. {used}.",
        "Then the {goal} was done. {used}.",
        '"Look at our {goal}!" {a.cried}. {used}.',
        used=used,
    )
    t.say(
        '"Who gave us {two}?" {b.asked}. "{w.name} did," {a.answered}.',
        "{a} went to {w} and said thank you for {two}.",
        '{a} had not forgotten who had brought {three}. "Thank you, {b.name}," {a.he} said.',
        "They were [very |]proud of the {goal}.",
        two=definite(need[1]),
        three=definite(need[2]),
    )
    ending(t, "Many hands make a big job small.", "What you build together lasts long.")


def mistake(t: Tale) -> None:
    x = t.add_thing("x", "fragile")
    t.topic = x.noun
    opening(t, place=False)
    t.add_elder()
    t.say(
        "At home there was {x.a}. It belonged to {e}.",
        "{e} had {x.a} and loved it [very much|dearly].",
        "{a} was playing in the kitchen. On the table stood {x.a} that belonged to {e}.",
    )
    cause = t.rng.choice(("ball", "jump", "run", "cat"))
    rule = {"ball": "played ball", "jump": "danced", "run": "ran", "cat": "took things without asking"}[cause]
    if cause == "ball":
        t.say("{a} threw a ball in the house, and it hit {x.full}.", "{a} kicked a ball. It flew into {x.full}.")
    elif cause == "jump":
        t.say("{a} jumped on a chair and bumped into {x.full}.", "{a} danced around and pushed {x.full}.")
    elif cause == "run":
        t.say("{a} ran too fast and bumped into the table.", "{a} was running and did not look.")
    else:
        t.say("{a} wanted to look at {x.it}, but it was too heavy.", "{a} took {x.full} and it slipped away.")
    t.say("Crash! {x.full} broke.", "Down it fell, and {x.full} was broken.", "There was a crash, and the {x.noun} broke.")
    t.say(
        "{a} was afraid that {e} would be angry.",
        '"Oh no! What will {e.name} say?" {a.whispered}.',
        "{a} wanted to run away and hide.",
    )
    hide = t.chance(0.5)
    if hide:
        spot = t.add_spot("s1")
        t.say("{a} hid the pieces {spot}.", "Quickly, {a} put the pieces {spot}.", spot=spot)
        t.say(
            "But {a.he} could not [eat|play|sleep], because {a.he} felt bad.",
            "All day, {a} thought of the {x.noun} and felt bad.",
            '"Where is my {x.noun}?" {e.asked}. {a} did not answer.',
        )
        t.say(
            "At last, {a} went to {e} and showed {e.him} the pieces {spot}.",
            'Then {a} told the truth. "I broke it and hid it {spot}," {a.he} said.',
            spot=spot,
        )
    else:
        t.say(
            "But {a} went to {e} and told the truth.",
            "Then {a} was brave and told {e} what had happened.",
            '"I must tell the truth," {a.said}, and went to {e}.',
        )
    t.say('"I am [so |very |]sorry," {a.said}.', '"I broke your {x.noun}. I am sorry," {a.said}.', "{a} said sorry.")
    t.say(
        '"Thank you for telling me," {e.said}.',
        "{e} was sad about the {x.noun}, but {e.he} was not angry.",
        '"A {x.noun} can be mended," {e.said}.',
        '"It was only a {x.noun}," {e.said}, and smiled.',
    )
    t.say(
        "Together they put the pieces together with glue.",
        "The next day, they glued {x.full}.",
        "{a} saved some coins and bought a new {x.noun} for {e}.",
        "{a} painted a picture of {x.full} for {e}.",
    )
    t.maybe(0.5, "After that, {a} was more careful.", "From then on, {a} never {rule} in the house.", rule=rule)
    ending(t, "It is brave to tell the truth.", "Saying sorry is hard, but it helps.", "Everyone makes mistakes.")


def market(t: Tale) -> None:
    """Coins are counted while things are bought."""
    opening(t, place=False)
    t.add_place("p", "market")
    t.add_elder()
    coins = t.rng.randint(6, 10)
    t.say(
        "{e} gave {a} {coins} and sent {a.him} {p.to}.",
        "{a} had {coins} and went {p.to}.",
        '"Here are {coins}," {e.said}. "Please go {p.to}, {a.name}."',
        coins=amount(coins, "coin"),
    )
    on_the_way(t)
    goods = t.rng.sample(["loaf of bread", "bag of nuts", "cake", "pot of honey", "candle", "cabbage", "bottle of milk"], 2)
    t.topic = goods[0]
    for key, good in zip("wv", goods):
        price = t.rng.randint(1, min(4, coins - (3 if key == "w" else 2)))
        coins -= price
        w = t.add_worker(key, "the baker", "the farmer", "the miller", "the fisherman", "the shopkeeper")
        t.say(
            "{a} bought a {good} from {w} for {price}.",
            '"How much is the {good}?" {a.asked}. "It is {price}," {w.answered}. So {a} bought it.',
            "{w} had a fine {good}. {a} paid {price} for it.",
            w=w,
            good=good,
            price=amount(price, "coin"),
        )
        t.say(
            "Now {a} had {left} left.",
            "Then {a} counted the money. {a} had {left} left.",
            "That left {a} with {left}.",
            left=amount(coins, "coin"),
        )
    t.add_person("b")
    meet(t)
    t.say(
        '"I have lost my coin and cannot buy [bread|milk]," {b.said}.',
        "{b} was sad, because {b.he} had no money for [a bun|an apple].",
        '"Can you help me?" {b.asked}. "I need one coin."',
    )
    edible = goods[0] in ("loaf of bread", "bag of nuts", "cake")
    if not edible or t.chance(0.6):
        coins -= 1
        t.say(
            "{a} gave {b} one coin, and then {a.he} had {left} left.",
            '"Take this," {a.said}, and gave {b} one coin. Now {a} had {left} left.',
            left=amount(coins, "coin"),
        )
    else:
        t.say("{a} gave {b} some of the {good}.", "So {a} shared the {good} with {b}.", good=goods[0])
    thank(t, "b", "a")
    t.say(
        "{a} came home and gave {e} the {good} and {left}.",
        '"How many coins are left?" {e.asked}. "There {is} {left}," {a.answered}.'.replace(
            "{is}", "is" if coins == 1 else "are"
        ),
        good=goods[-1],
        left=amount(coins, "coin"),
    )
    ending(t, "{e} was proud of {a}.", '"You did well," {e.said}.', "A kind deed is worth more than a coin.", one_day=True)


def garden(t: Tale) -> None:
    noun = t.rng.choice(("flower", "carrot", "pumpkin", "bean", "sunflower", "tomato", "strawberry"))
    many = {"tomato": "tomatoes", "strawberry": "strawberries"}.get(noun, noun + "s")
    color = t.rng.choice(words.COLORS[:6])
    t.topic = noun
    t.cast["noun"], t.cast["many"] = noun, many
    opening(t, place=False)
    t.add_elder()
    seeds = t.rng.randint(2, 9)
    t.say(
        "{e} gave {a} {seeds} in a {color} bag.",
        "{a} got {seeds} from {e}. They were in a {color} bag.",
        '"Plant these," {e.said}, and gave {a} a {color} bag with {seeds}.',
        seeds=amount(seeds, "seed"),
        color=color,
    )
    t.say(
        "{a} put [them|the seeds] into the [soft |dark |]earth.",
        "{a} dug [small|little] holes in the garden and planted the seeds.",
    )
    t.say(
        "Every day, {a} gave them water[ and waited|].",
        "{a} watered them every [morning|evening].",
        "It did not rain, so {a} brought water from the well.",
    )
    t.say(
        "But nothing [happened|came up|grew].",
        "A week went by, and there was nothing to see.",
        '"Why does nothing grow?" {a.asked}.',
    )
    t.say(
        '"You must wait," {e.said}.',
        '"Be patient, {a.name}," {e.said}. "Good things take time."',
        "{a} wanted to give up, but {e} told {a.him} to wait.",
    )
    came = t.rng.randint(1, seeds)
    t.say(
        "Then one morning, {came} had come up.",
        "One day, {a} saw {came} in the garden.",
        came=f"{words.NUMBERS[came]} little plant{'' if came == 1 else 's'}",
    )
    t.maybe(0.4, "The sun shone, and they grew and grew." if came > 1 else "The sun shone, and it grew and grew.")
    t.say(
        "At the end of summer, {a} had {number} [fine|big|beautiful] {things}.",
        "In the end, there {was} {number} {things} in the garden.",
        number=words.NUMBERS[came],
        things=noun if came == 1 else many,
        was="was" if came == 1 else "were",
    )
    t.add_person("b")
    if came > 1:
        t.say(
            "{a} gave one {noun} to {b.intro} and one to {e}." if came > 2 else "{a} gave one {noun} to {b.intro}.",
        )
    else:
        t.say("{a} showed it to {b.intro}.", "{a} and {b.intro} looked at it every day.")
    thank(t, "b", "a") if came > 1 else feel(t, "a", "proud")
    t.say(
        '"Who gave you the seeds?" {b.asked}. "{e.name} did," {a.answered}.',
        '"And all that came from {seeds}!" {a.said}.',
        "{a} kept the {color} bag for the next year.",
        seeds=amount(seeds, "seed"),
        color=color,
    )
    ending(t, "Good things take time.", "Those who wait are often happy in the end.", "{a} had learned to be patient.")


def gift_hunt(t: Tale) -> None:
    """A surprise: a present is hidden, and found on the birthday."""
    opening(t, place=False)
    t.add_person("b")
    x = t.add_toy("x")
    t.topic = x.noun
    t.say(
        "It was almost the birthday of {b.intro}.",
        "The next day was the birthday of {b.intro}.",
        "{a} knew that the birthday of {b.intro} was near.",
    )
    t.say(
        "{a} wanted to give {b} {x.a}.",
        '"I will give {b.name} {x.a}," {a.said}.',
        "{a} [made|found|bought] {x.a} for {b}.",
    )
    spot, wrong = t.add_spot("s1"), t.add_spot("s2")
    t.say(
        "{a} hid {x.it} {spot}.",
        "So that {b} would not see {x.it}, {a} put {x.it} {spot}.",
        "{a} wrapped {x.it} in paper and hid {x.it} {spot}.",
        spot=spot,
    )
    t.maybe(
        0.6,
        '"What are you doing?" {b.asked}. "[Nothing|That is a secret]," {a.answered}.',
        "{b} saw {a} and asked many questions, but {a} said nothing.",
        "It was hard to keep the secret.",
    )
    t.maybe(
        0.5,
        "{b} was sad, because {b.he} thought that everyone had forgotten.",
        "In the morning, nobody said a word about the birthday.",
        "{b} thought that there would be no party.",
    )
    food = t.rng.choice(("cake", "pie", "honey cake"))
    t.say(
        'Then all the friends came with a {food} and sang. "Surprise!"',
        'Suddenly, everyone [shouted|cried], "Surprise!" There was a big {food}, too.',
        "The next day, there was a party with a big {food}.",
        food=food,
    )
    t.say(
        '"Your present is hidden," {a.said}. "You must look for it."',
        '"Now look for your present," {a.said}.',
    )
    t.say(
        "{b} looked {wrong}, but there was nothing. Then {b.he} looked {spot}.",
        "First {b} looked {wrong}. Then {b.he} looked {spot}, and there {x.they} {x.was}!",
        "{b} looked {wrong} and found nothing. But {spot} there was something in paper.",
        wrong=wrong,
        spot=spot,
    )
    t.say("It was {x.a}!" if not x.plural else "There were {x.bare}!", '"Oh, {x.a}!" {b.cried}.')
    thank(t, "b", "a")
    t.maybe(
        0.7,
        "{b} {x.used} all day.",
        '"I never thought to look {spot}," {b.said}.',
        '"So that was your secret!" {b.said}.',
        "They ate the {food} and were happy.",
        spot=spot,
        food=food,
    )
    ending(t, "It was the best birthday of all.", "A surprise makes two people happy.", "Secrets can be fun.")


def parcel(t: Tale) -> None:
    """A journey in steps to bring a thing to somebody, and home again the same way."""
    t.add_elder("e")
    opening(t, place=False)
    x = t.add_toy("x")
    t.topic = x.noun
    t.add_worker("w")
    t.say(
        "{e} had {x.a} for {w}.",
        '"Please bring this to {w.name}," {e.said}, and gave {a} {x.a}.',
        "One day, {e} asked {a} to bring {x.a} to {w}.",
    )
    stops = [t.add_place(key) for key in ("p", "q", "r")]
    t.say(
        "{a} [went|walked] past the {one}, and then {two}.",
        "First {a} came to the {one}, and after that {two}.",
        "The way was long. {a} walked past the {one} and then {two}.",
        one=stops[0].noun,
        two=f"to the {stops[1].noun}",
    )
    on_the_way(t, 0.6)
    if t.chance(0.6):
        t.add_person("b")
        meet(t)
        t.say(
            '"Where are you going?" {b.asked}. "To {w.name}, with {x.a}," {a.answered}.',
            '"What do you have there?" {b.asked}. "It is for {w.name}," {a.answered}.',
            '"May I come with you?" {b.asked}. So they went on together.',
        )
    t.say(
        "At last, {a} came {r.to}, where {w} was waiting.",
        "{w} was {r.at}.",
        "Behind the {near} was the {far}, and there stood {w}.",
        near=stops[1].noun,
        far=stops[2].noun,
    )
    t.say(
        '"This is from {e.name}," {a.said}, and gave {x.it} to {w}.',
        "{a} gave {x.full} to {w}.",
        '"I have brought you {x.a}," {a.said}.',
    )
    thank(t, "w", "a")
    t.say(
        "{w} gave {a} [a bun|a warm cup of milk|an apple] for the way home.",
        "{a} rested for a while and ate [a bun|an apple|a pear].",
        "{w} {x.used} at once.",
    )
    t.say(
        "Then {a} went back, first to the {two} and then past the {one}.",
        "On the way home, {a} came to the {two} and then to the {one}.",
        one=stops[0].noun,
        two=stops[1].noun,
    )
    t.say(
        '"Does {w.name} have {x.it}?" {e.asked}. "Yes, {w.name} has {x.it}," {a.answered}.',
        '"Where did you find {w.name}?" {e.asked}. "{r.at}," {a.answered}.',
        "{a} was tired when {a.he} came home, but {a.he} was glad.",
    )
    ending(t, "{e} was proud of {a}.", "A long way is made of small steps.", '"You did [that |]well," {e.said}.', one_day=True)


PLOTS = (
    lost_and_found,
    sharing,
    counting,
    swap,
    passed_along,
    key_and_box,
    trading_up,
    quarrel,
    building,
    mistake,
    market,
    garden,
    gift_hunt,
    parcel,
)
