"""Marks by hand, and against a slow loop."""

import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from lantm.evaluation import mark


def slow(predicted: np.ndarray, targets: np.ndarray, mask: np.ndarray) -> list[tuple[int, int, int]]:
    """Right symbols, all symbols, and the place of the first error, problem by problem."""
    found = []
    for problem in range(mask.shape[1]):
        right = size = 0
        first = None
        for time in range(mask.shape[0]):
            if not mask[time, problem]:
                continue
            if predicted[time, problem] == targets[time, problem]:
                right += 1
            elif first is None:
                first = size
            size += 1
        found.append((right, size, size if first is None else first))
    return found


def test_by_hand() -> None:
    mask = np.array([[0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 1], [1, 0, 0, 1]], bool)
    targets = np.array([[1, 1, 1, 1], [2, 2, 2, 2], [3, 3, 3, 3], [4, 4, 4, 4]])
    predicted = np.array([[9, 1, 9, 9], [2, 9, 9, 9], [3, 9, 9, 3], [9, 9, 9, 4]])
    marks = mark(jnp.asarray(predicted), jnp.asarray(targets), jnp.asarray(mask))
    assert marks.right.tolist() == [2, 1, 0, 2]
    assert marks.size.tolist() == [3, 3, 0, 2]
    assert marks.first_error.tolist() == [2, 1, 0, 2], "places count from the first symbol of the answer"


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_against_a_slow_loop(data: st.DataObject) -> None:
    shape = (6, 4)  # one shape, compiled once
    symbols = arrays.arrays(np.int32, shape, elements=st.integers(0, 2))
    predicted, targets = data.draw(symbols), data.draw(symbols)
    mask = data.draw(arrays.arrays(bool, shape))
    marks = mark(jnp.asarray(predicted), jnp.asarray(targets), jnp.asarray(mask))
    assert list(zip(*(field.tolist() for field in marks), strict=True)) == slow(predicted, targets, mask)
