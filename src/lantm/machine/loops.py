"""Helpers for JAX loops with a dynamic number of steps, and slicing that stays efficient under `vmap` over seeds.

Under `vmap`, JAX turns a slice at a dynamic position into a gather or scatter, since positions could differ. Here all
seeds run the same number of steps and share the position, so the slice of the mapped array remains a slice. On a GPU
this is one kernel instead of three, for every slice of every step.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, ArrayLike, Int

from lantm.devices import on_cpu

Carry = TypeVar("Carry")

# A loop of dynamic length asks the host before every iteration whether to continue, which on a GPU takes longer than
# the iteration itself; a loop of static length does not. So most iterations are done in static blocks of this size.
_BLOCK = 8


def loop(start: Any, end: Any, body: Callable[[Array, Carry], Carry], carry: Carry) -> Carry:
    """`for i in range(start, end): carry = body(i, carry)`, with bounds given at run time."""
    if on_cpu():
        carry = lax.fori_loop(start, end, body, carry)
        return carry
    turns = jnp.maximum(end - start, 0)
    blocks, rest = turns // _BLOCK, turns % _BLOCK

    def block(i: Array, carry: Carry) -> Carry:
        first = start + rest + i * _BLOCK
        carry = lax.fori_loop(0, _BLOCK, lambda j, carry: body(first + j, carry), carry)
        return carry

    carry = lax.fori_loop(start, start + rest, body, carry)
    carry = lax.fori_loop(0, blocks, block, carry)
    return carry


@custom_vmap
def in_step(steps: Int[Array, ""]) -> Int[Array, ""]:
    """The number of steps; under `vmap` over runs with different numbers, the largest of them.

    Loop bounds and row positions are then the same for all runs. With individual bounds, every step would copy the
    whole loop carry. Results of a run beyond its own steps must not be used.
    """
    return steps


@in_step.def_vmap
def _largest(size: int, mapped: list[bool], steps: Int[Array, " mapped"]) -> tuple[Int[Array, ""], bool]:
    return in_step(jnp.max(steps)), False


@lru_cache
def _putter(axis: int) -> Callable[[Array, Array, ArrayLike], Array]:
    @custom_vmap
    def put(array: Array, slices: Array, at: ArrayLike) -> Array:
        return lax.dynamic_update_slice_in_dim(array, slices, at, axis=axis)

    @put.def_vmap
    def put_mapped(size: int, mapped: list[bool], array: Array, slices: Array, at: ArrayLike) -> tuple[Array, bool]:
        if mapped[2]:
            plain: Callable[..., Array] = jax.vmap(
                lambda a, s, i: lax.dynamic_update_slice_in_dim(a, s, i, axis=axis),
                in_axes=(0 if mapped[0] else None, 0 if mapped[1] else None, 0),
            )
            return plain(array, slices, at), True
        array = array if mapped[0] else jnp.broadcast_to(array, (size, *array.shape))
        slices = slices if mapped[1] else jnp.broadcast_to(slices, (size, *slices.shape))
        return _putter(axis + 1)(array, slices, at), True

    return put


@lru_cache
def _getter(axis: int, size: int) -> Callable[[Array, ArrayLike], Array]:
    @custom_vmap
    def get(array: Array, at: ArrayLike) -> Array:
        return lax.dynamic_slice_in_dim(array, at, size, axis=axis)

    @get.def_vmap
    def get_mapped(_: int, mapped: list[bool], array: Array, at: ArrayLike) -> tuple[Array, bool]:
        if mapped[1]:
            plain: Callable[..., Array] = jax.vmap(
                lambda a, i: lax.dynamic_slice_in_dim(a, i, size, axis=axis), in_axes=(0 if mapped[0] else None, 0)
            )
            return plain(array, at), True
        return _getter(axis + 1, size)(array, at), True

    return get


def put_slices(array: Array, slices: Array, at: Int[Array, ""], axis: int) -> Array:
    """`array` with `slices` written at position `at` of `axis`."""
    return _putter(axis)(array, slices, jnp.asarray(at))


def get_slices(array: Array, at: Int[Array, ""], size: int, axis: int) -> Array:
    """`size` slices of `array` from position `at` of `axis` on."""
    return _getter(axis, size)(array, jnp.asarray(at))


def put_row(stack: Array, row: Array, at: Int[Array, ""]) -> Array:
    """`stack` with `row` at position `at`."""
    return put_slices(stack, row[None], at, axis=0)


def get_row(stack: Array, at: Int[Array, ""]) -> Array:
    """The row of `stack` at position `at`."""
    return get_slices(stack, at, 1, axis=0)[0]
