"""Loading: the same object from a name, a file and a run folder, or one line that says what is wrong."""

import dataclasses
import inspect
import pathlib
import re
import shutil
from collections.abc import Callable
from functools import partial
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from lantm import weight_files
from lantm.errors import DamageWarning, LantmError
from lantm.tasks import Corpus, Text
from lantm.trained import Trained, load, load_file, load_run, zoo
from lantm.training import RunFolder


def test_a_file_is_the_machine_that_was_saved(shelf: pathlib.Path, trained) -> None:
    machine = load(shelf / "copy-lantm-invnorm.safetensors")
    learners = trained.result.learners
    assert machine.name == "copy-lantm-invnorm"
    assert machine.experiment == dataclasses.replace(trained.experiment, seeds=1, first_seed=2)
    assert machine.epoch == int(learners.best_epoch[2])
    assert machine.notes["seed"] == 2
    assert machine.notes["scores"] == []
    assert machine.trained == trained.folder.provenance()
    expected = weight_files.named_arrays(learners.best_model)
    found = weight_files.named_arrays(machine.best_weights)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array[0], expected[name][2], err_msg=name)
    assert (machine.start_seeds.tolist(), list(machine.seeds)) == ([2], [2])


def test_a_run_folder_has_all_seeds(trained) -> None:
    run = load(trained.folder.path)
    assert run.experiment == trained.experiment
    assert (run.epoch, run.complete, list(run.seeds)) == (6, True, [0, 1, 2, 3])
    learners = trained.result.learners
    for weights, expected in ((run.weights(), learners.best_model), (run.weights("last"), learners.model)):
        np.testing.assert_array_equal(weights.readout.weight, expected.readout.weight)
    assert run.best_epochs.tolist() == learners.best_epoch.tolist()
    assert run.history is not None
    np.testing.assert_array_equal(run.history.loss, trained.result.history.loss)


