"""Settling: snaps a read head to the memory it is closest to, so that small step errors do not accumulate.

After its reading, a read head that is less than a third as far from one memory as from every other is put on the
address of that memory, and its next step begins there. The rule compares distances with distances: it needs no unit
and is the same in every key space. The memory that the step has just written counts as well, since a head that travels
with a write head stands on it. A memory that is alone is no measure of what is near: nothing settles on it.

The gradient goes straight through: in the backward pass the key that a step ends with is the key that it has read at.
So the backward passes of loops and kernels need not know about settling: they carry the cotangent of the key on as it
is, and replay every step from the settled key before it, which is the one that was saved (docs/exact.md).

Points are given coordinate by coordinate, as the kernels have them.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

RATIO = 9.0  # of squared distances: three times as far
_ROUNDING = 1e-5  # relative: far more than that of a distance, far less than the ratio


class Neighbours(NamedTuple):
    """What is nearest to each read head."""

    address: list[Float[Array, "*reads"]]  # of the nearest memory; of use where there is only one such memory
    first: Float[Array, "*reads"]  # its squared distance
    second: Float[Array, "*reads"]  # the squared distance of the next memory; infinite where there is none

    @property
    def settled(self) -> Bool[Array, "*reads"]:
        """Which heads settle."""
        return (RATIO * self.first < self.second) & (self.second < jnp.inf)


def neighbours(
    squared_distances: Float[Array, "*reads slots"],
    addresses: list[Float[Array, "*#reads slots"]],
    visible: Bool[Array, "*#reads #slots"],
) -> Neighbours:
    """The neighbours of each read head among the memories that can be seen."""
    # Sums and minima, no argmin: compilers turn those into loops over vectors. They may also compute a distance once
    # for the minimum and again to be compared with it, rounded otherwise: so what is about the minimum counts, and of
    # such memories the first. Where there are several, the second distance is about the first, and nothing settles.
    distances = jnp.where(visible, squared_distances, jnp.inf)
    first = jnp.min(distances, axis=-1)
    slots = lax.broadcasted_iota(jnp.int32, distances.shape, distances.ndim - 1)
    about = distances <= (first * (1 + _ROUNDING))[..., None]
    nearest = slots == jnp.min(jnp.where(about, slots, distances.shape[-1]), axis=-1)[..., None]
    return Neighbours(
        [jnp.sum(jnp.where(nearest, coordinate, 0), axis=-1) for coordinate in addresses],
        first,
        jnp.min(jnp.where(nearest, jnp.inf, distances), axis=-1),
    )


def merge(one: Neighbours, other: Neighbours) -> Neighbours:
    """The neighbours among the memories of both."""
    nearer = other.first < one.first
    return Neighbours(
        [jnp.where(nearer, b, a) for a, b in zip(one.address, other.address, strict=True)],
        jnp.minimum(one.first, other.first),
        jnp.minimum(jnp.maximum(one.first, other.first), jnp.minimum(one.second, other.second)),
    )


def bounded_below(found: Neighbours, beyond: Float[Array, "*reads"]) -> tuple[Neighbours, Bool[Array, "*reads"]]:
    """The neighbours where there are more memories, none nearer than `beyond`, and whether it is certain who settles.

    A head that does is nearer to its memory by the ratio than to what is beyond as well. One that does not for sure
    would not even if its nearest memory were the nearest that may be beyond.
    """
    second = jnp.minimum(found.second, beyond)
    settles = RATIO * found.first < second
    stays = RATIO * jnp.minimum(found.first, beyond) >= found.second
    return found._replace(second=second), settles | stays | (found.second <= beyond)


def settle(keys: Float[Array, "*reads key"], found: Neighbours) -> Float[Array, "*reads key"]:
    """The keys after settling."""
    address = jnp.stack(found.address, axis=-1)
    return _straight_through(keys, jnp.where(found.settled[..., None], address, keys))


@jax.custom_vjp
def _straight_through(keys: Float[Array, "*reads key"], settled: Float[Array, "*reads key"]) -> Array:
    """`settled`, with the gradient of `keys`."""
    return settled


_straight_through.defvjp(
    lambda keys, settled: (settled, None), lambda _, cotangent: (cotangent, jnp.zeros_like(cotangent))
)
