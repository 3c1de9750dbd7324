"""Packing: which points share a program, and that nothing of a point is lost by it."""

import json
import pathlib
from typing import Any

import numpy as np
import pytest
from tiny_sweeps import TINY

from lantm.errors import LantmError
from lantm.grids import Group, Sweep, pack
from lantm.training import Experiment, Member, RunFolder, train
from lantm.weight_files import named_arrays


def groups(largest: int = 32, **values: Any) -> list[Group]:
    return pack(Sweep.from_json(values).points(), largest)


def test_seeds_and_rates_share_a_program_and_nothing_else_does() -> None:
    grid = {"task": ["copy", "reverse"], "learning_rate": [0.01, 0.02], "cells": [5, 6]}
    found = groups(seeds=3, grid=grid)
    assert [group.experiment.seeds for group in found] == [6] * 4
    assert {(group.experiment.task, group.experiment.machine.cells) for group in found} == {
        (task, cells) for task in ("copy", "reverse") for cells in (5, 6)
    }


def test_the_points_of_the_groups_are_the_points() -> None:
    sweep = Sweep.from_json({"seeds": [3, 4, 9], "grid": {"task": ["copy"], "learning_rate": [0.3, 0.1]}})
    points = sweep.points()
    for largest in (1, 2, 4, 5, 100):
        found = pack(points, largest)
        assert [point for group in found for point in group.points] == points
        assert max(group.experiment.seeds for group in found) <= largest
        assert len({group.run_name for group in found}) == len(found)


def test_what_one_command_would_train_is_an_ordinary_run() -> None:
    (group,) = groups(seeds=[4, 5, 6], experiment={"task": "copy"})
    assert (group.experiment.first_seed, group.experiment.seeds, group.experiment.members) == (4, 3, ())


def test_groups_of_one_program_are_of_one_size() -> None:
    assert [group.experiment.seeds for group in groups(32, seeds=40, experiment={"task": "copy"})] == [20, 20]


def test_a_group_as_text() -> None:
    for group in groups(seeds=2, grid={"task": ["copy"], "learning_rate": [0.1, 0.2]}):
        assert Group.from_json(json.loads(json.dumps(group.to_json()))) == group


@pytest.mark.thorough
def test_machines_with_rates_of_their_own_learn_as_they_would_alone(tmp_path: pathlib.Path) -> None:
    """The member with the third rate and the second seed is the machine that is trained alone by these."""
    (group,) = groups(**{**TINY, "grid": {"task": ["copy"], "learning_rate": [0.01, 0.02, 0.05]}})
    together = train(group.experiment, RunFolder.create(tmp_path / "together", group.experiment, {}))
    point = group.points[5]
    assert (point.seed, point.experiment.recipe.learning_rate) == (1, 0.05)
    alone = train(point.experiment, RunFolder.create(tmp_path / "alone", point.experiment, {}))
    packed = named_arrays(together.learners)
    for name, array in named_arrays(alone.learners).items():
        if name != "rate_scale":
            np.testing.assert_allclose(packed[name][5], array[0], rtol=1e-2, atol=1e-3, err_msg=name)
    assert not np.allclose(packed["model.readout.weight"][5], packed["model.readout.weight"][3], atol=1e-2)
    rates = [row["rate"] for row in RunFolder(tmp_path / "together").metrics() if row["epoch"] == 1 and "rate" in row]
    np.testing.assert_allclose(rates, [0.01, 0.01, 0.02, 0.02, 0.05, 0.05], rtol=1e-6)


def test_members_are_checked(tiny: Experiment) -> None:
    values = {**tiny.to_json(), "members": [{"seed": 0, "learning_rate": 0.1}]}
    with pytest.raises(LantmError, match="1 members: give as many seeds"):
        Experiment.from_json(values)
    with pytest.raises(LantmError, match="lacks the field 'learning_rate'"):
        Experiment.from_json({**values, "members": [{"seed": 0}]})
    with pytest.raises(LantmError, match="learning_rate of a member is 0"):
        Member(0, 0.0)
    with pytest.raises(LantmError, match="seed of a member is -1"):
        Member(-1, 1.0)
