"""Training on a fixed set of problems: how many there are, that they come again, and that a run is resumed on them."""

import collections
import dataclasses
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.machine import LstmConfig
from lantm.randomness import RECYCLE, seed_key
from lantm.records import make_record
from lantm.tasks import Copy, Lengths, Programs, RepeatCopy, Task
from lantm.training import Experiment, Recipe, RunFolder, check_budget, load_learners, train
from lantm.training.problems import draw_problems

COPY = Copy(train_lengths=Lengths(2, 4))
LSTM = LstmConfig(layers=1, cells=2, embedding=2)
RECIPE = Recipe(epochs=4, batches=2, batch_size=64, recycled_problems=7)

draw = jax.jit(draw_problems, static_argnums=(0, 1))


def drawn(length: int | list[int], epoch: int = 1, seed: int = 3, task: Task = COPY, **changes: object) -> Batch:
    recipe = dataclasses.replace(RECIPE, **changes)
    lengths = jnp.resize(jnp.array(length), (64,)) if recipe.mixed_lengths else jnp.array(length)
    return jax.device_get(draw(recipe, task, jnp.array(seed), jnp.array(epoch), jnp.array(0), lengths))


def different(batch: Batch) -> set[tuple[int, ...]]:
    return {tuple(column) for column in np.concatenate([batch.inputs, batch.targets]).T.tolist()}


def test_there_are_as_many_as_were_asked_for() -> None:
    """Seven problems of three lengths, found again in every epoch."""
    first, later = ([different(drawn(length, epoch)) for length in (2, 3, 4)] for epoch in (0, 3))
    assert [len(found) for found in first] == [3, 2, 2]
    assert first == later
    assert not set.union(*first) & different(drawn(2, seed=4)), "another seed has other problems"
    fresh = drawn(4, recycled_problems=None)
    assert len(different(fresh)) == 64


def test_all_are_equally_likely_and_in_random_order() -> None:
    batch = drawn(2)
    columns = [tuple(column) for column in batch.inputs.T.tolist()]
    assert min(collections.Counter(columns).values()) > 8, "21 each, with a standard deviation of 4"
    assert columns != [tuple(column) for column in drawn(2, epoch=2).inputs.T.tolist()]


def test_a_problem_is_drawn_from_its_length_and_number() -> None:
    by_hand = {
        tuple(np.asarray(COPY.sample(seed_key(3, RECYCLE, 3, number), 1, 3, 4).inputs)[:, 0].tolist())
        for number in range(2)
    }
    assert {tuple(column) for column in drawn(3).inputs.T.tolist()} == by_hand


def test_lengths_that_share_a_batch() -> None:
    mixed = drawn([2, 3, 4], mixed_lengths=True)
    np.testing.assert_array_equal(mixed.writes, np.resize([3, 4, 5], 64))
    assert len(different(mixed)) == 7
    np.testing.assert_array_equal(mixed.mask.sum(axis=0), mixed.writes)
    assert (mixed.steps, mixed.answer_capacity) == (10, 10)
    apart = [drawn(length) for length in (2, 3, 4)]
    assert different(mixed) == set.union(*map(different, apart))
    assert [batch.answer_capacity for batch in apart] == [5, 5, 5], "of one length, only the answer is read out"


@pytest.mark.thorough
def test_hard_problems_are_part_of_the_set() -> None:
    some, none = (different(drawn(4, recycled_problems=60, hard_share=share)) for share in (0.5, 0.0))
    assert 14 <= len(some) <= 20
    assert 4 < len(some & none) < 16, "half of them are the ordinary ones"


@pytest.mark.parametrize("task", [Programs(train_lengths=Lengths(1, 2)), RepeatCopy(text_size=3)])
def test_other_tasks(task: Task) -> None:
    assert len(different(drawn(2, task=task, recycled_problems=5 * task.train_lengths.count))) == 5


@pytest.mark.thorough
def test_stopped_and_resumed(tiny: Experiment, tmp_path: pathlib.Path) -> None:
    recipe = dataclasses.replace(tiny.recipe, recycled_problems=9, epochs=4)
    experiment = dataclasses.replace(tiny, recipe=recipe, recorded_seeds=0)
    whole, parts = (RunFolder.create(tmp_path / name, experiment, {}) for name in ("whole", "parts"))
    reached = [0]
    train(experiment, whole)
    train(experiment, parts, watch=lambda one: reached.append(one.epoch), stop=lambda: reached[-1] == 2)
    train(experiment, parts, resume=True)
    ours, theirs = (load_learners(folder, experiment, experiment.source())[1] for folder in (parts, whole))
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_set_without_problems_of_some_length() -> None:
    experiment = Experiment("copy", "lstm", LSTM, dataclasses.replace(RECIPE, recycled_problems=2))
    with pytest.raises(LantmError, match="recycled_problems is 2: give at least 3, one for each length from 2 to 4"):
        check_budget(experiment, COPY)
    with pytest.raises(LantmError, match="recycled_problems is 0: give a whole number from 1 to 2147483647, or None"):
        Recipe(recycled_problems=0)
    with pytest.raises(LantmError, match="recycled_problems applies to tasks, not to texts: leave it out"):
        Experiment("text", "lstm", LSTM, RECIPE)


def test_records_from_before_mean_fresh_problems() -> None:
    values = {name: value for name, value in vars(Recipe()).items() if name != "recycled_problems"}
    assert make_record(Recipe, values, "recipe") == Recipe()
