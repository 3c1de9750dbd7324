"""What does not fit is refused before anything begins, in a line that says what to lower."""

import dataclasses
import pathlib
from functools import partial

import jax
import jax.numpy as jnp
import pytest

import lantm
from lantm.devices import available_memory
from lantm.errors import LantmError
from lantm.evaluation import budget
from lantm.evaluation.answer import predict
from lantm.evaluation.budget import ANSWERING, LEARNING, model_shapes, run_size
from lantm.paper import preset
from lantm.training import Experiment, check_budget, estimated_hours
from lantm.training.learner import begin, train_batches
from lantm.training.material import ProblemLessons


@pytest.fixture
def small() -> Experiment:
    return preset("copy", "lantm-invnorm", "paper")


@pytest.mark.parametrize(
    ("changes", "needs", "lower"),
    [
        ({"cells": 200_000}, r"\d+ TB of it for 8 machines of 160,055,001,108 parameters", "--cells"),
        (
            {"task": "copy[data_symbols=1000000000]"},
            r"for the problems of a batch|for the tests",
            "symbols of the task",
        ),
        ({"seeds": 1_000_000_000}, r"for 1,000,000,000 machines of 24,858 parameters", "--seeds"),
        ({"starts": 99_999_999}, r"for 799,999,992 machines", "--starts"),
        ({"cells": 9 * 10**15}, r"more than a million TB", "--cells"),
        ({"test_scales": (1, 10**9)}, r"for the tests at length 64,000,000,000", "--test-scales"),
        ({"batch_size": 10**8}, r"for the problems of a batch", "--batch-size"),
        ({"batches": 2**31 - 1, "seeds": 1000}, r"for 1,000 machines", "--seeds"),
    ],
)
def test_what_no_computer_has(changes: dict, needs: str, lower: str, tmp_path: pathlib.Path) -> None:
    changes = {"task": "copy", **changes}
    with pytest.raises(LantmError, match=rf"this training would take .* of memory, and cpu has .*{needs}") as caught:
        lantm.train(changes.pop("task"), folder=tmp_path / "run", **changes)
    assert lower in str(caught.value).rpartition("lower ")[2]
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists(), "nothing was written"


def test_it_depends_on_what_there_is(small: Experiment, monkeypatch: pytest.MonkeyPatch) -> None:
    check_budget(small, small.source())
    monkeypatch.setattr(budget, "available_memory", lambda: 1_000_000)
    with pytest.raises(LantmError, match=r"and cpu has 1 MB: \d+ MB of it for the problems of a batch"):
        check_budget(small, small.source())
    monkeypatch.setattr(budget, "available_memory", lambda: None)
    check_budget(dataclasses.replace(small, seeds=10**9), small.source())


def test_files_that_do_not_fit_on_the_disk(
    small: Experiment, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = dataclasses.replace(small, recipe=dataclasses.replace(small.recipe, epochs=10**9))
    check_budget(long, long.source())
    with pytest.raises(LantmError, match=r"of disk space, .* for recordings; lower --recorded-seeds or --epochs"):
        check_budget(long, long.source(), tmp_path / "run")
    check_budget(dataclasses.replace(long, recorded_seeds=0), long.source(), tmp_path / "run")


def test_scores_at_lengths_that_do_not_fit() -> None:
    with pytest.raises(LantmError, match=r"answering 100,000,000 problems of length 128 would take .* lower the batch"):
        lantm.load("copy").scores(scales=(1, 2), batch_size=10**8)


def test_the_memory_there_is() -> None:
    """As the kernel counts it, which says at least how much there is in all."""
    total = next(line for line in pathlib.Path("/proc/meminfo").read_text().splitlines() if "MemTotal" in line)
    assert 0 < (available_memory() or 0) <= 1024 * int(total.split()[1])


def test_a_long_training_is_known_to_be_one(small: Experiment) -> None:
    hours = estimated_hours(small, small.source())
    assert 0.3 < hours < 1, "8 seeds x 1500 epochs x 10 batches at 20 ms (results/bench-cpu.json) are 0.67 hours"
    longer = dataclasses.replace(small, recipe=dataclasses.replace(small.recipe, epochs=100 * small.recipe.epochs))
    assert estimated_hours(longer, longer.source()) == pytest.approx(100 * hours)


@pytest.mark.thorough  # it compiles; what is refused does not depend on a factor of two
@pytest.mark.parametrize("model", ["lantm-invnorm", "lstm", "ram", "ntm", "tape-rnn", "transformer"])
def test_estimates_are_about_what_the_compiler_plans(model: str) -> None:
    experiment = preset("copy", model, "paper")
    task, recipe = experiment.build_task(), experiment.recipe
    longest = task.train_lengths.largest
    shapes, number = model_shapes(experiment.machine, task.vocabulary), jax.ShapeDtypeStruct((), jnp.int32)
    lessons = ProblemLessons(recipe, task)
    learner = jax.eval_shape(partial(begin, experiment.machine, lessons, task.vocabulary), number)
    learning = jax.jit(partial(train_batches, lessons)).lower(learner, (), number, number, number).compile()
    problems = jax.eval_shape(lambda: task.sample(jax.random.key(0), recipe.batch_size, longest, longest))
    answering = jax.jit(predict).lower(shapes, problems).compile()
    for program, kept in ((learning, LEARNING), (answering, ANSWERING)):
        planned = program.memory_analysis().temp_size_in_bytes
        estimated = run_size(shapes, recipe.batch_size, task.steps(longest), kept)
        assert planned / 2 < estimated < 3 * planned
