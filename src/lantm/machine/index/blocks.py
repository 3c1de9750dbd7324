"""The storage of the index: memories in blocks of consecutive slots, each block with a summary.

Components come first and slots last: a read is then a product of long rows, which on a CPU takes a fifth of the time of
a product of long columns, and a block is a slice of every row.
"""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lantm.machine.loops import put_slices
from lantm.machine.memory import Memory
from lantm.machine.weighting import FAINTEST, Weighting

# Squared distances are clipped to this. Clipped distances still obey the triangle inequality.
FARTHEST = 1e36
# In larger blocks, squares of squared distances would overflow float32.
_LARGEST_RADIUS = 1e8


class Slots(NamedTuple):
    """Memories as the index stores them: addresses, and contributions to the numerators and the denominator of a read.

    The contents of memory i are S_i M_i and, last, its mass: 1, or S_i if strengths are renormalised. All are zero for
    invisible slots.
    """

    addresses: Float[Array, "*batch key slots"]
    contents: Float[Array, "*batch width+1 slots"]

    @property
    def visible(self) -> Bool[Array, "*batch slots"]:
        """Which slots hold visible memories."""
        return self.contents[..., -1, :] > 0


class Summaries(NamedTuple):
    """The summary of every block, with f_i = (y_i, |y_i|^2) for a memory i at y_i from the centre."""

    centres: Float[Array, "batch key blocks"]
    radii: Float[Array, "batch blocks"]  # maximum distance of the block's memories from the centre
    largest: Float[Array, "batch blocks"]  # maximum absolute component of its contents, per mass
    moments: Float[Array, "batch width+1 key+2 blocks"]  # sums of contents times (1, f_i)
    spreads: Float[Array, "batch key+1 key+1 blocks"]  # sums of mass times f_i f_i^T

    @property
    def masses(self) -> Float[Array, "batch blocks"]:
        """The total mass of each block."""
        return self.moments[:, -1, 0]


class Store(NamedTuple):
    """A memory: closed blocks with their summaries, and the open block, which is being written."""

    closed: Slots
    summaries: Summaries
    open: Slots


def empty(batch: int, key: int, width: int, blocks: int, size: int) -> Store:
    """An empty store for `blocks` blocks of `size` slots."""
    return Store(
        closed=Slots(jnp.zeros((batch, key, blocks * size)), jnp.zeros((batch, width + 1, blocks * size))),
        summaries=Summaries(
            centres=jnp.zeros((batch, key, blocks)),
            radii=jnp.zeros((batch, blocks)),
            largest=jnp.zeros((batch, blocks)),
            moments=jnp.zeros((batch, width + 1, key + 2, blocks)),
            spreads=jnp.zeros((batch, key + 1, key + 1, blocks)),
        ),
        open=Slots(jnp.zeros((batch, key, size)), jnp.zeros((batch, width + 1, size))),
    )


def write(
    block: Slots, new: Memory, at: int | Int[Array, ""], seen: Bool[Array, " batch"], weighting: Weighting
) -> Slots:
    """Writes memories from slot `at` of a block on; `seen` says for which problems they are visible."""
    strengths = jnp.maximum(new.strengths, FAINTEST) if weighting.renormalise else new.strengths
    masses = strengths if weighting.renormalise else jnp.ones_like(strengths)
    contents = jnp.concatenate([strengths[..., None] * new.vectors, masses[..., None]], axis=-1)
    contents = jnp.where(seen[:, None, None], contents, 0)
    return Slots(
        put_slices(block.addresses, jnp.swapaxes(new.addresses, 1, 2), jnp.asarray(at), axis=2),
        put_slices(block.contents, jnp.swapaxes(contents, 1, 2), jnp.asarray(at), axis=2),
    )


def close(store: Store, block: Int[Array, ""]) -> Store:
    """Stores the open block at index `block` with its summary, and opens an empty block."""
    size = store.open.contents.shape[-1]

    def put(old: Array, new: Array, at: Array) -> Array:
        return put_slices(old, new, at, axis=old.ndim - 1)

    return Store(
        Slots(*(put(old, new, block * size) for old, new in zip(store.closed, store.open, strict=True))),
        Summaries(*(put(old, new, block) for old, new in zip(store.summaries, summarise(store.open), strict=True))),
        Slots(*(jnp.zeros_like(rows) for rows in store.open)),
    )


def seal(store: Store) -> Store:
    """The store without an open block, when nothing more will be written."""
    return store._replace(open=Slots(*(rows[..., :0] for rows in store.open)))


def summarise(block: Slots) -> Summaries:
    """The summary of one block, with the memory in its middle as the centre."""
    addresses, contents = block
    visible, masses = block.visible, contents[:, -1]
    middle = jnp.argmax(visible, axis=-1) + jnp.sum(visible, axis=-1) // 2
    centre = jnp.take_along_axis(addresses, middle[:, None, None], axis=2)
    offsets = jnp.where(visible[:, None], addresses - centre, 0)
    squares = jnp.sum(offsets**2, axis=1)
    radius = jnp.sqrt(jnp.max(jnp.minimum(squares, FARTHEST), axis=-1, keepdims=True))

    expandable = (radius < _LARGEST_RADIUS)[..., None]
    features = jnp.where(expandable, jnp.concatenate([offsets, squares[:, None]], axis=1), 0)
    all_features = jnp.concatenate([jnp.ones_like(squares)[:, None], features], axis=1)
    spread = jnp.einsum("bs,bfs,bgs->bfg", masses, features, features)
    return Summaries(
        centres=centre,
        radii=radius,
        largest=jnp.max(jnp.abs(contents[:, :-1]) / jnp.where(visible, masses, 1)[:, None], axis=(1, 2))[:, None],
        moments=jnp.einsum("bcs,bfs->bcf", contents, all_features)[..., None],
        spreads=jnp.where(expandable, spread, jnp.inf)[..., None],
    )
