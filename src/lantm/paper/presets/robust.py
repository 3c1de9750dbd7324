"""The head settings of the recipe `robust` (docs/robust-recipe.md)."""

import dataclasses

from lantm.machine import LantmConfig


def with_robust_heads(machine: LantmConfig) -> LantmConfig:
    """The same machine with heads that find a line early and stay on it."""
    return dataclasses.replace(
        machine,
        state_range=0.0,
        # The faint initial memory would lie where all heads begin, and dominate what they read.
        initial_slot=False,
        # Two ways to read: one head is initialised to move with the write head, the other is independent.
        read_heads=2,
        tied_read_heads=1,
        # Memories half a step apart: a read head that takes whole steps reads every second one.
        normalise_steps=True,
        initial_step=0.5,
        # Gates that close completely keep a head on its line, however long the line is.
        gate_overshoot=0.1,
    )
