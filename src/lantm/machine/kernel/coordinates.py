"""Rewrites functions of small arrays as functions of scalars, one per coordinate, for use inside a kernel.

Inside a kernel, arrays cannot be sliced or concatenated, so a key cannot be an array with an axis of coordinates. It is
a small NumPy array of large arrays, one per coordinate, each with a number for every problem (or for every problem and
memory). Geometries are written for ordinary arrays. `by_coordinates` traces such a function and applies its operations
to each coordinate.
"""

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, Primitive

from lantm.geometry.elementwise import ELEMENTWISE

Numbers = np.ndarray  # of objects: a small array of large arrays


class CannotSplitError(NotImplementedError):
    """A function uses an operation on small arrays that is not supported here."""


def by_coordinates(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of the function, with small arrays of large arrays instead of arrays."""
    leaves, structure = jax.tree.flatten(arguments)
    shapes = [jax.ShapeDtypeStruct(leaf.shape, _dtype(leaf)) for leaf in leaves]
    program, result = jax.make_jaxpr(function, return_shape=True)(*jax.tree.unflatten(structure, shapes))
    return jax.tree.unflatten(jax.tree.structure(result), _run(program, leaves))


def numbers(*parts: Any) -> Numbers:
    """Large arrays as the elements of a small one."""
    found = np.empty(len(parts), object)
    for at, part in enumerate(parts):  # assigned one by one, since NumPy would inspect traced parts
        found[at] = part
    return found


def _dtype(leaf: Numbers) -> Any:
    return jnp.result_type(float) if leaf.size == 0 else leaf.flat[0].dtype


def _constant(value: Any) -> Numbers:
    found = np.empty(np.shape(value), object)
    for at in np.ndindex(found.shape):
        found[at] = np.asarray(value)[at]
    return found


def _run(program: ClosedJaxpr, arguments: list[Numbers]) -> list[Numbers]:
    known: dict[Any, Numbers] = dict(zip(program.jaxpr.invars, arguments, strict=True))
    known |= zip(program.jaxpr.constvars, map(_constant, program.consts), strict=True)

    def value(variable: Any) -> Numbers:
        return _constant(variable.val) if isinstance(variable, Literal) else known[variable]

    for equation in program.jaxpr.eqns:
        found = _apply(equation.primitive, equation.params, [value(variable) for variable in equation.invars])
        known |= zip(equation.outvars, found, strict=True)
    return [value(variable) for variable in program.jaxpr.outvars]


def _apply(primitive: Primitive, params: dict[str, Any], given: list[Numbers]) -> list[Numbers]:
    name = primitive.name
    if name in ("jit", "pjit"):
        if params["name"] in ELEMENTWISE:
            return [_each(ELEMENTWISE[params["name"]], *given)]
        return _run(params["jaxpr"], given)
    if name in _RESHAPING:
        return [_RESHAPING[name](*given, **params)]
    if name in _EACH:
        return [_each(lambda *one: primitive.bind(*_alike(one), **params), *given)]
    raise CannotSplitError(name)


def _each(function: Callable[..., Any], *given: Numbers) -> Numbers:
    """Applies a function of numbers to every element of small arrays."""
    given = tuple(np.broadcast_arrays(*given)) if len(given) > 1 else given
    found = np.empty(given[0].shape, object)
    for at in np.ndindex(found.shape):
        found[at] = function(*(array[at] for array in given))
    return found


def _alike(one: tuple[Any, ...]) -> tuple[Any, ...]:
    """Broadcasts large arrays to one shape: a key has one number per problem, an address one per memory too."""
    shapes = {np.shape(array) for array in one}
    return one if len(shapes) == 1 else tuple(jnp.broadcast_arrays(*one))


# JAX primitives that act elementwise.
_EACH = frozenset(
    {
        *("add", "sub", "mul", "div", "neg", "abs", "sign", "max", "min", "clamp", "add_any"),
        *("exp", "exp2", "log", "log1p", "expm1", "tanh", "logistic", "sin", "cos", "atan2"),
        *("sqrt", "rsqrt", "square", "pow", "integer_pow"),
        *("lt", "le", "gt", "ge", "eq", "ne", "and", "or", "not", "is_finite", "select_n", "copy", "stop_gradient"),
    }
)


def _convert(array: Numbers, *, new_dtype: Any, **_: Any) -> Numbers:
    return _each(lambda one: jnp.asarray(one).astype(new_dtype), array)


def _broadcast(array: Numbers, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Numbers:
    kept = [1] * len(shape)
    for axis, size in zip(broadcast_dimensions, array.shape, strict=True):
        kept[axis] = size
    return np.broadcast_to(array.reshape(kept), shape)


def _slice(array: Numbers, *, start_indices: Any, limit_indices: Any, strides: Any) -> Numbers:
    strides = strides or (1,) * array.ndim
    return array[tuple(map(slice, start_indices, limit_indices, strides))]


def _sum(array: Numbers, *, axes: Any, **_: Any) -> Numbers:
    kept = [axis for axis in range(array.ndim) if axis not in axes]
    found = np.empty([array.shape[axis] for axis in kept], object)
    moved = np.transpose(array, [*kept, *axes]).reshape(*found.shape, -1)
    for at in np.ndindex(found.shape):
        found[at] = sum(itertools.islice(moved[at], 1, None), start=moved[at][0])
    return found


_RESHAPING: dict[str, Callable[..., Numbers]] = {
    "convert_element_type": _convert,
    "broadcast_in_dim": _broadcast,
    "slice": _slice,
    "reduce_sum": _sum,
    "squeeze": lambda array, *, dimensions: np.squeeze(array, tuple(dimensions)),
    "reshape": lambda array, *, new_sizes, **_: array.reshape(new_sizes),
    "transpose": lambda array, *, permutation: np.transpose(array, permutation),
    "concatenate": lambda *arrays, dimension: np.concatenate(arrays, dimension),
    "stack": lambda *arrays, axis: np.stack(arrays, axis),
    "rev": lambda array, *, dimensions: np.flip(array, dimensions),
}
