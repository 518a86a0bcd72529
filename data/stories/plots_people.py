"""Plots about what somebody does, feels, promises or learns."""

from . import words
from .events import ending, feel, hand, meet, on_the_way, opening, own, thank
from .tale import Tale, amount


def promise(t: Tale) -> None:
    """A thing is lent until a set time; the promise is kept, or broken and made good."""
    opening(t)
    x = t.add_toy("x")
    t.topic = x.noun
    t.add_person("b")
    t.holder[x.noun] = t.person("b")
    t.say("{a} met {b.intro}, who had {x.a}.", "{b.intro} was there with {x.a}.", "There was {b.intro}. {b} had {x.a}.")
    when = t.rng.choice(("before dark", "before dinner", "at noon", "before bedtime", "this evening"))
    t.say('"May I borrow {x.full}?" {a.asked}.', '"Can you lend me your {x.bare}?" {a.asked}.')
    t.say(
        '"Yes, but bring {x.it} back {when}," {b.said}.',
        '"You may, but I need {x.it} back {when}," {b.answered}.',
        when=when,
    )
    t.say('"I promise," {a.said}.', '"You can trust me," {a.said}.', "{a} gave {a.his} word.")
    hand(t, "b", "a", "x")
    t.say("{a} {x.used} and had [a lot of |much |]fun.", "It was so much fun that time went by fast.")
    if t.chance(0.5):
        t.say(
            "Some friends wanted {a} to stay longer.",
            '"Stay and play with us," the others said.',
            "{a} was tired and wanted to rest.",
            "It began to rain, and the way was long.",
        )
        t.say(
            '"I cannot. I made a promise," {a.said}.',
            "But {a} thought of the promise.",
            '"A promise is a promise," {a.said}.',
        )
        t.say("{a} ran all the way to {b}.", "So {a} went to look for {b}.", "{a} hurried back to {b}.")
        hand(t, "a", "b", "x")
        t.say(
            '"You kept your promise," {b.said}.',
            "{b} was glad that {a} had kept the promise.",
            '"You came back {when}, just as you said," {b.said}.',
            when=when,
        )
        ending(t, "A promise is a promise.", "A friend keeps a promise.", "{b} knew that {a} could be trusted.")
        return
    t.say(
        "But {a} forgot the time.",
        "{a} fell asleep and forgot the promise.",
        "When {a} thought of the promise, it was too late.",
    )
    t.say("{b} waited and waited.", "{b} was waiting, but nobody came.", "{b} was sad and went home alone.")
    t.say(
        'The next day, {a} went to {b} and said, "I am sorry. I broke my promise."',
        '"I am [very |so |]sorry that I did not come back in time," {a} told {b}.',
        when=when,
    )
    hand(t, "a", "b", "x")
    t.say(
        '"I was sad, but I forgive you," {b.said}.',
        '"Please do not forget again," {b.said}.',
        "{b} thought for a while and then smiled.",
    )
    t.say(
        "The next time, {a} brought {x.it} back in time.",
        "After that, {a} never broke a promise again.",
        when=when,
    )
    ending(t, "It is good to say sorry and to do better.", "A promise should be kept.")


def helper(t: Tale) -> None:
    opening(t, place=False)
    trouble = t.rng.choice(("cart", "shelf", "net", "hole", "branch"))
    t.topic = trouble
    t.add_place("p", "forest", "meadow", "field", "hill", "lake")
    t.say("One day, {a} was on the way {p.to}.", "One [morning|afternoon], {a} took a walk {p.to}.")
    t.add_person("b")
    t.say(
        *{
            "cart": (
                "There stood {b.intro} with a cart. A wheel was stuck in the mud.",
                "{a} saw {b.intro}, whose cart was stuck in the mud.",
            ),
            "shelf": (
                "There was {b.intro}, who could not reach a basket in a tree.",
                "{a} saw {b.intro} jump up and down under a tree. A hat was caught in it.",
            ),
            "net": (
                "{a} heard a cry. It was {b.intro}, caught in an old net.",
                "There was {b.intro} with one foot in a net.",
            ),
            "hole": (
                "{a} heard a voice from a hole. {b.intro} had fallen in!",
                "There was a deep hole, and in it sat {b.intro}.",
            ),
            "branch": (
                "{a} saw {b.intro} under a heavy branch.",
                "A branch had fallen on the road, and {b.intro} could not go on.",
            ),
        }[trouble]
    )
    t.say('"Help!" {b.cried}.', '"Please help me," {b.said}.', '"Can you help me, please?" {b.asked}.')
    t.say(
        *{
            "cart": ("{a} pushed as hard as {a.he} could.", "{a} put stones under the wheel and pushed."),
            "shelf": ("{a} climbed up and got it down.", "{a} took a long stick and got it down."),
            "net": ("{a} cut the net with a sharp stone.", "{a} pulled at the net until it broke."),
            "hole": ("{a} let down a rope and pulled.", "{a} found a rope and threw it down."),
            "branch": ("{a} pulled the branch away.", "{a} pulled and pulled until the branch moved."),
        }[trouble]
    )
    t.maybe(0.5, "It was hard work.", "At first, it did not work, so {a} tried again.", "At last, it was done.")
    thank(t, "b", "a")
    t.say(
        '"One day, I will help you, too," {b.said}.',
        '"If you ever need me, call me," {b.said}.',
        "{b} promised to help {a} one day.",
    )
    t.say("Some days later, {a} was in trouble.", "A week later, {a} needed help.", "Soon after that, {a} was in need.")
    t.say(
        "{a} had lost the way in the fog.",
        "{a} had too much wood to carry.",
        "{a} could not cross the river.",
        "{a} had hurt a foot and could not walk.",
    )
    t.say(
        "Who came along? It was {b}!",
        "{a} called, and {b} came at once.",
        "Then {b} came and remembered the promise.",
    )
    way = {"cart": "the cart", "shelf": "the tree", "net": "the net", "hole": "the hole", "branch": "the branch"}
    t.say(
        '"You helped me with {way}, and now I help you," {b.said}.',
        '"I have not forgotten {way}," {b.said}.',
        '"Do you remember {way}?" {b.asked}. "Now it is my turn."',
        way=way[trouble],
    )
    t.say("So {b} took {a} home.", "Together it was easy.", "With the help of {b}, all went well.")
    thank(t, "a", "b")
    ending(t, "One good deed brings another.", "Those who help will be helped.", "Even a small friend can be a big help.")


