"""A curriculum that follows what has been learnt: when it goes on, what it draws, and that it is saved."""

import dataclasses
import pathlib
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from lantm.errors import LantmError
from lantm.evaluation import Marks
from lantm.paper import make_experiment
from lantm.tasks import Lengths
from lantm.training import Experiment, Recipe, RunFolder, train
from lantm.training.curriculum import Reached

LENGTHS = Lengths(4, 20, stride=2)


def marks(right: list[int], size: list[int]) -> Marks:
    return Marks(jnp.array(right), jnp.array(size), jnp.zeros(len(right), int))


def after(reached: Reached, drawn: list[int], right: list[int], size: list[int], threshold: float = 0.9) -> Reached:
    return reached.after(LENGTHS, jnp.array(drawn), marks(right, size), threshold, step=3)


def at(longest: int, right: float) -> Reached:
    return Reached(jnp.array(longest, jnp.int32), jnp.array(right))


def test_it_starts_with_the_shortest() -> None:
    for step, longest in ((1, 4), (3, 8), (9, 20), (50, 20)):
        assert int(Reached.start(LENGTHS, step).longest) == longest


def test_a_seed_goes_on_when_the_running_share_is_high_enough() -> None:
    """The share of four batches, each with a weight of a quarter, by hand."""
    reached, expected = at(8, 0.0), 0.0
    for right in (5, 10, 9, 10):
        reached = after(reached, [8, 8], [right, 10], [10, 10])
        expected += 0.25 * ((right + 10) / 20 - expected)
        assert float(reached.right) == pytest.approx(expected)
        assert int(reached.longest) == 8
    reached = after(at(8, 0.88), [8], [10], [10])
    assert (int(reached.longest), float(reached.right)) == (14, 0.0), "3 lengths of stride 2, and it begins anew"


def test_nine_perfect_batches_are_the_fewest() -> None:
    reached, batches = at(4, 0.0), 0
    while int(reached.longest) == 4:
        reached, batches = after(reached, [4], [5], [5]), batches + 1
    assert batches == 9


def test_only_problems_of_the_longest_length_count() -> None:
    same = after(at(8, 0.5), [4, 6], [5, 7], [5, 7])
    assert (int(same.longest), float(same.right)) == (8, 0.5)
    half = after(at(8, 0.5), [4, 8], [5, 0], [5, 9])
    assert float(half.right) == pytest.approx(0.375)


def test_the_longest_length_of_the_task_is_the_end() -> None:
    assert int(after(at(18, 1.0), [18], [9], [9]).longest) == 20
    end = after(at(20, 1.0), [20], [9], [9])
    assert (int(end.longest), float(end.right)) == (20, 1.0)


def test_lengths_are_the_longest_or_uniform_up_to_it() -> None:
    keys = jax.random.split(jax.random.key(0), 3000)
    recipe = Recipe(curriculum_threshold=0.9, curriculum_focus=0.4)

    def draw(key: Array) -> Array:
        return recipe.draw_length(LENGTHS, jnp.array(1), key, jnp.array(0), at(10, 0.0))

    lengths, counts = np.unique(jax.jit(jax.vmap(draw))(keys), return_counts=True)
    assert lengths.tolist() == [4, 6, 8, 10]
    np.testing.assert_allclose(counts / 3000, [0.15, 0.15, 0.15, 0.55], atol=0.03)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"curriculum_threshold": 1.5}, "curriculum_threshold"),
        ({"curriculum_threshold": 0.9, "curriculum_step": 0}, "curriculum_step"),
        ({"curriculum_threshold": 0.9, "curriculum": 0.5}, "cannot be combined"),
        ({"curriculum_threshold": 0.9, "schedule": "validation"}, "give another one"),
    ],
)
def test_what_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(LantmError, match=said):
        Recipe(**changes)


def test_a_text_has_none() -> None:
    with pytest.raises(LantmError, match="curriculum_threshold applies to tasks"):
        make_experiment({"task": "text", "schedule": "constant", "curriculum_threshold": 0.3})


@pytest.fixture(scope="module")
def easy(tiny: Experiment) -> Experiment:
    """One symbol right of ten is enough, so that every seed goes on, and some sooner than others."""
    recipe = dataclasses.replace(
        tiny.recipe,
        curriculum_threshold=0.16,
        curriculum_step=1,
        curriculum_focus=0.5,
        batches=6,
        epochs=3,
        learning_rate=0.03,
    )
    return dataclasses.replace(tiny, recipe=recipe, lengths=(1, 6), recorded_seeds=0)


@pytest.mark.thorough
def test_a_training_follows_it_seed_by_seed_and_resumes_where_it_was(easy: Experiment, tmp_path: pathlib.Path) -> None:
    whole = train(easy)
    longest = whole.history.longest
    assert (np.diff(longest, axis=0) >= 0).all()
    assert longest.min() >= 1
    assert longest[-1].max() > longest[0].min(), "some seed has gone on"
    assert len(set(longest.ravel().tolist())) > 2
    np.testing.assert_array_equal(longest[-1], np.asarray(whole.learners.carried.longest))

    folder = RunFolder.create(tmp_path / "run", easy, {})
    stops = iter([False, False, True])
    train(easy, folder, stop=lambda: next(stops))
    resumed = train(easy, folder, resume=True)
    for one, other in zip(jax.tree.leaves(whole.learners), jax.tree.leaves(resumed.learners), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    np.testing.assert_array_equal(resumed.history.longest, longest)
