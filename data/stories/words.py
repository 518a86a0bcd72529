"""The lexicon: everything in the world of the stories that has a name, and the words that fit it."""


def _listed(text: str) -> list[str]:
    return text.split()


GIRLS = _listed("Lily Anna Mia Sara Emma Rosa Nora Lucy Maya Zoe Ella Ruby Ivy Clara Amy Kate Nina Leila Hana Tess")
BOYS = _listed("Tom Ben Max Sam Leo Jack Noah Omar Finn Hugo Theo Adam Luca Paul Amir Nick Kofi Oscar Peter Ravi")
HE_ANIMALS = _listed("Pip Bruno Toby Otto Rusty Monty Barney Felix")
SHE_ANIMALS = _listed("Daisy Hazel Poppy Penny Luna Coco Dot Olive")

ANIMALS: dict[str, tuple[str, ...]] = {
    "fox": ("small red", "clever red", "young brown"),
    "rabbit": ("small white", "little gray", "quick brown"),
    "bear": ("big brown", "young black", "sleepy brown"),
    "mouse": ("tiny gray", "small brown", "little white"),
    "duck": ("small yellow", "little white", "young brown"),
    "cat": ("soft gray", "little black", "young orange"),
    "dog": ("big brown", "little black", "friendly white"),
    "frog": ("small green", "little green", "tiny green"),
    "squirrel": ("quick red", "little gray", "small brown"),
    "hedgehog": ("small brown", "shy little", "tiny brown"),
    "goat": ("young white", "small gray", "cheerful brown"),
    "pony": ("small brown", "gentle white", "young gray"),
    "turtle": ("slow green", "old green", "small green"),
    "lamb": ("small white", "little black", "soft white"),
    "badger": ("young gray", "sleepy gray", "big gray"),
}
"""Kinds of animals, and the adjectives of each."""

ANIMAL_HOMES: dict[str, tuple[str, ...]] = {
    "duck": ("by a quiet pond", "in a nest by the lake"),
    "frog": ("by a quiet pond", "under a bridge"),
    "turtle": ("by a quiet pond", "near the lake"),
    "pony": ("on a farm", "in a red barn"),
    "goat": ("on a farm", "on a green hill"),
    "lamb": ("on a farm", "on a green hill"),
    "cat": ("in a little house with a blue door", "on a farm"),
    "dog": ("in a little house with a blue door", "on a farm"),
}
WILD_HOMES = ("under a big oak tree", "at the edge of the forest", "in a cozy hole in the hill", "deep in the forest")
CHILD_HOMES = (
    "in a small house by the river",
    "in a little town by the sea",
    "in a village between two hills",
    "on a farm with a red barn",
    "near the old mill",
    "in a house with a blue door",
    "at the end of a long street",
)

TRAITS = _listed("kind brave shy curious clever gentle cheerful quiet patient careful helpful friendly lively")
LIKES = (
    "sing",
    "paint pictures",
    "climb trees",
    "tell stories",
    "look at the stars",
    "dance",
    "count things",
    "listen to the birds",
    "ask questions",
    "play outside",
    "help others",
    "build things",
    "run fast",
    "pick flowers",
)

ELDERS = {"Mom": "she", "Dad": "he", "Grandma": "she", "Grandpa": "he", "Aunt May": "she", "Uncle Joe": "he"}
WORKERS = {
    "the baker": "she",
    "the farmer": "he",
    "the miller": "he",
    "the teacher": "she",
    "the gardener": "she",
    "the fisherman": "he",
    "the shopkeeper": "he",
    "the painter": "she",
}

COLORS = _listed("red blue green yellow white black brown orange purple pink gray golden silver")
SIZES = _listed("big small little tiny large")

# noun: (adjectives beside the colours and sizes, what one does with it, and the same in the past)
TOYS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "ball": (("round", "rubber"), "bounce it", "bounced it"),
    "kite": (("paper", "bright"), "fly it", "flew it"),
    "drum": (("wooden", "loud"), "play it", "played it"),
    "book": (("thick", "old"), "read it", "read it"),
    "boat": (("wooden", "paper"), "sail it on the water", "sailed it on the water"),
    "bell": (("shiny", "old"), "ring it", "rang it"),
    "scarf": (("warm", "woolen"), "wear it", "wore it"),
    "hat": (("straw", "woolen"), "wear it", "wore it"),
    "whistle": (("tin", "shiny"), "blow it", "blew it"),
    "puppet": (("wooden", "funny"), "make it dance", "made it dance"),
    "doll": (("soft", "wooden"), "sing to it", "sang to it"),
    "wagon": (("wooden", "strong"), "pull it along", "pulled it along"),
    "flute": (("wooden", "thin"), "play it", "played it"),
    "rope": (("long", "strong"), "jump with it", "jumped with it"),
    "top": (("wooden", "round"), "spin it", "spun it"),
    "blanket": (("soft", "warm"), "sit on it", "sat on it"),
    "umbrella": (("old", "wide"), "walk under it", "walked under it"),
    "lantern": (("bright", "tin"), "light it", "lit it"),
    "coat": (("warm", "long"), "wear it", "wore it"),
    "train": (("wooden", "tin"), "push it along", "pushed it along"),
}
PAIRS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "boots": (("warm", "shiny"), "wear them", "wore them"),
    "mittens": (("warm", "woolen"), "wear them", "wore them"),
    "marbles": (("glass", "shiny"), "roll them", "rolled them"),
    "crayons": (("thick", "bright"), "draw with them", "drew with them"),
    "skates": (("old", "shiny"), "skate with them", "skated with them"),
    "blocks": (("wooden", "bright"), "build with them", "built with them"),
}
"""Things that are always many: they are, they were, wear them."""

