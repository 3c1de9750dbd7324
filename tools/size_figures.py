"""Draws docs/sizes-*.svg from results/sizes-*.json, and makes their table: what a step costs against every size."""

import json
import math
import pathlib
from typing import TYPE_CHECKING, Any

from study_tables import table

from lantm.report.figures.canvas import QUIET, READS, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROOT = pathlib.Path(__file__).parent.parent
DEVICES = {"cpu": "a CPU", "gpu": "a GPU"}
TITLES = {
    "cells": "cells of the controller",
    "memory_width": "numbers in a memory vector",
    "read_heads": "read heads",
    "memories": "memories",
    "batch": "problems in a batch",
    "seeds": "runs at once",
}
_HEAD = [
    "",
    "smallest",
    "largest",
    "µs per step: smallest",
    "largest",
    "cost doubles at",
    "hardware limit / cost at the largest",
]


def limit(row: dict[str, Any]) -> float:
    """What the hardware needs at the least, in microseconds."""
    return float(max(row["of_arithmetic"], row["of_traffic"]))


def doubled(rows: list[dict[str, Any]]) -> int | None:
    """The first size that costs twice as much as the smallest."""
    first = rows[0]["microseconds_per_step"]
    return next((row["size"] for row in rows if row["microseconds_per_step"] >= 2 * first), None)


def by_axis(record: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in record["rows"]:
        found.setdefault(row["axis"], []).append(row)
    return found


def apart(sizes: list[int]) -> list[int]:
    """The sizes whose labels do not meet: every next one at least an eighth of the axis further."""
    found = [sizes[0]]
    for size in sizes[1:]:
        if math.log(size / found[-1]) > math.log(sizes[-1] / sizes[0]) / 8:
            found.append(size)
    return found


def draw(record: dict[str, Any]) -> "Figure":
    """A curve for every size, with the limit of the hardware below it."""
    from matplotlib.ticker import FuncFormatter, NullFormatter, NullLocator

    figure = new_figure(4.6)
    for at, (axis, rows) in enumerate(by_axis(record).items()):
        axes = figure.add_subplot(2, 3, at + 1)
        sizes = [row["size"] for row in rows]
        axes.plot(sizes, [row["microseconds_per_step"] for row in rows], "-", color=READS[0], lw=1.2)
        for served, mark in ((True, "o"), (False, "s")):
            some = [row for row in rows if row["kernels"] == served]
            shown = [row["microseconds_per_step"] for row in some]
            axes.plot([row["size"] for row in some], shown, mark, color=READS[0], ms=3.5)
        axes.plot(sizes, [limit(row) for row in rows], "--", color=QUIET, lw=1)
        axes.set_xscale("log")
        axes.set_yscale("log")
        ticks = apart(sizes)
        axes.set_xticks(ticks, [f"{size // 1000}k" if size >= 1000 else f"{size}" for size in ticks])
        axes.xaxis.set_minor_locator(NullLocator())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axes.set_title(TITLES[axis])
        if at % 3 == 0:
            axes.set_ylabel("µs per step")
    figure.tight_layout()
    return figure


def sizes(root: pathlib.Path) -> str:
    """The figure and the table of every device that was measured."""
    blocks = []
    for name, device in DEVICES.items():
        path = root / "results" / f"sizes-{name}.json"
        if not path.exists():
            blocks.append(f"Not measured yet on {device}: `python -m benchmarks.sizes` does it.")
            continue
        record = json.loads(path.read_text())
        lines = [
            [
                TITLES[axis],
                *(f"{row['size']:,}" for row in (rows[0], rows[-1])),
                *(f"{row['microseconds_per_step']:,.0f}" for row in (rows[0], rows[-1])),
                f"{found:,}" if (found := doubled(rows)) else "-",
                f"{limit(rows[-1]) / rows[-1]['microseconds_per_step']:.0%}",
            ]
            for axis, rows in by_axis(record).items()
        ]
        blocks += [
            f"![cost of a step against every size, on {device}](sizes-{name}.svg)",
            f"On {device}, {record['multiply_adds_per_second'] / 1e9:,.0f} billion multiply-adds and "
            f"{record['bytes_per_second'] / 1e9:,.0f} GB per second at most:",
            table(_HEAD, lines),
            f"<sub>`{record['command']}`, [results/sizes-{name}.json](../results/sizes-{name}.json), "
            f"{record['date'][:10]}, {record['device']}</sub>",
        ]
    return "\n\n".join(blocks)


def main() -> None:
    for name in DEVICES:
        path = ROOT / "results" / f"sizes-{name}.json"
        if path.exists():
            with style():
                draw(json.loads(path.read_text())).savefig(ROOT / "docs" / f"sizes-{name}.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
