"""`python -m benchmarks.study_cost`: what the study of geometries costs on 1, 8 and 64 devices like this one.

A few epochs of the study's own experiments are timed: every task in the plane, and copy in every key space; a cell that
was not timed costs its task's time by its key space's factor. Cells are then given to devices, the longest first, each
to the device that is free first: what an engine that hands out one cell per device does. docs/scaling.md.
"""

import argparse
import dataclasses
import heapq
import itertools
import json
import pathlib
import time
from typing import Any

import jax
from rich.console import Console
from rich.table import Table

from benchmarks.timing import command
from lantm.grids import Request
from lantm.grids.studies import STUDIES
from lantm.provenance import provenance
from lantm.training import Experiment, Progress, train

RESULTS = pathlib.Path(__file__).parent.parent / "results"
DEVICES = (1, 8, 64)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study_cost", description=__doc__)
    parser.add_argument("--recipe", default="robust", help="the recipe of the study (default robust)")
    parser.add_argument("--seeds", type=int, help="seeds per cell (default: the study's)")
    parser.add_argument("--epochs", type=int, default=20, help="epochs that are timed of each (default 20)")
    parser.add_argument("--tasks", nargs="+", help="only these tasks (default: all)")
    parser.add_argument("--geometries", nargs="+", help="only these key spaces (default: all)")
    parser.add_argument("--out", type=pathlib.Path, help="where the JSON goes (results/study-cost-PLATFORM.json)")
    chosen = parser.parse_args()
    cells = [
        cell
        for cell in STUDIES["geometries"].cells(Request(recipe=chosen.recipe, seeds=chosen.seeds))
        if (not chosen.tasks or cell.labels["task"] in chosen.tasks)
        and (not chosen.geometries or cell.labels["geometry"] in chosen.geometries)
    ]
    first = cells[0].labels
    timed: dict[tuple[str, str], float] = {}
    for cell in cells:
        key = (cell.labels["task"], cell.labels["geometry"])
        if key[0] == first["task"] or key[1] == first["geometry"]:
            timed[key] = seconds_an_epoch(cell.experiment, chosen.epochs)
            print(f"{key[0]} in {key[1]}: {1000 * timed[key]:.0f} ms an epoch of {cell.experiment.seeds} seeds")
    costs = []
    for cell in cells:
        task, geometry = cell.labels["task"], cell.labels["geometry"]
        plain = timed[first["task"], first["geometry"]]
        epoch = timed.get((task, geometry), timed[task, first["geometry"]] * timed[first["task"], geometry] / plain)
        costs.append(epoch * cell.experiment.recipe.epochs)
    rows = [{"devices": devices, "hours": round(makespan(costs, devices) / 3600, 2)} for devices in DEVICES]
    table = Table("devices", "hours")
    for row in rows:
        table.add_row(str(row["devices"]), f"{row['hours']:g}")
    Console().print(table)
    record: dict[str, Any] = {
        "command": command("study_cost"),
        **provenance(),
        "recipe": chosen.recipe,
        "cells": len(cells),
        "seeds": cells[0].experiment.seeds,
        "epochs": cells[0].experiment.recipe.epochs,
        "timed_epochs": chosen.epochs,
        "seconds_an_epoch": {f"{task} {geometry}": round(value, 4) for (task, geometry), value in timed.items()},
        "longest_cell_hours": round(max(costs) / 3600, 3),
        "rows": rows,
    }
    path = chosen.out or RESULTS / f"study-cost-{jax.default_backend()}.json"
    path.write_text(json.dumps(record, indent=2) + "\n")


def seconds_an_epoch(experiment: Experiment, epochs: int) -> float:
    """The median of some epochs, without compilation and tests; tests are few, and cost little."""
    recipe = dataclasses.replace(experiment.recipe, epochs=epochs, test_every=epochs, test_batches=1)
    timed = dataclasses.replace(experiment, recipe=recipe, recorded_seeds=0)
    moments: list[float] = []

    def watch(progress: Progress) -> None:
        if progress.report is not None:  # at the end of an epoch
            moments.append(time.monotonic())

    train(timed, watch=watch, stop=lambda: len(moments) >= epochs - 1)
    gaps = sorted(later - earlier for earlier, later in itertools.pairwise(moments))
    return gaps[len(gaps) // 2]


def makespan(costs: list[float], devices: int) -> float:
    """When the last device is done, if the longest cells are handed out first."""
    free = [0.0] * devices
    for cost in sorted(costs, reverse=True):
        heapq.heappush(free, heapq.heappop(free) + cost)
    return max(free)


if __name__ == "__main__":
    main()
