"""The plot of head positions on a long text, and of how much memory they read (section 4.3 of the paper)."""

from typing import TYPE_CHECKING

import numpy as np

from lantm.evaluation.footprints import Findings, Footprints
from lantm.report.figures.canvas import QUIET, READS, WRITE, Look, heading, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_POINTS = 1500  # with more, points cover each other


def draw_footprints(steps: Footprints, read_heads: int, title: str, subtitle: str) -> "Figure":
    """Three panels: locations in the first column of the text, norms of keys in all, and the spread of readings."""
    few = slice(None, None, -(-len(steps.keys) // _MOST_POINTS))
    words = np.arange(len(steps.keys))[few]
    keys, shared, remembered = (np.asarray(field, np.float64)[few] for field in steps)
    figure = new_figure(height=3.4)
    heading(figure, title, subtitle)
    places, norms, spread = (figure.add_axes((left, 0.15, 0.255, 0.62)) for left in (0.065, 0.395, 0.725))

    for heads, colour, name in ((slice(read_heads, None), WRITE, "write"), (slice(read_heads), READS[0], "read")):
        points = keys[:, 0, heads, :2].reshape(-1, 2)
        look: Look = {"facecolors": "none", "edgecolors": colour} if name == "write" else {"color": colour}
        places.scatter(points[:, 0], points[:, 1], s=8, linewidths=0.5, label=f"{name} locations", gid=name, **look)
        _band(norms, words, np.linalg.norm(keys[:, :, heads], axis=-1), colour, f"{name} keys")
    places.set_aspect("equal", adjustable="datalim")
    places.set_title("locations, one column")
    places.locator_params(nbins=5)
    norms.set(yscale="log", title="norm of keys", xlabel="words read")
    norms.yaxis.set_major_formatter(lambda norm, _: f"{norm:g}")
    spread.plot(words, remembered, color=QUIET, linewidth=0.5, label="there are", gid="remembered")
    _band(spread, words, shared, READS[0], "a reading is spread over")
    spread.set(title="memories", xlabel="words read", ylim=(0, None))
    for panel in (places, norms, spread):
        panel.legend(fontsize=7, framealpha=0.9, loc="best")
        panel.spines[["top", "right"]].set_visible(False)
        panel.tick_params(length=2.5, width=0.6)
    return figure


def _band(panel: "Axes", words: np.ndarray, values: np.ndarray, colour: str, label: str) -> None:
    """The median over columns and heads at every step, and the range from the 10th to the 90th percentile."""
    low, median, high = np.quantile(values.reshape(len(values), -1), (0.1, 0.5, 0.9), axis=1)
    panel.fill_between(words, low, high, color=colour, alpha=0.2, linewidth=0)
    panel.plot(words, median, color=colour, linewidth=0.9, label=label, gid=label.replace(" ", "-"))


def describe(found: Findings) -> list[str]:
    """The findings in sentences."""
    ratio = found.distance / found.spread if found.spread else float("inf")
    return [
        f"norm of read keys: {found.first_read_norm:.3g} at first, {found.last_read_norm:.3g} at last",
        f"norm of write keys: {found.first_write_norm:.3g} at first, {found.last_write_norm:.3g} at last",
        f"a read key is {found.distance:.3g} from the middle of the memories, which are {found.spread:.3g} around it: "
        f"{ratio:.2g} times as far",
        f"a reading is spread over {found.shared_over:.1f} of {found.remembered:.0f} memories",
    ]
