"""Write data/smollm2_reference.json: logits of SmolLM2 as others compute them from the course's GGUF file.

Nothing of llmlite's reading or computing takes part: the gguf package reads and decodes the file, and the Llama of transformers
runs in float32. (transformers can read GGUF files by itself only with the accelerate package.) Only the token ids are given.
Run it with the test dependencies installed: python tools/reference_logits.py
"""

import json
from pathlib import Path
from typing import Any

import gguf
import numpy as np
import torch
from transformers import LlamaConfig, LlamaForCausalLM

from llmlite.fetch import fetch

DATA = Path(__file__).resolve().parents[1] / "data" / "smollm2_reference.json"
PROMPTS = {
    "The capital of France is": [504, 3575, 282, 4649, 314],
    "Once upon a time, there was a": [6403, 1980, 253, 655, 28, 665, 436, 253],
    "def add(a, b):\n    return": [1604, 803, 24, 81, 28, 278, 727, 472, 1003],
}
EVERY = 1536  # beside the 20 highest, the logits of ids 0, 1536, 3072, ... are kept


def load(path: Path) -> LlamaForCausalLM:
    """The Llama of transformers with the tensors of a GGUF file, decoded by the gguf package."""
    reader = gguf.GGUFReader(path)

    def field(name: str) -> Any:
        return reader.fields[f"llama.{name}"].contents()

    config = LlamaConfig(
        vocab_size=field("vocab_size"),
        hidden_size=field("embedding_length"),
        intermediate_size=field("feed_forward_length"),
        num_hidden_layers=field("block_count"),
        num_attention_heads=field("attention.head_count"),
        num_key_value_heads=field("attention.head_count_kv"),
        max_position_embeddings=field("context_length"),
        rms_norm_eps=field("attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_type": "default", "rope_theta": field("rope.freq_base")},
        tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config).eval()
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    heads = {"q_proj": config.num_attention_heads, "k_proj": config.num_key_value_heads}
    for name, parameter in model.named_parameters():
        tensor = tensors.pop(names.get_name(name, try_suffixes=(".weight",)))
        weight, part = gguf.quants.dequantize(tensor.data, tensor.tensor_type), name.split(".")[-2]
        if part in heads:
            weight = half_split(weight, len(weight) // heads[part])
        parameter.data = torch.from_numpy(np.array(weight))
    assert not tensors, f"left over: {list(tensors)}"
    return model


def half_split(weight: np.ndarray, size: int) -> np.ndarray:
    """Rows that llama.cpp's converter interleaved within heads of `size` rows, back in transformers' order."""
    return weight[[start + i for start in range(0, len(weight), size) for first in (0, 1) for i in range(first, size, 2)]]


def reference() -> dict[str, Any]:
    """For each prompt its ids, and logits after its last token by id: the 20 highest, and one in every 1536."""
    path = fetch("smollm2")
    model = load(path)
    prompts = []
    for text, ids in PROMPTS.items():
        with torch.inference_mode():
            logits = model(torch.tensor([ids])).logits[0, -1]
        chosen = dict.fromkeys(logits.topk(20).indices.tolist() + list(range(0, len(logits), EVERY)))
        prompts.append({"text": text, "ids": ids, "logits": {str(i): round(float(logits[i]), 5) for i in chosen}})
    return {"model": path.name, "made by": "tools/reference_logits.py", "prompts": prompts}


def main() -> None:
    DATA.write_text(json.dumps(reference(), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
