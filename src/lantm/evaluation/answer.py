"""Runs a model on a batch and returns its logits or predictions at the answer's steps, the ones that are scored."""

from typing import NamedTuple

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from lantm.batch import Batch
from lantm.devices import on_cpu
from lantm.machine import Backend, Index, Model, Noise, can_infer, infer
from lantm.machine.loops import in_step
from lantm.machine.step_sums import linear

LONG = 4096  # steps, from which inference is faster than the recurrence used in training (docs/machine.md)


class Answer(NamedTuple):
    """The logits and targets at the steps of the answer."""

    logits: Float[Array, "answer batch vocabulary"]
    targets: Int[Array, "answer batch"]
    mask: Bool[Array, "answer batch"]
    steps: Int[Array, ""] | None = None
    """The number of rows that `step_sums.linear` has computed, if it has; later logits must be unused."""


class Prediction(NamedTuple):
    """The most likely symbols at the steps of the answer, with the targets."""

    predicted: Int[Array, "answer batch"]
    targets: Int[Array, "answer batch"]
    mask: Bool[Array, "answer batch"]


def answer(model: Model, batch: Batch, backend: Backend = "auto", noise: Noise | None = None) -> Answer:
    """Runs the model, and computes the logits only at the steps of the answer."""
    time, features = batch.inputs.shape[0], model.features(batch, backend, noise)
    if batch.answer_capacity == time:  # no steps to cut off
        return _read_out(model, features, batch.targets, batch.mask, batch.steps, backend)
    start = jnp.minimum(jnp.min(batch.writes), time - batch.answer_capacity)

    def cut(rows: Array) -> Array:
        return lax.dynamic_slice_in_dim(rows, start, batch.answer_capacity, axis=0)

    return _read_out(model, cut(features), cut(batch.targets), cut(batch.mask), batch.steps - start, backend)


def _read_out(
    model: Model,
    features: Float[Array, "answer batch cells"],
    targets: Int[Array, "answer batch"],
    mask: Bool[Array, "answer batch"],
    steps: Int[Array, ""],
    backend: Backend,
) -> Answer:
    if backend == "scan":  # must be twice differentiable
        return Answer(model.readout(features), targets, mask)
    steps = in_step(steps)
    return Answer(linear(model.readout.weight, model.readout.bias, features, steps), targets, mask, steps)


def predict(model: Model, batch: Batch, backend: Backend = "auto") -> Prediction:
    """The model's predictions. Long inputs use inference, which keeps only predictions, if the geometry supports it.

    On a CPU, inference reads through the index. An accelerator reads all memories in parallel: selecting blocks would
    cost more, and under `vmap` over seeds all branches of the selection would be executed.
    """
    if batch.inputs.shape[0] >= LONG and can_infer(model):
        found = infer(model, batch, Index() if on_cpu() else None)
        return Prediction(found.predictions, batch.targets, batch.mask)
    given = answer(model, batch, backend)
    return Prediction(jnp.argmax(given.logits, axis=-1), given.targets, given.mask)
