"""A checkpoint belongs to an experiment, and is not continued as another."""

import json
import pathlib
import shutil
from collections.abc import Callable

import numpy as np
import pytest

from lantm import weight_files
from lantm.errors import DamageWarning, LantmError
from lantm.trained import initial_weights, load_file, load_run
from lantm.training import Experiment, RunFolder, load_learners
from lantm.training.origin import check_origin, origin


def edit(folder: RunFolder, change: Callable[[dict], None]) -> None:
    path = folder.path / "experiment.json"
    values = json.loads(path.read_text())
    change(values["experiment"])
    path.write_text(json.dumps(values))


@pytest.mark.parametrize(
    ("part", "field", "value", "said"),
    [
        ("recipe", "batch_size", 8, "recipe.batch_size was 4 and is now 8"),
        ("recipe", "epochs", 5, "recipe.epochs was 6 and is now 5"),
        ("machine", "cells", 7, "machine.cells was 6 and is now 7"),
        (None, "seeds", 5, "seeds was 4 and is now 5"),
        (None, "task", "reverse", "task was 'copy' and is now 'reverse'"),
        (None, "lengths", [2, 6], r"lengths was \(2, 4\) and is now \(2, 6\)"),
    ],
)
def test_an_experiment_that_was_edited(copy_of_run, part: str | None, field: str, value: object, said: str) -> None:
    folder = copy_of_run()
    edit(folder, lambda values: (values if part is None else values[part]).update({field: value}))
    with pytest.raises(LantmError, match=f"has a checkpoint of another experiment: {said}"):
        load_run(folder)


def test_long_values_are_cut(copy_of_run) -> None:
    folder = copy_of_run()
    edit(folder, lambda values: values["recipe"].update(test_scales=list(range(1, 101))))
    with pytest.raises(
        LantmError, match=r"test_scales was \(1, 2\) and is now \(1, 2, 3, 4, 5, 6, \.\.\.\); undo that"
    ):
        load_run(folder)


def test_the_command_says_what_differs(lantm, copy_of_run) -> None:
    folder = copy_of_run()
    edit(folder, lambda values: values["recipe"].update(batch_size=8, decay=0.5, clip=1.0, noise=0.5))
    said = lantm("train", "--resume", folder.path)
    assert (said.status, said.out, said.err.count("\n")) == (2, "", 1)
    assert "recipe.decay was 0.95 and is now 0.5" in said.err
    assert "and 1 more; undo that, or train in another folder" in said.err


def test_a_source_that_has_changed(trained) -> None:
    """The module of a task of one's own may be another by now."""
    experiment, source = trained.experiment, trained.experiment.source()
    notes = json.loads(json.dumps(origin(experiment, source)))
    check_origin(notes, experiment, source, pathlib.Path("run"))
    notes["source"]["vocabulary"] = 5
    with pytest.raises(LantmError, match=f"the source's vocabulary was 5 and is now {source.vocabulary}"):
        check_origin(notes, experiment, source, pathlib.Path("run"))


def test_another_text(trained_text) -> None:
    experiment, source = trained_text.experiment, trained_text.experiment.source()
    notes = origin(experiment, source)
    assert str(experiment.text.folder) not in json.dumps(notes), "where a text was does not matter"
    notes["source"]["text"] = "0" * 64
    with pytest.raises(LantmError, match="the source's text was '0000"):
        check_origin(notes, experiment, source, pathlib.Path("run"))


def test_checkpoints_of_earlier_versions_are_continued(copy_of_run, trained) -> None:
    folder = copy_of_run()
    for path in (folder.path / "checkpoints").iterdir():
        arrays = weight_files.safetensors.numpy.load_file(path)
        weight_files.save(path, arrays, {"epoch": weight_files.read_notes(path)["epoch"]})
    epoch, _, warnings = load_learners(folder, trained.experiment, trained.experiment.source())
    assert (epoch, warnings) == (6, [])


def test_weights_that_are_not_finite_are_named(copy_of_run, trained, tmp_path: pathlib.Path) -> None:
    folder = copy_of_run()
    path = folder.path / "checkpoints" / "epoch-000006.safetensors"
    arrays = {name: np.array(array) for name, array in weight_files.safetensors.numpy.load_file(path).items()}
    arrays["best_model.readout.bias"][1] = np.nan
    weight_files.save(path, arrays, weight_files.read_notes(path))
    with pytest.warns(DamageWarning, match="the best weights of seed 1 are not finite"):
        run = load_run(folder)
    with pytest.raises(LantmError, match="the weights of seed 1 are not finite: save another seed"):
        run.save(tmp_path / "spoilt.safetensors", seed=1)
    with pytest.raises(LantmError, match="weights that are not finite: start from another machine"):
        initial_weights(run.seed(1), trained.experiment, run.source)
    file = trained.machines.save(tmp_path / "good.safetensors")
    arrays = {
        name: np.full_like(array, np.nan) for name, array in weight_files.safetensors.numpy.load_file(file).items()
    }
    weight_files.save(file, arrays, weight_files.read_notes(file))
    with pytest.raises(LantmError, match="weights that are not finite, and cannot answer"):
        load_file(file)


def test_a_checkpoint_that_stands_where_there_is_nothing(copy_of_run, trained) -> None:
    folder = copy_of_run()
    shutil.rmtree(folder.recordings_path)
    path = folder.path / "checkpoints" / "epoch-000006.safetensors"
    arrays = {name: np.array(array) for name, array in weight_files.safetensors.numpy.load_file(path).items()}
    arrays["batch"][:] = 77
    weight_files.save(path, arrays, weight_files.read_notes(path))
    with pytest.raises(LantmError, match=r"it is at batch \[77, 77, 77, 77\] of 2"):
        load_run(folder)


def test_every_checkpoint_says_what_it_belongs_to(trained) -> None:
    for path in (trained.folder.path / "checkpoints").iterdir():
        notes = weight_files.read_notes(path)
        assert Experiment.from_json(notes["experiment"]) == trained.experiment
