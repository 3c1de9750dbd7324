"""The laws of every geometry: of the group, of its action, of mixing, of distances."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jaxtyping import Array, Float

from lantm.geometry import Geometry

pytestmark = pytest.mark.usefixtures("double_precision")

# Every example is a batch, so that one compilation serves all of them and broadcasting is in use.
BATCH = 4
POINTS = 3


def numbers(largest: float) -> st.SearchStrategy[np.ndarray]:
    """Raw numbers for three batches of keys or actions, in as many components as the largest geometry has."""
    elements = st.floats(-largest, largest, allow_subnormal=False)  # which JAX flushes to 0
    return hnp.arrays(np.float64, (POINTS, BATCH, 8), elements=elements)


points = st.one_of(numbers(1e-3), numbers(5.0), numbers(1e3))
gates = hnp.arrays(np.float64, (BATCH, 1), elements=st.floats(0.0, 1.0))
laws = settings(max_examples=15, deadline=None)


def keys_from(geometry: Geometry, raw: np.ndarray) -> Float[Array, "points batch key"]:
    return geometry.key(jnp.asarray(raw[..., : geometry.raw_key_size]))


def actions_from(geometry: Geometry, raw: np.ndarray) -> Float[Array, "points batch action"]:
    """Actions anywhere in the group, and in the last two rows actions near the identity."""
    raw = raw[..., : geometry.raw_action_size]
    anywhere = geometry.action(jnp.asarray(raw))
    nudged = geometry.action(jnp.asarray(raw + 1e-9))
    near_identity = geometry.compose(nudged, geometry.inverse(anywhere))
    return jnp.concatenate([anywhere[:, :2], near_identity[:, 2:]], axis=1)


def assert_close(actual: Float[Array, "*batch size"], expected: Float[Array, "*batch size"]) -> None:
    """Equal to within rounding, which grows with the largest number of a row."""
    expected = jnp.broadcast_to(expected, actual.shape)
    scale = 1 + jnp.abs(expected).max(axis=-1, keepdims=True)
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0, atol=1e-12)


@laws
@given(raw=points)
def test_identity(geometry: Geometry, raw: np.ndarray) -> None:
    a, *_ = actions_from(geometry, raw)
    k, *_ = keys_from(geometry, raw)
    identity = geometry.identity()
    assert_close(geometry.compose(a, identity), a)
    assert_close(geometry.compose(identity, a), a)
    assert_close(geometry.act(identity, k), k)


@laws
@given(raw=points)
def test_associativity(geometry: Geometry, raw: np.ndarray) -> None:
    a, b, c = actions_from(geometry, raw)
    left = geometry.compose(geometry.compose(a, b), c)
    right = geometry.compose(a, geometry.compose(b, c))
    assert_close(left, right)


@laws
@given(raw=points)
def test_inverse(geometry: Geometry, raw: np.ndarray) -> None:
    a, *_ = actions_from(geometry, raw)
    k, *_ = keys_from(geometry, raw)
    undone = geometry.inverse(a)
    assert_close(geometry.compose(a, undone), geometry.identity())
    assert_close(geometry.compose(undone, a), geometry.identity())
    assert_close(geometry.inverse(undone), a)
    assert_close(geometry.act(undone, geometry.act(a, k)), k)


@laws
@given(action_numbers=points, key_numbers=points)
def test_action_law(geometry: Geometry, action_numbers: np.ndarray, key_numbers: np.ndarray) -> None:
    a, b, _ = actions_from(geometry, action_numbers)
    k, *_ = keys_from(geometry, key_numbers)
    assert_close(geometry.act(geometry.compose(a, b), k), geometry.act(a, geometry.act(b, k)))


@laws
@given(raw=points)
def test_mixing_ends_at_candidate_and_previous(geometry: Geometry, raw: np.ndarray) -> None:
    candidate, previous, _ = actions_from(geometry, raw)
    rounding = 2 * np.finfo(np.float64).eps  # a projection back to the group may round the last digit
    for gate, expected in ((1.0, candidate), (0.0, previous)):
        mixed = geometry.mix_actions(jnp.full((BATCH, 1), gate), candidate, previous)
        np.testing.assert_allclose(mixed, expected, rtol=rounding, atol=0)

    candidate, previous, _ = keys_from(geometry, raw)
    for gate, expected in ((1.0, candidate), (0.0, previous)):
        mixed = geometry.mix_keys(jnp.full((BATCH, 1), gate), candidate, previous)
        np.testing.assert_array_equal(mixed, expected)


@laws
@given(raw=points, gate=gates)
def test_mixing_with_itself_changes_nothing(geometry: Geometry, raw: np.ndarray, gate: np.ndarray) -> None:
    a, *_ = actions_from(geometry, raw)
    k, *_ = keys_from(geometry, raw)
    assert_close(geometry.mix_actions(jnp.asarray(gate), a, a), a)
    assert_close(geometry.mix_keys(jnp.asarray(gate), k, k), k)


@laws
@given(action_numbers=points, key_numbers=numbers(5.0))
def test_isometry(geometry: Geometry, action_numbers: np.ndarray, key_numbers: np.ndarray) -> None:
    if not geometry.isometric:
        pytest.skip("not claimed")
    a, *_ = actions_from(geometry, action_numbers)
    k, other, _ = keys_from(geometry, key_numbers)
    before = geometry.squared_distance(k, other)
    after = geometry.squared_distance(geometry.act(a, k), geometry.act(a, other))
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


def test_isometry_is_claimed_wherever_it_holds(geometry: Geometry) -> None:
    random = np.random.default_rng(0)
    a, *_ = actions_from(geometry, random.normal(size=(POINTS, BATCH, 8)))
    k, other, _ = keys_from(geometry, random.normal(size=(POINTS, BATCH, 8)))
    before = geometry.squared_distance(k, other)
    after = geometry.squared_distance(geometry.act(a, k), geometry.act(a, other))
    assert np.allclose(after, before) == geometry.isometric


@laws
@given(raw=points)
def test_squared_distance(geometry: Geometry, raw: np.ndarray) -> None:
    k, other, _ = keys_from(geometry, raw)
    distance = geometry.squared_distance(k, other)
    np.testing.assert_array_equal(geometry.squared_distance(k, k), 0)
    np.testing.assert_array_equal(distance, geometry.squared_distance(other, k))
    assert (distance >= 0).all()
    far_apart = jnp.abs(k - other).max(axis=-1) > 1e-6
    assert (distance > 0)[far_apart].all()


def test_squared_distance_counts_every_component(geometry: Geometry) -> None:
    origin = geometry.key(jnp.zeros(geometry.raw_key_size))
    units = geometry.key(jnp.eye(geometry.raw_key_size))
    assert (geometry.squared_distance(origin, units) > 0).all()


def test_leading_axes_broadcast(geometry: Geometry) -> None:
    """A read key of every batch row meets every address of that row's memory, and one action moves all."""
    random = np.random.default_rng(1)
    read_keys = geometry.key(jnp.asarray(random.normal(size=(4, 1, geometry.raw_key_size))))
    addresses = geometry.key(jnp.asarray(random.normal(size=(4, 5, geometry.raw_key_size))))
    action = geometry.action(jnp.asarray(random.normal(size=geometry.raw_action_size)))

    distances = geometry.squared_distance(read_keys, addresses)
    moved = geometry.act(action, addresses)

    assert distances.shape == (4, 5)
    assert moved.shape == (4, 5, geometry.key_size)
    np.testing.assert_allclose(distances[2, 3], geometry.squared_distance(read_keys[2, 0], addresses[2, 3]), rtol=1e-12)
    np.testing.assert_allclose(moved[2, 3], geometry.act(action, addresses[2, 3]), rtol=1e-12)
