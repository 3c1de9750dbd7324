"""The laws of every geometry: of the group, of its action, of mixing, of distances."""

import numpy as np
import pytest
from compiled import Compiled
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jaxtyping import Float

from lantm.geometry import Geometry
from lantm.geometry.half_space import HalfSpaceGeometry
from lantm.geometry.surface import SurfaceGeometry

pytestmark = pytest.mark.usefixtures("double_precision")


@pytest.fixture(scope="module")
def geometry(geometry: Geometry) -> Compiled:
    return Compiled(geometry)


# Every example is a batch, so that one compilation serves all of them and broadcasting is in use.
BATCH = 4
POINTS = 3


def numbers(largest: float) -> st.SearchStrategy[np.ndarray]:
    """Raw numbers for three batches of keys or actions, in as many components as the largest geometry has."""
    elements = st.floats(-largest, largest, allow_subnormal=False)  # which JAX flushes to 0
    return hnp.arrays(np.float64, (POINTS, BATCH, 8), elements=elements)


points = st.one_of(numbers(1e-3), numbers(5.0), numbers(300.0))
gates = hnp.arrays(np.float64, (BATCH, 1), elements=st.floats(0.0, 1.0))
laws = settings(max_examples=8, deadline=None)


def keys_from(geometry: Compiled, raw: np.ndarray) -> Float[np.ndarray, "points batch key"]:
    return geometry.key(np.asarray(raw[..., : geometry.raw_key_size]))


def actions_from(geometry: Compiled, raw: np.ndarray) -> Float[np.ndarray, "points batch action"]:
    """Actions anywhere in the group, and in the last two rows actions near the identity."""
    raw = raw[..., : geometry.raw_action_size]
    anywhere = geometry.action(np.asarray(raw))
    nudged = geometry.action(np.asarray(raw + 1e-9))
    near_identity = geometry.compose(nudged, geometry.inverse(anywhere))
    return np.concatenate([anywhere[:, :2], near_identity[:, 2:]], axis=1)


def assert_close(
    geometry: Compiled, actual: Float[np.ndarray, "*batch size"], expected: Float[np.ndarray, "*batch size"]
) -> None:
    """Equal to within rounding, which grows with the largest number of a row, and exponentially in the disk."""
    expected = np.broadcast_to(expected, actual.shape)
    scale = 1 + np.abs(expected).max(axis=-1, keepdims=True)
    tolerance = 1e-9 if isinstance(geometry.plain, HalfSpaceGeometry) else 1e-12
    np.testing.assert_allclose(actual / scale, expected / scale, rtol=0, atol=tolerance)


def assert_same_action(
    geometry: Compiled, actual: Float[np.ndarray, "*batch size"], expected: Float[np.ndarray, "*batch size"]
) -> None:
    """The same numbers, or for an isometry of a surface their negatives, which are the same action."""
    if isinstance(geometry.plain, SurfaceGeometry):
        expected = np.broadcast_to(expected, actual.shape)
        sign = np.sign(np.sum(actual * expected, axis=-1, keepdims=True))
        expected = sign * expected
    assert_close(geometry, actual, expected)


@laws
@given(raw=points)
def test_identity(geometry: Compiled, raw: np.ndarray) -> None:
    a, *_ = actions_from(geometry, raw)
    k, *_ = keys_from(geometry, raw)
    identity = geometry.identity()
    assert_close(geometry, geometry.compose(a, identity), a)
    assert_close(geometry, geometry.compose(identity, a), a)
    assert_close(geometry, geometry.act(identity, k), k)


@laws
@given(raw=points)
def test_associativity(geometry: Compiled, raw: np.ndarray) -> None:
    a, b, c = actions_from(geometry, raw)
    left = geometry.compose(geometry.compose(a, b), c)
    right = geometry.compose(a, geometry.compose(b, c))
    assert_close(geometry, left, right)


@laws
@given(raw=points)
def test_inverse(geometry: Compiled, raw: np.ndarray) -> None:
    a, *_ = actions_from(geometry, raw)
    k, *_ = keys_from(geometry, raw)
    undone = geometry.inverse(a)
    assert_close(geometry, geometry.compose(a, undone), geometry.identity())
    assert_close(geometry, geometry.compose(undone, a), geometry.identity())
    assert_close(geometry, geometry.inverse(undone), a)
    assert_close(geometry, geometry.act(undone, geometry.act(a, k)), k)


@laws
@given(action_numbers=points, key_numbers=points)
def test_action_law(geometry: Compiled, action_numbers: np.ndarray, key_numbers: np.ndarray) -> None:
    a, b, _ = actions_from(geometry, action_numbers)
    k, *_ = keys_from(geometry, key_numbers)
    assert_close(geometry, geometry.act(geometry.compose(a, b), k), geometry.act(a, geometry.act(b, k)))


@laws
@given(raw=points)
def test_mixing_ends_at_candidate_and_previous(geometry: Compiled, raw: np.ndarray) -> None:
    candidate, previous, _ = actions_from(geometry, raw)
    for gate, expected in ((1.0, candidate), (0.0, previous)):
        mixed = geometry.mix_actions(np.full((BATCH, 1), gate), candidate, previous)
        assert_same_action(geometry, mixed, expected)

    candidate, previous, _ = keys_from(geometry, raw)
    rounding = 8 * np.finfo(np.float64).eps  # a projection back to the key space may round the last digits
    for gate, expected in ((1.0, candidate), (0.0, previous)):
        mixed = geometry.mix_keys(np.full((BATCH, 1), gate), candidate, previous)
        np.testing.assert_allclose(mixed, expected, rtol=rounding, atol=rounding * key_scale(geometry))


