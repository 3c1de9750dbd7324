"""Recordings of a training: what they say, and that training does not notice them."""

import dataclasses
import pathlib
from collections.abc import Callable

import jax
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.evaluation import Recording, record
from lantm.machine import LantmConfig, LstmConfig
from lantm.randomness import RECORD, seed_key
from lantm.training import Experiment, Recipe, RunFolder, load_learners, recordings, train
from lantm.weight_files import named_arrays


def flat(recording: Recording) -> list[np.ndarray]:
    arrays = [recording.inputs, recording.expected, recording.predicted]
    if (heads := recording.heads) is not None:
        arrays += [heads.keys, heads.key_gates, heads.action_gates, heads.seen]
        arrays += [] if heads.settled_on is None else [heads.settled_on]
        arrays += [getattr(heads.memories, field.name) for field in dataclasses.fields(heads.memories)]
    return arrays


@pytest.mark.parametrize("seed", [0, 3])
def test_the_last_is_what_the_last_weights_do(trained, seed: int) -> None:
    experiment = trained.experiment
    task = experiment.build_task()
    epoch, found = list(trained.folder.recordings(task, seed))[-1]
    last, learners, _ = load_learners(trained.folder, experiment, task)
    assert epoch == last == 6
    longest = experiment.lengths[1]
    batch = task.sample(seed_key(seed, RECORD, epoch), 1, longest, longest)
    expected = record(jax.tree.map(lambda leaf: leaf[seed], learners.model), batch)
    assert found.inputs.shape == (task.steps(longest),)
    assert found.heads is not None
    for one, another in zip(flat(found), flat(expected), strict=True):
        np.testing.assert_allclose(one, another, rtol=2e-3, atol=1e-5)
    np.testing.assert_allclose(found.heads.keys, expected.heads.keys, rtol=1e-4, atol=1e-5)


def test_every_epoch_has_another_problem_and_another_machine(trained) -> None:
    seen = [recording for _, recording in trained.folder.recordings(trained.result.source, 0)]
    assert len({recording.inputs.tobytes() for recording in seen}) == 6
    assert len({recording.heads.keys.tobytes() for recording in seen}) == 6
    for recording in seen:
        assert recording.expected[:-1].tolist() == recording.inputs[1 : recording.answer_start].tolist(), "copy"


def test_training_does_not_notice(tiny: Experiment, trained, tmp_path: pathlib.Path) -> None:
    """Without recordings the weights are the same bit for bit; there is no folder then, and a word about it."""
    silent = dataclasses.replace(tiny, recorded_seeds=0)
    folder = RunFolder.create(tmp_path / "run", silent, {})
    train(silent, folder)
    task = tiny.source()
    runs = ((trained.folder, tiny), (folder, silent))
    expected, found = (named_arrays(load_learners(*run, task)[1]) for run in runs)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)
    assert not folder.recordings_path.exists()
    with pytest.raises(LantmError, match=r"recordings of no seeds only, not of seed 0: .*--recorded-seeds"):
        list(folder.recordings(folder.experiment().source(), 0))


