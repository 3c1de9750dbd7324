"""Settling: snaps a read head to the memory it is closest to, so that small step errors do not accumulate.

After its reading, a read head that is less than a third as far from one memory as from every other is moved to the
address of that memory, and its next step starts there. The rule compares distances only, so it needs no unit and is the
same in every key space. The memory just written counts as well, since a read head that travels with a write head is at
its position. With a single memory, nothing settles.

The gradient is straight-through: in the backward pass, the key at the end of a step is the key at which it read. The
backward passes of loops and kernels therefore ignore settling: they pass the cotangent of the key on, and replay every
step from the settled key before it, which was saved (docs/exact.md).

Points are given as lists of coordinates, as the kernels store them.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float

RATIO = 9.0  # of squared distances: a factor of three
_ROUNDING = 1e-5  # relative: much larger than the rounding error of a distance, much smaller than the ratio


class Neighbours(NamedTuple):
    """The nearest memories of each read head."""

    address: list[Float[Array, "*reads"]]  # of the nearest memory; meaningful only if it is unique
    first: Float[Array, "*reads"]  # its squared distance
    second: Float[Array, "*reads"]  # the squared distance of the second nearest memory; infinite if there is none

    @property
    def settled(self) -> Bool[Array, "*reads"]:
        """Which heads settle."""
        return (RATIO * self.first < self.second) & (self.second < jnp.inf)


def neighbours(
    squared_distances: Float[Array, "*reads slots"],
    addresses: list[Float[Array, "*#reads slots"]],
    visible: Bool[Array, "*#reads #slots"],
) -> Neighbours:
    """The nearest visible memories of each read head."""
    # Sums and minima instead of argmin, since compilers vectorise them. A compiler may also recompute a distance with
    # different rounding when it is compared with the minimum, so distances close to the minimum count as equal, and the
    # first such memory is used. If there are several, `second` is about `first`, and nothing settles.
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
    """The nearest memories among those of both."""
    nearer = other.first < one.first
    return Neighbours(
        [jnp.where(nearer, b, a) for a, b in zip(one.address, other.address, strict=True)],
        jnp.minimum(one.first, other.first),
        jnp.minimum(jnp.maximum(one.first, other.first), jnp.minimum(one.second, other.second)),
    )


def bounded_below(found: Neighbours, beyond: Float[Array, "*reads"]) -> tuple[Neighbours, Bool[Array, "*reads"]]:
    """The neighbours if further memories are at least `beyond` away, and whether it is certain which heads settle.

    A settling head must be closer to its memory, by the ratio, than `beyond` too. It is certain that a head does not
    settle if it would not even if its nearest memory were at `beyond`.
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
