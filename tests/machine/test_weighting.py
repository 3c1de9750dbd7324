"""Read weights: the paper's laws by hand, their limits, and finite numbers whatever the distances."""

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.errors import LantmError
from lantm.machine import InvNorm, SoftMax, Weighting, make_weighting

EXTREMES = [0.0, 1e-30, 1e-12, 1.0, 1e30, 3e38]
TEMPERATURES = [0.0, 1e-30, 1e-6, 1.0, 1e6, 1e30, 3e38]  # a softplus can round to 0
STRENGTHS = [1.0, 1e-4, 1e-17, 1e-30, 1e-38, 0.0]
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
            weights = weigh(weighting, [1.0, hidden, 3.0], visible=[True, False, True], temperature=temperature)
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


# Gradients.


def plain_weights(weighting: Weighting, distances: np.ndarray, strengths: np.ndarray, temperature: float) -> np.ndarray:
    """The formula of the paper, as it stands."""
    if isinstance(weighting, InvNorm):
        nearness = (distances + weighting.epsilon) ** -weighting.power
    else:
        nearness = np.exp(-distances / temperature)
    share = strengths * nearness
    return share / np.sum(share if weighting.renormalise else nearness)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("renormalise", [False, True])
@pytest.mark.parametrize(
    "law", [*(partial(InvNorm, power=power) for power in POWERS), SoftMax], ids=["0.5", "1", "2", "softmax"]
)
def test_gradients_are_those_of_the_formula(law: Callable[..., Weighting], renormalise: bool) -> None:
    """By central differences, for several distances, two the same, and for one alone."""
    weighting = law(renormalise=renormalise)
    for distances in ([0.3, 0.1, 0.1, 2.0], [0.7]):
        count = len(distances)
        point = np.array(distances + [0.5, 0.9, 0.2, 0.6][:count] + [0.8])
        cotangent = np.array([1.0, -2.0, 0.5, 3.0])[:count]

        def ours(point: jax.Array, count: int = count, cotangent: np.ndarray = cotangent) -> jax.Array:
            weights = weighting(point[:count], point[count:-1], jnp.full(count, True), point[-1])
            return jnp.sum(cotangent * weights)

        def theirs(point: np.ndarray, count: int = count, cotangent: np.ndarray = cotangent) -> float:
            return np.sum(cotangent * plain_weights(weighting, point[:count], point[count:-1], float(point[-1])))

        np.testing.assert_allclose(ours(jnp.array(point)), theirs(point), rtol=1e-12)
        small = 1e-6
        differences = [
            (theirs(point + small * axis) - theirs(point - small * axis)) / (2 * small) for axis in np.eye(point.size)
        ]
        np.testing.assert_allclose(jax.grad(ours)(jnp.array(point)), differences, rtol=1e-7, atol=1e-8)


# Finite numbers.

every_weighting = pytest.mark.parametrize(
    "weighting",
    [
        *(InvNorm(power=power, renormalise=again) for power in POWERS for again in (False, True)),
        SoftMax(),
        SoftMax(renormalise=True),
        *(SoftMax(temperature=temperature) for temperature in (1e-6, 1.0, 1e6)),
    ],
    ids=str,
)


class Cases(NamedTuple):
    """Three memories in every situation: one a row."""

    distances: np.ndarray
    strengths: np.ndarray
    visible: np.ndarray
    temperatures: np.ndarray


def all_cases(weighting: Weighting) -> Cases:
    """All distances with all distances, all strengths, all that can be seen, all temperatures."""
    temperatures = TEMPERATURES if weighting.emits_temperature else [1.0]
    axes = [*[EXTREMES] * 3, STRENGTHS, *[[True, False]] * 3, temperatures]
    first, second, third, strength, *seen, temperature = (
        axis.ravel() for axis in np.meshgrid(*(np.array(axis, np.float32) for axis in axes))
    )
    distances = np.stack([first, second, third], axis=1)
    return Cases(distances, np.stack([strength] * 3, axis=1), np.stack(seen, axis=1) == 1, temperature)


