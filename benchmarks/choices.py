"""How often a second draw of problems agrees with what was chosen on a first one.

python -m benchmarks.choices reads all stored results of studies and writes results/choices.json; it trains nothing.

The best seed of a row was chosen on up to 3,200 problems of its own (`lantm.evaluation.choosing`),
and all seeds were then scored on others. The best weights of a seed were chosen by the tests during training, and they
and the last ones were then scored on problems that are in neither. A choice agrees if nothing is better on the second
draw, and nearly if nothing is better by more than one point. Where it does not, what it costs is what the best would
have had more.
"""

import argparse
import json
import pathlib
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from lantm.files import write_json
from lantm.provenance import provenance

RESULT = pathlib.Path("results/choices.json")
_NEARLY = 1.0  # points


def lost(folder: pathlib.Path) -> dict[str, list[float]]:
    """By what was chosen: what the best of the second draw has more than the choice, in points, for every choice."""
    found: dict[str, list[float]] = {"best seed": [], "best seed, some solve it": [], "best weights": []}
    for path in sorted(folder.glob("*/*.json")):
        record = json.loads(path.read_text())
        rows = record.get("rows") if isinstance(record, dict) else None
        for row in rows if isinstance(rows, list) and "final" in record else ():
            score = record["experiment"]["recipe"].get("select_by", "coarse")
            if f"{score}_by_seed" not in row or "best_seed" not in row:
                continue
            by_seed = row[f"{score}_by_seed"]
            if len(by_seed) > 1:
                first = record["experiment"].get("first_seed", 0)
                less = max(by_seed) - by_seed[row["best_seed"] - first]
                found["best seed"].append(less)
                if row["solved"]:
                    found["best seed, some solve it"].append(less)
            if f"final_{score}" in row:
                found["best weights"].append(max(0.0, row[f"final_{score}"] - row[score]))
    return found


def summary(losses: list[float]) -> dict[str, Any]:
    """How often a choice agrees, and what it costs."""
    values = np.array(losses)
    return {
        "choices": len(values),
        "agrees": round(100 * float(np.mean(values == 0)), 1),
        "nearly": round(100 * float(np.mean(values <= _NEARLY)), 1),
        "mean_loss": round(float(values.mean()), 2),
        "loss_of_one_in_twenty": round(float(np.quantile(values, 0.95)), 2),
    }


def main() -> None:
    """Counts and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results"))
    parser.add_argument("--save", type=pathlib.Path)
    chosen = parser.parse_args()
    rows = {name: summary(losses) for name, losses in lost(chosen.results).items() if losses}
    record = {"command": "python -m benchmarks.choices", "choices": rows, **provenance()}
    write_json(chosen.save or RESULT, record)
    table = Table("what", "choices", "agrees", "within a point", "mean loss", "1 in 20 loses")
    for name, row in rows.items():
        table.add_row(name, *(f"{value}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
