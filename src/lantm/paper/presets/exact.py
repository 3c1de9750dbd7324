"""The recipe `exact`: machines that stay correct at any length (docs/exact.md)."""

import dataclasses

from lantm.machine import LantmConfig
from lantm.paper.presets.robust import with_robust_heads
from lantm.tasks import make_task
from lantm.training import Recipe

_EXACT = Recipe(
    learning_rate=0.01,
    schedule="cosine",
    clip=1.0,
    epochs=1000,
    # Random problems hardly ever have what people try: long carries, nines, one symbol again and again.
    hard_share=0.2,
    # A controller that has learnt among noise keeps clear of the thresholds of its gates.
    noise=0.3,
    # Addition is learnt from the shortest problems on, bigramFlip is not: every second start begins with them.
    curriculum=0.06,
    curriculum_seeds="even",
    test_every=250,
    test_batches=5,
    test_scales=(1, 2, 4, 16),
    test_hard_scales=(1, 2, 16),
    shorter_first=True,
    starts=6,
)
"""One setting for all tasks and both weightings."""

_MOST_STEPS = 20
"""Tests have at most this many times the steps of the longest training problem."""

# A cell leaks by less than this where its gates are not quite closed, for a few symbols; more would hold back training.
SETTLE_CELLS = 0.001


def exact_machine(machine: LantmConfig) -> LantmConfig:
    """The same machine with heads that settle, a controller that neither counts nor wears, and its end in memory."""
    return dataclasses.replace(
        with_robust_heads(machine),
        forget_bias=1.0,
        settle_reads=True,
        cell_bound=1.0,
        controller_overshoot=0.1,
        settle_cells=SETTLE_CELLS,
        write_end=True,
    )


def exact_recipe(name: str) -> Recipe:
    """The training; without tests at 16x where problems grow faster than their length, as those of prioritySort do.

    A task of one's own is not imported for this.
    """
    if ":" in name:
        return _EXACT
    task = make_task(name)
    longest = task.train_lengths.largest

    def within_reach(scales: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(scale for scale in scales if task.steps(scale * longest) <= _MOST_STEPS * task.steps(longest))

    return dataclasses.replace(
        _EXACT,
        test_scales=within_reach(_EXACT.test_scales),
        test_hard_scales=within_reach(_EXACT.test_hard_scales),
    )


def exact_lengths(name: str) -> tuple[int, int] | None:
    """The paper's lengths, from the shortest problem that there is on: the paper begins at 2.

    A task of one's own keeps its lengths (None), and is not imported for this.
    """
    if ":" in name:
        return None
    lengths = make_task(name).train_lengths
    return lengths.stride, lengths.largest
