"""report.html: the results of a run on one page, written when training is complete or by `lantm report`.

It shows scores with intervals, at the tested scales and by length, learning curves of all seeds, the best and the worst
machine at work with a diagnosis, and all settings. For a text, it shows perplexities instead of scores.
"""

import dataclasses
import itertools
import pathlib
import shlex
from collections.abc import Callable
from typing import Any

import numpy as np

from lantm.errors import LantmError, reason
from lantm.evaluation import SOLVED, Draw, Scores, record
from lantm.files import utf8, write_whole
from lantm.randomness import EVALUATE
from lantm.report.diagnosis import diagnose
from lantm.report.learning import curves_of_tests, loss_curves
from lantm.report.pages.document import page
from lantm.report.pages.viewer import SCRIPTS, STYLES, Machine, exhibit, sampled_problems, together, usual_lengths
from lantm.tasks import Lengths, Task
from lantm.trained import Trained
from lantm.training import Experiment
from lantm.training.rows import of_seed

REPORT = "report.html"
PROBLEMS = 128  # per length: all lengths together take about as long as two epochs of training
_DRAW = 2  # fresh problems: the final scores of training use draw 0, and lantm eval uses draw 1 by default
_SHARES = (1 / 8, 1 / 4, 1 / 2, 3 / 4, 1, 3 / 2, 2, 3, 4)  # of the longest training length


def write_report(trained: Trained) -> pathlib.Path:
    """Writes the report of a run into its folder."""
    if trained.folder is None:
        raise LantmError(f"{trained.name} is a single machine: a report needs a run folder")
    path = trained.folder.path / REPORT
    with trained.folder.locked():
        write_whole(path, utf8(report_page(trained)))
    return path


def try_report(trained: Trained, warn: Callable[[str], None]) -> pathlib.Path | None:
    """Writes the report at the end of a training; an error is only a warning, since the training is complete."""
    try:
        return write_report(trained)
    except (Exception, KeyboardInterrupt) as error:
        warn(f"the report was not written ({reason(error)}): lantm report {shlex.quote(trained.name)} tries again")
        return None


def report_page(trained: Trained) -> str:
    """The page of a run."""
    experiment, task = trained.experiment, trained.source
    assert trained.folder is not None
    assert trained.history is not None
    summary = trained.folder.summary()
    by_length = _scores_by_length(trained, task) if isinstance(task, Task) else []
    ranked = trained.ranked
    shown = [ranked[0], ranked[-1]] if len(ranked) > 1 else [ranked[0]]
    exhibits, first = _exhibits(trained, shown, by_length)
    title = trained.folder.path.resolve().name
    data = {
        "title": title,
        "about": f"{experiment.model} on {experiment.task}, recipe {experiment.recipe_name}",
        "solved": SOLVED,
        "seeds": list(trained.seeds),
        "best": ranked[0],
        "worst": ranked[-1],
        "epoch": trained.epoch,
        "epochs": experiment.recipe.epochs,
        "rows": [of_seed(row, experiment, ranked[0]) for row in summary.get("rows", [])],
        "byLength": _length_curves(by_length, task) if by_length else None,
        "loss": loss_curves(trained.history),
        "tests": curves_of_tests(trained.history),
        **together(exhibits),
        "first": first,
        "facts": _facts(trained, summary),
        "settings": _settings(experiment),
    }
    styles, scripts = (*STYLES, "report.css"), (*SCRIPTS, "charts.js", "report_page.js")
    return page(f"{title}: {data['about']}", styles, scripts, data)