@every_weighting
def test_weights_are_finite_and_sum_to_what_they_should(weighting: Weighting) -> None:
    cases = all_cases(weighting)
    weights = np.asarray(weighting(*map(jnp.asarray, cases)))
    assert np.all(np.isfinite(weights))
    assert np.all(weights >= 0)
    assert np.all(weights[~cases.visible] == 0)
    total, strength = weights.sum(axis=1), cases.strengths[:, 0]
    seen = cases.visible.any(axis=1)
    assert np.all(total[~seen] == 0)
    if weighting.renormalise:
        np.testing.assert_allclose(total[seen & (strength >= 1e-17)], 1.0, rtol=1e-5)
        assert np.all(total <= 1 + 1e-5)
    else:
        np.testing.assert_allclose(total[seen], strength[seen], rtol=1e-5, atol=1e-37)


@every_weighting
@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_gradients_are_finite(weighting: Weighting, scale: float) -> None:
    """With the cotangents of an ordinary loss, and of one that is about to explode."""
    cases = Cases(*map(jnp.asarray, all_cases(weighting)))
    cotangent = scale * np.array([1.0, -0.5, 0.3], np.float32) * np.ones_like(cases.distances)

    def weights(distances: jax.Array, strengths: jax.Array, temperatures: jax.Array) -> jax.Array:
        return weighting(distances, strengths, cases.visible, temperatures)

    @jax.jit
    def gradients(cotangent: jax.Array) -> tuple[jax.Array, ...]:
        _, pull = jax.vjp(weights, cases.distances, cases.strengths, cases.temperatures)
        return pull(cotangent)

    for gradient in gradients(cotangent):
        wrong = ~np.isfinite(np.asarray(gradient).reshape(len(cotangent), -1)).all(axis=1)
        case = [field[wrong.argmax()].tolist() for field in cases]
        assert not wrong.any(), f"{wrong.sum()} cases, the first of them {case}"


@settings(max_examples=25, deadline=None)
@given(
    logarithms=st.lists(st.floats(-80.0, 88.0), min_size=4, max_size=4),
    raw_strengths=st.lists(st.floats(-1e4, 1e4), min_size=4, max_size=4),
    visible=st.lists(st.booleans(), min_size=4, max_size=4),
    raw_temperature=st.floats(-1e30, 1e30),
    renormalise=st.booleans(),
)
def test_whatever_a_controller_emits(
    logarithms: list[float],
    raw_strengths: list[float],
    visible: list[bool],
    raw_temperature: float,
    renormalise: bool,
) -> None:
    """Through the sigmoid and the softplus, all is finite, and what is nearer has no less affinity."""
    logarithms, raw_strengths = jnp.array(logarithms), jnp.array(raw_strengths)
    seen = jnp.array(visible)
    for weighting in (InvNorm(renormalise=renormalise), SoftMax(renormalise=renormalise)):

        def first(
            logarithms: jax.Array,
            raw_strengths: jax.Array,
            raw_temperature: jax.Array,
            weighting: Weighting = weighting,
        ) -> tuple[jax.Array, jax.Array]:
            temperature = jax.nn.softplus(raw_temperature)
            distances = jnp.exp(logarithms)
            weights = weighting(distances, jax.nn.sigmoid(raw_strengths), seen, temperature)
            return weights[0], weighting.visible_affinities(distances, seen, temperature)

        (weight, affinities), gradients = jax.value_and_grad(first, argnums=(0, 1, 2), has_aux=True)(
            logarithms, raw_strengths, jnp.array(raw_temperature)
        )
        assert 0 <= weight <= 1 + 1e-6
        for gradient in gradients:
            assert np.all(np.isfinite(np.asarray(gradient)))
        ordered = np.asarray(affinities)[np.argsort(np.asarray(logarithms), kind="stable")]
        assert np.all(np.diff(ordered[np.asarray(visible)[np.argsort(logarithms, kind="stable")]]) <= 0)


