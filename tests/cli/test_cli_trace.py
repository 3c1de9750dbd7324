"""`lantm trace` and `lantm video` on a run, a machine of the zoo, and what they refuse."""

import dataclasses
import json
import pathlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from PIL import Image

from lantm.cli import video
from lantm.evaluation import record
from lantm.randomness import RECORD, seed_key
from lantm.trained import zoo

FILES = {f"{name}.{suffix}" for name in ("keys", "gates", "answer") for suffix in ("png", "svg")}


def test_the_figures_of_a_random_problem(lantm, trained, tmp_path: pathlib.Path) -> None:
    """What is said of it is what the machine does with that problem."""

    said = lantm("trace", trained.folder.path, "--length", 5, "--seed", 2, "--draw", 3, "--out", tmp_path, "--json")
    assert said.status == 0
    result = json.loads(said.out)
    model = jax.tree.map(lambda leaf: leaf[2], trained.result.learners.best_model)
    expected = record(model, trained.result.source.sample(seed_key(3, RECORD), 1, 5, 5))
    assert result["symbols"] == 6
    assert result["wrong"] == len(expected.wrong)
    assert result["first_mistake"] == expected.first_mistake + 1
    assert (result["seed"], result["problem"]) == (2, "length 5")
    assert {pathlib.Path(path).name for path in result["files"]} == FILES == {p.name for p in tmp_path.iterdir()}


def test_the_figures_of_a_problem_of_one_s_own(lantm, trained, copy_of_run) -> None:
    folder = copy_of_run()
    said = lantm("trace", folder.path, "--input", "abba", "--weights", "last")
    assert said.status == 0
    assert said.out.startswith("copy, given input: ")
    assert "last weights of seed" in said.out
    assert {path.name for path in (folder.path / "figures" / "given-input").iterdir()} == FILES


@pytest.mark.thorough
def test_a_machine_of_the_zoo(lantm, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    said = lantm("trace", "copy", "--length", 8)
    assert said.status == 0
    assert said.out.startswith("copy, length 8: all 9 symbols are right (lantm-invnorm, best weights")
    assert {path.name for path in (tmp_path / "figures" / "copy" / "length-8").iterdir()} == FILES


def test_a_machines_file(lantm, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its figures go below the folder we are in, wherever the file itself lies."""
    here, there = tmp_path / "here", tmp_path / "there" / "of a friend.safetensors"
    here.mkdir()
    there.parent.mkdir()
    there.write_bytes((zoo.SHELF / "copy-lantm-invnorm.safetensors").read_bytes())
    monkeypatch.chdir(here)
    assert lantm("trace", there, "--length", 8).status == 0
    assert {path.name for path in (here / "figures" / "of a friend" / "length-8").iterdir()} == FILES
    assert list(there.parent.iterdir()) == [there]


@pytest.mark.parametrize(
    ("flags", "reason"),
    [
        (["--input", "ab", "--length", "3"], "leave out --length"),
        (["--length", "0"], "no problems of length 0"),
        (["--length", "10000000"], "use up to 1,000,000"),
        (["--draw", "-1"], "draw is -1"),
        (["--seed", "9"], "seed 9"),
        (["--input", "ä"], "no symbol for"),
    ],
)
def test_traces_that_cannot_be(refused, trained, flags: list[str], reason: str) -> None:
    assert reason in refused("trace", trained.folder.path, *flags)


def test_without_matplotlib(refused, trained, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for command in ("trace", "video"):
        assert "pip install matplotlib" in refused(command, trained.folder.path)


# Videos.


def test_a_video(lantm, copy_of_run) -> None:
    folder = copy_of_run()
    said = lantm("video", folder.path)
    assert said.status == 0
    best = [row for row in folder.metrics() if "test" in row]
    assert best
    [film] = folder.path.glob("video-seed-*.gif")
    assert f"6 epochs of seed {film.stem.rpartition('-')[2]}" in said.out
    with Image.open(film) as picture:
        assert picture.n_frames == 6


def test_a_video_of_some_epochs_of_a_seed(lantm, trained, tmp_path: pathlib.Path) -> None:
    out = tmp_path / "film.gif"
    said = lantm("video", trained.folder.path, "--seed", 3, "--every", 4, "--out", out, "--json")
    assert json.loads(said.out) == {"file": str(out), "seed": 3, "frames": 2, "bytes": out.stat().st_size}


def test_the_best_recorded_seed_is_shown(lantm, trained, copy_of_run, tmp_path: pathlib.Path) -> None:
    """By the best test, which chooses the machine that every command shows; of those that were recorded."""
    folder, learners = copy_of_run(), trained.result.learners
    folder.save_checkpoint(6, learners._replace(best_score=jnp.array([1.0, 90.0, 2.0, 3.0])))
    said = lantm("video", folder.path, "--out", tmp_path / "film.gif", "--json")
    assert json.loads(said.out)["seed"] == 1
    two_recorded = dataclasses.replace(trained.experiment, recorded_seeds=2)
    merits = np.array([5.0, 1.0, 90.0, 2.0])
    assert video._best_recorded(dataclasses.replace(trained.machines, experiment=two_recorded, merits=merits)) == 0


def test_videos_that_cannot_be(refused, trained, copy_of_run) -> None:
    folder = copy_of_run()
    assert "neither a .gif nor an .mp4" in refused("video", folder.path, "--out", "film.avi")
    assert "rate one from 1 to 50" in refused("video", folder.path, "--rate", "0")
    assert "not of seed 9" in refused("video", folder.path, "--seed", "9")
    assert "copy is a machine of the zoo, which keeps no training and no recordings" in refused("video", "copy")
    assert "is not a run folder" in refused("video", folder.path / "recordings")
    for path in folder.recordings_path.iterdir():
        path.unlink()
    assert "has no recordings" in refused("video", folder.path)
