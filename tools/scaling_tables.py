"""The tables of docs/scaling.md: faults that were survived, and what a study costs on many devices."""

import json
import pathlib
import sys

import numpy as np
from study_tables import table

from lantm.grids import Request
from lantm.grids.studies import STUDIES
from lantm.tasks import make_task

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent))

from benchmarks.study_cost import DEVICES, makespan


def faults(root: pathlib.Path) -> str:
    """How many of each fault were tried and survived."""
    path = root / "results" / "reliability.json"
    if not path.exists():
        return "Not run yet: `make reliability` does it."
    found = json.loads(path.read_text())["faults"]
    rows = [f"| {one['fault']} | {one['survived']:,} of {one['tried']:,} | {one['means']} |" for one in found]
    made = found[0]["made"]
    origin = (
        f"<sub>[results/reliability.json](../results/reliability.json), {made['date'][:10]}, {made['device']}</sub>"
    )
    return "\n".join(["| fault | survived | which means |", "| --- | --- | --- |", *rows, "", origin])


def soak(root: pathlib.Path) -> str:
    """How much memory grew in an hour of training."""
    path = root / "results" / "soak.json"
    if not path.exists():
        return "Not run yet: `python -m benchmarks.soak` does it."
    found = json.loads(path.read_text())
    sizes = ("after_warm_up_mb", "at_the_end_mb", "largest_mb")
    rows = [
        [kind, f"{one['minutes']:g}", f"{one['epochs']:,}", *(f"{one[size]:,.0f}" for size in sizes)]
        for kind, one in sorted(found.items(), reverse=True)
    ]
    head = ["", "minutes", "epochs", "MB after warm-up", "MB at the end", "MB at most"]
    made = found["training"]
    origin = f"<sub>[results/soak.json](../results/soak.json), {made['date'][:10]}, {made['device']}</sub>"
    return f"{table(head, rows)}\n\n{origin}"


def cost(root: pathlib.Path) -> str:
    """Hours of the study of geometries on 1, 8 and 64 devices: as timed, or else as the benchmark of a step has it."""
    path = root / "results" / "study-cost-gpu.json"
    if not path.exists():
        return _from_steps(root)
    found = json.loads(path.read_text())
    rows = [f"| {row['devices']} | {row['hours']:g} |" for row in found["rows"]]
    longest = f"The longest of its {found['cells']} cells takes {found['longest_cell_hours']:g} hours."
    origin = f"<sub>[{path.name}](../results/{path.name}), {found['date'][:10]}, {found['device']}</sub>"
    return "\n".join(["| GPUs | hours |", "| --- | --- |", *rows, "", longest, "", origin])


def _from_steps(root: pathlib.Path) -> str:
    """From the time of a step of 8 runs at once in the plane, which the benchmark has at several lengths of one run."""
    path = root / "results" / "bench-gpu.json"
    found = json.loads(path.read_text())
    lengths = [row["length"] for row in found["exact_length"]]
    slope, start = np.polyfit([2 * k + 2 for k in lengths], [row["milliseconds"] for row in found["exact_length"]], 1)
    eight, one = (next(row["milliseconds"] for row in found["seeds"] if row["seeds"] == n) for n in (8, 1))
    cells = [cell.experiment for cell in STUDIES["geometries"].cells(Request(recipe="robust"))]
    minutes = []
    for experiment in cells:
        lengths = make_task(experiment.task).train_lengths
        length = (lengths.smallest + lengths.largest) / 2
        steps = (3 if experiment.task == "addition" else 2) * length + 3
        batch = (start + slope * steps) * eight / one
        minutes.append(batch * experiment.recipe.epochs * experiment.recipe.batches / 60_000)
    rows = [f"| {devices} | {makespan(minutes, devices):.1f} |" for devices in DEVICES]
    return "\n".join(
        [
            "| GPUs | minutes |",
            "| --- | --- |",
            *rows,
            "",
            "These are computed minutes of training, if every key space costs as much as the plane. A step of one run "
            f"takes {start:.2f} ms + {slope:.4f} ms per symbol of input and answer, a step of 8 runs {eight / one:.2f} "
            f"times that ([{path.name}](../results/{path.name}), {found['device']}). Compilation (half a minute to a "
            "minute of a CPU core per cell) and tests are not included. The longest of the "
            f"{len(cells)} cells trains for {max(minutes):.1f} minutes.",
        ]
    )
