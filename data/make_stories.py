"""Write the stories that tinytales is trained on.

    python data/make_stories.py --stories 60000 --seed 1 --out DIR

writes DIR/train.txt and DIR/held_out.txt (about 300 kilobytes), with a line <|endoftext|> after every story. The same
seed gives the same files on every machine. Only the standard library is needed.
"""

import argparse
from collections.abc import Iterable
from pathlib import Path

from stories import stories

END = "<|endoftext|>"
HELD_OUT_BYTES = 300_000


def write(path: Path, texts: Iterable[str], limit: int | None = None) -> int:
    """Write whole stories, up to `limit` bytes, and say how many there are."""
    size = count = 0
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for text in texts:
            entry = f"{text}\n{END}\n"
            size += len(entry.encode())
            if limit is not None and size > limit:
                break
            file.write(entry)
            count += 1
    return count


def main() -> None:
    parser = argparse.ArgumentParser(description="Write the stories that tinytales is trained on.")
    parser.add_argument("--stories", type=int, default=60_000, help="how many stories to train on")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="the folder for train.txt and held_out.txt")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    told = write(args.out / "train.txt", stories(args.seed, args.stories))
    kept = write(args.out / "held_out.txt", stories(args.seed, args.stories, held_out=True), HELD_OUT_BYTES)
    print(f"{told} stories in {args.out / 'train.txt'}, {kept} held out in {args.out / 'held_out.txt'}")


if __name__ == "__main__":
    main()
