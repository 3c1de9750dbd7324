"""report.html: what a run came to, on one page, written when its training is complete or on demand.

Scores with their intervals, at the tested scales and by length, learning curves of all seeds, the best and the worst
machine at work, why they are right or wrong, in words, and every setting.
"""

import dataclasses
import pathlib
import shlex
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Array, Int

from lantm.evaluation import SOLVED, Examiner, Scores, record, wilson
from lantm.machine import Model, parameter_count
from lantm.report.diagnosis import diagnose
from lantm.report.learning import curves_of_tests, loss_curves
from lantm.report.pages.document import page
from lantm.report.pages.packing import pack, share_spaces
from lantm.report.pages.viewer import SCRIPTS, STYLES, geometry_of, one_of, sampled_problems, usual_lengths
from lantm.seeds import EVALUATE
from lantm.tasks import Lengths, Task
from lantm.training.checkpoint import write_whole
from lantm.training.experiment import Experiment
from lantm.training.run_folder import RunFolder

PROBLEMS = 128  # a length: all lengths together take about as long as two epochs of training
_DRAW = 2  # fresh problems: training's final scores are draw 0, and lantm eval's are 1 unless told otherwise
_SHARES = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1, 3 / 2, 2, 3, 4)  # of the longest length trained on


class Machines(NamedTuple):
    """The machines that a report is about: the best weights of every seed."""

    experiment: Experiment
    task: Task
    models: Model  # with a leading axis of seeds
    seeds: Int[Array, " seeds"]
    epoch: int


def write_report(folder: RunFolder, machines: Machines) -> pathlib.Path:
    """Writes the report of a run into its folder."""
    path = folder.path / "report.html"
    write_whole(path, report_page(folder, machines).encode())
    return path


def try_report(folder: RunFolder, machines: Machines, warn: Callable[[str], None]) -> pathlib.Path | None:
    """The same at the end of a training, which is complete and stays so: whatever goes wrong here is a warning."""
    try:
        return write_report(folder, machines)
    except (Exception, KeyboardInterrupt) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        warn(f"the report was not written ({reason}): lantm report {shlex.quote(str(folder.path))} tries again")
        return None


def report_page(folder: RunFolder, machines: Machines) -> str:
    """The page of a run, from its folder and its machines."""
    experiment, task = machines.experiment, machines.task
    seeds = list(range(experiment.first_seed, experiment.first_seed + experiment.seeds))
    metrics, summary = list(folder.metrics()), folder.summary()
    by_length = _scores_by_length(machines)
    merit = np.mean([scores.coarse + 0.01 * scores.fine for scores in by_length], axis=0)
    ranked = np.argsort(-merit, kind="stable").tolist()
    best, worst = ranked[0], ranked[-1]
    shown = [best, worst] if len(seeds) > 1 else [best]
    exhibits, first = _exhibits(machines, shown, by_length)
    exhibits, spaces = share_spaces(exhibits)
    title = folder.path.resolve().name
    data = {
        "title": title,
        "about": f"{experiment.model} on {experiment.task}, recipe {experiment.recipe_name}",
        "solved": SOLVED,
        "seeds": seeds,
        "best": best,
        "worst": worst,
        "epoch": machines.epoch,
        "epochs": experiment.recipe.epochs,
        "rows": [_with_interval(row) for row in summary.get("rows", [])],
        "byLength": _length_curves(by_length, task),
        "loss": loss_curves(metrics, seeds),
        "tests": curves_of_tests(metrics, seeds),
        "machines": exhibits,
        "spaces": spaces,
        "first": first,
        "facts": _facts(machines, summary, folder.provenance()),
        "settings": _settings(experiment),
    }
    styles, scripts = (*STYLES, "report.css"), (*SCRIPTS, "charts.js", "report_page.js")
    return page(f"{title}: {data['about']}", styles, scripts, data)


