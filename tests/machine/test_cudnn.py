"""cuDNN's LSTM: what it is given against JAX's own reference of it, and on a GPU what it gives against our loops."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import quick
from jax.experimental import rnn

from lantm.errors import LantmError
from lantm.machine import LstmConfig, Schedule, cudnn
from lantm.machine.controller import CellState
from lantm.machine.lstm import Layer, Lstm, _run_layers
from lantm.machine.lstm_stack import StackRun

TIME, BATCH, CELLS, INPUTS, LAYERS = 6, 3, 4, 2, 3
SIZES = (INPUTS, CELLS, LAYERS)

Given = tuple[list[Layer], jax.Array, CellState]


def given(seed: int = 0) -> Given:
    model = LstmConfig(layers=LAYERS, cells=CELLS, embedding=INPUTS).build(11, jax.random.key(seed))
    return model.layers, jax.random.normal(jax.random.key(seed + 1), (TIME, BATCH, INPUTS)), model.begin(BATCH, 0)


def reference(x: Any, hidden: Any, cell: Any, weights: Any, lengths: Any) -> tuple[Any, Any, Any]:
    """JAX's reference of cuDNN's LSTM, of flat weights."""
    parts = rnn.unpack_lstm_weights(weights, *SIZES, bidirectional=False)
    return rnn.lstm_ref(x, hidden, cell, *parts, lengths, *SIZES, 0.0, False)


@pytest.fixture
def on_any_device(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference in the place of cuDNN's two calls; it leaves something in the padding."""

    def forward(*arguments: Any, **options: Any) -> tuple[Any, Any]:
        assert options == cudnn._Sizes(*SIZES).options()
        outputs, *ends = reference(*arguments)
        padding = jnp.arange(TIME) >= arguments[-1][:, None]
        outputs = jnp.where(padding[..., None], 7.0, outputs)
        return (outputs, *ends), (*arguments, outputs, jnp.zeros(5))

    def backward(*arguments: Any) -> Any:
        *options, (x, hidden, cell, weights, lengths, _, _), cotangent = arguments
        assert options == [*SIZES, 0.0, False, None]
        pull = jax.vjp(lambda *some: reference(*some, lengths), x, hidden, cell, weights)[1]
        return (*pull(cotangent), jnp.zeros_like(lengths))

    monkeypatch.setattr(rnn, "lstm_fwd", forward)
    monkeypatch.setattr(rnn, "lstm_bwd", backward)
    cudnn._lstm.cache_clear()


def both(given: Given, steps: jax.Array) -> list[tuple[StackRun, Any]]:
    """Outputs and gradients, by cuDNN and by ours; cotangents of what is beyond the last step must not count."""
    found = []
    for run in (cudnn.run_layers, _run_layers):
        output, pull = jax.vjp(lambda *some, run=run: run(*some, steps), *given)
        numbers = np.random.default_rng(1)
        cotangent = jax.tree.map(lambda leaf, n=numbers: jnp.asarray(n.normal(size=leaf.shape), leaf.dtype), output)
        found.append((output, pull(cotangent)))
    return found


def assert_same(ours: Any, theirs: Any, tolerance: float = 2e-5) -> None:
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance)


@pytest.mark.usefixtures("on_any_device")
def test_the_order_of_its_weights_and_what_becomes_of_cotangents() -> None:
    compiled = quick(both)
    for steps in (1, 4, TIME):
        assert_same(*compiled(given(), jnp.array(steps)))


@pytest.mark.usefixtures("on_any_device")
def test_seeds_that_are_mapped_over_run_each_with_its_own_weights_and_steps() -> None:
    seeds, steps = [given(seed) for seed in range(2)], jnp.array([2, 5])

    def gradient(given: Given, steps: jax.Array) -> Any:
        return jax.grad(lambda given: jnp.sum(cudnn.run_layers(*given, steps).outputs ** 2))(given)

    together = quick(jax.vmap(gradient))(jax.tree.map(lambda *leaves: jnp.stack(leaves), *seeds), steps)
    for index, one in enumerate(seeds):
        assert_same(jax.tree.map(lambda leaf, index=index: leaf[index], together), quick(gradient)(one, steps[index]))


def test_where_it_serves(monkeypatch: pytest.MonkeyPatch) -> None:
    if jax.default_backend() == "cpu":
        assert not cudnn.serves("auto", 4, jnp.float32)
        with pytest.raises(LantmError, match=r"GPU of NVIDIA.*use the backend 'auto' or 'loops'"):
            cudnn.serves("kernel", 4, jnp.float32)
    monkeypatch.setattr(cudnn, "_unserved", lambda dtype: None)
    assert cudnn.serves("auto", 4, jnp.float32)
    assert not cudnn.serves("auto", 1, jnp.float32), "one layer: all seeds in one loop"
    assert not cudnn.serves("loops", 4, jnp.float32)
    assert cudnn.serves("kernel", 1, jnp.float32)


@pytest.mark.skipif(jax.default_backend() != "gpu", reason="cuDNN runs on a GPU")
@pytest.mark.parametrize("layers", [1, 4])
def test_on_a_gpu_it_is_our_loops(layers: int) -> None:
    """Whole models, two seeds mapped over, in full precision: outputs, final state and gradients."""
    config = LstmConfig(layers=layers, cells=64, embedding=7)
    models = jax.vmap(lambda key: config.build(128, key))(jax.random.split(jax.random.key(0), 2))
    inputs = jax.random.randint(jax.random.key(1), (40, 16), 0, 128)
    schedule = Schedule(jnp.array(33), jnp.full(16, 17))

    def run(model: Lstm, backend: Any) -> Any:
        def outputs(model: Lstm) -> Any:
            return model.run(inputs, schedule, model.begin(16, 0), backend)

        found, pull = jax.vjp(outputs, model)
        return found, pull(jax.tree.map(jnp.ones_like, found))

    with jax.default_matmul_precision("highest"):
        by_cudnn, by_loops = (
            jax.jit(jax.vmap(lambda model, how=how: run(model, how)))(models) for how in ("kernel", "loops")
        )
    assert_same(by_cudnn, by_loops, tolerance=1e-3)
