"""The key plot: where memories were written, and where the answer was read."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lantm.evaluation import Heads, Recording
from lantm.geometry import Geometry
from lantm.report.figures.canvas import MISTAKE, QUIET, READS, WRITE, Look, heading, new_figure
from lantm.report.projection import Points, Projection, projection

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

_ZOOMED = 12  # reads in a picture of the beginning or the end
_HANDLES_IN_A_ROW = 5  # of the legend
_WRITE_SHAPES = ("o", "s", "D", "^")
_SIDE = 2.38  # inches of a picture, of which there are three side by side


class Scene(NamedTuple):
    """All that is drawn, in the coordinates of the paper."""

    writes: Points
    strengths: Float[np.ndarray, " writes"]
    written_by: Float[np.ndarray, " writes"]
    before: Points  # what was in the memory before anything was written
    reads: Float[np.ndarray, "answer read_heads 2"]
    mistake: Points | None  # the reads that the first wrong symbol was made from, one a read head


class Box(NamedTuple):
    """What a picture shows: its middle, and half its width and height."""

    middle: Float[np.ndarray, " 2"]
    half: Float[np.ndarray, " 2"]

    def holds(self, points: Points) -> Bool[np.ndarray, " points"]:
        """Which points are in the picture, or so near that a part of their mark is."""
        with np.errstate(invalid="ignore"):
            return (np.abs(points - self.middle) <= 1.04 * self.half).all(axis=-1)


def draw_keys(recording: Recording, geometry: Geometry, title: str, subtitle: str) -> "Figure":
    """The overview, the beginning and the end of the answer."""
    heads = recording.heads
    assert heads is not None
    flat = projection(geometry, _all_keys(heads))
    scene = lay_out(recording, heads, flat)
    handles = _legend(scene, heads, recording)
    bottom = 0.35 + 0.2 * -(-len(handles) // _HANDLES_IN_A_ROW)  # inches
    figure = new_figure(height=_SIDE + 0.7 + bottom)
    heading(figure, title, _with_note(subtitle, flat.note))
    answer = len(recording.expected)
    count = min(_ZOOMED, -(-answer // 2))
    pictures = {
        "overview": ("overview", _around(_everything(scene), flat, margin=0.06)),
        "beginning": (f"beginning: symbols 1 to {count}", _zoomed(scene, slice(None, count), flat)),
        "end": (f"end: symbols {answer - count + 1} to {answer}", _zoomed(scene, slice(answer - count, None), flat)),
    }
    width, height = figure.get_size_inches()
    for at, (name, (caption, box)) in enumerate(pictures.items()):
        left = 0.55 + at * (_SIDE + 0.52)
        axes = figure.add_axes((left / width, bottom / height, _SIDE / width, _SIDE / height), gid=name)
        axes.set_title(caption, fontsize=9, pad=4)
        draw_scene(axes, scene, flat, box, name)
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


def lay_out(recording: Recording, heads: Heads, flat: Projection) -> Scene:
    """What there is to draw: all writes, and the reads of the answer."""
    memories, start = heads.memories, recording.answer_start
    written = memories.written_at >= 0

    def place(keys: Float[np.ndarray, "points key"], times: Float[np.ndarray, " points"]) -> Points:
        points = flat.place(np.where(np.isfinite(keys), keys, np.nan).astype(float), times)
        return np.where(np.isfinite(points).all(axis=-1, keepdims=True), points, np.nan)

    addresses = place(memories.addresses, np.maximum(memories.written_at, 0).astype(float))
    steps = np.repeat(np.arange(start, recording.steps, dtype=float), heads.read_heads)
    reads = place(heads.read_keys[start:].reshape(-1, heads.keys.shape[-1]), steps)
    mistake = None
    if recording.first_mistake is not None:
        step = recording.read_step(recording.first_mistake)
        mistake = place(heads.read_keys[step], np.full(heads.read_heads, float(step)))
    return Scene(
        writes=addresses[written],
        strengths=memories.strengths[written],
        written_by=memories.written_by[written],
        before=addresses[~written],
        reads=reads.reshape(-1, heads.read_heads, 2),
        mistake=mistake,
    )


def draw_scene(axes: "Axes", scene: Scene, flat: Projection, box: Box, name: str) -> None:
    """One picture. What lies outside is left out, but for the lines that lead there."""
    axes.set(xlim=_limits(box, 0), ylim=_limits(box, 1), xlabel="", ylabel="")
    axes.set_aspect("equal" if flat.equal else "auto")
    axes.locator_params(nbins=5)
    axes.ticklabel_format(useOffset=False, style="plain" if np.max(np.abs(box.middle) + box.half) < 1e5 else "sci")
    axes.tick_params(length=2.5, width=0.6, pad=2)
    for edge, line in enumerate(flat.outline):
        axes.plot(*line.T, color=QUIET, linewidth=0.9 if edge == 0 else 0.4, zorder=1, gid=f"{name}-outline-{edge}")
    if not flat.equal and name != "overview":
        # Over time, reads lie beside what they read: a faint line leads there from every memory.
        levels = scene.writes[np.abs(scene.writes[:, 1] - box.middle[1]) <= box.half[1], 1]
        axes.hlines(levels, *_limits(box, 0), color=WRITE, linewidth=0.5, alpha=0.5, zorder=1, gid=f"{name}-levels")
    size = _mark_size(scene, box)
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
        if box.holds(reads[:1])[0]:
            first: Look = {"facecolors": "none", "edgecolors": colour, "linewidths": 1.1, "zorder": 5}
            _scatter(axes, reads[:1], s=75, marker="D", gid=f"{name}-first-{head}", **first)
    if scene.mistake is not None and box.holds(scene.mistake).any():
        cross: Look = {"marker": "X", "color": MISTAKE, "edgecolors": "white", "linewidths": 0.7, "zorder": 6}
        _scatter(axes, scene.mistake[box.holds(scene.mistake)], s=70, gid=f"{name}-mistake", **cross)


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
        name = "read" if heads.read_heads == 1 else f"read head {head + 1}"
        colour = READS[head % len(READS)]
        look = {"linestyle": "-", "linewidth": 0.9, "markersize": 4}
        handles.append(mark(f"{name} of the answer" if head == 0 else name, marker="o", color=colour, **look))
    handles.append(mark("first read", marker="D", markerfacecolor="none", markeredgecolor=READS[0]))
    if scene.mistake is not None and recording.first_mistake is not None:
        label = f"read for the first wrong symbol, {recording.first_mistake + 1}"
        handles.append(mark(label, marker="X", color=MISTAKE, markeredgecolor="white", markersize=7))
    if len(scene.before):
        handles.append(mark("there before", marker="+", color=WRITE))
    return handles


def _all_keys(heads: Heads) -> Float[np.ndarray, "points key"]:
    return np.concatenate([heads.keys.reshape(-1, heads.keys.shape[-1]), heads.memories.addresses])


def _everything(scene: Scene) -> Points:
    """What the overview has to show; what was there before may lie anywhere, and is seen only if it is near."""
    parts = [scene.writes, scene.reads.reshape(-1, 2)]
    return np.concatenate(parts if scene.mistake is None else [*parts, scene.mistake])


def _zoomed(scene: Scene, reads: slice, flat: Projection) -> Box:
    """Around some reads of the answer, with the memories beside them."""
    points = scene.reads[reads].reshape(-1, 2)
    box = _around(points, flat, margin=0.12, least=1.5 * _spacing(scene.writes))
    if not flat.equal or not len(scene.writes):
        return box
    # Reads that have left the line of writes are shown with it, unless it is too far away to be of help.
    points = points[np.isfinite(points).all(axis=-1)]
    apart = np.sum((points[:, None] - scene.writes) ** 2, axis=-1)
    beside = scene.writes[np.nan_to_num(apart, nan=np.inf).argmin(axis=-1)]
    near = np.abs(beside - box.middle).max(axis=-1) < 2.5 * box.half[0]
    return _around(np.concatenate([points, beside[near]]), flat, margin=0.12, least=1.5 * _spacing(scene.writes))


def _around(points: Points, flat: Projection, margin: float, least: float = 0.0) -> Box:
    points = points[np.isfinite(points).all(axis=-1)]
    if not len(points):
        return Box(np.zeros(2), np.ones(2))
    low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
    half = (high - low) / 2 * (1 + 2 * margin)
    if flat.equal:
        half = np.maximum(half.max(), least) * np.ones(2)
    middle = (low + high) / 2
    # Points that all are in one place still get a picture around them.
    return Box(middle, np.maximum(half, 1e-6 + 1e-3 * np.abs(middle)))


def _limits(box: Box, axis: int) -> tuple[float, float]:
    return float(box.middle[axis] - box.half[axis]), float(box.middle[axis] + box.half[axis])


def _spacing(points: Points) -> float:
    """How far one point is from the next, as a rule."""
    if len(points) < 2:
        return 0.0
    steps = np.sqrt(np.sum(np.diff(points, axis=0) ** 2, axis=-1))
    return float(np.nan_to_num(np.median(steps)))


def _mark_size(scene: Scene, box: Box) -> float:
    """The diameter of a write in points: neighbours touch, unless that is too small to see or too large to be told."""
    if len(scene.writes) < 2 * len(np.unique(scene.written_by)) or not len(scene.writes):
        return 9.0
    line = scene.writes[scene.written_by == scene.written_by[0]]
    steps = np.diff(line, axis=0) / box.half * (72 * _SIDE / 2)
    return float(np.clip(np.nan_to_num(np.median(np.sqrt(np.sum(steps**2, axis=-1)))) * 0.8, 2.6, 9.0))


def shades() -> Any:
    """From nothing to dark red, as a memory's strength goes from 0 to 1."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("strength", ["#ffffff", "#f0a19d", "#c1272d", "#6d0509"])


def _with_note(subtitle: str, note: str) -> str:
    return f"{subtitle}; {note}" if note else subtitle