def key_scale(geometry: Compiled) -> float:
    """How large the numbers of a key are that a rounded one is projected with."""
    return getattr(geometry, "radius", 0.0)


@laws
@given(raw=points, gate=gates)
def test_mixing_with_itself_changes_nothing(geometry: Compiled, raw: np.ndarray, gate: np.ndarray) -> None:
    a, *_ = actions_from(geometry, raw)
    k, *_ = keys_from(geometry, raw)
    assert_close(geometry, geometry.mix_actions(np.asarray(gate), a, a), a)
    assert_close(geometry, geometry.mix_keys(np.asarray(gate), k, k), k)


@laws
@given(raw=points, gate=gates)
def test_mixtures_stay_in_the_group_and_in_the_key_space(geometry: Compiled, raw: np.ndarray, gate: np.ndarray) -> None:
    """What is mixed still has an inverse, and is still where keys are: an isometry moves no distance."""
    candidate, previous, _ = actions_from(geometry, raw)
    mixed = geometry.mix_actions(np.asarray(gate), candidate, previous)
    if geometry.isometric:
        assert_close(geometry, geometry.compose(mixed, geometry.inverse(mixed)), geometry.identity())
    candidate, previous, _ = keys_from(geometry, raw)
    key = geometry.mix_keys(np.asarray(gate), candidate, previous)
    assert_close(geometry, geometry.act(geometry.identity(), key), key)


@laws
@given(action_numbers=points, key_numbers=numbers(5.0))
def test_isometry(geometry: Compiled, action_numbers: np.ndarray, key_numbers: np.ndarray) -> None:
    if not geometry.isometric:
        pytest.skip("not claimed")
    a, *_ = actions_from(geometry, action_numbers)
    k, other, _ = keys_from(geometry, key_numbers)
    before = geometry.squared_distance(k, other)
    after = geometry.squared_distance(geometry.act(a, k), geometry.act(a, other))
    np.testing.assert_allclose(after, before, rtol=1e-9, atol=1e-9)


def test_isometry_is_claimed_wherever_it_holds(geometry: Compiled) -> None:
    random = np.random.default_rng(0)
    a, *_ = actions_from(geometry, random.normal(size=(POINTS, BATCH, 8)))
    k, other, _ = keys_from(geometry, random.normal(size=(POINTS, BATCH, 8)))
    before = geometry.squared_distance(k, other)
    after = geometry.squared_distance(geometry.act(a, k), geometry.act(a, other))
    assert np.allclose(after, before) == geometry.isometric


@laws
@given(raw=points)
def test_squared_distance(geometry: Compiled, raw: np.ndarray) -> None:
    k, other, _ = keys_from(geometry, raw)
    distance = geometry.squared_distance(k, other)
    np.testing.assert_array_equal(geometry.squared_distance(k, k), 0)
    np.testing.assert_array_equal(distance, geometry.squared_distance(other, k))
    assert (distance >= 0).all()
    far_apart = np.abs(k - other).max(axis=-1) > 1e-6
    assert (distance > 0)[far_apart].all()


@laws
@given(raw=points)
def test_no_way_round_is_shorter(geometry: Compiled, raw: np.ndarray) -> None:
    a, b, c = keys_from(geometry, raw)
    straight, first, second = (np.sqrt(geometry.squared_distance(*ends)) for ends in ((a, c), (a, b), (b, c)))
    assert (straight <= (first + second) * (1 + 1e-9) + 1e-9).all()


def test_squared_distance_counts_every_component(geometry: Compiled) -> None:
    origin = geometry.key(np.zeros(geometry.raw_key_size))
    units = geometry.key(np.eye(geometry.raw_key_size))
    assert (geometry.squared_distance(origin, units) > 0).all()


def test_leading_axes_broadcast(geometry: Compiled) -> None:
    """A read key of every batch row meets every address of that row's memory, and one action moves all."""
    random = np.random.default_rng(1)
    read_keys = geometry.key(np.asarray(random.normal(size=(4, 1, geometry.raw_key_size))))
    addresses = geometry.key(np.asarray(random.normal(size=(4, 5, geometry.raw_key_size))))
    action = geometry.action(np.asarray(random.normal(size=geometry.raw_action_size)))

    distances = geometry.squared_distance(read_keys, addresses)
    moved = geometry.act(action, addresses)

    assert distances.shape == (4, 5)
    assert moved.shape == (4, 5, geometry.key_size)
    np.testing.assert_allclose(distances[2, 3], geometry.squared_distance(read_keys[2, 0], addresses[2, 3]), rtol=1e-12)
    np.testing.assert_allclose(moved[2, 3], geometry.act(action, addresses[2, 3]), rtol=1e-12)

    actions = geometry.action(np.asarray(random.normal(size=(5, geometry.raw_action_size))))
    np.testing.assert_allclose(
        geometry.act(actions, addresses[0, 0])[3], geometry.act(actions[3], addresses[0, 0]), rtol=1e-12
    )
    gate = np.full((5, 1), 0.3)
    assert geometry.mix_actions(gate, action, geometry.identity()).shape == (5, geometry.action_size)
    assert geometry.mix_keys(gate, addresses[0, 0], addresses[0, 1]).shape == (5, geometry.key_size)
    assert geometry.compose(actions, action).shape == geometry.compose(action, actions).shape == actions.shape
