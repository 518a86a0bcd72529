"""llmlite: an LLM inference engine that can be read in an afternoon, and the course that builds it."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .llm import LLM, load

__all__ = ["LLM", "load"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """Import torch and the engine on first use: `import llmlite` alone costs nothing."""
    if name in __all__:
        from . import llm

        return getattr(llm, name)
    raise AttributeError(f"module 'llmlite' has no attribute {name!r}")
