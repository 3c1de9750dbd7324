"""The heads of the recipe `robust` (docs/robust-recipe.md)."""

import dataclasses

from lantm.machine import LantmConfig


def with_robust_heads(machine: LantmConfig) -> LantmConfig:
    """The same machine with heads that find a line early and stay on it."""
    return dataclasses.replace(
        machine,
        state_range=0.0,
        # The faint slot of the start would lie where all heads begin, and drown what they read.
        initial_slot=False,
        # Two ways to read: one head starts out travelling with the write head, the other on its own.
        read_heads=2,
        tied_read_heads=1,
        # Memories half a step apart: a read head that takes whole steps takes every second of them.
        normalise_steps=True,
        initial_step=0.5,
        # Gates that close for good leave a head on its line, however long the line.
        gate_overshoot=0.1,
    )
