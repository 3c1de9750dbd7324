"""A controller of your own, in one file: a gated recurrent unit in the place of the LSTM.

    python -m examples.own_controller

A controller has a state and one step: from the layer's input and its last reading, side by side, to an output and the
next state. What the output tells the heads is learned by the layer.
"""

import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from lantm.machine import Controller, LieAccess

WIDTH = 8  # of a memory vector


class Gru(Controller):
    """Equinox's gated recurrent unit, from a state of zeros."""

    cell: eqx.nn.GRUCell

    def __init__(self, inputs: int, reading: int, size: int, key: PRNGKeyArray):
        self.cell = eqx.nn.GRUCell(inputs + reading, size, key=key)

    @property
    def size(self) -> int:
        """The size of the state, which is the output too."""
        return self.cell.hidden_size

    def begin(self) -> Float[Array, " size"]:
        """Zeros."""
        return jnp.zeros(self.size)

    def step(
        self, inputs: Float[Array, " inputs+reading"], state: Float[Array, " size"]
    ) -> tuple[Float[Array, " size"], Float[Array, " size"]]:
        """One step of the unit."""
        state = self.cell(inputs, state)
        return state, state


def main(steps: int = 300) -> list[float]:
    """Trains the layer to say what it saw three steps before; returns the losses."""
    keys = jax.random.split(jax.random.key(0), 3)
    controller = Gru(inputs=1, reading=WIDTH, size=16, key=keys[0])
    layer = LieAccess(1, key=keys[1], controller=controller, memory_width=WIDTH, initial_slot=False)
    xs = jax.random.uniform(keys[2], (16, 20, 1), minval=-1, maxval=1)
    targets = jnp.roll(xs, 3, axis=1).at[:, :3].set(0)[..., 0]
    optimiser = optax.adam(0.01)

    def loss(layer: LieAccess) -> Float[Array, ""]:
        outputs, _ = jax.vmap(layer)(xs)
        return jnp.mean((outputs[..., 0] - targets) ** 2)

    @jax.jit
    def train(layer: LieAccess, state: optax.OptState) -> tuple[LieAccess, optax.OptState, Float[Array, ""]]:
        value, gradient = jax.value_and_grad(loss)(layer)
        updates, state = optimiser.update(gradient, state)
        return eqx.apply_updates(layer, updates), state, value

    state, losses = optimiser.init(layer), []
    for step in range(steps):
        layer, state, value = train(layer, state)
        losses.append(float(value))
        if step % 100 == 0 or step == steps - 1:
            print(f"step {step}: mean squared error {value:.4f}")
    return losses


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=300)
    main(parser.parse_args().steps)
