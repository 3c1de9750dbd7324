"""The peers: what they answer against slow versions, gradients against differences, and what shares a batch."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import quick
from slow_peers import SlowNtm, SlowRam, SlowTape, run_slowly, transform_slowly

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.evaluation import answer
from lantm.machine import (
    Config,
    LantmConfig,
    LstmConfig,
    Model,
    Noise,
    NtmConfig,
    RamConfig,
    Schedule,
    TapeRnnConfig,
    TransformerConfig,
    parameter_count,
)
from lantm.tasks import Copy, Lengths
from lantm.training.loss import negative_log_likelihood

SMALL: dict[str, Any] = {"cells": 5, "embedding": 3, "memory_width": 4}
TINY: dict[str, Any] = {"layers": 2, "cells": 8, "embedding": 3, "heads": 2, "feedforward": 6}
RECURRENT = {
    "ram": (RamConfig(**SMALL, key_size=3), SlowRam),
    "ram-tape": (RamConfig(**SMALL, key_size=3, tape=True), SlowRam),
    "ntm": (NtmConfig(**SMALL), SlowNtm),
    "tape-rnn": (TapeRnnConfig(**SMALL), SlowTape),
    "tape-rnn without jumps": (TapeRnnConfig(**SMALL, jumps=False), SlowTape),
}
TRANSFORMERS = {name: TransformerConfig(**TINY, positions=name) for name in ("none", "rope", "alibi", "hard-alibi")}  # type: ignore[arg-type]
OURS = {"lantm": LantmConfig(**SMALL), "lstm": LstmConfig(layers=2, cells=4, embedding=3)}
ALL: dict[str, Config] = {name: config for name, (config, _) in RECURRENT.items()} | TRANSFORMERS | OURS  # type: ignore[assignment]
USUAL = ("ram", "ram-tape", "ntm", "tape-rnn", "hard-alibi")
# One with a tape is a RAM too.
OFTEN = [pytest.param(name, marks=pytest.mark.thorough if name == "ram" else ()) for name in USUAL]
TASK = Copy(data_symbols=4, train_lengths=Lengths(2, 5))


def built(name: str, scale: float = 2.0) -> Model:
    """A model with larger weights than a fresh one has, so that its heads go somewhere."""
    model = ALL[name].build(TASK.vocabulary, jax.random.key(0))
    numbers = np.random.default_rng(0)
    larger = lambda leaf: scale * np.asarray(leaf) + 0.3 * numbers.normal(size=leaf.shape)  # noqa: E731
    return jax.tree.map(lambda leaf: jnp.asarray(larger(leaf)), model)


def problems(lengths: list[int]) -> Batch:
    return TASK.sample(jax.random.key(1), len(lengths), jnp.array(lengths), 5)


# Values.


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", RECURRENT)
def test_a_memory_against_its_slow_version(name: str) -> None:
    """Problems of different lengths in one batch, in arrays with room for more."""
    model, batch = built(name), problems([2, 4, 3])
    found = np.asarray(quick(lambda model: model.features(batch))(model))
    steps = int(batch.steps)
    for column, length in enumerate((2, 4, 3)):
        memory = RECURRENT[name][1](model.config, length + 1)
        slow = run_slowly(model, memory, np.asarray(batch.inputs[:steps, column]), length + 1)
        np.testing.assert_allclose(found[:steps, column], slow, rtol=1e-7, atol=1e-9)
    assert not found[steps:].any()


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_transformer_against_its_slow_version(name: str) -> None:
    model, batch = built(name, scale=1.0), problems([3])
    found = np.asarray(quick(lambda model: model.features(batch))(model))
    steps = int(batch.steps)
    np.testing.assert_allclose(
        found[:steps, 0], transform_slowly(model, np.asarray(batch.inputs[:steps, 0])), rtol=1e-7
    )
    assert not found[steps:].any()


@pytest.mark.thorough
def test_positional_schemes_differ() -> None:
    """With the same weights."""
    batch = problems([4])
    outputs = [np.asarray(quick(lambda model: model.features(batch))(built(name, 1.0))) for name in TRANSFORMERS]
    for index, one in enumerate(outputs):
        for other in outputs[:index]:
            assert np.abs(one - other).max() > 1e-3


# Gradients.


def moved(model: Model, way: Model, size: float) -> Model:
    return jax.tree.map(lambda leaf, by: np.asarray(leaf) + size * by, model, way)


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", OFTEN)
def test_gradients_against_differences(name: str) -> None:
    """Of the loss, in random directions of all weights, and of every array of weights alone."""
    model, batch = built(name, scale=1.0), problems([2, 3])
    loss = quick(lambda model: negative_log_likelihood(answer(model, batch)))
    gradient = quick(jax.grad(lambda model: negative_log_likelihood(answer(model, batch))))(model)
    leaves, shape = jax.tree.flatten(model)
    slopes = jax.tree.leaves(gradient)
    numbers, step = np.random.default_rng(2), 1e-5
    for index in (None, *range(len(leaves))):
        ways = [numbers.normal(size=leaf.shape) * (index in (None, at)) for at, leaf in enumerate(leaves)]
        along = jax.tree.unflatten(shape, ways)
        ahead, behind = (float(loss(moved(model, along, size))) for size in (step, -step))
        expected = sum(float(np.sum(np.asarray(slope) * way)) for slope, way in zip(slopes, ways, strict=True))
        assert (ahead - behind) / (2 * step) == pytest.approx(expected, rel=2e-4, abs=1e-8)


@pytest.mark.parametrize("name", OFTEN)
def test_gradients_of_a_fresh_model_are_finite(name: str) -> None:
    """In single precision, at the start, where cells are empty and heads on one place."""
    batch = problems([5, 5])
    model = ALL[name].build(TASK.vocabulary, jax.random.key(3))
    gradient = quick(jax.grad(lambda model: negative_log_likelihood(answer(model, batch))))(model)
    leaves = jax.tree.leaves(gradient)
    assert all(np.isfinite(leaf).all() for leaf in leaves)
    assert sum(float(np.sum(np.abs(leaf))) for leaf in leaves) > 0


# Batches, seeds and lengths.


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", USUAL)
def test_a_problem_does_not_depend_on_its_batch_nor_on_room_for_longer_ones(name: str) -> None:
    model, together = built(name), problems([2, 5, 3])
    alone = TASK.layout(together.inputs[1:3, :1].T, jnp.array([2]))
    run = quick(lambda model, batch: model.features(batch))
    steps = int(alone.steps)
    np.testing.assert_allclose(
        np.asarray(run(model, together))[:steps, 0], np.asarray(run(model, alone))[:steps, 0], rtol=1e-9, atol=1e-12
    )


@pytest.mark.usefixtures("double_precision")
@pytest.mark.parametrize("name", [pytest.param("ram-tape", marks=pytest.mark.thorough), "ntm", "none", *OURS])
def test_seeds_with_different_lengths_run_in_step_and_each_has_its_own_answers(name: str) -> None:
    models = [built(name), built(name, scale=1.5)]
    batches = [TASK.sample(jax.random.key(seed), 2, jnp.array(length), 5) for seed, length in enumerate((2, 5))]

    def loss_and_gradient(model: Model, batch: Batch) -> Any:
        return jax.value_and_grad(lambda model: negative_log_likelihood(answer(model, batch)))(model)

    stacked = [jax.tree.map(lambda *leaves: np.stack(leaves), *pair) for pair in (models, batches)]
    together = quick(jax.vmap(loss_and_gradient))(*stacked)
    for index, pair in enumerate(zip(models, batches, strict=True)):
        alone = quick(loss_and_gradient)(*pair)
        for one, other in zip(jax.tree.leaves(together), jax.tree.leaves(alone), strict=True):
            np.testing.assert_allclose(one[index], other, rtol=1e-8, atol=1e-11)


# What they are.


def test_sizes() -> None:
    """Parameters by hand, of the defaults and the 128 symbols of copy."""
    vocabulary, cells, embedding, width = 128, 50, 14, 20
    controller = 4 * cells * (embedding + width + cells + 1)
    common = vocabulary * embedding + controller + vocabulary * (cells + 1) + 2 * cells + width
    heads = {
        RamConfig(): 2 * 20 + 1 + width,
        RamConfig(tape=True): 2 * 20 + 1 + width + 4,
        NtmConfig(): 2 * (width + 6) + 2 * width,
        TapeRnnConfig(): width + 5,
    }
    for config, emitted in heads.items():
        model = jax.eval_shape(lambda config=config: config.build(vocabulary, jax.random.key(0)))
        assert parameter_count(model) == common + emitted * (cells + 1)
    block = 4 * 128 + 128 * 384 + 384 + 128 * 128 + 128 + 128 * 512 + 512 + 512 * 128 + 128
    around = vocabulary * 128 + 2 * (128 * 128 + 128) + 2 * 128
    model = jax.eval_shape(lambda: TransformerConfig().build(vocabulary, jax.random.key(0)))
    assert parameter_count(model) == 4 * block + around


@pytest.mark.parametrize("name", ["ntm", "hard-alibi"])
def test_there_are_no_kernels_and_no_noise(name: str) -> None:
    model, batch = ALL[name].build(TASK.vocabulary, jax.random.key(0)), problems([2])
    with pytest.raises(LantmError, match="has no kernels: use the backend"):
        model.features(batch, "kernel")
    with pytest.raises(LantmError, match="does not support noise"):
        model.features(batch, noise=Noise(jax.random.key(0), 0.1))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: NtmConfig(cells=0), "cells is 0: give"),
        (lambda: RamConfig(key_size=0), "key_size is 0: give"),
        (lambda: TransformerConfig(heads=3), "128 cells cannot be split over 3 heads: give"),
        (lambda: TransformerConfig(layers=0), "layers is 0: give"),
        (lambda: TransformerConfig(layers=257), "layers is 257: give at most 256"),
        (lambda: LstmConfig(layers=10**12), "layers is 1000000000000: give at most 256"),
        (lambda: TransformerConfig(cells=24, heads=8, positions="rope"), "give each head an even number"),
    ],
)
def test_sizes_that_cannot_be(make: Any, said: str) -> None:
    with pytest.raises(LantmError, match=said):
        make()


def test_the_end_of_a_run_is_the_state_after_its_last_step() -> None:
    model, batch = built("ram"), problems([4])
    outputs, end = model.run(batch.inputs, Schedule(jnp.array(7), batch.writes), model.begin(1, 5))
    assert end.log.keys.shape == (1, 6, 3), "a row per step of the input, and one for what comes later"
    np.testing.assert_array_equal(np.asarray(end.controller.hidden), np.asarray(outputs[6]))
    assert not np.asarray(outputs[7:]).any()
