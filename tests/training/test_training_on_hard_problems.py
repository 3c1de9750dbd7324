"""Training on hard problems: which share of a batch is hard, and tests on them from the metrics to the page."""

import dataclasses
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.batch import Batch, mixed
from lantm.randomness import HARD, TRAIN, seed_key
from lantm.report.pages.run_report import report_page
from lantm.tasks import Addition, Copy, Lengths, Programs, Task
from lantm.trained import load_run
from lantm.training import Experiment, Recipe, RunFolder, score_rows, train
from lantm.training.material import ProblemLessons

KEY = jax.random.key(5)
COPY = Copy(train_lengths=Lengths(2, 9))
RECIPE = Recipe(epochs=4, batches=2, batch_size=64)


take = jax.jit(ProblemLessons.take, static_argnums=0)


def taken(task: Task, at: int = 0, **changes: object) -> Batch:
    lessons = ProblemLessons(dataclasses.replace(RECIPE, **changes), task)
    return jax.device_get(take(lessons, (), jnp.array(3), jnp.array(1), jnp.array(at), None).problems)


@pytest.mark.parametrize(
    "task", [COPY, Programs(), pytest.param(Addition(train_lengths=Lengths(2, 9)), marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("length", [pytest.param(3, marks=pytest.mark.thorough), jnp.array([2, 3, 4, 2])])
def test_batches_are_mixed_problem_by_problem(task: Task, length: int | jax.Array) -> None:
    one, other = task.sample(KEY, 4, length, 4), task.sample_hard(KEY, 4, length, 4)
    chosen = jnp.array([True, False, False, True])
    both = mixed(chosen, one, other)
    for row in range(4):
        origin = one if chosen[row] else other
        for field in ("inputs", "targets", "mask"):
            np.testing.assert_array_equal(getattr(both, field)[:, row], getattr(origin, field)[:, row])
        assert both.writes[row] == origin.writes[row]
    assert both.steps == max(one.steps, other.steps)
    assert (both.write_capacity, both.answer_capacity) == (one.write_capacity, one.answer_capacity)
    assert both.turn == one.turn


@pytest.mark.parametrize("mixed_lengths", [True, pytest.param(False, marks=pytest.mark.thorough)])
def test_a_share_of_the_problems_is_hard(mixed_lengths: bool) -> None:
    """Those that are not are the very problems that are drawn without hard ones."""
    shares = []
    for at in range(4):
        random = taken(COPY, at, mixed_lengths=mixed_lengths)
        some = taken(COPY, at, hard_share=0.25, mixed_lengths=mixed_lengths)
        every = taken(COPY, at, hard_share=1.0, mixed_lengths=mixed_lengths)
        np.testing.assert_array_equal(some.writes, random.writes, err_msg="all have the same lengths")
        is_random, is_hard = ((some.inputs == other.inputs).all(axis=0) for other in (random, every))
        assert (is_random | is_hard).all()
        shares.append(is_hard.mean())
    assert np.mean(shares) == pytest.approx(0.25, abs=0.1)
    assert len(set(shares)) > 1, "drawn problem by problem"


@pytest.mark.thorough
def test_hard_problems_of_training_are_drawn_by_their_own_keys() -> None:
    every = taken(COPY, hard_share=1.0)
    _, key = jax.random.split(seed_key(3, HARD, TRAIN, 1, 0))
    alone = COPY.sample_hard(key, 64, int(every.writes[0]) - 1, 9)
    np.testing.assert_array_equal(every.inputs, alone.inputs)


@pytest.mark.thorough
def test_a_training_with_hard_problems(tiny: Experiment, trained, tmp_path: pathlib.Path) -> None:
    """Its metrics, history, final scores and page have them; without a share of them training is as before."""
    recipe = dataclasses.replace(tiny.recipe, test_hard_scales=(1,))
    folder = RunFolder.create(tmp_path / "run", dataclasses.replace(tiny, recipe=recipe), {})
    result = train(folder.experiment(), folder)
    np.testing.assert_array_equal(result.learners.model.embedding, trained.result.learners.model.embedding)
    assert list(result.tests) == ["1x", "1x hard", "2x"]
    assert list(result.history.tests) == ["1x", "1x hard", "2x"]
    tested = [row for row in folder.metrics() if row.get("test") == "1x hard"]
    assert [(row["epoch"], row["seed"]) for row in tested] == [
        (epoch, seed) for epoch in (2, 4, 6) for seed in range(4)
    ]
    rows = score_rows(folder.experiment(), result.tests)
    assert [(row["scale"], "kinds" in row) for row in rows] == [("1x", False), ("1x hard", True), ("2x", False)]
    folder.write_summary({"rows": rows})
    assert '"1x hard"' in report_page(load_run(folder))

    recipe = dataclasses.replace(tiny.recipe, hard_share=0.5)
    other = train(dataclasses.replace(tiny, recipe=recipe))
    assert (other.learners.model.embedding != trained.result.learners.model.embedding).any()
