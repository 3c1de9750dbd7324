"""Every peer by its name: trained, interrupted, resumed, and used as any other model is."""

import dataclasses
import json
import pathlib
from typing import Any, get_args

import jax
import numpy as np
import pytest

import lantm
from lantm.cli import main
from lantm.errors import LantmError
from lantm.grids import read_sweep
from lantm.machine import NtmConfig, TransformerConfig
from lantm.machine.peers.transformer import Positions
from lantm.paper import MODELS, PAPER_MODELS, make_experiment, preset
from lantm.training import Experiment, RunFolder, train

PEERS = [model for model in MODELS if model not in PAPER_MODELS]


def tiny(model: str) -> Experiment:
    """With a curriculum, as their recipes have it."""
    small: dict[str, Any] = {"cells": 6, "embedding": 3}
    small |= {"layers": 1, "heads": 2, "feedforward": 6} if model == "transformer" else {"memory_width": 3}
    training = {"epochs": 2, "batches": 3, "batch_size": 4, "test_every": 1, "test_batches": 1, "recorded_seeds": 1}
    changes = {"curriculum_step": 1, "lengths": (2, 4), "seeds": 2}
    return make_experiment({"task": "copy", "model": model, "recipe": "tuned", **small, **training, **changes})


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(one, marks=[pytest.mark.thorough] if one in ("ram", "tape-rnn", "ram-tape", "transformer") else [])
        for one in PEERS
    ],
)
def test_a_training_resumes_to_the_same_weights(model: str, tmp_path: pathlib.Path) -> None:
    experiment = tiny(model)
    whole = train(experiment)
    assert np.isfinite(whole.history.loss).all()
    assert (whole.history.longest >= 2).all(), "their curriculum is followed"
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    stops = iter([False, True])
    train(experiment, folder, stop=lambda: next(stops))
    resumed = train(folder.experiment(), folder, resume=True)
    for one, other in zip(jax.tree.leaves(whole.learners), jax.tree.leaves(resumed.learners), strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other))


@pytest.mark.thorough
def test_commands_take_a_peer(tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trained by flags; scored, asked, verified, put on a shelf and loaded from there."""
    run = tmp_path / "run"
    words = "copy --model tape-rnn --recipe demo --cells 6 --embedding 3 --memory-width 3 --epochs 1 --batches 2"
    flags = f"{words} --batch-size 4 --test-batches 1 --seeds 2 --lengths 2 4 --json --out {run}"
    assert main(["train", *flags.split()]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["model"] for row in rows} == {"tape-rnn"}
    assert main(["eval", str(run), "--scales", "1", "--problems", "4", "--json"]) == 0
    assert main(["solve", str(run), "abc"]) == 0
    assert "TAPE-RNN" in capsys.readouterr().out
    assert main(["verify", str(run), "--length", "3", "--problems", "2", "--json"]) == 1
    saved = tmp_path / "peer.safetensors"
    lantm.load(run).best.save(saved)
    assert lantm.load(saved).experiment.machine == RunFolder.open(run).experiment().machine


def test_the_sweep_over_positions_can_be_read() -> None:
    points = read_sweep(pathlib.Path(__file__).parents[2] / "examples" / "positions.toml").points()
    tried = {point.experiment.machine.positions for point in points}
    assert tried == set(get_args(Positions))


def test_info_counts_parameters_and_the_page_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    page = (pathlib.Path(__file__).parents[2] / "docs" / "peers.md").read_text()
    for model in MODELS:
        assert main(["info", "copy", "--model", model, "--json"]) == 0
        facts = json.loads(capsys.readouterr().out)
        assert facts["parameters"] == sum(facts["by_part"].values())
        assert ("parameters_as_the_paper_counts" in facts) == (model in PAPER_MODELS)
        (line,) = [line for line in page.splitlines() if line.startswith("| `") and f"`{model}`" in line]
        assert f"{facts['parameters']:,}" in line


def test_help_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--model", "transformer", "--help"]) == 0
    said = capsys.readouterr().out
    assert all(model in said for model in PEERS)
    assert "--positions" in said


def test_what_does_not_fit_is_refused() -> None:
    for recipe in ("robust", "exact"):
        with pytest.raises(LantmError, match=r"ntm has the recipes paper, .*tuned and demo"):
            preset("copy", "ntm", recipe)
    with pytest.raises(LantmError, match="ntm needs an end of input"):
        preset("text", "ntm")
    with pytest.raises(LantmError, match="choose the model ram-tape"):
        make_experiment({"task": "copy", "model": "ram", "tape": True})
    with pytest.raises(LantmError, match="ntm does not support noise"):
        make_experiment({"task": "copy", "model": "ntm", "noise": 0.1})


def test_records_of_a_peer_are_read_again() -> None:
    for machine in (NtmConfig(cells=7), TransformerConfig(positions="alibi")):
        experiment = dataclasses.replace(preset("double", machine.model_name), machine=machine)
        assert Experiment.from_json(json.loads(json.dumps(experiment.to_json()))) == experiment
