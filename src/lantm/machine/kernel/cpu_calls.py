"""Calls of compiled CPU programs, distributed over threads; and products, lookups, noise and the loss over all steps
(`cpu_steps.h`).

XLA would compute them for all rows of padded arrays. These programs compute only the steps that are run.
"""

import contextlib
import threading
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int, UInt32

from lantm.errors import LantmError
from lantm.machine.backend import cpu_kernels
from lantm.machine.compilers import RUN_ON_CPU, registered_on_cpu
from lantm.machine.first_order import first_order_only
from lantm.machine.folding import SHARED, fold, foldable
from lantm.machine.kernel.program import steps_text

# As in source/cpu_steps.h.
_SUM_PRODUCTS, _LOOK_UP, _SUM_ROWS, _MULTIPLY_ROWS, _ADD_NOISE, _SURPRISES = range(6)


def prepare() -> None:
    """Starts compiling what every machine needs on a CPU, in a background thread."""

    def compile_all() -> None:
        with contextlib.suppress(LantmError, OSError):  # the error is raised again when the program is used
            if cpu_kernels():
                registered_on_cpu(steps_text("float"))

    threading.Thread(target=compile_all, daemon=True).start()


def one_run(function: Callable[..., Any], arrays: Sequence[Array]) -> Any:
    """Applies a function of runs to a single run; under `vmap` there are more runs."""
    folding = foldable(function, (0,) * len(arrays), 0)
    return jax.tree.map(lambda array: array[0], folding(*(array[None] for array in arrays)))


def results_of(shapes: Sequence[tuple[int, ...]], dtype: Any) -> list[jax.ShapeDtypeStruct]:
    """The shapes of a call's results."""
    return [jax.ShapeDtypeStruct(shape, dtype) for shape in shapes]


def call_on_cpu(
    program: str,
    kind: int,
    runs: int,
    items: int,
    sizes: Sequence[int],
    arrays: Sequence[Array],
    results: Sequence[tuple[int, ...]],
    dtype: Any,
) -> list[Array]:
    """Runs a program over the items of every run, distributed over threads."""
    real = jnp.dtype(dtype).name
    wrong = {array.dtype.name for array in arrays} - {real, "int32", "uint32"}
    if wrong or real not in ("float32", "float64"):
        # Compiled code would read them as numbers of another size, beyond their end.
        raise TypeError(f"a program for {real} was given {', '.join(sorted(wrong or {real}))}")
    call = jax.ffi.ffi_call(RUN_ON_CPU, results_of(results, dtype))
    numbers = {"kind": np.int32(kind), "runs": np.int32(runs), "items": np.int32(items)}
    return list(
        call(
            *map(first_order_only, arrays),
            kernel=registered_on_cpu(program),
            sizes=np.array(sizes, np.int32),
            **numbers,
        )
    )


def _call(
    kind: int,
    items: int,
    sizes: Sequence[int],
    arrays: Sequence[Array],
    results: Sequence[tuple[int, ...]],
    dtype: Any,
) -> list[Array]:
    """Calls a program of `cpu_steps.h`, for as many runs as the first result has."""
    program = steps_text("double" if dtype == jnp.float64 else "float")
    return call_on_cpu(program, kind, results[0][0], items, sizes, arrays, results, dtype)


def _counted(steps: Int[Array, ""]) -> Int[Array, ""]:
    return jnp.asarray(steps, jnp.int32)


class Products(NamedTuple):
    """Sums over steps and problems: of the outer products of inputs and cotangents, and of the cotangents."""

    products: Float[Array, "inputs outputs"]
    sums: Float[Array, " outputs"]


def step_products(
    a: Float[Array, "a_steps batch inputs"],
    b: Float[Array, "b_steps batch outputs"],
    steps: Int[Array, ""],
    first: tuple[int, int] = (0, 0),
) -> Products:
    """The sums over problems and `steps` steps of the products of a and b, and of b; `first` are their first rows."""
    return Products(*(found[0] for found in _products_of_groups(1, first)(_counted(steps), a, b)))


@lru_cache
def _products_of_groups(groups: int, first: tuple[int, int]) -> Callable[..., tuple[Array, Array]]:
    """`step_products` of each group of a batch; under `vmap` there are more groups in a larger batch."""

    def of_runs(steps: Array, a: Array, b: Array) -> tuple[Array, Array]:
        (runs, a_steps, batch, inputs), (_, b_steps, _, outputs) = a.shape, b.shape
        sizes = (batch, groups, a_steps, inputs, first[0], b_steps, outputs, first[1])
        results = [(runs * groups, inputs, outputs), (runs * groups, outputs)]
        products, sums = _call(_SUM_PRODUCTS, inputs, sizes, (steps, a, b), results, a.dtype)
        return products.reshape(runs, groups, inputs, outputs), sums.reshape(runs, groups, outputs)

    folding = custom_vmap(lambda *arrays: one_run(of_runs, arrays))

    @folding.def_vmap
    def rule(size: int, mapped: list[bool], *arrays: Array) -> tuple[Any, Any]:
        if mapped[0]:  # runs with different numbers of steps
            axes = [0 if is_mapped else None for is_mapped in mapped]
            found = jax.vmap(lambda *arrays: one_run(of_runs, arrays), axes)(*arrays)
            return found, (True, True)
        a, b = (fold(size, 1, is_mapped, array) for is_mapped, array in zip(mapped[1:], arrays[1:], strict=True))
        products, sums = _products_of_groups(size * groups, first)(arrays[0], a, b)
        parted = (products.reshape(size, groups, *products.shape[1:]), sums.reshape(size, groups, *sums.shape[1:]))
        return parted, (True, True)

    return folding


