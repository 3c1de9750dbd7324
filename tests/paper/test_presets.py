"""Presets: the paper's sizes and rates for every task and model."""

import dataclasses
from functools import partial

import jax
import jax.numpy as jnp
import pytest

from lantm.errors import LantmError
from lantm.machine import LantmConfig, LstmConfig
from lantm.paper import MODELS, PAPER_MODELS, RECIPES, make_experiment, preset, settings_of
from lantm.tasks import TASKS, Lengths
from lantm.training import ModelName, Recipe
from lantm.training.learner import begin, close_epoch, train_batches
from lantm.training.material import make_material

EXACT: list[tuple[ModelName, str]] = [("lantm-invnorm", "exact"), ("lantm-softmax", "exact")]


@pytest.mark.parametrize(
    ("task", "cells", "embedding", "softmax_embedding", "lstm_embedding", "rate"),
    [
        ("copy", 50, 7, 7, 7, 0.02),
        ("reverse", 50, 7, 7, 7, 0.02),
        ("bigramFlip", 100, 7, 10, 7, 0.02),
        ("bigramFlip[unit=bigrams]", 100, 7, 10, 7, 0.02),
        ("double", 50, 7, 14, 64, 0.02),
        ("addition", 50, 14, 14, 64, 0.01),
        # Of the second paper, with its embeddings.
        ("oddFirst", 50, 14, 14, 128, 0.02),
        ("repeatCopy", 50, 14, 14, 128, 0.02),
        ("prioritySort[data_symbols=10]", 50, 14, 14, 128, 0.02),
    ],
)
def test_the_papers_table(
    task: str, cells: int, embedding: int, softmax_embedding: int, lstm_embedding: int, rate: float
) -> None:
    for model, size in (("lantm-invnorm", embedding), ("lantm-softmax", softmax_embedding)):
        experiment = preset(task, model)
        machine = experiment.machine
        assert isinstance(machine, LantmConfig)
        assert (machine.cells, machine.embedding, machine.memory_width) == (cells, size, 20)
        assert model == f"lantm-{machine.weighting}"
        assert experiment.recipe.learning_rate == rate
        assert experiment.recipe.schedule == "plateau"
    baseline = preset(task, "lstm")
    assert isinstance(baseline.machine, LstmConfig)
    assert (baseline.machine.layers, baseline.machine.cells) == (4, 256)
    assert baseline.machine.embedding == lstm_embedding
    assert (baseline.recipe.learning_rate, baseline.recipe.schedule) == (0.0002, "constant")


def test_the_papers_recipe() -> None:
    recipe = preset("copy", "lantm-invnorm").recipe
    assert (recipe.batches, recipe.batch_size, recipe.test_batches) == (10, 32, 100)
    assert recipe.clip == Recipe().clip


@pytest.mark.parametrize(("model", "recipe"), [*((model, "robust") for model in PAPER_MODELS), *EXACT])
def test_one_recipe_for_all_tasks(model: ModelName, recipe: str) -> None:
    """Apart from the sizes, which are the paper's. Programs are another experiment, with a recipe of their own."""
    experiments = {task: preset(task, model, recipe) for task in TASKS if task != "programs"}
    recipes = {task: experiment.recipe for task, experiment in experiments.items()}
    if recipe == "exact":  # 16x as many values have 195x as many steps
        sort = recipes.pop("prioritySort")
        assert (sort.test_scales, sort.test_hard_scales) == ((1, 2, 4), (1, 2))
        recipes["prioritySort"] = dataclasses.replace(sort, test_scales=(1, 2, 4, 16), test_hard_scales=(1, 2, 16))
    assert len(set(recipes.values())) == 1
    sizes = ("cells", "embedding")
    for task, experiment in experiments.items():
        paper = preset(task, model).machine
        assert all(getattr(experiment.machine, name) == getattr(paper, name) for name in sizes)
    same = {dataclasses.replace(one.machine, cells=1, embedding=1) for one in experiments.values()}
    assert len(same) == 1