def race(t: Tale) -> None:
    opening(t)
    t.add_person("b")
    t.add_person("c")
    goal = t.add_place("q", "bridge", "mill", "well", "barn", "hill", "river")
    t.topic = goal.noun
    prize = t.add_toy("x")
    t.say(
        "{a} [wanted to|was going to] race against {b.intro} and {c.intro}.",
        "That day, there was a race. {b.intro} and {c.intro} came to run, too.",
    )
    t.say('"We will run {q.to}," {b.said}.', "The race went {q.to}.", "They had to run {q.to}.")
    t.say("The prize was {x.a}.", "The winner would get {x.a}.", "{x.a} {x.was} the prize.")
    t.maybe(0.5, '"I will win," {b.said}. "I am the fastest."', "{c} was nervous.", "{a} was not sure who was faster.")
    t.say('"One, two, three, go!"', "Then they ran.", "They all began to run.")
    first, second, third = t.rng.sample("abc", 3)
    one, two, three = (t.person(key) for key in (first, second, third))
    more = {"one": one, "two": two, "three": three}
    t.say(
        "At first, {two} was in front.",
        "{two} was the fastest at first.",
        "{three} was slow, but {two} ran like the wind.",
        **more,
    )
    if t.chance(0.55):
        t.say(
            "Then {three} fell[ over a stone| into the mud|] and cried.",
            "Then {three} fell down and hurt a knee.",
            **more,
        )
        t.say(
            "{two} stopped to help {three} up.",
            "{two} heard it and turned back to help.",
            **more,
        )
        t.say(
            "So {one} came {q.to} first and won {x.full}.",
            "{one} ran on and won the race.",
            **more,
        )
        t.holder[prize.noun] = two
        t.say(
            'But {one} gave {x.full} to {two}. "You were kind, so you are the real winner," {one.name} said.',
            'But {one} looked back and said, "The prize is for {two.name}, who stopped to help."',
            **more,
        )
        t.say("Now {two} had {x.full}.", "{two} was [proud|happy], and {three} said thank you.", **more)
        ending(t, "It is better to be kind than to be fast.", "Helping is more than winning.", one_day=True)
    else:
        t.say(
            "But then {two} got tired, and {one} ran past.",
            "But {two} stopped to [drink|rest|look at a butterfly], and {one} went by.",
            **more,
        )
        t.say(
            "{one} was first, {two} was second, and {three} was third.",
            "{one} won, {two} came next, and {three} was last.",
            **more,
        )
        t.holder[prize.noun] = one
        t.say("So {one} got {x.full}.", "{one} won {x.full}.", "They gave {x.full} to {one}.", **more)
        t.say(
            '"Who won the race?" asked {e.name}. "{one.name} won," {three.answered}.',
            '"Well done, {one.name}," {two.said}.',
            "{three} was not sad, because it had been fun.",
            e=t.add_elder(),
            **more,
        )
        t.maybe(0.6, "{one} let the others share {x.it}.", "Then all three took turns with {x.it}.", **more)
        ending(t, "Never stop before the end.", "It is fun to run, even if you do not win.", one_day=True)


def riddle(t: Tale) -> None:
    opening(t)
    text, answer, wrongs = t.rng.choice(
        (
            ("I have a face and two hands, but I cannot clap", "a clock", ("a doll", "a king")),
            ("I have teeth, but I cannot bite", "a comb", ("a wolf", "a fish")),
            ("I fall all winter, but I am never hurt", "snow", ("a leaf", "rain")),
            ("I follow you all day, but I am gone at night", "your shadow", ("a dog", "the wind")),
            ("I have a bed, but I never sleep", "a river", ("a baby", "the sun")),
            ("I have four legs, but I cannot walk", "a table", ("a horse", "a cat")),
            ("The more you take away, the bigger I get", "a hole", ("a cake", "a pie")),
            ("I get wet when I make you dry", "a towel", ("a cloud", "the sea")),
            ("I have leaves, but I am not a tree", "a book", ("a flower", "a bush")),
            ("I have an eye, but I cannot see", "a needle", ("an egg", "a stone")),
            ("You can hear me, but you cannot see me", "the wind", ("a bird", "a bell")),
            ("I am full of holes, but I can hold water", "a sponge", ("a basket", "a net")),
        )
    )
    t.topic = answer
    t.cast["answer"] = answer
    t.add_person("b", animal=0.8) if t.chance(0.7) else t.add_worker("b")
    prize = t.add_thing("x", "treasure")
    t.holder[prize.noun] = t.person("b")
    meet(t)
    t.say(
        '{b} had {x.a}. "You can have it if you answer my riddle," {b.he} said.',
        '"Answer my riddle, and I will give you {x.a}," {b.said}.',
        '"If you know the answer to my riddle, {x.full} is yours," {b.said}.',
    )
    t.say('"{text}. What am I?" {b.asked}.', '"Listen: {text}. What am I?" {b.asked}.', text=text)
    first, second = wrongs if t.chance(0.5) else wrongs[::-1]
    t.say(
        '"Is it {first}?" {a.asked}. "No," {b.answered}.',
        '"{first}!" {a.cried}. "No, it is not {first}," {b.said}.',
        first=first,
    )
    t.maybe(
        0.5,
        '"Then it is {second}," {a.said}. But that was wrong, too.',
        '"Is it {second}?" {a.asked}. {b} laughed and said no.',
        second=second,
    )
    t.say(
        "{a} sat down and thought for a long time.",
        "{a} looked around and thought.",
        "{a} went home, but {a.he} could not stop thinking of the riddle.",
        "{a} asked {e}, but {e} only smiled.",
        e=t.add_elder(),
    )
    t.say(
        'Then {a} jumped up. "I know! It is {answer}!"',
        '"Now I know it," {a.said}. "It is {answer}!"',
        "At last, {a} had the answer: {answer}.",
    )
    t.say('"That is right!" {b.cried}.', '"Yes, it is {answer}," {b.said}.', "{b} clapped and laughed. It was right.")
    hand(t, "b", "a", "x")
    t.say(
        "{a} told the riddle to all {a.his} friends.",
        'In the evening, {a} asked {e} the riddle. "Is it {first}?" {e.asked}. "No, it is {answer}," {a.said}.',
        "{a} took {x.full} home and was proud.",
        first=first,
    )
    ending(t, "It pays to think before you speak.", "Do not give up when the first answer is wrong.")


