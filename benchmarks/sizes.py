"""`python -m benchmarks.sizes`: what a step costs against every size of a machine, as results/sizes-PLATFORM.json.

One size is changed at a time; the others are those of the paper's recipe for copy: 50 cells, memory vectors of 20
numbers, one read head, 32 problems of 130 steps, one run. A step is forward and backward, without the optimiser.

The memories of a problem grow while it is read, so they are a size of their own: 16 steps of the layer, after a memory
with so many slots. Beside each time stands what the arithmetic alone would take, at the speed of a large matrix product
on the same device, and what it would take to move what has to be moved, at the speed of a large copy: states, and
memories that no cache can hold.
"""

import argparse
import dataclasses
import json
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from rich.console import Console

from benchmarks.__main__ import RESULTS, table
from benchmarks.recipe_batch import BATCH, LENGTH, PAPER, loss_and_gradients, machines
from benchmarks.timing import command
from lantm.devices import keep_memory
from lantm.machine import LantmConfig, LieAccess
from lantm.machine.backend import choose_kernels
from lantm.machine.layer import LieAccessState
from lantm.machine.memory import Memory
from lantm.provenance import provenance
from lantm.tasks import make_task

STEPS = 2 * LENGTH + 2
SHORT = 16  # steps after a memory that is there already
CACHE = 64e6  # bytes: memories that take more have to be moved in every step
SIZES: dict[str, tuple[int, ...]] = {
    "cells": (50, 64, 100, 128, 256, 512),
    "memory_width": (20, 32, 64, 128, 256),
    "read_heads": (1, 2, 4, 8),
    "memories": (64, 256, 1_000, 4_000, 16_000, 100_000),
    "batch": (1, 8, 32, 128, 512, 1_024, 4_096),
    "seeds": (1, 2, 8, 32, 128, 512),
}
_ON_CPU = {"seeds": (1, 2, 8, 32)}  # one after the other: every further one costs as much
_QUICK = {axis: sizes[:2] for axis, sizes in SIZES.items()}


@dataclasses.dataclass(frozen=True)
class Work:
    """What one step of all problems takes at the least."""

    multiply_adds: float
    bytes_moved: float
    """Of states, which are written in the forward and read in the backward pass, and of memories beyond the cache."""

    @classmethod
    def of(cls, config: LantmConfig, problems: int, memories: float, symbols: float) -> "Work":
        """For so many memories that a read sees, and so many symbols that an answer distinguishes in each step."""
        access = config.access
        key, width, cells = access.geometry.key_size, config.memory_width, config.cells
        reading, emission = config.read_heads * width, access.emission_size
        products = (reading + cells) * 4 * cells + cells * (emission + symbols)
        reads = config.read_heads * memories * (width + key)
        state = reading + 2 * cells + 4 * cells + emission + access.heads * (key + access.geometry.action_size)
        memory = memories * (width + key + 1)
        # A memory is read forward and backward, and its cotangent is read and written.
        moved = 4 * memory if 4 * problems * memory > CACHE else 0
        return cls(3 * problems * (products + reads), 4 * problems * (2 * state + moved))


def recipe_step(config: LantmConfig, batch: int, seeds: int) -> Callable[[], Any]:
    """The recipe's batch with other sizes."""
    problems = make_task("copy").sample(jax.random.key(1), batch, LENGTH, LENGTH)
    models = machines(seeds, config)
    if jax.default_backend() == "cpu":  # as a training does it
        step = jax.jit(lambda models, batch: jax.lax.map(lambda one: loss_and_gradients(one, batch), models))
    else:
        step = jax.jit(jax.vmap(loss_and_gradients, in_axes=(0, None)))
    compiled = step.lower(models, problems).compile()
    return lambda: compiled(models, problems)


def after_memories(config: LantmConfig, memories: int) -> Callable[[], Any]:
    """A few steps of the layer after a memory with so many slots, a line as a write head leaves it."""
    access = config.access
    layer = LieAccess(
        config.embedding,
        cells=config.cells,
        memory_width=config.memory_width,
        geometry=access.geometry,
        weighting=access.weighting,
        key=jax.random.key(0),
    )
    begun = layer.begin()
    line = jnp.arange(memories, dtype=jnp.float32)[:, None] * jnp.ones(access.geometry.key_size)
    vectors = jax.random.normal(jax.random.key(1), (BATCH, memories, config.memory_width))
    states = LieAccessState(
        *jax.tree.map(
            lambda leaf: jnp.broadcast_to(leaf, (BATCH, *leaf.shape)), (begun.controller, begun.reading, begun.heads)
        ),
        memory=Memory(jnp.broadcast_to(line, (BATCH, *line.shape)), vectors, jnp.ones((BATCH, memories))),
        remembered=None,
    )
    xs = jax.random.normal(jax.random.key(2), (BATCH, SHORT, config.embedding))

    def loss(layer: LieAccess, states: LieAccessState, xs: Any) -> Any:
        return jnp.sum(jax.vmap(lambda xs, state: layer(xs, state)[0])(xs, states) ** 2)

    compiled = jax.jit(jax.grad(loss, argnums=(0, 1))).lower(layer, states, xs).compile()
    return lambda: compiled(layer, states, xs)


