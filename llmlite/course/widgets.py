"""The things to play with. Each is shown through `show`, with a picture or text in its place where no kernel runs."""

import threading
from collections.abc import Callable, Sequence
from html import escape
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .show import COLOURS, png, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..llm import LLM
    from ..tokenizer import Pair


def _widgets() -> Any:
    """ipywidgets, or None where it is not installed: then the picture or text alone is shown."""
    try:
        import ipywidgets
    except ImportError:
        return None
    return ipywidgets


def explore(draw: "Callable[..., Figure]", alt: str, **controls: Any) -> None:
    """Show draw(**values) as a picture that follows its controls (widgets by argument name).

    A value that cannot be drawn (ValueError) is explained under the controls, and the picture stays.
    """
    first = png(draw(**{name: control.value for name, control in controls.items()}))
    widgets = _widgets()
    if widgets is None:
        return show(None, text=alt, picture=first)
    image, message = widgets.Image(value=first, format="png"), widgets.HTML()
    image.add_class("llmlite-picture")

    def redraw(_: Any) -> None:
        try:
            image.value = png(draw(**{name: control.value for name, control in controls.items()}))
            message.value = ""
        except ValueError as error:
            message.value = escape(str(error))

    for control in controls.values():
        control.observe(redraw, "value")
    box = widgets.VBox([*controls.values(), message, image])
    box.add_class("llmlite-explore")
    show(box, text=alt, picture=first)


def text_box(value: str, label: str = "") -> Any:
    """A control for `explore`: a line of text that takes effect when Enter is pressed."""
    widgets = _widgets()
    if widgets is None:
        return SimpleNamespace(value=value)
    return widgets.Text(value, description=label, continuous_update=False, layout=widgets.Layout(width="48em"))


def slider(value: float, low: float, high: float, step: float = 1, label: str = "") -> Any:
    """A control for `explore`: a number from low to high, whole where step is."""
    widgets = _widgets()
    if widgets is None:
        return SimpleNamespace(value=value)
    kind = widgets.IntSlider if isinstance(step, int) else widgets.FloatSlider
    look = {"layout": widgets.Layout(width="32em"), "style": {"description_width": "9em"}}
    return kind(value=value, min=low, max=high, step=step, description=label, continuous_update=False, **look)


def choice(options: Sequence[str], label: str = "") -> Any:
    """A control for `explore`: one of several texts, at first the first."""
    widgets = _widgets()
    if widgets is None:
        return SimpleNamespace(value=options[0])
    return widgets.Dropdown(options=list(options), description=label, style={"description_width": "9em"})


def tokens_html(pieces: Sequence[str]) -> str:
    """A text cut into tokens, each in a box; spaces and line ends made visible."""
    boxes = []
    for n, piece in enumerate(pieces):
        seen = escape(piece.replace(" ", "·").replace("\n", "↵"))
        boxes.append(
            f"<span style='border:1px solid {COLOURS[n % 2]};border-radius:3px;padding:0 2px;margin:1px;"
            f"display:inline-block;font-family:monospace'>{seen}</span>"
        )
    return f"<div style='max-width:60em;line-height:1.9'>{''.join(boxes)}</div>"


def show_tokens(pieces: Sequence[str]) -> None:
    """Show a text cut into tokens."""
    show(None, text=" | ".join(pieces), html=tokens_html(pieces))


def merge_walk(text: str, merges: "Sequence[Pair]") -> None:
    """Walk through learned merges on a text: a slider moves from bytes to the last merge. Without a kernel the end is shown."""
    from ..tokenizer import Tokenizer, merge_pair

    vocab = Tokenizer.from_merges(merges).vocab
    steps = [list(text.encode())]
    for n, pair in enumerate(merges):
        steps.append(merge_pair(steps[-1], pair, 256 + n))

    def page(step: int) -> str:
        pieces = [vocab[i].decode(errors="replace") for i in steps[step]]
        return f"<div>{escape(describe(step))}</div>{tokens_html(pieces)}"

    def describe(step: int) -> str:
        size = f"{len(steps[step])} tokens"
        if step == 0:
            return f"Before any merge: {size}, one for each byte."
        a, b = (repr(vocab[i].decode(errors="replace")) for i in merges[step - 1])
        return f"After merge {step} of {len(merges)} ({a} + {b}): {size}."

    widgets, last = _widgets(), len(merges)
    if widgets is None:
        return show(None, text=describe(last), html=page(last))
    steps_done, body = slider(0, 0, last, label="merges"), widgets.HTML(page(0))
    steps_done.observe(lambda change: setattr(body, "value", page(change["new"])), "value")
    box = widgets.VBox([steps_done, body])
    box.add_class("llmlite-explore")
    show(box, text=describe(last), html=page(last))


