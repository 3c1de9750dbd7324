"""What a layer is given in another type than that of its weights: it is converted, or refused."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.machine import LieAccess
from lantm.machine.given import as_inputs

BACKENDS = ("kernel", "loops", "scan")

pytestmark = pytest.mark.usefixtures("c_compiler")
BITS = np.array([[0, 1], [1, 1], [1, 0], [0, 0], [0, 1]])


def layer(**changes: Any) -> LieAccess:
    return LieAccess(2, cells=4, memory_width=3, key=jax.random.key(0), **changes)


def cast(tree: Any, to: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.astype(to) if eqx.is_inexact_array(leaf) else leaf, tree)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("given", ["int32", "int8", "bool", "float16", "bfloat16"])
def test_inputs_of_another_type_are_the_same_numbers(given: str, backend: Any) -> None:
    """The kernels used to read them as the bytes of other numbers, and beyond their end."""
    one = layer()
    expected, _ = one(jnp.asarray(BITS, "float32"), backend="scan")
    outputs, state = one(jnp.asarray(BITS, given), backend=backend)
    assert {leaf.dtype for leaf in jax.tree.leaves((outputs, state))} == {jnp.dtype("float32")}
    np.testing.assert_allclose(outputs, expected, rtol=1e-5, atol=1e-6)
    mapped, _ = jax.vmap(lambda xs: one(xs, backend=backend))(jnp.asarray(BITS, given)[None])
    np.testing.assert_allclose(mapped[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_inputs_and_layers_of_both_precisions(backend: Any) -> None:
    """In double precision a layer that was made in single precision still works, and keeps it."""
    single = layer()
    expected, _ = single(jnp.asarray(BITS, "float32"), backend=backend)
    with jax.enable_x64(True):
        for weights in ("float32", "float64"):
            one = cast(single, weights)
            for given in ("float32", "float64"):
                outputs, state = one(jnp.asarray(BITS, given), backend=backend)
                assert outputs.dtype == weights
                np.testing.assert_allclose(outputs, expected, rtol=1e-4, atol=1e-5)
                more, _ = one(jnp.asarray(BITS, given), state, backend=backend)
                assert more.dtype == weights


def test_gradients_have_the_type_of_the_inputs() -> None:
    def total(xs: jax.Array) -> jax.Array:
        return jnp.sum(layer()(xs)[0])

    xs = jnp.asarray(BITS, "float32")
    half = jax.grad(total)(xs.astype("bfloat16"))
    assert half.dtype == "bfloat16"
    np.testing.assert_allclose(half.astype("float32"), jax.grad(total)(xs), rtol=1e-2, atol=1e-3)


def test_lists_are_inputs() -> None:
    given = as_inputs(BITS.tolist(), jnp.ones(1), 2)
    assert given.dtype == "float32"
    np.testing.assert_array_equal(given, BITS)


def test_what_cannot_be_computed_in_is_refused() -> None:
    xs, one = jnp.asarray(BITS, "float32"), layer()
    with pytest.raises(LantmError, match=r"^xs is complex64: give real numbers"):
        as_inputs(xs.astype("complex64"), one.heads, 2)
    with pytest.raises(LantmError, match=r"^the layer's weights are bfloat16: it computes in float32 or float64"):
        cast(one, "bfloat16")(xs)
    mixed = eqx.tree_at(lambda one: one.controller.recurrent, one, one.controller.recurrent.astype("float16"))
    with pytest.raises(LantmError, match=r"^the layer's weights are float16 and float32: "):
        mixed(xs)
    with pytest.raises(LantmError, match=r"^state is of a layer with other sizes or types"):
        one(xs, cast(one(xs)[1], "float16"))