TREASURES: dict[str, tuple[str, ...]] = {
    "ring": ("shiny", "old"),
    "map": ("old", "paper"),
    "letter": ("long", "old"),
    "picture": ("old", "pretty"),
    "music box": ("tiny", "old"),
    "necklace": ("shiny", "pretty"),
    "clock": ("old", "round"),
    "feather": ("soft", "long"),
    "button": ("round", "shiny"),
    "stone": ("smooth", "round"),
    "shell": ("smooth", "pretty"),
}
FRAGILE: dict[str, tuple[str, ...]] = {
    "cup": ("pretty", "thin"),
    "plate": ("round", "pretty"),
    "vase": ("tall", "glass"),
    "bowl": ("round", "pretty"),
    "jar": ("glass", "round"),
    "lamp": ("pretty", "old"),
}

FOODS = {
    "apple": "apples",
    "pear": "pears",
    "plum": "plums",
    "nut": "nuts",
    "cookie": "cookies",
    "carrot": "carrots",
    "bun": "buns",
    "cherry": "cherries",
    "berry": "berries",
    "peach": "peaches",
}
FINDS = {
    "shell": "shells",
    "stone": "stones",
    "button": "buttons",
    "flower": "flowers",
    "feather": "feathers",
    "marble": "marbles",
    "leaf": "leaves",
    "acorn": "acorns",
    "ribbon": "ribbons",
}
PLURALS = {**FOODS, **FINDS, "coin": "coins", "balloon": "balloons", "seed": "seeds", "egg": "eggs"}
MEALS = ("cake", "pie", "loaf of bread", "honey cake", "piece of cheese", "sandwich", "pancake")
NUMBERS = _listed("zero one two three four five six seven eight nine ten eleven twelve")

PLACES: dict[str, str] = {
    "garden": "in",
    "park": "in",
    "forest": "in",
    "meadow": "in",
    "barn": "in",
    "yard": "in",
    "orchard": "in",
    "field": "in",
    "pond": "at",
    "mill": "at",
    "market": "at",
    "river": "at",
    "lake": "at",
    "beach": "at",
    "farm": "at",
    "well": "at",
    "bridge": "on",
    "hill": "on",
}
"""Places, with the preposition that says where somebody is: in the garden, at the pond, on the hill."""

SPOTS_OUTSIDE = (
    "under the old oak tree",
    "behind the fence",
    "in the tall grass",
    "under a pile of leaves",
    "beside the path",
    "behind a big stone",
    "near the old gate",
    "between two bushes",
    "under the bench",
    "in a hollow tree",
    "under the little bridge",
    "behind a bush",
)
SPOTS_INSIDE = (
    "under the bed",
    "behind the door",
    "on the top shelf",
    "under the table",
    "in the kitchen",
    "under the stairs",
    "behind the curtain",
    "under the blanket",
    "behind the books",
    "in the attic",
)
"""Where a thing can be hidden or found."""

SKILLS: dict[str, tuple[str, str]] = {
    "swim": ("swam", "swimming"),
    "whistle": ("whistled", "whistling"),
    "skate": ("skated", "skating"),
    "ride a bike": ("rode the bike", "riding a bike"),
    "climb a rope": ("climbed the rope", "climbing a rope"),
    "bake bread": ("baked a loaf of bread", "baking bread"),
    "play the flute": ("played the flute", "playing the flute"),
    "throw a ball": ("threw the ball", "throwing a ball"),
    "tie a knot": ("tied the knot", "tying a knot"),
    "row a boat": ("rowed the boat", "rowing a boat"),
    "jump over the stream": ("jumped over the stream", "jumping over the stream"),
    "read": ("read a whole page", "reading"),
}
"""Skills: what one learns, what one did in the end, and the name of the skill."""
