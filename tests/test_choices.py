"""How often a second draw agrees, counted by hand."""

import json
import pathlib
from typing import Any

import pytest

from benchmarks.choices import lost, summary


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
