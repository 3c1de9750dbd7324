"""Which read heads settle, and where, against plain NumPy; and what that is for."""

import dataclasses
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from examples.copy_by_hand import copy_machine
from lantm.evaluation import Recording, record
from lantm.machine import Lantm
from lantm.machine.settling import Neighbours, bounded_below, merge, neighbours, settle
from lantm.tasks import make_task

HEADS, SLOTS = 400, 5


class Case(NamedTuple):
    """Heads among memories. Squared distances are whole numbers, many of them equal or a ninth of another."""

    squared_distances: np.ndarray
    addresses: np.ndarray
    visible: np.ndarray


def draw(seed: int) -> Case:
    random = np.random.default_rng(seed)
    return Case(
        random.choice([0.0, 1, 2, 9, 10, 18, 19, 81], size=(HEADS, SLOTS)),
        random.normal(size=(SLOTS, 2)),
        random.random((HEADS, SLOTS)) < 0.7,
    )


def ours(case: Case, among: slice = slice(None)) -> Neighbours:
    """The neighbours among some of the memories."""
    addresses = [jnp.asarray(coordinate[among])[None] for coordinate in case.addresses.T]
    return neighbours(jnp.asarray(case.squared_distances[:, among]), addresses, jnp.asarray(case.visible[:, among]))


def by_numpy(case: Case) -> list[np.ndarray | None]:
    """The address that each head settles on, if it does: three times as near as the next one."""
    found: list[np.ndarray | None] = []
    for squared, visible in zip(case.squared_distances, case.visible, strict=True):
        seen = np.flatnonzero(visible)
        order = seen[np.argsort(squared[seen], kind="stable")]
        near = np.sqrt(squared[order])
        found.append(case.addresses[order[0]] if len(order) > 1 and 3 * near[0] < near[1] - 1e-9 else None)
    return found


def assert_settled(found: Neighbours, expected: list[np.ndarray | None]) -> None:
    assert np.asarray(found.settled).tolist() == [address is not None for address in expected]
    for at, address in enumerate(expected):
        if address is not None:
            np.testing.assert_allclose([coordinate[at] for coordinate in found.address], address, rtol=1e-6)


def test_the_one_memory_that_is_three_times_as_near() -> None:
    case = draw(0)
    expected = by_numpy(case)
    assert 0.2 < np.mean([address is None for address in expected]) < 0.8
    assert_settled(ours(case), expected)


@pytest.mark.parametrize("split", range(1, SLOTS))
def test_the_neighbours_among_two_parts_of_the_memory(split: int) -> None:
    """Whichever comes first; of some heads, a part has no memory that can be seen."""
    case = draw(1)
    one, other = ours(case, slice(split)), ours(case, slice(split, None))
    assert_settled(merge(one, other), by_numpy(case))
    assert_settled(merge(other, one), by_numpy(case))


@pytest.mark.parametrize(
    ("squared", "visible", "settles"),
    [
        ([1.0, 9.1], [True, True], True),
        ([1.0, 9.0], [True, True], False),  # three times as far, not more
        ([0.0, 4.0], [True, True], True),  # on the memory itself
        ([1.0, 1.0, 100.0], [True] * 3, False),  # between two that are equally near
        ([0.0, 0.0, 100.0], [True] * 3, False),  # on two at once
        ([1.0, 100.0], [True, False], False),  # alone: no measure of what is near
        ([1.0, 2.0, 100.0], [True, False, True], True),  # what was forgotten is not there
        ([1.0, 100.0], [False, False], False),
        ([np.nan, np.nan], [True, True], False),
        ([1.0, 100.0, np.nan], [True] * 3, False),  # diverged, so nothing is known to be near
        ([1.0, 100.0, np.nan], [True, True, False], True),
        ([1.0, np.inf], [True, True], False),
    ],
)
def test_who_settles(squared: list[float], visible: list[bool], settles: bool) -> None:
    slots = jnp.arange(len(squared), dtype=float)[None] + 5
    found = neighbours(jnp.array([squared]), [slots], jnp.array([visible]))
    assert found.settled.tolist() == [settles]
    keys = jnp.array([[-3.0]])
    assert settle(keys, found).tolist() == [[5.0 if settles else -3.0]]


