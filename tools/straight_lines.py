"""Draws docs/straight-lines.svg: what a head writes that repeats one action, in every geometry.

python tools/straight_lines.py
"""

import pathlib
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lantm.geometry import Geometry, make_geometry
from lantm.report.figures.canvas import QUIET, READS, WRITE, new_figure, style
from lantm.report.projection import projection

ROOT = pathlib.Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "straight-lines.svg"
_HALVINGS = 3  # of a step: the line has 8 pieces between two keys
_ROUNDS = 20


class Walk(NamedTuple):
    """Steps of one action from one key, as raw numbers; a second walk shows what a turn makes of it."""

    title: str
    geometry: str
    start: tuple[float, ...]
    action: tuple[float, ...]
    steps: int
    turned: tuple[float, ...] | None = None


WALKS = (
    Walk("translation: a line", "translation", (-5.0, -2.0), (0.7, 0.3), 15),
    Walk("rotation: a circle", "rotation", (1.0, 0.4), (0.92, 0.39), 13),
    Walk("scaling-rotation: a spiral", "scaling-rotation", (1.0, 0.0), (0.86, 0.37), 28),
    Walk("se2: a line, or a circle", "se2[radius=6]", (-5.0, -3.0), (0.7, 0.3, 0.0), 13, (0.7, 0.3, 1.5)),
    Walk("sphere: great or small circle", "sphere[radius=6]", (-4.0, -3.0), (1.0, 0.5, 0.0), 16, (0.6, 0.6, 1.6)),
    Walk("disk: a geodesic, or a circle", "disk[radius=2]", (0.0, -1.5), (0.5, 0.0, 0.0), 13, (0.5, 0.0, 1.1)),
    Walk("hyperbolic: a geodesic, or beside", "hyperbolic-2[radius=2]", (-2.5, 1.0), (0.6, 0.0), 14, (0.3, 0.5)),
    Walk("examples/helix: a screw line", "examples.helix:Helix", (1.5, 0.0, -1.0), (0.45, 0.25), 24),
)


def half(geometry: Geometry, action: Float[Array, "action"]) -> Float[Array, "action"]:
    """The square root of an action in its group: done twice, it is the action.

    Found as Heron found roots of numbers: the mean of an estimate and of what it leaves to do is a better estimate.
    """
    root = geometry.identity()
    for _ in range(_ROUNDS):
        root = geometry.mix_actions(jnp.array([0.5]), geometry.compose(action, geometry.inverse(root)), root)
    return root


def keys_of(geometry: Geometry, walk: Walk, action: tuple[float, ...]) -> tuple[Array, Array]:
    """The keys of the walk, and points of the line that joins them: the keys of a walk in eighths of a step."""
    step = geometry.action(jnp.array(action))
    part = step
    for _ in range(_HALVINGS):
        part = half(geometry, part)
    start = geometry.key(jnp.array(walk.start))
    return repeated(geometry, step, start, walk.steps), repeated(geometry, part, start, walk.steps * 2**_HALVINGS)


def repeated(
    geometry: Geometry, action: Float[Array, "action"], key: Float[Array, "key"], steps: int
) -> Float[Array, "points key"]:
    """The key, and where the action takes it in so many steps."""
    keys = [key]
    for _ in range(steps):
        keys.append(geometry.act(action, keys[-1]))
    return jnp.stack(keys)


def seen(geometry: Geometry, keys: Float[Array, "points key"]) -> Float[np.ndarray, "points 2"]:
    """Where keys are drawn; a screw line from the side, a little from above."""
    if geometry.key_size == 3 and geometry.rim is None:
        x, y, z = np.asarray(keys).T
        return np.stack([x, z + 0.35 * y], axis=-1)
    return np.asarray(geometry.plane_coordinates(keys))


def draw() -> None:
    """All walks on one sheet."""
    with style():
        figure = new_figure(height=5.0)
        for place, walk in enumerate(WALKS):
            geometry = make_geometry(walk.geometry)
            axes = figure.add_subplot(2, 4, place + 1)
            axes.set_title(walk.title, fontsize=8)
            axes.set_aspect("equal")
            axes.set_axis_off()
            if geometry.rim is not None:
                (rim, *_) = projection(geometry, np.zeros((1, geometry.key_size))).outline
                axes.plot(*rim.T, color=QUIET, linewidth=0.8)
            elif walk.title.startswith(("rotation", "scaling")):
                axes.plot(0, 0, "+", color=QUIET, markersize=6)
            for action, colour in ((walk.action, WRITE), (walk.turned, READS[0])):
                if action is not None:
                    keys, line = keys_of(geometry, walk, action)
                    axes.plot(*seen(geometry, line).T, color=colour, linewidth=0.8, alpha=0.6)
                    axes.plot(*seen(geometry, keys).T, "o", color=colour, markersize=2.6)
        figure.tight_layout()
        figure.savefig(PICTURE, metadata={"Date": None})
        print(f"written to docs/{PICTURE.name}")


if __name__ == "__main__":
    draw()
