"""`python -m benchmarks.lstm_layers`: the LSTM baseline by cuDNN and by our loops, on a GPU: how fast, and how equal.

A row is a number of layers and of seeds side by side: milliseconds of a step of training without its optimiser, and the
largest difference of a gradient between the two in full precision, as a fraction of the largest number of its array.
Written to results/lstm-layers.json.
"""

import argparse
import json
import pathlib
from functools import partial
from typing import Any

import jax
import numpy as np
from rich.console import Console

from benchmarks.__main__ import RESULTS, table
from benchmarks.recipe_batch import LENGTH, loss_and_gradients, machines, problems
from benchmarks.timing import command, interleaved
from lantm.machine import LstmConfig
from lantm.provenance import provenance

BACKENDS = {"cudnn": "kernel", "loops": "loops"}
SIZES = ((4, 1), (4, 3), (4, 8), (2, 3), (1, 3), (1, 8))  # layers and seeds
CELLS = 256


def steps(layers: int, seeds: int) -> dict[str, Any]:
    """A step of training by either, compiled, for seeds side by side."""
    models, batch = machines(seeds, LstmConfig(layers=layers, cells=CELLS)), problems(LENGTH)
    found = {}
    for name, backend in BACKENDS.items():
        step = jax.jit(jax.vmap(partial(loss_and_gradients, backend=backend), in_axes=(0, None)))
        found[name] = partial(step.lower(models, batch).compile(), models, batch)
    return found


def difference(one: Any, other: Any) -> float:
    """The largest, as a fraction of the largest number of its array."""
    pairs = zip(jax.tree.leaves(one), jax.tree.leaves(other), strict=True)
    return max(float(np.abs(a - b).max() / max(np.abs(b).max(), 1e-30)) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lstm_layers", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=40, help="timings of each (default 40)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "lstm-layers.json", help="the file to write")
    chosen = parser.parse_args()
    rows = []
    for layers, seeds in SIZES:
        with jax.default_matmul_precision("highest"):
            exact = {name: jax.device_get(run()) for name, run in steps(layers, seeds).items()}
        times = interleaved(steps(layers, seeds), chosen.repetitions)
        row: dict[str, Any] = {"layers": layers, "seeds": seeds}
        row |= {f"{name}_milliseconds": round(taken, 3) for name, taken in times.items()}
        rows.append(row | {"largest_difference": float(f"{difference(*exact.values()):.2g}")})
    Console().print(table("LSTM by cuDNN and by loops", rows))
    record = {"command": command("lstm_layers"), **provenance(), "cells": CELLS, "batch": 32, "length": LENGTH}
    chosen.out.parent.mkdir(parents=True, exist_ok=True)
    chosen.out.write_text(json.dumps({**record, "rows": rows}, indent=1) + "\n")
    print(f"written to {chosen.out.name}")


if __name__ == "__main__":
    main()
