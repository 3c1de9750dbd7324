"""Scores by hand: percentages, first errors, and which seeds solve a task."""

import jax.numpy as jnp
import numpy as np
import pytest

from lantm.evaluation import SOLVED, Marks, Scores
from lantm.tasks import Lengths


def scores(right: list[list[int]], size: list[list[int]], first: list[list[int]]) -> Scores:
    """Scores of marks with one batch a seed."""
    return Scores.of(Lengths(2, 4), Marks(*(np.array(field)[:, None, :] for field in (right, size, first))))


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
    assert THREE.solved.tolist() == [False, True, False]


def test_fine_counts_symbols_not_problems() -> None:
    uneven = scores(right=[[2, 0]], size=[[2, 8]], first=[[2, 0]])
    assert uneven.fine[0] == pytest.approx(20)
    assert uneven.coarse[0] == pytest.approx(50)


def test_batches_are_put_together() -> None:
    batches = Marks(*(np.array(field).reshape(1, 2, 2) for field in ([4, 4, 0, 4], [4] * 4, [4, 4, 0, 4])))
    together = Scores.of(Lengths(2, 4), batches)
    assert (together.coarse[0], together.problems) == (75, 4)


def test_some_of_the_seeds() -> None:
    some = THREE.among(np.array([2, 0]))
    assert some.coarse.tolist() == [0, 50]
    assert some.fine.tolist() == [0, 75]
    assert some.first_error.tolist() == [0, 0.125]
    assert (some.lengths, some.problems) == (THREE.lengths, THREE.problems)


def test_kinds_of_hard_problems_by_hand() -> None:
    right = np.array([[[4, 3], [4, 4]], [[4, 4], [0, 4]]])
    marks = Marks(right, np.full((2, 2, 2), 4), right)
    kinds = jnp.array([[[0, 1], [1, 1]], [[1, 0], [1, 1]]])
    scores = Scores.of(Lengths(2, 4), marks).with_kinds(("nines", "zeros", "ones"), kinds, marks)
    np.testing.assert_allclose(scores.kinds["nines"], [100, 100])
    np.testing.assert_allclose(scores.kinds["zeros"], [200 / 3, 200 / 3])
    np.testing.assert_allclose(scores.kinds["ones"], [np.nan, np.nan])
    assert scores.figures(0)["kinds"] == {"nines": 100.0, "zeros": 66.67, "ones": None}
    assert scores.among(np.array([1])).kinds["zeros"].shape == (1,)
    assert "kinds" not in THREE.figures(0), "random problems are of no kind"


def test_the_figures_of_one_seed() -> None:
    assert THREE.by_seed(0) == {"coarse": 50.0, "fine": 75.0}


@pytest.mark.parametrize(("right", "solved"), [(98, 0), (99, 1), (100, 1)])
def test_a_task_is_solved_from_99_percent_on(right: int, solved: int) -> None:
    assert SOLVED == 99.0
    whole = [1] * right + [0] * (100 - right)
    assert scores([whole], [[1] * 100], [whole]).solved.tolist() == [bool(solved)]
