"""`python -m benchmarks.program_kinds`: what the zoo's machines make of each kind of program, and of fewer digits.

Written to results/program-kinds.json; docs/programs.md shows it.
"""

import argparse
import dataclasses
import json
import pathlib
from typing import Any

from lantm.experiments import MODELS
from lantm.seeds import EVALUATE
from rich.console import Console
from rich.table import Table

from benchmarks.timing import command
from lantm import zoo
from lantm.evaluation import Examiner
from lantm.provenance import provenance
from lantm.report import score_row
from lantm.tasks import Lengths
from lantm.tasks.grammar import KINDS

RESULTS = pathlib.Path(__file__).parent.parent / "results"
DIGITS, BATCH, DRAW = (2, 3, 4), 32, 1


def rows_of(name: str, problems: int) -> list[dict[str, Any]]:
    """A row for every kind and number of digits."""
    shipped = zoo.load(name)
    rows = []
    for kind in KINDS:
        experiment = dataclasses.replace(shipped.experiment, task=f"programs[kinds={kind}]")
        examiner = Examiner(experiment.build_task(), max(DIGITS), 1, BATCH)
        for digits in DIGITS:
            lengths = Lengths(digits, digits)
            scores = examiner(shipped.models, shipped.seeds, lengths, -(-problems // BATCH), EVALUATE, DRAW)
            row = score_row(experiment, f"{digits} digits", scores)
            kept = ("model", "recipe", "problems", "coarse", "fine", "first_error")
            rows.append({"machine": name, "kind": kind, "digits": digits, **{field: row[field] for field in kept}})
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.program_kinds", description=__doc__)
    parser.add_argument("--problems", type=int, default=3200, help="programs a row (default 3200)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "program-kinds.json", help="where the JSON goes")
    chosen = parser.parse_args()
    rows = []
    for model in MODELS:
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
