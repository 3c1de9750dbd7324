"""What is read off a recording, by hand."""

import numpy as np
import pytest

from lantm.evaluation import Heads, Memories, Recording, approach, stride
from lantm.geometry import make_geometry


def recording(predicted: list[int], read_keys: list[list[float]], addresses: list[list[float]], **changes) -> Recording:
    """A problem of two symbols; the writes are those of one head, and nothing was there before."""
    reads = np.array([[[0.0, 0.0]]] * 3 + [[key] for key in read_keys])
    writes = np.zeros((6, 1, 2))
    settings = {"seen": np.array([[0, 0], [0, 1], [0, 2], [0, 3], [0, 3], [0, 3]])} | changes
    heads = Heads(
        read_heads=1,
        keys=np.concatenate([reads, writes], axis=1),
        key_gates=np.zeros((6, 2)),
        action_gates=np.zeros((6, 2)),
        memories=Memories(np.array(addresses), np.ones(3), np.arange(3), np.zeros(3, int)),
        **settings,
    )
    return Recording(np.array([10, 1, 2, 11, 11, 11]), np.array([1, 2, 12]), np.array(predicted), heads)


LINE = [[0.0, 0.0], [0.0, 1.0], [0.0, 3.0]]


def test_mistakes() -> None:
    reads = [[0.0, 1.0]] * 3
    assert recording([1, 2, 12], reads, LINE).first_mistake is None
    found = recording([1, 3, 13], reads, LINE)
    assert found.wrong.tolist() == [1, 2]
    assert found.first_mistake == 1
    assert found.answer_start == 3
    assert found.read_step(1) == 3, "the reading of the answer's first step makes its second symbol"


def test_it_is_shown_in_one_line_each() -> None:
    found = recording([1, 3, 13], [[0.0, 1.0]] * 3, LINE)
    assert repr(found).startswith(
        "<Recording of 6 steps, symbols of the answer: 3, 2 wrong, the first at 1; arrays inputs"
    )
    assert repr(found.heads).startswith("<Heads: 1 read and 1 write, 3 memories; arrays keys, key_gates")


def test_the_nearest_memory() -> None:
    found = recording([1, 2, 12], [[3.0, 5.0], [0.0, 0.25], [1.0, 1.0]], LINE)
    near = approach(found, make_geometry("translation"))
    assert near.slots.tolist() == [[2], [0], [1]]
    np.testing.assert_allclose(near.distances, [[13**0.5], [0.25], [1.0]], rtol=1e-6)


def test_memories_that_cannot_be_seen_are_not_near() -> None:
    seen = np.array([[0, 0], [0, 1], [0, 2], [1, 3], [2, 3], [3, 3]])
    found = recording([1, 2, 12], [[0.0, 0.0]] * 3, LINE, seen=seen)
    near = approach(found, make_geometry("translation"))
    assert near.slots.tolist() == [[1], [2], [-1]]
    np.testing.assert_allclose(near.distances, [[1.0], [3.0], [np.nan]], rtol=1e-6)


def test_an_empty_memory() -> None:
    nothing = Memories(np.zeros((0, 2)), np.zeros(0), np.zeros(0, int), np.zeros(0, int))
    found = recording([1, 2, 12], [[0.0, 0.0]] * 3, LINE)
    assert found.heads is not None
    object.__setattr__(found.heads, "memories", nothing)
    near = approach(found, make_geometry("translation"))
    assert near.slots.tolist() == [[-1]] * 3
    assert np.isnan(near.distances).all()
    assert np.isnan(stride(found, make_geometry("translation")))


def test_the_stride_is_along_each_head_s_own_line() -> None:
    """Two heads: steps of 1, 3 and of 5, 5; the slot that was there before belongs to neither."""
    addresses = [[9.0, 9.0], [0.0, 0.0], [100.0, 0.0], [1.0, 0.0], [100.0, 5.0], [4.0, 0.0], [100.0, 10.0]]
    memories = Memories(
        np.array(addresses), np.ones(7), np.array([-1, 0, 0, 1, 1, 2, 2]), np.array([-1, 0, 1] + [0, 1] * 2)
    )
    found = recording([1, 2, 12], [[0.0, 0.0]] * 3, LINE)
    assert found.heads is not None
    object.__setattr__(found.heads, "memories", memories)
    assert stride(found, make_geometry("translation")) == pytest.approx(4.0)


def test_a_machine_without_memory_has_nothing_to_approach() -> None:
    found = Recording(np.array([10, 1, 11, 11]), np.array([1, 12]), np.array([1, 12]), None)
    with pytest.raises(ValueError, match="only a Lie access machine has heads"):
        approach(found, make_geometry("translation"))