def storm(t: Tale) -> None:
    opening(t)
    t.add_person("b")
    t.topic = t.rng.choice(("roof", "gate", "fence", "bridge", "swing", "window", "old wall"))
    thing = t.topic
    t.cast["thing"] = thing
    meet(t)
    t.say("They [played|sat and talked|looked for flowers] together.", "They were having fun.", "They had much to tell.")
    t.say(
        "But then the sky turned [black|dark|gray].",
        "Suddenly, the wind began to blow.",
        "Then they saw big dark clouds.",
    )
    t.say("A storm was coming!", '"A storm is coming!" {b.cried}.', "There was thunder, and it began to rain hard.")
    shelter = t.rng.choice(("barn", "old mill", "cave", "hollow tree", "little hut"))
    t.say(
        "They ran into a {shelter}.",
        '"Quick, into the {shelter}!" {a.cried}.',
        "They found a {shelter} and hid inside.",
        shelter=shelter,
    )
    scared, calm = t.rng.sample("ab", 2)
    more = {"s": t.person(scared), "k": t.person(calm)}
    t.say("{s} was afraid of the thunder.", '"I am afraid," {s.said}.', "{s} was cold and scared.", **more)
    t.say(
        "{k} held {s.his} hand." if not (more["s"].is_animal or more["k"].is_animal) else "{k} sat close to {s}.",
        '"I am with you," {k.said}.',
        "So {k} sang a song until {s} felt better.",
        '"It will be over soon," {k.said}.',
        **more,
    )
    t.say(
        "At last, the rain stopped.", "After a long time, the storm was over.", "Then it was quiet again, and the sun came out."
    )
    t.maybe(0.5, "There was a [big |]rainbow in the sky.", "Everything was wet and shining.")
    t.say(
        "But the storm had broken the {thing}.",
        "When they came out, they saw that the {thing} was broken.",
        '"Look, the {thing} is broken," {s.said}.',
        **more,
    )
    w = t.add_worker("w")
    t.say(
        "It belonged to {w}.",
        "{w} saw it and was sad.",
    )
    t.say(
        "So they all worked together and mended the {thing}.",
        "{a} and {b} brought wood, and {w} mended the {thing}.",
        '"We can mend it," {a.said}. And so they did.',
        w=w,
    )
    t.say(
        "In the evening, the {thing} was as good as new.",
        "Now the {thing} was even better than before.",
    )
    t.say(
        '"Where were you in the storm?" asked {e}. "In the {shelter}," {s.answered}.',
        '"Were you afraid?" asked {e}. "A little, but {k.name} was with me," {s.answered}.',
        "{s} thanked {k}, and they went home.",
        e=t.add_elder(),
        shelter=shelter,
        **more,
    )
    ending(t, "After every storm, the sun comes back.", "Together, a storm is not so bad.", one_day=True)


def fear(t: Tale) -> None:
    opening(t, place=False)
    what, where, trouble = t.rng.choice(
        (
            ("the dark", "into the dark barn", "a lamb was crying in the barn"),
            ("the water", "into the river", "a puppy had fallen into the river"),
            ("high places", "up the tall tree", "a kitten was stuck in the tall tree"),
            ("the big bridge", "over the big bridge", "someone called for help on the other side of the bridge"),
            ("the forest at night", "into the forest", "a little bird had lost its way in the forest"),
            ("the deep cave", "into the cave", "a lost lamb was in the cave"),
        )
    )
    t.topic = what
    t.say(
        "{a} was afraid of {what}.",
        "There was one thing that {a} feared: {what}.",
        "{a} was not afraid of much, but {a.he} was afraid of {what}.",
        what=what,
    )
    t.maybe(
        0.7,
        "When the others went {where}, {a} stayed at home.",
        "{a} never went {where}.",
        "{a} did not tell anyone.",
        where=where,
    )
    t.add_person("b")
    t.say(
        '"Why do you not come with us?" asked {b.intro}. {a} did not answer.',
        "{a} had a friend, {b.named}." if t.person("b").is_animal else "{a} had a good friend named {b.name}.",
        "One day, {a} told {b.intro} about it.",
    )
    t.say(
        '"I was afraid once, too," {b.said}. "[Take one small step at a time|Just breathe slowly|Count to ten]."',
        '"It is all right to be afraid," {b.said}. "[Go slowly|Count to ten|Think of a song]."',
    )
    t.say(
        "Then one [evening|night|day], {a} heard that {trouble}.",
        "One [evening|day], something happened: {trouble}.",
        "A few days later, {trouble}.",
        trouble=trouble,
    )
    t.say("Nobody else was near.", '"Somebody must help," {a.said}.', "There was no time to call for help.")
    t.say(
        "{a} was afraid, but {a.he} thought of what {b} had said.",
        "{a.s} heart beat fast. Then {a} thought of {b}.",
        "{a} shook with fear, but {a.he} did not run away.",
    )
    t.say(
        "{a} took a deep breath and went {where}.",
        "Step by step, {a} went {where}.",
        "{a} counted to ten and went {where}.",
        where=where,
    )
    t.say("And {a.he} did it!", "It was not as bad as {a} had thought.", "Soon all was well.", "Everything went well.")
    feel(t, "a", "proud")
    t.say(
        '"Were you not afraid?" {b.asked}. "Yes, but I did it all the same," {a.answered}.',
        '"You went {where} all alone!" {b.cried}.',
        '"I am not so afraid of {what} now," {a} told {b}.',
        where=where,
        what=what,
    )
    t.say("From then on, {a} was no longer afraid of {what}.", "After that, {what} seemed less bad.", what=what)
    ending(t, "To be brave is to be afraid and to do it all the same.", "Fear gets smaller when you look at it.")


