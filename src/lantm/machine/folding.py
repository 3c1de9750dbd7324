"""A batching rule: `vmap` of a function of batches becomes one call with a larger batch.

`jax.vmap` adds an axis to every operation. If the weights are not mapped, the mapped axis can be merged into the batch:
one large batch runs faster, and only a large batch fills the blocks of a GPU kernel.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array

SHARED = -1
"""Used instead of a batch axis for arrays shared by the whole batch."""


def foldable(function: Callable[..., Any], in_axes: tuple[Any, ...], out_axes: Any) -> Callable[..., Any]:
    """`function`, with a batching rule that merges the mapped axis into the batch axis of all arrays.

    `in_axes` and `out_axes` are the batch axes, as prefixes of the arguments and of the result. If a shared argument is
    mapped, as weights are for several models, the rule is that of plain `jax.vmap`.
    """
    function = jax.jit(function, inline=True)  # traced once, even if the rule maps over it
    folding = custom_vmap(function)

    @folding.def_vmap
    def rule(size: int, in_batched: list[Any], *arguments: Any) -> tuple[Any, Any]:
        mapped, axes = tuple(in_batched), _spread(in_axes, arguments)
        shared_and_mapped = jax.tree.map(lambda axis, is_mapped: axis == SHARED and is_mapped, axes, mapped)
        if any(jax.tree.leaves(shared_and_mapped)):
            found = jax.vmap(function, jax.tree.map(lambda is_mapped: 0 if is_mapped else None, mapped))(*arguments)
            return found, jax.tree.map(lambda _: True, found)
        found = folding(*jax.tree.map(partial(fold, size), axes, mapped, arguments))
        axes = _spread(out_axes, found)
        return jax.tree.map(partial(_unfold, size), axes, found), jax.tree.map(lambda axis: axis != SHARED, axes)

    return folding


def fold(size: int, axis: int, is_mapped: bool, array: Array) -> Array:
    """Merges the mapped axis, which is first, into the batch axis, which is `axis` of each example."""
    if axis == SHARED:
        return array
    array = array if is_mapped else jnp.broadcast_to(array, (size, *array.shape))
    joined = jnp.moveaxis(array, 0, axis)
    return joined.reshape(*joined.shape[:axis], size * joined.shape[axis + 1], *joined.shape[axis + 2 :])


def _unfold(size: int, axis: int, array: Array) -> Array:
    """Undoes `fold`."""
    if axis == SHARED:
        return array
    parted = array.reshape(*array.shape[:axis], size, array.shape[axis] // size, *array.shape[axis + 1 :])
    return jnp.moveaxis(parted, axis, 0)


def _spread(prefix: Any, tree: Any) -> Any:
    """The axes of a prefix, for every array of the tree."""
    return jax.tree.map(lambda axis, part: jax.tree.map(lambda _: axis, part), prefix, tree)
