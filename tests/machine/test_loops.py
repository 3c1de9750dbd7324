"""Loops in blocks and slices under vmap: the same results as the plain ones, by cheaper means."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.machine import loops


@pytest.mark.parametrize("on_cpu", [True, False])
@pytest.mark.parametrize(("start", "end"), [(0, 0), (0, 1), (0, 7), (0, 8), (3, 11), (5, 30), (9, 9), (2, 18)])
def test_a_loop_takes_every_turn_once_and_in_order(
    monkeypatch: pytest.MonkeyPatch, on_cpu: bool, start: int, end: int
) -> None:
    """The bounds are traced, and there are more turns than a block has, fewer, and none."""
    monkeypatch.setattr(loops, "on_cpu", lambda: on_cpu)

    @jax.jit
    def run(start: jax.Array, end: jax.Array) -> tuple[jax.Array, jax.Array]:
        def note(i: jax.Array, carry: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            seen, count = carry
            return seen.at[count].set(i), count + 1

        return loops.loop(start, end, note, (jnp.full(40, -1), jnp.zeros((), int)))

    seen, count = run(jnp.asarray(start), jnp.asarray(end))
    assert int(count) == end - start
    assert seen[: end - start].tolist() == list(range(start, end))
    assert set(seen[end - start :].tolist()) <= {-1}


def test_a_gpu_asks_the_host_once_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loop inside has a length known when it is compiled."""
    monkeypatch.setattr(loops, "on_cpu", lambda: False)
    text = str(jax.make_jaxpr(lambda end: loops.loop(0, end, lambda i, c: c + i, 0))(jnp.asarray(20)))
    assert "scan[" in text
    assert "length=8" in text


@pytest.mark.parametrize("mapped", [(0, 0, None), (None, 0, None), (0, None, None), (0, 0, 0)])
def test_slices_are_put_as_by_plain_vmap(mapped: tuple[int | None, ...]) -> None:
    random = np.random.default_rng(0)
    shapes = [(3,) * (axis is not None) + shape for axis, shape in zip(mapped, ((5, 6, 2), (5, 2, 2)), strict=False)]
    array, slices = (jnp.asarray(random.normal(size=shape)) for shape in shapes)
    at = jnp.array([0, 3, 4]) if mapped[2] == 0 else jnp.array(3)
    ours = jax.vmap(lambda *a: loops.put_slices(*a, axis=1), in_axes=mapped)(array, slices, at)
    plain = jax.vmap(lambda a, s, i: jax.lax.dynamic_update_slice_in_dim(a, s, i, axis=1), in_axes=mapped)
    np.testing.assert_array_equal(ours, plain(array, slices, at))


@pytest.mark.parametrize("mapped", [(0, None), (None, 0), (0, 0)])
def test_slices_are_got_as_by_plain_vmap(mapped: tuple[int | None, ...]) -> None:
    array = jnp.arange(3 * 5 * 6.0).reshape(3, 5, 6) if mapped[0] == 0 else jnp.arange(5 * 6.0).reshape(5, 6)
    at = jnp.array([0, 3, 4]) if mapped[1] == 0 else jnp.array(3)
    ours = jax.vmap(lambda *a: loops.get_slices(*a, size=2, axis=1), in_axes=mapped)(array, at)
    plain = jax.vmap(lambda a, i: jax.lax.dynamic_slice_in_dim(a, i, 2, axis=1), in_axes=mapped)
    np.testing.assert_array_equal(ours, plain(array, at))


def test_rows() -> None:
    stack = loops.put_row(jnp.zeros((4, 2)), jnp.array([1.0, 2.0]), jnp.array(2))
    assert stack.tolist() == [[0, 0], [0, 0], [1, 2], [0, 0]]
    assert loops.get_row(stack, jnp.array(2)).tolist() == [1, 2]


def test_mapped_slices_at_a_shared_place_are_neither_gathered_nor_scattered() -> None:
    """Two levels of vmap, as when problems and seeds are mapped."""

    def exchange(array: jax.Array, at: jax.Array) -> jax.Array:
        return loops.put_row(array, 2 * loops.get_row(array, at), at)

    nested = jax.vmap(jax.vmap(exchange, in_axes=(0, None)), in_axes=(0, None))
    text = str(jax.make_jaxpr(nested)(jnp.zeros((2, 3, 4, 5)), jnp.array(1)))
    assert "dynamic_update_slice" in text
    assert "scatter" not in text
    assert "gather" not in text


@pytest.mark.parametrize("on_cpu", [True, False])
def test_a_loop_that_ends_before_it_starts_takes_no_turn(monkeypatch: pytest.MonkeyPatch, on_cpu: bool) -> None:
    monkeypatch.setattr(loops, "on_cpu", lambda: on_cpu)
    assert int(jax.jit(lambda end: loops.loop(5, end, lambda i, c: c + 1, 0))(jnp.asarray(2))) == 0