def report_lengths(task: Task) -> list[int]:
    """Lengths from well below the longest training length to four times that."""
    stride, longest = task.train_lengths.stride, task.train_lengths.largest
    lengths = {max(stride, int(share * longest) // stride * stride) for share in _SHARES}
    return sorted(length for length in lengths if length <= max(longest, task.longest_length))


def _scores_by_length(trained: Trained, task: Task) -> list[Scores]:
    lengths = {f"{length}": Lengths(length, length, task.train_lengths.stride) for length in report_lengths(task)}
    examiner = trained.examiner(task, lengths, trained.experiment.recipe.batch_size)
    found = examiner(trained.best_weights, trained.start_seeds, Draw(PROBLEMS, EVALUATE, _DRAW))
    return [scores for scores in found.values() if isinstance(scores, Scores)]


def _length_curves(by_length: list[Scores], task: Any) -> dict[str, Any]:
    return {
        "lengths": [scores.lengths.largest for scores in by_length],
        "trained": [task.train_lengths.smallest, task.train_lengths.largest],
        "problems": by_length[0].problems,
        "coarse": np.round([scores.coarse for scores in by_length], 2).T.tolist(),
        "fine": np.round([scores.fine for scores in by_length], 2).T.tolist(),
        "intervals": np.round([scores.intervals for scores in by_length], 2).transpose(1, 0, 2).tolist(),
    }


def _exhibits(trained: Trained, shown: list[int], by_length: list[Scores]) -> tuple[list[dict[str, Any]], int]:
    """The machines to show, and the problem to show first: the shortest that the worst machine gets wrong."""
    task, geometry = trained.source, trained.geometry
    problems = sampled_problems(task, usual_lengths(task))
    exhibits, first = [], 0
    for index in shown:
        seed = trained.seeds[index]
        model = trained.model(seed)
        recordings = [record(model, problem.batch, 0, True) for problem in problems]
        wrong = [at for at, recording in enumerate(recordings) if recording.first_mistake is not None]
        first = wrong[0] if wrong else len(problems) - 1
        rank = "" if len(shown) == 1 else ", the best" if index == shown[0] else ", the worst"
        recorded = [problem._replace(recording=one) for problem, one in zip(problems, recordings, strict=True)]
        exhibited = exhibit(Machine(f"seed {seed}{rank}", task, model, recorded))
        for problem, recording in zip(exhibited["problems"], recordings, strict=True):
            problem["why"] = diagnose(recording, task, geometry)
        exhibits.append(exhibited | {"scored": _in_words(index, by_length) if by_length else ""})
    return exhibits, first


def _in_words(index: int, by_length: list[Scores]) -> str:
    """The lengths that a seed solves, and how it fails beyond them, in words."""
    solved = [scores.lengths.largest for scores in by_length if scores.coarse[index] >= SOLVED]
    failed = [scores for scores in by_length if scores.coarse[index] < SOLVED]
    if not failed:
        return f"It solves every length that was tried, up to {solved[-1]}."
    scores = failed[0]
    low, high = scores.intervals[index]
    begins = (
        f"It solves ({SOLVED:g}% or more) no length that was tried. The shortest is {scores.lengths.largest}: there"
    )
    if solved:
        tried = [scores.lengths.largest for scores in by_length]
        begins = (
            f"Of the lengths that were tried it solves ({SOLVED:g}% or more) {_ranges(solved, tried)}. "
            f"The shortest that it does not solve is {scores.lengths.largest}: there"
        )
    return (
        f"{begins} it answers {scores.coarse[index]:.1f}% of {scores.problems} problems without a mistake "
        f"(95% interval {low:.0f}% to {high:.0f}%); in a wrong answer the first mistake comes "
        f"after {100 * scores.first_error[index]:.0f}% of the symbols (median)."
    )


def _ranges(some: list[int], tried: list[int]) -> str:
    """Lengths in words, those that are neighbours among the tried ones as a range.

    >>> _ranges([2, 4, 8, 16], [2, 4, 8, 12, 16])
    '2 to 8 and 16'
    """
    runs = [list(run) for inside, run in itertools.groupby(tried, key=set(some).__contains__) if inside]
    parts = [f"{run[0]} to {run[-1]}" if len(run) > 1 else f"{run[0]}" for run in runs]
    return " and ".join(filter(None, [", ".join(parts[:-1]), parts[-1]]))


def _facts(trained: Trained, summary: dict[str, Any]) -> list[list[str]]:
    """Facts about the run, as name and value."""
    provenance = trained.trained
    facts = {
        "parameters": f"{trained.parameters:,}",
        "epochs": f"{trained.epoch:,}",
        "trained for": f"{summary['seconds']:,.0f} s" if "seconds" in summary else None,
        "started": provenance["date"].replace("T", " ").replace("+00:00", " UTC") if provenance.get("date") else None,
        "started from": provenance.get("from"),
        "device": provenance.get("device"),
        "commit": provenance.get("commit"),
        "lantm": provenance.get("lantm"),
        "jax": provenance.get("jax"),
    }
    return [[name, str(value)] for name, value in facts.items() if value is not None]


def _settings(experiment: Experiment) -> list[dict[str, Any]]:
    """All settings by group, and whether they differ from the default."""

    def listed(record: Any, left_out: tuple[str, ...] = ()) -> list[list[Any]]:
        found = []
        for field in dataclasses.fields(record):
            value = getattr(record, field.name)
            if field.name not in left_out:
                usual = field.default is not dataclasses.MISSING and value == field.default
                found.append([field.name.replace("_", " "), _shown(value), not usual])
        return found

    elsewhere = ("machine", "recipe", "text") + (() if experiment.members else ("members",))
    return [
        {"name": "experiment", "settings": listed(experiment, left_out=elsewhere)},
        {"name": "machine", "settings": listed(experiment.machine)},
        {"name": "recipe", "settings": listed(experiment.recipe)},
    ]


def _shown(value: Any) -> str:
    """The displayed value of a setting."""
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None else str(value)
