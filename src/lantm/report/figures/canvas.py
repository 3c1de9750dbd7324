"""Width, colours and file formats shared by all plots."""

import pathlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, Any, TypeAlias

from lantm.errors import LantmError, reason
from lantm.files import write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Look: TypeAlias = dict[str, Any]  # style options of a mark or a text

WIDTH = 8.8  # inches, 100 pixels each on a page: the width of a README
PIXELS_AN_INCH = 200  # for high-resolution screens

# Red, blue and yellow are the paper's colours. All colours are distinguishable for colour-blind readers.
WRITE = "#c1272d"
READS = ("#0072b2", "#009e73", "#cc79a7", "#56b4e9")
MISTAKE = "#f0e442"
QUIET = "#8a8a8a"

_STYLE: Any = {
    "font.family": "DejaVu Sans",  # included in matplotlib, so that plots look the same everywhere
    "font.size": 9,
    "axes.linewidth": 0.6,
    "axes.edgecolor": "#555555",
    "axes.titlesize": 9,
    "xtick.labelsize": 7.5,
    "ytick.labelsize": 7.5,
    "xtick.color": "#555555",
    "ytick.color": "#555555",
    "path.simplify": False,  # keeps every read
    "svg.hashsalt": "lantm",  # makes files reproducible
    "text.parse_math": False,  # symbols of a task are not typeset
}


@contextmanager
def style() -> Iterator[None]:
    """The style of all plots; without matplotlib, an error that says how to install it."""
    try:
        import matplotlib
    except ImportError as error:
        raise LantmError("figures need matplotlib: pip install matplotlib") from error
    except ValueError as error:
        raise LantmError(f"matplotlib refuses its settings, such as MPLBACKEND: {reason(error)}") from error
    with matplotlib.rc_context(_STYLE), warnings.catch_warnings():
        # A symbol that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield


def new_figure(height: float, width: float = WIDTH) -> "Figure":
    """An empty figure with a size in inches, without a window or global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), dpi=100)


def save(draw: Callable[[], "Figure"], path: pathlib.Path) -> list[pathlib.Path]:
    """Draws a figure and writes it to PATH.png and PATH.svg."""
    kinds: dict[str, Look] = {"png": {"dpi": PIXELS_AN_INCH}, "svg": {"metadata": {"Date": None}}}
    written = []
    with style():
        figure = draw()
        for suffix, options in kinds.items():
            data = BytesIO()
            figure.savefig(data, format=suffix, facecolor="white", **options)
            written.append(path.with_name(f"{path.name}.{suffix}"))
            write_whole(written[-1], data.getvalue())
    return written


def heading(figure: "Figure", title: str, subtitle: str) -> None:
    """A title and a subtitle."""
    height = figure.get_size_inches()[1]
    figure.text(0.012, 1 - 0.08 / height, title, fontsize=10.5, fontweight="bold", va="top", gid="title")
    figure.text(0.012, 1 - 0.30 / height, subtitle, fontsize=8.5, color="#555555", va="top", gid="subtitle")
