"""Whole trainings on a small text: they learn, and stopped and resumed they end the same."""

import contextlib
import dataclasses
import json
import logging
import math
import pathlib
from collections.abc import Callable, Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.devices import device_mesh, over_seeds
from lantm.tasks import Corpus, Text
from lantm.training import Experiment, RunFolder, load_learners, loop, pace, train
from lantm.training.learner import close_epoch, learn_from_test, train_batches
from lantm.training.material import TextMaterial, periodic_draw
from lantm.weight_files import named_arrays

Make = Callable[..., Experiment]


def test_it_learns(trained_text, corpus: Corpus) -> None:
    folder, result = trained_text.folder, trained_text.result
    assert result.complete
    assert result.epoch == 3
    rows = [row for row in folder.metrics() if "test" not in row]
    tests = [row for row in folder.metrics() if "test" in row]
    for kind in (rows, tests):
        assert [(row["epoch"], row["seed"]) for row in kind] == [(e, s) for e in (1, 2, 3) for s in (3, 4)]
    assert {row["test"] for row in tests} == {"validation"}
    assert tests[-1]["perplexity"] < tests[0]["perplexity"] < len(corpus.words)
    assert rows[-1]["loss"] < math.log(5) < rows[0]["loss"]
    # The best weights are those of the best epoch, and the test is theirs.
    best = [min(row["perplexity"] for row in tests if row["seed"] == seed) for seed in (3, 4)]
    assert sorted(result.tests) == ["test", "validation"]
    np.testing.assert_allclose(result.tests["validation"].values, best, atol=0.0006)  # metrics have three digits
    assert result.tests["validation"].tokens == len(corpus.valid)
    assert result.tests["test"].tokens == len(corpus.test)
    assert (result.tests["test"].values < 8).all()
    assert list(folder.path.glob("tensorboard/seed-3/*"))


def test_watchers_are_told(trained_text) -> None:
    told = trained_text.told
    ended = [progress for progress in told if progress.tested]
    assert [progress.epoch for progress in ended] == [1, 2, 3]
    assert all(progress.batch == progress.batches == 21 for progress in ended)
    assert all(progress.report is not None for progress in ended)
    assert all(progress.per_second > 0 for progress in told)
    assert {progress.epoch for progress in told} == {1, 2, 3}
    assert ended[0].loss.shape == ended[0].rate.shape == (2,)
    assert [sorted(progress.tests) for progress in ended] == [["validation"]] * 3


def test_within_an_epoch_watchers_are_told_of_the_words_read_so_far(
    text_experiment: Make, batches_per_call: Callable[[int], None]
) -> None:
    batches_per_call(4)
    told: list[loop.Progress] = []
    train(text_experiment(epochs=1), watch=told.append)
    assert [progress.batch for progress in told] == [4, 8, 12, 16, 20, 21]
    assert [progress.report is None for progress in told] == [True] * 5 + [False]
    first, whole = told[0].loss, told[-1].loss
    assert (whole < first).all(), "it learns"
    np.testing.assert_array_equal(whole, told[-1].report.loss)


@contextlib.contextmanager
def compilations() -> Iterator[list[str]]:
    """What JAX compiles meanwhile."""
    compiled: list[str] = []
    logger = logging.getLogger("jax._src.interpreters.pxla")
    handler = logging.Handler()
    handler.emit = lambda record: compiled.append(record.getMessage())  # type: ignore[method-assign]
    with jax.log_compiles():
        logger.addHandler(handler)
        try:
            yield compiled
        finally:
            logger.removeHandler(handler)


@pytest.mark.parametrize("which", ["trained", "trained_text"])
def test_the_same_training_again_compiles_next_to_nothing(which: str, request: pytest.FixtureRequest) -> None:
    run = request.getfixturevalue(which)
    source = run.experiment.source()
    train(run.experiment, source=source)  # what other tests have compiled may have been let go
    with compilations() as compiled:
        train(run.experiment, source=source)
    assert [line for line in compiled if "jit(compiled)" in line] == []


