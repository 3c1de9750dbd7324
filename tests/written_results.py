"""Files of results as studies leave them, with few figures, and the tables that are made of them."""

import json
import pathlib
from typing import Any

from lantm.paper import preset

ROOT = pathlib.Path(__file__).parent.parent


def result(task: str, model: str, recipe: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    usual = {
        "task": task,
        "model": model,
        "recipe": recipe,
        "median_coarse": 55.555,
        "solved": 7,
        "seeds": 8,
        "final_coarse": 90.0,
        "final_fine": 99.0,
        "paper": None,
        "pass": None,
    }
    trained = {"device": "gpu: 1 x NVIDIA H200", "date": "2026-11-15T10:00:00+00:00"}
    experiment = json.loads(json.dumps(preset(task, model, recipe).to_json()))  # type: ignore[arg-type]
    content = {"rows": [{**usual, **row} for row in rows], "trained": trained, "training_seconds": 90.0}
    return {**content, "experiment": experiment}


def write(root: pathlib.Path, study: str, name: str, content: dict[str, Any]) -> None:
    path = root / "results" / study / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))


def lines(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
