"""A block of problems inside a kernel: how it loads and stores, multiplies, and reads its memory."""

from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array

from lantm.machine.kernel.heads import squared_distances
from lantm.machine.kernel.sizes import CHUNKED, ROWS, Sizes, padded, scalar_columns
from lantm.machine.memory import Memory, Window
from lantm.machine.settling import Neighbours, merge, neighbours
from lantm.machine.state import Machinery


def within(shape: tuple[int, ...], sizes: dict[int, int]) -> Array | None:
    """True where an array padded to `shape` has numbers: below `sizes` along these axes."""
    mask = None
    for axis, size in sizes.items():
        if size < shape[axis]:
            inside = lax.broadcasted_iota(jnp.int32, shape, axis) < size
            mask = inside if mask is None else mask & inside
    return mask


class Block:
    """One block of problems inside a kernel: its sizes, and how it loads and stores."""

    def __init__(self, machinery: Machinery, sizes: Sizes, numbers: Any, limits: Any):
        from jax.experimental.pallas import triton

        assert machinery.kernels is not None
        full_precision, self.interpret = machinery.kernels
        self.triton, self.sizes = triton, sizes
        access, self.policy = machinery.access, machinery.policy
        self.access = access
        precision = lax.DotAlgorithmPreset.F32_F32_F32 if full_precision else lax.DotAlgorithmPreset.TF32_TF32_F32
        self.precision = None if self.interpret else precision
        self.cells, self.width = padded(sizes.cells), padded(access.memory_width)
        self.scalars = padded(scalar_columns(access))
        self.steps, self.turn, first, end = (numbers[i] for i in range(4))
        self.start = Window(first, end)
        # A start that is known only at run time: slices that begin at a known place may not leave the array.
        self.zero = pl.program_id(0) * 0
        self.limits = limits[...]
        self.chunk_size = max(2, CHUNKED // (ROWS * self.width))

    def barrier(self) -> None:
        """Makes what any thread of the block has stored visible to all of them."""
        if not self.interpret:
            self.triton.debug_barrier()

    def load(self, ref: Any, *index: Any, mask: Array | None = None) -> Array:
        return self.triton.load(ref.at[self._at(index)], mask=mask, other=None if mask is None else 0)

    def store(self, ref: Any, value: Array, *index: Any, mask: Array | None = None) -> None:
        self.triton.store(ref.at[self._at(index)], value, mask=mask)

    def _at(self, index: tuple[Any, ...]) -> tuple[Any, ...]:
        """An index whose numbers are all known only at run time; a bare slice means all problems of the block."""
        every = pl.ds(self.zero, ROWS)
        return tuple(self.zero + i if isinstance(i, int) else every if isinstance(i, slice) else i for i in index)

    def row(self, ref: Any, *index: Any, size: int, padded: int) -> Array:
        """A row of `size` numbers for every problem, padded with zeros."""
        mask = within((ROWS, padded), {1: size})
        return self.load(ref, *index, pl.ds(self.zero, padded), mask=mask)

    def put_row(self, ref: Any, value: Array, *index: Any, size: int) -> None:
        mask = within(value.shape, {1: size})
        self.store(ref, value, *index, pl.ds(self.zero, value.shape[1]), mask=mask)

    def matrix(self, ref: Any, start: int, sizes: tuple[int, int], *between: int) -> Array:
        """A matrix of `sizes` from row `start` on, padded with zeros; `between` indexes the axes between its two."""
        shape = (padded(sizes[0]), padded(sizes[1]))
        rows, columns = pl.ds(self.zero + start, shape[0]), pl.ds(self.zero, shape[1])
        return self.load(ref, rows, *between, columns, mask=within(shape, {0: sizes[0], 1: sizes[1]}))

    def dot(self, a: Array, b: Array) -> Array:
        return lax.dot_general(a, b, (((1,), (0,)), ((), ())), self.precision, a.dtype)

    def dot_transposed(self, a: Array, b: Array) -> Array:
        return lax.dot_general(a, b, (((1,), (1,)), ((), ())), self.precision, a.dtype)

    def columns(self, scalars: Array) -> list[Array]:
        """The columns of a row of scalars, one by one."""
        column = lax.broadcasted_iota(jnp.int32, scalars.shape, 1)
        count = range(scalar_columns(self.access))
        return [jnp.sum(jnp.where(column == at, scalars, 0), axis=1) for at in count]

    def from_columns(self, columns: list[Array]) -> Array:
        """A row of scalars from its columns."""
        column = lax.broadcasted_iota(jnp.int32, (ROWS, self.scalars), 1)
        row = jnp.zeros((ROWS, self.scalars), columns[0].dtype)
        for at, number in enumerate(columns):
            row = jnp.where(column == at, number[:, None], row)
        return row

    def points(self, ref: Any, size: int, *index: Any) -> list[list[Array]]:
        """The keys or actions of all heads, coordinate by coordinate."""
        heads = range(self.access.heads)
        return [[self.load(ref, *index, slice(None), h, d) for d in range(size)] for h in heads]

    def put_points(self, ref: Any, points: list[list[Array]], *index: Any) -> None:
        for h, point in enumerate(points):
            for d, coordinate in enumerate(point):
                self.store(ref, coordinate, *index, slice(None), h, d)

    def seen(self, t: Array) -> Window:
        """What the reading of a step can see (`Machinery.seen`)."""
        if self.access.read_sees_write:
            return self.left(t)
        return self.policy.window(self.start, self.access.write_heads * jnp.minimum(t, self.turn))

    def left(self, t: Array) -> Window:
        """What is remembered after a step (`Machinery.left`)."""
        return self.policy.window(self.start, self.access.write_heads * jnp.minimum(t + 1, self.turn))

    def chunks(self, seen: Window) -> tuple[Array, Array]:
        """The first chunk of memories that can be seen, and the one behind the last."""
        size = jnp.asarray(self.chunk_size, seen.end.dtype)
        return lax.div(seen.first, size), lax.div(seen.end + size - 1, size)

    def chunk(self, memory: Memory, at: Array, seen: Window, vectors: bool = True) -> tuple[Any, Array, Array | None]:
        """Addresses by coordinate, strengths and vectors of a chunk, and which of them can be seen."""
        size = self.chunk_size
        begin, slots = at * size, self.sizes.slots
        some = pl.ds(begin, size)
        slot = begin + lax.broadcasted_iota(jnp.int32, (ROWS, size), 1)
        inside = slot < slots
        addresses = [
            self.load(memory.addresses, slice(None), some, d, mask=inside) for d in range(self.access.geometry.key_size)
        ]
        strengths = self.load(memory.strengths, slice(None), some, mask=inside)
        found = None
        if vectors:
            shape = (ROWS, size, self.width)
            mask = begin + lax.broadcasted_iota(jnp.int32, shape, 1) < slots
            columns = within(shape, {2: self.access.memory_width})
            mask = mask if columns is None else mask & columns
            found = self.load(memory.vectors, slice(None), some, pl.ds(self.zero, self.width), mask=mask)
        return (addresses, strengths, found), self.visible(slot, seen), mask if vectors else None

    def visible(self, slot: Array, window: Window) -> Array:
        """Which slots are in a window, for each problem up to where its own writing ends."""
        return (slot >= window.first) & (slot < jnp.minimum(window.end, self.limits)[:, None])

    def settle(self, memory: Memory, keys: list[list[Array]], left: Window) -> list[list[Array]]:
        """The read heads after settling on what is left (`lantm.machine.settling`)."""

        def look(at: Array, so_far: list[Neighbours]) -> list[Neighbours]:
            (addresses, _, _), visible, _ = self.chunk(memory, at, left, vectors=False)
            return [
                merge(old, neighbours(squared_distances(self.access, key, addresses), addresses, visible))
                for old, key in zip(so_far, keys, strict=True)
            ]

        infinite = jnp.full((ROWS,), jnp.inf, keys[0][0].dtype)
        start = [Neighbours([jnp.zeros_like(infinite) for _ in key], infinite, infinite) for key in keys]
        found: list[Neighbours] = lax.fori_loop(*self.chunks(left), look, start)
        return [
            [jnp.where(near.settled, address, old) for address, old in zip(near.address, key, strict=True)]
            for near, key in zip(found, keys, strict=True)
        ]

    def nearest(self, memory: Memory, keys: list[list[Array]], seen: Window) -> list[Array]:
        """The smallest squared distance of every read head, for weightings that ask for it."""
        huge = jnp.finfo(keys[0][0].dtype).max

        def look(at: Array, smallest: list[Array]) -> list[Array]:
            (addresses, _, _), visible, _ = self.chunk(memory, at, seen, vectors=False)
            return [
                jnp.minimum(
                    s, jnp.min(jnp.where(visible, squared_distances(self.access, key, addresses), huge), axis=1)
                )
                for s, key in zip(smallest, keys, strict=True)
            ]

        start = [jnp.full((ROWS,), huge, keys[0][0].dtype) for _ in keys]
        if not self.access.weighting.asks_for_nearest:
            return start
        found: list[Array] = lax.fori_loop(*self.chunks(seen), look, start)
        return found

    def read(
        self, memory: Memory, keys: list[list[Array]], temperatures: list[Array], seen: Window
    ) -> tuple[list[Array], list[Array], list[Array]]:
        """The reading of every read head, the sum it was divided by, and the smallest distance."""
        weighting = self.access.weighting
        nearest = self.nearest(memory, keys, seen)
        dtype = keys[0][0].dtype

        def look(at: Array, sums: Any) -> Any:
            (addresses, strengths, vectors), visible, _ = self.chunk(memory, at, seen)
            found = []
            for h, (total, reading) in enumerate(sums):
                temperature = temperatures[h] if temperatures else None
                distances = squared_distances(self.access, keys[h], addresses)
                affinities = weighting.visible_affinities(distances, visible, temperature, nearest[h][:, None])
                counted, weight = weighting.counted(affinities, strengths)
                total = total + jnp.sum(counted, axis=1)
                found.append((total, reading + jnp.sum(weight[:, :, None] * vectors, axis=1)))
            return found

        start = [(jnp.zeros((ROWS,), dtype), jnp.zeros((ROWS, self.width), dtype)) for _ in keys]
        sums = lax.fori_loop(*self.chunks(seen), look, start)
        totals = [jnp.maximum(total, jnp.finfo(dtype).tiny) for total, _ in sums]
        return [r / t[:, None] for (_, r), t in zip(sums, totals, strict=True)], totals, nearest
