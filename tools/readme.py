"""Writes the tables of README and docs/ from results/: `python tools/readme.py`, or `--check` to compare only."""

import json
import pathlib
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import bench_tables
import claim_tables
import exact_tables
import gallery_pages
import geometry_tables
import language_tables
import lstm_curves
import program_tables
import scaling_tables
import second_paper_tables
import size_figures
import source_tree
import study_tables

ROOT = pathlib.Path(__file__).parent.parent


def demo() -> str:
    """The scores of the demonstration's machines."""
    record = _result("demo")
    rows = [
        [
            row["scale"],
            "-".join(str(length) for length in sorted(set(row["lengths"]))),
            f"{row['problems']:,}",
            f"{row['coarse']:.1f}%",
            f"{row['fine']:.2f}%",
            f"{row['median_coarse']:.1f}%",
            f"{row['solved']} of {row['seeds']}",
        ]
        for row in record["rows"]
    ]
    head = ["scale", "lengths", "problems", "coarse, best seed", "fine, best seed", "coarse, median", "seeds at 99%"]
    return study_tables.table(head, rows) + _origin("results/demo.json", record["scored"])


# By page, the blocks that are written between <!-- name --> and <!-- /name -->.
PAGES: dict[str, dict[str, Callable[[], str]]] = {
    "README.md": {
        "gallery": partial(gallery_pages.overview, ROOT),
        "exact": partial(exact_tables.further, ROOT),
    },
    "docs/exact.md": {
        "exact": partial(exact_tables.exact, ROOT),
        "mechanisms": partial(exact_tables.mechanisms, ROOT),
        "counting": partial(exact_tables.counting, ROOT),
        "lines": partial(exact_tables.lines, ROOT),
        "verified": partial(exact_tables.verified, ROOT),
    },
    "docs/figures.md": {"recordings": partial(gallery_pages.recording_cost, ROOT)},
    "docs/gallery.md": {"gallery": partial(gallery_pages.every_figure, ROOT)},
    "docs/machine.md": {"bench": partial(bench_tables.everything, ROOT)},
    "docs/reproduction.md": {
        "sequences": partial(study_tables.sequences, ROOT),
        "generalisation": partial(study_tables.generalisation, ROOT),
        "curves": partial(lstm_curves.table, ROOT),
        "cells": partial(study_tables.every_cell, ROOT),
        "tweaks": partial(study_tables.tweaks, ROOT),
        "claims": partial(claim_tables.claims, ROOT),
    },
    "docs/programs.md": {
        "programs": partial(study_tables.programs, ROOT),
        "kinds": partial(program_tables.kinds, ROOT),
        "places": partial(program_tables.places, ROOT),
        "drawing": partial(program_tables.drawing, ROOT),
    },
    "docs/sizes.md": {"sizes": partial(size_figures.sizes, ROOT)},
    "docs/training.md": {"demo": demo},
    "docs/tree.md": {"files": partial(source_tree.files, ROOT)},
    "docs/robust-recipe.md": {"robust": partial(study_tables.robust, ROOT)},
    "docs/geometries.md": {
        "costs": partial(geometry_tables.costs, ROOT),
        "solved": partial(geometry_tables.solved, ROOT),
        "scores": partial(geometry_tables.scores, ROOT),
        "levers": partial(geometry_tables.levers, ROOT),
        "language": partial(language_tables.key_spaces, ROOT),
    },
    "docs/scaling.md": {
        "cost": partial(scaling_tables.cost, ROOT),
        "faults": partial(scaling_tables.faults, ROOT),
        "soak": partial(scaling_tables.soak, ROOT),
    },
    "docs/second-paper.md": {
        "second": partial(second_paper_tables.scores, ROOT, "paper"),
        "second-small": partial(second_paper_tables.scores, ROOT, "second-small"),
        "exact": partial(second_paper_tables.scores, ROOT, "exact"),
    },
    "docs/language.md": {
        "perplexities": partial(language_tables.perplexities, ROOT),
        "keys": partial(language_tables.keys, ROOT),
        "speed": partial(language_tables.speed, ROOT),
    },
}


def _result(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "results" / f"{name}.json").read_text())


def _origin(path: str, record: dict[str, Any]) -> str:
    return f"\n\n<sub>[{path}](../{path}), {record['date'][:10]}, {record['device']}</sub>"


def render(page: str, text: str) -> str:
    """The page with every block written anew."""
    for name, make in PAGES[page].items():
        pattern = rf"<!-- {name} -->.*?<!-- /{name} -->"
        if not re.search(pattern, text, re.DOTALL):
            raise SystemExit(f"{page} has no block {name}")
        block = f"<!-- {name} -->\n{make()}\n<!-- /{name} -->"
        text = re.sub(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
    return text


def main() -> None:
    for page in PAGES:
        old = (ROOT / page).read_text()
        new = render(page, old)
        if "--check" not in sys.argv[1:]:
            (ROOT / page).write_text(new)
        elif new != old:
            sys.exit(f"{page} is not what results/ says: run python tools/readme.py")


if __name__ == "__main__":
    main()