def test_what_is_certain_about_a_part_of_the_memory() -> None:
    """Memories beyond a distance are not looked at. What is called certain holds wherever beyond it they are."""
    case, known = draw(2), slice(3)
    random = np.random.default_rng(3)
    beyond = random.choice([0.0, 1, 2, 9, 10, 81, np.inf], size=HEADS)
    found, certain = bounded_below(ours(case, known), jnp.asarray(beyond))
    assert 0.3 < np.mean(certain) < 0.95
    both = np.asarray(found.settled & certain), np.asarray(~found.settled & certain)
    assert min(np.sum(some) for some in both) > 20
    for factor in (1.0, 1.0, 1.5, 20.0):
        far = random.choice([1.0, factor], size=(HEADS, SLOTS - 3)) * beyond[:, None]
        elsewhere = case._replace(squared_distances=np.concatenate([case.squared_distances[:, known], far], axis=1))
        everything = ours(elsewhere)
        sure = np.flatnonzero(certain)
        assert np.asarray(found.settled)[sure].tolist() == np.asarray(everything.settled)[sure].tolist()
        settled = np.flatnonzero(np.asarray(everything.settled) & np.asarray(certain))
        np.testing.assert_array_equal(np.array(found.address)[:, settled], np.array(everything.address)[:, settled])


def test_the_gradient_goes_straight_through() -> None:
    """To the key as it was, whether it settles or not; none to the memory, and none to what is near."""
    keys = jnp.array([[0.1, 0.0], [0.5, 0.0]])
    addresses = jnp.array([[0.0, 0.0], [1.0, 0.0]])
    weights = jnp.array([[1.0, 2.0], [3.0, 4.0]])

    def settled(keys: jax.Array, addresses: jax.Array) -> jax.Array:
        squared = jnp.sum((keys[:, None] - addresses) ** 2, axis=-1)
        found = neighbours(squared, [coordinate[None] for coordinate in addresses.T], jnp.ones((1, 2), bool))
        return settle(keys, found)

    assert settled(keys, addresses).tolist() == [[0.0, 0.0], [0.5, 0.0]], "one settles, the other is in the middle"
    to_keys, to_addresses = jax.grad(lambda *given: jnp.sum(weights * settled(*given)), argnums=(0, 1))(keys, addresses)
    np.testing.assert_array_equal(to_keys, weights)
    np.testing.assert_array_equal(to_addresses, np.zeros((2, 2)))


def copies(settle_reads: bool, read_step: float, symbols: int) -> Recording:
    """The machine set by hand, with a read step of its own, on a random problem."""
    task, machine = make_task("copy"), copy_machine()
    config = dataclasses.replace(machine.config, settle_reads=settle_reads)
    shapes = eqx.filter_eval_shape(config.build, task.vocabulary, jax.random.key(0))
    model: Lantm = jax.tree.unflatten(jax.tree.structure(shapes), jax.tree.leaves(machine))
    steps = jnp.array([[read_step, 0.0], [1.0, 0.0]])
    model = eqx.tree_at(lambda model: model.layer.start.steps, model, steps)
    return record(model, task.sample(jax.random.key(0), 1, symbols, symbols))


def test_steps_that_are_too_long_do_not_add_up() -> None:
    """By 2%: without settling, the head is half a memory ahead after 25 symbols, and reads others from there on."""
    settles, drifts = (copies(settle_reads, read_step=1.02, symbols=300) for settle_reads in (True, False))
    assert settles.first_mistake is None
    # Symbol i is memory i + 1, after `<s>`; the first is found before the answer begins, the last step finds no more.
    start = settles.answer_start
    assert settles.heads.settled_on[start - 1 : -2, 0].tolist() == list(range(1, 301))
    np.testing.assert_allclose(settles.heads.keys[start:-2, 0, 0], np.arange(2, 301) + 1.02, rtol=1e-5)
    assert drifts.heads.settled_on is None
    assert np.sum(drifts.wrong >= 25) > 0.9 * (300 - 25)
