"""The zoo: machines that come back as they were put in, or are refused; and those that ship."""

import dataclasses
import json
import pathlib

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm import zoo
from lantm.errors import LantmError
from lantm.evaluation import Examiner
from lantm.experiments import promote
from lantm.seeds import EVALUATE
from lantm.training import RunFolder, checkpoint, load_learners


@pytest.fixture
def shelf(trained, tmp_path: pathlib.Path) -> pathlib.Path:
    """A shelf with the third seed of the small run."""
    learners = load_learners(trained.folder)[3]
    model = jax.tree.map(lambda leaf: leaf[2], learners.best_model)
    zoo.save(trained.experiment, 2, model, {"epoch": 4, "trained": {"jax": "0"}, "scores": []}, shelf=tmp_path)
    return tmp_path


def test_round_trip(shelf: pathlib.Path, trained) -> None:
    assert zoo.names(shelf) == ["copy-lantm-invnorm"]
    shipped = zoo.load("copy", shelf)
    assert shipped.name == "copy-lantm-invnorm"
    assert shipped.experiment == dataclasses.replace(trained.experiment, seeds=1, first_seed=2)
    assert (shipped.epoch, shipped.trained, shipped.scores) == (4, {"jax": "0"}, [])
    expected = load_learners(trained.folder)[3].best_model.readout.weight[2]
    np.testing.assert_array_equal(shipped.model.readout.weight, expected)
    np.testing.assert_array_equal(shipped.models.readout.weight[0], expected)
    assert shipped.seeds.tolist() == [2]


def test_names(shelf: pathlib.Path) -> None:
    softmax = (shelf / "copy-lantm-invnorm.safetensors").rename(shelf / "copy-lantm-softmax.safetensors")
    assert zoo.find("copy", shelf) == "copy-lantm-softmax"
    (shelf / "copy-lantm-invnorm.safetensors").write_bytes(softmax.read_bytes())
    assert zoo.find("copy", shelf) == "copy-lantm-invnorm", "it comes first"
    assert zoo.find("copy-lantm-softmax", shelf) == "copy-lantm-softmax"
    assert zoo.find("reverse", shelf) is None
    with pytest.raises(LantmError, match="no machine 'reverse': it has copy-lantm-invnorm, copy-lantm-softmax;"):
        zoo.load("reverse", shelf)
    with pytest.raises(LantmError, match="it has none"):
        zoo.load("reverse", shelf / "nowhere")


@pytest.mark.parametrize("name", ["../copy", "a/b", "a b", "."])
def test_a_name_is_no_path(shelf: pathlib.Path, trained, name: str) -> None:
    model = zoo.load("copy", shelf).model
    with pytest.raises(LantmError, match="cannot be the name of a machine"):
        zoo.save(trained.experiment, 0, model, {}, name, shelf)
    assert zoo.names(shelf) == ["copy-lantm-invnorm"]


def test_a_damaged_machine_is_refused(shelf: pathlib.Path) -> None:
    path = shelf / "copy-lantm-invnorm.safetensors"
    whole = path.read_bytes()
    for damaged in (b"", whole[:500], whole[:-1], whole.replace(b"rmsprop", b"adagrad"), whole[:-4] + bytes(4)):
        path.write_bytes(damaged)
        with pytest.raises(LantmError, match=str(path)) as caught:
            zoo.load("copy", shelf)
        assert "\n" not in str(caught.value)


def test_notes_that_are_no_notes(shelf: pathlib.Path) -> None:
    path = shelf / "copy-lantm-invnorm.safetensors"
    for notes, complaint in (
        ([], "not a JSON object"),
        ({}, "no machine by itself"),
        ({"experiment": 1}, "experiment is not a JSON object"),
    ):
        checkpoint.save(path, {"a": jnp.zeros(3)}, notes)  # type: ignore[arg-type]
        with pytest.raises(LantmError, match=complaint):
            zoo.load("copy", shelf)
    with pytest.raises(LantmError, match="there is no file"):
        checkpoint.read_notes(shelf / "nothing")


def test_the_best_seed_is_promoted_with_its_scores(trained, tmp_path: pathlib.Path) -> None:
    shipped = promote(trained.folder, scales=(1, 2), problems=64, shelf=tmp_path)
    _, task, _, learners, _ = load_learners(trained.folder)
    examiner = Examiner(task, 8, 4)
    lengths = [task.lengths_at(scale) for scale in (1, 2)]
    choosing = [examiner(learners.best_model, learners.seed, one, 2, EVALUATE, 0) for one in lengths]
    best = int(np.argmax(sum(scores.coarse + 0.01 * scores.fine for scores in choosing)))
    assert shipped.experiment.first_seed == best
    assert shipped.epoch == int(learners.best_epoch[best])
    reported = [examiner(learners.best_model, learners.seed, one, 2, EVALUATE, 1) for one in lengths]
    assert [row["fine"] for row in shipped.scores] == [round(float(scores.fine[best]), 2) for scores in reported]
    assert {row["best_seed"] for row in shipped.scores} == {best}
    assert shipped.notes["scored"]["jax"] == jax.__version__
    assert json.dumps(shipped.notes)

    other = promote(trained.folder, seed=3, name="mine", scales=(1, 2), problems=32, shelf=tmp_path)
    assert (other.name, other.experiment.first_seed) == ("mine", 3)
    np.testing.assert_array_equal(other.model.embedding, learners.best_model.embedding[3])
    with pytest.raises(LantmError, match="no seed 4"):
        promote(RunFolder(trained.folder.path), seed=4, shelf=tmp_path)


@pytest.mark.parametrize("name", zoo.names())
def test_every_machine_that_ships_is_whole_and_says_where_it_comes_from(name: str) -> None:
    shipped = zoo.load(name)
    assert name == zoo.zoo_name(shipped.experiment)
    assert {row["scale"] for row in shipped.scores} >= {f"{scale}x" for scale in shipped.task.usual_scales}
    for origin in (shipped.trained, shipped.notes["scored"]):
        assert origin.keys() >= {"lantm", "jax", "device", "date", "commit"}
    assert (zoo.SHELF / f"{name}.safetensors").stat().st_size < 1_000_000


def test_some_ship() -> None:
    assert zoo.find("copy") is not None
