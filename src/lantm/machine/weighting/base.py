"""`Weighting`: the contract of a weighting (section 3.1 of the paper, "Read").

A read weight is a memory's share of a total, so only ratios of affinities matter. The backward pass is written in
terms of their logarithms, whose slopes are small wherever an affinity itself, or its reciprocal, would leave the
range of float32: values and gradients are finite for all squared distances that a float32 holds.
"""

import abc
from functools import partial
from typing import NamedTuple, TypeAlias

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

# The arrays of every weighting, named once: `reads` are all that precede the memories, problems and read heads.
SquaredDistances: TypeAlias = Float[Array, "*reads slots"]
Affinities: TypeAlias = Float[Array, "*reads slots"]
Strengths: TypeAlias = Float[Array, "*#reads slots"]
Visible: TypeAlias = Bool[Array, "*#reads slots"]
Temperature: TypeAlias = Float[Array, "*reads"]
Nearest: TypeAlias = Float[Array, "*reads 1"]

# Strengths below this are taken for it where they are divided by.
FAINTEST = 1e-20


class Shares(NamedTuple):
    """What a read divides up: a memory's weight is its share times its strength."""

    shares: Float[Array, "*reads slots"]
    strengths: Strengths

    @property
    def weights(self) -> Float[Array, "*reads slots"]:
        """The read weights."""
        return self.strengths * self.shares


class Slopes(NamedTuple):
    """The derivatives of the logarithm of an affinity."""

    distance: Float[Array, "*#reads #slots"]
    temperature: Float[Array, "*reads slots"] | None


class Weighting(eqx.Module):
    """Turns the squared distances from one read key to all memories into weights over the memories.

    A weighting of one's own defines `affinities`, and needs no more than that (examples/own_weighting.py).

    A weighting holds no arrays, so it is fit to be a static argument of a compiled function.
    """

    renormalise: bool = eqx.field(default=False, kw_only=True)
    """Put the strengths into the denominator too, so that the weights sum to 1."""

    @property
    def emits_temperature(self) -> bool:
        """Whether the controller emits a temperature for every read head."""
        return False

    @property
    def asks_for_nearest(self) -> bool:
        """Whether affinities are measured against the smallest distance."""
        return True

    @property
    def convex(self) -> bool:
        """Whether affinities are convex in the squared distance, the less curved the farther away.

        The index over the memory rests on it (`lantm.machine.index.expansion`).
        """
        return False

    @abc.abstractmethod
    def affinities(
        self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest
    ) -> Affinities:
        """The weight of each memory before normalisation and strengths, from its squared distance alone.

        Common factors do not matter. So an affinity may be divided by that of `nearest`, the smallest squared
        distance of all, to keep it within the range of float32.
        """

    def slopes(self, squared_distances: SquaredDistances, temperature: Temperature | None, nearest: Nearest) -> Slopes:
        """How the logarithm of an affinity changes with its distance and temperature, by autodiff unless overridden.

        `nearest` counts as a constant: what it changes is common to all memories.
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
        nearest: Nearest | None = None,
    ) -> Affinities:
        """Affinities that are zero where a memory is not visible.

        Whoever looks at the memories in parts gives the smallest distance of them all, `nearest`.
        """
        if nearest is None:
            nearest = _smallest_visible(squared_distances, visible)
        return jnp.where(visible, self.affinities(squared_distances, temperature, nearest), 0.0)

    def share(
        self,
        squared_distances: SquaredDistances,
        strengths: Strengths,
        visible: Visible,
        temperature: Temperature | None = None,
    ) -> Shares:
        """Divides a read up among the memories; nothing is shared out when no memory is visible."""
        affinities = self.visible_affinities(squared_distances, visible, temperature)
        total = jnp.sum(self.counted(affinities, strengths)[0], axis=-1, keepdims=True)
        return self.shared(affinities, strengths, jnp.maximum(total, jnp.finfo(total.dtype).tiny))

    def counted(
        self, affinities: Affinities, strengths: Strengths
    ) -> tuple[Float[Array, "*reads slots"], Float[Array, "*reads slots"]]:
        """What goes into the sum that a read is divided by, and the read's weights before that division."""
        if not self.renormalise:
            return affinities, strengths * affinities
        weights = jnp.maximum(strengths, FAINTEST) * affinities
        return weights, weights

    def shared(self, affinities: Affinities, strengths: Strengths, total: Float[Array, "*reads 1"]) -> Shares:
        """The shares of memories in a read, given the sum over all of them."""
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

        `gains` are the cotangents of the weights: what a whole read of each memory would gain. `gain` is what
        the read as it is gains, the sum of weights times gains. What a memory's affinity is worth is the first
        less the second.
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
        """The read weights w_i; all zero when no memory is visible."""
        strengths = jnp.broadcast_to(strengths, squared_distances.shape)
        return _weigh(self, squared_distances, strengths, visible, temperature)


def _smallest_visible(distances: Float[Array, "*reads slots"], visible: Visible) -> Float[Array, "*reads 1"]:
    return jnp.min(distances, axis=-1, where=visible, initial=jnp.finfo(distances.dtype).max, keepdims=True)


def _logarithmic(value: Float[Array, "*any"], slope: Float[Array, "*any"]) -> Float[Array, "*any"]:
    """The slope of the logarithm; zero where the value has left the range of its precision."""
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