def wish(t: Tale) -> None:
    t.topic = t.rng.choice(("friend", "pet", "snow", "adventure", "song"))
    opening(t, place=False)
    want, got, sign = {
        "friend": ("a friend", "", ""),
        "pet": ("a pet", "a [gray|white|black] kitten sat at the door", "{a} gave it milk, and it stayed"),
        "snow": ("snow", "the whole world was white", "{a} built a big snowman"),
        "adventure": ("an adventure", "a letter with a map lay at the door", "{a} followed the map to a [lake|cave|hill]"),
        "song": ("a song", "a bird sang at the window", "{a} learned the song and sang it every day"),
    }[t.topic]
    t.say(
        "{a} had one wish: {want}.",
        "More than anything, {a} wished for {want}.",
        "{a} wished for {want} every night.",
        want=want,
    )
    t.say(
        "One night, {a} saw a falling star and made the wish.",
        "{a} threw a coin into the well and made the wish.",
        "{a} blew out a candle and made the wish.",
        "{a} told the wish to the moon.",
    )
    t.say(
        "The next day, nothing happened.",
        "{a} waited one day and then another.",
        '"Maybe it takes time," {a.said}.',
        "A week went by.",
    )
    t.add_elder()
    t.say(
        '"What did you wish for?" {e.asked}. "It is a secret," {a.answered}.',
        '"Wishes need time," {e.said}.',
        '"Did it come true?" {e.asked}. "Not yet," {a.answered}.',
    )
    if t.topic == "friend":
        t.add_person("b")
        t.say(
            "Then one morning, {b.named} moved into the house next door.",
            "Then one day, {b.named} came along and was alone, too.",
        )
        t.say('"Would you like to play with me?" {a.asked}.', '"I am new here," {b.said}. "Will you be my friend?"')
        t.say('"Yes!" {r.answered}.', "They played until dark.", r=t.person("b"))
        t.say('"Yesterday I had nobody to play with," {b.said}.', "They met every day after that.")
        t.say('"I wished for a friend," {a.said}. "And here you are."', "The wish had come true.")
    else:
        t.say(
            "But one morning, {got}!",
            "Then, when {a} woke up, {got}.",
            got=t.rng.choice(("a gray kitten sat at the door", "a white kitten sat at the door")) if t.topic == "pet" else got,
        )
        t.say('"My wish came true!" {a.cried}.', "{a} jumped for joy.", "{a} could not believe it.")
        t.say(sign + ".")
        t.say(
            '"So you wished for {want}!" {e.said}.',
            "In the evening, {a} told {e} about the wish.",
            "{a} looked up at the sky and said thank you.",
            want=want,
        )
        t.maybe(0.7, "{a} thought of the wish for a long time.", "{a} was the happiest {a.kind} in the world.")
    ending(t, "Some wishes come true.", "You have to wait for the best things.")


def sick_friend(t: Tale) -> None:
    opening(t)
    t.add_person("b")
    soup = t.rng.choice(("soup", "tea", "honey milk"))
    herb = t.rng.choice(("herbs", "berries", "honey", "carrots", "lemons"))
    t.topic = herb
    t.add_place("q", "garden", "market", "orchard", "farm", "meadow")
    t.say(
        "{a} waited for {b.intro}, but {b.he} did not come.",
        "{a} wanted to play with {b.intro}. But {b} was not there.",
        "That day, {b.intro} did not come out to play.",
    )
    t.say(
        "So {a} went to see {b}. {b} was sick in bed.",
        "{b} was sick and had to stay in bed.",
        '"I am sick," {b} said when {a} came. "I cannot get up."',
    )
    t.say('"What can I do for you?" {a.asked}.', "{a} was worried.", '"You poor thing," {a.said}.')
    t.say(
        '"I would like some warm {soup}, but there are no {herb} in the house," {b.said}.'
        if herb.endswith("s")
        else '"I would like some warm {soup}, but there is no {herb} in the house," {b.said}.',
        "For warm {soup}, {a} needed {herb}.",
        soup=soup,
        herb=herb,
    )
    t.say(
        "So {a} went {q.to} and found {herb}.",
        "{a} ran {q.to} to get {herb}.",
        "There were {herb} {q.at}, so {a} went there." if herb.endswith("s") else "There was {herb} {q.at}, so {a} went there.",
        herb=herb,
    )
    on_the_way(t, 0.5)
    t.say(
        "Then {a} made warm {soup} and brought it to {b}.",
        "{a} cooked {soup} with the {herb}.",
        "Back at the house, {a} made a cup of {soup}.",
        soup=soup,
        herb=herb,
    )
    t.say("{b} drank it and felt better.", "{b} drank it all and fell asleep.", '"That is good," {b.said}.')
    t.say("{a} sat by the bed and told a story.", "{a} sang a song for {b}.", "{a} came every day.")
    days = t.rng.randint(2, 5)
    t.say(
        "After {days} days, {b} was well again.",
        "{days} days later, {b} could get up and play.",
        days=words.NUMBERS[days],
    )
    thank(t, "b", "a")
    t.say(
        '"Where did you find the {herb}?" {b.asked}. "{q.at}," {a.answered}.',
        "Together they went {q.to} to get more {herb}.",
        '"It was the {soup} that made me well," {b.said}. "And you."',
        herb=herb,
        soup=soup,
    )
    ending(t, "A good friend is the best medicine.", "It is good to care for each other.")


