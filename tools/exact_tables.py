"""Tables and figures of the recipe `exact` as Markdown: how far its machines go, and what its mechanisms are for."""

import json
import pathlib
from collections.abc import Callable
from typing import Any

from exact_figures import Measured, picture
from study_tables import (
    CHANGED,
    MODEL_NAMES,
    NOT_RUN,
    Results,
    cut_off,
    ours,
    row_of,
    starts_that_solve,
    table,
    table_of,
)

from lantm.grids.studies.mechanisms import VARIATIONS
from lantm.grids.studies.sequences import TASKS
from lantm.paper.published import FURTHER

NEAR = ("1x", "1x hard", "2x", "2x hard")  # of the study of sequences
FAR = ("16x", "16x hard", "64x", "256x")  # of the study of generalisation
SCALES = ("4x", "5x", "8x", "16x", "64x", "256x")
MECHANISM_TESTS = ("1x", "2x hard", "16x")
_OPTIONS = " --recipe exact"


def exact(root: pathlib.Path) -> str:
    """How many seeds of every task and model solve each length, and how many single starts do."""
    sequences, generalisation = (Results(root, study, _OPTIONS) for study in ("sequences", "generalisation"))
    near, far = sequences.cells("exact"), generalisation.cells("exact")
    head = ["task", "model", "seeds", f"that solve {NEAR[0]}", *NEAR[1:], *FAR, "best seed at 16x", "median"]
    head += ["starts", "that solve 1x and 2x", "and 4x and 16x"]
    rows = []
    for task, model in near | far:
        labels = task, model
        tests = [row_of(near.get(labels), test) for test in NEAR] + [row_of(far.get(labels), test) for test in FAR]
        either = near.get(labels) or far[labels]  # the same training
        furthest = row_of(far.get(labels), "16x")
        # The tests that choose weights are, in this order: 1x, 1x hard, 2x, 2x hard, 4x, 16x.
        starts, solving = starts_that_solve(either, len(NEAR), len(NEAR) + 2)
        rows.append(
            [
                _marked(task, tests),
                MODEL_NAMES[model],
                str(either["rows"][0]["seeds"]),
                *(NOT_RUN if row is None else str(row["solved"]) for row in tests),
                *(f"{cut_off(furthest, score)}%" if furthest else NOT_RUN for score in ("coarse", "median_coarse")),
                *map(str, [starts, *solving]),
            ]
        )
    return table_of(head, rows, sequences, generalisation)


def further(root: pathlib.Path) -> str:
    """The best seed of InvNorm at all lengths beyond the trained ones."""
    results = Results(root, "generalisation", _OPTIONS)
    rows = []
    for (task, model), result in results.cells("exact").items():
        if model == "lantm-invnorm":
            tests = [row_of(result, scale) for scale in SCALES]
            solved = row_of(result, "16x")
            all_seeds = [cut_off(solved, "median_coarse"), f"{solved['solved']} of {solved['seeds']}"] if solved else []
            theirs = [f"{one['coarse']}/{one['fine']} at {scale}x" for scale, one in FURTHER[task, model].items()]
            rows.append([task, ", ".join(theirs), *map(ours, tests), *(all_seeds or [NOT_RUN, NOT_RUN])])
    return results.table(["task", "the paper", *SCALES, "median seed at 16x", "seeds that solve 16x"], rows)


def mechanisms(root: pathlib.Path) -> str:
    """How many seeds solve each task with each mechanism alone, left out, and all together."""
    results = Results(root, "mechanisms")
    cells = results.cells("exact")
    rows = []
    for variation in VARIATIONS:
        of_tasks = [cells.get((task, "lantm-invnorm", variation)) for task in TASKS]
        rows.append([variation.replace("-", " "), *map(_counts, of_tasks), _counts(*of_tasks)])
    seeds = max((row["seeds"] for result in cells.values() for row in result["rows"]), default=0)
    first = f"of {seeds} seeds, those that solve {', '.join(MECHANISM_TESTS)}"
    return results.table([first, *TASKS, f"all five, of {len(TASKS) * seeds}"], rows)


def verified(root: pathlib.Path) -> str:
    """The exact answers of the machines of the zoo, at 64 times the trained length and at fixed lengths."""
    path = root / "results" / "verified.json"
    if not path.exists():
        return "Not run yet: `python -m benchmarks.verified` does it."
    rows = json.loads(path.read_text())["rows"]
    rows.sort(key=lambda row: (TASKS.index(row["machine"].partition("-")[0]), row["length"]))
    lines = []
    for row in rows:
        parts = [row[part] for part in ("random", "hard")]
        right = [f"{part['right']} of {part['problems']}" for part in parts]
        wrong = ", ".join(f"{kind} ({count})" for kind, count in row["hard"]["wrong"].items())
        seconds = f"{sum(part['seconds'] for part in parts):.0f} s"
        lines.append([row["machine"], f"{row['length']:,}", *right, wrong or "none", seconds])
    last = max((row["verified"] for row in rows), key=lambda one: one["date"])
    origin = f"`python -m benchmarks.verified`, [results/{path.name}](../results/{path.name}), {last['date'][:10]}"
    head = ["machine", "length", "random", "hard", "hard ones that are wrong", "time"]
    return f"{table(head, lines)}\n\n<sub>{origin}, {last['device']}</sub>"


def counting(root: pathlib.Path) -> str:
    """The figure of the cells of two controllers."""

    def tell(before: Measured, after: Measured) -> str:
        return (
            f"The {len(before['cells'])} cells with the largest range, while {before['length']:,} symbols are copied: "
            f"up to {before['largest']:,.0f} with `{before['recipe']}`, up to {after['largest']:g} with "
            f"`{after['recipe']}`."
        )

    return _figure(root, "counting", "cells of two controllers over time", tell)


def lines(root: pathlib.Path) -> str:
    """The figure of read heads beside the line of memories."""

    def tell(*machines: Measured) -> str:
        told = [
            f"`{one['recipe']}` on {one['task']} at {one['length']:,}: at most {max(one['distances']):.2g}, with "
            f"{one['wrong'] or 'no'} symbols wrong"
            for one in machines
        ]
        return f"Distance of read heads from the nearest memory, in write steps. {'; '.join(told)}."

    return _figure(root, "lines", "distances of read heads from memories", tell)


def _figure(root: pathlib.Path, name: str, alternative: str, tell: Callable[..., str]) -> str:
    """A figure with what was measured of its machines, if tools/exact_figures.py has drawn it."""
    path = root / "results" / "exact-figures.json"
    record = json.loads(path.read_text()) if path.exists() else {"figures": {}}
    if name not in record["figures"]:
        return "Not drawn yet: `make gallery` does it once the zoo has the machines."
    origin = f"[results/{path.name}](../results/{path.name}), {record['date'][:10]}, {record['device']}"
    return f"![{alternative}]({picture(name)})\n\n{tell(*record['figures'][name])}\n\n<sub>{origin}</sub>"


def _counts(*results: dict[str, Any] | None) -> str:
    """How many seeds of these cells solve each of the tests."""
    tests = [[row_of(result, test) for result in results] for test in MECHANISM_TESTS]
    known = [[row["solved"] for row in rows if row is not None] for rows in tests]
    if any(len(solved) < len(results) for solved in known):
        return NOT_RUN
    return _marked(" ".join(str(sum(solved)) for solved in known), [row for rows in tests for row in rows])


def _marked(text: str, rows: list[Any]) -> str:
    """The text, with the mark of settings that have been changed since."""
    return f"{text} {CHANGED}" if any(row and row.get("changed") for row in rows) else text