def contender(axis: str, size: int) -> tuple[Callable[[], Any], int, Work, bool]:
    """What is timed, its steps, what they take at the least, and whether kernels run it."""
    config = dataclasses.replace(PAPER, **{axis: size}) if axis in vars(PAPER) else PAPER
    served = choose_kernels("auto", config.access, config.cells, jnp.float32) is not None
    if axis == "memories":
        return after_memories(config, size), SHORT, Work.of(config, BATCH, size, symbols=0), served
    batch, seeds = size if axis == "batch" else BATCH, size if axis == "seeds" else 1
    # While the input is read half of its memories are there on average, and half of the steps answer.
    work = Work.of(config, batch * seeds, 0.75 * LENGTH, make_task("copy").vocabulary / 2)
    return recipe_step(config, batch, seeds), STEPS, work, served


def in_turns(contenders: Mapping[int, Callable[[], Any]], rounds: int) -> dict[int, float]:
    """Median seconds of each, in rounds of all; what is quick runs once before it is timed."""
    taken: dict[int, list[float]] = {size: [] for size in contenders}
    for at in range(rounds + 1):
        for size, run in contenders.items():
            if at and np.median(taken[size] or 0) < 0.1:
                jax.block_until_ready(run())
            began = time.perf_counter()
            jax.block_until_ready(run())
            if at:
                taken[size].append(time.perf_counter() - began)
    return {size: float(np.median(times)) for size, times in taken.items()}


def fastest_product(size: int) -> float:
    """Multiply-adds per second of a large matrix product."""
    a = jax.random.normal(jax.random.key(0), (size, size))
    return size**3 / _best(jax.jit(lambda a: a @ a), a)


def fastest_copy(size: int) -> float:
    """Bytes per second that are read and written where a large array is changed in its place: no page is new."""
    add = jax.jit(lambda a: a + 1, donate_argnums=0)
    held = [jnp.ones(size, jnp.float32)]

    def again(_: None) -> Any:
        held[0] = add(held[0])
        return held[0]

    return 8 * size / _best(again, None)


def _best(function: Callable[[Any], Any], argument: Any) -> float:
    taken = []
    for _ in range(6):
        began = time.perf_counter()
        jax.block_until_ready(function(argument))
        taken.append(time.perf_counter() - began)
    return min(taken)


def rows(axis: str, sizes: tuple[int, ...], rounds: int, product: float, copy: float) -> Iterator[dict[str, Any]]:
    found = {size: contender(axis, size) for size in sizes}
    seconds = in_turns({size: run for size, (run, *_) in found.items()}, rounds)
    for size, (_, steps, work, served) in found.items():
        yield {
            "axis": axis,
            "size": size,
            "steps": steps,
            "microseconds_per_step": round(1e6 * seconds[size] / steps, 2),
            "of_arithmetic": round(1e6 * work.multiply_adds / product, 3),
            "of_traffic": round(1e6 * work.bytes_moved / copy, 3),
            "kernels": served,
        }


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.sizes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="timed runs of each size, in turns (default 5)")
    parser.add_argument("--only", nargs="+", choices=SIZES, default=[*SIZES], help="which sizes (default: all)")
    parser.add_argument("--quick", action="store_true", help="the two smallest of each; not saved")
    parser.add_argument("--out", type=pathlib.Path, help="write the JSON here instead of results/sizes-PLATFORM.json")
    chosen = parser.parse_args()
    platform = jax.default_backend()
    keep_memory()  # as commands do
    cpu = platform == "cpu"
    sizes = _QUICK if chosen.quick else SIZES | (_ON_CPU if cpu else {})
    small = cpu or chosen.quick
    product, copy = fastest_product(2048 if small else 16384), fastest_copy(2**26 if small else 2**29)
    record: dict[str, Any] = {
        "command": command("sizes"),
        **provenance(),
        "rounds": chosen.rounds,
        "multiply_adds_per_second": product,
        "bytes_per_second": copy,
        "rows": [],
    }
    for axis in chosen.only:
        found = list(rows(axis, sizes[axis], chosen.rounds, product, copy))
        Console().print(table(axis.replace("_", " "), found))
        record["rows"] += found
        jax.clear_caches()
        if chosen.out or not chosen.quick:  # after every size: what there is is kept
            path = chosen.out or RESULTS / f"sizes-{platform}.json"
            path.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
