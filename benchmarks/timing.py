"""Timing on a shared machine: every contender in turn, many times, and the median of each."""

import shlex
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np

from lantm.cli.parse import publishable

TURN = 4  # runs in a row that are not timed, and then as many that are


def interleaved(contenders: Mapping[str, Callable[[], Any]], repetitions: int, warm_up: int = 2) -> dict[str, float]:
    """Median milliseconds of each contender; each round has a turn of all of them, so that noise falls on all alike.

    A training is one step after another of the same kind. So a turn begins with runs that are not timed. This choice
    matters: timed singly, in turn with PyTorch, our step takes up to a fifth longer than by itself, for reasons that
    were not established (docs/machine.md, "How sure the ratios are").
    """
    for run in contenders.values():
        for _ in range(warm_up):
            jax.block_until_ready(run())
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(-(-repetitions // TURN)):
        for name, run in contenders.items():
            for at in range(2 * TURN):
                began = time.perf_counter()
                jax.block_until_ready(run())
                if at >= TURN:
                    times[name].append(time.perf_counter() - began)
    return {name: 1e3 * float(np.median(taken)) for name, taken in times.items()}


def command(module: str) -> str:
    """The command that this process was started with, as results name it."""
    return shlex.join(["python", "-m", f"benchmarks.{module}", *publishable(sys.argv[1:])])
