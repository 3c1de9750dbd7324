"""Recordings of one seed's training, epoch by epoch, for the viewer."""

import dataclasses
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lantm.evaluation import Recording, finite
from lantm.machine import LantmConfig
from lantm.machine.access import Access
from lantm.machine.memory import Memory
from lantm.trained import Trained


class Recorded(NamedTuple):
    """A recording of a seed after an epoch of its training."""

    epoch: int
    loss: float | None
    recording: Recording


def recorded_training(trained: Trained, seed: int, most: int) -> list[Recorded]:
    """At most `most` epochs of a seed's training, evenly spaced, with the first and the last; empty if not recorded.

    Recordings do not store read weights; they are recomputed here.
    """
    experiment, folder, history = trained.experiment, trained.folder, trained.history
    if most < 1 or folder is None or history is None or seed not in experiment.recorded:
        return []
    found = list(folder.recordings(trained.source, seed))
    places = np.unique(np.linspace(0, len(found) - 1, min(most, len(found))).round().astype(int))
    losses = dict(zip(history.epochs.tolist(), history.loss[:, experiment.seed_index(seed)].tolist(), strict=True))
    chosen = (found[place] for place in places)
    return [
        Recorded(epoch, finite(losses.get(epoch, np.nan)), with_read_weights(recording, experiment.machine))
        for epoch, recording in chosen
    ]


def with_read_weights(recording: Recording, machine: Any) -> Recording:
    """The recording with read weights; without them if the machine emits temperatures, which are not recorded."""
    heads = recording.heads
    if heads is None or heads.read_weights is not None or not isinstance(machine, LantmConfig):
        return recording
    access = machine.access
    if access.weighting.emits_temperature and heads.temperatures is None:
        return recording
    memories = heads.memories
    weights = _weigh(
        access,
        jnp.asarray(heads.read_keys),
        None if heads.temperatures is None else jnp.asarray(heads.temperatures),
        jnp.asarray(memories.addresses),
        jnp.asarray(memories.strengths),
        jnp.asarray(heads.seen),
    )
    return dataclasses.replace(recording, heads=dataclasses.replace(heads, read_weights=np.asarray(weights)))


@eqx.filter_jit
def _weigh(
    access: Access,
    keys: Float[Array, "time read_heads key"],
    temperatures: Float[Array, "time read_heads"] | None,
    addresses: Float[Array, "slots key"],
    strengths: Float[Array, " slots"],
    seen: Int[Array, "time 2"],
) -> Float[Array, "time read_heads slots"]:
    time, slots = keys.shape[0], strengths.shape[0]
    memory = Memory(
        jnp.broadcast_to(addresses, (time, *addresses.shape)),
        jnp.zeros((time, slots, access.memory_width)),
        jnp.broadcast_to(strengths, (time, slots)),
    )
    slot = jnp.arange(slots)
    return access.weights(keys, temperatures, memory, (slot >= seen[:, :1]) & (slot < seen[:, 1:]))
