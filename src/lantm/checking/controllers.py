"""Tests a controller against the contract `lantm.machine.Controller`, by using it in a layer."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array

from lantm.checking.finding import Finding
from lantm.machine import Controller, LieAccess

_STEPS = 5


def check_controller(controller: Controller) -> list[Finding]:
    """Tests its sizes, that its state keeps its shape, and that outputs and gradients in a layer are finite.

    The number of inputs is unknown, so sizes are tried until one fits.
    """
    begun = controller.begin()
    for inputs in range(1, 129):
        given = jax.ShapeDtypeStruct((inputs,), jnp.float32)
        try:
            output, state = jax.eval_shape(controller.step, given, begun)
            break
        except (TypeError, ValueError, AssertionError):
            continue
    else:
        return [Finding("shapes", 1, "step accepts no vector of 1 to 128 numbers")]
    shapes = [jax.tree.map(lambda leaf: (jnp.shape(leaf), jnp.result_type(leaf)), one) for one in (begun, state)]
    findings = [
        Finding(
            "the output has the size it says",
            1,
            None if output.shape == (controller.size,) else f"size is {controller.size}, the output has {output.shape}",
        ),
        Finding(
            "the state keeps its shape",
            1,
            None if shapes[0] == shapes[1] else f"it begins as {shapes[0]} and is {shapes[1]} after a step",
        ),
    ]
    if any(finding.broken for finding in findings) or inputs < 2:
        return findings
    layer = LieAccess(1, key=jax.random.key(0), controller=controller, memory_width=inputs - 1)
    xs = jax.random.normal(jax.random.key(1), (_STEPS, 1))

    def loss(layer: LieAccess) -> tuple[Array, Array]:
        outputs, _ = layer(xs)
        return jnp.sum(outputs**2), outputs

    gradients, outputs = eqx.filter_jit(eqx.filter_grad(loss, has_aux=True))(layer)
    for law, values in (("outputs are finite", [outputs]), ("gradients are finite", jax.tree.leaves(gradients))):
        wrong = not all(bool(jnp.all(jnp.isfinite(one))) for one in values)
        findings.append(
            Finding(law, _STEPS, f"not so in a layer, for the inputs {xs[:, 0].tolist()}" if wrong else None)
        )
    return findings