# Weightings of one's own.


class Laplace(Weighting):
    """exp(-sqrt(d + 1/4) / T), with a temperature of its own or one that the controller emits."""

    width: float | None = None

    @property
    def emits_temperature(self) -> bool:
        return self.width is None

    def affinities(self, squared_distances: jax.Array, temperature: jax.Array | None, nearest: jax.Array) -> jax.Array:
        width = self.width if temperature is None else temperature[..., None]
        return jnp.exp((jnp.sqrt(nearest + 0.25) - jnp.sqrt(squared_distances + 0.25)) / width)


class PlainInvNorm(Weighting):
    """The paper's law without a word about its slopes."""

    def affinities(self, squared_distances: jax.Array, temperature: jax.Array | None, nearest: jax.Array) -> jax.Array:
        return (nearest + 1e-9) / (squared_distances + 1e-9)


@pytest.mark.usefixtures("double_precision")
def test_slopes_follow_from_affinities() -> None:
    """By hand: d log a / dd = -1 / (2 T r) and d log a / dT = (r - r_min) / T^2, with r = sqrt(d + 1/4)."""
    distances, temperature = jnp.array([[0.0, 2.0, 6.0]]), jnp.array([0.5])
    nearest, roots = jnp.array([[0.0]]), np.array([[0.5, 1.5, 2.5]])
    slopes = Laplace().slopes(distances, temperature, nearest)
    np.testing.assert_allclose(slopes.distance, -1 / (2 * 0.5 * roots), rtol=1e-12)
    np.testing.assert_allclose(slopes.temperature, (roots - 0.5) / 0.25, rtol=1e-12)
    assert Laplace(width=0.5).slopes(distances, None, nearest).temperature is None


def test_slopes_that_follow_from_affinities_are_those_written_out() -> None:
    """Gradients too, also at a distance of zero, for invisible memories, and when nothing is visible."""
    distances, strengths = jnp.array([0.0, 1.0, 5.0, 1e30]), jnp.array([0.9, 0.5, 0.7, 0.2])
    for renormalise in (False, True):
        for visible in ([True] * 4, [False, True, True, True], [False] * 4):
            found = [
                jax.vjp(lambda d, s, w=weighting, v=visible: w(d, s, jnp.array(v)), distances, strengths)[1](
                    jnp.array([1.0, -2.0, 0.5, 3.0])
                )
                for weighting in (PlainInvNorm(renormalise=renormalise), InvNorm(renormalise=renormalise))
            ]
            for own, written_out in zip(*found, strict=True):
                np.testing.assert_allclose(own, written_out, rtol=1e-5, atol=1e-7)


def test_weightings_by_name() -> None:
    assert make_weighting("invnorm[power=2]") == InvNorm(power=2.0)
    assert make_weighting("softmax[renormalise=true,temperature=0.5]") == SoftMax(renormalise=True, temperature=0.5)
    assert make_weighting(f"{__name__}:Laplace[width=2.0]") == Laplace(width=2.0)
    with pytest.raises(LantmError, match=r"unknown weighting 'invnom'.*'invnorm'"):
        make_weighting("invnom")
    with pytest.raises(LantmError, match="is not a Weighting"):
        make_weighting(f"{__name__}:Cases")


# Errors.


@pytest.mark.parametrize("wrong", [0.0, -1.0, math.nan])
def test_laws_that_make_no_sense_are_refused(wrong: float) -> None:
    for make, name in [
        (lambda: InvNorm(power=wrong), "power"),
        (lambda: InvNorm(epsilon=wrong), "epsilon"),
        (lambda: SoftMax(temperature=wrong), "temperature"),
    ]:
        with pytest.raises(LantmError, match=name):
            make()