def chat_box(llm: "LLM", **options: Any) -> None:
    """A chat with the model: the answer streams in, with the tokens and the time of both phases under it.

    Options are those of `llmlite.sampling.SamplingParams`. Unless they say otherwise the likeliest token is always taken: a
    model as small as SmolLM2 easily loses its thread after an unlikely one.
    """
    text = "A chat box: type a question, press Send, and the answer appears word by word, with its times below."
    widgets = _widgets()
    if widgets is None:
        return show(None, text=f'{text} It needs ipywidgets; print(llm.chat("...").text) works without.')
    show(_ChatBox(widgets, llm, {"temperature": 0.0, "max_tokens": 200} | options).view, text=text)


class _ChatBox:
    """The parts of the chat widget. Answers are generated in a thread, so that Stop can be heard."""

    def __init__(self, widgets: Any, llm: "LLM", options: dict[str, Any]) -> None:
        self.llm, self.options = llm, options
        self.messages: list[dict[str, str]] = []
        self.stopped, self.busy, self.turn = threading.Event(), False, 0
        self.log, self.times = widgets.HTML(), widgets.HTML()
        self.question = widgets.Text(placeholder="Ask something", layout=widgets.Layout(width="32em"))
        self.send = widgets.Button(description="Send", button_style="primary")
        stop, anew = widgets.Button(description="Stop"), widgets.Button(description="Start anew")
        self.send.on_click(self.ask)
        stop.on_click(lambda _: self.stopped.set())
        anew.on_click(self.reset)
        self.question.continuous_update = False  # "value" then changes when Enter is pressed or the box is left
        self.question.observe(self.ask, "value")
        self.view = widgets.VBox([self.log, widgets.HBox([self.question, self.send, stop, anew]), self.times])
        self.view.add_class("llmlite-chat")

    def reset(self, _: Any) -> None:
        self.stopped.set()
        self.turn += 1
        self.messages = []
        self.log.value = self.times.value = ""

    def ask(self, _: Any) -> None:
        said = self.question.value.strip()
        if said and not self.busy:
            self.busy, self.question.value = True, ""
            self.stopped.clear()
            threading.Thread(target=self._answer, args=(said, self.turn), daemon=True).start()

    def _answer(self, said: str, turn: int) -> None:
        messages = [*self.messages, {"role": "user", "content": said}]
        self._draw(messages)
        try:
            stream = self.llm.stream(messages, **self.options)
            for _ in stream:
                if turn != self.turn:  # the reader has started anew
                    return
                self._draw([*messages, {"role": "assistant", "content": stream.completion.text}])
                if self.stopped.is_set():
                    break
            self.messages = [*messages, {"role": "assistant", "content": stream.completion.text}]
            self.times.value = times_html(stream.completion)
        except ValueError as error:
            self.times.value = escape(f"{error}. Press Start anew.")
        finally:
            self.busy = False

    def _draw(self, messages: Sequence[dict[str, str]]) -> None:
        who = {"user": ("You", COLOURS[0]), "assistant": (self.llm.name, COLOURS[2])}
        self.log.value = "".join(
            f"<p style='margin:2px 0;max-width:50em;white-space:pre-wrap'>"
            f"<b style='color:{who[m['role']][1]}'>{escape(who[m['role']][0])}:</b> {escape(m['content'])}</p>"
            for m in messages
        )


def times_html(done: Any) -> str:
    """Tokens in and out, and the time that each of them took."""
    return (
        f"<small>in: {done.prompt_tokens} tokens, {done.prefill_ms_per_token:.1f} ms each &nbsp; "
        f"out: {done.completion_tokens} tokens, {done.decode_ms_per_token:.1f} ms each</small>"
    )