def lost_in_wood(t: Tale) -> None:
    opening(t, place=False)
    t.add_place("p", "forest")
    reason, guide = (
        t.rng.choice(("berries", "mushrooms", "flowers", "wood", "nuts")),
        t.rng.choice(("river", "light", "smoke", "white stones", "sound of a bell", "stars")),
    )
    t.topic = guide
    t.say(
        "One day, {a} went {p.to} to look for {reason}.",
        "{a} wanted to find {reason}, so {a.he} went {p.to}.",
        "{e} needed {reason}, and {a} went {p.to} to get some.",
        reason=reason,
        e=t.add_elder(),
    )
    if guide == "white stones":
        t.say("On the way, {a} dropped white stones.", "{a} had white stones and dropped one after every ten steps.")
    t.say(
        "{a} [went on and on|looked here and there|went deeper and deeper].",
        "There were many {reason}, so {a} went on and on." if reason not in ("wood",) else "{a} went on and on.",
        reason=reason,
    )
    t.say(
        "But then {a.he} did not know the way home." if not t.chance(0.5) else "But soon {a} was lost.",
        '"Where am I?" {a.asked}. All the trees looked the same.',
        "When it got dark, {a} could not find the path.",
    )
    feel(t, "a", t.rng.choice(("afraid", "scared", "lonely")))
    alone = t.chance(0.4)
    if not alone:
        t.add_person("b", animal=0.95)
        meet(t)
        t.say(
            '"I am lost," {a.said}.',
            '"Do you know the way home?" {a.asked}.',
            '"Are you lost?" {b.asked}. "Yes," {a.answered}.',
        )
    follow = {
        "river": ('"The river goes to the village. Follow it,"', "{g} followed the river", "the river"),
        "light": ('"Do you see the light? Go to it,"', "{g} went to the light, step by step", "the light"),
        "smoke": ('"There is smoke. It comes from a house,"', "{g} walked to the smoke", "the smoke"),
        "white stones": ('"Look for the white stones,"', "{g} followed the white stones", "the white stones"),
        "sound of a bell": ('"Listen to the bell,"', "{g} followed the sound of the bell", "the bell"),
        "stars": ('"The big star shows the way,"', "{g} followed the big star", "the big star"),
    }[guide]
    if alone:
        t.say("{a} sat down and thought. " + follow[0].replace(',"', '!" {a.he} said.'))
    else:
        t.say(follow[0] + " {b.said}.")
    t.say(follow[1] + ".", "So " + follow[1] + ".", "Slowly, " + follow[1] + ".", g=t.person("a"))
    on_the_way(t, 0.4)
    t.say(
        "Soon {a} saw the house.",
        "After a long walk, {a} was home.",
        "At last, {a} came out of the forest and saw the village.",
    )
    t.say(
        '"How did you find the way?" {e.asked}. "{way} showed me the way," {a.answered}.',
        '{e} was [so |very |]glad. "I followed {way}," {a.said}.',
        way=follow[2],
    )
    t.say(
        "Then they ate and {a} told everything.",
        '"And here are the {reason}!" {a.said}.' if reason != "wood" else '"And here is the wood!" {a.said}.',
        "{a} did not forget {b}, and the next day brought {b.him} some {reason}."
        if not alone
        else "{a} never went so far alone again.",
        reason=reason,
    )
    ending(t, "If you are lost, stop and think.", "Home is the best place.", "Look for a sign, and you will find the way.")


def hide_and_seek(t: Tale) -> None:
    opening(t)
    t.add_person("b")
    t.add_person("c")
    t.topic = t.add_spot("s1")
    spots = [t.topic, t.add_spot("s2")]
    t.say(
        "{a} played hide and seek with {b.intro} and {c.intro}.",
        "There were also {b.intro} and {c.intro}. They wanted to play hide and seek.",
    )
    seeker, first, second = t.rng.sample("abc", 3)
    more = {"k": t.person(seeker), "f": t.person(first), "g": t.person(second), "one": spots[0], "two": spots[1]}
    number = t.rng.choice(("ten", "twelve", "eight", "five"))
    t.say(
        "{k} closed both eyes and counted to {number}.",
        "{k} had to count to {number}.",
        '"I will count to {number}," {k.said}.',
        number=number,
        **more,
    )
    t.say(
        "{f} hid {one}, and {g} hid {two}.",
        "{f} ran and hid {one}. {g} hid {two}.",
        **more,
    )
    t.maybe(0.5, '"I am coming!" {k.cried}.', "It was very quiet.", "Nobody made a sound.", **more)
    wrong = t.add_spot("s3")
    t.say(
        "{k} looked {wrong}, but nobody was there.",
        "First {k} looked {wrong}. Nobody!",
        wrong=wrong,
        **more,
    )
    t.say(
        "Then {k} looked {one} and found {f}.",
        '{f} laughed, so {k} looked {one}. "I found you, {f.name}!"',
        **more,
    )
    t.say(
        "Now only {g} was missing.",
        '"Where is {g.name}?" {k.asked}. "I will not tell," {f.answered}.',
        "But where was {g}?",
        **more,
    )
    if t.chance(0.5):
        t.say("They looked for a long time.", "{k} looked and looked.", "It began to get dark.", **more)
        t.say(
            "{g} had fallen asleep {two}.",
            "Then they found {g} {two}, fast asleep.",
            **more,
        )
        t.say('"You found me last, so I win," {g.said}.', '"Is the game over?" {g.asked}.', **more)
    else:
        t.say("At last, {k} looked {two}. There was {g}!", "Then {k} found {g} {two}.", **more)
        t.say('"You have good eyes," {g.said}.', '"That was fun," {g.said}.', **more)
    t.say(
        '"Where did you hide?" asked {e}. "I hid {one}, and {g.name} hid {two}," {f.answered}.',
        "After that, it was {f.s} turn to count.",
        '"Nobody will think of looking {one} again," {f.said}.',
        e=t.add_elder(),
        **more,
    )
    ending(t, "They played until the sun went down.", "Games are best with friends.", one_day=True)


