"""Calls of the kernels: what goes into them, and what comes out."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from lantm.machine.access import Access
from lantm.machine.controller import CellState
from lantm.machine.kernel.backward import backward_kernel
from lantm.machine.kernel.forward import forward_kernel
from lantm.machine.kernel.sizes import ROWS, WARPS, Saved, Sizes, scalar_columns
from lantm.machine.memory import Memory
from lantm.machine.state import Machinery


def _whole(shape: tuple[int, ...]) -> pl.BlockSpec:
    """All of an array, for every block of problems."""
    return pl.BlockSpec(shape, lambda i: (0,) * len(shape))


def _of_block(shape: tuple[int, ...], axis: int) -> pl.BlockSpec:
    """The share of a block of problems, which lie along `axis`."""
    share = (*shape[:axis], ROWS, *shape[axis + 1 :])
    return pl.BlockSpec(share, lambda i: (*(0,) * axis, i, *(0,) * (len(shape) - axis - 1)))


def _call(
    kernel: Callable[..., None],
    machinery: Machinery,
    sizes: Sizes,
    shared: list[Array],
    by_problem: list[tuple[Array, int]],
    results: list[tuple[tuple[int, ...], int]],
    aliases: dict[int, int],
) -> list[Array]:
    """Runs a kernel: arrays that all blocks share, arrays of problems with their axis, and the same of results."""
    from jax.experimental.pallas import triton

    interpret = machinery.kernels is not None and machinery.kernels.interpret
    dtype = by_problem[-1][0].dtype
    numbers, *weights = shared
    limits, *arrays = [(_filled_up(array, axis, sizes.missing), axis) for array, axis in by_problem]
    shapes = [((*shape[:axis], sizes.blocks * ROWS, *shape[axis + 1 :]), axis) for shape, axis in results]
    found = pl.pallas_call(
        kernel,
        grid=(sizes.blocks,),
        in_specs=[
            _whole(numbers.shape),
            _of_block(limits[0].shape, limits[1]),
            _of_block(arrays[0][0].shape, arrays[0][1]),
            *(_whole(array.shape) for array in weights),
            *(_of_block(array.shape, axis) for array, axis in arrays[1:]),
        ],
        out_specs=[_of_block(shape, axis) for shape, axis in shapes],
        out_shape=[jax.ShapeDtypeStruct(shape, dtype) for shape, _ in shapes],
        input_output_aliases=aliases,
        compiler_params=None if interpret else triton.CompilerParams(num_warps=WARPS, num_stages=1),
        interpret=interpret,
    )(numbers, limits[0], arrays[0][0], *weights, *(array for array, _ in arrays[1:]))
    return [lax.slice_in_dim(array, 0, sizes.batch, axis=axis) for array, (_, axis) in zip(found, shapes, strict=True)]


def _filled_up(array: Array, axis: int, missing: int) -> Array:
    """The array with its last problem repeated, so that every block is full."""
    return jnp.pad(array, [(0, missing if at == axis else 0) for at in range(array.ndim)], mode="edge")


class Matrices(NamedTuple):
    """The recurrence's weights, as the kernels take them."""

    recurrent: Float[Array, "reading_and_cells 4 cells"]
    scalars: Float[Array, "cells scalars"]
    scalar_biases: Float[Array, " scalars"]
    vectors: Float[Array, "cells write_heads width"]
    vector_biases: Float[Array, "write_heads width"]


def _scalars_before_vectors(access: Access) -> int:
    return sum(access.sizes[name] for name in ("keys", "key_gates", "actions", "action_gates"))


def _split(access: Access, emission: Array) -> tuple[Array, Array]:
    """Scalars and vectors of an array whose last axis is an emission."""
    begin = _scalars_before_vectors(access)
    end = begin + access.sizes["vectors"]
    scalars = jnp.concatenate([emission[..., :begin], emission[..., end:]], axis=-1)
    vectors = emission[..., begin:end].reshape(*emission.shape[:-1], access.write_heads, access.memory_width)
    return scalars, vectors


def join(access: Access, scalars: Array, vectors: Array) -> Float[Array, "*axes emission"]:
    """Scalars and vectors as one emission again."""
    begin = _scalars_before_vectors(access)
    flat = vectors.reshape(*scalars.shape[:-1], -1)
    return jnp.concatenate([scalars[..., :begin], flat, scalars[..., begin:]], axis=-1)


