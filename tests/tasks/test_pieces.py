"""Every word of a text is asked for once, after the word before it."""

import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.tasks.pieces import cut


@pytest.mark.parametrize(
    ("tokens", "batch_size", "steps"),
    [(24, 4, 3), (26, 4, 3), (23, 4, 3), (5, 5, 4), (9, 5, 1), (100, 3, 7), (7, 1, 9)],
)
def test_every_word_once(tokens: int, batch_size: int, steps: int) -> None:
    text = np.arange(1, tokens + 1)
    pieces = cut(text, batch_size, steps, end=0)
    assert pieces.inputs.shape == pieces.targets.shape == pieces.mask.shape == (pieces.number, steps, batch_size)
    mask = np.asarray(pieces.mask)
    columns = [np.asarray(rows).reshape(-1, batch_size).T for rows in pieces]
    read = np.concatenate([targets[mask] for _, targets, mask in zip(*columns, strict=True)])
    np.testing.assert_array_equal(read, text, "columns one after the other are the text")
    before = np.asarray(pieces.inputs)[mask]
    np.testing.assert_array_equal(before, np.asarray(pieces.targets)[mask] - 1)
    lengths = mask.reshape(-1, batch_size).sum(axis=0)
    assert lengths.max() - lengths.min() <= 1
    assert (pieces.number - 1) * steps < lengths.max() <= pieces.number * steps, "no piece is all filling"


def test_a_text_too_short() -> None:
    with pytest.raises(LantmError, match="a text of 4 words cannot fill 5 columns"):
        cut(np.arange(4), 5, 2, end=0)
