"""`python -m benchmarks.geometries`: what a step costs in every geometry, as results/bench-geometries-PLATFORM.json.

The batch is that of the paper's recipe: 32 copies of 64 symbols, 130 steps, forward and backward. All geometries take
turns, round after round, and each is compared with the translation of its own round. On a CPU the time is that of the
processor, not of the clock: other work on the machine takes turns too.
"""

import argparse
import json
import pathlib
import time
from typing import Any

import jax
import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.__main__ import RESULTS, table
from benchmarks.recipe_batch import LENGTH, loss_and_gradients, problems
from benchmarks.timing import command
from lantm.geometry import make_geometry
from lantm.machine import LantmConfig
from lantm.provenance import provenance
from lantm.tasks import make_task

BASE = "translation"
GEOMETRIES = (
    BASE,
    "translation-1",
    "translation-3",
    "translation-8",
    "rotation",
    "scaling-rotation",
    "se2",
    "sphere",
    "disk",
    "hyperbolic-3",
)


def compiled(geometry: str) -> Any:
    """A step of training in the geometry, ready to run."""
    model = LantmConfig(geometry=geometry).build(make_task("copy").vocabulary, jax.random.key(0))
    batch = problems(LENGTH)
    step = jax.jit(loss_and_gradients).lower(model, batch).compile()
    return lambda: step(model, batch)


def measure(names: tuple[str, ...], repetitions: int) -> list[dict[str, Any]]:
    """Rows: the time of a step, and its ratio to the translation's."""
    steps = {name: compiled(name) for name in track(names, "compiling", console=Console(stderr=True))}
    for step in steps.values():
        jax.block_until_ready(step())
    now = time.process_time if jax.default_backend() == "cpu" else time.perf_counter
    times: dict[str, list[float]] = {name: [] for name in names}
    for _ in track(range(repetitions), "measuring", console=Console(stderr=True)):
        for name, step in steps.items():
            began = now()
            jax.block_until_ready(step())
            times[name].append(1e3 * (now() - began))
    base = np.array(times[BASE])
    rows = []
    for name, taken in times.items():
        ratios = np.array(taken) / base
        geometry = make_geometry(name)
        rows.append(
            {
                "name": name,
                "milliseconds": round(float(np.median(taken)), 2),
                "ratio": round(float(np.median(ratios)), 3),
                "ratio_quartiles": [round(float(np.quantile(ratios, share)), 3) for share in (0.25, 0.75)],
                "key_size": geometry.key_size,
                "action_size": geometry.action_size,
                "raw_key_size": geometry.raw_key_size,
                "raw_action_size": geometry.raw_action_size,
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.geometries", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=30, help="rounds of interleaved timings (default 30)")
    parser.add_argument("--only", nargs="+", default=GEOMETRIES, metavar="NAME", help="which geometries; not saved")
    parser.add_argument("--out", type=pathlib.Path, help="write the JSON here")
    chosen = parser.parse_args()
    origin = provenance()
    rows = measure(tuple(dict.fromkeys((BASE, *chosen.only))), chosen.repetitions)
    record = {
        "command": command("geometries"),
        **origin,
        "batch": "copy, 32 problems of 130 steps, forward and backward",
        "repetitions": chosen.repetitions,
        "rows": rows,
    }
    Console().print(table("a step of training, and times that of a translation", rows))
    if chosen.out or tuple(chosen.only) == GEOMETRIES:
        path = chosen.out or RESULTS / f"bench-geometries-{jax.default_backend()}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record, indent=2) + "\n")
        print(f"written to {path.name}")


if __name__ == "__main__":
    main()
