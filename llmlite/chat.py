"""Chat templates: a conversation to the token ids that a chat model was trained on.

The template comes from the model file and is rendered by jinja2 in its sandbox. It may write control tokens; what people say
may not: a control token in a message is read as the ordinary text that it looks like.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from jinja2 import TemplateError
from jinja2.ext import loopcontrols
from jinja2.sandbox import ImmutableSandboxedEnvironment

from .tokenizer import Tokenizer

Message = Mapping[str, str]
ROLES = ("system", "user", "assistant", "tool")
_MARKS = range(0xE000, 0xF8FF)  # private use: no template and hardly any message holds these


class ChatTemplate:
    """A jinja2 template over `messages`, with the texts of the beginning and end tokens.

    Raises ValueError where the template cannot be read.
    """

    def __init__(self, source: str, bos: str = "", eos: str = "") -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols])
        environment.globals["raise_exception"] = _refuse
        environment.policies["json.dumps_kwargs"] = {"ensure_ascii": False, "sort_keys": False}
        try:
            self.template = environment.from_string(source)
        except Exception as error:  # a file may hold anything: jinja2 and Python's compiler raise many kinds
            raise ValueError(f"the model file's chat template cannot be read: {error}") from None
        self.tokens = {"bos_token": bos, "eos_token": eos}

    def render(self, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> str:
        """The conversation as text, ready for the assistant's answer. Raises ValueError for messages it cannot take."""
        check_messages(messages)
        try:
            return self.template.render(messages=messages, add_generation_prompt=add_generation_prompt, **self.tokens)
        except Exception as error:
            raise ValueError(f"the chat template refuses these messages: {error}") from None

    def encode(self, tokenizer: Tokenizer, messages: Sequence[Message], *, add_generation_prompt: bool = True) -> list[int]:
        """The conversation as token ids, in which every control token was written by the template.

        A mark is put inside each control token that a message spells out; after the template's own control tokens have been
        read, the marks are taken out again. The template sees each message whole, so its other rules work as always.
        """
        check_messages(messages)
        mark = next((chr(c) for c in _MARKS if not any(chr(c) in m["content"] for m in messages)), "")
        if not mark:
            raise ValueError("the messages hold every private-use character; one must be left to mark control tokens with")
        control = list(tokenizer.control)
        marked = [{"role": m["role"], "content": _break_up(m["content"], control, mark)} for m in messages]
        text = self.render(marked, add_generation_prompt=add_generation_prompt)
        return tokenizer.encode(text, parse_special=True, remove=mark)


def check_messages(messages: Sequence[Message]) -> None:
    """Raise ValueError unless messages is a non-empty list of {"role": one of ROLES, "content": text}."""
    if not isinstance(messages, (list, tuple)) or not messages:
        raise ValueError("messages must be a list with at least one message")
    for n, message in enumerate(messages):
        if not isinstance(message, Mapping) or message.get("role") not in ROLES:
            raise ValueError(f"message {n} must have a role, one of {', '.join(ROLES)}")
        if not isinstance(message.get("content"), str):
            raise ValueError(f"message {n} must have its content as text")


def _break_up(text: str, control: Sequence[str], mark: str) -> str:
    """Put a mark behind the first character of each control token in text, and of each beginning of one at its end."""
    for token in control:
        while token in text and len(token) > 1:  # again, for occurrences that overlap
            text = text.replace(token, token[0] + mark + token[1:])
    end = text.rstrip()
    cuts = {len(end) - n + 1 for token in control for n in range(1, len(token)) if end.endswith(token[:n])}
    for at in sorted(cuts, reverse=True):
        text = text[:at] + mark + text[at:]
    return text


def _refuse(message: str) -> Any:
    raise TemplateError(message)
