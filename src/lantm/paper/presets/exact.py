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
    # Random problems hardly ever contain long carries, runs of nines or repeated symbols.
    hard_share=0.2,
    # A controller trained with noise keeps its preactivations away from the gates' thresholds.
    noise=0.3,
    # Addition is learnt with a curriculum, bigramFlip without one: every second start has one.
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

# Larger than the leak of a cell over a few symbols while its gates are almost closed; a larger value slows training.
SETTLE_CELLS = 0.001


def exact_machine(machine: LantmConfig) -> LantmConfig:
    """The machine with settling heads, bounded cells that settle, and the end of the input in memory."""
    return dataclasses.replace(
        with_robust_heads(machine),
        forget_bias=1.0,
        settle_reads=True,
        cell_bound=1.0,
        controller_overshoot=0.1,
        settle_cells=SETTLE_CELLS,
        write_end=True,
    )


def exact_training(name: str) -> tuple[Recipe, tuple[int, int] | None]:
    """The recipe, and the paper's lengths extended to the shortest possible problem: the paper starts at 2.

    There are no tests at 16x for tasks whose problems grow faster than their length, such as prioritySort. A user's
    task is not imported for this, and keeps its lengths (None).
    """
    if ":" in name:
        return _EXACT, None
    task = make_task(name)
    lengths = task.train_lengths

    def within_reach(scales: tuple[int, ...]) -> tuple[int, ...]:
        most = _MOST_STEPS * task.steps(lengths.largest)
        return tuple(scale for scale in scales if task.steps(scale * lengths.largest) <= most)

    recipe = dataclasses.replace(
        _EXACT,
        test_scales=within_reach(_EXACT.test_scales),
        test_hard_scales=within_reach(_EXACT.test_hard_scales),
    )
    return recipe, (lengths.stride, lengths.largest)
