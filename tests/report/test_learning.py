"""Learning curves from the history of a run."""

import pytest

from lantm.report.learning import POINTS, curves_of_tests, loss_curves
from lantm.training import History


def test_losses_by_seed() -> None:
    rows = [
        {"epoch": epoch, "seed": seed, "loss": None if (epoch, seed) == (2, 5) else epoch + seed / 10}
        for epoch in (2, 1, 3)
        for seed in (4, 5)
    ]
    rows += [{"epoch": 3, "seed": 4, "test": "1x", "coarse": 50.0}, {"epoch": 9, "seed": 77, "loss": 1.0}]
    curves = loss_curves(History.from_rows(rows, [4, 5]))
    assert curves == {"epochs": [1, 2, 3], "loss": [[1.4, 2.4, 3.4], [1.5, None, 3.5]]}


def test_many_epochs_are_thinned() -> None:
    rows = [{"epoch": epoch, "seed": 0, "loss": float(epoch)} for epoch in range(1, 10 * POINTS + 1)]
    curves = loss_curves(History.from_rows(rows, [0]))
    assert len(curves["epochs"]) == POINTS
    assert curves["epochs"][-1] == 10 * POINTS, "the last one stays"
    assert curves["loss"][0][0] == pytest.approx(5.5)


def test_tests_by_scale() -> None:
    rows = [{"epoch": epoch, "seed": 3, "test": "2x", "coarse": 1.0 * epoch} for epoch in (20, 10)]
    rows += [{"epoch": 10, "seed": 4, "test": "2x", "coarse": 7.0}, {"epoch": 10, "seed": 3, "loss": 1.0}]
    found = curves_of_tests(History.from_rows(rows, [3, 4]))
    assert found == [{"scale": "2x", "epochs": [10, 20], "coarse": [[10.0, 20.0], [7.0, None]]}]
    many = [{"epoch": epoch, "seed": 0, "test": "1x", "coarse": 0.0} for epoch in range(1000)]
    assert len(curves_of_tests(History.from_rows(many, [0]))[0]["epochs"]) <= POINTS


def test_a_run_without_metrics() -> None:
    assert loss_curves(History.from_rows([], [0, 1])) == {"epochs": [], "loss": [[], []]}
    assert curves_of_tests(History.from_rows([], [0])) == []


def test_perplexities_of_a_text() -> None:
    """One that was not finite is left out of its curve."""
    rows = [
        {
            "epoch": epoch,
            "seed": seed,
            "test": "validation",
            "perplexity": None if (epoch, seed) == (2, 1) else 100.0 / epoch,
        }
        for epoch in (1, 2)
        for seed in (0, 1)
    ]
    assert curves_of_tests(History.from_rows(rows, [0, 1])) == [
        {"scale": "validation", "epochs": [1, 2], "perplexity": [[100.0, 50.0], [100.0, None]]}
    ]
