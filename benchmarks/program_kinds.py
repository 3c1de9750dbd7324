"""`python -m benchmarks.program_kinds`: what the zoo's machines make of each kind of program, and of fewer digits.

Written to results/program-kinds.json; docs/programs.md shows it.
"""

import argparse
import dataclasses
import json
import pathlib
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.timing import command
from lantm.paper import PAPER_MODELS
from lantm.provenance import provenance
from lantm.tasks.grammar import KINDS
from lantm.trained import load
from lantm.training import score_row

RESULTS = pathlib.Path(__file__).parent.parent / "results"
DIGITS = (2, 3, 4)


def rows_of(name: str, problems: int) -> list[dict[str, Any]]:
    """A row for every kind and number of digits."""
    machine = load(name)
    rows = []
    for kind in KINDS:
        experiment = dataclasses.replace(machine.experiment, task=f"programs[kinds={kind}]")
        scores = machine.scores(lengths=DIGITS, problems=problems, task=experiment.build_task())
        for digits, (label, one) in zip(DIGITS, scores.items(), strict=True):
            row = score_row(experiment, label, one)
            kept = ("model", "recipe", "problems", "coarse", "fine", "first_error")
            rows.append({"machine": name, "kind": kind, "digits": digits, **{field: row[field] for field in kept}})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.program_kinds", description=__doc__)
    parser.add_argument("--problems", type=int, default=3200, help="programs per row (default 3200)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "program-kinds.json", help="where the JSON goes")
    chosen = parser.parse_args()
    rows = []
    for model in PAPER_MODELS:
        rows += rows_of(f"programs-{model}", chosen.problems)
        table = Table("kind", *(f"{digits} digits" for digits in DIGITS), title=model)
        for kind in KINDS:
            found = [row for row in rows if row["model"] == model and row["kind"] == kind]
            table.add_row(kind, *(f"{row['coarse']:.1f}/{row['fine']:.1f}" for row in found))
        Console().print(table)
    chosen.out.write_text(
        json.dumps({"command": command("program_kinds"), **provenance(), "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
