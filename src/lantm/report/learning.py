"""Learning curves of all seeds, downsampled to a few hundred points."""

from typing import Any

import numpy as np
from jaxtyping import Float

from lantm.evaluation import finite
from lantm.training import History

POINTS = 300  # maximum per curve


def loss_curves(history: History) -> dict[str, Any]:
    """The training loss by epoch: `epochs`, and `loss` with a curve per seed; None for nan.

    If there are many epochs, each point is the mean over several.
    """
    count = len(history.epochs)
    bins = np.array_split(np.arange(count), min(POINTS, count)) if count else []
    return {
        "epochs": [int(history.epochs[part[-1]]) for part in bins],
        "loss": [[_mean(curve[part]) for part in bins] for curve in history.loss.T],
    }


def curves_of_tests(history: History) -> list[dict[str, Any]]:
    """The periodic tests: for each its label, `epochs`, and a curve per seed of `coarse` or `perplexity`."""
    curves = []
    for label, test in history.tests.items():
        few = slice(None, None, -(-len(test.epochs) // POINTS))
        name = "perplexity" if "perplexity" in test.figures else "coarse"
        values = test.figures[name][few].T
        curves.append(
            {
                "scale": label,
                "epochs": test.epochs[few].tolist(),
                name: [[finite(value) for value in curve] for curve in values],
            }
        )
    return curves


def _mean(values: Float[np.ndarray, " epochs"]) -> float | None:
    finite = values[np.isfinite(values)]
    return float(f"{finite.mean():.5g}") if finite.size else None