def learning(t: Tale) -> None:
    skill = t.rng.choice(list(words.SKILLS))
    done, name = words.SKILLS[skill]
    t.topic = skill
    more = {"skill": skill, "done": done, "name": name}
    opening(t, place=False)
    t.say(
        "{a} wanted to learn to {skill}.",
        "All the others could {skill}, but {a} could not.",
        '"I want to {skill}," {a.said}.',
        **more,
    )
    if t.chance(0.5):
        t.add_person("b")
        intro = "{b.intro}"
    else:
        t.add_elder("b")
        intro = "{b}"
    t.say(
        f"{intro} showed {{a.him}} how." if intro == "{b}" else "{b.intro} showed {a.him} how.",
        '"Can you teach me?" {a.asked} {b.intro}.'.replace("{a.asked}", "{a} asked"),
        '{b.intro} said, "I will teach you."',
    )
    t.say(
        "The first time, it did not work[ at all|].",
        "{a} tried, but it was [too |very |]hard.",
        "At first, {a} only [fell down|laughed|got tired].",
    )
    feel(t, "a", t.rng.choice(("sad", "angry", "tired")))
    t.say(
        '"I will never learn it," {a.said}. "Yes, you will," {b.answered}.',
        '"I cannot do it," {a.said}. "Not yet," {b.answered}.',
        '"{name} is too hard for me," {a.said}. "Try again," {b.said}.',
        '{a} wanted to give up, but {b} said, "Try once more."',
        **more,
    )
    days = words.NUMBERS[t.rng.randint(2, 10)]
    t.say(
        "So {a} tried every day for {days} days.",
        "{a} tried again and again, for {days} days.",
        "{a} worked at it for {days} days.",
        days=days,
    )
    t.maybe(0.4, "Each day, it was a little easier.", "Some days were good, and some were bad.")
    t.say(
        "Then one day, {a} {done}!",
        "At last, {a} {done} all alone.",
        "And then it worked. {a} {done}!",
        **more,
    )
    t.say('"I did it!" {a.cried}.', '"Look, {b.name}, I can {skill}!" {a.cried}.', **more)
    feel(t, "a", t.rng.choice(("proud", "happy")))
    t.say(
        '"How long did it take?" {b.asked}. "{days} days," {a.answered}.',
        '"Do you remember the first day?" {b.asked}, and they both laughed.',
        '"You did not give up," {b.said}.',
        days=days,
    )
    if t.chance(0.5):
        t.add_person("c")
        t.say(
            'Later, {c.intro} wanted to {skill}, too. {a} said, "I will teach you, as {b.name} taught me."',
            "Now {a} could teach {c.intro} to {skill}.",
            **more,
        )
    ending(t, "Try again, and you will get better.", "Nobody is good at the start.", "Every day a little is a lot in the end.")


def rescue(t: Tale) -> None:
    opening(t)
    small, hurt = t.rng.choice(
        (
            ("bird", "a hurt wing"),
            ("kitten", "a hurt paw"),
            ("puppy", "a thorn in its paw"),
            ("duckling", "a hurt foot"),
            ("butterfly", "a wet wing"),
            ("baby owl", "a hurt wing"),
        )
    )
    t.topic = small
    t.cast["small"] = small
    color = t.rng.choice(("white", "gray", "brown", "black", "yellow"))
    t.cast["color"] = color
    spot = t.add_spot("s1")
    t.say(
        "There {a} heard a soft sound {spot}.",
        "{a} saw something move {spot}.",
        "Something cried {spot}.",
        spot=spot,
    )
    t.say(
        "It was a little {color} {small} with {hurt}.",
        "A small {color} {small} was there. It had {hurt}.",
        hurt=hurt,
    )
    t.say('"Do not be afraid," {a.said}.', '"You poor little {small}," {a.said}.', "{a} wanted to help it.")
    t.say(
        "{a} took it home in a [basket|box|hat].",
        "{a} carried it home [carefully|with care].",
        "{a} put it into a box with soft [straw|grass|leaves].",
    )
    t.add_elder()
    t.say(
        '"What shall I do, {e.name}?" {a.asked}. "Keep it warm and give it water," {e.answered}.',
        "{e} showed {a} what to do.",
        '"It needs rest," {e.said}.',
    )
    t.say(
        "{a} gave it [water|food|a warm bed] every day.",
        "Every [morning|evening], {a} looked after the {small}.",
        "At night, {a} got up to look at it.",
    )
    days = words.NUMBERS[t.rng.randint(3, 9)]
    t.say("After {days} days, the {small} was well.", "{days} days went by, and it got better.", days=days)
    t.say(
        "Then {a} brought it back to the place where it had been found: {spot}.",
        '"Now you must go home," {a.said}, and let it go {spot}.',
        spot=spot,
    ) if t.chance(0.5) else t.say("Then {a} let it go.", "One morning, it was time to let it go.")
    feel(t, "a", t.rng.choice(("happy", "sad", "glad")))
    t.say(
        "The {small} looked back once and was gone.",
        "For a moment, it stayed. Then it was gone.",
    )
    t.say(
        "But every [spring|morning|day], a {color} {small} came to {a.his} window.",
        "A week later, the {color} {small} came back to say hello.",
        "Sometimes {a} saw a {color} {small} and waved.",
    )
    t.say('"It has not forgotten you," {e.said}.', '"Look, it remembers you," {e.said}.', "{a} smiled.")
    ending(t, "Even the smallest needs a friend.", "To care for someone is to let them go.", "Kindness comes back.")


