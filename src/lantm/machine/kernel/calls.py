"""Calls of the recurrence kernels on either device: argument layout, output shapes, batching.

All arrays begin with an axis of runs, each with its own weights. `vmap` adds runs (`lantm.machine.folding`), so a
kernel always knows the total number of problems.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lantm.devices import current_device
from lantm.errors import LantmError
from lantm.machine.compilers import EMULATE, LAUNCH, registered, registered_emulation
from lantm.machine.kernel.cpu_calls import call_on_cpu, one_run, results_of
from lantm.machine.kernel.program import Shape, choose_shape, cpu_program_text, program_text, shared_memory
from lantm.machine.memory import Memory
from lantm.machine.state import Machinery, Weights

_EMULATED_PROCESSORS = 2  # few, so that blocks have several problems in tests


class Saved(NamedTuple):
    """The arrays that the forward kernel saves for the backward one; row t of a state is before step t."""

    reading: Float[Array, "*runs time+1 batch reading"]
    hidden: Float[Array, "*runs time+1 batch cells"]
    cell: Float[Array, "*runs time+1 batch cells"]
    keys: Float[Array, "*runs time+1 batch heads key"]
    actions: Float[Array, "*runs time+1 batch heads action"]
    gates: Float[Array, "*runs time batch four_cells"]
    emissions: Float[Array, "*runs time batch emission"]
    places: Float[Array, "*runs time batch read_heads key"]  # keys of read heads before settling
    totals: Float[Array, "*runs time batch read_heads"]  # denominators of the read weights
    nearest: Float[Array, "*runs time batch read_heads"]  # smallest distances, if the weighting uses them


class Cotangents(NamedTuple):
    """The cotangents computed by the backward kernel; row t of emissions belongs to step t - 1."""

    preactivations: Float[Array, "*runs time batch four_cells"]
    emissions: Float[Array, "*runs time+1 batch emission"]
    reading: Float[Array, "*runs batch reading"]
    hidden: Float[Array, "*runs batch cells"]
    cell: Float[Array, "*runs batch cells"]
    keys: Float[Array, "*runs batch heads key"]
    actions: Float[Array, "*runs batch heads action"]
    memory: Memory


def forward(
    machinery: Machinery,
    weights: Weights,
    inputs: Float[Array, "time batch four_cells"],
    start: tuple[Array, ...],
    memory: Memory,
    numbers: Array,
    limits: Array,
) -> tuple[Saved, Memory]:
    """Runs all steps of all problems; `start` has the first five arrays of `Saved`, without time."""
    arrays = (numbers, limits, inputs, *weights, *start, *memory)
    saved, *found = one_run(partial(_forward, machinery), arrays)
    return Saved(*saved), Memory(*found)


def backward(
    machinery: Machinery,
    weights: Weights,
    saved: Saved,
    memory: Memory,
    numbers: Array,
    limits: Array,
    d_hidden: Float[Array, "time batch cells"],
) -> Cotangents:
    """The cotangents of all arguments of the forward kernel, from those of all hidden states."""
    arrays = (numbers, limits, d_hidden, weights.recurrent.T, weights.heads.T, *saved, *memory)
    found = one_run(partial(_backward, machinery), arrays)
    return Cotangents._make((*found[:7], Memory(*found[7:])))


def _forward(machinery: Machinery, *arrays: Array) -> tuple[Any, ...]:
    access, geometry = machinery.access, machinery.access.geometry
    runs, time, batch, gates = arrays[2].shape
    cells, heads = gates // 4, access.heads
    after = (runs, time + 1, batch)
    during = (runs, time, batch)
    results = [
        (*after, access.read_heads * access.memory_width),
        (*after, cells),
        (*after, cells),
        (*after, heads, geometry.key_size),
        (*after, heads, geometry.action_size),
        (*during, gates),
        (*during, access.emission_size),
        (*during, access.read_heads, geometry.key_size),
        (*during, access.read_heads),
        (*during, access.read_heads),
        *(array.shape for array in arrays[-3:]),
    ]
    _check_shapes(machinery, arrays[3:], results)
    found = _call(machinery, cells, False, arrays, results)
    return found[:10], *found[10:13]


def _check_shapes(machinery: Machinery, arrays: Sequence[Array], results: Sequence[tuple[int, ...]]) -> None:
    """Compiled code relies on the shapes of its arrays: of weights, start and memory here."""
    access = machinery.access
    (runs, _, batch, reading), cells, slots = results[0], results[1][-1], arrays[-1].shape[-1]
    needed = [
        *((runs, reading + cells, 4 * cells), (runs, cells, access.emission_size), (runs, access.emission_size)),
        *((runs, *shape[2:]) for shape in results[:5]),
        *((runs, batch, slots, size) for size in (access.geometry.key_size, access.memory_width)),
        (runs, batch, slots),
    ]
    given = [array.shape for array in arrays]
    if given != needed:
        raise ValueError(f"the kernels need arrays of the shapes {needed}, not {given}")


def _backward(machinery: Machinery, *arrays: Array) -> tuple[Array, ...]:
    access, geometry = machinery.access, machinery.access.geometry
    runs, time, batch, cells = arrays[2].shape
    results = [
        (runs, time, batch, 4 * cells),
        (runs, time + 1, batch, access.emission_size),
        (runs, batch, access.read_heads * access.memory_width),
        (runs, batch, cells),
        (runs, batch, cells),
        (runs, batch, access.heads, geometry.key_size),
        (runs, batch, access.heads, geometry.action_size),
        *(array.shape for array in arrays[-3:]),
    ]
    return tuple(_call(machinery, cells, True, arrays, results))


def _call(
    machinery: Machinery, cells: int, backwards: bool, arrays: Sequence[Array], results: Sequence[tuple[int, ...]]
) -> list[Array]:
    """Calls the kernel; time and batch are taken from the third array, the slots from the last."""
    assert machinery.kernels is not None
    (runs, time, batch, _), slots, dtype = arrays[2].shape, arrays[-1].shape[-1], arrays[2].dtype
    real = "double" if dtype == jnp.float64 else "float"
    if machinery.kernels.place == "cpu":
        program = cpu_program_text(machinery, cells, real)
        return call_on_cpu(program, backwards, runs, batch, (time, batch, slots), arrays, results, dtype)
    shape = _shape(machinery, cells, slots, runs * batch)
    emulated = machinery.kernels.place == "emulated"
    if emulated:
        name = registered_emulation(program_text(machinery, shape, real))
    else:
        name = registered(program_text(machinery, shape), "sm_" + _capability().replace(".", ""))
    numbers = {
        "backwards": backwards,
        "blocks": -(-batch // shape.rows),
        "runs": runs,
        "threads": shape.threads,
        "shared": (1 if emulated else 4) * shape.shared(backwards),
        "time": time,
        "batch": batch,
        "slots": slots,
    }
    call = jax.ffi.ffi_call(EMULATE if emulated else LAUNCH, results_of(results, dtype))
    return list(call(*arrays, kernel=name, **{key: np.int32(value) for key, value in numbers.items()}))


def _shape(machinery: Machinery, cells: int, slots: int, problems: int) -> Shape:
    emulated = machinery.kernels is not None and machinery.kernels.place == "emulated"
    processors = _EMULATED_PROCESSORS if emulated else getattr(current_device(), "core_count", 132)
    shape = choose_shape(machinery.access, cells, slots, problems, processors, shared_memory(_capability()))
    if shape is None:
        raise LantmError(f"a memory of {slots} slots is too large for the kernels: use the backend 'loops'")
    return shape


def _capability() -> str:
    return str(getattr(current_device(), "compute_capability", "9.0"))