def test_no_room_to_wait(trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights that may not be set aside are run at once; and some seeds are enough."""
    monkeypatch.setattr(recordings, "_ROOM", 1)
    some = dataclasses.replace(trained.experiment, recorded_seeds=2)
    task, learners = trained.result.source, trained.result.learners
    recorder = recordings.Recorder(some, task, tmp_path)
    recorder.add(5, learners.model, np.arange(some.seeds))
    recorder.add(6, learners.model, np.arange(some.seeds))
    recorder.write()
    assert [(first, last) for first, last, _ in recordings.files(tmp_path)] == [(5, 5), (6, 6)]
    found = dict(recordings.load_recordings(tmp_path, some, task, seed=1))
    expected = dict(trained.folder.recordings(task, 1))
    for one, another in zip(flat(found[6]), flat(expected[6]), strict=True):
        np.testing.assert_array_equal(one, another)
    assert found[5].heads.keys.tobytes() != expected[5].heads.keys.tobytes(), "other weights"
    with pytest.raises(LantmError, match="of seeds 0 to 1 only, not of seed 2"):
        list(recordings.load_recordings(tmp_path, some, task, seed=2))


def test_what_is_set_aside_while_a_file_is_written(
    trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may be ended while it compiles what writes a file: each epoch is then set aside once."""
    experiment, task = trained.experiment, trained.result.source
    models, places = trained.result.learners.model, np.arange(experiment.seeds)

    def end(*_: object) -> None:
        recorder.set_aside(1)
        raise SystemExit

    recorder = recordings.Recorder(experiment, task, tmp_path)
    monkeypatch.setattr(recorder, "_run", end)
    recorder.add(1, models, places)
    with pytest.raises(SystemExit):
        recorder.add(2, models, places)
    resumed = recordings.Recorder(experiment, task, tmp_path)
    resumed.resume(1)
    resumed.add(2, models, places)
    assert [epoch for epoch, _ in recordings.load_recordings(tmp_path, experiment, task, 0)] == [1, 2]


def test_what_is_set_aside_and_was_written_after_all(trained, tmp_path: pathlib.Path) -> None:
    """A process may be ended between a file and the removal of what was set aside: the file is enough."""
    experiment, task = trained.experiment, trained.result.source
    models, places = trained.result.learners.model, np.arange(experiment.seeds)
    recorder = recordings.Recorder(experiment, task, tmp_path)
    recorder.add(1, models, places)
    recorder.set_aside()
    [aside] = tmp_path.iterdir()
    before = aside.read_bytes()
    recorder.write()
    aside.write_bytes(before)
    resumed = recordings.Recorder(experiment, task, tmp_path)
    resumed.resume(1)
    resumed.add(2, models, places)
    resumed.write()
    assert [epoch for epoch, _ in recordings.load_recordings(tmp_path, experiment, task, 0)] == [1, 2]


def test_what_is_beyond_the_checkpoint_is_forgotten(copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    (folder.recordings_path / ".epochs-000007-000008.safetensors.99999999.tmp").write_bytes(b"half")
    (folder.recordings_path / "notes.txt").write_text("mine")
    folder.forget_after(4)
    assert sorted(path.name for path in folder.recordings_path.iterdir()) == [
        "epochs-000001-000002.safetensors",
        "epochs-000003-000004.safetensors",
        "notes.txt",
    ]
    assert [epoch for epoch, _ in folder.recordings(folder.experiment().source(), 0)] == [1, 2, 3, 4]


def test_a_damaged_file(copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    path = folder.recordings_path / "epochs-000003-000004.safetensors"
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(LantmError, match=r"000003-000004\.safetensors is damaged"):
        list(folder.recordings(folder.experiment().source(), 0))


def test_an_lstm_is_recorded_too(tiny: Experiment, tmp_path: pathlib.Path) -> None:
    machine = LstmConfig(layers=1, cells=4, embedding=3)
    experiment = dataclasses.replace(tiny, model="lstm", machine=machine, seeds=1, first_seed=5)
    task = experiment.build_task()
    models = jax.tree.map(lambda leaf: leaf[None], machine.build(task.vocabulary, jax.random.key(0)))
    recorder = recordings.Recorder(experiment, task, tmp_path)
    recorder.add(1, models, np.arange(experiment.seeds))
    recorder.write()
    recorder.write()  # nothing is left to be written
    [(epoch, found)] = recordings.load_recordings(tmp_path, experiment, task, seed=5)
    assert epoch == 1
    assert found.heads is None
    assert found.expected[:-1].tolist() == found.inputs[1:5].tolist()
    assert found.predicted.shape == (5,)


def test_what_heads_settle_on_is_recorded(tiny: Experiment, trained, tmp_path: pathlib.Path) -> None:
    """And the end that is written; other machines have no such field."""
    machine = dataclasses.replace(tiny.machine, settle_reads=True, write_end=True, geometry="rotation", read_heads=2)
    experiment = dataclasses.replace(tiny, machine=machine, seeds=1)
    task = experiment.build_task()
    model = machine.build(task.vocabulary, jax.random.key(1))
    recorder = recordings.Recorder(experiment, task, tmp_path)
    recorder.add(3, jax.tree.map(lambda leaf: leaf[None], model), np.arange(1))
    recorder.write()
    [(_, found)] = recordings.load_recordings(tmp_path, experiment, task, seed=0)
    expected = record(model, task.sample(seed_key(0, RECORD, 3), 1, 4, 4))
    assert found.heads.memories.written_at.tolist() == [-1, 0, 1, 2, 3, 4, 5]
    assert {-1} < set(expected.heads.settled_on.flat), "some settle, and some do not"
    for one, another in zip(flat(found), flat(expected), strict=True):
        np.testing.assert_allclose(one, another, rtol=2e-3, atol=1e-5)
    _, plain = next(trained.folder.recordings(trained.result.source, 0))
    assert plain.heads.settled_on is None


def test_a_run_without_recordings_has_none(copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    for _, _, path in recordings.files(folder.recordings_path):
        path.unlink()
    folder.recordings_path.rmdir()
    assert list(folder.recordings(folder.experiment().source(), 0)) == []


def test_problems_of_different_sizes(tmp_path: pathlib.Path) -> None:
    """Programs of one length are not all as long: each recording is as long as its own."""
    machine = LantmConfig(cells=4, embedding=3, memory_width=3, read_sees_write=True, memory_limit=6, memory_drop=4)
    recipe = Recipe(epochs=6, test_every=6)
    experiment = Experiment("programs", "lantm-invnorm", machine, recipe, seeds=1, lengths=(1, 1))
    task = experiment.build_task()
    models = jax.tree.map(lambda leaf: leaf[None], machine.build(task.vocabulary, jax.random.key(0)))
    recorder = recordings.Recorder(experiment, task, tmp_path)
    for epoch in range(1, 7):
        recorder.add(epoch, models, np.arange(experiment.seeds))
    found = dict(recordings.load_recordings(tmp_path, experiment, task, seed=0))
    assert len({recording.answer_start for recording in found.values()}) > 1
    model = jax.tree.map(lambda leaf: leaf[0], models)
    for epoch, recording in found.items():
        expected = record(model, task.sample(seed_key(0, RECORD, epoch), 1, 1, 1))
        np.testing.assert_array_equal(recording.heads.seen, expected.heads.seen)
        for one, another in zip(flat(recording), flat(expected), strict=True):
            np.testing.assert_allclose(one, another, rtol=2e-3, atol=1e-4)


# Texts.


@pytest.mark.parametrize("seed", [3, 4])
def test_the_last_of_a_text_is_what_the_last_weights_do(trained_text, seed: int) -> None:
    """One piece of the validation text per epoch; the machine writes at every step and guesses at every step."""
    text, folder = trained_text.result.source, trained_text.folder
    found = dict(folder.recordings(text, seed))
    assert list(found) == [1, 2, 3]
    assert len({recording.inputs.tobytes() for recording in found.values()}) > 1
    learners = load_learners(folder, trained_text.experiment, text)[1]
    model = jax.tree.map(lambda leaf: leaf[seed - 3], learners.model)
    expected = record(model, text.sample(seed_key(seed, RECORD, 3), 1, 4, 4))
    assert found[3].answer_start == 0
    assert found[3].steps == 4
    np.testing.assert_array_equal(found[3].inputs[1:], found[3].expected[:-1], "every word is guessed, then read")
    np.testing.assert_array_equal(found[3].heads.seen, expected.heads.seen)
    for one, another in zip(flat(found[3]), flat(expected), strict=True):
        np.testing.assert_allclose(one, another, rtol=2e-3, atol=1e-4)


@pytest.mark.thorough
def test_training_on_a_text_does_not_notice(trained_text, tmp_path: pathlib.Path) -> None:
    silent = dataclasses.replace(trained_text.experiment, recorded_seeds=0)
    folder = RunFolder.create(tmp_path / "run", silent, {})
    result = train(silent, folder)
    expected, found = (named_arrays(one.learners) for one in (trained_text.result, result))
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)
    assert not folder.recordings_path.exists()


@pytest.mark.thorough
def test_a_resumed_training_on_a_text_records_every_epoch_once(trained_text, tmp_path: pathlib.Path) -> None:
    experiment, text = trained_text.experiment, trained_text.result.source
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    epochs: list[int] = []
    train(experiment, folder, watch=lambda progress: epochs.append(progress.epoch), stop=lambda: 2 in epochs)
    train(experiment, folder, resume=True)
    ours, theirs = (list(one.recordings(text, 4)) for one in (folder, trained_text.folder))
    assert [epoch for epoch, _ in ours] == [epoch for epoch, _ in theirs] == [1, 2, 3]
    for (_, one), (_, another) in zip(ours, theirs, strict=True):
        for array, expected in zip(flat(one), flat(another), strict=True):
            np.testing.assert_array_equal(array, expected)