def newcomer(t: Tale) -> None:
    opening(t)
    b = t.add_person("b")
    t.topic = b.kind
    x = t.add_toy("x")
    t.say(
        "Somebody new had come to live there: {b.named}.",
        "That day, {b.named} was there. Nobody knew {b.him}.",
        "{b.named} had just moved there.",
    )
    t.say("{b} sat alone.", "{b} stood by a tree and did not speak.", "{b} was too shy to say a word.")
    t.say('"Nobody knows me here," {b} thought.', "{b} wanted to play, but did not dare to ask.", "{b} felt [very |]lonely.")
    t.say("{a} saw it and walked over.", "{a} thought for a moment and then went to {b}.", "But {a} had seen {b}.")
    t.say(
        '"Hello, I am {a.name}. What is your name?" {a.asked}. "{b.name}," {b.answered}.',
        '"What is your name?" {a.asked}. "My name is {b.name}," {b.answered}.',
    )
    own(t, "a", "x")
    t.say(
        '"Would you like to {x.use} with me?" {a.asked}.'
        if x.noun in ("kite", "wagon", "train", "ball", "marbles")
        else '"You can have a turn with my {x.noun}," {a.said}.',
        '"I will show you my {x.bare}," {a.said}.',
        "{a} showed {x.full} to {b}.",
    )
    t.maybe(0.6, "{b} began to smile.", '"Yes, please," {b.answered}.', '"That is kind," {b.said}.')
    t.say(
        "They took turns with {x.it} all [afternoon|day].",
        "First {a} {x.used}, and then {b} {x.used}.",
    )
    if t.chance(0.6):
        t.add_person("c")
        t.say(
            'Then {c.intro} came. "Who is that?" {c.asked}. "This is {b.name}, my new friend," {a.answered}.',
            '"Who is your new friend?" asked {c.intro}. "This is {b.name}," {a.answered}.',
        )
    t.say(
        '"This morning I was alone, and now I have a friend," {b.said}.',
        "{b} was not shy any more.",
        "When {b} went home, {b.he} was happy.",
    )
    t.say(
        "The next day, {b} waited for {a} {p.at}.",
        "After that, they met {p.at} every day.",
        "The next day, they met {p.at} again.",
    )
    ending(t, "A kind word can open a door.", "It only takes a small hello to make a friend.", "Everyone was new once.")


def night_noise(t: Tale) -> None:
    opening(t, place=False)
    cause, sound = t.rng.choice(
        (
            ("a branch that hit the window", "Tap, tap"),
            ("a mouse with a nut", "Crack, crack"),
            ("a door that moved in the wind", "Bang, bang"),
            ("the rain on the roof", "Drip, drop"),
            ("an owl in the tree", "Hoo, hoo"),
            ("the old clock", "Tick, tock"),
            ("the cat on the stairs", "Creak, creak"),
        )
    )
    t.topic = cause.split()[1]
    t.say("One night, {a} could not sleep.", "It was late, and {a} lay in bed.", "In the night, {a} woke up.")
    t.say('There was a noise. "{sound}!"', '"{sound}!" What was that?', '{a} heard something: "{sound}!"', sound=sound)
    t.say(
        '"Is it a [ghost|monster|wolf]?" {a.whispered}.',
        "{a} pulled the blanket over {a.his} head.",
        "{a} was afraid and held {a.his} pillow.",
    )
    t.add_person("b") if t.chance(0.25) else t.add_elder("b")
    t.say(
        "{a} woke {b.intro}, who was asleep in the next room.",
        '"Do you hear that, too?" {a} asked {b.intro}.',
        "Then {a} went to {b.intro} in the next room.",
    )
    t.say('"{sound}!" There it was again.', 'They listened. "{sound}!"', sound=sound)
    t.say(
        '"Let us look," {b.said}.',
        '"We will find out what it is," {b.said}.',
        '"I will go with you," {b.said}.',
    )
    t.say(
        "They took a [candle|lamp|light] and went [down the stairs|through the house|to the door].",
        "Slowly and quietly, they went to look.",
    )
    t.maybe(0.4, "{a} held on to {b}.", "It was dark, and their shadows were big.")
    t.say(
        "And what was it? It was only {cause}!",
        'They saw {cause}. "So that was it!" {a.said}.',
        "It was {cause}, and nothing else.",
        cause=cause,
    )
    t.say("They laughed and laughed.", "{a} had to laugh.", '"I was afraid of that!" {a.said}.')
    t.maybe(0.6, "Then they drank warm milk.", "{b} told a story, and then it was quiet.", "They went back to bed.")
    t.say(
        'Soon {a} was asleep. "{sound}," it went, but {a} was not afraid now.',
        "The next night, {a} heard it again and smiled, because it was only {cause}.",
        '"Good night," {b.said}. "{sound}," answered the night.',
        sound=sound,
        cause=cause,
    )
    ending(t, "Most things are not so bad when you look at them.", "In the light, fear is small.")


