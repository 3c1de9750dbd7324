"""The memory by itself: slots, windows, and what is forgotten, against a plain Python list."""

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.errors import LantmError
from lantm.machine import DropOldest, Grow, LantmConfig, Memory, Policy, Window
from lantm.machine.memory import append, compact, visible

BATCH, KEY, WIDTH = 2, 3, 4


def memories(numbers: list[float]) -> Memory:
    """Slots that are full of their number."""
    row = jnp.array(numbers, dtype="float32")
    return Memory(
        jnp.broadcast_to(row[:, None], (BATCH, len(numbers), KEY)),
        jnp.broadcast_to(row[:, None], (BATCH, len(numbers), WIDTH)),
        jnp.broadcast_to(row, (BATCH, len(numbers))),
    )


def contents(memory: Memory) -> list[float]:
    """The numbers of the slots, which all parts of a slot have to agree on."""
    addresses, vectors, strengths = (np.asarray(field) for field in memory)
    np.testing.assert_array_equal(addresses, np.broadcast_to(strengths[..., None], addresses.shape))
    np.testing.assert_array_equal(vectors, np.broadcast_to(strengths[..., None], vectors.shape))
    np.testing.assert_array_equal(strengths[0], strengths[1])
    return strengths[0].tolist()


def window(first: int, end: int) -> Window:
    return Window(jnp.array(first), jnp.array(end))


def bounds(window: Window) -> tuple[int, int]:
    return int(window.first), int(window.end)


# Slots.


def test_append_writes_one_or_several_slots_and_no_other() -> None:
    memory = append(memories([1.0, 2.0, 3.0, 4.0, 5.0]), memories([7.0]), jnp.array(2))
    assert contents(memory) == [1.0, 2.0, 7.0, 4.0, 5.0]
    memory = append(memory, memories([8.0, 9.0]), jnp.array(3))
    assert contents(memory) == [1.0, 2.0, 7.0, 8.0, 9.0]
    assert contents(append(memory, memories([6.0, 6.0]), jnp.array(0))) == [6.0, 6.0, 7.0, 8.0, 9.0]


def test_append_keeps_the_problems_of_a_batch_apart() -> None:
    new = Memory(
        jnp.arange(BATCH * KEY).reshape(BATCH, 1, KEY) + 1.0,
        jnp.arange(BATCH * WIDTH).reshape(BATCH, 1, WIDTH) + 1.0,
        jnp.arange(BATCH).reshape(BATCH, 1) + 1.0,
    )
    written = append(memories([0.0, 0.0, 0.0]), new, jnp.array(1))
    for field, slots in zip(written, new, strict=True):
        np.testing.assert_array_equal(field[:, 1], slots[:, 0])
        np.testing.assert_array_equal(field[:, ::2], 0)


# Windows.


def test_visible() -> None:
    """Slot 0 is forgotten; the first problem stopped writing at slot 3, the second at slot 9."""
    seen = np.asarray(visible(6, window(1, 5), jnp.array([3, 9])))
    assert np.flatnonzero(seen[0]).tolist() == [1, 2]
    assert np.flatnonzero(seen[1]).tolist() == [1, 2, 3, 4]


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 8), st.integers(0, 8), st.integers(0, 8), st.integers(0, 8))
def test_visible_is_first_to_end_and_limit(first: int, end: int, limit: int, other: int) -> None:
    seen = np.asarray(visible(8, window(first, end), jnp.array([limit, other])))
    for problem, own in enumerate((limit, other)):
        assert np.flatnonzero(seen[problem]).tolist() == list(range(first, min(end, own)))


def test_compact_moves_the_window_to_the_front() -> None:
    memory, moved = compact(memories([1.0, 2.0, 3.0, 4.0, 5.0]), window(2, 4))
    assert bounds(moved) == (0, 2)
    assert contents(memory)[:2] == [3.0, 4.0]


def test_compact_leaves_a_window_at_the_front_alone() -> None:
    memory, moved = compact(memories([1.0, 2.0, 3.0]), window(0, 2))
    assert bounds(moved) == (0, 2)
    assert contents(memory) == [1.0, 2.0, 3.0]


# Forgetting.


def windows(policy: Policy, writes: int, start: Window | None = None) -> list[tuple[int, int]]:
    """The window before the first write and after each."""
    found = policy.window(window(0, 0) if start is None else start, jnp.arange(writes + 1))
    return list(zip(found.first.tolist(), found.end.tolist(), strict=True))


def test_nothing_is_forgotten_while_the_memory_grows() -> None:
    assert windows(Grow(), 50) == [(0, end) for end in range(51)]
    assert windows(Grow(), 50, window(3, 7)) == [(3, end) for end in range(7, 58)]


@pytest.mark.parametrize(
    ("limit", "drop", "before"),
    [(100, 60, 0), (100, 60, 1), (100, 60, 99), (100, 100, 0), (7, 1, 0), (7, 1, 6), (1, 1, 0), (5, 4, 3)],
)
def test_the_oldest_are_forgotten_when_the_memory_is_full(limit: int, drop: int, before: int) -> None:
    """A list that is cut whenever it is full, as the paper says of language modelling: at 100, by 60."""
    first = 2  # slots that were forgotten earlier
    remembered = list(range(first, first + before))
    start = window(first, first + before)
    expected = [(first, first + before)]
    for slot in range(first + before, first + before + 1000):
        remembered.append(slot)
        if len(remembered) >= limit:
            del remembered[:drop]
        expected.append((slot + 1 - len(remembered), slot + 1))
    assert windows(DropOldest(limit, drop), 1000, start) == expected


def test_the_numbers_of_the_paper() -> None:
    """99 memories stay; the 100th leaves 40, and so does every 60th from then on."""
    counts = [end - first for first, end in windows(DropOldest(), 1000)]
    assert counts[:102] == [*range(100), 40, 41]
    assert [writes for writes, count in enumerate(counts) if count == 40 and writes > 40] == [*range(100, 1001, 60)]
    assert max(counts) == 99


def test_what_was_carried_on_does_not_matter() -> None:
    """The window after 30 and 50 more writes is that after 80."""
    policy = DropOldest(7, 5)
    halfway = policy.window(window(0, 1), jnp.array(30))
    assert bounds(policy.window(halfway, jnp.array(50))) == bounds(policy.window(window(0, 1), jnp.array(80)))


@pytest.mark.parametrize(("limit", "drop"), [(100, 0), (100, 101), (0, 0), (-5, 2), (10, -1)])
def test_limits_that_make_no_sense_are_refused(limit: int, drop: int) -> None:
    with pytest.raises(LantmError, match="drop"):
        DropOldest(limit, drop)
    with pytest.raises(LantmError, match="drop"):
        _ = LantmConfig(memory_limit=limit, memory_drop=drop).policy


def test_a_limit_that_cannot_be_counted_to() -> None:
    """A file may have it, and a program would overflow."""
    with pytest.raises(LantmError, match=r"memory_limit is 2147483648: give a whole number up to 2,147,483,647"):
        _ = LantmConfig(memory_limit=2**31).policy
    assert LantmConfig(memory_limit=2**31 - 1).policy == DropOldest(2**31 - 1, 60)


def test_no_limit_is_no_forgetting() -> None:
    assert LantmConfig().policy == Grow()
    assert LantmConfig(memory_limit=100).policy == DropOldest(100, 60)
