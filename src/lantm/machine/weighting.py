"""How squared distances become read weights: the paper's InvNorm and SoftMax (section 3.1, "Read").

Both are exact in the limit where the read key meets an address (that memory alone is read), and both have
finite values and gradients for all squared distances that a float32 holds. The gradients are written out: a
weight is a share of a total, so what matters of an affinity is its logarithm, whose slope is small wherever
the affinity itself, or its reciprocal, would leave the range of float32.
"""

import abc
from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lantm.errors import LantmError

# A temperature below this would turn distances of ordinary size into overflow.
_COLDEST = 1e-6
# exp(-_FADED) is zero to float32: distances are cut there.
_FADED = 100.0
# Squared distances above this are taken for it, so that their reciprocals are not lost to float32.
_FARTHEST = 1e37
# Strengths below this are taken for it where they are divided by.
_FAINTEST = 1e-20


class Shares(NamedTuple):
    """What a read divides up: a memory's weight is its share times its strength."""

    shares: Float[Array, "*reads slots"]
    strengths: Float[Array, "*#reads slots"]

    @property
    def weights(self) -> Float[Array, "*reads slots"]:
        """The read weights."""
        return self.strengths * self.shares


class Slopes(NamedTuple):
    """The derivatives of an affinity's logarithm."""

    distance: Float[Array, "*#reads #slots"]
    temperature: Float[Array, "*reads slots"] | None


