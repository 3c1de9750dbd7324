"""How heads move inside a kernel: `lantm.machine.access` for translations, coordinate by coordinate."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array

from lantm.machine.access import Access
from lantm.machine.kernel.sizes import scalar_columns


class Spoken(NamedTuple):
    """What the controller says to the heads in one step, number by number (or where these numbers are)."""

    keys: list[list[Any]]
    key_gates: list[Any]
    actions: list[list[Any]]
    action_gates: list[Any]
    strengths: list[Any]
    temperatures: list[Any]


class Moved(NamedTuple):
    """Where the heads have moved, and what else the numbers meant."""

    keys: list[list[Array]]
    actions: list[list[Array]]
    strengths: list[Array]
    temperatures: list[Array]


def columns(access: Access) -> Spoken:
    """The column of every number in the row of scalars: the order of `Access.sizes`, without vectors."""
    count = iter(range(scalar_columns(access)))
    dimension = access.geometry.key_size

    def take(size: int) -> list[int]:
        return [next(count) for _ in range(size)]

    return Spoken(
        keys=[take(dimension) for _ in range(access.heads)],
        key_gates=take(access.heads),
        actions=[take(dimension) for _ in range(access.heads)],
        action_gates=take(access.heads),
        strengths=take(access.write_heads),
        temperatures=take(access.sizes["temperatures"]),
    )


def move(access: Access, said: Spoken, keys: list[list[Array]], actions: list[list[Array]]) -> Moved:
    """`Access.understand` and `Access.move` for translations, coordinate by coordinate."""
    moved_keys, moved_actions = [], []
    for head in range(access.heads):
        bias = access.write_gate_bias
        writes = head >= access.read_heads
        tied, steady = head < access.tied_read_heads, head < access.steady_read_heads
        key_gate = access.gate(said.key_gates[head] + (bias if writes or tied else 0.0))
        action_gate = access.gate(said.action_gates[head] + (bias if writes or steady else 0.0))
        candidate, step = said.keys[head], said.actions[head]
        if access.squash_keys:
            candidate, step = [jnp.tanh(x) for x in candidate], [jnp.tanh(x) for x in step]
        if access.normalise_steps:
            scale = lax.rsqrt(sum((x * x for x in step), start=jnp.zeros_like(step[0])) + 1e-6)
            scale = scale * access.step_lengths[head] if access.step_lengths else scale
            step = [x * scale for x in step]
        if access.interpolate_actions:
            step = [action_gate * x + (1 - action_gate) * old for x, old in zip(step, actions[head], strict=True)]
        moved_actions.append(step)
        moved_keys.append(
            [key_gate * new + (1 - key_gate) * old + x for new, old, x in zip(candidate, keys[head], step, strict=True)]
        )
    return Moved(
        moved_keys,
        moved_actions,
        [jax.nn.sigmoid(raw) for raw in said.strengths],
        [jax.nn.softplus(raw) for raw in said.temperatures],
    )
