"""Scores by hand: percentages, the best seed, the median, first errors, and the row of JSON."""

import dataclasses
import json

import numpy as np
import pytest

from lantm.evaluation import SOLVED, Marks, Scores
from lantm.experiments import preset
from lantm.report import score_row
from lantm.tasks import Lengths


def scores(right: list[list[int]], size: list[list[int]], first: list[list[int]]) -> Scores:
    """Scores of marks with one batch a seed."""
    return Scores.of("copy", Lengths(2, 4), Marks(*(np.array(field)[:, None, :] for field in (right, size, first))))


THREE = scores(
    right=[[4, 3, 4, 1], [4, 4, 4, 4], [0, 0, 0, 0]],
    size=[[4, 4, 4, 4]] * 3,
    first=[[4, 1, 4, 0], [4, 4, 4, 4], [0, 0, 0, 0]],
)


def test_by_hand() -> None:
    np.testing.assert_allclose(THREE.coarse, [50, 100, 0])
    np.testing.assert_allclose(THREE.fine, [75, 100, 0])
    np.testing.assert_allclose(THREE.first_error, [0.125, np.nan, 0], err_msg="the median of 1/4 and 0/4; none; 0")
    assert THREE.problems == 4
    assert THREE.best == 1


def test_fine_counts_symbols_not_problems() -> None:
    uneven = scores(right=[[2, 0]], size=[[2, 8]], first=[[2, 0]])
    assert uneven.fine[0] == pytest.approx(20)
    assert uneven.coarse[0] == pytest.approx(50)


def test_of_equal_coarse_scores_the_best_fine_score_is_best() -> None:
    equal = scores(right=[[4, 1], [4, 3], [4, 2]], size=[[4, 4]] * 3, first=[[4, 1], [4, 0], [4, 0]])
    assert equal.best == 1
    assert scores(right=[[4, 0], [3, 3]], size=[[4, 4]] * 2, first=[[4, 0], [3, 3]]).best == 0, "coarse comes first"


def test_batches_are_put_together() -> None:
    batches = Marks(*(np.array(field).reshape(1, 2, 2) for field in ([4, 4, 0, 4], [4] * 4, [4, 4, 0, 4])))
    together = Scores.of("copy", Lengths(2, 4), batches)
    assert (together.coarse[0], together.problems) == (75, 4)


def test_the_row_of_json() -> None:
    row = score_row(preset("reverse", "lantm-softmax", "demo"), "2x", THREE)
    assert row == json.loads(json.dumps(row, allow_nan=False)), "plain values"
    expected = {
        "task": "reverse",
        "model": "lantm-softmax",
        "recipe": "demo",
        "scale": "2x",
        "lengths": [2, 4],
        "problems": 4,
        "coarse": 100.0,
        "fine": 100.0,
        "median_coarse": 50.0,
        "seeds": 3,
        "solved": 1,
    }
    assert {name: row[name] for name in expected} == expected
    assert row["first_error"] is None
    assert row["coarse_by_seed"] == [50.0, 100.0, 0.0]
    assert row["first_error_by_seed"] == [0.125, None, 0.0]


def test_the_best_seed_is_named_by_its_number() -> None:
    experiment = dataclasses.replace(preset("copy", "lantm-invnorm"), first_seed=20, seeds=3)
    assert score_row(experiment, "1x", THREE)["best_seed"] == 21


@pytest.mark.parametrize(("right", "solved"), [(98, 0), (99, 1), (100, 1)])
def test_a_task_is_solved_from_99_percent_on(right: int, solved: int) -> None:
    assert SOLVED == 99.0
    whole = [1] * right + [0] * (100 - right)
    assert scores([whole], [[1] * 100], [whole]).row()["solved"] == solved
