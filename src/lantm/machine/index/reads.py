"""Reads through the index, at a cost of about the square root of the memory's size, with an error bound.

A read computes the error bound of every block's summary, reads the few blocks with the largest bounds exactly, and uses
the summaries of the others (see `lantm.machine.index.expansion`). Consecutive writes are near one another, since heads
move by steps. Only speed relies on this, since an error bound is computed with every read.
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
    """The accuracy of reads."""

    nearest: int = 8
    """Number of blocks that are read exactly: those with the largest error bounds, usually the nearest."""
    tolerance: float = 0.01
    """If the error bound of any component of a reading exceeds this, all memories are read."""
    block: int | None = None
    """Memories per block; by default such that the exact blocks cost about as much as all summaries."""

    def __post_init__(self) -> None:
        if self.nearest < 1:
            raise LantmError(f"the index reads {self.nearest} blocks exactly: give a whole number of at least 1")
        if self.block is not None and self.block < 1:
            raise LantmError(f"the index has blocks of {self.block} memories: give a whole number of at least 1")
        if not self.tolerance >= 0:
            raise LantmError(f"the tolerance of the index is {self.tolerance}: give a number of at least 0")

    @property
    def few(self) -> int:
        """The number of exact blocks that is tried first; it suffices for a head close to a memory."""
        return -(-self.nearest // 4)

    def block_size(self, slots: int, write_heads: int) -> int:
        """The size of a memory's blocks: a multiple of the number of write heads, so that a step writes to one
        block."""
        size = self.block or math.ceil(math.sqrt(4 * slots / self.few))  # a summary costs as much as four slots
        return -(-size // write_heads) * write_heads


class Reading(NamedTuple):
    """The result of a read."""

    vectors: Float[Array, "batch read_heads width"]
    bounds: Float[Array, "batch read_heads"]  # of the difference of any component from a full read, except rounding
    full: Int[Array, ""]  # 1 if all memories were read; then the bounds are 0
    neighbours: Neighbours | None  # for heads that settle
    certain: Bool[Array, "batch read_heads"]  # whether it is certain which heads settle, and where


def has_index(geometry: Geometry) -> bool:
    """Whether distances are those of R^n, which the summaries require."""
    return type(geometry).squared_distance is EuclideanGeometry.squared_distance


def check_geometry(geometry: Geometry) -> None:
    """Raises a `LantmError` if the index does not support a geometry."""
    if not has_index(geometry):
        name = type(geometry).__name__
        raise LantmError(f"there is no index for the distances of {name}, only for those of EuclideanGeometry")


def check_weighting(weighting: Weighting) -> None:
    """Raises a `LantmError` if there is no error bound for a weighting."""
    if not weighting.convex:
        raise LantmError(f"there is no index for {type(weighting).__name__}: it does not say that it is convex")


def read_all(weighting: Weighting, store: Store, query: Query) -> Reading:
    """Reads all memories."""
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
            if apart.shape[-1]:  # there is no open block after all writes
                found = merge(found, _neighbours(Slots(part.addresses[:, None], part.contents[:, None]), apart))
    split = closed.contents.shape[-1]
    sums = jnp.einsum("bhs,bcs->bhc", affinities[..., :split], closed.contents)
    sums += jnp.einsum("bhs,bcs->bhc", affinities[..., split:], opened.contents)
    nothing = jnp.zeros(sums.shape[:2], sums.dtype)
    return Reading(_divide(sums), nothing, jnp.ones((), jnp.int32), found, nothing == 0)


def read(weighting: Weighting, store: Store, query: Query, index: Index) -> Reading:
    """Reads through the index: with a few exact blocks, with more if that is too inaccurate, and if necessary in
    full."""

    def enough(found: Reading, otherwise: Callable[[], Reading]) -> Reading:
        good = jnp.all((found.bounds <= index.tolerance) & found.certain)
        chosen: Reading = lax.cond(good, lambda: found, otherwise)
        return chosen

    def read_more() -> Reading:
        return enough(read_blocks(weighting, store, query, index.nearest), lambda: read_all(weighting, store, query))

    return enough(read_blocks(weighting, store, query, index.few), read_more)


def read_blocks(weighting: Weighting, store: Store, query: Query, nearest: int) -> Reading:
    """Reads `nearest` blocks and the open one exactly, and the others through their summaries."""
    closed, summaries, opened = store
    blocks = summaries.radii.shape[-1]
    occupied = jnp.broadcast_to((summaries.masses > 0)[:, None], (*query.keys.shape[:2], blocks))
    view = look(summaries, query)
    law = Span.split(_affinities(weighting, query, view.squares.joined, _thrice(occupied)))
    expansion = expand(weighting, summaries, query, view, law)

    # Where errors underflow to zero, nearer blocks are preferred.
    errors = expansion.errors(summaries, law)
    worth = jnp.where(errors > 0, errors, -view.squares.nearest)
    chosen = lax.top_k(jnp.where(occupied, worth, -jnp.inf), min(nearest, blocks))[1]
    left = occupied & jnp.all(jnp.arange(blocks) != chosen[..., None], axis=-2)
    near = _gather(closed, chosen, opened, size=closed.contents.shape[-1] // blocks)

    # Recomputed, since affinities are scaled relative to the memories that are read.
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
    # The larger operand first: XLA's matrix product library rearranges the second one in every call.
    sums += jnp.swapaxes(jnp.einsum("bcn,bhn->bch", moments, coefficients), 1, 2)
    vectors = _divide(sums)

    # With affinity errors e_i, contents c_i, masses m_i and the true denominator Z, the error of the reading R is the
    # sum of e_i (c_i - R m_i) / Z.
    reach = summaries.largest[:, None] + jnp.max(jnp.abs(vectors), axis=-1, keepdims=True)
    error = jnp.sum(expansion.errors(summaries, law) * reach, axis=-1)
    least = sums[..., -1] - jnp.sum(expansion.surplus(summaries, law), axis=-1)
    bounds = error / jnp.maximum(least, jnp.finfo(sums.dtype).tiny)
    bounds = jnp.where(jnp.isnan(bounds), jnp.inf, bounds)  # overflow: no bound is known
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
    # Copied block by block: on a CPU this takes a third of the time of a gather, which looks up every number.
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
    """Affinities scaled to a maximum of 1, so that products with weak memories do not underflow at any distance."""
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
