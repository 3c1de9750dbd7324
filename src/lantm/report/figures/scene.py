"""The contents of a key plot in drawing coordinates, and the choice of the visible region."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from lantm.evaluation import Heads, Recording
from lantm.report.projection import Points, Projection

_ZOOMED = 12  # reads in a detail panel
_FAR = 5.0  # times the distance of another head, or the distance between memories


class Scene(NamedTuple):
    """Everything that is drawn, in drawing coordinates."""

    writes: Points
    strengths: Float[np.ndarray, " writes"]
    written_by: Float[np.ndarray, " writes"]
    before: Points  # the initial memory
    reads: Float[np.ndarray, "answer read_heads 2"]
    mistake: Points | None  # the reads that determined the first wrong symbol, one per read head
    settled: Float[np.ndarray, "answer read_heads 2"] | None = None  # where reads settled, nan where they did not


class Box(NamedTuple):
    """The region that a panel shows: its centre, and half its width and height."""

    middle: Float[np.ndarray, " 2"]
    half: Float[np.ndarray, " 2"]

    def holds(self, points: Points) -> Bool[np.ndarray, " points"]:
        """Whether points are in the panel, or close enough that their marks are visible."""
        with np.errstate(invalid="ignore"):
            inside: Bool[np.ndarray, " points"] = (np.abs(points - self.middle) <= 1.04 * self.half).all(axis=-1)
        return inside


def parts_shown(recording: Recording) -> dict[str, slice]:
    """The reads that are drawn as points, by panel."""
    answer = len(recording.expected)
    count = min(_ZOOMED, -(-answer // 2))
    parts = {"beginning": slice(0, count)}
    if (wrong := recording.first_mistake) is not None and count <= wrong - 1 < answer - count:
        first = min(max(wrong - 1 - count // 2, 0), answer - count)
        parts["mistake"] = slice(first, first + count)
    return parts | {"end": slice(answer - count, answer)}


def lay_out(recording: Recording, heads: Heads, flat: Projection) -> Scene:
    """Computes the drawing coordinates of all writes, and of the reads of the answer."""
    memories, start = heads.memories, recording.answer_start
    written = memories.written_at >= 0

    def place(keys: Float[np.ndarray, "points key"], times: Float[np.ndarray, " points"]) -> Points:
        points = flat.place(np.where(np.isfinite(keys), keys, np.nan).astype(float), times)
        return np.where(np.isfinite(points).all(axis=-1, keepdims=True), points, np.nan)

    addresses = place(memories.addresses, np.maximum(memories.written_at, 0).astype(float))
    steps = np.repeat(np.arange(start, recording.steps, dtype=float), heads.read_heads)
    reads = place(heads.read_keys[start:].reshape(-1, heads.keys.shape[-1]), steps)
    settled = None
    if heads.settled_on is not None:
        slots = heads.settled_on[start:].reshape(-1)
        # In plots over time, a ring is drawn at the time of the read, not of the write.
        ends = place(np.where(slots[:, None] < 0, np.nan, memories.addresses[slots]), steps)
        settled = ends.reshape(-1, heads.read_heads, 2)
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
        settled=settled,
    )


def all_keys(heads: Heads) -> Float[np.ndarray, "points key"]:
    """The positions of all heads and memories."""
    return np.concatenate([heads.keys.reshape(-1, heads.keys.shape[-1]), heads.memories.addresses])


def everything(scene: Scene, flat: Projection) -> Points:
    """The points that the overview must contain; the initial memory is shown only if it is close to them."""
    parts = [scene.writes, scene.reads.reshape(-1, 2), *flat.outline[: int(flat.bounded)]]
    return np.concatenate(parts if scene.mistake is None else [*parts, scene.mistake])


def heads_at_work(scene: Scene, reads: slice, flat: Projection) -> list[int]:
    """The heads that read near memories; a head that is far away from all memories is idle, and not shown.

    Far means several times as far as another head, and several times the distance between memories. All heads are
    returned if all are equally far, or if the plot is over time.
    """
    heads = list(range(scene.reads.shape[1]))
    if not flat.equal or not len(scene.writes):
        return heads
    apart = scene.reads[reads][:, :, None] - scene.writes
    nearest = np.sqrt(np.nan_to_num(np.sum(apart**2, axis=-1), nan=np.inf).min(axis=-1))
    usual = np.median(nearest, axis=0)
    return [head for head in heads if usual[head] <= max(_FAR * usual.min(), _FAR * _spacing(scene.writes))]


def zoomed(scene: Scene, reads: slice, flat: Projection) -> Box:
    """The region around some reads of the answer (without idle heads) and the memories beside them."""
    points = scene.reads[reads][:, heads_at_work(scene, reads, flat)].reshape(-1, 2)
    # At least a few steps wide, except near the rim of a disk, where a step is small.
    least = 0.0 if flat.bounded else 1.5 * _spacing(scene.writes)
    box = around(points, flat, margin=0.12, least=least)
    if not flat.equal or not len(scene.writes):
        return box
    # Reads that left the path of writes are shown together with it, unless it is too far away.
    points = points[np.isfinite(points).all(axis=-1)]
    apart = np.sum((points[:, None] - scene.writes) ** 2, axis=-1)
    beside = scene.writes[np.nan_to_num(apart, nan=np.inf).argmin(axis=-1)]
    near = np.abs(beside - box.middle).max(axis=-1) < 2.5 * box.half[0]
    return around(np.concatenate([points, beside[near]]), flat, margin=0.12, least=least)


def around(points: Points, flat: Projection, margin: float, least: float = 0.0) -> Box:
    """The region around these points, with a margin, and not smaller than `least`."""
    points = points[np.isfinite(points).all(axis=-1)]
    if not len(points):
        return Box(np.zeros(2), np.ones(2))
    low, high = points.min(axis=0).astype(float), points.max(axis=0).astype(float)
    half = (high - low) / 2 * (1 + 2 * margin)
    if flat.equal:
        half = np.maximum(half.max(), least) * np.ones(2)
    middle = (low + high) / 2
    # If all points coincide, the region still has a size.
    return Box(middle, np.maximum(half, 1e-6 + 1e-5 * np.abs(middle).max()))


def limits(box: Box, axis: int) -> tuple[float, float]:
    """The axis limits of a region."""
    return float(box.middle[axis] - box.half[axis]), float(box.middle[axis] + box.half[axis])


def _spacing(points: Points) -> float:
    """The median distance between consecutive points."""
    if len(points) < 2:
        return 0.0
    steps = np.sqrt(np.sum(np.diff(points, axis=0) ** 2, axis=-1))
    return float(np.nan_to_num(np.median(steps)))


def mark_size(scene: Scene, box: Box, side: float) -> float:
    """The diameter of a write's mark in points: neighbours touch, within limits."""
    if len(scene.writes) < 2 * len(np.unique(scene.written_by)) or not len(scene.writes):
        return 9.0
    line = scene.writes[scene.written_by == scene.written_by[0]]
    steps = np.diff(line, axis=0) / box.half * (72 * side / 2)
    return float(np.clip(np.nan_to_num(np.median(np.sqrt(np.sum(steps**2, axis=-1)))) * 0.8, 2.6, 9.0))
