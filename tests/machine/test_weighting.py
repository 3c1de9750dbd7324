"""Read weights: the paper's laws by hand, their limits, and finite numbers whatever the distances."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.errors import LantmError
from lantm.machine import InvNorm, SoftMax, Weighting

EXTREMES = [0.0, 1e-30, 1e-12, 1.0, 1e30, 3e38]
TEMPERATURES = [1e-45, 1e-30, 1e-6, 0.1, 1.0, 1e6, 1e30, 3e38]  # a softplus can round to 0 as well
POWERS = [0.5, 1.0, 2.0]


def weigh(
    weighting: Weighting,
    distances: list[float],
    strengths: list[float] | None = None,
    visible: list[bool] | None = None,
    temperature: float | None = None,
) -> np.ndarray:
    """The weights of one read."""
    count = len(distances)
    return np.asarray(
        weighting(
            jnp.array(distances),
            jnp.array([1.0] * count if strengths is None else strengths),
            jnp.array([True] * count if visible is None else visible),
            None if temperature is None else jnp.array(temperature),
        )
    )


# The laws.


def test_invnorm_is_the_inverse_square_of_the_distance() -> None:
    """Distances 1, 2 and 4 have inverse squares 1, 1/4 and 1/16, in all 21/16."""
    weights = weigh(InvNorm(), [1.0, 4.0, 16.0])
    np.testing.assert_allclose(weights, [16 / 21, 4 / 21, 1 / 21], rtol=1e-6)


@pytest.mark.parametrize(
    ("power", "expected"), [(0.5, [2 / 3, 1 / 3]), (1.0, [4 / 5, 1 / 5]), (2.0, [16 / 17, 1 / 17])]
)
def test_invnorm_power(power: float, expected: list[float]) -> None:
    np.testing.assert_allclose(weigh(InvNorm(power=power), [1.0, 4.0]), expected, rtol=1e-6)


def test_invnorm_epsilon() -> None:
    """(0 + 1)^-1 and (2 + 1)^-1."""
    np.testing.assert_allclose(weigh(InvNorm(epsilon=1.0), [0.0, 2.0]), [3 / 4, 1 / 4], rtol=1e-6)


def test_softmax_is_the_exponential_of_the_squared_distance() -> None:
    exponentials = np.exp([-0.5, -1.0, -2.0])
    weights = weigh(SoftMax(), [0.5, 1.0, 2.0], temperature=1.0)
    np.testing.assert_allclose(weights, exponentials / exponentials.sum(), rtol=1e-6)


def test_softmax_temperature() -> None:
    """ln 9 more at temperature 2 is a factor of 3 less."""
    distances = [5.0, 5.0 + math.log(9)]
    np.testing.assert_allclose(weigh(SoftMax(), distances, temperature=2.0), [3 / 4, 1 / 4], rtol=1e-5)
    np.testing.assert_allclose(weigh(SoftMax(temperature=2.0), distances), [3 / 4, 1 / 4], rtol=1e-5)


def test_a_fixed_temperature_is_not_emitted() -> None:
    assert SoftMax().emits_temperature
    assert not SoftMax(temperature=1.0).emits_temperature
    assert not InvNorm().emits_temperature
    ours, theirs = (weigh(SoftMax(temperature=2.0), [1.0, 2.0], temperature=t) for t in (None, 7.0))
    np.testing.assert_array_equal(ours, theirs)


def test_strengths_are_not_in_the_denominator() -> None:
    """As in the paper: weak memories leave a weak reading."""
    for weighting, temperature in [(InvNorm(), None), (SoftMax(), 1.0)]:
        plain = weigh(weighting, [1.0, 3.0], temperature=temperature)
        weak = weigh(weighting, [1.0, 3.0], strengths=[0.5, 0.1], temperature=temperature)
        np.testing.assert_allclose(weak, plain * np.array([0.5, 0.1]), rtol=1e-6)


def test_renormalise_puts_them_there() -> None:
    """3/4 * 0.1 and 1/4 * 0.7, over their sum."""
    weights = weigh(InvNorm(renormalise=True), [1.0, 3.0], strengths=[0.1, 0.7])
    np.testing.assert_allclose(weights, [0.3, 0.7], rtol=1e-5)
    even = weigh(SoftMax(renormalise=True), [2.0, 2.0], strengths=[0.1, 0.3], temperature=1.0)
    np.testing.assert_allclose(even, [0.25, 0.75], rtol=1e-6)


def test_invisible_memories_do_not_exist() -> None:
    for weighting, temperature in [(InvNorm(), None), (SoftMax(), 1.0)]:
        for hidden in (0.0, 1e-30, 2.0, 3e38):
            weights = weigh(
                weighting, [1.0, hidden, 3.0], visible=[True, False, True], temperature=temperature
            )
            expected = weigh(weighting, [1.0, 3.0], temperature=temperature)
            np.testing.assert_array_equal(weights, [expected[0], 0.0, expected[1]])


# Limits.


@pytest.mark.parametrize("power", POWERS)
def test_invnorm_on_an_address_reads_that_memory_alone(power: float) -> None:
    """To the few parts in 10^9 (power 1) that epsilon lets through."""
    weights = weigh(InvNorm(power=power), [0.0, 1.0, 4.0], strengths=[0.8, 1.0, 1.0])
    leak = 1e-9**power
    np.testing.assert_allclose(weights, [0.8 * (1 - 1.5 * leak), leak, leak / 4**power], rtol=1e-4)


@pytest.mark.parametrize("power", POWERS)
@pytest.mark.parametrize("renormalise", [False, True])
def test_memories_at_one_address_share(power: float, renormalise: bool) -> None:
    for weighting, temperature in [
        (InvNorm(power=power, renormalise=renormalise), None),
        (SoftMax(renormalise=renormalise), 1e-6),
    ]:
        weights = weigh(weighting, [0.0, 9.0, 0.0], temperature=temperature)
        np.testing.assert_allclose(weights, [0.5, 0.0, 0.5], atol=1e-4)


def test_a_cold_softmax_reads_the_nearest_alone() -> None:
    np.testing.assert_array_equal(weigh(SoftMax(), [2.0, 1.0, 1.1], temperature=1e-6).round(30), [0, 1, 0])


def test_a_hot_softmax_reads_all_alike() -> None:
    np.testing.assert_allclose(weigh(SoftMax(), [0.0, 1.0, 50.0], temperature=1e9), [1 / 3] * 3, rtol=1e-6)


# Finite numbers.

ALL_WEIGHTINGS = [
    *(InvNorm(power=power, renormalise=again) for power in POWERS for again in (False, True)),
    SoftMax(),
    SoftMax(renormalise=True),
    *(SoftMax(temperature=temperature) for temperature in (1e-6, 1.0, 1e6)),
]
all_weightings = pytest.mark.parametrize("weighting", ALL_WEIGHTINGS, ids=str)


def combinations(weighting: Weighting) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array | None]:
    """All distances with all distances, all that can be seen of them, and all temperatures."""
    temperatures = TEMPERATURES if weighting.emits_temperature else [1.0]
    cases = list(
        itertools.product(
            itertools.product(EXTREMES, repeat=3), itertools.product([True, False], repeat=3), temperatures
        )
    )
    distances, visible, temperature = (jnp.array(column) for column in zip(*cases, strict=True))
    return distances.T, visible.T, temperature if weighting.emits_temperature else None


@all_weightings
@pytest.mark.parametrize("strength", [1.0, 1e-4, 1e-18, 1e-30, 1e-38, 0.0])
def test_weights_are_finite_and_share_at_most_everything(weighting: Weighting, strength: float) -> None:
    distances, visible, temperature = combinations(weighting)
    weights = np.asarray(weighting(distances, jnp.full_like(distances, strength), visible, temperature))
    assert np.all(np.isfinite(weights))
    assert np.all(weights >= 0)
    assert np.all(weights[~np.asarray(visible)] == 0)
    total = weights.sum(axis=0)
    seen = np.asarray(visible).any(axis=0)
    assert np.all(total[~seen] == 0)
    if not weighting.renormalise:
        np.testing.assert_allclose(total[seen], strength, rtol=1e-5)
    elif strength >= 1e-30:
        np.testing.assert_allclose(total[seen], 1.0, rtol=1e-5)
    else:
        assert np.all(total <= 1 + 1e-5)


@all_weightings
@pytest.mark.parametrize("strength", [1.0, 1e-4, 1e-18, 1e-30, 1e-38, 0.0])
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_gradients_are_finite(weighting: Weighting, strength: float, scale: float) -> None:
    """With the cotangents of an ordinary loss and of one that just exploded."""
    distances, visible, temperature = combinations(weighting)
    strengths = jnp.full_like(distances, strength)
    cotangent = scale * jnp.array([1.0, -0.5, 0.3])[:, None]

    def contracted(distances: jax.Array, strengths: jax.Array, temperature: jax.Array | None) -> jax.Array:
        return jnp.sum(cotangent * weighting(distances, strengths, visible, temperature))

    gradients = jax.grad(contracted, argnums=(0, 1, 2))(distances, strengths, temperature)
    for name, gradient in zip(("distances", "strengths", "temperature"), gradients, strict=True):
        if gradient is not None:
            wrong = ~np.isfinite(np.asarray(gradient))
            columns = np.flatnonzero(wrong.reshape(-1, wrong.shape[-1]).any(axis=0))[:3]
            cases = [
                (distances[:, c].tolist(), visible[:, c].tolist(), temperature is not None and temperature[c])
                for c in columns.tolist()
            ]
            assert not wrong.any(), f"the gradient by {name} is not finite for {cases}"
