"""The kernel that goes back through what the forward kernel did."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array

from lantm.machine.gates import pull_gate
from lantm.machine.kernel.block import Block, within
from lantm.machine.kernel.heads import Moved, move, squared_distances
from lantm.machine.kernel.sizes import ROWS, Saved, Sizes, scalar_columns
from lantm.machine.kernel.weights import products
from lantm.machine.memory import Memory
from lantm.machine.state import Machinery


def backward_kernel(machinery: Machinery, sizes: Sizes, *refs: Any) -> None:
    """From the cotangents of a block's hidden states to those of all that led to them, last step first."""
    numbers, limits, d_hiddens, recurrent, scalar_weights, vector_weights, *rest = refs
    saved, memory = Saved(*rest[:10]), Memory(*rest[10:13])
    results = rest[16:]  # behind the three that the memory's cotangent begins as
    d_preactivations, d_scalars, d_vectors = results[:3]
    d_start_reading, d_start_hidden, d_start_cell, d_start_keys, d_start_actions = results[3:8]
    d_memory = Memory(*results[8:])
    access = machinery.access
    block = Block(machinery, sizes, numbers, limits)
    cells, width, every = sizes.cells, access.memory_width, slice(None)
    geometry, heads = access.geometry, range(access.read_heads)
    dimension = geometry.key_size
    weighting, columns = access.weighting, scalar_columns(access)
    weights = products(block, recurrent, scalar_weights, vector_weights)

    def read_back(t: Array, keys: Any, temperatures: Any, cotangents: list[Array]) -> Any:
        """Adds to the memory's cotangent; returns those of the read keys and temperatures."""
        seen = block.seen(t)
        totals = [block.load(saved.totals, t, every, h) for h in heads]
        nearest = [block.load(saved.nearest, t, every, h) for h in heads]
        gain = [
            jnp.sum(c * block.row(saved.reading, t + 1, every, h, size=width, padded=block.width), axis=1)
            for h, c in enumerate(cotangents)
        ]

        def look(at: Array, carry: Any) -> Any:
            (addresses, strengths, vectors), visible, mask = block.chunk(memory, at, seen)
            (old_addresses, old_strengths, old_vectors), _, _ = block.chunk(d_memory, at, seen)
            found = []
            for h, (d_key, d_temperature) in enumerate(carry):
                temperature = temperatures[h] if temperatures else None
                distances, pull = jax.vjp(partial(squared_distances, access), keys[h], addresses)
                affinities = weighting.visible_affinities(distances, visible, temperature, nearest[h][:, None])
                shared = weighting.shared(affinities, strengths, totals[h][:, None])
                gains = jnp.sum(cotangents[h][:, None, :] * vectors, axis=2)
                d_distances, d_strengths, d_warmth = weighting.pull_back(
                    shared, gains, gain[h][:, None], distances, visible, temperature, nearest[h][:, None]
                )
                pulled, d_addresses = pull(d_distances)
                found.append(
                    (
                        [d + new for d, new in zip(d_key, pulled, strict=True)],
                        d_temperature if d_warmth is None else d_temperature + d_warmth,
                    )
                )
                old_addresses = [d + new for d, new in zip(old_addresses, d_addresses, strict=True)]
                old_strengths = old_strengths + d_strengths
                old_vectors = old_vectors + shared.weights[:, :, None] * cotangents[h][:, None, :]
            size = block.chunk_size
            begin = at * size
            some = pl.ds(begin, size)
            inside = begin + lax.broadcasted_iota(jnp.int32, (ROWS, size), 1) < sizes.slots
            for d in range(dimension):
                block.store(d_memory.addresses, old_addresses[d], every, some, d, mask=inside)
            block.store(d_memory.strengths, old_strengths, every, some, mask=inside)
            block.store(d_memory.vectors, old_vectors, every, some, pl.ds(block.zero, block.width), mask=mask)
            return found

        nothing = jnp.zeros((ROWS,), cotangents[0].dtype)
        return lax.fori_loop(*block.chunks(seen), look, [([nothing] * dimension, nothing) for _ in heads])

    def step_back(i: Array, carry: Any) -> Any:
        d_readings, d_hidden, d_cell, d_keys, d_actions = carry
        t = block.steps - 1 - i
        d_hidden = d_hidden + block.row(d_hiddens, t, every, size=cells, padded=block.cells)
        emission = block.columns(block.row(saved.scalars, t, every, size=columns, padded=block.scalars))
        before = block.points(saved.keys, dimension, t), block.points(saved.actions, geometry.action_size, t)
        moved, pull = jax.vjp(partial(move, access), emission, *before)
        found = read_back(t, moved.keys[: access.read_heads], moved.temperatures, d_readings)
        block.barrier()  # what one thread has added, others are about to read
        writing = jnp.broadcast_to(t < block.turn, (ROWS,))
        d_strengths, d_raw_vectors = [], []
        d_keys = [
            [a + b for a, b in zip(key, found[h][0], strict=True)] if h in heads else key
            for h, key in enumerate(d_keys)
        ]
        for w in range(access.write_heads):
            slot = jnp.minimum(block.start.end + access.write_heads * t + w, sizes.slots - 1)
            head = access.read_heads + w
            d_keys[head] = [
                d + block.load(d_memory.addresses, every, slot, c, mask=writing) for c, d in enumerate(d_keys[head])
            ]
            d_strengths.append(block.load(d_memory.strengths, every, slot, mask=writing))
            column = within((ROWS, block.width), {1: width})
            mask = jnp.broadcast_to(writing[:, None], (ROWS, block.width))
            mask = mask if column is None else mask & column
            d_vector = block.load(d_memory.vectors, every, slot, pl.ds(block.zero, block.width), mask=mask)
            raw = block.row(saved.vectors, t, every, w, size=width, padded=block.width)
            _, pull_vector = jax.vjp(access.squash, raw)
            d_raw_vectors.append(pull_vector(d_vector)[0])
            block.put_row(d_vectors, d_raw_vectors[w], t + 1, every, w, size=width)
        d_temperatures = [found[h][1] for h in heads] if moved.temperatures else []
        d_emission, d_keys, d_actions = pull(Moved(d_keys, d_actions, d_strengths, d_temperatures))
        d_row = block.from_columns(d_emission)
        block.put_row(d_scalars, d_row, t + 1, every, size=columns)
        d_hidden = d_hidden + weights.hidden_cotangent(t + 1, d_vectors, d_row, d_raw_vectors)

        gate, forget, out, new = (block.row(saved.gates, t, every, g, size=cells, padded=block.cells) for g in range(4))
        old_cell = block.row(saved.cell, t, every, size=cells, padded=block.cells)
        new_cell = block.row(saved.cell, t + 1, every, size=cells, padded=block.cells)
        squashed = jnp.tanh(new_cell)
        d_cell = d_cell + d_hidden * out * (1 - squashed * squashed)
        d_cell = machinery.cell.pull(d_cell, forget * old_cell + gate * new)
        d_sums = [
            pull_gate(d_cell * new, gate, machinery.cell.overshoot),
            pull_gate(d_cell * old_cell, forget, machinery.cell.overshoot),
            pull_gate(d_hidden * squashed, out, machinery.cell.overshoot),
            d_cell * gate * (1 - new * new),
        ]
        for g, d_sum in enumerate(d_sums):
            block.put_row(d_preactivations, d_sum, t, every, g, size=cells)
        d_readings, d_hidden = weights.state_cotangents(t, d_preactivations, d_sums)
        return d_readings, d_hidden, d_cell * forget, d_keys, d_actions

    dtype = memory.strengths.dtype
    nothing = jnp.zeros((ROWS,), dtype)
    start = (
        [jnp.zeros((ROWS, block.width), dtype) for _ in heads],
        jnp.zeros((ROWS, block.cells), dtype),
        jnp.zeros((ROWS, block.cells), dtype),
        [[nothing] * dimension for _ in range(access.heads)],
        [[nothing] * geometry.action_size for _ in range(access.heads)],
    )
    d_readings, d_hidden, d_cell, d_keys, d_actions = lax.fori_loop(0, block.steps, step_back, start)
    for h in heads:
        block.put_row(d_start_reading, d_readings[h], every, h, size=width)
    block.put_row(d_start_hidden, d_hidden, every, size=cells)
    block.put_row(d_start_cell, d_cell, every, size=cells)
    block.put_points(d_start_keys, d_keys)
    block.put_points(d_start_actions, d_actions)

    def idle(t: Array, carry: Any) -> Any:
        for g in range(4):
            block.put_row(d_preactivations, jnp.zeros((ROWS, block.cells), dtype), t, every, g, size=cells)
        after = jnp.where(t == sizes.time, 0, t + 1)  # rows of emissions lie one later; none leads to row 0
        block.put_row(d_scalars, jnp.zeros((ROWS, block.scalars), dtype), after, every, size=columns)
        for w in range(access.write_heads):
            block.put_row(d_vectors, jnp.zeros((ROWS, block.width), dtype), after, every, w, size=width)
        return carry

    lax.fori_loop(block.steps, sizes.time + 1, idle, 0)
