"""Epochs of a training, as the viewer shows them."""

import dataclasses

import jax
import numpy as np

from lantm.evaluation import record
from lantm.machine import LantmConfig
from lantm.randomness import RECORD, seed_key
from lantm.report.pages.training import recorded_training, with_read_weights
from lantm.tasks import make_task


def test_read_weights_follow_from_the_rest() -> None:
    config, task = LantmConfig(cells=5, read_heads=2), make_task("copy")
    model = config.build(task.vocabulary, jax.random.key(0))
    full = record(model, task.sample(jax.random.key(1), 1, 6, 6), 0, True)
    without = dataclasses.replace(full, heads=dataclasses.replace(full.heads, read_weights=None))
    found = with_read_weights(without, config)
    np.testing.assert_allclose(found.heads.read_weights, full.heads.read_weights, atol=1e-6)
    assert with_read_weights(full, config) is full


def test_what_cannot_be_weighed_stays_as_it_is(trained) -> None:
    _, recording = next(iter(trained.folder.recordings(trained.result.source, 0)))
    softmax = LantmConfig(weighting="softmax")
    assert with_read_weights(recording, softmax) is recording, "its temperatures were not recorded"
    alone = dataclasses.replace(recording, heads=None)
    assert with_read_weights(alone, softmax) is alone


def test_epochs_are_chosen_evenly(trained) -> None:
    losses = {row["epoch"]: row["loss"] for row in trained.folder.metrics() if row["seed"] == 1 and "loss" in row}
    everything = recorded_training(trained.machines, 1, 60)
    assert [recorded.epoch for recorded in everything] == [1, 2, 3, 4, 5, 6]
    assert [recorded.loss for recorded in everything] == [losses[epoch] for epoch in range(1, 7)]
    assert all(recorded.recording.heads.read_weights is not None for recorded in everything)
    assert [recorded.epoch for recorded in recorded_training(trained.machines, 1, 3)] == [1, 3, 6]
    assert recorded_training(trained.machines, 1, 0) == []


def test_a_run_without_recordings(trained, copy_of_run) -> None:
    folder = copy_of_run()
    for file in folder.recordings_path.iterdir():
        file.unlink()
    assert recorded_training(dataclasses.replace(trained.machines, folder=folder), 1, 60) == []
    assert recorded_training(trained.machines.best, trained.machines.best.seeds[0], 60) == [], "nor has one machine"


def test_read_weights_of_a_text(trained_text) -> None:
    """What has been forgotten is not read: the window of what is remembered was recorded."""
    (*_, (_, loss, recording)) = recorded_training(trained_text.machines, 4, 2)
    assert loss == trained_text.machines.history.loss[-1, 1]
    assert recording.of_text
    model = jax.tree.map(lambda leaf: leaf[1], trained_text.result.learners.model)
    length = trained_text.experiment.recipe.steps
    batch = trained_text.result.source.sample(seed_key(4, RECORD, 3), 1, length, length)
    full = record(model, batch, 0, True)
    np.testing.assert_array_equal(recording.inputs, full.inputs)
    np.testing.assert_allclose(recording.heads.read_weights, full.heads.read_weights, atol=2e-3)
