"""The sweep file: all of it understood, or refused in one line before anything starts."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from lantm.errors import LantmError
from lantm.grids import Sweep, read_sweep
from lantm.grids.sweep import LARGEST_FILE
from lantm.machine import LantmConfig, LstmConfig

WriteFile = Callable[..., pathlib.Path]

EXAMPLE = """
seeds = 2
scales = [1, 4]
problems = 64

[experiment]
recipe = "robust"
epochs = 7

[[grid]]
task = ["copy", "reverse"]
geometry = ["translation", "disk"]
learning_rate = [0.01, 0.5]

[[grid]]
task = ["copy"]
model = ["lstm"]
lengths = [[2, 8], [2, 16]]
seeds = [5]
"""


def test_every_combination_is_a_point(sweep_file: WriteFile) -> None:
    sweep = read_sweep(sweep_file(EXAMPLE))
    points = sweep.points()
    assert len(points) == 2 * 2 * 2 * 2 + 2
    assert len({point.name for point in points}) == len(points)
    first, last = points[0], points[-1]
    assert isinstance(first.experiment.machine, LantmConfig)
    assert first.experiment.machine.read_heads == 2, "the recipe's preset is where settings begin"
    assert (first.experiment.recipe.epochs, first.experiment.seeds, first.seed) == (7, 1, 0)
    assert (first.scoring.scales, first.scoring.problems) == ((1, 4), 64)
    assert isinstance(last.experiment.machine, LstmConfig)
    assert (last.experiment.lengths, last.seed, last.experiment.recipe_name) == ((2, 16), 5, "robust")
    found = {
        (p.experiment.task, getattr(p.experiment.machine, "geometry", ""), p.experiment.recipe.learning_rate, p.seed)
        for p in points[:16]
    }
    assert found == {
        (task, geometry, rate, seed)
        for task in ("copy", "reverse")
        for geometry in ("translation", "disk")
        for rate in (0.01, 0.5)
        for seed in (0, 1)
    }


def test_json_says_the_same(sweep_file: WriteFile) -> None:
    toml = read_sweep(sweep_file(EXAMPLE))
    again = read_sweep(sweep_file(json.dumps(toml.to_json()), "sweep.json"))
    assert again == toml
    assert again.points() == toml.points()


def test_a_point_that_is_named_twice_is_one_point() -> None:
    sweep = Sweep.from_json({"seeds": [1, 1, 2], "grid": [{"task": ["copy", "copy"]}, {"task": ["copy"]}]})
    assert [point.seed for point in sweep.points()] == [1, 2]


def test_without_a_grid_the_seeds_are_the_points() -> None:
    points = Sweep.from_json({"experiment": {"task": "copy"}, "seeds": 3}).points()
    assert [point.seed for point in points] == [0, 1, 2]


def test_a_name_depends_on_what_was_set_and_on_nothing_else() -> None:
    def name(experiment: dict[str, Any], **others: Any) -> str:
        return Sweep.from_json({"experiment": experiment, "seeds": 1, **others}).points()[0].name

    plain = name({"task": "copy"})
    assert plain == name({"task": "copy", "cells": 50, "epochs": 1500}, pack=3), "defaults that are written out"
    assert name({"task": "copy", "epochs": 1000}) == "copy-lantm-invnorm-s0-d60d69c1794d", "names of old records stay"
    assert len({plain, name({"task": "copy", "cells": 51}), name({"task": "copy"}, problems=5)}) == 3


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "there is no task"),
        ([], "not a JSON object"),
        ({"sedes": 3}, "no field 'sedes'"),
        ({"seeds": 0}, "seeds is 0"),
        ({"seeds": "many"}, "seeds is 'many'"),
        ({"seeds": [-1]}, "seeds is"),
        ({"seeds": True}, "true|True"),
        ({"scales": []}, "scales are"),
        ({"scales": [1, 1]}, "each once"),
        ({"problems": 0}, "problems is 0"),
        ({"pack": 0}, "pack is 0"),
        ({"experiment": 3}, "experiment is 3"),
        ({"grid": 3}, "grid is 3"),
        ({"grid": [3]}, "grid is 3"),
        ({"grid": {"task": "copy"}}, "grid.task is 'copy': give a list"),
        ({"grid": {"task": []}}, "at least one"),
        ({"grid": {"task": ["cpoy"]}}, r"unknown task 'cpoy'.*\(at task = 'cpoy'\)"),
        ({"grid": {"task": [5]}}, "task is 5"),
        ({"grid": {"task": ["copy"], "model": ["gru"]}}, "unknown model 'gru'"),
        ({"grid": {"task": ["copy"], "recipe": ["cake"]}}, "unknown recipe"),
        ({"grid": {"task": ["copy"], "model": ["lstm"], "geometry": ["disk"]}}, "lstm has no setting 'geometry'"),
        ({"grid": {"task": ["copy"], "geometry": ["flat"]}}, "unknown geometry 'flat'"),
        ({"grid": {"task": ["copy"], "cells": [1.5]}}, "cells is 1.5"),
        ({"grid": {"task": ["copy"], "learning_rate": [0.1, -1]}}, r"learning_rate is -1.*learning_rate = -1\)"),
        ({"grid": {"task": ["copy"], "learning_rate": [float("nan")]}}, "learning_rate"),
        ({"grid": {"task": ["copy"], "lengths": [[4, 2]]}}, "no lengths from 4 to 2"),
        ({"scales": [0], "grid": {"task": ["copy"]}}, "scale 0"),
        ({"scales": [10**7], "grid": {"task": ["copy"]}}, "up to 1,000,000"),
        ({"grid": {"task": ["copy"], "first_seed": [1]}}, "no setting 'first_seed'"),
        ({"experiment": {"task": "copy", "seeds": 3}}, "no setting 'seeds'"),
        ({"experiment": {"task": "copy", "recorded_seeds": 3}}, "no setting 'recorded_seeds'"),
        ({"grid": {"task": ["copy"] * 400, "cells": [5] * 400}}, "1,280,000 points"),
    ],
)
def test_what_does_not_fit_is_said_in_one_line(values: Any, words: str) -> None:
    with pytest.raises(LantmError, match=words) as caught:
        Sweep.from_json(values).points()
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 2000


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("sweep.yaml", "", "end in .toml or .json"),
        ("sweep.toml", "a = [", "cannot be read"),
        ("sweep.toml", "seeds = 1979-05-27", "seeds is '1979-05-27'"),
        ("sweep.json", "{" * 100_000, "cannot be read"),
        ("sweep.json", "9" * 10_000, "cannot be read"),
        ("sweep.json", " " * (LARGEST_FILE + 1), "has at most"),
    ],
)
def test_files_that_are_none(sweep_file: WriteFile, name: str, text: str, words: str) -> None:
    with pytest.raises(LantmError, match=words):
        read_sweep(sweep_file(text, name))


def test_no_file(tmp_path: pathlib.Path) -> None:
    with pytest.raises(LantmError, match="there is no file"):
        read_sweep(tmp_path / "sweep.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(LantmError, match="is a folder, not a file"):
        read_sweep(tmp_path / "folder.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(LantmError, match="cannot be read"):
        read_sweep(tmp_path / "bytes.toml")
