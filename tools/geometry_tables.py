"""Tables of docs/geometries.md as Markdown: what a step costs, and what was learnt where."""

import json
import pathlib
from typing import Any

from study_tables import NOT_RUN, Results, table

from lantm.experiments.studies.geometries import KEY_SPACES
from lantm.experiments.studies.sequences import TASKS

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
    ]
    head = ["geometry", "step, in translation steps", "key", "action", "raw key", "raw action", "ms"]
    origin = f"[results/{path.name}](../results/{path.name}), {record['date'][:10]}, {record['device']}"
    return f"{table(head, rows)}\n\n<sub>{record['batch']}; medians of {record['repetitions']} rounds; {origin}</sub>"


def solved(root: pathlib.Path) -> str:
    """How many seeds solve each task at 1x, 2x and 4x in each key space."""
    cells, results = _cells(root)
    rows = [
        [f"`{space}`", *(_counts(cells.get((task, "lantm-invnorm", space))) for task in TASKS)] for space in KEY_SPACES
    ]
    return results.table(["key space", *TASKS], rows)


def scores(root: pathlib.Path) -> str:
    """The best seed of every cell."""
    cells, results = _cells(root)
    rows = []
    for (task, _, space), result in cells.items():
        by_scale = {row["scale"]: row for row in result["rows"]}
        best = [f"{by_scale[scale]['coarse']:.1f}/{by_scale[scale]['fine']:.1f}" for scale in SCALES]
        median = f"{by_scale['2x']['median_coarse']:.1f}"
        rows.append([task, f"`{space}`", *best, median, f"{result['training_seconds'] / 60:.1f}"])
    head = ["task", "key space", *SCALES, "2x coarse, median", "minutes"]
    return results.table(head, rows)


def _cells(root: pathlib.Path) -> tuple[dict[tuple[str, ...], dict[str, Any]], Results]:
    results = Results(root, "geometries")
    return results.cells("robust"), results


def _counts(result: dict[str, Any] | None) -> str:
    if result is None:
        return NOT_RUN
    rows = {row["scale"]: row for row in result["rows"]}
    return f"{', '.join(str(rows[scale]['solved']) for scale in SCALES)} of {rows['1x']['seeds']}"
