"""Results have the precision of the arguments, and single precision agrees with double."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike

from lantm.geometry import Geometry


@partial(jax.jit, static_argnums=(0, 1))
def results(geometry: Geometry, dtype: DTypeLike) -> dict[str, Array]:
    """What every method makes of the same random numbers."""
    random = np.random.default_rng(0)

    def draw(size: int) -> Array:
        return jnp.asarray(random.normal(size=(16, size)), dtype)

    a, b = geometry.action(draw(geometry.raw_action_size)), geometry.action(draw(geometry.raw_action_size))
    k, other = geometry.key(draw(geometry.raw_key_size)), geometry.key(draw(geometry.raw_key_size))
    gate = jax.nn.sigmoid(draw(1))
    return {
        "action": a,
        "key": k,
        "act": geometry.act(a, k),
        "compose": geometry.compose(a, b),
        "inverse": geometry.inverse(a),
        "mix_actions": geometry.mix_actions(gate, a, b),
        "mix_keys": geometry.mix_keys(gate, k, other),
        "squared_distance": geometry.squared_distance(k, other),
    }


def test_single_precision_agrees_with_double(geometry: Geometry) -> None:
    with jax.enable_x64(True):
        single, double = results(geometry, jnp.float32), results(geometry, jnp.float64)
    for method in double:
        assert single[method].dtype == jnp.float32, method
        assert double[method].dtype == jnp.float64, method
        np.testing.assert_allclose(single[method], double[method], rtol=1e-4, atol=1e-5, err_msg=method)


def test_identity_has_the_default_precision(geometry: Geometry) -> None:
    with jax.enable_x64(False):
        assert geometry.identity().dtype == jnp.float32
    with jax.enable_x64(True):
        assert geometry.identity().dtype == jnp.float64
    assert geometry.identity().shape == (geometry.action_size,)
