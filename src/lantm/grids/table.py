"""Result tables of a sweep: one row per point (CSV, Parquet), or one row per combination (for display)."""

import csv
import io
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

from lantm.errors import LantmError
from lantm.evaluation import SOLVED
from lantm.evaluation.examiner import PARTS
from lantm.files import utf8, write_whole
from lantm.grids.folder import GridFolder, Record
from lantm.grids.packing import point_record
from lantm.grids.point import Point
from lantm.grids.sweep import Sweep
from lantm.paper import settings_of

Row = dict[str, Any]


def labels_of_tests(sweep: Sweep, points: Sequence[Point]) -> dict[str, tuple[str, ...]]:
    """The tests that points are scored on (scales of tasks, parts of texts), with the names of their scores."""
    texts = {point.experiment.reads_text for point in points}
    tests: dict[str, tuple[str, ...]] = {}
    if False in texts:
        kinds = ("x", "x hard") if sweep.hard else ("x",)
        tests |= {f"{scale}{kind}": ("coarse", "fine") for scale in sweep.scales for kind in kinds}
    if True in texts:
        tests |= dict.fromkeys(PARTS, ("perplexity",))
    return tests


def point_rows(sweep: Sweep, points: Sequence[Point], folder: GridFolder) -> list[Row]:
    """One flat row per point: its labels, whether it is done, and its scores in every test."""
    tests = labels_of_tests(sweep, points)
    return [_row(point, labels(sweep, point), point_record(folder, point), tests) for point in points]


def labels(sweep: Sweep, point: Point) -> Row:
    """The settings that distinguish the point's combination from others; at least task and model."""
    every = settings_of(point.experiment)
    return {name: _plain(every.get(name)) for name in dict.fromkeys(("task", "model", *sweep.varied))}


def summary_rows(sweep: Sweep, rows: Sequence[Row], tests: dict[str, tuple[str, ...]]) -> list[Row]:
    """One row per combination, over its seeds: how many are done, and per test the best, the median, and how many solve
    the task."""
    names = list(dict.fromkeys(("task", "model", *sweep.varied)))
    together: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        together.setdefault(tuple(row[name] for name in names), []).append(row)
    summary = []
    for key, alike in together.items():
        done = [row for row in alike if row["done"]]
        line = {**dict(zip(names, key, strict=True)), "seeds": len(alike), "done": len(done)}
        line["diverged"] = sum(row["diverged"] for row in done)
        for label, (figure, *_) in tests.items():
            values = [row[f"{figure}_{label}"] for row in done if row[f"{figure}_{label}"] is not None]
            best = min if figure == "perplexity" else max
            line[f"best_{label}"] = best(values) if values else None
            line[f"median_{label}"] = round(statistics.median(values), 2) if values else None
            line[f"solved_{label}"] = sum(figure == "coarse" and value >= SOLVED for value in values)
        summary.append(line)
    return summary


def write_csv(path: pathlib.Path, rows: Sequence[Row]) -> None:
    """Writes the rows as CSV."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, utf8(text.getvalue()))


def write_parquet(path: pathlib.Path, rows: Sequence[Row]) -> None:
    """Writes the rows as Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise LantmError("Parquet needs PyArrow: pip install pyarrow, or use --csv") from error
    written = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), written)
    write_whole(path, written.getvalue())


def _row(point: Point, named: Row, record: Record | None, tests: dict[str, tuple[str, ...]]) -> Row:
    row = {**named, "seed": point.seed, "done": record is not None}
    scored = {found["scale"]: found for found in record["rows"]} if record else {}
    for label, figures in tests.items():
        for figure in figures:
            row[f"{figure}_{label}"] = scored.get(label, {}).get(figure)
    for name in ("best_epoch", "skipped", "diverged"):
        row[name] = record[name] if record else None
    return {**row, "point": point.name}


def _plain(value: Any) -> Any:
    """A value that fits a table cell."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
