"""The chapters in reading order. A chapter's word names its notebook, module, checks and tests."""

import importlib
import importlib.util
from dataclasses import dataclass
from types import ModuleType


@dataclass(frozen=True)
class Chapter:
    """One chapter: its number and word, in a few words what the engine can do after it, and the modules it fills."""

    number: int
    word: str
    gain: str
    fills: tuple[str, ...] = ()  # where it is not the one module of its word

    @property
    def notebook(self) -> str:
        return f"{self.number:02d}_{self.word}"

    @property
    def ready(self) -> bool:
        """Whether the chapter has been written (its checks are there)."""
        return importlib.util.find_spec(f"llmlite.course.checks.{self.word}") is not None

    def home(self, name: str) -> ModuleType:
        """The engine's module that has this chapter's function. Raises ValueError where none has."""
        for word in self.fills or (self.word,):
            module = importlib.import_module(f"llmlite.{word}")
            if hasattr(module, name):
                return module
        raise ValueError(f"llmlite.{self.word} has no {name!r}; was the exercise renamed?")

    @property
    def checks(self) -> ModuleType:
        return importlib.import_module(f"llmlite.course.checks.{self.word}")


CHAPTERS = (
    Chapter(0, "welcome", "meet the finished engine and its question", ("llm",)),
    Chapter(1, "tokenizer", "text becomes token ids, and back"),
    Chapter(2, "embedding", "ids become vectors, vectors become scores"),
    Chapter(3, "attention", "tokens look at each other"),
    Chapter(4, "rope", "order and distance are felt"),
    Chapter(5, "transformer", "the whole model, block by block"),
    Chapter(6, "weights", "a real model is read from its file", ("weights", "gguf")),
    Chapter(7, "sampling", "scores become text: the model speaks"),
    Chapter(8, "roofline", "why output costs more than input"),
    Chapter(9, "kv_cache", "nothing is computed twice"),
    Chapter(10, "flash_attention", "attention that fits the memory hierarchy"),
    Chapter(11, "quantization", "fewer bits for each weight"),
    Chapter(12, "calibration", "which bits matter"),
    Chapter(13, "sparsity", "fewer weights"),
)


def chapter(word: str) -> Chapter:
    """The chapter of that word. Raises ValueError for a word that is not one."""
    for candidate in CHAPTERS:
        if candidate.word == word:
            return candidate
    raise ValueError(f"no chapter is called {word!r}; the words are: {', '.join(c.word for c in CHAPTERS)}")


def exercises(word: str) -> list[str]:
    """The names of a chapter's exercises, in the order of its notebook; none where it is not written yet."""
    found = chapter(word)
    return list(found.checks.EXERCISES) if found.ready else []
