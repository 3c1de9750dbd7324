"""The controller's matrices inside a kernel: held in registers where they are small, streamed past where not."""

import abc
from typing import Any

import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array

from lantm.machine.kernel.block import Block, within
from lantm.machine.kernel.sizes import HELD, ROWS, padded, scalar_columns

STRIP = 32  # rows or columns of a matrix that are streamed together


class Products(abc.ABC):
    """Products with the weights, forward and back.

    What is multiplied is in registers (`hidden`, `readings`, ...) and also, because the step has just stored it
    there, in row `t` of the array that is handed over with it: a matrix is taken whole or strip by strip.
    """

    def __init__(self, block: Block, recurrent: Any, scalars: Any, vectors: Any):
        self.block, self.recurrent, self.scalars, self.vectors = block, recurrent, scalars, vectors
        self.read_heads, self.write_heads = range(block.access.read_heads), range(block.access.write_heads)
        self.width, self.cells = block.access.memory_width, block.sizes.cells
        self.columns = scalar_columns(block.access)
        self.hidden_start = block.access.read_heads * self.width  # the row of `recurrent` where hidden states begin

    @abc.abstractmethod
    def gate_sums(self, t: Array, stored: Any, readings: list[Array], hidden: Array) -> list[Array]:
        """What the state before step t, in row t of `stored`, adds to each gate."""

    @abc.abstractmethod
    def emission(self, t: Array, stored: Any, hidden: Array) -> tuple[Array, list[Array]]:
        """The scalars and vectors of an emission, without biases, from a hidden state in row t of `stored`."""

    @abc.abstractmethod
    def hidden_cotangent(self, t: Array, stored: Any, d_scalars: Array, d_vectors: list[Array]) -> Array:
        """The hidden state's cotangent, from those of scalars and of vectors, which are in row t of `stored`."""

    @abc.abstractmethod
    def state_cotangents(self, t: Array, stored: Any, d_sums: list[Array]) -> tuple[list[Array], Array]:
        """The cotangents of readings and hidden state from those of the gates' sums, in row t of `stored`."""


class Held(Products):
    """All matrices, loaded once."""

    def __init__(self, block: Block, recurrent: Any, scalars: Any, vectors: Any):
        super().__init__(block, recurrent, scalars, vectors)
        cells, width, matrix = self.cells, self.width, block.matrix
        self.of_readings = [
            [matrix(recurrent, h * width, (width, cells), g) for g in range(4)] for h in self.read_heads
        ]
        self.of_hidden = [matrix(recurrent, self.hidden_start, (cells, cells), g) for g in range(4)]
        self.of_scalars = matrix(scalars, 0, (cells, self.columns))
        self.of_vectors = [matrix(vectors, 0, (cells, width), w) for w in self.write_heads]

    def gate_sums(self, t: Array, stored: Any, readings: list[Array], hidden: Array) -> list[Array]:
        dot = self.block.dot
        found = [dot(hidden, weights) for weights in self.of_hidden]
        for reading, of_reading in zip(readings, self.of_readings, strict=True):
            found = [total + dot(reading, weights) for total, weights in zip(found, of_reading, strict=True)]
        return found

    def emission(self, t: Array, stored: Any, hidden: Array) -> tuple[Array, list[Array]]:
        dot = self.block.dot
        return dot(hidden, self.of_scalars), [dot(hidden, weights) for weights in self.of_vectors]

    def hidden_cotangent(self, t: Array, stored: Any, d_scalars: Array, d_vectors: list[Array]) -> Array:
        dot = self.block.dot_transposed
        found = dot(d_scalars, self.of_scalars)
        for d_vector, weights in zip(d_vectors, self.of_vectors, strict=True):
            found = found + dot(d_vector, weights)
        return found

    def state_cotangents(self, t: Array, stored: Any, d_sums: list[Array]) -> tuple[list[Array], Array]:
        dot = self.block.dot_transposed

        def share(of_gates: list[Array]) -> Array:
            parts = [dot(d_sum, weights) for d_sum, weights in zip(d_sums, of_gates, strict=True)]
            return parts[0] + parts[1] + parts[2] + parts[3]

        return [share(of_reading) for of_reading in self.of_readings], share(self.of_hidden)


