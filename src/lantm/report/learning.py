"""Learning curves of all seeds, from the metrics of a run, thinned to what a picture can show."""

from collections.abc import Iterable
from typing import Any

import numpy as np

POINTS = 300  # a curve's, at most


def loss_curves(metrics: Iterable[dict[str, Any]], seeds: list[int]) -> dict[str, Any]:
    """The training loss by epoch: `epochs`, and `loss` with a curve a seed; None where there is no number.

    Of many epochs, means of equally many are taken.
    """
    rows = [row for row in metrics if "loss" in row and row.get("seed") in seeds]
    epochs = sorted({row["epoch"] for row in rows})
    place = {epoch: at for at, epoch in enumerate(epochs)}
    losses = np.full((len(seeds), len(epochs)), np.nan)
    for row in rows:
        if isinstance(row["loss"], int | float):
            losses[seeds.index(row["seed"]), place[row["epoch"]]] = row["loss"]
    if not epochs:
        return {"epochs": [], "loss": [[] for _ in seeds]}
    bins = np.array_split(np.arange(len(epochs)), min(POINTS, len(epochs)))
    return {
        "epochs": [epochs[part[-1]] for part in bins],
        "loss": [[_mean(curve[part]) for part in bins] for curve in losses],
    }


def curves_of_tests(metrics: Iterable[dict[str, Any]], seeds: list[int]) -> list[dict[str, Any]]:
    """The coarse scores of the periodic tests: for each scale its `epochs`, and `coarse` with a curve a seed."""
    by_scale: dict[str, dict[int, dict[int, float]]] = {}
    for row in metrics:
        if isinstance(row.get("test"), str) and isinstance(row.get("coarse"), int | float):
            by_scale.setdefault(row["test"], {}).setdefault(row["epoch"], {})[row.get("seed", -1)] = row["coarse"]
    curves = []
    for scale, tests in by_scale.items():
        epochs = sorted(tests)
        epochs = epochs[:: -(-len(epochs) // POINTS)]
        curves.append(
            {
                "scale": scale,
                "epochs": epochs,
                "coarse": [[tests[epoch].get(seed) for epoch in epochs] for seed in seeds],
            }
        )
    return curves


def _mean(values: np.ndarray) -> float | None:
    finite = values[np.isfinite(values)]
    return float(f"{finite.mean():.5g}") if finite.size else None
