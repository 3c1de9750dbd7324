"""Tables of docs/geometries.md as Markdown: what a step costs, and what was learnt where."""

import json
import pathlib
from typing import Any

from study_tables import NOT_RUN, Results, table

from lantm.errors import LantmError
from lantm.geometry import make_geometry
from lantm.grids.studies.geometries import KEY_SPACES
from lantm.grids.studies.sequences import TASKS

SCALES = ("1x", "2x", "4x")


def costs(root: pathlib.Path) -> str:
    """A step in every geometry, in steps of the translation."""
    path = root / "results" / "bench-geometries-cpu.json"
    if not path.exists():
        return "Not run yet: `python -m benchmarks.geometries` does it."
    record = json.loads(path.read_text())
    sizes = ("key_size", "action_size", "raw_key_size", "raw_action_size")
    rows = [
        [f"`{row['name']}`", f"{row['ratio']:.2f}", *(str(row[size]) for size in sizes), f"{row['milliseconds']:.1f}"]
        for row in record["rows"]
        if _exists(row["name"])
    ]
    head = ["geometry", "step, in translation steps", "key", "action", "raw key", "raw action", "ms"]
    origin = f"[results/{path.name}](../results/{path.name}), {record['date'][:10]}, {record['device']}"
    return f"{table(head, rows)}\n\n<sub>{record['batch']}; medians of {record['repetitions']} rounds; {origin}</sub>"


def solved(root: pathlib.Path) -> str:
    """How many seeds solve each task at 1x, 2x and 4x in each key space."""
    cells, results = _cells(root)
    rows = []
    for space in KEY_SPACES:
        of_tasks = [cells.get((task, "lantm-invnorm", space)) for task in TASKS]
        rows.append([f"`{space}`", *map(_counts, of_tasks), _counts(*of_tasks)])
    return results.table(["key space", *TASKS, "all five"], rows)


def scores(root: pathlib.Path) -> str:
    """The best seed of every cell."""
    cells, results = _cells(root)
    rows = []
    for (task, _, space), result in cells.items():
        by_scale = {row["scale"]: row for row in result["rows"]}
        best = [f"{by_scale[scale]['coarse']:.1f}/{by_scale[scale]['fine']:.1f}" for scale in SCALES]
        medians = [f"{by_scale[scale]['median_coarse']:.1f}" for scale in SCALES[1:]]
        rows.append([task, f"`{space}`", *best, *medians])
    head = ["task", "key space", *SCALES, "median of seeds, coarse, 2x", "4x"]
    return results.table(head, rows)


def levers(root: pathlib.Path) -> str:
    """How far a small error of an action takes a head astray, by the number of steps it has gone."""
    path = root / "results" / "levers.json"
    if not path.exists():
        return "Not run yet: `python tools/levers.py` does it."
    record = json.loads(path.read_text())
    rows = [[f"`{row['name']}`", *(f"{far:.3g}" for far in row["astray"])] for row in record["rows"]]
    head = ["key space", "first step", *(f"after {steps} steps" for steps in record["after"][1:])]
    origin = f"[results/{path.name}](../results/{path.name}), {record['date'][:10]}"
    return f"{table(head, rows)}\n\n<sub>steps of {record['step']}, error of {record['error']}; {origin}</sub>"


def _exists(geometry: str) -> bool:
    """Stored results may have options that geometries no longer have."""
    try:
        make_geometry(geometry)
    except LantmError:
        return False
    return True


def _cells(root: pathlib.Path) -> tuple[dict[tuple[str, ...], dict[str, Any]], Results]:
    results = Results(root, "geometries")
    return results.cells("robust"), results


def _counts(*results: dict[str, Any] | None) -> str:
    """How many seeds of these cells solve their task at each scale."""
    ran = [result for result in results if result is not None]
    if len(ran) < len(results):
        return NOT_RUN
    rows = [row for result in ran for row in result["rows"]]
    solved = [sum(row["solved"] for row in rows if row["scale"] == scale) for scale in SCALES]
    return f"{', '.join(map(str, solved))} of {sum(row['seeds'] for row in rows if row['scale'] == SCALES[0])}"
