"""`python -m benchmarks.verified`: the zoo at 64 times the trained length, and at 3,000 and 100,000 symbols or digits.

Random and hard problems of a draw that had no part in selecting the machines, answered on a CPU and counted into
results/verified.json. The file is written after every machine and length; rerun to continue after an interruption.
"""

import argparse
import json
import pathlib
from typing import Any

from benchmarks.__main__ import RESULTS
from benchmarks.timing import command
from lantm.devices import use_all_cores
from lantm.provenance import provenance
from lantm.trained import load

TASKS = ("copy", "reverse", "bigramFlip", "double", "addition")
LENGTHS = {3_000: 100, 100_000: 10}  # beside 64 times the trained length; how many problems of each kind
DRAW = 2  # machines were selected with others


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.verified", description=__doc__)
    parser.add_argument("--only", nargs="+", choices=TASKS, default=TASKS, help="which tasks (default: all)")
    parser.add_argument("--out", type=pathlib.Path, default=RESULTS / "verified.json", help="the JSON to write")
    chosen = parser.parse_args()
    use_all_cores()
    rows = json.loads(chosen.out.read_text())["rows"] if chosen.out.exists() else []
    for task in chosen.only:
        machine = load(task)
        for length, problems in {64 * machine.source.train_lengths.largest: 100, **LENGTHS}.items():
            known = {"machine": machine.name, "seed": int(machine.start_seeds[0]), "length": length, "draw": DRAW}
            known["switches"] = {
                name: vars(machine.experiment.machine)[name] for name in machine.trained.get("switches", {})
            }
            if any(known.items() <= row.items() for row in rows):
                continue
            found = machine.verify(length, problems, draw=DRAW)
            row = known | {name: _counted(part) for name, part in found.parts.items()} | {"verified": provenance()}
            rows = [one for one in rows if (one["machine"], one["length"]) != (machine.name, length)] + [row]
            chosen.out.write_text(json.dumps({"command": command("verified"), "rows": rows}, indent=1) + "\n")
            print(machine.name, length, {name: row[name] for name in found.parts}, flush=True)


def _counted(part: Any) -> dict[str, Any]:
    wrong = {kind: tally.problems - tally.right for kind, tally in part.kinds.items() if tally.right < tally.problems}
    return {
        "right": part.total.right,
        "problems": part.total.problems,
        "error_rate": [round(bound, 4) for bound in part.total.error_rate],
        "wrong": wrong,
        "seconds": round(part.seconds, 1),
    }


if __name__ == "__main__":
    main()
