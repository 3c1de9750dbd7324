"""A run that was stopped and resumed ends like one that was not: the same weights, the same metrics."""

import dataclasses
import pathlib
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.training import Experiment, Learner, Progress, Result, RunFolder, load_learners, loop, train
from lantm.weight_files import named_arrays


def stops_after(epochs: int) -> tuple[Callable[[], bool], Callable[[Progress], None]]:
    """A question and a watcher: stop once so many epochs were seen."""
    seen: list[int] = []

    def watch(progress: Progress) -> None:
        if progress.report is not None:
            seen.append(progress.epoch)

    return (lambda: len(seen) >= epochs), watch


def learners_in(folder: RunFolder) -> Learner:
    experiment = folder.experiment()
    return load_learners(folder, experiment, experiment.source())[1]


def assert_same_run(folder: RunFolder, trained) -> None:
    expected, found = (named_arrays(learners_in(one)) for one in (trained.folder, folder))
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, f"{name} bit for bit")
    assert metrics(folder) == metrics(trained.folder)
    assert_same_recordings(folder, trained.folder, seed=2)
    names = [path.name for path in sorted((folder.path / "checkpoints").iterdir())]
    assert names[-1] == "epoch-000006.safetensors"


def assert_same_recordings(folder: RunFolder, other: RunFolder, seed: int) -> None:
    """Every epoch once, with the same in it, however the epochs are shared out over files."""
    task = folder.experiment().source()
    ours, theirs = list(folder.recordings(task, seed)), list(other.recordings(task, seed))
    assert [epoch for epoch, _ in ours] == [epoch for epoch, _ in theirs] == [1, 2, 3, 4, 5, 6]
    for (_, one), (_, another) in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(one.inputs, another.inputs)
        np.testing.assert_array_equal(one.predicted, another.predicted)
        np.testing.assert_array_equal(one.heads.keys, another.heads.keys)


def assert_same_tests(result: Result, other: Result) -> None:
    assert result.tests.keys() == other.tests.keys() == {"1x", "2x"}
    for label, scores in result.tests.items():
        np.testing.assert_array_equal(scores.coarse, other.tests[label].coarse)
        np.testing.assert_array_equal(scores.fine, other.tests[label].fine)
    np.testing.assert_equal(dataclasses.asdict(result.history), dataclasses.asdict(other.history))


def metrics(folder: RunFolder) -> bytes:
    return (folder.path / "metrics.jsonl").read_bytes()


def stopped(experiment: Experiment, path: pathlib.Path, epochs: int) -> RunFolder:
    folder = RunFolder.create(path, experiment, {})
    stop, watch = stops_after(epochs)
    result = train(experiment, folder, stop=stop, watch=watch)
    assert (result.epoch, result.complete, result.tests) == (epochs, False, {})
    return folder


@pytest.mark.parametrize("epochs", [0, 3], ids=["before the first epoch", "between two tests"])
def test_stopped_and_resumed(tiny: Experiment, trained, tmp_path: pathlib.Path, epochs: int) -> None:
    folder = stopped(tiny, tmp_path / "run", epochs)
    assert folder.has_checkpoint() == (epochs > 0)
    if epochs:
        assert load_learners(folder, tiny, tiny.source())[0] == epochs, "nothing that was trained is lost"
    warnings: list[str] = []
    result = train(tiny, folder, resume=True, warn=warnings.append)
    assert result.complete
    assert result.epoch == 6
    assert warnings == []
    assert_same_run(folder, trained)
    assert_same_tests(result, trained.result)


@pytest.mark.parametrize(
    "damaged",
    [pytest.param(False, marks=pytest.mark.thorough), True],
    ids=["from the newest checkpoint", "from the one before it"],
)
def test_stopped_within_an_epoch_and_resumed(
    tiny: Experiment,
    trained,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    batches_per_call: Callable[[int], None],
    damaged: bool,
) -> None:
    """One batch per call, stopped after the first of the two of epoch 4; the checkpoint before is that of epoch 3."""
    batches_per_call(1)
    monkeypatch.setattr(loop, "_SECONDS_PER_CHECKPOINT", 0.0 if damaged else 60.0)
    folder = RunFolder.create(tmp_path / "run", tiny, {})
    reached: list[tuple[int, int]] = [(0, 0)]
    result = train(
        tiny,
        folder,
        watch=lambda progress: reached.append((progress.epoch, progress.batch)),
        stop=lambda: reached[-1] == (4, 1),
    )
    assert reached[1:] == [(epoch, batch) for epoch in (1, 2, 3, 4) for batch in (1, 2)][:-1]
    assert (result.epoch, result.complete) == (3, False)
    learners = learners_in(folder)
    assert np.asarray(learners.batch).tolist() == [1] * 4
    assert np.asarray(learners.losses)[:, 0].all()
    if damaged:
        newest = folder.path / "checkpoints" / "epoch-000003.safetensors"
        newest.write_bytes(newest.read_bytes()[:-7])
    warnings: list[str] = []
    resumed = train(tiny, folder, resume=True, warn=warnings.append)
    assert len(warnings) == damaged
    assert_same_run(folder, trained)
    assert_same_tests(resumed, trained.result)


