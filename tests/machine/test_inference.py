"""Inference on long inputs: the same answers as the machine that trains, whatever its switches."""

import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import SEVERAL_HEADS, build, problems, quick, small_lantm

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.machine import Index, Inference, Lantm, Schedule, infer
from lantm.machine.state import State
from lantm.tasks import make_task

ROOT = Path(__file__).parents[2]
ALL_BLOCKS = Index(nearest=100, block=6)  # through the index, but with nothing left out

SWITCHES: list[dict] = [
    {},
    {"read_sees_write": True, "initial_slot": False, "geometry": "rotation", "weighting": "invnorm[power=2]"},
    {"geometry": "translation-3", "weighting": "softmax[renormalise=true]"},
    SEVERAL_HEADS | {"geometry": "scaling-rotation", "squash_vectors": "sigmoid", "initial_slot": False},
    {"settle_reads": True, "cell_bound": 0.5, "settle_cells": 0.05, "weighting": "invnorm[renormalise=true]"},
    SEVERAL_HEADS
    | {"settle_reads": True, "write_end": True, "read_sees_write": True}
    | {"weighting": "softmax", "tied_read_heads": 1, "geometry": "translation-1"}
    | {"cell_bound": 0.5, "settle_cells": 0.05},
]


@pytest.fixture(scope="module")
def machine_set_by_hand() -> Lantm:
    """A machine that copies inputs of any length: see examples/copy_by_hand.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(ROOT), *sys.path])
        from examples.copy_by_hand import copy_machine
    return copy_machine()


def names(changes: dict) -> str:
    return " ".join(f"{name}={value}" for name, value in changes.items()) or "default"


def copies(lengths: tuple[int, ...], longest: int) -> Batch:
    return make_task("copy").sample(jax.random.key(3), len(lengths), jnp.array(lengths), longest)


@quick
def trained_way(model: Lantm, batch: Batch) -> tuple[jax.Array, State]:
    """What the machine that trains says, and what it ends with."""
    carried = model.begin(batch.inputs.shape[1], batch.write_capacity)
    features, carried = model.run(batch.inputs, Schedule(batch.steps, batch.writes), carried)
    return jnp.argmax(model.readout(features), axis=-1), carried.state


def assert_same(found: Inference, model: Lantm, batch: Batch) -> None:
    """The same predictions at every step, and the same state in the end, which depends on all that was read."""
    predictions, state = trained_way(model, batch)
    steps = int(batch.steps)
    np.testing.assert_array_equal(found.predictions[:steps], predictions[:steps])
    for ours, theirs in zip(jax.tree.leaves(found.state), jax.tree.leaves(state), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9)


# The machine.


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(changes, marks=() if number in (3, 5) else pytest.mark.thorough)
        for number, changes in enumerate(SWITCHES)
    ],
    ids=names,
)
@pytest.mark.usefixtures("double_precision")
def test_every_step_is_the_machine_s(changes: dict) -> None:
    """At every step of problems of different lengths, in full and with all blocks read through the index."""
    model, batch = build(small_lantm(**changes)), problems(lengths=(9, 20, 14), longest=22)

    @quick
    def both(model: Lantm, batch: Batch) -> tuple[Inference, Inference]:
        return infer(model, batch, None), infer(model, batch, ALL_BLOCKS)

    in_full, by_blocks = both(model, batch)
    assert_same(in_full, model, batch)
    assert_same(by_blocks, model, batch)
    np.testing.assert_array_equal(by_blocks.bounds, 0)
    assert (in_full.full_reads, by_blocks.full_reads) == (batch.steps, 0)


@pytest.mark.parametrize("size", [1, *(pytest.param(size, marks=pytest.mark.thorough) for size in (7, 1000))])
@pytest.mark.usefixtures("double_precision")
def test_block_sizes_do_not_matter(size: int) -> None:
    """One memory a block, blocks that what a step writes does not divide, and a block for all."""
    model, batch = build(small_lantm(write_heads=2)), problems(lengths=(9, 20), longest=22)
    found = quick(lambda model, batch: infer(model, batch, Index(nearest=100, block=size)))(model, batch)
    assert_same(found, model, batch)


# The index.


def test_a_machine_set_by_hand_copies_through_the_index(machine_set_by_hand: Lantm) -> None:
    """Hundreds of symbols, of which a read looks at a few dozen exactly: all answers are right."""
    batch, index = copies((300, 211), longest=320), Index(nearest=4, block=8)

    @quick
    def both(model: Lantm, batch: Batch) -> tuple[Inference, Inference]:
        return infer(model, batch, index), infer(model, batch, None)

    found, in_full = both(machine_set_by_hand, batch)
    assert np.all((found.predictions == batch.targets) | ~batch.mask)
    assert found.full_reads == 0
    assert 0 < found.bounds.max() < index.tolerance
    np.testing.assert_array_equal(found.predictions, in_full.predictions)


@pytest.mark.usefixtures("double_precision")
def test_where_the_index_is_too_rough_the_memory_is_read_in_full() -> None:
    """The heads of this machine go about at random."""
    model, batch = build(small_lantm()), problems(lengths=(60, 41), longest=60)
    infer_some = quick(lambda model, batch: infer(model, batch, Index(nearest=4, block=4, tolerance=8e-4)))
    found = infer_some(model, batch)
    np.testing.assert_array_equal(found.predictions, trained_way(model, batch)[0])
    assert 0 < found.full_reads < batch.steps
    assert 0 < found.bounds.max() <= 8e-4


def test_memories_that_forget_are_refused() -> None:
    model = build(small_lantm(memory_limit=6, memory_drop=4))
    with pytest.raises(LantmError, match="memory_limit"):
        infer(model, problems())
