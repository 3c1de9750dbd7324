"""The examples with the layer, a weighting and a controller of one's own: they run, and say what they find."""

import json
import pathlib
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples import layer_in_a_network, own_controller
from examples.own_weighting import Cauchy

ROOT = pathlib.Path(__file__).parents[2]


def test_a_layer_in_a_network(capsys: pytest.CaptureFixture[str]) -> None:
    """Two networks of about the same size, trained for a moment."""
    outcomes = layer_in_a_network.main(steps=20)
    printed = capsys.readouterr().out.splitlines()
    assert list(outcomes) == ["LieAccess", "LSTM"]
    for line, (name, outcome) in zip(printed, outcomes.items(), strict=True):
        assert line.startswith(f"{name}, {outcome.parameters} parameters")
        assert f"{outcome.error:.4f} on 12 numbers" in line
        assert np.all(np.isfinite(outcome.losses))
    ours, theirs = (outcome.parameters for outcome in outcomes.values())
    assert ours == pytest.approx(theirs, rel=0.02)


@pytest.mark.parametrize("length", [1, 5, 12])
def test_what_the_networks_are_to_do(length: int) -> None:
    """To give the numbers back is right; to say 0 has the variance of the numbers for an error, 1/3."""

    def gives_back(xs: jax.Array) -> jax.Array:
        return jnp.roll(xs[:, 0], jnp.sum(xs[:, 1] == 0))

    def says_nothing(xs: jax.Array) -> jax.Array:
        return jnp.zeros(len(xs))

    error = [
        float(layer_in_a_network.mean_squared_error(network, jax.random.key(0), length, longest=12))
        for network in (gives_back, says_nothing)
    ]
    assert error[0] == 0
    assert error[1] == pytest.approx(1 / 3, abs=0.12)


def test_a_controller_of_ones_own_learns(capsys: pytest.CaptureFixture[str]) -> None:
    losses = own_controller.main(steps=60)
    assert losses[-1] < losses[0] / 2
    assert f"mean squared error {losses[-1]:.4f}" in capsys.readouterr().out


@pytest.mark.thorough
def test_a_weighting_of_ones_own_is_trained(
    tiny_flags: list[str],
    lantm: Callable[..., Any],
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "path", sys.path[:])
    name = "examples.own_weighting:Cauchy[width=0.5]"
    own = ["--weighting", name, "--epochs", 1, "--test-batches", 1, "--seeds", 1, "--out", tmp_path / "run", "--json"]
    said = lantm("train", *tiny_flags, *own)
    assert said.status == 0, said.err
    assert json.loads(said.out)
    experiment = json.loads((tmp_path / "run" / "experiment.json").read_text())
    assert name in json.dumps(experiment)


def test_the_weighting_by_hand() -> None:
    """A width of 1/2: affinities 4 at the key itself, 1 at a squared distance of 3/4."""
    weights = Cauchy(width=0.5)(jnp.array([0.0, 0.75]), jnp.array([1.0, 0.5]), jnp.ones(2, bool))
    np.testing.assert_allclose(weights, [4 / 5, 1 / 10], rtol=1e-6)
