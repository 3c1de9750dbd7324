"""How often the 95% interval of a score holds the true score: 4,000 draws of a test at low, middle and high scores.

python -m benchmarks.intervals    writes results/intervals.json

Of machines that are made up, whose chance of a right answer at every length is known; and of a machine of the zoo, the
answers of which to 512 problems at each of 32 lengths are the population that tests are drawn from. A test is what
`lantm eval` takes, 100 batches of 32 problems, each batch of one length; or a shorter one. Wilson's interval is shown
beside ours.
"""

import argparse
import json
import pathlib
from typing import Any

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.table import Table

from lantm.evaluation import clustered, wilson
from lantm.files import write_json
from lantm.provenance import provenance
from lantm.trained import load

DRAWS, BATCHES, BATCH = 4000, (10, 20, 50, 100), 32
LENGTHS, PROBLEMS = 32, 512
RESULT = pathlib.Path("results/intervals.json")

MADE_UP = ("independent of length", "gradual", "within a few lengths")
SCORES = {"low": 0.05, "middle": 0.5, "high": 0.95}

MACHINES = {
    "addition-lantm-invnorm-robust": {"low": (108, 170), "middle": (66, 128), "high": (34, 96)},
}
"""Machines of the zoo, and the lengths at which they are right on few, half and most problems."""


def made_up(kind: str, score: float) -> Float[np.ndarray, " lengths"]:
    """The chances at 63 lengths, with this mean."""
    at = np.linspace(0, 1, 63)
    if kind == "independent of length":
        return np.full(63, score)
    if kind == "gradual":  # a power of the place has any mean
        power = score / (1 - score) if score < 0.5 else (1 - score) / score
        chances = at ** (1 / power)
        return chances if score < 0.5 else 1 - chances
    return 1 / (1 + np.exp(40 * (at - score)))


def of_machine(name: str, lengths: tuple[int, int]) -> Float[np.ndarray, " lengths"]:
    """The fraction of right answers of a machine at each of 32 lengths."""
    chosen = range(lengths[0], lengths[1] + 1, 2)
    assert len(chosen) == LENGTHS
    scores = load(name).scores(lengths=chosen, problems=PROBLEMS)
    return np.array([float(one.coarse[0]) / 100 for one in scores.values()])  # type: ignore[attr-defined]


def coverage(chances: Float[np.ndarray, " lengths"], batches: int, population: int | None, seed: int) -> dict[str, Any]:
    """The fraction of draws whose interval holds the mean of the chances, and how wide intervals are."""
    random, truth = np.random.default_rng(seed), float(chances.mean())
    at = chances[random.integers(0, len(chances), (DRAWS, batches))]
    if population is None:
        right = random.binomial(BATCH, at)
    else:
        whole = np.rint(at * population).astype(int)
        right = random.hypergeometric(whole, population - whole, BATCH)
    found: dict[str, Any] = {"batches": batches, "score": round(100 * truth, 2)}
    intervals = {
        "clustered": [clustered(of_draw, BATCH) for of_draw in right],
        "wilson": [wilson(int(of_draw.sum()), batches * BATCH) for of_draw in right],
    }
    for name, of_draws in intervals.items():
        holds = np.mean([low <= truth <= high for low, high in of_draws])
        width = np.mean([high - low for low, high in of_draws])
        found[name] = {"holds": round(100 * float(holds), 1), "width": round(100 * float(width), 2)}
    return found


def main() -> None:
    """Measures and writes the result."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--save", type=pathlib.Path, default=RESULT)
    save = parser.parse_args().save
    machines: list[tuple[dict[str, Any], Float[np.ndarray, " lengths"], int | None]] = [
        ({"machine": kind, "scores": name}, made_up(kind, score), None)
        for kind in MADE_UP
        for name, score in SCORES.items()
    ]
    for machine, ranges in MACHINES.items():
        for name, lengths in ranges.items():
            chances = of_machine(machine, lengths)
            by_length = [round(100 * float(chance), 1) for chance in chances]
            said = {"machine": machine, "scores": name, "lengths": lengths, "by_length": by_length}
            machines.append((said, chances, PROBLEMS))
    rows = [
        {**said, **coverage(chances, batches, population, seed)}
        for batches in BATCHES
        for seed, (said, chances, population) in enumerate(machines)
    ]
    least_and_most = {
        f"{batches} batches": [
            pick(row["clustered"]["holds"] for row in rows if row["batches"] == batches) for pick in (min, max)
        ]
        for batches in BATCHES
    }
    record = {"draws": DRAWS, "batch": BATCH, "holds": least_and_most, "rows": rows}
    write_json(save, {"command": "python -m benchmarks.intervals", **record, **provenance()})
    table = Table("machine", "scores", "batches", "score", "interval holds it", "width", "Wilson's holds it", "width")
    for row in rows:
        cells = [f"{row[kind][name]}" for kind in ("clustered", "wilson") for name in ("holds", "width")]
        table.add_row(row["machine"], row["scores"], f"{row['batches']}", f"{row['score']}", *cells)
    Console().print(table)
    print(json.dumps(least_and_most))


if __name__ == "__main__":
    main()
