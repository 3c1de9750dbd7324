"""Statistics of the heads on a long text: where they go, and how many memories their read weights are spread over."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from lantm.evaluation import reading
from lantm.machine import Lantm
from lantm.machine.memory import visible
from lantm.machine.state import Carried


class Footprints(NamedTuple):
    """What the heads did at every step of a text, in every column; read heads come before write heads."""

    keys: Float[Array, "time batch heads key"]  # plot coordinates if the key space has a rim
    shared: Float[Array, "time batch read_heads"]  # effective number of memories per read: 1 / sum of squared weights
    remembered: Int[Array, " time"]  # the number of readable memories


class Findings(NamedTuple):
    """The paper's two observations (section 4.3) as numbers; medians over columns."""

    first_read_norm: float  # norm of keys in the first hundredth of the steps
    last_read_norm: float  # in the last hundredth
    first_write_norm: float
    last_write_norm: float
    distance: float  # between the read key and the centre of the memories, in the second half
    spread: float  # root mean square distance of these memories from their centre
    shared_over: float  # effective number of memories per read, in the second half
    remembered: float  # readable memories, in the second half


def follow(model: Lantm, text: Int[Array, "time batch"]) -> Footprints:
    """Runs a machine over the columns of a text from its initial state, step by step."""
    access, batch_size = model.config.access, text.shape[1]

    def step(carried: Carried, given: tuple[Array, Array]) -> tuple[Carried, Footprints]:
        at, words = given
        _, after = reading.read_piece(model, words[None], carried, at)
        memory, window = carried.memory, carried.window
        if access.read_sees_write:
            memory, window = after.memory, after.window
        said = access.understand(model.layer.heads(after.state.controller.hidden))
        keys = after.state.position.keys
        limit = jnp.full(batch_size, window.end)
        seen = visible(memory.strengths.shape[1], window, limit)
        weights = access.weights(keys[:, : access.read_heads], said.temperatures, memory, seen)
        shares = weights / jnp.maximum(jnp.sum(weights, axis=-1, keepdims=True), jnp.finfo(weights.dtype).tiny)
        spread = 1 / jnp.maximum(jnp.sum(shares**2, axis=-1), jnp.finfo(weights.dtype).tiny)
        drawn = keys if access.geometry.rim is None else access.geometry.plane_coordinates(keys)
        return after, Footprints(drawn, spread, window.end - window.first)

    start = reading.begin(model, batch_size, 1)
    return lax.scan(step, start, (jnp.arange(len(text)), text))[1]


def find(model: Lantm, steps: Footprints) -> Findings:
    """Computes clusters and growth of keys from the footprints."""
    keys = np.asarray(steps.keys, np.float64)
    reads, writes = keys[:, :, : model.config.read_heads], keys[:, :, model.config.read_heads :]
    norms = [np.linalg.norm(locations, axis=-1) for locations in (reads, writes)]
    few, half = max(len(keys) // 100, 1), len(keys) // 2
    distances, spreads = [], []
    remembered = np.asarray(steps.remembered)
    heads = model.config.write_heads
    for at in range(max(half, 1), len(keys), few):  # about fifty steps of the second half
        memories = writes[max(0, at - max(1, remembered[at] // heads)) : at]
        middle = memories.mean(axis=(0, 2))
        distances.append(np.linalg.norm(reads[at] - middle[:, None], axis=-1))
        spreads.append(np.sqrt(np.mean(np.sum((memories - middle[:, None]) ** 2, axis=-1), axis=(0, 2))))
    return Findings(
        first_read_norm=float(np.median(norms[0][:few])),
        last_read_norm=float(np.median(norms[0][-few:])),
        first_write_norm=float(np.median(norms[1][:few])),
        last_write_norm=float(np.median(norms[1][-few:])),
        distance=float(np.median(distances)),
        spread=float(np.median(spreads)),
        shared_over=float(np.median(np.asarray(steps.shared)[half:])),
        remembered=float(np.median(remembered[half:])),
    )
