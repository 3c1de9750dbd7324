"""The lengths of problems: ranges, strides, scales and draws."""

from collections.abc import Callable

import jax
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.tasks import Addition, BigramFlip, Copy, Double, Lengths, Reverse, Task, make_task

# Training range and 2x range of the paper's table of input sizes; its further lengths and figures.
PAPER_LENGTHS = {
    "copy": ((2, 64), (65, 128), {4: 256, 5: 320}),
    "reverse": ((2, 64), (65, 128), {4: 256, 5: 320}),
    "bigramFlip": ((2, 32), (34, 64), {4: 128, 8: 256}),
    "double": ((2, 40), (41, 80), {4: 160, 8: 320}),
    "addition": ((2, 16), (17, 32), {4: 64}),
}


@pytest.mark.parametrize("name", PAPER_LENGTHS)
def test_scales_are_those_of_the_paper(name: str) -> None:
    task = make_task(name)
    trained, doubled, further = PAPER_LENGTHS[name]
    assert task.lengths_at(1) == task.train_lengths
    assert (task.lengths_at(1).smallest, task.lengths_at(1).largest) == trained
    assert (task.lengths_at(2).smallest, task.lengths_at(2).largest) == doubled
    for scale, length in further.items():
        assert task.lengths_at(scale) == Lengths(length, length, task.train_lengths.stride)


def test_bigrams_as_the_unit_of_length() -> None:
    task = BigramFlip(unit="bigrams")
    assert task.lengths_at(1) == Lengths(2, 32)
    assert task.lengths_at(2) == Lengths(33, 64)
    assert task.steps(32) == BigramFlip().steps(64)
    task.check_length(3)


@pytest.mark.parametrize("lengths", [Lengths(2, 9), Lengths(4, 12, stride=2), Lengths(6, 6, stride=3)])
def test_draws_are_uniform_over_the_lengths(lengths: Lengths) -> None:
    keys = jax.random.split(jax.random.key(0), 8000)
    values, counts = np.unique(jax.jit(jax.vmap(lengths.sample))(keys), return_counts=True)
    np.testing.assert_array_equal(values, range(lengths.smallest, lengths.largest + 1, lengths.stride))
    assert len(values) == lengths.count
    expected = 8000 / lengths.count
    np.testing.assert_allclose(counts, expected, atol=5 * expected**0.5)


@pytest.mark.parametrize(("task", "length"), [(Copy(), 1), (BigramFlip(), 2), (BigramFlip(), 1000)])
def test_lengths_that_exist(task: Task, length: int) -> None:
    task.check_length(length)


@pytest.mark.parametrize(
    ("task", "length", "message"),
    [
        (Copy(), 0, "copy has no problems of length 0: use 1 or more"),
        (Copy(), -3, "copy has no problems of length -3: use 1 or more"),
        (BigramFlip(), 0, "bigramFlip has no problems of length 0: use 2 or more"),
        (BigramFlip(), 33, "bigramFlip has no problems of length 33: use a multiple of 2, as 32 or 34"),
        (BigramFlip(), 1, "bigramFlip has no problems of length 1: use a multiple of 2, as 2"),
    ],
)
def test_lengths_that_do_not_exist(task: Task, length: int, message: str) -> None:
    with pytest.raises(LantmError) as caught:
        task.check_length(length)
    assert str(caught.value) == message


@pytest.mark.parametrize("scale", [0, -1])
def test_scales_begin_at_one(scale: int) -> None:
    with pytest.raises(LantmError, match="use 1 for the training range"):
        Copy().lengths_at(scale)


@pytest.mark.parametrize(
    ("bounds", "remedy"),
    [
        ((0, 4), "at least 1"),
        ((5, 4), "at most the largest"),
        ((2, 5, 2), "multiples of 2"),
        ((3, 4, 2), "multiples of 2"),
        ((2, 4, 0), "use 1 or more"),
    ],
)
def test_impossible_lengths_are_refused(bounds: tuple[int, ...], remedy: str) -> None:
    with pytest.raises(LantmError, match=remedy):
        Lengths(*bounds)


def test_bigram_flip_refuses_odd_numbers_of_symbols() -> None:
    with pytest.raises(LantmError, match="use lengths of stride 2"):
        BigramFlip(train_lengths=Lengths(2, 9))
    with pytest.raises((LantmError, TypeError), match="bigrams"):  # TypeError by checked annotations
        BigramFlip(unit="words")  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [Copy, Reverse, BigramFlip, Double, Addition])
def test_training_lengths_are_a_field(kind: Callable[..., Task]) -> None:
    assert kind(train_lengths=Lengths(2, 8, stride=2)).lengths_at(2) == Lengths(10, 16, stride=2)
