"""Data types of the recurrence, shared by all implementations: weights, state, schedule, saved path, cotangents."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from lantm.machine.access import Access, Position
from lantm.machine.backend import Kernels
from lantm.machine.controller import CellKind
from lantm.machine.memory import Memory, Policy, Window


class Weights(NamedTuple):
    """The trained matrices used inside the loop; the input's contribution to the preactivations is computed outside."""

    recurrent: Float[Array, "reading_and_cells four_cells"]
    heads: Float[Array, "cells emission"]
    heads_bias: Float[Array, " emission"]


def weights_gradient(
    joined: Float[Array, "time batch inputs"],
    hidden: Float[Array, "rows batch cells"],
    preactivations: Float[Array, "time batch four_cells"],
    emissions: Float[Array, "rows batch emission"],
) -> Weights:
    """The gradients of `Weights`, from the inputs of all matrix products and the cotangents of their outputs."""
    return Weights(
        recurrent=jnp.einsum("tbi,tbj->ij", joined, preactivations),
        heads=jnp.einsum("tbi,tbj->ij", hidden, emissions),
        heads_bias=jnp.sum(emissions, axis=(0, 1)),
    )


class State(NamedTuple):
    """The small state carried from step to step, besides the memory."""

    reading: Float[Array, "*time batch reading"]
    controller: Any  # `CellState` for the LSTM, otherwise the custom controller's state
    position: Position


class Schedule(NamedTuple):
    """The number of steps, given at run time."""

    steps: Int[Array, ""]
    writes: Int[Array, " batch"]  # a problem writes to its memory in its first `writes` steps
    turn_at: Int[Array, ""] | None = None  # the step after which no problem writes, if known; >= all of `writes`

    @property
    def turn(self) -> Int[Array, ""]:
        """The step from which on no problem writes. What a shorter problem writes between its `writes` and it is
        masked."""
        return jnp.max(self.writes) if self.turn_at is None else self.turn_at


class Path(NamedTuple):
    """The saved path of a run: the small states after every step, and the final state."""

    states: State  # with a leading time axis; rows from `steps` on are zero
    emissions: Float[Array, "time batch emission"]
    state: State
    memory: Memory
    window: Window


class Carried(NamedTuple):
    """The state of a batch, carried from one run to the next."""

    state: State
    memory: Memory
    window: Window


class Pulled(NamedTuple):
    """The cotangents computed by a backward pass; those of the weights are computed from the first two."""

    preactivations: Float[Array, "time batch four_cells"]
    emissions: Float[Array, "time batch emission"]
    start: State
    memory: Memory


class Machinery(NamedTuple):
    """The static part of a machine: addressing, memory policy, cell kind, and the kernels that run it."""

    access: Access
    policy: Policy
    cell: CellKind = CellKind()
    kernels: Kernels | None = None  # None: loops

    def slot(self, start: Window, step: Int[Array, "*steps"]) -> Int[Array, "*steps"]:
        """The first slot written in a step."""
        return start.end + self.access.write_heads * step

    def seen(self, start: Window, step: Int[Array, "*steps"], schedule: Schedule) -> Window:
        """The window visible to a step's reading; for the step after the last, the final window."""
        if self.access.read_sees_write:
            return self.left(start, step, schedule)
        return self.policy.window(start, self.access.write_heads * jnp.minimum(step, schedule.turn))

    def left(self, start: Window, step: Int[Array, "*steps"], schedule: Schedule) -> Window:
        """The window after a step, including what it wrote."""
        return self.policy.window(start, self.access.write_heads * jnp.minimum(step + 1, schedule.turn))

    def limit(self, start: Window, schedule: Schedule) -> Int[Array, " batch"]:
        """The slot where each problem's own writing ends."""
        return start.end + self.access.write_heads * schedule.writes
