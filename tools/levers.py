"""How much a small error of an action matters, the farther out a head is: `python tools/levers.py`.

A head walks from the base point in half steps, as machines of `robust` start out. After so many steps, one of its
action's numbers is wrong by a hundredth of a step: how far from the right key does that single step take it?
"""

import json
import pathlib

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.geometry import Geometry, make_geometry
from lantm.grids.studies.geometries import KEY_SPACES
from lantm.provenance import provenance

RESULT = pathlib.Path(__file__).parent.parent / "results" / "levers.json"
STEP, ERROR = 0.5, 0.01
AFTER = (0, 64, 128, 256)
SPACES = tuple(space for space in KEY_SPACES if "rotation" not in space)  # rotations do not move the base point


def astray(geometry: Geometry, key: Float[Array, "key"], raw: Float[Array, "raw"]) -> Float[Array, ""]:
    """The distance between the next key and the one of the worst wrong number."""
    right = geometry.act(geometry.action(raw), key)
    wrong = jax.vmap(lambda error: geometry.act(geometry.action(raw + error), key))(ERROR * jnp.eye(len(raw)))
    return jnp.sqrt(jnp.max(jax.vmap(lambda other: geometry.squared_distance(right, other))(wrong)))


def lever(space: str) -> list[float]:
    """The distances after each number of steps, along the worse of the first two directions."""
    geometry = make_geometry(space)
    start = geometry.key(jnp.zeros(geometry.raw_key_size))
    # In SE(2), on the sphere and in the disk the third number is a turn, and not a way to walk.
    ways = min(2, geometry.raw_action_size)
    raws = STEP * jnp.eye(geometry.raw_action_size)[:ways]

    @jax.jit
    def walk(raw: Float[Array, "raw"], steps: int) -> Float[Array, "key"]:
        return jax.lax.fori_loop(0, steps, lambda _, key: geometry.act(geometry.action(raw), key), start)

    return [max(float(astray(geometry, walk(raw, steps), raw)) for raw in raws) for steps in AFTER]


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    rows = [{"name": space, "astray": [round(far, 4) for far in lever(space)]} for space in SPACES]
    record = {"command": "python tools/levers.py", "step": STEP, "error": ERROR, "after": AFTER, "rows": rows}
    RESULT.write_text(json.dumps(record | provenance(), indent=1) + "\n")
    for row in rows:
        print(f"{row['name']:18}", *(f"{far:9.4f}" for far in row["astray"]))


if __name__ == "__main__":
    main()