def report_lengths(task: Task) -> list[int]:
    """Lengths from well below the longest that was trained on to four times that."""
    stride, longest = task.train_lengths.stride, task.train_lengths.largest
    lengths = {max(stride, int(share * longest) // stride * stride) for share in _SHARES}
    return sorted(length for length in lengths if length <= max(longest, task.longest_length))


def _scores_by_length(machines: Machines) -> list[Scores]:
    task, recipe = machines.task, machines.experiment.recipe
    lengths = report_lengths(task)
    examiner = Examiner(task, max(lengths), machines.experiment.seeds, recipe.batch_size)
    batches, stride = -(-PROBLEMS // recipe.batch_size), task.train_lengths.stride
    return [
        examiner(machines.models, machines.seeds, Lengths(length, length, stride), batches, EVALUATE, _DRAW)
        for length in lengths
    ]


def _length_curves(by_length: list[Scores], task: Task) -> dict[str, Any]:
    intervals = [
        [wilson(share / 100 * scores.problems, scores.problems) for share in scores.coarse] for scores in by_length
    ]
    return {
        "lengths": [scores.lengths.largest for scores in by_length],
        "trained": [task.train_lengths.smallest, task.train_lengths.largest],
        "problems": by_length[0].problems,
        "coarse": np.round([scores.coarse for scores in by_length], 2).T.tolist(),
        "fine": np.round([scores.fine for scores in by_length], 2).T.tolist(),
        "intervals": np.round(100 * np.array(intervals), 2).transpose(1, 0, 2).tolist(),
    }


def _with_interval(row: dict[str, Any]) -> dict[str, Any]:
    """A row of scores with the interval of the best seed's coarse score."""
    low, high = wilson(row["coarse"] / 100 * row["problems"], row["problems"])
    return row | {"interval": [round(100 * low, 2), round(100 * high, 2)]}


def _exhibits(machines: Machines, shown: list[int], by_length: list[Scores]) -> tuple[list[dict[str, Any]], int]:
    """The machines to be looked at, and which problem first: the shortest that the worst of them gets wrong."""
    problems = sampled_problems(machines.task, usual_lengths(machines.task))
    exhibits, first = [], 0
    for index in shown:
        model = one_of(machines.models, index)
        geometry = geometry_of(model)
        recordings = [record(model, problem.batch, 0, True) for problem in problems]
        wrong = [at for at, recording in enumerate(recordings) if recording.first_mistake is not None]
        first = wrong[0] if wrong else len(problems) - 1
        seed = machines.experiment.first_seed + index
        rank = "" if len(shown) == 1 else ", the best" if index == shown[0] else ", the worst"
        exhibits.append(
            {
                "name": f"seed {seed}{rank}",
                "scored": _in_words(index, by_length),
                "problems": [
                    {
                        "name": problem.name,
                        "scene": pack(recording, machines.task, geometry),
                        "why": diagnose(recording, machines.task, geometry),
                    }
                    for problem, recording in zip(problems, recordings, strict=True)
                ],
            }
        )
    return exhibits, first


def _in_words(index: int, by_length: list[Scores]) -> str:
    """Up to where a seed solves the task, and how it fails beyond."""
    solved = [scores.lengths.largest for scores in by_length if scores.coarse[index] >= SOLVED]
    failed = [scores for scores in by_length if scores.coarse[index] < SOLVED]
    if not failed:
        return f"It solves every length that was tried, up to {solved[-1]}."
    scores = failed[0]
    low, high = (100 * bound for bound in wilson(scores.coarse[index] / 100 * scores.problems, scores.problems))
    begins = "It solves no length that was tried. "
    if solved:
        begins = f"It solves length {solved[0]}" + (f" to {solved[-1]}. " if len(solved) > 1 else ". ")
    return (
        begins
        + f"At length {scores.lengths.largest} it answers {scores.coarse[index]:.0f}% of {scores.problems} problems "
        + f"without a mistake (95% interval {low:.0f}% to {high:.0f}%); in a wrong answer the first mistake comes "
        f"after {100 * scores.first_error[index]:.0f}% of the symbols (median)."
    )


def _facts(machines: Machines, summary: dict[str, Any], provenance: dict[str, Any]) -> list[list[str]]:
    """What is good to know of the run, each with its name."""
    parameters = parameter_count(one_of(machines.models, 0))
    facts = {
        "parameters": f"{parameters:,}",
        "epochs": f"{machines.epoch:,}",
        "trained for": f"{summary['seconds']:,.0f} s" if "seconds" in summary else None,
        "started": provenance.get("date"),
        "device": provenance.get("device"),
        "commit": provenance.get("commit"),
        "lantm": provenance.get("lantm"),
        "jax": provenance.get("jax"),
    }
    return [[name, str(value)] for name, value in facts.items() if value is not None]


def _settings(experiment: Experiment) -> list[dict[str, Any]]:
    """Every setting by group, and whether it is other than the class's default."""

    def listed(record: Any, left_out: tuple[str, ...] = ()) -> list[list[Any]]:
        found = []
        for field in dataclasses.fields(record):
            value = getattr(record, field.name)
            if field.name not in left_out:
                usual = field.default is not dataclasses.MISSING and value == field.default
                found.append([field.name.replace("_", " "), _shown(value), not usual])
        return found

    return [
        {"name": "experiment", "settings": listed(experiment, left_out=("machine", "recipe"))},
        {"name": "machine", "settings": listed(experiment.machine)},
        {"name": "recipe", "settings": listed(experiment.recipe)},
    ]


def _shown(value: Any) -> str:
    """A setting for people."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
