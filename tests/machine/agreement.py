"""Whether a model does at every step of every problem what the oracle does."""

import contextlib
import functools

import jax
import jax.numpy as jnp
import numpy as np
from oracle import run_problems, stacked

from lantm.batch import Batch
from lantm.machine import LantmConfig, LstmConfig, Model, Output, Trace
from lantm.tasks import make_task

# These programs run for milliseconds and compile for seconds.
quick = functools.partial(
    jax.jit,
    compiler_options={"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True},
)

SMALL = {"cells": 5, "embedding": 3, "memory_width": 4}
SMALL_LSTM = {"layers": 2, "cells": 4, "embedding": 3}
SEVERAL_HEADS = {"read_heads": 2, "write_heads": 3}

TOLERANCE = 1e-10


def small_lantm(**changes: object) -> LantmConfig:
    return LantmConfig(**SMALL | changes)


def small_lstm(**changes: object) -> LstmConfig:
    return LstmConfig(**SMALL_LSTM | changes)


def mixed_batch(name: str = "copy", lengths: tuple[int, ...] = (2, 4, 3), longest: int = 5) -> Batch:
    """Problems of the given lengths in arrays with room for longer ones."""
    return make_task(name).sample(jax.random.key(7), len(lengths), jnp.array(lengths), longest)


def build(config: LantmConfig | LstmConfig, vocabulary: int = 128) -> Model:
    """A model whose parameters are all of ordinary size, so that none is too small to matter."""
    model = config.build(vocabulary, jax.random.key(3))
    if isinstance(config, LantmConfig) and config.initial_slot:
        # The slot starts faint, since 10 is taken from this number.
        model = jax.tree.map(lambda x, y: y if y is not None else x, model, model)
    return model


@quick
def trace(model: Model, batch: Batch) -> Output:
    return model.trace(batch, read_weights=True)


@quick
def logits(model: Model, batch: Batch) -> jax.Array:
    return model(batch).logits
