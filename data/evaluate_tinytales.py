"""How well do the models of the stories predict stories they have never seen, and how well does a table of counts?

    python data/evaluate_tinytales.py

Perplexity per token on data/tinytales/held_out.txt, where each story follows the end of another one. Beside the models stand
n-gram baselines over the same tokens and from as much text as the models were trained on: what can be had by remembering the
last few tokens, and nothing else.
"""

import argparse
import math
from collections import Counter, defaultdict
from collections.abc import Iterable

import torch
from stories import stories
from torch.nn import functional as F
from tqdm import tqdm
from train_tinytales import DATA, END, SEED, story_ids

import llmlite
from llmlite import LLM

MODELS = ("tinytales", "tinytales-draft")
ORDERS = (2, 3, 4, 5)


def held_out() -> list[list[int]]:
    """The ids of every held-out story, from the end token before it to the end token after it."""
    texts = (DATA / "held_out.txt").read_text(encoding="utf-8").strip().removesuffix(END).split(f"\n{END}\n")
    rows = [story_ids(text.strip()) for text in texts]
    return [[row[-1], *row] for row in rows]


class NGram:
    """Counts of up to n tokens; each order is smoothed with the one below it, the lowest with 1 / vocabulary.

    Witten and Bell 1991: p(w | h) = (c(h, w) + t(h) p(w | h')) / (c(h) + t(h)), where c counts, t(h) is how many different
    tokens have followed the history h, and h' is h without its first token.
    """

    def __init__(self, n: int, vocab_size: int) -> None:
        self.n, self.vocab_size = n, vocab_size
        self.counts: defaultdict[tuple[int, ...], Counter[int]] = defaultdict(Counter)

    def learn(self, row: list[int]) -> None:
        """Count a story, which begins with an end token."""
        for i in range(1, len(row)):
            for length in range(min(i, self.n - 1) + 1):
                self.counts[tuple(row[i - length : i])][row[i]] += 1

    def probability(self, history: tuple[int, ...], token: int) -> float:
        """p(token | history); at most the last n - 1 tokens of the history count."""
        result = 1 / self.vocab_size
        for length in range(min(len(history), self.n - 1) + 1):
            followers = self.counts.get(history[len(history) - length :])
            if followers is None:
                break  # a longer history has not been seen either
            total, different = followers.total(), len(followers)
            result = (followers[token] + different * result) / (total + different)
        return result

    def surprise(self, row: list[int]) -> float:
        """The sum over a story's tokens of -ln p, in nats."""
        return -sum(math.log(self.probability(tuple(row[max(0, i - self.n + 1) : i]), row[i])) for i in range(1, len(row)))


@torch.inference_mode()
def model_surprise(llm: LLM, row: list[int]) -> float:
    """The same sum for a model."""
    ids = torch.tensor([row])
    return F.cross_entropy(llm.model(ids[:, :-1])[0].float(), ids[0, 1:], reduction="sum").item()


def perplexity(surprises: Iterable[float], rows: list[list[int]]) -> float:
    """exp of the mean surprise per token."""
    return math.exp(sum(surprises) / sum(len(row) - 1 for row in rows))


def main() -> None:
    parser = argparse.ArgumentParser(description="Perplexity of the models of the stories, and of n-gram baselines.")
    parser.add_argument("--stories", type=int, default=20_000, help="how many the n-grams count (default 20,000)")
    args = parser.parse_args()
    rows = held_out()
    print(f"{len(rows)} held-out stories, {sum(len(row) - 1 for row in rows):,} tokens, perplexity per token")
    training = [[row[-1], *row] for row in map(story_ids, tqdm(stories(SEED, args.stories), total=args.stories, leave=False))]
    for n in ORDERS:
        table = NGram(n, 1536)
        for row in training:
            table.learn(row)
        print(f"{n}-gram, {args.stories:,} stories: {perplexity(map(table.surprise, rows), rows):.3f}")
    for name in MODELS:
        llm = llmlite.load(name)
        print(f"{name}: {perplexity((model_surprise(llm, row) for row in rows), rows):.3f}")


if __name__ == "__main__":
    main()
