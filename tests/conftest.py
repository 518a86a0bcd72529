"""Fixtures that several test modules share. Nothing here needs a network: the SmolLM2 file lies in the cache folder."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import settings

import llmlite
from llmlite.fetch import fetch
from llmlite.gguf import read_gguf
from llmlite.llm import LLM
from llmlite.tokenizer import Tokenizer
from llmlite.transformer import Config, Transformer

settings.register_profile("llmlite", deadline=None, derandomize=True, database=None)
settings.load_profile("llmlite")


def small_config(**changes: Any) -> Config:
    fields = {
        "vocab_size": 272, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 8, "max_position_embeddings": 64,
    }  # fmt: skip
    return Config(**fields | changes)


def random_transformer(config: Config) -> Transformer:
    generator = torch.Generator().manual_seed(1)
    model = Transformer(config)
    for parameter in model.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * 0.3
    return model.eval().requires_grad_(False)


@pytest.fixture(scope="session")
def build_model() -> Callable[..., Transformer]:
    """build_model(max_position_embeddings=8, ...): a random model in float32."""
    return lambda **changes: random_transformer(small_config(**changes))


@pytest.fixture(scope="session")
def smollm2() -> LLM:
    return llmlite.load("smollm2")


@pytest.fixture(scope="session")
def smollm2_metadata() -> dict[str, Any]:
    """What the SmolLM2 file says about itself, without building the model."""
    return read_gguf(fetch("smollm2")).metadata


@pytest.fixture(scope="session")
def tiny_tokenizer() -> Tokenizer:
    """256 bytes, one merge ("he" is 256) and the control tokens <end> (257) and <turn> (258)."""
    return Tokenizer.from_merges([(ord("h"), ord("e"))], control=("<end>", "<turn>"))


@pytest.fixture(scope="session")
def tiny(tiny_tokenizer: Tokenizer) -> LLM:
    """A random model in float32 with a context of 64. Its table has 272 rows, the tokenizer 259 ids: the rest is padding."""
    return LLM(random_transformer(small_config()), tiny_tokenizer, eos_ids=frozenset({257}), name="tiny")


@pytest.fixture
def scripted(tiny_tokenizer: Tokenizer) -> Callable[..., LLM]:
    """scripted([5, 6], ...): an LLM that says these ids one after the other, whatever it is asked."""

    def build(ids: Iterable[int], **fields: Any) -> LLM:
        return LLM(Script(ids), tiny_tokenizer, **fields)  # type: ignore[arg-type]

    return build


class Script:
    def __init__(self, ids: Iterable[int]) -> None:
        self.config = small_config()
        self.ids = iter(ids)
        self.embed_tokens, self.device = SimpleNamespace(weight=torch.zeros(1)), torch.device("cpu")

    def __call__(self, ids: torch.Tensor, cache: object = None, *, last_only: bool = False) -> torch.Tensor:
        logits = torch.zeros(1, 1, self.config.vocab_size)
        logits[0, 0, next(self.ids)] = 1000.0
        return logits