class Streamed(Products):
    """A strip at a time, from the cache: more traffic, but there is room for large matrices."""

    def gate_sums(self, t: Array, stored: Any, readings: list[Array], hidden: Array) -> list[Array]:
        self.block.barrier()
        found = [jnp.zeros((ROWS, self.block.cells), hidden.dtype) for _ in range(4)]
        sources = [((stored.reading, t, slice(None), h), h * self.width, self.width) for h in self.read_heads]
        for source, start, size in [((stored.hidden, t, slice(None)), self.hidden_start, self.cells), *sources]:
            wanted = [(self.recurrent, start, self.cells, (g,)) for g in range(4)]
            found = self._forward(source, size, wanted, found)
        return found

    def emission(self, t: Array, stored: Any, hidden: Array) -> tuple[Array, list[Array]]:
        self.block.barrier()
        wanted = [
            (self.scalars, 0, self.columns, ()),
            *((self.vectors, 0, self.width, (w,)) for w in self.write_heads),
        ]
        nothing = [jnp.zeros((ROWS, padded(columns)), hidden.dtype) for _, _, columns, _ in wanted]
        scalars, *vectors = self._forward((stored, t, slice(None)), self.cells, wanted, nothing)
        return scalars, vectors

    def hidden_cotangent(self, t: Array, stored: Any, d_scalars: Array, d_vectors: list[Array]) -> Array:
        self.block.barrier()
        found = self.block.dot_transposed(d_scalars, self.block.matrix(self.scalars, 0, (self.cells, self.columns)))
        for w in self.write_heads:
            source = (stored, t, slice(None), w)
            [found] = self._back(source, self.width, [(self.vectors, 0, self.cells, (w,))], [found])
        return found

    def state_cotangents(self, t: Array, stored: Any, d_sums: list[Array]) -> tuple[list[Array], Array]:
        self.block.barrier()
        sizes = [(h * self.width, self.width) for h in self.read_heads] + [(self.hidden_start, self.cells)]
        found = [jnp.zeros((ROWS, padded(size)), d_sums[0].dtype) for _, size in sizes]
        for g in range(4):
            wanted = [(self.recurrent, start, size, (g,)) for start, size in sizes]
            found = self._back((stored, t, slice(None), g), self.cells, wanted, found)
        return found[:-1], found[-1]

    def _strip(self, source: tuple[Any, ...], begin: Array, size: int) -> Array:
        """A strip of stored rows, zero from column `size` on."""
        inside = begin + lax.broadcasted_iota(jnp.int32, (ROWS, STRIP), 1) < size
        ref, *index = source
        return self.block.load(ref, *index, pl.ds(begin, STRIP), mask=inside)

    def _forward(self, source: tuple[Any, ...], size: int, wanted: list[Any], totals: list[Array]) -> list[Array]:
        """Adds stored rows times matrices: of each, the array, its first row, its columns, what lies between."""

        def add(i: Array, totals: list[Array]) -> list[Array]:
            begin = i * STRIP
            strip = self._strip(source, begin, size)
            found = []
            for total, (ref, start, columns, between) in zip(totals, wanted, strict=True):
                shape = (STRIP, padded(columns))
                inside = begin + lax.broadcasted_iota(jnp.int32, shape, 0) < size
                column = within(shape, {1: columns})
                mask = inside if column is None else inside & column
                rows = pl.ds(start + begin, STRIP)
                weights = self.block.load(ref, rows, *between, pl.ds(self.block.zero, shape[1]), mask=mask)
                found.append(total + self.block.dot(strip, weights))
            return found

        sums: list[Array] = lax.fori_loop(0, -(-size // STRIP), add, totals)
        return sums

    def _back(self, source: tuple[Any, ...], size: int, wanted: list[Any], totals: list[Array]) -> list[Array]:
        """Adds stored rows times transposed matrices: of each, the array, its first row, its rows, what is between."""

        def add(i: Array, totals: list[Array]) -> list[Array]:
            begin = i * STRIP
            strip = self._strip(source, begin, size)
            found = []
            for total, (ref, start, rows, between) in zip(totals, wanted, strict=True):
                shape = (padded(rows), STRIP)
                inside = begin + lax.broadcasted_iota(jnp.int32, shape, 1) < size
                row = within(shape, {0: rows})
                mask = inside if row is None else inside & row
                at = pl.ds(self.block.zero + start, shape[0])
                weights = self.block.load(ref, at, *between, pl.ds(begin, STRIP), mask=mask)
                found.append(total + self.block.dot_transposed(strip, weights))
            return found

        sums: list[Array] = lax.fori_loop(0, -(-size // STRIP), add, totals)
        return sums


def products(block: Block, recurrent: Any, scalars: Any, vectors: Any) -> Products:
    """The products of a kernel, in the way that suits its sizes."""
    small = max(block.cells, block.width) <= HELD
    return (Held if small else Streamed)(block, recurrent, scalars, vectors)