def matrices(access: Access, recurrent: Array, heads: Array, heads_bias: Array) -> Matrices:
    """The weights of `lantm.machine.recurrence`, as the kernels take them."""
    cells = heads.shape[0]
    scalars, vectors = _split(access, heads)
    scalar_biases, vector_biases = _split(access, heads_bias)
    return Matrices(recurrent.reshape(-1, 4, cells), scalars, scalar_biases, vectors, vector_biases)


def forward(
    machinery: Machinery,
    weights: Matrices,
    inputs: Float[Array, "time batch four_cells"],
    start: tuple[Array, ...],
    memory: Memory,
    numbers: Array,
    limits: Array,
) -> tuple[Saved, Memory]:
    """All steps of all problems; `start` has the first five arrays of `Saved`, without time."""
    access = machinery.access
    time, batch, cells = *inputs.shape[:2], weights.scalars.shape[0]
    sizes = Sizes(time, batch, cells, memory.strengths.shape[1])
    rows, width = (time + 1, batch), access.memory_width
    results = [
        (*rows, access.read_heads, width),
        (*rows, cells),
        (*rows, cells),
        (*rows, access.heads, access.geometry.key_size),
        (*rows, access.heads, access.geometry.action_size),
        (time, batch, 4, cells),
        (time, batch, scalar_columns(access)),
        (time, batch, access.write_heads, width),
        (time, batch, access.read_heads),
        (time, batch, access.read_heads),
    ]
    found = _call(
        partial(forward_kernel, machinery, sizes),
        machinery,
        sizes,
        [numbers, *weights],
        [(limits, 0), (inputs.reshape(time, batch, 4, cells), 1), *((array, 0) for array in (*start, *memory))],
        [*((shape, 1) for shape in results), *((array.shape, 0) for array in memory)],
        {13 + i: 10 + i for i in range(3)},
    )
    return Saved(*found[:10]), Memory(*found[10:])


class Cotangents(NamedTuple):
    """What the backward kernel finds; row t of scalars and vectors is of the emission of step t - 1."""

    preactivations: Float[Array, "time+1 batch 4 cells"]
    scalars: Float[Array, "time+1 batch scalars"]
    vectors: Float[Array, "time+1 batch write_heads width"]
    start: CellState
    reading: Float[Array, "batch read_heads width"]
    keys: Float[Array, "batch heads key"]
    actions: Float[Array, "batch heads action"]
    memory: Memory


def backward(
    machinery: Machinery,
    weights: Matrices,
    saved: Saved,
    memory: Memory,
    numbers: Array,
    limits: Array,
    d_hidden: Float[Array, "time batch cells"],
) -> Cotangents:
    """From the cotangents of all hidden states to those of everything that led to them."""
    access = machinery.access
    time, batch, cells = d_hidden.shape
    sizes = Sizes(time, batch, cells, memory.strengths.shape[1])
    rows, width = (time + 1, batch), access.memory_width
    d_memory = jax.tree.map(jnp.zeros_like, memory)
    results: list[tuple[tuple[int, ...], int]] = [
        ((*rows, 4, cells), 1),
        ((*rows, scalar_columns(access)), 1),
        ((*rows, access.write_heads, width), 1),
        ((batch, access.read_heads, width), 0),
        ((batch, cells), 0),
        ((batch, cells), 0),
        ((batch, access.heads, access.geometry.key_size), 0),
        ((batch, access.heads, access.geometry.action_size), 0),
        *((array.shape, 0) for array in memory),
    ]
    found = _call(
        partial(backward_kernel, machinery, sizes),
        machinery,
        sizes,
        [numbers, weights.recurrent, weights.scalars, weights.vectors],
        [(limits, 0), (d_hidden, 1), *((array, 1) for array in saved), *((array, 0) for array in (*memory, *d_memory))],
        results,
        {19 + i: 8 + i for i in range(3)},
    )
    pre, scalars, vectors, reading, hidden, cell, keys, actions, *rest = found
    return Cotangents(pre, scalars, vectors, CellState(hidden, cell), reading, keys, actions, Memory(*rest))
