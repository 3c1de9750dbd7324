"""`Weighting`: the contract of a weighting (section 3.1 of the paper, "Read").

Read weights are normalised, so only ratios of affinities matter. The backward pass uses derivatives of their
logarithms, which stay small where an affinity or its reciprocal would leave the range of float32. Values and gradients
are therefore finite for all finite float32 distances.
"""

import abc
from functools import partial
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

# Array types shared by all weightings; `reads` are all axes before the slots (problems and read heads).
SquaredDistances: TypeAlias = Float[Array, "*reads slots"]
Affinities: TypeAlias = Float[Array, "*reads slots"]
Strengths: TypeAlias = Float[Array, "*#reads slots"]
Visible: TypeAlias = Bool[Array, "*#reads slots"]
Temperature: TypeAlias = Float[Array, "*reads"]
Nearest: TypeAlias = Float[Array, "*reads 1"]

# Strengths are clipped to at least this where they are divided by.
FAINTEST = 1e-20


class Shares(NamedTuple):
    """The factors of the read weights: weight = share * strength."""

    shares: Float[Array, "*reads slots"]
    strengths: Strengths

    @property
    def weights(self) -> Float[Array, "*reads slots"]:
        """The read weights."""
        return self.strengths * self.shares


class Slopes(NamedTuple):
    """Derivatives of the logarithm of an affinity."""

    distance: Float[Array, "*#reads #slots"]
    temperature: Float[Array, "*reads slots"] | None


class Weighting(eqx.Module):
    """Maps the squared distances from a read key to all memories to read weights.

    A custom weighting only needs to define `affinities` (examples/own_weighting.py).

    A weighting holds no arrays, so it can be a static argument of a compiled function.
    """

    renormalise: bool = eqx.field(default=False, kw_only=True)
    """Include the strengths in the denominator, so that the weights sum to 1."""

    @property
    def emits_temperature(self) -> bool:
        """Whether the controller emits a temperature for every read head."""
        return False

    @property
    def asks_for_nearest(self) -> bool:
        """Whether affinities are computed relative to the smallest distance."""
        return True

    @property
    def convex(self) -> bool:
        """Whether affinities are convex in the squared distance, with a second derivative that decreases with distance.

        The error bound of the memory index relies on it (`lantm.machine.index.expansion`).
        """
        return False

    @abc.abstractmethod
    def affinities(
        self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest
    ) -> Affinities:
        """The unnormalised weight of each memory, before strengths, as a function of its squared distance.

        Common factors cancel, so an affinity may be divided by that of `nearest`, the smallest squared distance, to
        keep it within the range of float32.
        """

    def slopes(self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest) -> Slopes:
        """The derivatives of the logarithm of an affinity by distance and temperature; by autodiff unless overridden.

        `nearest` is treated as a constant, since it changes all affinities by the same factor.
        """
        nearest = jax.lax.stop_gradient(nearest)

        def of_distance(distances: Array) -> Array:
            return self.affinities(distances, temperature, nearest)

        by_distance = _logarithmic(*jax.jvp(of_distance, (squared_distances,), (jnp.ones_like(squared_distances),)))
        if temperature is None or not self.emits_temperature:
            return Slopes(by_distance, None)

        def of_temperature(temperature: Array) -> Array:
            return self.affinities(squared_distances, temperature, nearest)

        by_temperature = _logarithmic(*jax.jvp(of_temperature, (temperature,), (jnp.ones_like(temperature),)))
        return Slopes(by_distance, by_temperature)

    def visible_affinities(
        self,
        squared_distances: SquaredDistances,
        visible: Visible,
        temperature: Temperature | None,
    ) -> Affinities:
        """Affinities, set to zero for memories that are not visible."""
        nearest = _smallest_visible(squared_distances, visible)
        return jnp.where(visible, self.affinities(squared_distances, temperature, nearest), 0.0)

    def share(
        self,
        squared_distances: SquaredDistances,
        strengths: Strengths,
        visible: Visible,
        temperature: Temperature | None = None,
    ) -> Shares:
        """Normalises the affinities; all shares are zero if no memory is visible."""
        affinities = self.visible_affinities(squared_distances, visible, temperature)
        total = jnp.sum(self.counted(affinities, strengths)[0], axis=-1, keepdims=True)
        return self.shared(affinities, strengths, jnp.maximum(total, jnp.finfo(total.dtype).tiny))

    def counted(
        self, affinities: Affinities, strengths: Strengths
    ) -> tuple[Float[Array, "*reads slots"], Float[Array, "*reads slots"]]:
        """The terms of the denominator, and the unnormalised read weights."""
        if not self.renormalise:
            return affinities, strengths * affinities
        weights = jnp.maximum(strengths, FAINTEST) * affinities
        return weights, weights

    def shared(self, affinities: Affinities, strengths: Strengths, total: Float[Array, "*reads 1"]) -> Shares:
        """The shares, given the denominator."""
        if self.renormalise:
            strengths = jnp.maximum(strengths, FAINTEST)
        return Shares(affinities * (1 / total), strengths)

    def pull_back(
        self,
        shared: Shares,
        gains: Float[Array, "*reads slots"],
        gain: Float[Array, "*reads 1"],
        squared_distances: SquaredDistances,
        visible: Visible,
        temperature: Temperature | None,
        nearest: Nearest | None = None,
    ) -> tuple[Float[Array, "*reads slots"], Float[Array, "*reads slots"], Float[Array, "*reads"] | None]:
        """The cotangents of distances, strengths and temperature.

        `gains` are the cotangents of the weights, and `gain` is their mean weighted by the weights. The cotangent of a
        logarithmic affinity is proportional to the difference of the two.
        """
        shares, strengths = shared
        if self.renormalise:
            d_strengths = shares * (gains - gain)
            d_logarithms = shared.weights * (gains - gain)
        else:
            d_strengths = shares * gains
            d_logarithms = shares * (strengths * gains - gain)
        if nearest is None:
            nearest = _smallest_visible(squared_distances, visible)
        slopes = self.slopes(squared_distances, temperature, nearest)
        d_temperature = None
        if temperature is not None:
            d_temperature = jnp.zeros_like(temperature)
            if slopes.temperature is not None:
                d_temperature = jnp.sum(d_logarithms * slopes.temperature, axis=-1)
        return d_logarithms * slopes.distance, d_strengths, d_temperature

    def __call__(
        self,
        squared_distances: SquaredDistances,
        strengths: Strengths,
        visible: Visible,
        temperature: Temperature | None = None,
    ) -> Float[Array, "*reads slots"]:
        """The read weights w_i; all zero if no memory is visible."""
        strengths = jnp.broadcast_to(strengths, squared_distances.shape)
        return _weigh(self, squared_distances, strengths, visible, temperature)


