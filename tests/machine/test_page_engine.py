"""The machines as pages run them, in JavaScript, against Python and the plain second implementation in `oracle.py`."""

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from agreement import SEVERAL_HEADS, build, problems, quick, small_lantm, small_lstm
from engine import engine_logits, needs_node

import lantm
from lantm.batch import Batch
from lantm.machine import LantmConfig, LstmConfig, Model
from lantm.tasks import Task
from lantm.trained import zoo

pytestmark = needs_node

SWITCHES = {
    "the paper's": small_lantm(),
    "softmax": small_lantm(weighting="softmax"),
    "softmax, fixed": small_lantm(weighting="softmax[temperature=0.7]"),
    "softmax, renormalised": small_lantm(weighting="softmax[renormalise=true]", **SEVERAL_HEADS),
    "inverse fourth power": small_lantm(weighting="invnorm[power=2]"),
    "inverse third power, softened": small_lantm(weighting="invnorm[power=1.5,epsilon=0.01,renormalise=true]"),
    "renormalised": small_lantm(weighting="invnorm[renormalise=true]"),
    "several heads": small_lantm(**SEVERAL_HEADS),
    "a line": small_lantm(geometry="translation-1"),
    "a space": small_lantm(geometry="translation-3", **SEVERAL_HEADS),
    "rotation": small_lantm(geometry="rotation"),
    "scaling-rotation": small_lantm(geometry="scaling-rotation"),
    "no slot to start with": small_lantm(initial_slot=False),
    "reads see writes": small_lantm(read_sees_write=True, **SEVERAL_HEADS),
    "settling": small_lantm(settle_reads=True, read_heads=2),
    "settling, after writes": small_lantm(settle_reads=True, read_sees_write=True, write_end=True, initial_slot=False),
    "the end is written": small_lantm(write_end=True),
    "sigmoids": small_lantm(squash_vectors="sigmoid"),
    "steps of any length": small_lantm(normalise_steps=False),
    "actions as they are": small_lantm(interpolate_actions=False),
    "actions of read heads as they are": small_lantm(interpolate_read_actions=False, **SEVERAL_HEADS),
    "gates": small_lantm(gate_overshoot=0.2, write_gate_bias=-1.0, tied_read_heads=1, read_heads=2),
    "cells": small_lantm(cell_bound=1.0, controller_overshoot=0.1, settle_cells=0.05),
    "cells, unsettled": small_lantm(cell_bound=0.5),
    "a memory that forgets": small_lantm(memory_limit=5, memory_drop=3),
    "a memory that forgets, several heads": small_lantm(
        memory_limit=4, memory_drop=2, settle_reads=True, **SEVERAL_HEADS
    ),
    "lstm": small_lstm(layers=3),
    "a low lstm": small_lstm(layers=1),
}


def assert_equal(found: list[np.ndarray], expected: np.ndarray, name: str) -> None:
    """The logits of problems of several lengths."""
    for problem, logits in enumerate(found):
        theirs = expected[: len(logits), problem]
        np.testing.assert_allclose(logits, theirs, rtol=1e-4, atol=1e-4, err_msg=f"{name}, problem {problem}")


def test_every_switch() -> None:
    batch = problems(lengths=(2, 6, 5), longest=6)
    models = {name: build(config) for name, config in SWITCHES.items()}
    found = engine_logits([(model, batch) for model in models.values()])
    seen = set()
    for logits, (name, model) in zip(found, models.items(), strict=True):
        expected = oracle.stacked(oracle.run_problems(model, model.config, batch), "logits")
        assert_equal(logits, expected, name)
        seen.add(round(float(np.abs(expected).sum()), 3))
    assert len(seen) == len(SWITCHES), "every switch makes a difference"


@quick
def python_logits(model: Model, batch: Batch) -> jax.Array:
    return model(batch).logits


@pytest.mark.parametrize("geometry", ["se2[radius=3]", "sphere[radius=2]", "disk[radius=2]", "hyperbolic-3[radius=2]"])
def test_curved_key_spaces(geometry: str) -> None:
    """They are small, so that curvature matters."""
    config: LantmConfig | LstmConfig = small_lantm(geometry=geometry, settle_reads=True, **SEVERAL_HEADS)
    model, batch = build(config), problems(lengths=(9, 4), longest=9)
    [found] = engine_logits([(model, batch)])
    assert_equal(found, np.asarray(python_logits(model, batch)), geometry)


# The machines of the zoo.


def random_and_hard(task: Task) -> Batch:
    """Random problems up to the longest trained on, and hard ones of that length, of several kinds."""
    trained, key = task.train_lengths, jax.random.key(3)
    shorter = trained.largest // 2 // trained.stride * trained.stride
    random = task.sample(key, 2, jnp.array([trained.largest, shorter]), trained.largest)
    longest = jnp.full(1, trained.largest)
    hard = [task.sample_hard(key, 1, longest, trained.largest, kind) for kind in task.hard_kinds[::3]]
    return jax.tree.map(
        lambda *parts: jnp.concatenate(parts, axis=-1) if parts[0].ndim else jnp.stack(parts).max(), random, *hard
    )


# Weights as training makes them, with two read heads; what machines have is above.
SOME = ("copy-lantm-invnorm-robust",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in SOME else pytest.mark.thorough) for name in zoo.names()]
)
def test_every_machine_of_the_zoo(name: str) -> None:
    """In double precision the logits are those of the equations.

    In single precision, as pages run it, they are Python's but for what both round: less than 1e-4 of the logits.
    """
    trained = lantm.load(name)
    model, batch = jax.tree.map(jnp.asarray, trained.model()), random_and_hard(trained.source)
    exact = oracle.stacked(oracle.run_problems(model, model.config, batch), "logits")
    [found] = engine_logits([(model, batch)], double=True)
    for problem, logits in enumerate(found):
        np.testing.assert_allclose(logits, exact[: len(logits), problem], rtol=0, atol=1e-6)
    rounded = np.asarray(python_logits(model, batch))
    [found] = engine_logits([(model, batch)])
    for problem, logits in enumerate(found):
        theirs = rounded[: len(logits), problem]
        np.testing.assert_allclose(logits, theirs, rtol=0, atol=1e-4 * np.abs(theirs).max())
        np.testing.assert_array_equal(logits.argmax(axis=-1), theirs.argmax(axis=-1))
