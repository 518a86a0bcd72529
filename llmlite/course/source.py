"""The source text of functions and classes, also of those typed into a notebook."""

import ast
import linecache
import textwrap
from typing import Any


def node_of(thing: Any) -> ast.AST | None:
    """The syntax tree of a function or class, or None where its source cannot be found.

    `inspect.getsource` fails for classes in a notebook; the file name in a method's code does not.
    """
    text = file_text(thing)
    if text is None:
        return None
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return None
    kinds = (ast.FunctionDef, ast.ClassDef)
    found = [node for node in tree.body if isinstance(node, kinds) and node.name == thing.__name__]
    return found[-1] if found else None


def text_of(thing: Any) -> str | None:
    """The source of a function or class without its decorators, or None where it cannot be found."""
    node, text = node_of(thing), file_text(thing)
    if node is None or text is None:
        return None
    lines = text.splitlines()[node.lineno - 1 : node.end_lineno]  # type: ignore[attr-defined]
    return textwrap.dedent("\n".join(lines)) + "\n"


def scope_of(thing: Any) -> dict[str, Any]:
    """The global names that a function, or a class through its methods, sees."""
    items = vars(thing).values() if isinstance(thing, type) else (thing,)
    return next((item.__globals__ for item in items if hasattr(item, "__globals__")), {})


def file_text(thing: Any) -> str | None:
    """The text of the file or notebook cell that a function or class was defined in."""
    for item in (thing, *vars(thing).values()) if isinstance(thing, type) else (thing,):
        code = getattr(item, "__code__", None)
        if code is not None and code.co_filename:
            return "".join(linecache.getlines(code.co_filename)) or None
    return None
