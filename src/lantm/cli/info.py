"""`lantm info`: lists tasks, models, geometries and recipes, and counts the parameters of a model."""

import dataclasses
import pathlib
from typing import Annotated, Any

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from lantm.cli.opening import open_trained
from lantm.cli.output import print_json
from lantm.cli.parse import parse
from lantm.cli.printable import printable
from lantm.geometry import GEOMETRIES
from lantm.paper import MODELS, RECIPES, account, preset
from lantm.paper.published import SEQUENCES
from lantm.tasks import TASKS, Lengths, make_task
from lantm.trained import load_file, zoo
from lantm.training import ModelName, RunFolder, seed_and_start
from lantm.weight_files import SUFFIX

_PENN_TREEBANK = 10_000  # vocabulary of the paper's text


@dataclasses.dataclass(frozen=True)
class Arguments:
    """List what can be trained. For a task: the parameter counts of a model, ours and the paper's. For a run or a
    machine of the zoo: how and where it was trained.
    """

    subject: Annotated[tyro.conf.Positional[str | None], tyro.conf.arg(metavar="[TASK|RUN]")] = None
    """A task, a run folder, a machine file, or a machine of the zoo; without one, list all choices."""
    model: ModelName = "lantm-invnorm"
    """The model."""
    recipe: str = "paper"
    """For a task: the recipe whose machine is counted."""
    data: Annotated[pathlib.Path | None, tyro.conf.arg(metavar="FOLDER")] = None
    """The folder of the text, if it has moved."""
    trust: bool = False
    """Import the modules that RUN names as module:Name, which runs their code (docs/security.md)."""
    json: bool = False
    """Print JSON on standard output."""


def main(arguments: list[str]) -> int:
    """Runs the command."""
    chosen = parse(Arguments, "info", arguments)
    if chosen.subject is None:
        facts = _listing()
    elif _is_trained(chosen.subject):
        facts = _trained(chosen.subject, chosen.data, chosen.trust)
    else:
        facts = _parameters(chosen.subject, chosen.model, chosen.recipe)
    if chosen.json:
        print_json(facts)
        return 0
    table = Table(show_header=False, box=None)
    table.add_column(style="bold")
    table.add_column()
    for name, value in facts.items():
        if isinstance(value, dict):
            value = ", ".join(f"{part} {_shown(one)}" for part, one in value.items())
        elif isinstance(value, tuple):  # from, to
            value = "-".join(map(str, value))
        elif name == "seeds":
            value = "; ".join(seed_and_start(number).removeprefix("seed ") for number in value)
        elif isinstance(value, list):
            value = ", ".join(map(str, value))
        table.add_row(name.replace("_", " "), escape(printable(_shown(value))))
    Console().print(table, highlight=False)
    return 0


def _is_trained(subject: str) -> bool:
    """Whether it names trained machines; a task's name means the task."""
    path = pathlib.Path(subject)
    file = path.suffix == SUFFIX and path.is_file()
    return file or RunFolder(path).exists() or subject in zoo.names()


def _shown(value: Any) -> str:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _listing() -> dict[str, Any]:
    return {
        "tasks": [*TASKS, "text", "module:Name"],
        "models": list(MODELS),
        "geometries": [*GEOMETRIES, "translation-N", "hyperbolic-N", "module:Name"],
        "recipes": list(RECIPES),
        "zoo": zoo.names(),
    }


def _trained(name: str, data: pathlib.Path | None, trust: bool) -> dict[str, Any]:
    machines = open_trained(name, data, trust)
    experiment = machines.experiment
    lengths = machines.source.train_lengths
    return {
        "task": experiment.task,
        "trained_on_lengths": (lengths.smallest, lengths.largest),
        "model": experiment.model,
        "parameters": account(experiment.machine, machines.source.vocabulary).ours,
        "recipe": experiment.recipe_name,
        "seeds": machines.start_seeds.tolist(),
        "epoch": machines.epoch,
        "machine": vars(experiment.machine),
        "training": vars(experiment.recipe),
        "trained": machines.trained,
    }


def _parameters(task_name: str, model: ModelName, recipe: str) -> dict[str, Any]:
    experiment = preset(task_name, model, recipe)
    if experiment.reads_text:
        vocabulary, lengths = _PENN_TREEBANK, Lengths(experiment.recipe.steps, experiment.recipe.steps)
    else:
        task = make_task(task_name)
        vocabulary, lengths = task.vocabulary, task.train_lengths
    count = account(experiment.machine, vocabulary)
    facts = {
        "task": task_name,
        "trained_on_lengths": (lengths.smallest, lengths.largest),
        "vocabulary": vocabulary,
        "model": model,
        "recipe": recipe,
        "parameters": count.ours,
        "by_part": count.parts,
    }
    if (file := zoo.find(task_name)) is not None:
        # Other commands take a task's name for this machine, which may differ from the counted one.
        machine = load_file(file)
        facts["answered_by"] = {
            machine.name: f"of the zoo (lantm solve {task_name} PROBLEM)",
            "recipe": machine.experiment.recipe_name,
            "parameters": machine.parameters,
        }
    # The paper counts programs and language models differently.
    if recipe != "paper" or (task_name, model) not in SEQUENCES:
        return facts
    besides = {
        "second bias": count.second_bias,
        "second embedding": count.second_embedding,
        "dead start": count.dead_start,
    }
    return facts | {"paper_counts_besides": besides, "parameters_as_the_paper_counts": count.paper}
