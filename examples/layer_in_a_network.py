"""The machine as a layer of another network: a regression where memory matters, beside a plain LSTM.

    python -m examples.layer_in_a_network

A network reads up to twelve numbers, one a step, and then has to give them back in the order in which they came. Both
networks have a linear readout and about 4,000 parameters. After 1,500 steps of training the error with the layer is
several hundred times smaller, and still small on twice as many numbers as it was trained on, where the LSTM guesses. A
step of training takes about twice as long with the layer.
"""

import argparse
from collections.abc import Callable
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.geometry import Translation
from lantm.machine import InvNorm, LieAccess

LONGEST, BATCH, CHUNK = 12, 32, 100  # numbers to remember, examples at once, steps of training in one program

Network = Callable[[Float[Array, "time 2"]], Float[Array, " time"]]


class WithLieAccess(eqx.Module):
    """The layer, and a readout."""

    layer: LieAccess
    readout: eqx.nn.Linear

    def __init__(self, cells: int, key: PRNGKeyArray):
        layer_key, readout_key = jax.random.split(key)
        self.layer = LieAccess(
            inputs=2,
            cells=cells,
            geometry=Translation(2),
            weighting=InvNorm(),
            memory_width=4,
            # The heads of the recipe `robust` (docs/robust-recipe.md): they find a line of keys early.
            read_heads=2,
            tied_read_heads=1,
            initial_slot=False,
            initial_step=0.5,
            gate_overshoot=0.1,
            forget_bias=1.0,
            state_range=0.0,
            key=layer_key,
        )
        self.readout = eqx.nn.Linear(cells, 1, key=readout_key)

    def __call__(self, xs: Float[Array, "time 2"]) -> Float[Array, " time"]:
        outputs, _ = self.layer(xs)
        return jax.vmap(self.readout)(outputs)[:, 0]


class WithLstm(eqx.Module):
    """A plain LSTM, and a readout."""

    cell: eqx.nn.LSTMCell
    readout: eqx.nn.Linear

    def __init__(self, cells: int, key: PRNGKeyArray):
        cell_key, readout_key = jax.random.split(key)
        self.cell = eqx.nn.LSTMCell(2, cells, key=cell_key)
        self.readout = eqx.nn.Linear(cells, 1, key=readout_key)

    def __call__(self, xs: Float[Array, "time 2"]) -> Float[Array, " time"]:
        def step(state: tuple[Array, Array], x: Array) -> tuple[tuple[Array, Array], Array]:
            state = self.cell(x, state)
            return state, state[0]

        start = jnp.zeros(self.cell.hidden_size)
        _, outputs = jax.lax.scan(step, (start, start), xs)
        return jax.vmap(self.readout)(outputs)[:, 0]


def mean_squared_error(
    network: Network, key: PRNGKeyArray, length: int | Int[Array, ""], longest: int
) -> Float[Array, ""]:
    """On fresh examples of a length, in arrays for the longest: numbers first, then steps in which to answer."""
    time = jnp.arange(2 * longest)
    numbers = jax.random.uniform(key, (BATCH, 2 * longest), minval=-1, maxval=1)
    numbers = jnp.where(time < length, numbers, 0)
    asked = jnp.broadcast_to(time >= length, numbers.shape)
    answers = jax.vmap(network)(jnp.stack([numbers, asked], axis=-1))
    errors = (answers - jnp.roll(numbers, length, axis=1)) ** 2
    return jnp.mean(errors, where=(time >= length) & (time < 2 * length))


class Outcome(NamedTuple):
    """What came of a training."""

    parameters: int
    losses: list[float]  # mean squared errors while training
    error: float  # of the longest sequences that were trained on
    error_twice_as_long: float


def train(network: Network, steps: int) -> Outcome:
    """Trains by Adam with a rate that falls to zero, on sequences of random lengths."""
    optimiser = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(optax.cosine_decay_schedule(0.01, steps)))
    arrays, rest = eqx.partition(network, eqx.is_array)
    chunk = min(CHUNK, steps)

    def step(carry: tuple, key: PRNGKeyArray) -> tuple[tuple, Array]:
        arrays, state = carry
        data_key, length_key = jax.random.split(key)
        length = jax.random.randint(length_key, (), 1, LONGEST + 1)

        def loss(arrays: Network) -> Array:
            return mean_squared_error(eqx.combine(arrays, rest), data_key, length, LONGEST)

        value, gradient = jax.value_and_grad(loss)(arrays)
        updates, state = optimiser.update(gradient, state)
        return (optax.apply_updates(arrays, updates), state), value

    train_chunk = jax.jit(lambda carry, key: jax.lax.scan(step, carry, jax.random.split(key, chunk)))
    carry, losses = (arrays, optimiser.init(arrays)), []
    for key in jax.random.split(jax.random.key(1), steps // chunk):
        carry, found = train_chunk(carry, key)
        losses.append(float(jnp.mean(found)))

    @jax.jit
    def test(arrays: Network) -> list[Array]:
        network = eqx.combine(arrays, rest)
        return [mean_squared_error(network, jax.random.key(2), length, length) for length in (LONGEST, 2 * LONGEST)]

    return Outcome(sum(leaf.size for leaf in jax.tree.leaves(arrays)), losses, *map(float, test(carry[0])))


def main(steps: int = 1500, seed: int = 0) -> dict[str, Outcome]:
    """Trains both networks and prints how well they remember."""
    key = jax.random.key(seed)
    networks = {"LieAccess": WithLieAccess(cells=24, key=key), "LSTM": WithLstm(cells=30, key=key)}
    outcomes = {name: train(network, steps) for name, network in networks.items()}
    for name, outcome in outcomes.items():
        print(
            f"{name}, {outcome.parameters} parameters: mean squared error {outcome.error:.4f} "
            f"on {LONGEST} numbers, {outcome.error_twice_as_long:.4f} on {2 * LONGEST}"
        )
    return outcomes


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1500, help="steps of training (default 1500, about a minute)")
    parser.add_argument("--seed", type=int, default=0, help="of the initial weights (default 0)")
    main(**vars(parser.parse_args()))
