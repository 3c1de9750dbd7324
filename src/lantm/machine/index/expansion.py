"""The contribution of a distant block to a read, expanded from its summary to first order, with an error bound.

A read needs, for each block, the sum of a(q_i) c_i over its memories, where q_i is the squared distance from the read
key to memory i, a is the affinity function of the weighting, and c_i are the memory's contents. With the key at w from
the block's centre and memory i at y_i from it,

    q_i = |w|^2 + u . f_i,    u = (-2 w, 1),    f_i = (y_i, |y_i|^2).

The f_i do not depend on the key. With a expanded to first order in q, neither do the sums over the block:

    sum_i a(q_i) c_i = a(|w|^2) sum_i c_i + a'(|w|^2) u . (sum_i f_i c_i) + error.

Both affinity functions are convex in q, with curvature that decreases with distance. So if no memory of the block is
nearer than l, the error is at most a''(l^2) / 2 times the sum of (u . f_i)^2, which is u . (sum_i f_i f_i^T) u. It
decreases with the square of the ratio of the block's size to its distance, and with the fourth power if the block lies
across the line of sight. If a block is too large or too near for this, all its memories are placed at its centre, and
the error is at most the change of the affinity between the nearest and the farthest possible place.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lantm.machine.index.blocks import FARTHEST, Summaries
from lantm.machine.settling import Neighbours
from lantm.machine.weighting import Weighting


class Query(NamedTuple):
    """The read keys, with their temperatures."""

    keys: Float[Array, "batch read_heads key"]
    temperatures: Float[Array, "batch read_heads"] | None
    beside: Neighbours | None = None  # for settling: neighbours among the memories just written


class Span(NamedTuple):
    """A value at the nearest possible place of a block's memories, at its centre, and at the farthest."""

    nearest: Float[Array, "batch read_heads blocks"]
    centre: Float[Array, "batch read_heads blocks"]
    farthest: Float[Array, "batch read_heads blocks"]

    @classmethod
    def split(cls, joined: Float[Array, "batch read_heads three_blocks"]) -> "Span":
        """Splits one array into the three."""
        return cls(*jnp.split(joined, 3, axis=-1))

    @property
    def joined(self) -> Float[Array, "batch read_heads three_blocks"]:
        """The three concatenated."""
        return jnp.concatenate(self, axis=-1)


class View(NamedTuple):
    """The blocks relative to the read keys."""

    directions: list[Float[Array, "batch read_heads blocks"]]  # u, by component
    squares: Span  # squared distances


def look(summaries: Summaries, query: Query) -> View:
    """Computes the distances of all blocks."""
    # By component: see `EuclideanGeometry.squared_distance`.
    offsets = [query.keys[:, :, j, None] - summaries.centres[:, None, j] for j in range(query.keys.shape[-1])]
    squares = sum((offset**2 for offset in offsets[1:]), offsets[0] ** 2)
    distances, radii = jnp.sqrt(jnp.minimum(squares, FARTHEST)), summaries.radii[:, None]
    rounding = 8 * jnp.finfo(squares.dtype).eps * (distances + radii)
    nearest = jnp.maximum(distances - radii - rounding, 0) ** 2
    farthest = (distances + radii + rounding) ** 2
    farthest = jnp.where(farthest < FARTHEST, farthest, jnp.finfo(squares.dtype).max)
    directions = [*(-2 * offset for offset in offsets), jnp.ones_like(squares)]
    return View(directions, Span(nearest, squares, farthest))


class Expansion(NamedTuple):
    """Approximate affinities of the memories of every block, relative to the affinity at its centre."""

    coefficients: Float[Array, "batch read_heads key+2 blocks"]  # of the block's moments
    first_order: Bool[Array, "batch read_heads blocks"]  # otherwise order zero
    bends: Float[Array, "batch read_heads blocks"]  # error of the first order, relative to the affinity at the nearest

    def errors(self, summaries: Summaries, law: Span) -> Float[Array, "batch read_heads blocks"]:
        """A bound on the error of the sum of a block's affinities."""
        return jnp.where(self.first_order, law.nearest * self.bends, _change(summaries, law))

    def surplus(self, summaries: Summaries, law: Span) -> Float[Array, "batch read_heads blocks"]:
        """A bound on the overestimate of that sum: a convex function is nowhere below its tangent."""
        return jnp.where(self.first_order, 0, summaries.masses[:, None] * (law.centre - law.farthest))


def expand(weighting: Weighting, summaries: Summaries, query: Query, view: View, law: Span) -> Expansion:
    """Expands the affinity function around the centre of every block; `law` is its value at `view.squares`."""
    nearest = jnp.min(view.squares.nearest, axis=-1, keepdims=True)

    def slopes(squared_distances: Float[Array, "batch read_heads blocks"]) -> Float[Array, "batch read_heads blocks"]:
        found = weighting.slopes(squared_distances, query.temperatures, nearest).distance
        return jnp.broadcast_to(found, squared_distances.shape)

    slope = slopes(view.squares.centre)
    steepest, change = jax.jvp(slopes, (view.squares.nearest,), (jnp.ones_like(view.squares.nearest),))
    curvature = steepest**2 + change  # exp(g) has the second derivative exp(g) (g'^2 + g'')
    bends = 0.5 * curvature * jnp.maximum(_spread(summaries, view), 0)
    reach = view.squares.farthest - view.squares.centre
    # The second condition keeps all affinities positive. Comparisons with overflowed values are false.
    first_order = (law.nearest * bends < _change(summaries, law)) & (-slope * reach < 1)
    tilt = jnp.where(first_order, slope, 0)
    coefficients = jnp.stack([jnp.ones_like(tilt), *(tilt * direction for direction in view.directions)], axis=2)
    return Expansion(coefficients, first_order, bends)


def _spread(summaries: Summaries, view: View) -> Float[Array, "batch read_heads blocks"]:
    """The sum of the squares of q_i - |w|^2 over every block."""
    total = jnp.zeros_like(view.squares.centre)
    for i, direction in enumerate(view.directions):  # the matrix is symmetric
        total += direction**2 * summaries.spreads[:, None, i, i]
        for j, other in enumerate(view.directions[:i]):
            total += 2 * direction * other * summaries.spreads[:, None, i, j]
    return total


def _change(summaries: Summaries, law: Span) -> Float[Array, "batch read_heads blocks"]:
    """A bound on the difference of the sum of a block's affinities from the one with all memories at its centre."""
    return summaries.masses[:, None] * jnp.maximum(law.nearest - law.centre, law.centre - law.farthest)
