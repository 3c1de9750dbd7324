"""`preset`: looks up machine and recipe by task, model and recipe name (the paper's table "Parameters")."""

import dataclasses
from typing import Any

from lantm.errors import LantmError, meant
from lantm.machine import LantmConfig, LstmConfig
from lantm.paper.presets.exact import exact_machine, exact_training
from lantm.paper.presets.peers import PEERS, peer
from lantm.paper.presets.programs import programs
from lantm.paper.presets.robust import with_robust_heads
from lantm.paper.presets.second import SECOND_RECIPES, second_machine, second_recipe
from lantm.paper.presets.text import text
from lantm.paper.presets.tuned import TUNED, tuned_lstm
from lantm.tasks import Text
from lantm.training import Experiment, ModelName, Recipe

PAPER_MODELS: tuple[ModelName, ...] = ("lantm-invnorm", "lantm-softmax", "lstm")
"""The models of the paper's tables."""
MODELS: tuple[ModelName, ...] = (*PAPER_MODELS, *PEERS)
"""All models that can be trained by name."""
RECIPES = ("paper", "robust", "exact", "tuned", *SECOND_RECIPES, "demo")

# Differences from the defaults, which are those of copy. Tasks of the second paper use its embeddings.
_OF_SECOND_PAPER = ("oddFirst", "repeatCopy", "prioritySort")
_SIZES: dict[str, dict[str, Any]] = {
    "bigramFlip": {"cells": 100},
    "addition": {"embedding": 14},
    **{task: {"embedding": 14} for task in _OF_SECOND_PAPER},
}
_SOFTMAX_SIZES: dict[str, dict[str, Any]] = {
    "bigramFlip": {"embedding": 10},
    "double": {"embedding": 14},
}
_LSTM_SIZES: dict[str, dict[str, Any]] = {
    "double": {"embedding": 64},
    "addition": {"embedding": 64},
    **{task: {"embedding": 128} for task in _OF_SECOND_PAPER},
}
_RATES = {"addition": 0.01}


def preset(task: str, model: str, recipe: str = "paper") -> Experiment:
    """The experiment of a task, a model and a recipe; your own tasks get the sizes of copy.

    The experiment for `text` has no text yet (`Experiment.text`).
    """
    name = task.partition("[")[0]
    machine: LantmConfig | LstmConfig
    known = next((one for one in MODELS if one == model), None)
    if known is None:
        raise LantmError(f"unknown model {model!r}: {meant(str(model), MODELS)}")
    if recipe not in RECIPES:
        raise LantmError(f"unknown recipe {recipe!r}: {meant(str(recipe), RECIPES)}")
    if known in PEERS:
        return Experiment(task, known, *peer(name, known, recipe), recipe_name=recipe)
    if name == "programs":
        if recipe in ("exact", "tuned", *SECOND_RECIPES):
            raise LantmError(f"programs have the recipes paper, robust and demo, not {recipe}: choose one of them")
        return Experiment(task, known, *programs(task, known, recipe), recipe_name=recipe)
    if name == Text.name:
        if recipe != "paper":
            raise LantmError(f"text has only the recipe paper, not {recipe!r}: leave out --recipe")
        return Experiment(task, known, *text(known), recipe_name=recipe, seeds=1)
    if recipe in SECOND_RECIPES:
        training = second_recipe(name, known, recipe)
        return Experiment(task, known, second_machine(known), training, recipe_name=recipe)
    if model == "lstm":
        machine = LstmConfig(**_LSTM_SIZES.get(name, {}))
        # No schedule, and tests every 200 epochs (appendix, "Training and testing").
        training = Recipe(learning_rate=0.0002, schedule="constant", test_every=200, epochs=2000)
    else:
        sizes = _SIZES.get(name, {})
        if model == "lantm-softmax":
            sizes = {"weighting": "softmax", **sizes, **_SOFTMAX_SIZES.get(name, {})}
        machine = LantmConfig(**sizes)
        training = Recipe(learning_rate=_RATES.get(name, 0.02), epochs=1500)
    if recipe == "exact":
        if not isinstance(machine, LantmConfig):
            raise LantmError("the recipe exact is for Lie access machines, not for lstm: use paper or robust")
        training, lengths = exact_training(task)
        return Experiment(task, known, exact_machine(machine), training, recipe_name=recipe, seeds=10, lengths=lengths)
    if recipe == "tuned":
        if not isinstance(machine, LstmConfig):
            raise LantmError(f"the recipe tuned is for the LSTM and the peers, not for {model}: use robust or exact")
        return Experiment(task, known, tuned_lstm(machine), TUNED, recipe_name=recipe, seeds=3)
    if recipe == "robust":
        machine, training = _robust(machine, training)
    elif recipe == "demo":
        machine, training = _demo(machine, training)
    return Experiment(task, known, machine, training, recipe_name=recipe)


def _robust(machine: LantmConfig | LstmConfig, recipe: Recipe) -> tuple[LantmConfig | LstmConfig, Recipe]:
    """Our recipe with the same settings for every task, apart from sizes, with which most seeds solve the task."""
    machine = dataclasses.replace(machine, state_range=0.0, forget_bias=1.0)
    recipe = dataclasses.replace(recipe, schedule="cosine", clip=1.0)
    if isinstance(machine, LantmConfig):
        machine = with_robust_heads(machine)
        recipe = dataclasses.replace(
            recipe,
            learning_rate=0.01,
            epochs=2000,
            test_every=50,
            test_batches=20,
            # Errors in the path of keys and in step lengths show at lengths beyond training.
            test_scales=(1, 2, 4),
            # A lucky test at 4x should not outweigh shorter lengths.
            shorter_first=True,
            # The path of a head is determined early, by chance: four machines hardly ever all fail.
            starts=4,
        )
    return machine, recipe


def _demo(machine: LantmConfig | LstmConfig, recipe: Recipe) -> tuple[LantmConfig | LstmConfig, Recipe]:
    """A short training for a laptop: zero initial state, cosine schedule, small tests."""
    machine = dataclasses.replace(machine, state_range=0.0, forget_bias=1.0)
    if isinstance(machine, LantmConfig):
        # The initial memory, though weak, would lie where all heads start and dominate their reads.
        machine = dataclasses.replace(machine, initial_slot=False)
    recipe = dataclasses.replace(
        recipe, learning_rate=0.01, schedule="cosine", clip=1.0, epochs=270, test_every=30, test_batches=10
    )
    return machine, recipe
