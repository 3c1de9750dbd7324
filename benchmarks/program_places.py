"""`python -m benchmarks.program_places`: which digits of an answer the zoo's machines get right, place by place.

For programs that are arithmetic, with four digits, and of their answers the commonest size. Written to
results/program-places.json; docs/programs.md shows it.
"""

import argparse
import dataclasses
import json
import pathlib
from typing import Any

import numpy as np
from jaxtyping import Bool, Int
from rich.console import Console
from rich.table import Table

from benchmarks.timing import command
from lantm.evaluation import predict
from lantm.paper import PAPER_MODELS
from lantm.provenance import provenance
from lantm.randomness import EVALUATE, seed_key
from lantm.tasks import Task
from lantm.trained import load

RESULTS = pathlib.Path(__file__).parent.parent / "results"
ARITHMETIC = (("addition", "+"), ("addition", "-"), ("multiplication", "*"), ("loop", "+"), ("loop", "-"))
OF_LOOPS_ALONE = "programs-kinds-loop--lstm"  # taught nothing else
DIGITS, DRAW = 4, 2  # a draw of its own: other programs than those of benchmarks.program_kinds


def right_by_place(
    task: Task,
    predicted: Int[np.ndarray, "answer batch"],
    targets: Int[np.ndarray, "answer batch"],
    mask: Bool[np.ndarray, "answer batch"],
) -> dict[str, Any]:
    """Percent right at each digit of the answers of the commonest size, from the last to the first, sign, and end."""
    right = predicted == targets
    minus, end = (mask & (targets == symbol) for symbol in (task.alphabet.index("-"), task.end_of_output))
    digit = mask & ~minus & ~end
    sizes = digit.sum(axis=0)
    size = int(np.bincount(sizes).argmax())
    place = np.cumsum(digit, axis=0) - 1
    of_size = sizes == size

    def percent(where: Bool[np.ndarray, "answer batch"]) -> float | None:
        found = right[where & of_size]
        return round(100.0 * float(found.mean()), 1) if found.size else None

    return {
        "whole": round(100.0 * float((right | ~mask).all(axis=0).mean()), 1),  # of answers of all sizes
        "answer_digits": size,
        "share_of_answers": round(100.0 * float(of_size.mean()), 1),
        "right": [percent(digit & (place == at)) for at in range(size)],
        "right_sign": percent(minus),  # of answers that have one
        "right_end": percent(end),
    }


def row_of(name: str, kind: str, operator: str, problems: int) -> dict[str, Any]:
    """A machine of the zoo on the programs of one kind that have this operator."""
    machine = load(name)
    task = dataclasses.replace(machine.experiment, task=f"programs[kinds={kind}]").build_task()
    batch = task.sample(seed_key(machine.experiment.first_seed, EVALUATE, DRAW), problems, DIGITS, DIGITS)
    has_it = np.asarray(batch.inputs == task.alphabet.index(operator)).any(axis=0)
    given = predict(machine.model(), batch)
    places = right_by_place(task, *(np.asarray(rows)[:, has_it] for rows in given))
    program = {"kind": kind, "operator": operator, "problems": int(has_it.sum())}
    return {"machine": name, "model": machine.experiment.model, **program, **places}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.program_places", description=__doc__)
    parser.add_argument("--problems", type=int, default=3200, help="programs of a kind (default 3200)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "program-places.json", help="where the JSON goes")
    chosen = parser.parse_args()
    machines = [f"programs-{model}" for model in PAPER_MODELS]
    rows = [
        row_of(name, kind, operator, chosen.problems)
        for kind, operator in ARITHMETIC
        for name in (*machines, *([OF_LOOPS_ALONE] if kind == "loop" else []))
    ]
    table = Table("program", "machine", "whole", "last digit first", "sign", "end")
    for row in rows:
        shown = (str(row["whole"]), " ".join(f"{right:.0f}" for right in row["right"]), str(row["right_sign"]))
        name = row["machine"].removeprefix("programs-")
        table.add_row(f"{row['kind']} {row['operator']}", name, *shown, str(row["right_end"]))
    Console().print(table)
    chosen.out.write_text(
        json.dumps({"command": command("program_places"), **provenance(), "rows": rows}, indent=1) + "\n"
    )


if __name__ == "__main__":
    main()
