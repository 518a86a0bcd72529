"""Write tests/golden_tinytales.json: 200 tokens of each embedded model, chosen by transformers and not by this engine.

    python tools/golden_tinytales.py

Greedy decoding on the CPU in float32, from the first of a few prompts on whose way no two candidates come closer than MARGIN,
so that rounding on another machine cannot change the choice. The tokens go on behind the end of a story.
"""

import json
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from llmlite.fetch import EMBEDDED, embedded_path

HEROES = ("girl", "boy", "fox", "rabbit", "duck", "bear", "mouse", "dog", "cat", "frog", "goat", "pony", "lamb")
PROMPTS = [f"Once upon a time, there was a little {hero} named" for hero in HEROES]
COUNT, MARGIN = 200, 0.01


def main() -> None:
    golden = {}
    for name in EMBEDDED:
        model = AutoModelForCausalLM.from_pretrained(embedded_path(name), dtype=torch.float32).eval()
        tokenizer = AutoTokenizer.from_pretrained(embedded_path(name))
        for prompt in PROMPTS:
            given, margin = tokenizer(prompt, return_tensors="pt")["input_ids"], float("inf")
            ids, start = given, given.shape[1]
            with torch.inference_mode():
                for _ in range(COUNT):
                    best = model(ids).logits[0, -1].topk(2)
                    margin = min(margin, (best.values[0] - best.values[1]).item())
                    ids = torch.cat([ids, best.indices[None, :1]], dim=1)
            print(f"{name}: {prompt!r}, narrowest margin {margin:.4f}")
            if margin > MARGIN:
                golden[name] = {"prompt": prompt, "ids": ids[0, start:].tolist()}
                break
    file = Path(__file__).resolve().parents[1] / "tests" / "golden_tinytales.json"
    file.write_text(json.dumps(golden) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
