"""A trained machine with other switches: the same weights, another behaviour, and what it was trained with."""

import pathlib

import jax
import numpy as np
import pytest

import lantm
from lantm.errors import LantmError


def test_a_machine_without_its_settling_loses_its_way() -> None:
    """At 8 times the trained length, where it is right with it."""
    machine = lantm.load("copy")
    lost = lantm.switched(machine, settle_reads=False)
    for before, after in zip(jax.tree.leaves(machine.best_weights), jax.tree.leaves(lost.best_weights), strict=True):
        np.testing.assert_array_equal(before, after)
    text = "the head of this machine walks along its line of memories " * 9
    assert machine.solve(text).answer == text
    assert lost.solve(text).answer != text


def test_what_it_was_trained_with_stays_known(tmp_path: pathlib.Path) -> None:
    machine = lantm.load("copy")
    trained = machine.experiment.machine
    changed = lantm.switched(lantm.switched(machine, settle_cells=0.01), settle_cells=0.02, write_end=False)
    loaded = lantm.load(changed.save(tmp_path / "changed.safetensors"))
    assert loaded.experiment.machine.settle_cells == 0.02
    assert loaded.trained["switches"]["settle_cells"] == trained.settle_cells
    assert loaded.trained["switches"]["write_end"] is True


@pytest.mark.parametrize(
    ("switches", "message"),
    [
        ({"cells": 51}, "do not fit"),
        ({"settling": True}, "no switch 'settling'"),
        ({"settle_cells": -1.0}, "settle_cells is -1"),
        ({"build": 5}, "no switch 'build'"),
        ({"geometry": lantm.Disk()}, r"switched.geometry is Disk\(\), which is not text"),
        ({"cells": 2.5}, "switched.cells is 2.5, which is not a whole number"),
    ],
)
def test_what_cannot_be_switched(switches: dict[str, object], message: str) -> None:
    with pytest.raises(LantmError, match=message):
        lantm.switched(lantm.load("copy"), **switches)


def test_machines_without_a_memory_have_no_switches() -> None:
    with pytest.raises(LantmError, match="no switches"):
        lantm.switched(lantm.load("programs-lstm"), settle_reads=True)
