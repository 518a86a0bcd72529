"""Very short English stories from a small simulated world, all from one seed.

`tales(seed, count)` gives the stories of the training part, `tales(seed, count, held_out=True)` those of the held-out part.
The two differ by content: a combination of plot, hero and topic belongs to one of them, for every seed.
"""

import zlib
from collections.abc import Iterator
from random import Random

from . import plots_people, plots_things
from .tale import Tale

PLOTS = {plot.__name__: plot for plot in (*plots_things.PLOTS, *plots_people.PLOTS)}
HELD_OUT_SHARE = 16
"""One combination in so many is held out."""


def is_held_out(combination: str) -> bool:
    """Whether a combination is never seen in training: a rule on its words alone."""
    return zlib.crc32(combination.encode()) % HELD_OUT_SHARE == 0


def tell(rng: Random, plot: str = "") -> Tale:
    """Tell one story; without a name, of a plot drawn at random."""
    name = plot or rng.choice(list(PLOTS))
    tale = Tale(rng, name)
    tale.add_person("a")
    PLOTS[name](tale)
    return tale


def tales(seed: int, count: int, *, held_out: bool = False) -> Iterator[Tale]:
    """The first `count` stories of this seed whose combinations are (or are not) held out."""
    index = 0
    while count > 0:
        tale = tell(Random(f"{seed}:{index}"))
        index += 1
        if is_held_out(tale.combination) == held_out:
            count -= 1
            yield tale


def stories(seed: int, count: int, *, held_out: bool = False) -> Iterator[str]:
    """The texts of `tales`."""
    for tale in tales(seed, count, held_out=held_out):
        yield tale.text