@pytest.mark.parametrize(("recipe", "problems", "start"), [("second", 320_000, 600), ("second-small", 16_000, 300)])
def test_the_second_papers_settings(recipe: str, problems: int, start: int) -> None:
    for task in ("copy", "oddFirst", "repeatCopy", "double[highest_first=true]", "addition", "yours.module:Task"):
        for model in ("lantm-invnorm", "lantm-softmax"):
            experiment = preset(task, model, recipe)
            machine, training = experiment.machine, experiment.recipe
            assert isinstance(machine, LantmConfig)
            sizes = (
                machine.cells,
                machine.embedding,
                machine.memory_width,
                machine.read_heads,
                machine.write_gate_bias,
            )
            assert sizes == (50, 14, 20, 1, -10.0)
            assert training.learning_rate in (0.01, 0.02)
            falls = (training.schedule, training.plateau_start, training.plateau_factor)
            assert falls == ("geometric", start, 0.99)
            assert (training.optimiser, training.clip) == ("rmsprop", 32.0)
            assert (training.recycled_problems, training.epochs * training.batches * training.batch_size) == (
                problems,
                320_000,
            )
    baseline = preset("copy", "lstm", recipe)
    assert isinstance(baseline.machine, LstmConfig)
    assert (baseline.machine.cells, baseline.recipe.learning_rate) == (256, 0.002)


@pytest.mark.parametrize("recipe", RECIPES)
@pytest.mark.parametrize("model", MODELS)
def test_every_name_leads_somewhere(recipe: str, model: ModelName) -> None:
    for task in (*TASKS, "yours.module:Task"):
        ours, peer = model.startswith("lantm"), model not in PAPER_MODELS
        programs = task == "programs" and not peer
        unfit = {"exact": not ours or programs, "tuned": ours or programs, "robust": peer}
        unfit |= dict.fromkeys(("second", "second-small"), programs)
        if unfit.get(recipe):
            with pytest.raises(LantmError, match=recipe):
                preset(task, model, recipe)
            continue
        experiment = preset(task, model, recipe)
        assert (experiment.task, experiment.model, experiment.recipe_name) == (task, model, recipe)


def test_exact_begins_with_the_shortest_problems() -> None:
    assert preset("copy", "lantm-invnorm", "exact").lengths == (1, 64)
    assert preset("bigramFlip", "lantm-softmax", "exact").lengths == (2, 32)
    assert preset("addition", "lantm-invnorm", "exact").build_task().train_lengths == Lengths(1, 16)
    assert preset("yours.module:Task", "lantm-invnorm", "exact").lengths is None


@pytest.mark.parametrize("model", MODELS)
def test_every_model_can_be_trained(model: ModelName) -> None:
    """An epoch is traced, not run: it gives back what it was given."""
    experiment = preset("addition", model)
    task = experiment.build_task()
    material = make_material(experiment, task)
    one = jax.ShapeDtypeStruct((), jnp.int32)
    learner = jax.eval_shape(partial(begin, experiment.machine, material.lessons, task.vocabulary), one)
    counts = jax.ShapeDtypeStruct(material.counts.shape, jnp.float32)
    after = jax.eval_shape(partial(train_batches, material.lessons), learner, (), one, one, one)
    after, report = jax.eval_shape(partial(close_epoch, experiment.recipe), after, counts, one)
    assert jax.tree.structure(after) == jax.tree.structure(learner)
    assert jax.tree.leaves(after) == jax.tree.leaves(learner)
    assert report.loss.shape == ()


