"""`lantm info`: what there is, and how many parameters a model has."""

import dataclasses
import json
import sys
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.table import Table

from lantm.cli.parse import parse
from lantm.experiments import MODELS, RECIPES, account, preset
from lantm.geometry import GEOMETRIES
from lantm.tasks import TASKS, make_task
from lantm.training import ModelName


@dataclasses.dataclass(frozen=True)
class Arguments:
    """What there is to train, or, for a task, the parameters of a model: ours, and in the paper's accounting."""

    task: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="TASK")] = None
    """A task; without one, tasks, models, geometries and recipes are listed."""
    model: ModelName = "lantm-invnorm"
    """Which of the paper's models."""
    json: bool = False
    """Print JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "info", arguments)
    facts = _listing() if chosen.task is None else _parameters(chosen.task, chosen.model)
    if chosen.json:
        json.dump(facts, sys.stdout, indent=2)
        print()
        return 0
    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column()
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{part} {count:,}" for part, count in value.items())
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        table.add_row(name.replace("_", " "), f"{value:,}" if isinstance(value, int) else str(value))
    Console().print(table, highlight=False)
    return 0


def _listing() -> dict[str, Any]:
    return {
        "tasks": [*TASKS, "module:Name"],
        "models": list(MODELS),
        "geometries": [*GEOMETRIES, "translation-N", "module:Name"],
        "recipes": list(RECIPES),
    }


def _parameters(task_name: str, model: ModelName) -> dict[str, Any]:
    task = make_task(task_name)
    experiment = preset(task_name, model)
    count = account(experiment.machine, task.vocabulary)
    lengths = task.train_lengths
    return {
        "task": task_name,
        "trained_on_lengths": [lengths.smallest, lengths.largest],
        "vocabulary": task.vocabulary,
        "model": model,
        "parameters": count.ours,
        "by_part": count.parts,
        "paper_counts_besides": {
            "second bias": count.second_bias,
            "second embedding": count.second_embedding,
            "dead start": count.dead_start,
        },
        "parameters_as_the_paper_counts": count.paper,
    }