class Weighting(eqx.Module):
    """Turns the squared distances from one read key to all memories into weights over the memories."""

    renormalise: eqx.AbstractVar[bool]

    @property
    @abc.abstractmethod
    def emits_temperature(self) -> bool:
        """Whether the controller emits a temperature for every read."""

    @property
    def asks_for_nearest(self) -> bool:
        """Whether affinities are measured against the smallest distance."""
        return True

    @abc.abstractmethod
    def affinities(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
    ) -> Float[Array, "*reads slots"]:
        """Weights before normalisation and strengths, in any scale: zero where not visible.

        Whoever looks at the memories in parts gives the smallest distance of them all, `nearest`.
        """

    @abc.abstractmethod
    def slopes(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
    ) -> Slopes:
        """How the logarithm of an affinity changes with its distance and temperature."""

    def share(
        self,
        squared_distances: Float[Array, "*reads slots"],
        strengths: Float[Array, "*#reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None = None,
    ) -> Shares:
        """Divides a read up among the memories; nothing is shared out when no memory is visible."""
        affinities = self.affinities(squared_distances, visible, temperature)
        total = jnp.sum(self.counted(affinities, strengths)[0], axis=-1, keepdims=True)
        return self.shared(affinities, strengths, jnp.maximum(total, jnp.finfo(total.dtype).tiny))

    def counted(
        self, affinities: Float[Array, "*reads slots"], strengths: Float[Array, "*#reads slots"]
    ) -> tuple[Float[Array, "*reads slots"], Float[Array, "*reads slots"]]:
        """What goes into the sum that a read is divided by, and the read's weights before that division."""
        if not self.renormalise:
            return affinities, strengths * affinities
        weights = jnp.maximum(strengths, _FAINTEST) * affinities
        return weights, weights

    def shared(
        self,
        affinities: Float[Array, "*reads slots"],
        strengths: Float[Array, "*#reads slots"],
        total: Float[Array, "*reads 1"],
    ) -> Shares:
        """The shares of memories in a read, given the sum over all of them."""
        if self.renormalise:
            strengths = jnp.maximum(strengths, _FAINTEST)
        return Shares(affinities * (1 / total), strengths)

    def pull_back(
        self,
        shared: Shares,
        gains: Float[Array, "*reads slots"],
        gain: Float[Array, "*reads 1"],
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
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
        slopes = self.slopes(squared_distances, visible, temperature, nearest)
        d_temperature = None
        if temperature is not None:
            d_temperature = jnp.zeros_like(temperature)
            if slopes.temperature is not None:
                d_temperature = jnp.sum(d_logarithms * slopes.temperature, axis=-1)
        return d_logarithms * slopes.distance, d_strengths, d_temperature

    def __call__(
        self,
        squared_distances: Float[Array, "*reads slots"],
        strengths: Float[Array, "*#reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None = None,
    ) -> Float[Array, "*reads slots"]:
        """The read weights w_i; all zero when no memory is visible."""
        strengths = jnp.broadcast_to(strengths, squared_distances.shape)
        return _weigh(self, squared_distances, strengths, visible, temperature)


class InvNorm(Weighting):
    """w_i = S_i (d_i + epsilon)^-power / sum_j (d_j + epsilon)^-power, d the squared distance.

    `power` 1 is the inverse square law of the paper's text, 2 the inverse fourth power of its footnote.
    `renormalise` puts the strengths into the denominator too, so that the weights sum to 1.

    >>> import jax.numpy as jnp
    >>> InvNorm()(jnp.array([1.0, 3.0]), jnp.ones(2), jnp.ones(2, bool)).tolist()
    [0.75, 0.25]
    """

    power: float = 1.0
    epsilon: float = 1e-9
    renormalise: bool = False

    def __check_init__(self) -> None:
        if not self.power > 0:
            raise LantmError(f"the power of InvNorm is {self.power}: give a number above 0 (the paper's is 1)")
        if not self.epsilon > 0:
            raise LantmError(f"the epsilon of InvNorm is {self.epsilon}: give a number above 0 (default 1e-9)")

    @property
    def emits_temperature(self) -> bool:
        """The inverse law has no temperature."""
        return False

    @property
    def asks_for_nearest(self) -> bool:
        """The inverse square is safe as it is; other powers might overflow."""
        return self.power != 1.0 or self.renormalise

    def affinities(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
    ) -> Float[Array, "*reads slots"]:
        """(d_i + epsilon)^-power, or ((d_min + epsilon) / (d_i + epsilon))^power where that might overflow."""
        softened = squared_distances + self.epsilon
        if not self.asks_for_nearest:
            return jnp.where(visible, 1 / jnp.minimum(softened, _FARTHEST), 0.0)
        if nearest is None:
            nearest = _smallest_visible(squared_distances, visible)
        return jnp.where(visible, (nearest + self.epsilon) / softened, 0.0) ** self.power

    def slopes(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
    ) -> Slopes:
        """-power / (d_i + epsilon)."""
        return Slopes(-self.power / (squared_distances + self.epsilon), None)


class SoftMax(Weighting):
    """w_i = S_i exp(-d_i / T) / sum_j exp(-d_j / T), d the squared distance.

    T is emitted by the controller (through a softplus) unless a fixed `temperature` is given.
    """

    temperature: float | None = None
    renormalise: bool = False

    def __check_init__(self) -> None:
        if self.temperature is not None and not self.temperature > 0:
            raise LantmError(f"the temperature of SoftMax is {self.temperature}: give a number above 0, or none")

    @property
    def emits_temperature(self) -> bool:
        """A fixed temperature need not be emitted."""
        return self.temperature is None

    def affinities(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
    ) -> Float[Array, "*reads slots"]:
        """exp(-(d_i - d_min) / T): the exponential law, scaled to be free of overflow."""
        return jnp.where(visible, jnp.exp(-self._coldness(squared_distances, visible, temperature, nearest)), 0.0)

    def slopes(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
    ) -> Slopes:
        """-1 / T and d_i / T^2, of which only differences matter."""
        warmth = self._warmth(temperature, squared_distances.dtype)
        by_temperature = None
        if self.emits_temperature and temperature is not None:
            excess = self._coldness(squared_distances, visible, temperature, nearest)
            by_temperature = jnp.where((temperature > _COLDEST)[..., None], excess / warmth, 0.0)
        return Slopes(-1 / warmth, by_temperature)

    def _warmth(self, temperature: Float[Array, "*reads"] | None, dtype: jnp.dtype) -> Float[Array, "*#reads 1"]:
        if self.temperature is not None:
            return jnp.full((1,), max(self.temperature, _COLDEST), dtype)
        assert temperature is not None
        return jnp.maximum(temperature, _COLDEST)[..., None]

    def _coldness(
        self,
        squared_distances: Float[Array, "*reads slots"],
        visible: Bool[Array, "*#reads slots"],
        temperature: Float[Array, "*reads"] | None,
        nearest: Float[Array, "*reads 1"] | None = None,
    ) -> Float[Array, "*reads slots"]:
        """(d_i - d_min) / T, cut off where its exponential has faded."""
        warmth = self._warmth(temperature, squared_distances.dtype)
        if nearest is None:
            nearest = _smallest_visible(squared_distances, visible)
        excess = squared_distances - nearest
        return jnp.clip(excess / warmth, 0.0, _FADED)


def _smallest_visible(
    distances: Float[Array, "*reads slots"], visible: Bool[Array, "*#reads slots"]
) -> Float[Array, "*reads 1"]:
    return jnp.min(distances, axis=-1, where=visible, initial=jnp.finfo(distances.dtype).max, keepdims=True)


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
