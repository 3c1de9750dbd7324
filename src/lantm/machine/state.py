"""Data types of the recurrence, shared by all implementations: weights, state, schedule, saved path, cotangents."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.machine.access import Access, Position
from lantm.machine.backend import Kernels
from lantm.machine.controller import CellKind
from lantm.machine.memory import Memory, Policy, Window


class Weights(NamedTuple):
    """The trained matrices inside the loop; the input's share of the preactivation comes from outside."""

    recurrent: Float[Array, "reading_and_cells four_cells"]
    heads: Float[Array, "cells emission"]
    heads_bias: Float[Array, " emission"]


def weights_gradient(
    joined: Float[Array, "time batch inputs"],
    hidden: Float[Array, "rows batch cells"],
    preactivations: Float[Array, "time batch four_cells"],
    emissions: Float[Array, "rows batch emission"],
) -> Weights:
    """From what went into the products of every step, and the cotangents of what came out of them."""
    return Weights(
        recurrent=jnp.einsum("tbi,tbj->ij", joined, preactivations),
        heads=jnp.einsum("tbi,tbj->ij", hidden, emissions),
        heads_bias=jnp.sum(emissions, axis=(0, 1)),
    )


class State(NamedTuple):
    """The small state that is carried from step to step, beside the memory."""

    reading: Float[Array, "*time batch reading"]
    controller: Any  # of an LSTM a `CellState`, of a controller of one's own whatever it carries
    position: Position


class Schedule(NamedTuple):
    """How long to run, given at run time."""

    steps: Int[Array, ""]
    writes: Int[Array, " batch"]  # in its first `writes` steps, a problem writes to its memory
    turn_at: Int[Array, ""] | None = None  # where no problem writes any more, if known; at least all of `writes`

    @property
    def turn(self) -> Int[Array, ""]:
        """The step from which on no problem writes; what a short one writes before it, it never sees."""
        return jnp.max(self.writes) if self.turn_at is None else self.turn_at


class Noise(NamedTuple):
    """What is added to the controller's preactivations while it learns, so that it learns to be clear about them."""

    key: PRNGKeyArray
    scale: float  # the standard deviation


class Path(NamedTuple):
    """What happened: the small states after every step, and what the machine ended with."""

    states: State  # with a leading axis of time; rows from `steps` on are zero
    emissions: Float[Array, "time batch emission"]
    state: State
    memory: Memory
    window: Window


class Carried(NamedTuple):
    """What a batch of problems carries on from one run to the next."""

    state: State
    memory: Memory
    window: Window


class Pulled(NamedTuple):
    """The cotangents that a backward pass finds; those of the weights follow from the first two."""

    preactivations: Float[Array, "time batch four_cells"]
    emissions: Float[Array, "time batch emission"]
    start: State
    memory: Memory


class Machinery(NamedTuple):
    """What is the same for every run of a machine: how its heads work, what its memory forgets, and what runs it."""

    access: Access
    policy: Policy
    cell: CellKind = CellKind()
    kernels: Kernels | None = None  # otherwise the loops

    def slot(self, start: Window, step: Int[Array, "*steps"]) -> Int[Array, "*steps"]:
        """The first slot that is written in a step."""
        return start.end + self.access.write_heads * step

    def seen(self, start: Window, step: Int[Array, "*steps"], schedule: Schedule) -> Window:
        """What a step's reading can see; the step after the last sees what is left in the end."""
        if self.access.read_sees_write:
            return self.left(start, step, schedule)
        return self.policy.window(start, self.access.write_heads * jnp.minimum(step, schedule.turn))

    def left(self, start: Window, step: Int[Array, "*steps"], schedule: Schedule) -> Window:
        """What is remembered after a step, with what it has written."""
        return self.policy.window(start, self.access.write_heads * jnp.minimum(step + 1, schedule.turn))

    def limit(self, start: Window, schedule: Schedule) -> Int[Array, " batch"]:
        """The slot where each problem's own writing ends."""
        return start.end + self.access.write_heads * schedule.writes