def test_killed_between_the_lines(tiny: Experiment, trained, copy_of_run: Callable[[], RunFolder]) -> None:
    """The newest checkpoint is cut off, metrics are ahead of the one before it, and the last line is half written."""
    folder = copy_of_run()
    newest = folder.path / "checkpoints" / "epoch-000006.safetensors"
    newest.write_bytes(newest.read_bytes()[:1000])
    with open(folder.path / "metrics.jsonl", "a") as file:
        file.write('{"epoch": 7, "seed": 0, "lo')
    warnings: list[str] = []
    train(tiny, folder, resume=True, warn=warnings.append)
    assert len(warnings) == 1
    assert "epoch-000006.safetensors is damaged" in warnings[0]
    assert_same_run(folder, trained)


def test_a_complete_run_is_not_trained_on(tiny: Experiment, trained, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    seen: list[Progress] = []
    result = train(tiny, folder, resume=True, watch=seen.append)
    assert result.complete
    assert seen == []
    assert_same_run(folder, trained)


def test_a_seed_that_diverges_in_a_run(tiny: Experiment, trained, tmp_path: pathlib.Path) -> None:
    """From epoch 2 on one seed of four is not finite: it is counted in the metrics, the others do not notice."""
    folder = stopped(tiny, tmp_path / "run", 2)
    learners = learners_in(folder)
    bias = learners.model.readout.bias.at[1].set(jnp.nan)
    broken = learners._replace(model=eqx.tree_at(lambda model: model.readout.bias, learners.model, bias))
    folder.save_checkpoint(2, broken)
    result = train(tiny, folder, resume=True)

    ours, theirs = list(folder.metrics()), list(trained.folder.metrics())
    assert [row for row in ours if row["seed"] != 1] == [row for row in theirs if row["seed"] != 1]
    lost = [row for row in ours if row["seed"] == 1 and row["epoch"] > 2 and "test" not in row]
    assert [row["loss"] for row in lost] == [None] * 4
    assert [row["skipped"] for row in lost] == [2, 4, 6, 8]
    for one, other in zip(jax.tree.leaves(result.learners), jax.tree.leaves(trained.result.learners), strict=True):
        np.testing.assert_array_equal(np.asarray(one)[[0, 2, 3]], np.asarray(other)[[0, 2, 3]])
    best = result.learners.best_model.readout.bias[1]
    assert np.isfinite(best).all() or int(result.learners.best_epoch[1]) > 2


def test_a_step_without_a_finite_loss_within_an_epoch(
    tiny: Experiment, tmp_path: pathlib.Path, batches_per_call: Callable[[int], None]
) -> None:
    """The loss that is told is the mean over the other steps, as at the end of an epoch; nan if there are none."""
    batches_per_call(1)
    experiment = dataclasses.replace(tiny, recipe=dataclasses.replace(tiny.recipe, batches=3))
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    told: list[Progress] = []
    train(experiment, folder, watch=told.append, stop=lambda: bool(told))
    learners = learners_in(folder)
    losses = learners.losses.at[1, 0].set(jnp.nan).at[2, :2].set(jnp.inf)
    bias = learners.model.readout.bias.at[2].set(jnp.nan)
    broken = eqx.tree_at(lambda model: model.readout.bias, learners.model, bias)
    folder.save_checkpoint(0, learners._replace(losses=losses, model=broken))
    train(experiment, folder, resume=True, watch=told.append, stop=lambda: len(told) > 1)
    assert (told[1].epoch, told[1].batch) == (1, 2)
    assert np.isfinite(told[1].loss).tolist() == [True, True, False, True]
    assert told[1].loss[1] == learners_in(folder).losses[1, 1]


def test_a_run_that_is_made_longer_ends_like_one_that_was_so_from_the_start(
    trained, tiny: Experiment, tmp_path: pathlib.Path
) -> None:
    shorter = RunFolder.create(tmp_path / "run", tiny.with_epochs(4), {"device": "this"})
    train(shorter.experiment(), shorter)
    shorter.write_summary({"epoch": 4})
    longer = shorter.extend(6)
    assert (longer, shorter.experiment()) == (tiny, tiny)
    assert (shorter.summary(), shorter.provenance()) == ({}, {"device": "this"})
    train(longer, shorter, resume=True)
    assert_same_run(shorter, trained)


def test_a_run_from_given_weights_keeps_them_until_its_first_checkpoint(
    trained, tiny: Experiment, tmp_path: pathlib.Path
) -> None:
    given = trained.machines.model(seed=1)
    stopped = RunFolder.create(tmp_path / "stopped", tiny, {})
    train(tiny, stopped, stop=lambda: True, initial=given)
    whole = RunFolder.create(tmp_path / "whole", tiny, {})
    expected = train(tiny, whole, initial=given)
    found = train(tiny, stopped, resume=True)
    for ours, theirs in zip(jax.tree.leaves(found.learners), jax.tree.leaves(expected.learners), strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert not np.array_equal(expected.learners.model.readout.weight, trained.result.learners.model.readout.weight)
