"""The kernel that runs a machine forward."""

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl
from jaxtyping import Array

from lantm.machine.gates import opened
from lantm.machine.kernel.block import Block, within
from lantm.machine.kernel.heads import move
from lantm.machine.kernel.sizes import ROWS, Saved, Sizes, scalar_columns
from lantm.machine.kernel.weights import products
from lantm.machine.memory import Memory
from lantm.machine.state import Machinery


def forward_kernel(machinery: Machinery, sizes: Sizes, *refs: Any) -> None:
    """All steps of a block of problems."""
    numbers, limits, inputs, recurrent, scalar_weights, scalar_biases, vector_weights, vector_biases, *rest = refs
    start_reading, start_hidden, start_cell, start_keys, start_actions, _, _, _, *results = rest
    saved, memory = Saved(*results[:10]), Memory(*results[10:])
    access = machinery.access
    block = Block(machinery, sizes, numbers, limits)
    cells, width, every = sizes.cells, access.memory_width, slice(None)
    heads = range(access.read_heads)
    weights = products(block, recurrent, scalar_weights, vector_weights)
    columns = scalar_columns(access)
    scalar_bias = block.load(
        scalar_biases, pl.ds(block.zero, block.scalars), mask=within((block.scalars,), {0: columns})
    )
    vector_bias = [
        block.load(vector_biases, w, pl.ds(block.zero, block.width), mask=within((block.width,), {0: width}))
        for w in range(access.write_heads)
    ]

    def save_state(row: Any, readings: Any, hidden: Array | None, cell: Array, keys: Any, actions: Any) -> None:
        for h in heads:
            block.put_row(saved.reading, readings[h], row, every, h, size=width)
        if hidden is not None:
            block.put_row(saved.hidden, hidden, row, every, size=cells)
        block.put_row(saved.cell, cell, row, every, size=cells)
        block.put_points(saved.keys, keys, row)
        block.put_points(saved.actions, actions, row)

    def step(t: Array, carry: Any) -> Any:
        readings, hidden, cell, keys, actions = carry
        gates = []
        for g, share in enumerate(weights.gate_sums(t, saved, readings, hidden)):
            total = block.row(inputs, t, every, g, size=cells, padded=block.cells) + share
            gates.append(jnp.tanh(total) if g == 3 else opened(total, machinery.cell.overshoot))
            block.put_row(saved.gates, gates[g], t, every, g, size=cells)
        cell = machinery.cell.settled(machinery.cell.bounded(gates[1] * cell + gates[0] * gates[3]))
        hidden = gates[2] * jnp.tanh(cell)
        block.put_row(saved.hidden, hidden, t + 1, every, size=cells)
        scalars, vectors = weights.emission(t + 1, saved.hidden, hidden)
        scalars = scalars + scalar_bias[None]
        block.put_row(saved.scalars, scalars, t, every, size=columns)
        keys, actions, strengths, temperatures = move(access, block.columns(scalars), keys, actions)
        writing = t < block.turn
        for w in range(access.write_heads):
            vector = vectors[w] + vector_bias[w][None]
            block.put_row(saved.vectors, vector, t, every, w, size=width)
            slot = jnp.minimum(block.start.end + access.write_heads * t + w, sizes.slots - 1)
            column = within(vector.shape, {1: width})
            mask = jnp.broadcast_to(writing, vector.shape)
            mask = mask if column is None else mask & column
            every_row = jnp.broadcast_to(writing, (ROWS,))
            block.store(memory.vectors, access.squash(vector), every, slot, pl.ds(block.zero, block.width), mask=mask)
            block.store(memory.strengths, strengths[w], every, slot, mask=every_row)
            for d, coordinate in enumerate(keys[access.read_heads + w]):
                block.store(memory.addresses, coordinate, every, slot, d, mask=every_row)
        block.barrier()  # what one thread has written, others are about to read
        readings, totals, nearest = block.read(memory, keys[: access.read_heads], temperatures, block.seen(t))
        for h in heads:
            block.store(saved.totals, totals[h], t, every, h)
            block.store(saved.nearest, nearest[h], t, every, h)
        if access.settle_reads:
            keys = block.settle(memory, keys[: access.read_heads], block.left(t)) + keys[access.read_heads :]
        save_state(t + 1, readings, None, cell, keys, actions)  # the hidden state is there already
        return readings, hidden, cell, keys, actions

    start = (
        [block.row(start_reading, every, h, size=width, padded=block.width) for h in heads],
        block.row(start_hidden, every, size=cells, padded=block.cells),
        block.row(start_cell, every, size=cells, padded=block.cells),
        block.points(start_keys, access.geometry.key_size),
        block.points(start_actions, access.geometry.action_size),
    )
    save_state(0, *start)
    lax.fori_loop(0, block.steps, step, start)
    nothing = jax.tree.map(jnp.zeros_like, start)

    def idle(t: Array, carry: Any) -> Any:
        save_state(t + 1, *nothing)
        block.put_row(saved.scalars, jnp.zeros((ROWS, block.scalars), nothing[1].dtype), t, every, size=columns)
        for w in range(access.write_heads):
            block.put_row(saved.vectors, jnp.zeros((ROWS, block.width), nothing[1].dtype), t, every, w, size=width)
        return carry

    lax.fori_loop(block.steps, sizes.time, idle, 0)
