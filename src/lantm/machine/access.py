"""The paper's addressing procedure (section 3.3): turns controller outputs into head moves, reads and writes.

Nothing here is trained. The controller's output is an emission, a vector of numbers that this module interprets.
Training, evaluation and traces share this code.
"""

import math
from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lantm.errors import LantmError, check_at_least_one
from lantm.geometry import Geometry
from lantm.machine.gates import opened
from lantm.machine.memory import Memory
from lantm.machine.settling import neighbours, settle
from lantm.machine.weighting import Weighting


class Emission(NamedTuple):
    """The controller's instructions to the heads in one step; read heads come before write heads."""

    keys: Float[Array, "*batch heads key"]
    key_gates: Float[Array, "*batch heads"]
    actions: Float[Array, "*batch heads action"]
    action_gates: Float[Array, "*batch heads"]
    vectors: Float[Array, "*batch write_heads width"]
    strengths: Float[Array, "*batch write_heads"]
    temperatures: Float[Array, "*batch read_heads"] | None


class Position(NamedTuple):
    """The keys of the heads, and the actions that moved them there."""

    keys: Float[Array, "*batch heads key"]
    actions: Float[Array, "*batch heads action"]


class Access(eqx.Module):
    """The heads of a machine: their number, geometry, and the paper's switches.

    Every head receives a candidate key, a key gate, a candidate action and an action gate. A gate of 1 takes the
    candidate, 0 keeps the previous value. Write heads also receive a vector and its strength.
    """

    geometry: Geometry
    weighting: Weighting
    memory_width: int
    read_heads: int = 1
    write_heads: int = 1
    write_gate_bias: float = -10.0
    tied_read_heads: int = 0
    gate_overshoot: float = 0.0
    normalise_steps: bool = True
    interpolate_actions: bool = True
    interpolate_read_actions: bool = True
    squash_vectors: Literal["tanh", "sigmoid"] = "tanh"
    read_sees_write: bool = False
    settle_reads: bool = False

    def __check_init__(self) -> None:
        check_at_least_one(self, "read_heads", "write_heads")
        if not 0 <= self.gate_overshoot < math.inf:
            raise LantmError(f"gate_overshoot is {self.gate_overshoot}: give a number of at least 0")
        if not 0 <= self.tied_read_heads <= self.read_heads:
            raise LantmError(f"tied_read_heads is {self.tied_read_heads}: give at most {self.read_heads}")

    @property
    def heads(self) -> int:
        """The number of heads."""
        return self.read_heads + self.write_heads

    @property
    def direct_heads(self) -> int:
        """The number of heads, from the first read head on, that take every candidate action as it is."""
        if not self.interpolate_actions:
            return self.heads
        return 0 if self.interpolate_read_actions else self.read_heads

    @property
    def sizes(self) -> dict[str, int]:
        """The parts of an emission in order, with their sizes."""
        return {
            "keys": self.heads * self.geometry.raw_key_size,
            "key_gates": self.heads,
            "actions": self.heads * self.geometry.raw_action_size,
            "action_gates": self.heads,
            "vectors": self.write_heads * self.memory_width,
            "strengths": self.write_heads,
            "temperatures": self.read_heads if self.weighting.emits_temperature else 0,
        }

    @property
    def emission_size(self) -> int:
        """The size of an emission: 13 + memory width for the paper's InvNorm machine."""
        return sum(self.sizes.values())

    def squash(self, vector: Float[Array, "*batch width"]) -> Float[Array, "*batch width"]:
        """Bounds a memory vector, so that a large one cannot dominate the readings."""
        return jnp.tanh(vector) if self.squash_vectors == "tanh" else jax.nn.sigmoid(vector)

    def understand(self, raw: Float[Array, "*batch emission"]) -> Emission:
        """Splits the raw emission into its parts and applies the activations."""
        parts = {}
        start = 0
        for name, size in self.sizes.items():
            parts[name] = raw[..., start : start + size]
            start += size
        keys = parts["keys"].reshape(*raw.shape[:-1], self.heads, self.geometry.raw_key_size)
        steps = parts["actions"].reshape(*raw.shape[:-1], self.heads, self.geometry.raw_action_size)
        if self.normalise_steps:  # the paper's second tweak
            steps = normalised(steps)
        # The paper's first tweak: a negative bias of the write gates makes write heads initially move in straight
        # lines.
        bias, free = self.write_gate_bias, self.read_heads - self.tied_read_heads
        key_bias = jnp.array([bias] * self.tied_read_heads + [0.0] * free + [bias] * self.write_heads, raw.dtype)
        action_bias = jnp.array([0.0] * self.read_heads + [bias] * self.write_heads, raw.dtype)
        return Emission(
            keys=self.geometry.key(keys),
            key_gates=opened(parts["key_gates"] + key_bias, self.gate_overshoot),
            actions=self.geometry.action(steps),
            action_gates=opened(parts["action_gates"] + action_bias, self.gate_overshoot),
            vectors=self.squash(parts["vectors"]).reshape(*raw.shape[:-1], self.write_heads, self.memory_width),
            strengths=jax.nn.sigmoid(parts["strengths"]),
            temperatures=jax.nn.softplus(parts["temperatures"]) if self.weighting.emits_temperature else None,
        )

    def move(self, emission: Emission, before: Position) -> Position:
        """Moves every head: interpolates the action and the key, then applies the action to the key."""
        actions, direct = emission.actions, self.direct_heads
        if direct < self.heads:
            gates, candidates = emission.action_gates[..., direct:, None], actions[..., direct:, :]
            mixed = self.geometry.mix_actions(gates, candidates, before.actions[..., direct:, :])
            actions = jnp.concatenate([actions[..., :direct, :], mixed], axis=-2) if direct else mixed
        start = self.geometry.mix_keys(emission.key_gates[..., None], emission.keys, before.keys)
        return Position(self.geometry.act(actions, start), actions)

    def written(self, emission: Emission, position: Position) -> Memory:
        """The memories written in this step, one slot per write head."""
        return Memory(
            addresses=position.keys[..., self.read_heads :, :],
            vectors=emission.vectors,
            strengths=emission.strengths,
        )

    def distances(
        self, keys: Float[Array, "*batch read_heads key"], addresses: Float[Array, "*batch slots key"]
    ) -> Float[Array, "*batch read_heads slots"]:
        """The squared distances of every read head to every memory."""
        return self.geometry.squared_distance(keys[..., None, :], addresses[..., None, :, :])

    def weights(
        self,
        keys: Float[Array, "*batch read_heads key"],
        temperatures: Float[Array, "*batch read_heads"] | None,
        memory: Memory,
        visible: Bool[Array, "*batch slots"],
    ) -> Float[Array, "*batch read_heads slots"]:
        """The read weights of every read head."""
        distances = self.distances(keys, memory.addresses)
        return self.weighting(distances, memory.strengths[..., None, :], visible[..., None, :], temperatures)

    def read(
        self,
        keys: Float[Array, "batch read_heads key"],
        temperatures: Float[Array, "batch read_heads"] | None,
        memory: Memory,
        visible: Bool[Array, "batch slots"],
    ) -> Float[Array, "batch reading"]:
        """The concatenated readings of all read heads."""
        readings = self.weights(keys, temperatures, memory, visible) @ memory.vectors
        return readings.reshape(readings.shape[0], -1)

    def settle(self, position: Position, memory: Memory, visible: Bool[Array, "batch slots"]) -> Position:
        """The positions from which the next step begins: unchanged, or with settled read heads."""
        if not self.settle_reads:
            return position
        keys = position.keys[..., : self.read_heads, :]
        addresses = [memory.addresses[..., None, :, d] for d in range(memory.addresses.shape[-1])]
        found = neighbours(self.distances(keys, memory.addresses), addresses, visible[..., None, :])
        keys = jnp.concatenate([settle(keys, found), position.keys[..., self.read_heads :, :]], axis=-2)
        return Position(keys, position.actions)

    def settled_on(
        self, keys: Float[Array, "batch read_heads key"], memory: Memory, visible: Bool[Array, "batch slots"]
    ) -> Int[Array, "batch read_heads"]:
        """The slot that each read head settles on; -1 if it does not settle."""
        slots = jnp.arange(memory.strengths.shape[-1], dtype=keys.dtype)  # used instead of addresses
        found = neighbours(self.distances(keys, memory.addresses), [slots[None, None]], visible[..., None, :])
        return jnp.where(found.settled, found.address[0], -1).astype("int32")

    def read_backward(
        self,
        keys: Float[Array, "batch read_heads key"],
        temperatures: Float[Array, "batch read_heads"] | None,
        memory: Memory,
        visible: Bool[Array, "batch slots"],
        reading: Float[Array, "batch reading"],
        cotangent: Float[Array, "batch reading"],
    ) -> tuple[Float[Array, "batch read_heads key"], Float[Array, "batch read_heads"] | None, Memory]:
        """The cotangents of keys, temperatures and memory, given the `reading` that `read` returned.

        The reading is reused, which saves a sum over the memories.
        """
        shape = (reading.shape[0], self.read_heads, self.memory_width)
        reading, cotangent = reading.reshape(shape), cotangent.reshape(shape)
        visible = visible[..., None, :]
        distances, pull_distances = jax.vjp(self.distances, keys, memory.addresses)
        shared = self.weighting.share(distances, memory.strengths[..., None, :], visible, temperatures)
        gains = jnp.einsum("bhm,bsm->bhs", cotangent, memory.vectors)
        gain = jnp.sum(cotangent * reading, axis=-1, keepdims=True)
        d_distances, d_strengths, d_temperatures = self.weighting.pull_back(
            shared, gains, gain, distances, visible, temperatures
        )
        d_keys, d_addresses = pull_distances(d_distances)
        d_vectors = jnp.einsum("bhs,bhm->bsm", shared.weights, cotangent)
        return d_keys, d_temperatures, Memory(d_addresses, d_vectors, jnp.sum(d_strengths, axis=-2))


def normalised(step: Float[Array, "*batch action"]) -> Float[Array, "*batch action"]:
    """A step in the same direction with length approximately 1."""
    return step * jax.lax.rsqrt(jnp.sum(step**2, axis=-1, keepdims=True) + 1e-6)
