"""The figures of docs/exact.md: what is measured of machines whose weights are known, and what is drawn of it."""

import pathlib
from typing import Any

import equinox as eqx
import hand_made
import numpy as np
import pytest
from drawn import Drawing, assert_same_picture
from written_results import ROOT

from examples.copy_by_hand import SURE
from lantm.machine import Lantm
from lantm.report.figures.canvas import style
from lantm.trained import load

FREE = 20  # a cell that the machine made by hand does not use


@pytest.fixture
def figures(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(ROOT / "tools")
    import exact_figures

    return exact_figures


def forgetful(forget: float) -> Lantm:
    """Copies, and adds the first sign of every symbol to a cell that keeps this share of itself in a step."""
    model = hand_made.exact()
    cells = model.config.cells
    inputs = model.layer.controller.inputs
    bias = inputs.bias.at[cells + FREE].set(np.log(forget / (1 - forget)))
    weight = inputs.weight.at[0, 3 * cells + FREE].set(SURE)
    where = lambda one: (one.layer.controller.inputs.bias, one.layer.controller.inputs.weight)  # noqa: E731
    return eqx.tree_at(where, model, (bias, weight))


def test_cells_over_time(figures: Any) -> None:
    """A cell that keeps everything counts: symbols whose first sign is + up, the others down."""
    machine = hand_made.trained(forgetful(1 - 1e-7))
    found = figures.counted(machine, scale=1)
    batch = machine.problem(64)
    signs = np.where(np.asarray(batch.inputs[:, 0]) & 1, 1, -1)
    assert (found["length"], found["answer_start"]) == (64, 65)
    expected = np.cumsum(signs)[found["steps"]]
    assert any(np.allclose(cell, expected, atol=0.01) for cell in found["cells"])
    assert found["largest"] == pytest.approx(np.abs(np.cumsum(signs)[: int(batch.steps)]).max(), abs=0.01)


def test_a_read_step_that_is_not_the_write_step(figures: Any) -> None:
    """The write head takes steps of 2, and the read head, which waits one step before it begins, of 2.008."""
    model = hand_made.exact()
    where = lambda one: (one.layer.start.steps, one.layer.heads.bias)  # noqa: E731
    steps, bias = np.array([[2.008, 0], [2, 0]], np.float32), model.layer.heads.bias.at[0].set(2)
    found = figures.strayed(hand_made.trained(eqx.tree_at(where, model, (steps, bias))), scale=1)
    assert found["symbols"][0] == 2
    assert found["symbols"][-1] == 64
    np.testing.assert_allclose(found["distances"], 0.004 * np.array(found["symbols"]), rtol=0.01)


def test_the_head_that_reads_the_answer_is_shown(figures: Any) -> None:
    """Of two; a machine that answers without a mistake has one of them on its memories."""
    found = figures.strayed(load("copy-lantm-invnorm-robust"), scale=1)
    assert found["wrong"] == 0
    assert max(found["distances"]) < 0.5


def test_drawings(figures: Any, tmp_path: pathlib.Path) -> None:
    steps = [1, 2, 4, 8]
    machine = {
        **{"recipe": "robust", "length": 4, "largest": 3.0, "answer_start": 3, "steps": steps},
        **{"cells": [[0, 1, 2, 3], [0, -1, 0, 1]], "symbols": steps},
        **{"distances": [0.1, 0.2, 0.3, 0.9]},
    }
    machines = [{**machine, "task": task, "recipe": recipe} for task in ("copy", "double") for recipe in ("a", "b")]
    drawn = {}
    for name, draw in figures.DRAWINGS.items():
        with style():
            draw(machines if name == "lines" else machines[:2]).savefig(tmp_path / f"{name}.svg")
        drawn[name] = Drawing(tmp_path / f"{name}.svg")
    assert drawn["counting"].names("(before|after)-.") == ["before-0", "before-1", "after-0", "after-1"]
    expected = np.array([steps, machine["cells"][1]]).T
    assert_same_picture(drawn["counting"].line("after-1"), expected, equal=False)
    expected = np.array([steps, np.log(machine["distances"])]).T
    assert_same_picture(drawn["lines"].line("double-before"), expected, equal=False)


def test_only_machines_of_the_recipe_are_shown_as_after(
    figures: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A zoo without the machines, or with others under their names, gives no figure."""
    monkeypatch.setattr(figures, "MACHINES", {"counting": ("copy-lantm-invnorm-robust", "copy-lantm-invnorm-robust")})
    assert figures.measure() == {}
    monkeypatch.setattr(figures, "MACHINES", {"counting": ("copy-lantm-invnorm-robust", "there-is-none")})
    assert figures.measure() == {}
    assert capsys.readouterr().out.count("counting is not measured") == 2
