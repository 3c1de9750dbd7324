"""Timing on a shared machine: every contender in turn, many times, and the median of each."""

import time
from collections.abc import Callable, Mapping
from typing import Any

import jax
import numpy as np


def interleaved(contenders: Mapping[str, Callable[[], Any]], repetitions: int, warm_up: int = 2) -> dict[str, float]:
    """Median milliseconds of each contender; each round runs all of them, so that noise falls on all alike.

    In a round, a contender first runs once without being timed: in a training, too, a step follows one of its own
    kind, and finds in the caches what that one left there, not what another program did.
    """
    for run in contenders.values():
        for _ in range(warm_up):
            jax.block_until_ready(run())
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for _ in range(repetitions):
        for name, run in contenders.items():
            jax.block_until_ready(run())
            began = time.perf_counter()
            jax.block_until_ready(run())
            times[name].append(time.perf_counter() - began)
    return {name: 1e3 * float(np.median(taken)) for name, taken in times.items()}