def rows_of(
    table: Float[Array, "symbols size"], symbols: Int[Array, "time batch"], steps: Int[Array, ""]
) -> Float[Array, "time batch size"]:
    """The rows of a table for the symbols of all steps that are run; later rows are uninitialised."""

    def of_runs(steps: Array, table: Array, symbols: Array) -> Array:
        (runs, time, batch), (_, in_all, size) = symbols.shape, table.shape
        sizes, arrays = (batch, time, size, in_all), (steps, table, symbols)
        return _call(_LOOK_UP, batch, sizes, arrays, [(runs, time, batch, size)], table.dtype)[0]

    found: Array = one_run(of_runs, (_counted(steps), table, symbols.astype(jnp.int32)))
    return found


def summed_rows(
    rows: Float[Array, "time batch size"], symbols: Int[Array, "time batch"], steps: Int[Array, ""], in_all: int
) -> Float[Array, "symbols size"]:
    """For each symbol, the sum of its rows."""

    def of_runs(steps: Array, rows: Array, symbols: Array) -> Array:
        runs, time, batch, size = rows.shape
        sizes, arrays = (batch, time, size, in_all), (steps, rows, symbols)
        return _call(_SUM_ROWS, size, sizes, arrays, [(runs, in_all, size)], rows.dtype)[0]

    found: Array = one_run(of_runs, (_counted(steps), rows, symbols.astype(jnp.int32)))
    return found


def multiplied_rows(
    weight: Float[Array, "inputs outputs"],
    bias: Float[Array, " outputs"],
    rows: Float[Array, "time batch inputs"],
    steps: Int[Array, ""],
    zeros: bool = False,
) -> Float[Array, "time batch outputs"]:
    """x W + b for all rows that are run; later rows are uninitialised, or zeros."""
    found: Array = _multiplied_rows[zeros](weight, bias, rows, _counted(steps))
    return found


def _rows_of_a_batch(zeros: bool, weight: Array, bias: Array, rows: Array, steps: Array) -> Array:
    def of_runs(steps: Array, weight: Array, bias: Array, rows: Array) -> Array:
        (runs, time, batch, inputs), outputs = rows.shape, weight.shape[-1]
        if weight.shape[1] != inputs:
            raise ValueError(f"rows of {inputs} numbers cannot be multiplied with a weight of {weight.shape[1]} rows")
        sizes, arrays = (batch, time, inputs, outputs, zeros), (steps, weight, bias, rows)
        return _call(_MULTIPLY_ROWS, time, sizes, arrays, [(runs, time, batch, outputs)], rows.dtype)[0]

    found: Array = one_run(of_runs, (steps, weight, bias, rows))
    return found


_multiplied_rows = {
    zeros: foldable(partial(_rows_of_a_batch, zeros), (SHARED, SHARED, 1, SHARED), 1) for zeros in (False, True)
}


def noisy_rows(
    rows: Float[Array, "time batch size"], key: UInt32[Array, "2"], scale: Float[Array, ""], steps: Int[Array, ""]
) -> Float[Array, "time batch size"]:
    """Adds to row t `scale` times what `jax.random.normal` draws with `fold_in(key, t)`; later rows are uninitialised.

    The key is the data of one of JAX's default generator.
    """

    def of_runs(steps: Array, key: Array, scale: Array, rows: Array) -> Array:
        runs, time, batch, size = rows.shape
        arrays = (steps, key, scale, rows)
        return _call(_ADD_NOISE, time, (time, batch * size), arrays, [(runs, time, batch, size)], rows.dtype)[0]

    found: Array = one_run(of_runs, (_counted(steps), key, scale, rows))
    return found


class Surprises(NamedTuple):
    """The negative log likelihood of symbols, and the gradient of their mean."""

    surprises: Float[Array, "time batch"]
    gradient: Float[Array, "time batch vocabulary"]


def surprises(
    logits: Float[Array, "time batch vocabulary"],
    symbols: Int[Array, "time batch"],
    shares: Float[Array, "time batch"],
    steps: Int[Array, ""],
) -> Surprises:
    """The surprises of all symbols in the rows that are run; `shares` are theirs in the mean.

    In later rows, surprises are zero and their gradient is uninitialised. Where a share is zero, so are both.
    """

    def of_runs(steps: Array, logits: Array, symbols: Array, shares: Array) -> list[Array]:
        runs, time, batch, vocabulary = logits.shape
        results = [(runs, time, batch), logits.shape]
        arrays = (steps, logits, symbols, shares)
        return _call(_SURPRISES, time, (batch, time, vocabulary), arrays, results, logits.dtype)

    return Surprises(*one_run(of_runs, (_counted(steps), logits, symbols.astype(jnp.int32), shares)))
