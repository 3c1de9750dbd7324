"""The tables of docs/scaling.md: faults that were survived, and what a study costs on many devices."""

import json
import pathlib


def faults(root: pathlib.Path) -> str:
    """How many of each fault were tried and survived."""
    path = root / "results" / "reliability.json"
    if not path.exists():
        return "Not run yet: `make reliability` does it."
    found = json.loads(path.read_text())["faults"]
    rows = [f"| {one['fault']} | {one['survived']:,} of {one['tried']:,} | {one['means']} |" for one in found]
    made = found[0]["made"]
    origin = (
        f"<sub>[results/reliability.json](../results/reliability.json), {made['date'][:10]}, {made['device']}</sub>"
    )
    return "\n".join(["| fault | survived | which means |", "| --- | --- | --- |", *rows, "", origin])


def cost(root: pathlib.Path) -> str:
    """Hours of the study of geometries on 1, 8 and 64 devices."""
    path = root / "results" / "study-cost-gpu.json"
    if not path.exists():
        return "Not measured on a GPU yet: `python -m benchmarks.study_cost` does it."
    found = json.loads(path.read_text())
    rows = [f"| {row['devices']} | {row['hours']:g} |" for row in found["rows"]]
    longest = f"The longest of its {found['cells']} cells takes {found['longest_cell_hours']:g} hours."
    origin = f"<sub>[{path.name}](../results/{path.name}), {found['date'][:10]}, {found['device']}</sub>"
    return "\n".join(["| GPUs | hours |", "| --- | --- |", *rows, "", longest, "", origin])