@pytest.mark.thorough
def test_looking_at_a_training_compiles_nothing(
    text_experiment: Make, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program compiled for every look would be kept: in an hour of training that takes gigabytes."""
    monkeypatch.setattr(pace, "_SECONDS_PER_CALL", 0.0)  # one piece per call: as many looks as there are pieces
    looks: list[int] = []
    experiment = text_experiment(learning_rate=0.09)  # no other test has trained it
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    with compilations() as compiled:
        train(experiment, folder, watch=lambda progress: looks.append(len(compiled)))
    assert len(looks) > 30
    assert looks[0] > 0, "what is compiled is seen"
    assert len(set(looks)) < 6, "some of it at the first look and at the end of the first epoch, then nothing"


def test_epochs_are_whole(trained_text, corpus: Corpus) -> None:
    """Every epoch reads the whole text, from its first piece on, as if by one call."""
    experiment, folder = trained_text.experiment, trained_text.folder
    recipe, mesh = experiment.recipe, device_mesh(experiment.seeds)
    text = Text(corpus, recipe.steps)
    material = TextMaterial(experiment, text)
    learners = loop.start(experiment, text, material, mesh)
    read = over_seeds(partial(train_batches, material.lessons), mesh)
    close = over_seeds(partial(close_epoch, recipe), mesh)
    heed = over_seeds(lambda pair, epoch: learn_from_test(recipe, *pair, epoch), mesh)
    for epoch in (1, 2, 3):
        bounds = (jnp.asarray(number, jnp.int32) for number in (epoch, 0, material.batches))
        learners, _ = close(read(learners, material.data, *bounds), jnp.asarray(material.counts), jnp.asarray(epoch))
        [test] = material.tests(learners.model, learners.seed, periodic_draw(recipe, epoch)).values()
        learners = heed((learners, jnp.asarray(-test.losses, jnp.float32)), jnp.asarray(epoch))
    found = named_arrays(load_learners(folder, experiment, text)[1].model)
    for name, array in named_arrays(learners.model).items():
        np.testing.assert_array_equal(found[name], array, name)


@pytest.mark.parametrize(
    "damaged",
    [pytest.param(False, marks=pytest.mark.thorough), True],
    ids=["from the newest checkpoint", "from the one before it"],
)
def test_stopped_and_resumed(
    trained_text,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    batches_per_call: Callable[[int], None],
    damaged: bool,
) -> None:
    """In the middle of the second epoch; the checkpoint before that is from the middle of the first."""
    experiment, reference = trained_text.experiment, trained_text.folder
    batches_per_call(8)
    monkeypatch.setattr(loop, "_SECONDS_PER_CHECKPOINT", 0.0 if damaged else 60.0)
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    reached: list[tuple[int, int]] = [(0, 0)]
    stopped = train(
        experiment,
        folder,
        watch=lambda progress: reached.append((progress.epoch, progress.batch)),
        stop=lambda: reached[-1] == (2, 8),
    )
    assert (stopped.complete, stopped.epoch, stopped.tests) == (False, 1, {})
    source = stopped.source
    epoch, learners, _ = load_learners(folder, experiment, source)
    assert (epoch, np.asarray(learners.batch).tolist()) == (1, [8, 8]), "nothing that was trained is lost"
    if damaged:
        newest = folder.path / "checkpoints" / "epoch-000001.safetensors"
        newest.write_bytes(newest.read_bytes()[:-7])
        epoch, learners, _ = load_learners(folder, experiment, source)
        assert (epoch, np.asarray(learners.batch).tolist()) == (0, [16, 16])
    warnings: list[str] = []
    result = train(experiment, folder, resume=True, warn=warnings.append)
    assert len(warnings) == damaged
    assert result.complete
    ours, theirs = (named_arrays(load_learners(one, experiment, source)[1]) for one in (folder, reference))
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name], array, f"{name} bit for bit")
    assert (folder.path / "metrics.jsonl").read_bytes() == (reference.path / "metrics.jsonl").read_bytes()
    for label, test in trained_text.result.tests.items():
        np.testing.assert_array_equal(result.tests[label].losses, test.losses)


def test_a_run_that_was_killed_before_its_first_checkpoint(trained_text, tmp_path: pathlib.Path) -> None:
    experiment, reference = trained_text.experiment, trained_text.folder
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    assert train(experiment, folder, stop=lambda: True).epoch == 0
    assert not folder.has_checkpoint()
    train(experiment, folder, resume=True)
    assert (folder.path / "metrics.jsonl").read_bytes() == (reference.path / "metrics.jsonl").read_bytes()


def test_seeds_do_not_touch_each_other(trained_text) -> None:
    others = train(dataclasses.replace(trained_text.experiment, first_seed=4)).tests["test"]
    before = trained_text.result.tests["test"]
    assert others.losses[0] == before.losses[1]
    assert others.losses[1] != before.losses[0]


@pytest.mark.thorough
def test_the_rate_falls_with_validation(text_experiment: Make) -> None:
    history = train(text_experiment("lstm", learning_rate=20.0, epochs=6)).history  # so high that tests go up and down
    tests = history.tests["validation"].figures["perplexity"]
    for seed in range(2):
        rate, expected = 20.0, []
        for epoch, perplexity in enumerate(tests[:, seed]):
            expected.append(rate)
            if epoch and perplexity > tests[epoch - 1, seed]:
                rate *= 0.5
        np.testing.assert_allclose(history.rate[:, seed], expected, rtol=1e-5)
        assert rate < 20, "it fell"


@pytest.mark.thorough
def test_a_run_that_diverges_says_so(text_experiment: Make, tmp_path: pathlib.Path) -> None:
    """Numbers that are none are null in the metrics, and training goes on to its end."""
    experiment = text_experiment(epochs=2, learning_rate=1e38)
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    result = train(experiment, folder)
    rows = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert rows[-3]["skipped"] > 0
    assert rows[-1]["perplexity"] is None or rows[-1]["perplexity"] > 1e6
    assert not any(isinstance(value, float) and math.isnan(value) for row in rows for value in row.values())
    assert result.complete
