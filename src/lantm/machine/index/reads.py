"""Reads through the index, at a cost of about the square root of the memory's size, with an error bound.

Memories are grouped in blocks of consecutive slots, and every block has a summary. A read looks at all summaries,
reads exactly the few blocks whose summaries could be most wrong, and takes the others by their summaries (see
`lantm.machine.index.expansion`). Consecutive writes are near one another, since heads move by steps; but only speed
relies on it: what a read could be off by is computed with every read.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lantm.errors import LantmError
from lantm.geometry import EuclideanGeometry, Geometry
from lantm.machine.index.blocks import Slots, Store
from lantm.machine.index.expansion import Query, Span, expand, look
from lantm.machine.settling import Neighbours, bounded_below, merge, neighbours
from lantm.machine.weighting import Weighting


@dataclasses.dataclass(frozen=True)
class Index:
    """How much of the memory a read looks at."""

    nearest: int = 8
    """Up to so many blocks are read exactly: those whose summaries could be most wrong, mostly the nearest."""
    tolerance: float = 0.01
    """Where a component of a reading could be farther off than this, all memories are read after all."""
    block: int | None = None
    """Memories in a block; by default so many that the blocks read cost about as much as all summaries."""

    def __post_init__(self) -> None:
        if self.nearest < 1:
            raise LantmError(f"the index reads {self.nearest} blocks exactly: give a whole number of at least 1")
        if self.block is not None and self.block < 1:
            raise LantmError(f"the index has blocks of {self.block} memories: give a whole number of at least 1")
        if not self.tolerance >= 0:
            raise LantmError(f"the tolerance of the index is {self.tolerance}: give a number of at least 0")

    @property
    def few(self) -> int:
        """How many blocks are tried first: for a head that stands on a memory they are enough."""
        return -(-self.nearest // 4)

    def block_size(self, slots: int, write_heads: int) -> int:
        """The size of the blocks of a memory; a multiple of what a step writes, which then lies in one block."""
        size = self.block or math.ceil(math.sqrt(4 * slots / self.few))  # a summary costs as much as four slots
        return -(-size // write_heads) * write_heads


class Reading(NamedTuple):
    """What the read heads get."""

    vectors: Float[Array, "batch read_heads width"]
    bounds: Float[Array, "batch read_heads"]  # no component is farther off from that of a full read, but for rounding
    full: Int[Array, ""]  # 1 if all memories were read; then the bounds are 0
    neighbours: Neighbours | None  # of heads that settle
    certain: Bool[Array, "batch read_heads"]  # whether it is known which heads settle, and where


def has_index(geometry: Geometry) -> bool:
    """Whether distances are those of R^n, on which the summaries rest."""
    return type(geometry).squared_distance is EuclideanGeometry.squared_distance


def check_geometry(geometry: Geometry) -> None:
    """Raises a `LantmError` where there is no index for a geometry."""
    if not has_index(geometry):
        name = type(geometry).__name__
        raise LantmError(f"there is no index for the distances of {name}, only for those of EuclideanGeometry")


def check_weighting(weighting: Weighting) -> None:
    """Raises a `LantmError` where the error of a summary has no known bound."""
    if not weighting.convex:
        raise LantmError(f"there is no index for {type(weighting).__name__}: it does not say that it is convex")


def read_all(weighting: Weighting, store: Store, query: Query) -> Reading:
    """The full read."""
    closed, _, opened = store
    distances = [_squared_distances(query, part.addresses[:, None]) for part in (closed, opened)]
    affinities = _affinities(
        weighting,
        query,
        jnp.concatenate(distances, axis=-1),
        jnp.concatenate([closed.visible, opened.visible], axis=-1)[:, None],
    )
    found = query.beside
    if found is not None:
        for part, apart in zip((closed, opened), distances, strict=True):
            if apart.shape[-1]:  # nothing is open once all is written
                found = merge(found, _neighbours(Slots(part.addresses[:, None], part.contents[:, None]), apart))
    split = closed.contents.shape[-1]
    sums = jnp.einsum("bhs,bcs->bhc", affinities[..., :split], closed.contents)
    sums += jnp.einsum("bhs,bcs->bhc", affinities[..., split:], opened.contents)
    nothing = jnp.zeros(sums.shape[:2], sums.dtype)
    return Reading(_divide(sums), nothing, jnp.ones((), jnp.int32), found, nothing == 0)


def read(weighting: Weighting, store: Store, query: Query, index: Index) -> Reading:
    """The read through the index: a few blocks exactly, more if that is not good enough, and all if that is not."""

    def enough(found: Reading, otherwise: Callable[[], Reading]) -> Reading:
        good = jnp.all((found.bounds <= index.tolerance) & found.certain)
        chosen: Reading = lax.cond(good, lambda: found, otherwise)
        return chosen

    def read_more() -> Reading:
        return enough(read_blocks(weighting, store, query, index.nearest), lambda: read_all(weighting, store, query))

    return enough(read_blocks(weighting, store, query, index.few), read_more)


def read_blocks(weighting: Weighting, store: Store, query: Query, nearest: int) -> Reading:
    """The read through the index, with `nearest` blocks read exactly besides the open one."""
    closed, summaries, opened = store
    blocks = summaries.radii.shape[-1]
    occupied = jnp.broadcast_to((summaries.masses > 0)[:, None], (*query.keys.shape[:2], blocks))
    view = look(summaries, query)
    law = Span.split(_affinities(weighting, query, view.squares.joined, _thrice(occupied)))
    expansion = expand(weighting, summaries, query, view, law)

    # Where errors have faded beyond the range of the numbers, the nearer block is worth more.
    errors = expansion.errors(summaries, law)
    worth = jnp.where(errors > 0, errors, -view.squares.nearest)
    chosen = lax.top_k(jnp.where(occupied, worth, -jnp.inf), min(nearest, blocks))[1]
    left = occupied & jnp.all(jnp.arange(blocks) != chosen[..., None], axis=-2)
    near = _gather(closed, chosen, opened, size=closed.contents.shape[-1] // blocks)

    # Once more, since the scale of affinities depends on what they are read with.
    distances = _squared_distances(query, near.addresses)
    affinities = _affinities(
        weighting,
        query,
        jnp.concatenate([distances, view.squares.joined], axis=-1),
        jnp.concatenate([near.visible, _thrice(left)], axis=-1),
    )
    law = Span.split(affinities[..., distances.shape[-1] :])
    coefficients = (law.centre[:, :, None] * expansion.coefficients).reshape(*law.centre.shape[:2], -1)
    moments = summaries.moments.reshape(*summaries.moments.shape[:2], -1)
    sums = jnp.einsum("bhs,bhcs->bhc", affinities[..., : distances.shape[-1]], near.contents)
    # The larger operand first: XLA's library for products rearranges the second one in every call.
    sums += jnp.swapaxes(jnp.einsum("bcn,bhn->bch", moments, coefficients), 1, 2)
    vectors = _divide(sums)

    # With e_i the errors of affinities, c_i the contents, m_i the masses and Z the true denominator, the reading R is
    # off by the sum of e_i (c_i - R m_i) / Z.
    reach = summaries.largest[:, None] + jnp.max(jnp.abs(vectors), axis=-1, keepdims=True)
    error = jnp.sum(expansion.errors(summaries, law) * reach, axis=-1)
    least = sums[..., -1] - jnp.sum(expansion.surplus(summaries, law), axis=-1)
    bounds = error / jnp.maximum(least, jnp.finfo(sums.dtype).tiny)
    bounds = jnp.where(jnp.isnan(bounds), jnp.inf, bounds)  # where numbers overflow, nothing is known
    if query.beside is None:
        return Reading(vectors, bounds, jnp.zeros((), jnp.int32), None, jnp.ones_like(bounds, bool))
    beyond = jnp.min(jnp.where(left, view.squares.nearest, jnp.inf), axis=-1)
    found, certain = bounded_below(merge(query.beside, _neighbours(near, distances)), beyond)
    return Reading(vectors, bounds, jnp.zeros((), jnp.int32), found, certain)


def _neighbours(slots: Slots, distances: Float[Array, "batch read_heads slots"]) -> Neighbours:
    key_size = slots.addresses.shape[-2]
    return neighbours(distances, [slots.addresses[..., d, :] for d in range(key_size)], slots.visible)


def _gather(closed: Slots, chosen: Int[Array, "batch read_heads nearest"], opened: Slots, size: int) -> Slots:
    """The slots of the chosen blocks and of the open one, for every read head."""
    # One block after the other: on a CPU this takes a third of the time of a gather, which looks up every number.
    batch, heads, nearest = chosen.shape
    chosen = chosen.reshape(-1)

    def copy_block(i: Int[Array, ""], near: Slots) -> Slots:
        read, place, block = i // nearest, i % nearest, chosen[i].astype(i.dtype)

        def copy(rows: Array, target: Array) -> Array:
            found = lax.dynamic_slice(rows, (read // heads, 0, block * size), (1, rows.shape[1], size))
            return lax.dynamic_update_slice(target, found, (read, 0, place * size))

        copied: Slots = jax.tree.map(copy, closed, near)
        return copied

    def room(rows: Array) -> Array:
        return jnp.zeros((batch * heads, rows.shape[1], nearest * size), rows.dtype)

    def join(rows: Array, more: Array) -> Array:
        rows = rows.reshape(batch, heads, *rows.shape[1:])
        more = jnp.broadcast_to(more[:, None], (*rows.shape[:-1], more.shape[-1]))
        return jnp.concatenate([rows, more], axis=-1)

    near = lax.fori_loop(0, chosen.size, copy_block, jax.tree.map(room, closed))
    joined: Slots = jax.tree.map(join, near, opened)
    return joined


def _affinities(
    weighting: Weighting,
    query: Query,
    squared_distances: Float[Array, "batch read_heads places"],
    visible: Bool[Array, "batch #read_heads places"],
) -> Float[Array, "batch read_heads places"]:
    """Affinities of which the largest is 1: products with faint memories do not underflow, however far they are."""
    affinities = weighting.visible_affinities(squared_distances, visible, query.temperatures)
    largest = jnp.max(affinities, axis=-1, keepdims=True)
    return affinities * (1 / jnp.maximum(largest, jnp.finfo(largest.dtype).tiny))


def _squared_distances(
    query: Query, addresses: Float[Array, "batch #read_heads key slots"]
) -> Float[Array, "batch read_heads slots"]:
    squares = [(query.keys[:, :, j, None] - addresses[:, :, j]) ** 2 for j in range(query.keys.shape[-1])]
    return sum(squares[1:], squares[0])


def _divide(sums: Float[Array, "batch read_heads sums"]) -> Float[Array, "batch read_heads sums-1"]:
    return sums[..., :-1] / jnp.maximum(sums[..., -1:], jnp.finfo(sums.dtype).tiny)


def _thrice(mask: Bool[Array, "batch read_heads blocks"]) -> Bool[Array, "batch read_heads 3*blocks"]:
    return jnp.concatenate([mask, mask, mask], axis=-1)
