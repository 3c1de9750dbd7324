"""The gate plot: when heads took a new key or a new action, and when they kept the old one."""

from typing import TYPE_CHECKING

import numpy as np

from lantm.evaluation import Recording
from lantm.report.figures.canvas import QUIET, READS, WRITE, Look, heading, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_gates(recording: Recording, title: str, subtitle: str) -> "Figure":
    """A row per gate over time: 1 takes the controller's candidate, 0 keeps the previous value."""
    heads = recording.heads
    assert heads is not None
    rows = []
    for head in range(heads.keys.shape[1]):
        reads = head < heads.read_heads
        kind, count = ("read", heads.read_heads) if reads else ("write", heads.write_heads)
        number = head if reads else head - heads.read_heads
        name = kind if count == 1 else f"{kind} {number + 1}"
        colour = READS[number % len(READS)] if reads else WRITE
        rows.append((f"{name} key gate", colour, heads.key_gates[:, head]))
        rows.append((f"{name} action gate", colour, heads.action_gates[:, head]))
    each = 0.62  # inches
    figure = new_figure(height=1.0 + each * len(rows))
    heading(figure, title, f"{subtitle}; 1 takes the new key or action, 0 keeps the head's own")
    width, height = figure.get_size_inches()
    left = 0.36 + 0.073 * max(len(name) for name, _, _ in rows)  # letters of 9 points
    steps = np.arange(recording.steps)
    for row, (name, colour, gate) in enumerate(rows):
        bottom = 0.42 + each * (len(rows) - 1 - row)
        place = (left / width, (bottom + 0.06) / height, (width - left - 0.25) / width, (each - 0.12) / height)
        axes = figure.add_axes(place)
        axes.set(xlim=(-0.5, recording.steps - 0.5), ylim=(-0.08, 1.08), yticks=[0, 1])
        axes.set_ylabel(name, rotation=0, ha="right", va="center", fontsize=9, labelpad=8, color=colour)
        axes.tick_params(length=2.5, width=0.6, pad=2, labelbottom=row == len(rows) - 1)
        axes.spines[["top", "right"]].set_visible(False)
        axes.axvspan(recording.answer_start - 0.5, recording.steps - 0.5, color="#f1f1f1", linewidth=0, zorder=0)
        axes.axvline(recording.answer_start - 0.5, color=QUIET, linewidth=0.9, linestyle="--", gid=f"answer-{row}")
        if recording.first_mistake is not None:
            at = recording.answer_start + recording.first_mistake
            axes.axvline(at, color="black", linewidth=0.9, linestyle=":", gid=f"mistake-{row}")
        marker: Look = {"marker": "o", "markersize": 2.4} if recording.steps <= 80 else {}
        axes.plot(steps, gate, color=colour, linewidth=1.0, gid=f"gate-{row}", **marker)
    axes.set_xlabel(_what_is_marked(recording), fontsize=8.5, labelpad=2)
    return figure


def _what_is_marked(recording: Recording) -> str:
    told = f"step; the answer begins at step {recording.answer_start} (dashed)"
    if recording.first_mistake is None:
        return told
    return f"{told}, its first mistake is at step {recording.answer_start + recording.first_mistake} (dotted)"
