"""Train tinytales, the course's own model, on stories that stories/ writes as it goes.

    python data/train_tinytales.py large     # about 3.6 million parameters: half an hour on 2 cores
    python data/train_tinytales.py draft     # a tenth of it, the same vocabulary: ten minutes

Run it again after an interruption, and it goes on from its last checkpoint. The result lands in data/tinytales/NAME, a folder
in Hugging Face's own format; checkpoints and the log of losses in build/tinytales. After a change to the stories, delete both.

Next-token prediction, in bfloat16 where the products are: Muon (Jordan et al. 2024) for the matrices, AdamW for the embedding
and the norms, a learning rate that warms up and then falls to zero. Two choices matter for a model that is so small and reads
so little. After 200 steps Muon had taken the held-out loss to 1.2, AdamW alone to 2.3. And the heads start as heads that copy
(`first_weights`): from plain random weights, 300 steps had not taught the model to repeat a name of its own story.
"""

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch
from safetensors.torch import save_file
from stories import stories
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

from llmlite.tokenizer import PATTERNS, Tokenizer, byte_symbols, pre_tokenize, train
from llmlite.transformer import Config, Transformer, count_parameters

END = "<|endoftext|>"
CHAT = "{{ messages | map(attribute='content') | join(' ') }}"  # it can only go on with a story
WIDTH = {"vocab_size": 1536, "head_dim": 32, "max_position_embeddings": 512, "tie_word_embeddings": True}
CONFIGS = {
    "large": Config(
        hidden_size=256, intermediate_size=448, num_hidden_layers=6, num_attention_heads=8, num_key_value_heads=4, **WIDTH
    ),
    "draft": Config(
        hidden_size=128, intermediate_size=192, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, **WIDTH
    ),
}
STEPS = {"large": 1600, "draft": 3000}
MATRIX_RATE, OTHER_RATE = 0.02, 3e-3  # peak learning rates
SHAPES = (16, 256), (8, 512)  # rows and tokens of a batch: short rows first, whole stories in the last fifth of the steps
SEED = 1  # of the stories and of the first weights
DATA = Path(__file__).parent / "tinytales"
BUILD = Path(__file__).parents[1] / "build" / "tinytales"


@cache
def tokenizer() -> Tokenizer:
    """The vocabulary, from an earlier run's file or learned from 5,000 stories: 256 bytes, 1,279 merges, the end of a story."""
    if (file := DATA / "large" / "tokenizer.json").is_file():
        return Tokenizer.from_json(json.loads(file.read_text(encoding="utf-8")))
    text = chain.from_iterable(pre_tokenize(story, PATTERNS["gpt-2"]) for story in stories(SEED, 5000))
    merges = train((piece.encode() for piece in text), WIDTH["vocab_size"] - 257)
    return Tokenizer.from_merges(merges, "gpt-2", [END])


@cache
def piece_ids(piece: str) -> list[int]:
    return tokenizer().encode(piece)


def story_ids(story: str) -> list[int]:
    """A story's tokens and its end, as tokenizer().encode gives them; the few different pieces are merged only once."""
    pieces = pre_tokenize(story, PATTERNS["gpt-2"])
    return [*chain.from_iterable(map(piece_ids, pieces)), len(tokenizer()) - 1]


def next_batch(texts: Iterator[str], rows: int, tokens: int) -> Tensor:
    """Ids (rows, tokens + 1). A row begins with a story's beginning and is filled with stories; the last one is cut off."""
    batch = []
    for _ in range(rows):
        row: list[int] = []
        while len(row) <= tokens:
            row += story_ids(next(texts))
        batch.append(row[: tokens + 1])
    return torch.tensor(batch)


def first_weights(config: Config) -> Transformer:
    """Random weights, from a fixed seed, that keep the size of what passes through them.

    A head's output projection is its value projection transposed: what it looks at, it makes likelier to be said, and all that
    is left to learn is where to look. (Mimetic initialization, Trockman and Kolter 2023, starts from such products too.)
    """
    model, generator = Transformer(config), torch.Generator().manual_seed(SEED)
    group = config.num_attention_heads // config.num_key_value_heads
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.dim() == 1:
                weight.fill_(1.0)  # the norms
                continue
            size = 0.1 if name == "embed_tokens.weight" else weight.shape[1] ** -0.5
            deep = name.endswith("down_proj.weight")  # many of them add up in the residual stream
            weight.normal_(0, size / math.sqrt(2 * config.num_hidden_layers) if deep else size, generator=generator)
        for layer in model.layers:
            values = layer.self_attn.v_proj.weight.view(config.num_key_value_heads, config.head_dim, -1)
            layer.self_attn.o_proj.weight.copy_(values.repeat_interleave(group, dim=0).flatten(0, 1).T)
    return model


def half_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """Chapter 03's attention in bfloat16, but for the softmax: the quickest way to train here at 256 tokens."""
    group = q.shape[1] // k.shape[1]
    q, k, v = (x.bfloat16() for x in (q, k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)))
    scores = (q @ k.transpose(-1, -2)).float() * q.shape[-1] ** -0.5  # (rows, heads, tokens, tokens)
    future = torch.full(scores.shape[-2:], -math.inf).triu(1)
    return (scores + future).softmax(-1).bfloat16() @ v


def loss_of(model: Transformer, batch: Tensor) -> Tensor:
    """Mean surprise, in nats, at each next token."""
    products = torch.autocast("cpu", torch.bfloat16)
    with patch("llmlite.transformer.grouped_query_attention", half_attention), products:
        logits = model(batch[:, :-1])  # (rows, tokens, vocab_size)
    return F.cross_entropy(logits.flatten(0, 1).float(), batch[:, 1:].flatten())


