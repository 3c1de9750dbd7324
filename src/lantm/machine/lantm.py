"""The Lie access neural Turing machine: controller, heads and memory put together."""

import dataclasses
import math
from typing import Any, Literal, NamedTuple, get_args

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.geometry import make_geometry
from lantm.machine.access import Access, Position, normalised
from lantm.machine.backend import Backend
from lantm.machine.memory import DropOldest, Grow, Memory, Policy, Window, append, compact, visible
from lantm.machine.model import Linear, Model, Output, Trace, lstm_matrices
from lantm.machine.older_records import LANTM_CONSTANTS, with_weighting_options
from lantm.machine.recurrence import Machinery, Path, Schedule, State, Weights, recur
from lantm.machine.weighting import make_weighting
from lantm.records import drop_retired

Part = Literal["embedding", "controller", "heads", "output"]
_PARTS: tuple[Part, ...] = get_args(Part)
_INITIAL_STRENGTH_BIAS = -10.0  # the slot that is there before anything was written starts out faint


@dataclasses.dataclass(frozen=True)
class LantmConfig:
    """A Lie access machine. The defaults are the paper's for copy; each switch is explained in docs/machine.md."""

    weighting: str = "invnorm"
    """How distances become read weights: invnorm, softmax, with options as in invnorm[power=2], or module:Name."""
    geometry: str = "translation"
    """The key space and its group, of those that `lantm info` lists (docs/geometries.md), or module:Name."""
    cells: int = 50
    """Cells of the LSTM controller."""
    embedding: int = 7
    """Numbers that stand for a symbol."""
    memory_width: int = 20
    """Numbers in a memory vector."""
    read_heads: int = 1
    """Heads that read, each with a key of its own."""
    write_heads: int = 1
    """Heads that write, each adding a memory in every step of the input."""
    read_sees_write: bool = False
    """Whether a step reads what it has just written; the default reads first."""
    initial_slot: bool = True
    """Start with one learnable memory instead of an empty one."""
    squash_vectors: Literal["tanh", "sigmoid"] = "tanh"
    """How memory vectors are bounded."""
    normalise_steps: bool = True
    """The paper's second tweak: candidate steps of length about 1."""
    initial_step: float | None = None
    """Start with steps of this length, in random directions; by default their numbers are uniform in +-1."""
    write_gate_bias: float = -10.0
    """The paper's first tweak: added before the sigmoid of the write gates, so that writing goes straight on."""
    tied_read_heads: int = 0
    """So many read heads start out travelling with the write head: its key, its step, its bias on the key gate."""
    gate_overshoot: float = 0.0
    """Stretch gates by so much at both ends and cut them off, so that they can close and open for good."""
    interpolate_actions: bool = True
    """Mix each action with the one before it; otherwise the candidate is taken as it is."""
    memory_limit: int | None = None
    """Forget when the memory holds this many (continuous use: 100), all problems of a batch together."""
    memory_drop: int = 60
    """How many of the oldest memories are forgotten then."""
    weight_range: float | None = None
    """Start weights uniformly in +- this; by default +-1/sqrt(inputs), the embedding normally distributed."""
    weight_range_of: tuple[Part, ...] = _PARTS
    """The parts that `weight_range` is for; the others start as by default."""
    forget_bias: float | None = None
    """Start the forget gates' biases here; by default like the other weights."""
    state_range: float = 1.0
    """Start the initial hidden state, cell, reading and keys uniformly in +- this."""

    def __post_init__(self) -> None:
        for name in ("cells", "embedding", "memory_width", "read_heads", "write_heads"):
            if getattr(self, name) < 1:
                raise LantmError(f"{name} is {getattr(self, name)}: give a whole number from 1 on")
        if not 0 <= self.gate_overshoot < math.inf:
            raise LantmError(f"gate_overshoot is {self.gate_overshoot}: give a number from 0 on")
        self.access, self.policy  # noqa: B018 they check what they are made of
        if not 0 <= self.tied_read_heads <= self.read_heads:
            raise LantmError(f"tied_read_heads is {self.tied_read_heads}: there are {self.read_heads} read heads")

    @staticmethod
    def upgrade(values: dict[str, Any]) -> dict[str, Any]:
        """The fields of a record that an older version may have written, as this version has them.

        >>> LantmConfig.upgrade({"weighting": "invnorm", "power": 2.0, "squash_keys": False, "cells": 50})
        {'weighting': 'invnorm[power=2.0]', 'cells': 50}
        """
        return with_weighting_options(drop_retired(values, LANTM_CONSTANTS, "machine"))

    @property
    def access(self) -> Access:
        """The heads."""
        return Access(
            geometry=make_geometry(self.geometry),
            weighting=make_weighting(self.weighting),
            memory_width=self.memory_width,
            read_heads=self.read_heads,
            write_heads=self.write_heads,
            write_gate_bias=self.write_gate_bias,
            tied_read_heads=self.tied_read_heads,
            gate_overshoot=self.gate_overshoot,
            normalise_steps=self.normalise_steps,
            interpolate_actions=self.interpolate_actions,
            squash_vectors=self.squash_vectors,
            read_sees_write=self.read_sees_write,
        )

    @property
    def policy(self) -> Policy:
        """What is forgotten."""
        return Grow() if self.memory_limit is None else DropOldest(self.memory_limit, self.memory_drop)

    def build(self, vocabulary: int, key: PRNGKeyArray) -> "Lantm":
        """A machine with fresh weights."""
        return Lantm(self, vocabulary, key)


