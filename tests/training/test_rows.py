"""The row of JSON: whose figures they are, those of the best seed, of the median, and of all seeds."""

import dataclasses
import json

import numpy as np

from lantm.evaluation import Perplexity, Scores
from lantm.paper.presets import preset
from lantm.tasks import Lengths
from lantm.training import Experiment, score_row, score_rows
from lantm.training.rows import of_seed

THREE = Scores(
    Lengths(2, 4),
    coarse=np.array([50.0, 100, 0]),
    fine=np.array([75.0, 99.5, 0]),
    first_error=np.array([0.125, np.nan, 0]),
    problems=4,
)


def test_of_a_task() -> None:
    row = score_row(preset("reverse", "lantm-softmax", "demo"), "2x", THREE)
    assert row == json.loads(json.dumps(row, allow_nan=False)), "plain values"
    assert row == {
        "task": "reverse",
        "model": "lantm-softmax",
        "recipe": "demo",
        "scale": "2x",
        "lengths": [2, 4],
        "problems": 4,
        "coarse": 100.0,
        "interval": [51.01, 100.0],
        "fine": 99.5,
        "median_coarse": 50.0,
        "median_fine": 75.0,
        "seeds": 3,
        "solved": 1,
        "first_error": None,
        "coarse_by_seed": [50.0, 100.0, 0.0],
        "interval_by_seed": [[15.0, 85.0], [51.01, 100.0], [0.0, 48.99]],
        "fine_by_seed": [75.0, 99.5, 0.0],
        "first_error_by_seed": [0.125, None, 0.0],
        "best_seed": 1,
    }


def test_of_another_seed() -> None:
    """All its figures, and their interval; an earlier version knew none, and over several lengths there is none."""
    experiment = dataclasses.replace(preset("reverse", "lantm-softmax", "demo"), first_seed=5)
    row = score_row(experiment, "2x", THREE)
    other = of_seed(row, experiment, 0)
    assert (other["coarse"], other["fine"], other["first_error"]) == (50.0, 75.0, 0.125)
    assert (other["interval"], other["best_seed"], row["best_seed"]) == ([15.0, 85.0], 5, 6)
    assert {name: other[name] for name in ("median_coarse", "coarse_by_seed")} == {
        name: row[name] for name in ("median_coarse", "coarse_by_seed")
    }
    older = {name: value for name, value in row.items() if not name.startswith("interval")}
    assert of_seed(older, experiment, 0)["interval"] is None
    assert of_seed(older | {"lengths": [4, 4]}, experiment, 0)["interval"] == [15.0, 85.0]


def test_of_a_text() -> None:
    text = Perplexity(np.log([130.0, 120.5, 125.25]), tokens=82430)
    row = score_row(preset("text", "lstm"), "test", text)
    assert row == json.loads(json.dumps(row, allow_nan=False)), "plain values"
    assert row == {
        "task": "text",
        "model": "lstm",
        "recipe": "paper",
        "scale": "test",
        "tokens": 82430,
        "perplexity": 120.5,
        "median_perplexity": 125.25,
        "seeds": 3,
        "perplexity_by_seed": [130.0, 120.5, 125.25],
        "best_seed": 1,
    }
    nothing = score_row(preset("text", "lstm"), "test", Perplexity(np.array([np.nan, 800.0]), tokens=9))
    assert (nothing["perplexity"], nothing["perplexity_by_seed"]) == (None, [None, None])
    json.dumps(nothing, allow_nan=False)


def selecting(score: str) -> Experiment:
    usual = preset("copy", "lantm-invnorm")
    return dataclasses.replace(usual, first_seed=20, seeds=3, recipe=dataclasses.replace(usual.recipe, select_by=score))


def test_the_best_seed_is_chosen_by_the_recipe_s_score_and_named_by_its_number() -> None:
    scores = dataclasses.replace(THREE, fine=np.array([99.0, 98, 0]))
    by_coarse, by_fine = (score_row(selecting(score), "1x", scores) for score in ("coarse", "fine"))
    assert (by_coarse["best_seed"], by_coarse["coarse"], by_coarse["fine"]) == (21, 100.0, 98.0)
    assert (by_fine["best_seed"], by_fine["coarse"], by_fine["fine"]) == (20, 50.0, 99.0)


def test_the_best_seed_may_be_chosen_elsewhere() -> None:
    row = score_row(selecting("coarse"), "1x", THREE, best=2)
    assert (row["best_seed"], row["coarse"]) == (22, 0.0)


def test_every_test_has_its_best_seed_but_a_text_has_one_by_validation() -> None:
    other = dataclasses.replace(THREE, coarse=np.array([60.0, 10, 0]))
    rows = score_rows(selecting("coarse"), {"1x": THREE, "2x": other})
    assert [(row["scale"], row["best_seed"]) for row in rows] == [("1x", 21), ("2x", 20)]
    parts = {"validation": Perplexity(np.log([90.0, 80]), 10), "test": Perplexity(np.log([70.0, 85]), 10)}
    rows = score_rows(preset("text", "lstm"), parts)
    assert [(row["scale"], row["best_seed"], row["perplexity"]) for row in rows] == [
        ("validation", 1, 80.0),
        ("test", 1, 85.0),
    ]
