"""Loops and slices at positions that are known at run time only."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.machine.loops import get_row, get_slices, loop, put_row, put_slices

ARRAY = np.arange(2 * 3 * 5 * 4.0).reshape(2, 3, 5, 4)
SLICES = -np.arange(1, 2 * 3 * 2 * 4 + 1.0).reshape(2, 3, 2, 4)


@pytest.fixture(params=["cpu", "gpu"])
def turns(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Callable[[int, int], list[int]]:
    """The turns of a loop in their order, done in blocks (as on a GPU) or not."""
    monkeypatch.setattr(jax, "default_backend", lambda: request.param)

    @jax.jit
    def run(start: jax.Array, end: jax.Array) -> tuple[jax.Array, jax.Array]:
        def note(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            noted, count = carry
            return noted.at[count].set(i), count + 1

        return loop(start, end, note, (jnp.full(40, -1), jnp.array(0)))

    def in_order(start: int, end: int) -> list[int]:
        noted, count = run(jnp.array(start), jnp.array(end))
        return noted[:count].tolist()

    return in_order


def test_loop_is_range(turns: Callable[[int, int], list[int]]) -> None:
    for start, end in [(0, 0), (0, 1), (0, 7), (0, 8), (0, 9), (3, 3), (3, 30), (5, 21), (2, 34)]:
        assert turns(start, end) == list(range(start, end))


def test_a_loop_that_ends_before_it_starts_has_no_turns(turns: Callable[[int, int], list[int]]) -> None:
    for start, end in [(4, 1), (9, 0), (8, 0)]:
        assert turns(start, end) == []


def test_rows_and_slices() -> None:
    expected = ARRAY[0, 0].copy()
    expected[3] = 7.0
    np.testing.assert_array_equal(put_row(jnp.array(ARRAY[0, 0]), jnp.full(4, 7.0), jnp.array(3)), expected)
    np.testing.assert_array_equal(get_row(jnp.array(ARRAY[0, 0]), jnp.array(3)), ARRAY[0, 0, 3])

    expected = ARRAY[0].copy()
    expected[:, 2:4] = SLICES[0]
    np.testing.assert_array_equal(put_slices(jnp.array(ARRAY[0]), SLICES[0], jnp.array(2), axis=1), expected)
    np.testing.assert_array_equal(get_slices(jnp.array(ARRAY[0]), jnp.array(2), 2, axis=1), ARRAY[0, :, 2:4])


@pytest.mark.parametrize("mapped", [(0, 0, None), (None, 0, None), (0, None, None), (0, 0, 0), (None, None, 0)])
def test_slices_are_put_alike_when_mapped_over(mapped: tuple[int | None, ...]) -> None:
    """What is mapped over may be any of the array, the slices and the position."""
    given = (ARRAY, SLICES, np.array([1, 3]))
    array, slices, at = (value if axis == 0 else value[0] for value, axis in zip(given, mapped, strict=True))
    put = jax.vmap(lambda array, slices, at: put_slices(array, slices, at, axis=1), in_axes=mapped)
    ours = put(jnp.array(array), jnp.array(slices), jnp.array(at))
    for seed in range(2):
        expected = (array[seed] if mapped[0] == 0 else array).copy()
        position = at[seed] if mapped[2] == 0 else at
        expected[:, position : position + 2] = slices[seed] if mapped[1] == 0 else slices
        np.testing.assert_array_equal(ours[seed], expected)


@pytest.mark.parametrize("mapped", [(0, None), (0, 0), (None, 0)])
def test_slices_are_got_alike_when_mapped_over(mapped: tuple[int | None, ...]) -> None:
    array, at = (
        value if axis == 0 else value[0] for value, axis in zip((ARRAY, np.array([1, 3])), mapped, strict=True)
    )
    get = jax.vmap(lambda array, at: get_slices(array, at, 2, axis=1), in_axes=mapped)
    ours = get(jnp.array(array), jnp.array(at))
    for seed in range(2):
        position = at[seed] if mapped[1] == 0 else at
        expected = (array[seed] if mapped[0] == 0 else array)[:, position : position + 2]
        np.testing.assert_array_equal(ours[seed], expected)


def test_mapped_slices_stay_slices() -> None:
    """The reason for all this: no gathers and no scatters, also when mapped over twice."""

    def copy_a_row(array: jax.Array, at: jax.Array) -> jax.Array:
        return put_row(array, get_row(array, at), at + 1)

    twice = jax.vmap(jax.vmap(copy_a_row, in_axes=(0, None)), in_axes=(0, None))
    program = str(jax.make_jaxpr(twice)(ARRAY, 1))
    assert "dynamic_slice" in program
    assert "dynamic_update_slice" in program
    assert "gather" not in program
    assert "scatter" not in program