@pytest.mark.parametrize("model", PAPER_MODELS)
def test_the_papers_programs(model: ModelName) -> None:
    """Section 4.2 and appendix, "python programs"."""
    experiment = preset("programs[kinds=loop]", model)
    machine, recipe = experiment.machine, experiment.recipe
    assert (machine.cells, machine.embedding, machine.forget_bias) == (128, 100, 1.0)
    if isinstance(machine, LstmConfig):
        assert (machine.layers, machine.weight_range) == (1, 0.08)
    else:
        assert (machine.memory_width, machine.weight_range, machine.weight_range_of) == (128, 0.0008, ("controller",))
        assert (machine.write_gate_bias, machine.normalise_steps) == (0.0, False)
        assert model == f"lantm-{machine.weighting}"
    assert (recipe.optimiser, recipe.learning_rate) == ("rmsprop", 0.002)
    assert (recipe.schedule, recipe.plateau_factor, recipe.validation_memory) == ("validation", 0.8, 4)
    assert recipe.mixed_lengths
    task = experiment.build_task()
    assert (task.train_lengths, task.lengths_at(1)) == (Lengths(2, 4), Lengths(4, 4))


@pytest.mark.parametrize("recipe", ["paper", "robust"])
def test_small_loops_are_trained_longer(recipe: str) -> None:
    alone = preset("programs[kinds=loop]", "lantm-invnorm", recipe).recipe
    among_others = preset("programs", "lantm-invnorm", recipe).recipe
    assert (alone.epochs, among_others.epochs) == (1200, 900)
    assert dataclasses.replace(alone, epochs=among_others.epochs) == among_others


def test_names_that_lead_nowhere() -> None:
    with pytest.raises(LantmError, match="unknown recipe 'papre': did you mean 'paper'\\? known are paper"):
        preset("copy", "lstm", "papre")
    with pytest.raises(LantmError, match="unknown model 'gru': known are lantm-invnorm"):
        preset("copy", "gru")


@pytest.mark.parametrize("model", PAPER_MODELS)
def test_the_papers_texts(model: ModelName) -> None:
    """Section 4.3 and appendix, "Language modelling"."""
    experiment = preset("text", model)
    machine, recipe = experiment.machine, experiment.recipe
    assert (machine.cells, machine.embedding, machine.forget_bias) == (128, 256, 1.0)
    if isinstance(machine, LstmConfig):
        assert (machine.layers, machine.weight_range) == (1, 0.08)
    else:
        assert model == f"lantm-{machine.weighting}"
        assert (machine.memory_width, machine.memory_limit, machine.memory_drop) == (100, 100, 60)
        assert (machine.weight_range, machine.write_gate_bias) == (0.008, -10.0)
        assert machine.weight_range_of == ("embedding", "controller", "heads"), "the output starts as usual"
        assert not machine.normalise_steps
    assert (recipe.optimiser, recipe.learning_rate) == ("adagrad", 0.05)
    assert (recipe.schedule, recipe.plateau_factor, recipe.validation_memory) == ("validation", 0.5, 1)
    assert (recipe.test_every, recipe.plateau_start) == (1, 0)
    with pytest.raises(LantmError, match="text has only the recipe paper"):
        preset("text", model, "robust")


def test_settings_by_name() -> None:
    """What `settings_of` says of an experiment makes it again."""
    made = make_experiment({"task": "copy", "model": "lstm", "recipe": "robust", "cells": 20, "lengths": [2, 8]})
    assert isinstance(made.machine, LstmConfig)
    assert (made.machine.cells, made.lengths, made.recipe) == (20, (2, 8), preset("copy", "lstm", "robust").recipe)
    assert make_experiment(settings_of(made)) == made


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({}, "there is no task"),
        ({"task": 5}, "task is 5, which is not text"),
        ({"task": "copy", "celsl": 3}, "no setting 'celsl': did you mean 'cells'\\? known are task"),
        ({"task": "copy", "cells": "many"}, "cells is 'many'"),
        ({"task": "copy", "data": "nowhere"}, "there is no folder nowhere"),
        ({"task": "copy", "data": []}, "data is \\[\\], which is not the name of a folder"),
    ],
)
def test_settings_that_lead_nowhere(settings: dict[str, object], reason: str) -> None:
    with pytest.raises(LantmError, match=reason):
        make_experiment(settings)
