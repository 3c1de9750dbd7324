"""How often a second draw agrees, counted by hand."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest

from benchmarks.choices import groups, lost, lost_in_training, summary
from lantm.training.learner import Learner


def write(folder: pathlib.Path, name: str, **record: Any) -> None:
    path = folder / "study" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(record))


def test_what_choices_lose(tmp_path: pathlib.Path) -> None:
    row = {"best_seed": 6, "solved": 0, "coarse": 90.0, "final_coarse": 93.0, "coarse_by_seed": [92.5, 90.0]}
    solved = {"best_seed": 5, "solved": 1, "coarse": 99.5, "final_coarse": 80.0, "coarse_by_seed": [99.5, 99.5]}
    experiment = {"first_seed": 5, "recipe": {"select_by": "coarse"}}
    write(tmp_path, "a.json", rows=[row, solved], final=[], experiment=experiment)
    write(tmp_path, "b.json", rows=[row], experiment=experiment)  # of a machine that was not chosen there
    write(tmp_path, "c.json", other=1)
    assert lost(tmp_path) == {
        "best seed": [2.5, 0.0],
        "best seed, some solve it": [0.0],
        "best weights": [3.0, 0.0],
    }


def test_in_short() -> None:
    said = summary([0.0, 0.0, 0.5, 3.5])
    assert (said["choices"], said["agrees"], said["nearly"], said["mean_loss"]) == (4, 50.0, 75.0, 1.0)
    assert said["loss_of_one_in_twenty"] == pytest.approx(3.05)


def test_what_a_training_loses() -> None:
    """Two tests of four seeds with two starts each: seed 1 takes its worse start, the second seed is shown."""
    (experiment,) = groups(1)
    score = np.array([[10, 20, 30, 40, 5, 5, 5, 5], [15, 10, 30, 50, 5, 5, 5, 5]], float)
    empty = dict.fromkeys(Learner._fields)
    learner = Learner(**{**empty, "best_epoch": np.array([20, 10, 10, 10] + 4 * [20])})
    learner = learner._replace(best_score=np.array([9, 1, 99, 98, 0, 0, 0, 0.0]))
    assert lost_in_training(experiment, learner, [10, 20], score) == {
        "best weights": [0, 0, 0, 10, 0, 0, 0, 0],
        "best start": [5, 10, 0, 0],
        "best seed": [0],
        "score": 30,
    }
