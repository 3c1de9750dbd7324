"""The numbers beside the reads of a key plot, placed where they cover nothing."""

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from lantm.report.figures.canvas import READS, Look
from lantm.report.figures.scene import Box, Scene, mark_size
from lantm.report.projection import Points

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def number_reads(axes: "Axes", scene: Scene, reads: slice, box: Box, name: str, side: float) -> None:
    """Numbers the reads along their path, where there is room for a number."""
    scale = 72 * side / 2 / box.half  # points of paper
    special = [scene.reads[0]] if scene.mistake is None else [scene.reads[0], scene.mistake]
    marks = np.concatenate([scene.writes, scene.reads.reshape(-1, 2), *special]) * scale
    radii = np.full(len(marks), mark_size(scene, box, side) / 2)
    radii[len(radii) - sum(map(len, special)) :] = 6.5
    near = box.holds(marks / scale)
    marks, radii = marks[near], radii[near]
    for head in range(scene.reads.shape[1]):
        path = scene.reads[:, head] * scale
        for at in range(reads.start, reads.stop):
            onward = path[min(at + 1, len(path) - 1)] - path[max(at - 1, 0)]
            across = np.array([onward[1], -onward[0]]) / max(float(np.sqrt(np.sum(onward**2))), 1e-9)
            size = np.array([4.3 * len(f"{at + 1}"), 7.0])
            places = [path[at] + sign * across * (8.5 + np.abs(across) @ size / 2) for sign in (1, -1)]
            room = [room_for(place, size, marks, radii) for place in places]
            place = places[int(np.argmax(room))]
            if max(room) > 1 and box.holds((place / scale)[None])[0]:
                x, y = place / scale
                look: Look = {"fontsize": 6.5, "color": READS[head % len(READS)], "ha": "center", "va": "center"}
                axes.text(x, y, f"{at + 1}", gid=f"{name}-number-{head}-{at + 1}", zorder=5, **look)
                # Keep later labels at a distance.
                marks, radii = np.concatenate([marks, place[None]]), np.append(radii, size.max() / 2 + 1)


def room_for(
    place: Float[np.ndarray, " 2"], size: Float[np.ndarray, " 2"], marks: Points, radii: Float[np.ndarray, " marks"]
) -> float:
    """The distance from a label to the nearest mark, edge to edge; negative if it covers the mark."""
    apart = np.maximum(np.abs(marks - place) - size / 2, 0)
    return float(np.min(np.sqrt(np.sum(apart**2, axis=-1)) - radii, initial=np.inf))
