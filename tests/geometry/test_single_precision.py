"""The laws in single precision, in which machines are trained: keys agree to a ten-thousandth of a step.

Numbers are those of a machine at work: raw keys up to a few dozen steps from the base point, raw actions of length 1.
"""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from lantm.geometry import Geometry

STEPS = 1e-4  # of distances
NUMBERS = 1e-5  # of the numbers of actions, which are about 1


@pytest.fixture(scope="module")
def laws(geometry: Geometry) -> dict[str, tuple[Array, Array]]:
    """Both sides of every law, compiled together: keys, or distances between keys, or actions."""
    random = np.random.default_rng(0)
    raw = random.normal(size=(3, 64, geometry.raw_action_size))
    raw /= np.linalg.norm(raw, axis=-1, keepdims=True)

    @jax.jit
    def both_sides(raw: Array, raw_keys: Array) -> dict[str, tuple[Array, Array]]:
        a, b, c = geometry.action(raw)
        k, other = geometry.key(raw_keys)
        undone = geometry.inverse(a)
        sides = {
            "key: identity": (geometry.act(geometry.identity(), k), k),
            "key: inverse": (geometry.act(undone, geometry.act(a, k)), k),
            "key: action": (geometry.act(geometry.compose(a, b), k), geometry.act(a, geometry.act(b, k))),
            "action: identity": (geometry.compose(a, geometry.identity()), a),
            "action: inverse": (geometry.compose(a, undone), jnp.broadcast_to(geometry.identity(), a.shape)),
            "action: associativity": (
                geometry.compose(geometry.compose(a, b), c),
                geometry.compose(a, geometry.compose(b, c)),
            ),
        }
        if geometry.isometric:
            moved = geometry.squared_distance(geometry.act(a, k), geometry.act(a, other))
            sides["distance"] = jnp.sqrt(moved), jnp.sqrt(geometry.squared_distance(k, other))
        return {
            law: (jnp.sqrt(geometry.squared_distance(*pair)), jnp.zeros(64)) if law.startswith("key") else pair
            for law, pair in sides.items()
        }

    return both_sides(
        jnp.asarray(raw, jnp.float32), jnp.asarray(20 * random.normal(size=(2, 64, geometry.raw_key_size)), jnp.float32)
    )


def test_laws(laws: dict[str, tuple[Array, Array]]) -> None:
    for law, (left, right) in laws.items():
        assert left.dtype == jnp.float32
        tolerance = NUMBERS if law.startswith("action") else STEPS
        np.testing.assert_allclose(left, right, rtol=tolerance, atol=tolerance, err_msg=law)
