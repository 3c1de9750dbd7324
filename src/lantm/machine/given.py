"""What a layer is given, before compiled code relies on it: inputs in the type of its weights, and a state that fits.

Compiled code reads arrays as numbers of the size of the weights'. An array of another type would be read beyond its
end.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, PyTree

from lantm.errors import LantmError


def type_of(weights: PyTree) -> Any:
    """The type that all weights have; refuses types in which neither the loops nor the kernels compute."""
    types = {leaf.dtype for leaf in jax.tree.leaves(weights)}
    if types not in ({jnp.dtype("float32")}, {jnp.dtype("float64")}):
        names = " and ".join(sorted(map(str, types)))
        raise LantmError(f"the layer's weights are {names}: it computes in float32 or float64, with one type for all")
    return types.pop()


def as_inputs(given: Any, weights: PyTree, inputs: int | None) -> Array:
    """What is given, in the type of the weights; refuses shapes that do not fit `inputs`, None if it is not known."""
    xs: Array = jnp.asarray(given)
    if xs.ndim != 2:
        raise LantmError(f"xs has the shape {xs.shape}: give time x inputs; jax.vmap maps over a batch")
    if inputs is not None and xs.shape[1] != inputs:
        raise LantmError(f"xs has {xs.shape[1]} inputs per step, and this layer {inputs}")
    if jnp.iscomplexobj(xs):
        raise LantmError(f"xs is {xs.dtype}: give real numbers, such as real and imaginary parts side by side")
    return xs.astype(type_of(weights))


def check_state(state: PyTree, first: PyTree) -> None:
    """Refuses a state of another layer; `first` is what the layer begins with.

    The number of memories may differ if it grows.
    """
    if _kind(state) != _kind(first):
        raise LantmError("state is of a layer with other sizes or types: continue with the layer that returned it")


def _kind(state: Any) -> PyTree:
    """The shapes and types in a state."""
    grows = state.remembered is None
    small = jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.result_type(leaf)), state[:3])
    return small, [(field.shape[grows:], field.dtype) for field in state.memory]
