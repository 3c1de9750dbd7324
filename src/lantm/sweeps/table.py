"""What a sweep has come to, as rows: one a point for other programs, one a combination for people."""

import csv
import io
import pathlib
import statistics
from collections.abc import Sequence
from typing import Any

from lantm.errors import LantmError
from lantm.evaluation import SOLVED
from lantm.sweeps.file import Sweep, settings
from lantm.sweeps.folder import SweepFolder
from lantm.sweeps.point import Point
from lantm.training.checkpoint import write_whole

Row = dict[str, Any]


def point_rows(sweep: Sweep, points: Sequence[Point], folder: SweepFolder) -> list[Row]:
    """A flat row a point: what it is, whether it is done, its scores at every scale."""
    return [_row(point, labels(sweep, point), folder.record(point), sweep.scales) for point in points]


def labels(sweep: Sweep, point: Point) -> Row:
    """What tells the point's combination from others; task and model at the least."""
    every = settings(point.experiment)
    return {name: _plain(every.get(name)) for name in dict.fromkeys(("task", "model", *sweep.varied))}


def summary_rows(sweep: Sweep, rows: Sequence[Row]) -> list[Row]:
    """A row a combination, over its seeds: how many are done, and at every scale the best, the median, and how many
    solve the task."""
    names = ("task", "model", *(name for name in sweep.varied if name not in ("task", "model")))
    together: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        together.setdefault(tuple(row[name] for name in names), []).append(row)
    summary = []
    for key, alike in together.items():
        done = [row for row in alike if row["done"]]
        line = {**dict(zip(names, key, strict=True)), "seeds": len(alike), "done": len(done)}
        line["diverged"] = sum(row["diverged"] for row in done)
        for scale in sweep.scales:
            coarse = [row[f"coarse_{scale}x"] for row in done]
            line[f"best_{scale}x"] = max(coarse) if coarse else None
            line[f"median_{scale}x"] = round(statistics.median(coarse), 2) if coarse else None
            line[f"solved_{scale}x"] = sum(score >= SOLVED for score in coarse)
        summary.append(line)
    return summary


def write_csv(path: pathlib.Path, rows: Sequence[Row]) -> None:
    """The rows as a table that any program reads."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    write_whole(path, text.getvalue().encode())


def write_parquet(path: pathlib.Path, rows: Sequence[Row]) -> None:
    """The same as Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise LantmError("Parquet needs PyArrow: pip install 'lantm[parquet]', or take --csv") from error
    written = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(list(rows)), written)
    write_whole(path, written.getvalue())


def _row(point: Point, named: Row, record: Row | None, scales: Sequence[int]) -> Row:
    row = {**named, "seed": point.seed, "done": record is not None}
    scored = {found["scale"]: found for found in record["rows"]} if record else {}
    for scale in scales:
        for score in ("coarse", "fine"):
            row[f"{score}_{scale}x"] = scored.get(f"{scale}x", {}).get(score)
    for name in ("best_epoch", "skipped", "diverged"):
        row[name] = record[name] if record else None
    return {**row, "point": point.name}


def _plain(value: Any) -> Any:
    """A value that fits a cell of a table."""
    return " ".join(map(str, value)) if isinstance(value, list | tuple) else value