def rate(step: int, steps: int) -> float:
    """The share of the peak learning rate at a step: up over the first 4 %, then straight down to zero."""
    warm = max(1, steps // 25)
    return (step + 1) / warm if step < warm else (steps - step) / (steps - warm)


def optimizers_of(model: Transformer) -> list[torch.optim.Optimizer]:
    """Each remembers its peak rate."""
    matrices = [p for p in model.layers.parameters() if p.dim() == 2]
    others = [*model.embed_tokens.parameters(), *(p for p in model.parameters() if p.dim() == 1)]
    muon = torch.optim.Muon([{"params": matrices, "peak": MATRIX_RATE}], lr=MATRIX_RATE, momentum=0.95, weight_decay=0.01)
    adamw = torch.optim.AdamW([{"params": others, "peak": OTHER_RATE}], lr=OTHER_RATE, betas=(0.9, 0.95), weight_decay=0.0)
    return [muon, adamw]


class Stories:
    """The endless stream of training stories, which counts what it has handed out, so that a later run can go on behind it."""

    def __init__(self, skip: int = 0) -> None:
        self.texts, self.count = islice(stories(SEED, 10**9), skip, None), skip

    def __iter__(self) -> "Stories":
        return self

    def __next__(self) -> str:
        self.count += 1
        return next(self.texts)


@torch.no_grad()
def held_out_loss(model: Transformer, stories_used: int = 64) -> float:
    """Mean loss on the first of the stories that training never sees."""
    texts = iter((DATA / "held_out.txt").read_text(encoding="utf-8").split(f"\n{END}\n")[:stories_used])
    rows = [row for text in texts if len(row := story_ids(text)[: SHAPES[1][1]]) > 1]
    losses = [(loss_of(model, torch.tensor([row])).item(), len(row) - 1) for row in rows]
    return sum(loss * count for loss, count in losses) / sum(count for _, count in losses)


def train_model(name: str, steps: int) -> Transformer:
    """Train to the end, from the last checkpoint where there is one; the log gets a line of losses every 50 steps."""
    model, checkpoint, log = first_weights(CONFIGS[name]), BUILD / f"{name}.pt", BUILD / f"{name}.jsonl"
    optimizers, texts, first = optimizers_of(model), Stories(), 0
    if checkpoint.is_file():
        saved = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(saved["model"])
        for optimizer, state in zip(optimizers, saved["optimizers"]):
            optimizer.load_state_dict(state)
        texts, first = Stories(saved["stories"]), saved["steps"]
    losses: list[float] = []
    bar = tqdm(range(first, steps), initial=first, total=steps, desc=name, unit="step")
    for step in bar:
        for group in chain.from_iterable(optimizer.param_groups for optimizer in optimizers):
            group["lr"] = group["peak"] * rate(step, steps)
        loss = loss_of(model, next_batch(texts, *SHAPES[step >= 0.8 * steps]))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
        losses.append(loss.item())
        bar.set_postfix(loss=f"{losses[-1]:.3f}")
        if (step + 1) % 50 == 0 or step + 1 == steps:
            done = {"steps": step + 1, "stories": texts.count}
            with log.open("a", encoding="utf-8") as file:
                means = {"train": sum(losses) / len(losses), "held_out": held_out_loss(model)}
                file.write(json.dumps(done | means) + "\n")
            losses = []
            state = {"model": model.state_dict(), "optimizers": [optimizer.state_dict() for optimizer in optimizers]}
            torch.save(state | done, checkpoint.with_suffix(".part"))
            checkpoint.with_suffix(".part").replace(checkpoint)  # whole or not at all
    return model


def tokenizer_json() -> dict[str, Any]:
    """The tokenizer as Hugging Face's tokenizer.json describes one: tokens written in printable stand-ins for their bytes."""
    known, symbol = tokenizer(), {byte: char for char, byte in byte_symbols().items()}
    names = ["".join(symbol[byte] for byte in token) for token in known.vocab[:-1]]
    end = {"id": len(names), "content": END, "special": True, "normalized": False}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [end | dict.fromkeys(("lstrip", "rstrip", "single_word"), False)],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "vocab": {name: i for i, name in enumerate(names)},
            "merges": [[names[a], names[b]] for a, b in known.merges],
        },
    }


def write_tokenizer(name: str) -> None:
    """Write the files of a folder that transformers opens as it is, all but the weights."""
    folder, config = DATA / name, CONFIGS[name]
    folder.mkdir(parents=True, exist_ok=True)
    end = len(tokenizer()) - 1
    keep = [field for field in asdict(config) if not field.endswith("bias") and field not in ("qk_norm", "rope_scaling")]
    about = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu", "dtype": "bfloat16"}
    about |= {field: getattr(config, field) for field in keep} | {"bos_token_id": None, "eos_token_id": end}
    options = {"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": END, "model_max_length": 512, "chat_template": CHAT}
    for file, content in {"config.json": about, "tokenizer.json": tokenizer_json(), "tokenizer_config.json": options}.items():
        (folder / file).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def write_weights(model: Transformer, name: str) -> None:
    """Write the weights, rounded to bfloat16, which halves the file."""
    weights = {key: value.bfloat16().contiguous() for key, value in model.state_dict().items()}
    save_file(weights, DATA / name / "model.safetensors", metadata={"format": "pt"})


def main() -> None:
    parser = argparse.ArgumentParser(description="Train tinytales, the course's own model.")
    parser.add_argument("name", choices=CONFIGS)
    parser.add_argument("--steps", type=int, help="in all, where not as many as the model has had (1,600 and 3,000)")
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    print(f"{args.name}: {count_parameters(CONFIGS[args.name]):,} parameters")
    write_tokenizer(args.name)
    write_weights(train_model(args.name, args.steps or STEPS[args.name]), args.name)


if __name__ == "__main__":
    main()
