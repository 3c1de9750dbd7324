"""Writes the paper's three plots of one problem: keys, gates and answer."""

import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from lantm.evaluation import Recording
from lantm.geometry import Geometry
from lantm.report.figures.answer import draw_answer
from lantm.report.figures.canvas import save
from lantm.report.figures.gates import draw_gates
from lantm.report.figures.keys import draw_keys
from lantm.tasks import Source

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def verdict(recording: Recording) -> str:
    """The outcome in a few words."""
    size, wrong, unit = len(recording.expected), len(recording.wrong), recording.unit
    if recording.first_mistake is None:
        return f"all {size:,} {unit}s are right"
    first = f"{unit} {recording.first_mistake + 1:,}"
    if wrong == 1:
        return f"{first} of {size:,} is wrong"
    return f"{wrong:,} of {size:,} {unit}s are wrong, the first is {first}"


def write_figures(
    recording: Recording, task: Source, geometry: Geometry | None, title: str, subtitle: str, folder: pathlib.Path
) -> list[pathlib.Path]:
    """Writes the plots keys, gates and answer into a folder, as PNG and SVG; only the answer for other models."""
    title = f"{title}: {verdict(recording)}"
    draw: dict[str, Callable[[], Figure]] = {}
    if recording.heads is not None and geometry is not None:
        draw["keys"] = lambda: draw_keys(recording, geometry, title, subtitle)
        draw["gates"] = lambda: draw_gates(recording, title, subtitle)
    draw["answer"] = lambda: draw_answer(recording, task, title, subtitle)
    return [path for name, figure in draw.items() for path in save(figure, folder / name)]