class Slot(eqx.Module):
    """The learnable memory that is there before anything was written."""

    key: Float[Array, " raw_key"]
    vector: Float[Array, " width"]
    strength: Float[Array, ""]


class Start(eqx.Module):
    """The learnable initial state (section 4.1 of the paper: "first fed a learnable initial state")."""

    hidden: Float[Array, " cells"]
    cell: Float[Array, " cells"]
    reading: Float[Array, " reading"]
    keys: Float[Array, "heads raw_key"]
    steps: Float[Array, "heads raw_action"]
    slot: Slot | None

    def __init__(self, config: LantmConfig, key: PRNGKeyArray):
        access = config.access
        keys = iter(jax.random.split(key, 8))

        def uniform(*shape: int, bound: float = config.state_range) -> Array:
            return jax.random.uniform(next(keys), shape, minval=-bound, maxval=bound)

        self.hidden = uniform(config.cells)
        self.cell = uniform(config.cells)
        self.reading = uniform(config.read_heads * config.memory_width)
        self.keys = uniform(access.heads, access.geometry.raw_key_size)
        self.steps = uniform(access.heads, access.geometry.raw_action_size, bound=1.0)
        if config.initial_step is not None:
            self.steps = normalised(self.steps) * config.initial_step
        tied = slice(config.tied_read_heads)
        self.keys = self.keys.at[tied].set(self.keys[-1])
        self.steps = self.steps.at[tied].set(self.steps[-1])
        self.slot = None
        if config.initial_slot:
            self.slot = Slot(
                uniform(access.geometry.raw_key_size),
                uniform(config.memory_width, bound=1.0),
                uniform(bound=1.0),
            )


class Carried(NamedTuple):
    """What a machine carries on from one piece of a text to the next."""

    state: State
    memory: Memory
    window: Window


