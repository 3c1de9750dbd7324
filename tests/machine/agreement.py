"""Whether a model does at every step of every problem what the oracle does."""

import functools
import zlib

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import oracle

from lantm.batch import Batch
from lantm.evaluation import answer
from lantm.machine import LantmConfig, LstmConfig, Model, Output, Trace
from lantm.tasks import make_task
from lantm.training.loss import negative_log_likelihood

TOLERANCE = 1e-10
SEVERAL_HEADS = {"read_heads": 2, "write_heads": 3}


def known(option: str, value: object) -> bool:
    """Whether this version of XLA has the option."""
    try:
        jax.jit(lambda x: x, compiler_options={option: value})(0)
    except jax.errors.JaxRuntimeError:
        return False
    return True


# These programs run for milliseconds and compile for seconds, unless little is asked of the compiler.
OPTIONS = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}
quick = functools.partial(
    jax.jit, compiler_options={option: value for option, value in OPTIONS.items() if known(option, value)}
)


def small_lantm(**changes: object) -> LantmConfig:
    return LantmConfig(**{"cells": 5, "embedding": 3, "memory_width": 4} | changes)


def small_lstm(**changes: object) -> LstmConfig:
    return LstmConfig(**{"layers": 2, "cells": 4, "embedding": 3} | changes)


def build(config: LantmConfig | LstmConfig, task: str = "copy") -> Model:
    """A model in which everything matters: no number is so small that an error in its use would not show.

    The numbers depend on the names and shapes of the parameters only, so that two configurations differ by
    what they do. Drawing them here compiles nothing.
    """
    vocabulary = make_task(task).vocabulary
    shapes = eqx.filter_eval_shape(config.build, vocabulary, jax.random.key(0))

    def draw(path: tuple, leaf: jax.ShapeDtypeStruct) -> jax.Array:
        random = np.random.default_rng(zlib.crc32(jax.tree_util.keystr(path).encode()))
        faintness = 10 if path[-1].name == "strength" else 0  # is taken from this number in use
        return jnp.asarray(random.normal(scale=0.7, size=leaf.shape) + faintness, leaf.dtype)

    return jax.tree_util.tree_map_with_path(draw, shapes)


def problems(task: str = "copy", lengths: tuple[int, ...] = (2, 4, 3), longest: int = 5) -> Batch:
    """Problems of the given lengths in arrays that have room for longer ones."""
    return make_task(task).sample(jax.random.key(7), len(lengths), jnp.array(lengths), longest)


@quick
def traced(model: Model, batch: Batch) -> Output:
    return model.trace(batch, read_weights=True)


@quick
@jax.value_and_grad
def loss_and_gradient(model: Model, batch: Batch) -> jax.Array:
    return negative_log_likelihood(answer(model, batch))


def assert_near(ours: jax.Array, theirs: np.ndarray, what: str = "") -> None:
    np.testing.assert_allclose(np.asarray(ours), theirs, rtol=TOLERANCE, atol=TOLERANCE, err_msg=what)


def assert_agrees(model: Model, batch: Batch) -> Output:
    """Compares logits and trace with the oracle's and returns them."""
    output = jax.device_get(traced(model, batch))
    expected = oracle.run_problems(model, model.config, batch)
    steps = int(batch.steps)
    assert_near(output.logits[:steps], oracle.stacked(expected, "logits"), "logits")
    if output.trace is not None:
        assert_traces_agree(output.trace, expected, steps)
    return output


def assert_traces_agree(trace: Trace, expected: list[oracle.Run], steps: int) -> None:
    names = ["keys", "actions", "key_gates", "action_gates", "strengths", "temperatures", "readings", "settled_on"]
    for name in names:
        theirs = oracle.stacked(expected, name)
        if theirs.dtype == object:  # None at every step
            assert getattr(trace, name) is None
        else:
            assert_near(getattr(trace, name)[:steps], theirs, name)

    weights = np.zeros(trace.read_weights[:steps].shape)
    for problem, run in enumerate(expected):
        for time, step in enumerate(run.steps):
            for head, shares in enumerate(step.read_weights):
                for slot, share in shares.items():
                    weights[time, problem, head, slot] = share
    assert_near(trace.read_weights[:steps], weights, "read weights")

    for problem, run in enumerate(expected):
        for slot in run.written:
            assert_near(trace.memory.addresses[problem, slot.number], slot.address, "addresses")
            assert_near(trace.memory.vectors[problem, slot.number], slot.vector, "vectors")
            assert_near(trace.memory.strengths[problem, slot.number], slot.strength, "strengths")
