"""Reuses the weights of a trained machine: to start another training, or with other switches (`switched`)."""

import dataclasses
from typing import Any

import jax

from lantm.errors import LantmError, meant
from lantm.evaluation.budget import model_shapes
from lantm.machine import Config, LantmConfig, Model
from lantm.records import make_record
from lantm.tasks import Source, Text
from lantm.trained.trained import Trained
from lantm.training import Experiment, ModelName
from lantm.training.origin import finite_weights
from lantm.weight_files import named_shapes


def initial_weights(origin: Trained, experiment: Experiment, source: Source) -> Model:
    """The weights of a trained machine (the best seed) as initial weights of another training; sizes must agree."""
    before = origin.source
    if not finite_weights(origin.best.best_weights).all():
        raise LantmError(f"{origin.name} has weights that are not finite: start from another machine")
    weights = _fitted(
        origin,
        experiment.machine,
        source.vocabulary,
        "use a task with the same number of symbols, and keep the sizes of the machine",
    )
    words = [one.corpus.words for one in (before, source) if isinstance(one, Text)]
    if words and (len(words) == 1 or words[0] != words[1]):
        raise LantmError(f"{origin.name} has another vocabulary: train it further on the text that it was trained on")
    return weights


def switched(machines: Trained, **switches: Any) -> Trained:
    """The machine of the best seed with other switches and the same weights, to see the effect of a mechanism.

    Switches are fields of `LantmConfig`. `trained["switches"]` holds the values used in training.

    >>> from lantm.trained import load
    >>> lost = switched(load("copy"), settle_reads=False)
    >>> lost.experiment.machine.settle_reads, lost.trained["switches"]
    (False, {'settle_reads': True})
    """
    alone = machines.best
    before = alone.experiment.machine
    if not isinstance(before, LantmConfig):
        raise LantmError(f"{machines.name} is not a Lie access machine: it has no switches")
    for name in switches:
        if name not in vars(before):
            raise LantmError(f"there is no switch {name!r}: {meant(name, vars(before))}")
    machine = make_record(LantmConfig, vars(before) | switches, "switched")
    weights = _fitted(alone, machine, alone.source.vocabulary, "change switches that leave the weights as they are")
    trained_with = {name: getattr(before, name) for name in switches} | (alone.trained.get("switches") or {})
    return dataclasses.replace(
        alone,
        experiment=dataclasses.replace(alone.experiment, machine=machine),
        best_weights=jax.tree.map(lambda leaf: leaf[None], weights),
        last_weights=None,
        trained=alone.trained | {"switches": trained_with},
    )


def _fitted(origin: Trained, machine: Config, vocabulary: int, advice: str) -> Model:
    """The weights of a machine (the best seed) in a model of another configuration with the same shapes."""
    model = origin.model()
    like: Model = model_shapes(machine, vocabulary)
    ours, theirs = named_shapes(like), named_shapes(model)
    for name in sorted(ours.keys() | theirs.keys()):
        if ours.get(name) != theirs.get(name):
            raise LantmError(
                f"the weights of {origin.name} do not fit: {name} is {_shown(theirs.get(name))} there and "
                f"{_shown(ours.get(name))} here; {advice}"
            )
    weights: Model = jax.tree.unflatten(jax.tree.structure(like), jax.tree.leaves(model))
    return weights


def preset_model(experiment: Experiment) -> ModelName:
    """The model whose presets further trainings start from; a custom weighting has none of its own."""
    return "lantm-invnorm" if experiment.model == "lantm" else experiment.model


def _shown(shape: tuple[int, ...] | None) -> str:
    return "missing" if shape is None else " x ".join(map(str, shape)) or "one number"
