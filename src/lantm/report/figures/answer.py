"""The answer plot: a strip of coloured symbols, or the worked problem as text for arithmetic."""

import colorsys
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from lantm.evaluation import Recording
from lantm.report.figures.canvas import QUIET, WIDTH, Look, heading, new_figure
from lantm.report.marks import END, symbol_mark
from lantm.report.worked import work_out
from lantm.tasks import NumberTask, Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_IN_A_LINE = 128  # symbols
_WITH_NAMES = 40  # symbols in a line that are wide enough to be labelled
_GOLDEN = 0.618034


def draw_answer(recording: Recording, task: Source, title: str, subtitle: str) -> "Figure":
    """The expected answer, the machine's, and their difference."""
    if isinstance(task, NumberTask):
        return draw_worked(recording, task, title, subtitle)
    return draw_strip(recording, task, title, subtitle)


def draw_strip(recording: Recording, task: Source, title: str, subtitle: str) -> "Figure":
    """Three rows of symbols, one colour per symbol, broken into several lines if necessary."""
    answer = len(recording.expected)
    lines = -(-answer // _IN_A_LINE)
    columns = -(-answer // lines)
    row = 0.24 if columns <= _WITH_NAMES else 0.17 if lines <= 4 else 0.1  # inches
    line_height = 3 * row + 0.3
    figure = new_figure(height=0.62 + lines * line_height)
    if lines > 4:
        subtitle += "; every line: correct answer, prediction, difference"
    heading(figure, title, subtitle)
    width, height = figure.get_size_inches()
    left, room = 0.95, WIDTH - 1.1
    # A few symbols do not fill the whole width.
    used = min(room, columns * max(row, room / _WITH_NAMES) * 1.15)
    for line in range(lines):
        bottom = height - 0.55 - (line + 1) * line_height + 0.24
        axes = figure.add_axes((left / width, bottom / height, used / width, 3 * row / height), gid=f"line-{line}")
        _draw_line(axes, recording, task, slice(line * columns, (line + 1) * columns), columns, line)
        if lines > 4:
            axes.set_yticks([])
    return figure


def _draw_line(axes: "Axes", recording: Recording, task: Source, cut: slice, columns: int, line: int) -> None:
    from matplotlib.patches import Rectangle

    expected, predicted = recording.expected[cut], recording.predicted[cut]
    first = cut.start
    edges = np.arange(len(expected) + 1) + first + 0.5
    palette = symbol_colours(task)
    for symbols, name, low in ((expected, "correct", 2.0), (predicted, "prediction", 1.0)):
        cells = palette[symbols][None]
        axes.pcolormesh(edges, [low + 0.05, low + 0.95], cells, antialiased=False, gid=f"{name}-{line}")
        if columns <= _WITH_NAMES:
            for at, symbol in enumerate(symbols):
                shade = palette[symbol] @ [0.3, 0.59, 0.11]
                name_of = symbol_mark(task, int(symbol))
                look: Look = {"ha": "center", "va": "center_baseline", "color": "black" if shade > 0.5 else "white"}
                axes.text(first + at + 1, low + 0.5, name_of, fontsize=9 if len(name_of) == 1 else 5.5, **look)
    axes.add_patch(Rectangle((first + 0.5, 0.05), len(expected), 0.9, facecolor="#ececec", linewidth=0))
    for wrong in np.flatnonzero(expected != predicted):
        place = first + int(wrong)
        cell = Rectangle((place + 0.5, 0.05), 1, 0.9, facecolor="black", linewidth=0, gid=f"wrong-{place + 1}")
        axes.add_patch(cell)
    if (mistake := recording.first_mistake) is not None and cut.start <= mistake < cut.stop:
        look = {"marker": "v", "color": "black", "s": 22, "clip_on": False, "linewidths": 0}
        axes.scatter([mistake + 1], [3.35], gid=f"first-mistake-{mistake + 1}", **look)
    axes.set(xlim=(first + 0.5, first + columns + 0.5), ylim=(0, 3))
    axes.set_yticks([2.5, 1.5, 0.5], ["correct", "prediction", "difference"], fontsize=8.5)
    axes.tick_params(length=0, pad=3, axis="y")
    axes.tick_params(length=2, width=0.6, pad=1.5, axis="x", labelsize=7.5)
    last = first + len(expected)
    stride = 1 if columns <= 20 else 5 if columns <= _WITH_NAMES else 20
    ticks = [first + 1, *(at for at in range(stride, last + 1, stride) if at > first + 1 + 0.4 * stride)]
    axes.set_xticks(sorted(set(ticks)))
    axes.spines[:].set_visible(False)


def symbol_colours(task: Source) -> Float[np.ndarray, "vocabulary 3"]:
    """A colour for every symbol: neighbours differ clearly, and the end symbol is dark grey."""
    colours = np.full((task.vocabulary, 3), 0.75)
    for symbol in range(task.data_symbols):
        brightness = (0.95, 0.78, 0.6)[symbol % 3]
        colours[symbol] = colorsys.hsv_to_rgb(symbol * _GOLDEN % 1, (0.45, 0.7, 0.85)[symbol // 3 % 3], brightness)
    colours[task.end_of_output] = 0.25
    return colours


def draw_worked(recording: Recording, task: NumberTask, title: str, subtitle: str) -> "Figure":
    """The problem, the expected answer, the machine's, and a star under every wrong digit."""
    inputs = recording.inputs[1 : recording.answer_start].tolist()
    worked = work_out(task, inputs, recording.expected.tolist(), recording.predicted.tolist())
    digits = len(worked.right)
    size, in_a_line = (10.0, 92) if digits <= 92 else (9.0, 102) if digits <= 306 else (7.0, 132)
    step = size * 1.5 / 72  # inches from one row to the next
    marks = worked.marks.replace("_", " ")
    rows = [("problem" if at == 0 else "", line) for at, line in enumerate(worked.problem)]
    rows += [("right", worked.right), ("answer", worked.given), ("", marks)]
    folds = -(-digits // in_a_line)
    blocks = [
        [(label, line if folds == 1 or len(line) < digits else _fold(line, fold, in_a_line)) for label, line in rows]
        for fold in range(folds)
    ]
    height = 0.75 + sum(len(block) + 0.7 for block in blocks) * step
    figure = new_figure(height=height)
    note = f"most significant digit first, {END} ends a number"
    heading(figure, title, f"{subtitle}; {note}" + ("; * is wrong" if recording.wrong.size else ""))
    y = height - 0.72
    for number, block in enumerate(blocks):
        for row, (label, line) in enumerate(block):
            where: Look = {"va": "top", "family": "DejaVu Sans Mono", "fontsize": size}
            figure.text(0.15 / WIDTH, y / height, label, color=QUIET, **where)
            bold = "bold" if row >= len(block) - 2 else "normal"
            figure.text(0.85 / WIDTH, y / height, line, fontweight=bold, gid=f"worked-{number}-{row}", **where)
            y -= step
        y -= 0.7 * step
    return figure


def _fold(line: str, fold: int, width: int) -> str:
    return line[fold * width : (fold + 1) * width]
