"""All layers of an LSTM in one loop: what one layer after the other gives, forward and backward."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import quick
from jax import lax

from lantm.machine import LstmConfig
from lantm.machine.controller import CellState, lstm_cell
from lantm.machine.lstm import Layer, _at_once, _one_after_the_other
from lantm.machine.lstm_stack import StackRun, StackWeights, run_stack

TIME, BATCH, CELLS = 7, 3, 5
pytestmark = pytest.mark.usefixtures("double_precision")


def layer_by_layer(weights: StackWeights, inputs: jax.Array, start: CellState, steps: jax.Array) -> StackRun:
    """The same by a plain scan for every layer, over whole arrays, and autodiff."""
    hiddens, cells = [], []
    given = inputs
    for layer in range(len(weights.biases)):

        def step(state: CellState, row: tuple[jax.Array, jax.Array], layer: int = layer) -> tuple[CellState, jax.Array]:
            t, given = row
            own = weights.recurrent[layer, :CELLS]
            after, _ = lstm_cell(given + state.hidden @ own + weights.biases[layer], state.cell)
            state = CellState(*(jnp.where(t < steps, new, old) for new, old in zip(after, state, strict=True)))
            return state, jnp.where(t < steps, state.hidden, 0)

        first = CellState(start.hidden[layer], start.cell[layer])
        end, outputs = lax.scan(step, first, (jnp.arange(TIME), given))
        hiddens.append(end.hidden)
        cells.append(end.cell)
        if layer + 1 < len(weights.biases):
            given = outputs @ weights.recurrent[layer + 1, CELLS:]
    return StackRun(outputs, CellState(jnp.stack(hiddens), jnp.stack(cells)))


def drawn(layers: int, seed: int = 0) -> tuple[StackWeights, jax.Array, CellState]:
    numbers = np.random.default_rng(seed)
    fan = CELLS if layers == 1 else 2 * CELLS
    recurrent = numbers.normal(size=(layers, fan, 4 * CELLS))
    start = CellState(*(jnp.asarray(numbers.normal(size=(layers, BATCH, CELLS))) for _ in range(2)))
    weights = StackWeights(jnp.asarray(recurrent), jnp.asarray(numbers.normal(size=(layers, 4 * CELLS))))
    return weights, jnp.asarray(numbers.normal(size=(TIME, BATCH, 4 * CELLS))), start


def assert_same(ours: object, theirs: object) -> None:
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("layers", [pytest.param(1, marks=pytest.mark.thorough), 4])
def test_forward_and_backward(layers: int) -> None:
    """Of fewer steps than there are layers, of none, and of all; with cotangents of outputs and of the end."""

    @quick
    def both(steps: jax.Array) -> list[object]:
        found = []
        for how in (run_stack, layer_by_layer):
            run, pull = jax.vjp(partial(how, steps=steps), *drawn(layers))
            numbers = np.random.default_rng(1)
            cotangent = jax.tree.map(lambda leaf, n=numbers: jnp.asarray(n.normal(size=leaf.shape)), run)
            found.append((run, *pull(cotangent)))
        return found

    for steps in (0, 1, 3, TIME):
        assert_same(*both(jnp.array(steps)))


def test_mapped_over_seeds_it_is_each_ones() -> None:
    seeds = [drawn(3, seed) for seed in range(2)]

    def gradient(given: object) -> object:
        return jax.grad(lambda given: jnp.sum(run_stack(*given, jnp.array(5)).outputs ** 2))(given)

    together = quick(jax.vmap(gradient))(jax.tree.map(lambda *leaves: jnp.stack(leaves), *seeds))
    for index, given in enumerate(seeds):
        assert_same(jax.tree.map(lambda leaf, index=index: leaf[index], together), quick(gradient)(given))


def test_layers_at_once_are_layers_one_after_the_other() -> None:
    """A GPU does the first, a CPU the second."""
    model = LstmConfig(layers=3, cells=CELLS, embedding=2).build(11, jax.random.key(0))
    below = jax.random.normal(jax.random.key(1), (TIME, BATCH, 2))

    @quick
    def both(layers: list[Layer]) -> list[object]:
        found = []
        for how in (_one_after_the_other, _at_once):
            run, pull = jax.vjp(partial(how, below=below, carried=model.begin(BATCH, 0), steps=jnp.array(5)), layers)
            found.append((run, pull(jax.tree.map(jnp.ones_like, run))))
        return found

    assert_same(*both(model.layers))
