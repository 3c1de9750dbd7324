"""A batching rule for functions of batches: mapped over, they run as one larger batch.

`jax.vmap` over a function of a batch maps every operation in it. Where the weights are not mapped, the mapped axis is
just more of the batch: one long batch runs faster, and only a batch of many problems fills the blocks of a GPU kernel.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array


def foldable(function: Callable[..., Any], in_axes: tuple[Any, ...], out_axes: Any) -> Callable[..., Any]:
    """`function`, with a batching rule that folds the mapped axis into the batch axis of all its arrays.

    `in_axes` and `out_axes` say where the batch axes are, as prefixes of the arguments and of the result; None is for
    what the whole batch shares. Where something shared is mapped, as weights are when models are mapped over, there is
    one batch for each, and the rule is that of plain `jax.vmap`.
    """
    function = jax.jit(function, inline=True)  # it is traced once, also where the rule maps over it
    folding = custom_vmap(function)

    @folding.def_vmap
    def rule(size: int, in_batched: list[Any], *arguments: Any) -> tuple[Any, Any]:
        mapped, axes = tuple(in_batched), _spread(in_axes, arguments)
        shared_is_mapped = jax.tree.map(lambda axis, is_mapped: axis is None and is_mapped, axes, mapped, is_leaf=_none)
        if any(jax.tree.leaves(shared_is_mapped)):
            found = jax.vmap(function, jax.tree.map(lambda is_mapped: 0 if is_mapped else None, mapped))(*arguments)
            return found, jax.tree.map(lambda _: True, found)

        def fold(axis: int | None, is_mapped: bool, array: Array) -> Array:
            if axis is None:
                return array
            array = array if is_mapped else jnp.broadcast_to(array, (size, *array.shape))
            joined = jnp.moveaxis(array, 0, axis)
            return joined.reshape(*joined.shape[:axis], -1, *joined.shape[axis + 2 :])

        def unfold(axis: int | None, array: Array) -> Array:
            if axis is None:
                return array
            return jnp.moveaxis(array.reshape(*array.shape[:axis], size, -1, *array.shape[axis + 1 :]), axis, 0)

        found = folding(*jax.tree.map(fold, axes, mapped, arguments, is_leaf=_none))
        axes = _spread(out_axes, found)
        return jax.tree.map(unfold, axes, found, is_leaf=_none), jax.tree.map(_is_batched, axes, is_leaf=_none)

    return folding


def _spread(prefix: Any, tree: Any) -> Any:
    """The axes of a prefix, for every array of the tree."""
    return jax.tree.map(lambda axis, part: jax.tree.map(lambda _: axis, part), prefix, tree, is_leaf=_none)


def _none(leaf: Any) -> bool:
    return leaf is None


def _is_batched(axis: int | None) -> bool:
    return axis is not None