def _smallest_visible(distances: Float[Array, "*reads slots"], visible: Visible) -> Float[Array, "*reads 1"]:
    return jnp.min(distances, axis=-1, where=visible, initial=jnp.finfo(distances.dtype).max, keepdims=True)


def _logarithmic(value: Float[Array, "*any"], slope: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """The derivative of the logarithm; zero where the value has underflowed or overflowed."""
    known = (value > 0) & jnp.isfinite(value) & jnp.isfinite(slope)
    return jnp.where(known, slope / jnp.where(known, value, 1), 0)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _weigh(
    weighting: Weighting, distances: Array, strengths: Array, visible: Array, temperature: Array | None
) -> Array:
    return weighting.share(distances, strengths, visible, temperature).weights


def _weigh_forward(
    weighting: Weighting, distances: Array, strengths: Array, visible: Array, temperature: Array | None
) -> tuple[Array, tuple[Shares, Array, Array, Array | None]]:
    shared = weighting.share(distances, strengths, visible, temperature)
    return shared.weights, (shared, distances, visible, temperature)


def _weigh_backward(
    weighting: Weighting, saved: tuple[Shares, Array, Array, Array | None], cotangent: Array
) -> tuple[Array, Array, None, Array | None]:
    shared, distances, visible, temperature = saved
    gain = jnp.sum(shared.weights * cotangent, axis=-1, keepdims=True)
    d_distances, d_strengths, d_temperature = weighting.pull_back(
        shared, cotangent, gain, distances, visible, temperature
    )
    return d_distances, d_strengths, None, d_temperature


_weigh.defvjp(_weigh_forward, _weigh_backward)
