"""The course on top of the engine: what a notebook imports. The engine never imports this."""

from .exercise import exercise, hint, solution
from .lesson import lesson
from .progress import progress
from .show import show, show_figure, style

__all__ = ["exercise", "hint", "lesson", "progress", "show", "show_figure", "solution", "style"]
