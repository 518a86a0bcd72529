"""Figures and widgets, shown so that a page without a kernel still has the picture."""

import base64
import io
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette: told apart with any kind of colour vision
COLOURS = ["#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#000000", "#F0E442"]


def style() -> None:
    """Set one look for all figures: size, resolution, colours that colour-blind readers can tell apart."""
    import matplotlib.pyplot as plt
    from cycler import cycler

    plt.rcParams.update(
        {
            "figure.figsize": (6.4, 3.6),
            "figure.dpi": 80,
            "savefig.dpi": 80,
            "figure.constrained_layout.use": True,
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.3,
            "axes.titlesize": 11,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
        }
    )


def png(figure: "Figure") -> bytes:
    """A figure as PNG bytes; the figure is closed. 256 colours are enough for it, and take a third of the room."""
    import matplotlib.pyplot as plt
    from PIL import Image

    drawn, small = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", metadata={"Software": None})
    plt.close(figure)
    picture = Image.open(drawn).convert("RGB")  # the least loss of Pillow's ways: no part is off by more than 5 of 255
    picture.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(small, format="png", optimize=True)
    return small.getvalue()


def show_figure(figure: "Figure", alt: str) -> None:
    """Put a figure under the cell, with a text that says what it shows to those who cannot see it."""
    _display({"image/png": base64.b64encode(png(figure)).decode(), "text/plain": alt}, {"image/png": {"alt": alt}})


def show(widget: Any, *, text: str, html: str | None = None, picture: bytes | None = None) -> None:
    """Put a widget under the cell, with the text, HTML or picture that takes its place where no kernel runs.

    A front end shows the widget or the picture, never both. Saved notebooks of the course keep only the picture.
    """
    bundle: dict[str, Any] = {"text/plain": text}
    if html is not None:
        bundle["text/html"] = html
    if picture is not None:
        bundle["image/png"] = base64.b64encode(picture).decode()
    if widget is not None:
        bundle.update(widget_view(widget))
    _display(bundle, {"image/png": {"alt": text}} if picture is not None else {})


def widget_view(widget: Any) -> dict[str, Any]:
    """The part of a display that a live front end draws the widget from."""
    return {k: v for k, v in widget._repr_mimebundle_().items() if k.startswith("application/vnd.jupyter.widget-view")}


def _display(bundle: dict[str, Any], metadata: dict[str, Any]) -> None:
    from IPython.display import display

    display(bundle, raw=True, metadata=metadata)
