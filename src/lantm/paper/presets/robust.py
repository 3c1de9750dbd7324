"""The head settings of the recipe `robust` (docs/robust-recipe.md)."""

import dataclasses

from lantm.machine import LantmConfig


def with_robust_heads(machine: LantmConfig) -> LantmConfig:
    """The machine with heads that find a straight path early and stay on it."""
    return dataclasses.replace(
        machine,
        state_range=0.0,
        # The initial memory, though weak, would lie where all heads start and dominate their reads.
        initial_slot=False,
        # Two read heads: one is initialised to move with the write head, the other is independent.
        read_heads=2,
        tied_read_heads=1,
        # Memories are half a step apart: a read head with whole steps reads every second one.
        normalise_steps=True,
        initial_step=0.5,
        # Gates that close completely keep a head on its path at any length.
        gate_overshoot=0.1,
    )
