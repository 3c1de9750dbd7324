"""A figure of where the heads of a machine went on a long text, and of how much of its memory they read."""

import pathlib
from typing import Any

import numpy as np

from lantm.errors import LantmError
from lantm.language.footprints import Findings, Footprints

_READ, _WRITE = "tab:blue", "tab:red"  # the paper's colours


def draw_footprints(path: pathlib.Path, title: str, steps: Footprints, read_heads: int, column: int = 0) -> None:
    """Three panels: the locations in one column, the norms of keys in all, and how wide readings are spread."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise LantmError("figures need matplotlib: pip install 'lantm[figures]'") from error
    keys, shared, remembered = (np.asarray(field, np.float64) for field in steps)
    figure = Figure(figsize=(12, 3.8), layout="constrained", dpi=120)
    figure.suptitle(title)
    places, norms, spread = figure.subplots(1, 3)

    at = max(len(keys) // 2000, 1)  # more points than these cover each other
    for heads, colour, name in ((slice(read_heads, None), _WRITE, "write"), (slice(read_heads), _READ, "read")):
        points = keys[::at, column, heads, :2].reshape(-1, 2)
        fill = {"facecolors": "none", "edgecolors": colour} if name == "write" else {"color": colour}
        places.scatter(points[:, 0], points[:, 1], s=9, linewidths=0.6, label=f"{name} locations", **fill)
        _band(norms, np.linalg.norm(keys[:, :, heads], axis=-1), colour, f"{name} keys")
    places.set_aspect("equal", adjustable="datalim")
    places.set_title("one column of the text")
    norms.set(yscale="log", title="norm of keys", xlabel="words read")
    _band(spread, shared, _READ, "a reading is spread over")
    spread.plot(np.arange(len(remembered)), remembered, color="0.6", linewidth=0.6, label="there are", zorder=0)
    spread.set(title="memories", xlabel="words read", ylim=(0, None))
    for panel in (places, norms, spread):
        panel.legend(fontsize=8)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)


def _band(panel: Any, values: np.ndarray, colour: str, label: str) -> None:
    """The median over columns and heads at every step, and where the middle eight tenths lie."""
    values = values.reshape(len(values), -1)
    low, median, high = np.quantile(values, (0.1, 0.5, 0.9), axis=1)
    time = np.arange(len(values))
    panel.fill_between(time, low, high, color=colour, alpha=0.2, linewidth=0)
    panel.plot(time, median, color=colour, linewidth=0.8, label=label)


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
