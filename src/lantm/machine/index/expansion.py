"""The contribution of a distant block to a read, expanded from its summary to first order, with an error bound.

A read asks a block for the sum of a(q_i) c_i over its memories, where q_i is the squared distance from the read key
to memory i, a is the law of the weighting, and c_i are the memory's contents. With the key at w from the block's
centre and memory i at y_i from it,

    q_i = |w|^2 + u . f_i,    u = (-2 w, 1),    f_i = (y_i, |y_i|^2).

The f_i do not depend on the key, so neither does what is summed over the block if a is taken to first order in q:

    sum_i a(q_i) c_i = a(|w|^2) sum_i c_i + a'(|w|^2) u . (sum_i f_i c_i) + error.

Both laws are convex in q, and the less curved the farther away. So with no memory of the block nearer than l, the
error is at most a''(l^2) / 2 times the sum of (u . f_i)^2, which is u . (sum_i f_i f_i^T) u. It falls with the
square of the block's size over its distance, and with the fourth power where the block lies across the line of
sight. Where a block is too large or too near for that, all its memories are taken to be at its centre, and the
error is at most what the law changes between the nearest place they can be and the farthest.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lantm.machine.index.blocks import FARTHEST, Summaries
from lantm.machine.settling import Neighbours
from lantm.machine.weighting import Weighting


class Query(NamedTuple):
    """What the read heads ask for."""

    keys: Float[Array, "batch read_heads key"]
    temperatures: Float[Array, "batch read_heads"] | None
    beside: Neighbours | None = None  # of heads that settle: their neighbours among what the step has just written


class Span(NamedTuple):
    """A number at the nearest place where memories of a block can be, at its centre, and at the farthest place."""

    nearest: Float[Array, "batch read_heads blocks"]
    centre: Float[Array, "batch read_heads blocks"]
    farthest: Float[Array, "batch read_heads blocks"]

    @classmethod
    def split(cls, joined: Float[Array, "batch read_heads three_blocks"]) -> "Span":
        """The three from one array."""
        return cls(*jnp.split(joined, 3, axis=-1))

    @property
    def joined(self) -> Float[Array, "batch read_heads three_blocks"]:
        """The three side by side."""
        return jnp.concatenate(self, axis=-1)


class View(NamedTuple):
    """The blocks as seen from the read keys."""

    directions: list[Float[Array, "batch read_heads blocks"]]  # u, component by component
    squares: Span  # squared distances


def look(summaries: Summaries, query: Query) -> View:
    """Measures how far all blocks are."""
    # Component by component: see `EuclideanGeometry.squared_distance`.
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
    """What is taken for the affinities of the memories of every block, in units of the affinity at its centre."""

    coefficients: Float[Array, "batch read_heads key+2 blocks"]  # of the block's moments
    first_order: Bool[Array, "batch read_heads blocks"]  # where it is not, it is of order zero
    bends: Float[Array, "batch read_heads blocks"]  # what the first order leaves out, by the affinity at the nearest

    def errors(self, summaries: Summaries, law: Span) -> Float[Array, "batch read_heads blocks"]:
        """By how much, at most, the sum of the affinities of a block is wrong."""
        return jnp.where(self.first_order, law.nearest * self.bends, _change(summaries, law))

    def surplus(self, summaries: Summaries, law: Span) -> Float[Array, "batch read_heads blocks"]:
        """By how much, at most, it is too large: a convex law is nowhere below its tangent."""
        return jnp.where(self.first_order, 0, summaries.masses[:, None] * (law.centre - law.farthest))


def expand(weighting: Weighting, summaries: Summaries, query: Query, view: View, law: Span) -> Expansion:
    """Expands the law around the centre of every block. The `law` is that at `view.squares`, in any scale."""
    nearest = jnp.min(view.squares.nearest, axis=-1, keepdims=True)

    def slopes(squared_distances: Float[Array, "batch read_heads blocks"]) -> Float[Array, "batch read_heads blocks"]:
        found = weighting.slopes(squared_distances, query.temperatures, nearest).distance
        return jnp.broadcast_to(found, squared_distances.shape)

    slope = slopes(view.squares.centre)
    steepest, change = jax.jvp(slopes, (view.squares.nearest,), (jnp.ones_like(view.squares.nearest),))
    curvature = steepest**2 + change  # exp(g) has the second derivative exp(g) (g'^2 + g'')
    bends = 0.5 * curvature * jnp.maximum(_spread(summaries, view), 0)
    reach = view.squares.farthest - view.squares.centre
    # The second condition keeps all affinities above zero. Comparisons with what overflowed are false.
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
    """How much the affinities of a block can differ in sum from that at its centre."""
    return summaries.masses[:, None] * jnp.maximum(law.nearest - law.centre, law.centre - law.farthest)