class Lantm(Model):
    """LANTM-InvNorm and LANTM-SoftMax, and what the switches make of them."""

    config: LantmConfig = eqx.field(static=True)
    embedding: Float[Array, "vocabulary embedding"]
    symbols: Linear  # the symbol's share of the controller's input, with the controller's bias
    recurrent: Float[Array, "reading_and_cells four_cells"]
    heads: Linear
    readout: Linear
    start: Start

    def __init__(self, config: LantmConfig, vocabulary: int, key: PRNGKeyArray):
        keys = jax.random.split(key, 5)
        ranges = {part: config.weight_range if part in config.weight_range_of else None for part in _PARTS}
        self.config = config
        self.embedding = jax.random.normal(keys[0], (vocabulary, config.embedding))
        if (bound := ranges["embedding"]) is not None:
            self.embedding = jax.random.uniform(keys[0], self.embedding.shape, minval=-bound, maxval=bound)
        self.symbols, self.recurrent = lstm_matrices(
            config.embedding,
            config.read_heads * config.memory_width + config.cells,
            config.cells,
            keys[1],
            ranges["controller"],
            config.forget_bias,
        )
        self.heads = Linear(config.cells, config.access.emission_size, keys[2], ranges["heads"])
        self.readout = Linear(config.cells, vocabulary, keys[3], ranges["output"])
        self.start = Start(config, keys[4])

    def begin(self, batch_size: int, slots: int) -> Carried:
        """The learnable start for every problem of a batch, with room for `slots` steps of writing, not more."""
        access = self.config.access
        start = self.start

        def repeat(x: Array) -> Array:
            return jnp.broadcast_to(x, (batch_size, *x.shape))

        position = Position(repeat(access.geometry.key(start.keys)), repeat(access.geometry.action(start.steps)))
        state = State(repeat(jnp.tanh(start.reading)), repeat(start.hidden), repeat(start.cell), position)
        room = int(start.slot is not None) + slots * access.write_heads
        memory = Memory(
            jnp.zeros((batch_size, room, access.geometry.key_size)),
            jnp.zeros((batch_size, room, self.config.memory_width)),
            jnp.zeros((batch_size, room)),
        )
        zero = jnp.zeros((), jnp.int32)
        if start.slot is None:
            return Carried(state, memory, Window(zero, zero))
        slot = Memory(
            repeat(access.geometry.key(start.slot.key))[:, None],
            repeat(access.squash(start.slot.vector))[:, None],
            repeat(jax.nn.sigmoid(start.slot.strength + _INITIAL_STRENGTH_BIAS))[:, None],
        )
        return Carried(state, append(memory, slot, zero), Window(zero, zero + 1))

    def run(
        self, inputs: Int[Array, "time batch"], schedule: Schedule, carried: Carried, backend: Backend = "auto"
    ) -> tuple[Float[Array, "time batch cells"], Carried]:
        """The controller's output at every step; the memory carried on starts at its oldest memory."""
        path = self._recur(inputs, schedule, carried, backend)
        return path.states.hidden, Carried(path.state, *compact(path.memory, path.window))

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        """The answer and what the heads did for it; read weights on request, since they grow with time^2."""
        access = self.config.access
        carried = self.begin(batch.inputs.shape[1], batch.write_capacity)
        schedule = Schedule(batch.steps, batch.writes, batch.turn)
        path = self._recur(batch.inputs, schedule, carried, backend)
        said = access.understand(path.emissions)
        times = jnp.arange(batch.inputs.shape[0])
        windows = Machinery(access, self.config.policy).seen(carried.window, times, schedule)
        weights = None
        if read_weights:
            limit = carried.window.end + access.write_heads * batch.writes

            def weigh(keys: Array, temperatures: Array | None, window: Window) -> Array:
                seen = visible(path.memory.strengths.shape[1], window, limit)
                return access.weights(keys[:, : access.read_heads], temperatures, path.memory, seen)

            weights = jax.vmap(weigh)(path.states.position.keys, said.temperatures, windows)
        trace = Trace(
            keys=path.states.position.keys,
            actions=path.states.position.actions,
            key_gates=said.key_gates,
            action_gates=said.action_gates,
            strengths=said.strengths,
            temperatures=said.temperatures,
            readings=path.states.reading,
            memory=path.memory,
            windows=windows,
            read_weights=weights,
        )
        return Output(self.readout(path.states.hidden), trace)

    def _recur(self, inputs: Int[Array, "time batch"], schedule: Schedule, carried: Carried, backend: Backend) -> Path:
        weights = Weights(self.recurrent, self.heads.weight, self.heads.bias)
        given = self.symbols(self.embedding[inputs])
        return recur(self.config.access, self.config.policy, weights, given, *carried, schedule, backend)