def test_a_run_folder_comes_before_the_zoo(trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert list(load("copy").seeds) != [0, 1, 2, 3]
    shutil.copytree(trained.folder.path, tmp_path / "copy")
    assert list(load("copy").seeds) == [0, 1, 2, 3]


def test_a_damaged_checkpoint_is_passed_over_with_a_warning(copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    newest = max((folder.path / "checkpoints").iterdir())
    newest.write_bytes(newest.read_bytes()[:100])
    with pytest.warns(DamageWarning, match=newest.name):
        run = load_run(folder)
    assert (run.epoch, run.complete) == (4, False)


def test_a_damaged_machine_is_refused(shelf: pathlib.Path) -> None:
    path = shelf / "copy-lantm-invnorm.safetensors"
    whole = path.read_bytes()
    for damaged in (b"", whole[:500], whole[:-1], whole.replace(b"rmsprop", b"adagrad"), whole[:-4] + bytes(4)):
        path.write_bytes(damaged)
        with pytest.raises(LantmError, match=str(path)) as caught:
            load(path)
        assert "\n" not in str(caught.value)


def test_notes_that_are_no_notes(shelf: pathlib.Path) -> None:
    path = shelf / "copy-lantm-invnorm.safetensors"
    for notes, complaint in (
        ([], "not a JSON object"),
        ({}, "not a machine file"),
        ({"experiment": 1}, f"{path}: notes.experiment is 1, which is not a JSON object"),
        ({"experiment": {}}, f"{path}: machine is not a JSON object"),
    ):
        inspect.unwrap(weight_files.save)(path, {"a": jnp.zeros(3)}, notes)  # type: ignore[arg-type]  # unchecked
        with pytest.raises(LantmError, match=complaint):
            load(path)
    with pytest.raises(LantmError, match="there is no file"):
        load_file(shelf / "nothing")


def test_a_checkpoint_is_not_mistaken_for_a_machine(trained) -> None:
    checkpoint = next((trained.folder.path / "checkpoints").glob("*.safetensors"))
    with pytest.raises(LantmError, match="not a machine file: for a checkpoint, give the run folder it is in"):
        load(checkpoint)


# Texts.


def test_a_file_of_a_text_machine_needs_no_text(
    reader: Trained, corpus: Corpus, text_folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """It holds the words, so that it reads and answers; to be scored it has to be given the text."""
    path = reader.save(tmp_path / "words.safetensors")
    assert str(text_folder).encode() not in path.read_bytes()
    machine = load(path)
    assert isinstance(machine.source, Text)
    assert machine.source.corpus.words == corpus.words
    assert machine.solve("the head reads its key") == reader.best.solve("the head reads its key")
    np.testing.assert_array_equal(
        machine.trace("the head").predicted, reader.trace("the head", seed=reader.best.seeds[0]).predicted
    )
    with pytest.raises(LantmError, match="--data"):
        machine.scores()
    with pytest.raises(LantmError, match="--data"):
        machine.problem()


def test_with_its_text_it_is_scored(reader: Trained, text_folder: pathlib.Path, tmp_path: pathlib.Path) -> None:
    path = reader.save(tmp_path / "words.safetensors", seed=4)
    elsewhere = shutil.copytree(text_folder, tmp_path / "elsewhere")
    scores, of_run = load(path, data=elsewhere).scores(), reader.scores()
    for part in ("validation", "test"):
        np.testing.assert_array_equal(scores[part].losses, of_run[part].losses[1:])  # type: ignore[attr-defined]
    (elsewhere / "tiny.test.txt").write_text("the head\n" * 30)
    with pytest.raises(LantmError, match="not the one that was trained on"):
        load(path, data=elsewhere)


def test_a_run_on_a_text_that_is_gone(reader: Trained, tmp_path: pathlib.Path, text_folder: pathlib.Path) -> None:
    assert reader.folder is not None
    folder = RunFolder(shutil.copytree(reader.folder.path, tmp_path / "run"))
    file = folder.path / "experiment.json"
    file.write_text(file.read_text().replace(str(text_folder.resolve()), "nowhere"))
    with pytest.raises(LantmError, match="there is no folder nowhere"):
        load(folder.path)
    run = load(folder.path, data=text_folder)
    assert run.experiment.seeds == 2
    np.testing.assert_array_equal(run.best_weights.readout.weight, reader.best_weights.readout.weight)


def test_a_zoo_name_of_a_text(reader: Trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reader.save(tmp_path / "text-lantm-invnorm.safetensors")
    monkeypatch.setattr(zoo, "find", partial(zoo.find, shelf=tmp_path))
    assert load("text").solve("the head reads its key").answer == reader.solve("the head reads its key").answer


@pytest.mark.parametrize(
    ("notes", "said"),
    [
        ({"scores": [{"coarse": 101.0}]}, "a row has invalid scores: 101"),
        ({"experiment": {"task": "nothing"}}, "unknown task 'nothing'"),
        ({"trained": {"switches": 5}}, "notes.trained.switches is 5"),
    ],
)
def test_a_refusal_names_the_file(shelf: pathlib.Path, notes: dict[str, Any], said: str) -> None:
    """Of a folder with many, one is to be restored."""
    path = shelf / "copy-lantm-invnorm.safetensors"
    stored = weight_files.read_notes(path)
    if "scores" in notes:
        notes = {"scores": [zoo_row() | notes["scores"][0]]}
    if "experiment" in notes:
        notes = {"experiment": stored["experiment"] | notes["experiment"]}
    weight_files.save(path, load_file(path).model(), stored | notes)
    with pytest.raises(LantmError, match=f"{re.escape(str(path))}: {said}"):
        load_file(path)


def zoo_row() -> dict[str, Any]:
    return dict(load("copy").notes["scores"][0])


def test_an_empty_name_is_shown() -> None:
    with pytest.raises(LantmError, match=r"^'' is not a run folder"):
        load("")