def picnic(t: Tale) -> None:
    opening(t, place=False)
    t.add_person("b")
    t.add_place("p", "meadow", "hill", "lake", "beach", "river", "park")
    foods = t.rng.sample(list(words.FOODS), 2)
    t.topic = foods[0]
    counts = [t.rng.randint(2, 6), t.rng.randint(2, 6)]
    one, two = (amount(n, food) for n, food in zip(counts, foods))
    t.say(
        "{a} and {b.intro} wanted to have a picnic {p.at}.",
        '"Let us have a picnic {p.at}!" {a} said to {b.intro}.',
        "It was a fine day for a picnic {p.at}, so {a} asked {b.intro} to come.",
    )
    t.say(
        "{a} brought {one}, and {b} brought {two}.",
        "In {a.his} basket, {a.he} had {one}, and {b} had {two}.",
        one=one,
        two=two,
    )
    on_the_way(t, 0.4, rain=False)
    t.say("They sat down on a [red|blue|white|green] blanket.", "They found a good place under a tree.")
    change = t.rng.choice(("rain", "guest", "ants"))
    if change == "rain":
        t.say("But then it began to rain.", "Just as they wanted to eat, rain came down.")
        t.say('"Our picnic!" {b.cried}.', "{b} was sad.", "{a} did not know what to do.")
        t.say(
            '"We can have it at home," {a.said}.',
            '"Let us go into the barn," {a.said}.',
            "Then {a} had an idea. They would eat [under a bridge|in the barn|at home].",
        )
        t.say("It was warm and dry there.", "There they heard the rain and were dry.")
    elif change == "guest":
        t.add_person("c")
        t.say("Then {c.intro} came by and looked at the food.", "Then {c.intro} came along. {c} was hungry.")
        t.say('"Sit down with us," {a.said}.', '"There is enough for three," {b.said}.')
        t.say("{c} was very glad.", '"How kind you are," {c.said}.')
    else:
        t.say("But there were ants everywhere!", "Soon the ants came, hundreds of them.")
        t.say('"They are hungry, too," {b.said}.', '"Oh no, not in my {food}!" {a.cried}.', food=foods[0])
        t.say(
            "They gave the ants one {food} and moved to another tree.",
            "{a} left one {food} for the ants, and they moved on.",
            food=foods[0],
        )
    t.say("They ate everything.", "They ate and talked and laughed.", "All the food was eaten.")
    t.say(
        '"Who brought the {many}?" asked {e} later. "I did," {a.answered}.',
        '"What did you eat?" asked {e} in the evening. "{first} and {second}," {b.answered}.',
        "The {many} that {a} had brought were the best.",
        "{b} liked {a.s} {many} best.",
        many=words.PLURALS[foods[0]],
        first=words.PLURALS[foods[0]],
        second=words.PLURALS[foods[1]],
        e=t.add_elder(),
    )
    ending(t, "A picnic is good in any weather." if change == "rain" else "Food is best with friends.", one_day=True)


def snowman(t: Tale) -> None:
    opening(t, place=False)
    t.say(
        "One winter morning, everything was white.",
        "It had snowed all night.",
        '"It is snowing!" {a.cried}.',
    )
    t.add_person("b")
    t.say("{a} ran out and met {b.intro}.", "{b.intro} was outside, too.", "{a} called {b.intro} to come out.")
    t.say('"Let us build a snowman," {a.said}.', "They wanted to build a snowman.", '"Shall we build a snowman?" {b.asked}.')
    eyes, nose, hat = (
        t.rng.choice(("buttons", "stones", "nuts")),
        t.rng.choice(("carrot", "stick", "candle")),
        f"{t.rng.choice(words.COLORS)} {t.rng.choice(('hat', 'scarf', 'bucket'))}",
    )
    t.topic = hat.split()[1]
    eye_giver, hat_giver = t.rng.sample("ab", 2)
    more = {"f": t.person(eye_giver), "g": t.person(hat_giver), "eyes": eyes, "nose": nose, "hat": hat}
    t.say("They rolled [three|two] big balls of snow.", "They made a big ball, and then a smaller one.")
    t.say(
        "{f} brought two {eyes} for the eyes, and {g} found a {nose} for the nose.",
        "For the eyes, {f} had two {eyes}. For the nose, {g} brought a {nose}.",
        **more,
    )
    t.say("{g} gave the snowman a {hat}.", "Last of all, {g} brought a {hat}.", **more)
    t.maybe(0.5, "It was the best snowman in the village.", "The snowman seemed to smile.", "Their hands were cold.")
    t.say("Everyone came to look.", "{w} came by and laughed.", w=t.add_worker("w"))
    t.say(
        '"Who gave it the {hat}?" {w.asked}. "{g.name} did," {f.answered}.',
        '"Where did you get the {eyes}?" {w.asked}. "I brought them," {f.answered}.',
        **more,
    )
    t.say(
        "But after some days, the sun was warm.",
        "Then spring came.",
        "A week later, it got warmer.",
    )
    t.say("The snowman got smaller and smaller.", "The snow melted, and the snowman was gone.")
    t.say("{s} was sad.", '"Our snowman is gone," {s} said sadly.', s=t.person(t.rng.choice("ab")))
    t.say(
        "In the grass lay two {eyes}, a {nose} and a {hat}.",
        "All that was left were two {eyes}, a {nose} and a {hat}.",
        **more,
    )
    t.say(
        '{g} took the {hat} home. "For the next snowman," {g.he} said.',
        '"We will need them next winter," {f.said}, and they kept everything.',
        **more,
    )
    ending(t, "The snow will come again.", "Some things do not stay, but we can remember them.")


PLOTS = (
    promise,
    helper,
    race,
    riddle,
    storm,
    fear,
    wish,
    sick_friend,
    lost_in_wood,
    hide_and_seek,
    learning,
    rescue,
    newcomer,
    night_noise,
    picnic,
    snowman,
)
