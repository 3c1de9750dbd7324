"""The key plot: positions of writes, and of the reads of the answer."""

from typing import TYPE_CHECKING, Any

import numpy as np

from lantm.evaluation import Heads, Recording
from lantm.geometry import Geometry
from lantm.report.figures.canvas import MISTAKE, QUIET, READS, WIDTH, WRITE, Look, heading, new_figure
from lantm.report.figures.read_labels import number_reads
from lantm.report.figures.scene import (
    Box,
    Scene,
    all_keys,
    around,
    everything,
    heads_at_work,
    lay_out,
    limits,
    mark_size,
    parts_shown,
    zoomed,
)
from lantm.report.projection import Points, Projection, projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_HANDLES_IN_A_ROW = 5  # in the legend
_WRITE_SHAPES = ("o", "s", "D", "^")


def draw_keys(recording: Recording, geometry: Geometry, title: str, subtitle: str) -> "Figure":
    """The overview, the beginning and the end of the answer, and the surroundings of the first mistake."""
    heads = recording.heads
    assert heads is not None
    flat = projection(geometry, all_keys(heads))
    scene = lay_out(recording, heads, flat)
    handles = _legend(scene, heads, recording)
    bottom = 0.35 + 0.2 * -(-len(handles) // _HANDLES_IN_A_ROW)  # inches
    parts = {name: zoomed(scene, reads, flat) for name, reads in parts_shown(recording).items()}
    boxes = {"overview": around(everything(scene, flat), flat, margin=0.06), **parts}
    margin, gap = (0.55, 0.52) if len(boxes) == 3 else (0.5, 0.46)
    # The right margin has room for half of a tick label.
    side = (WIDTH - margin - (len(boxes) - 1) * gap - 0.2) / len(boxes)
    figure = new_figure(height=side + 0.7 + bottom)
    heading(figure, title, "; ".join(filter(None, (subtitle, _axes(flat), flat.note))))
    height = figure.get_size_inches()[1]
    for at, (name, box) in enumerate(boxes.items()):
        left = margin + at * (side + gap)
        axes = figure.add_axes((left / WIDTH, bottom / height, side / WIDTH, side / height), gid=name)
        shown = parts_shown(recording).get(name)
        caption = name
        if shown is not None:
            reads = "reads " if len(boxes) == 3 else ""  # with four captions in a row, they are short
            caption = f"{name}: {reads}{shown.start + 1} to {shown.stop}"
            at_work = heads_at_work(scene, shown, flat)
            if len(at_work) < heads.read_heads:
                caption += f" of head {' and '.join(str(head + 1) for head in at_work)}"
        axes.set_title(caption, fontsize=9 if len(boxes) == 3 else 8, pad=4)
        draw_scene(axes, scene, flat, box, name, side)
        if shown is not None:
            number_reads(axes, scene, shown, box, name, side)
    figure.legend(
        handles=handles,
        loc="lower center",
        bbox_to_anchor=(0.5, 0.0),
        ncols=min(len(handles), _HANDLES_IN_A_ROW),
        frameon=False,
        fontsize=8,
        handletextpad=0.5,
        columnspacing=1.4,
    )
    return figure


def _axes(flat: Projection) -> str:
    """What the axes are, where they differ in kind: beside each of three panels there is no room for it."""
    across, upwards = flat.labels
    return "" if flat.equal else f"{across} to the right, {upwards} upwards"


def draw_scene(axes: "Axes", scene: Scene, flat: Projection, box: Box, name: str, side: float) -> None:
    """One panel. Points outside are left out, but lines to them are drawn."""
    axes.set(xlim=limits(box, 0), ylim=limits(box, 1), xlabel="", ylabel="")
    axes.set_aspect("equal" if flat.equal else "auto")
    axes.locator_params(axis="x", nbins=4)
    axes.locator_params(axis="y", nbins=5)
    axes.ticklabel_format(useOffset=False, style="plain" if np.max(np.abs(box.middle) + box.half) < 1e5 else "sci")
    axes.tick_params(length=2.5, width=0.6, pad=2)
    for edge, line in enumerate(flat.outline):
        axes.plot(*line.T, color=QUIET, linewidth=0.9 if edge == 0 else 0.4, zorder=1, gid=f"{name}-outline-{edge}")
    if not flat.equal and name != "overview":
        # In plots over time, reads are beside what they read: a faint line connects each memory to them.
        levels = scene.writes[np.abs(scene.writes[:, 1] - box.middle[1]) <= box.half[1], 1]
        axes.hlines(levels, *limits(box, 0), color=WRITE, linewidth=0.5, alpha=0.5, zorder=1, gid=f"{name}-levels")
    size = mark_size(scene, box, side)
    fill = shades()
    for head in np.unique(scene.written_by):
        mine = (scene.written_by == head) & box.holds(scene.writes)
        _scatter(
            axes,
            scene.writes[mine],
            s=size**2,
            marker=_WRITE_SHAPES[int(head) % len(_WRITE_SHAPES)],
            facecolors=fill(scene.strengths[mine]),
            edgecolors=WRITE,
            linewidths=min(0.8, 0.16 * size),
            zorder=2,
            gid=f"{name}-writes-{int(head)}",
        )
    there = scene.before[box.holds(scene.before)]
    if len(there):
        _scatter(axes, there, s=36, marker="+", color=WRITE, linewidths=1, zorder=2, gid=f"{name}-before")
    for head in range(scene.reads.shape[1]):
        reads = scene.reads[:, head]
        colour = READS[head % len(READS)]
        inside = reads[box.holds(reads)]
        axes.plot(*reads.T, color=colour, linewidth=0.7, alpha=0.7, zorder=3, gid=f"{name}-path-{head}")
        disc: Look = {"color": colour, "linewidths": 0, "zorder": 4, "gid": f"{name}-reads-{head}"}
        _scatter(axes, inside, s=(0.55 * size) ** 2, **disc)
        if scene.settled is not None and name != "overview":  # in the overview, rings would hide the memories
            rings = scene.settled[box.holds(scene.settled[:, head]), head]
            look: Look = {"facecolors": "none", "edgecolors": colour, "linewidths": 0.8, "zorder": 4}
            _scatter(axes, rings, s=(1.3 * size) ** 2, gid=f"{name}-settled-{head}", **look)
        if box.holds(reads[:1])[0]:
            first: Look = {"facecolors": "none", "edgecolors": colour, "linewidths": 1.1, "zorder": 5}
            _scatter(axes, reads[:1], s=75, marker="D", gid=f"{name}-first-{head}", **first)
    if scene.mistake is not None and box.holds(scene.mistake).any():
        cross: Look = {"marker": "X", "facecolors": MISTAKE, "edgecolors": "black", "linewidths": 0.8, "zorder": 6}
        _scatter(axes, scene.mistake[box.holds(scene.mistake)], s=80, gid=f"{name}-mistake", **cross)


def _scatter(axes: "Axes", points: Points, **look: Any) -> None:
    axes.scatter(points[:, 0], points[:, 1], **look)


def _legend(scene: Scene, heads: Heads, recording: Recording) -> "list[Line2D]":
    from matplotlib.lines import Line2D

    def mark(label: str, **look: Any) -> Line2D:
        return Line2D([], [], label=label, **{"linestyle": "none", "markersize": 6, **look})

    handles = []
    for head in range(heads.write_heads):
        name = "write" if heads.write_heads == 1 else f"write head {head + 1}"
        shape = _WRITE_SHAPES[head % len(_WRITE_SHAPES)]
        look: Look = {"markerfacecolor": shades()(0.55), "markeredgecolor": WRITE}
        handles.append(mark(f"{name} (darker: stronger)" if head == 0 else name, marker=shape, **look))
    for head in range(heads.read_heads):
        name = "read of the answer" if heads.read_heads == 1 else f"read head {head + 1}"
        colour = READS[head % len(READS)]
        look = {"linestyle": "-", "linewidth": 0.9, "markersize": 4}
        handles.append(mark(name, marker="o", color=colour, **look))
    of_all: Look = {"markerfacecolor": "none", "markeredgecolor": READS[0] if heads.read_heads == 1 else QUIET}
    if scene.settled is not None:
        handles.append(mark("settles there", marker="o", **of_all | {"markersize": 8}))
    handles.append(mark("first read", marker="D", **of_all))
    if scene.mistake is not None and recording.first_mistake is not None:
        label = f"read for the first wrong symbol, {recording.first_mistake + 1}"
        handles.append(mark(label, marker="X", color=MISTAKE, markeredgecolor="black", markersize=8))
    if len(scene.before):
        handles.append(mark("there before", marker="+", color=WRITE))
    return handles


def shades() -> Any:
    """The colour map of strengths from 0 (white) to 1 (dark red)."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("strength", ["#ffffff", "#f0a19d", "#c1272d", "#6d0509"])
