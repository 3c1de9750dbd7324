"""A cell that is an experiment: its seeds trained side by side, scored at several lengths."""

import dataclasses
import pathlib
import statistics
import time
from collections.abc import Iterable, Mapping
from typing import Any

from lantm import zoo
from lantm.errors import LantmError
from lantm.evaluation import SOLVED
from lantm.experiments.paper import Figures
from lantm.experiments.scoring import CHOOSING, CHOOSING_PROBLEMS, REPORTING, Scorer
from lantm.experiments.study import Cell, Conduct, Request, Row, beside_the_paper
from lantm.provenance import provenance
from lantm.report import score_row
from lantm.report.pages import Machines, try_report
from lantm.training import Experiment, RunFolder, best_tests_of_starts, load_learners, train
from lantm.training.seconds import add_seconds, seconds_spent


@dataclasses.dataclass(frozen=True)
class TrainedCell(Cell):
    """An experiment, the scales it is scored at, and what the paper has there."""

    experiment: Experiment
    scales: tuple[int, ...]
    figures: Mapping[int, Figures]
    """The paper's, by scale, where it has any."""
    request: Request
    varied: str = ""
    """What tells its training from the preset's, as a part of names."""
    suffix: str = ""
    """What tells its result from another of the same training."""
    extra: dict[str, str] = dataclasses.field(default_factory=dict)
    """Labels besides task and model, which are also in every row."""

    @property
    def run_name(self) -> str:
        parts = [self._zoo_name, self.experiment.recipe_name, "quick" if self.request.quick else ""]
        return "-".join(filter(None, parts))

    @property
    def name(self) -> str:
        return self.run_name + self.suffix

    @property
    def labels(self) -> Mapping[str, str]:
        return {"task": self.experiment.task, "model": self.experiment.model, **self.extra}

    def check(self) -> None:
        task = self.experiment.build_task()
        for scale in self.scales:
            task.check_length(task.lengths_at(scale).largest)

    def matches(self, result: Mapping[str, Any]) -> bool:
        """The number of seeds may be another, unless it was asked for; what was recorded changes no figure."""
        rows = result.get("rows")
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            return False
        scored = [(row.get("scale"), row.get("problems")) for row in rows]
        try:
            trained = Experiment.from_json(result.get("experiment"))
        except LantmError:
            return False
        trained = dataclasses.replace(trained, recorded_seeds=self.experiment.recorded_seeds)
        if self.request.seeds is None:
            trained = dataclasses.replace(trained, seeds=self.experiment.seeds)
        # Problems come in whole batches, so there may be a few more than were asked for.
        return (
            trained == self.experiment
            and [scale for scale, _ in scored] == [f"{scale}x" for scale in self.scales]
            and all(isinstance(problems, int) and problems >= self.request.problems for _, problems in scored)
        )

    def train(self, folder: pathlib.Path, conduct: Conduct) -> bool:
        run = RunFolder(folder)
        resume = (folder / "experiment.json").exists()
        if resume:
            run = RunFolder.open(folder)
            experiment = run.experiment()
            if dataclasses.replace(experiment, recorded_seeds=self.experiment.recorded_seeds) != self.experiment:
                raise LantmError(
                    f"{folder} holds a training with other settings: --again moves it aside and begins anew, "
                    "or choose another --runs"
                )
            if _complete(run):
                return True
        else:
            experiment = self.experiment
            if self.request.bare:
                experiment = dataclasses.replace(experiment, recorded_seeds=0)
            run = RunFolder.create(folder, experiment, provenance())
        with conduct.watch(experiment) as watch:
            result = train(experiment, run, resume, watch, conduct.stop, conduct.say)
        add_seconds(folder, result.seconds)
        rate = _rate(experiment, result.epoch, folder)
        conduct.say(f"{self.run_name}: {rate:,.0f} problems a second, compilation and tests included")
        if result.complete and not self.request.bare:
            learners, task = result.learners, experiment.build_task()
            machines = Machines(experiment, task, learners.best_model, learners.seed, result.epoch)
            try_report(run, machines, conduct.say)
        return result.complete

    def score(self, folder: pathlib.Path) -> dict[str, Any]:
        run = RunFolder.open(folder)
        experiment, task, epoch, learners, _ = load_learners(run)
        began = time.monotonic()
        score = Scorer(task, {f"{scale}x": task.lengths_at(scale) for scale in self.scales}, experiment.seeds)
        choosing = min(CHOOSING_PROBLEMS, self.request.problems)
        chosen = score(learners.best_model, learners.seed, choosing, CHOOSING)
        best = score(learners.best_model, learners.seed, self.request.problems, REPORTING)
        last = score(learners.model, learners.seed, self.request.problems, REPORTING)
        metrics = list(run.metrics())
        tests = _tests(metrics, experiment)
        rows, final = [], []
        for scale in self.scales:
            label = f"{scale}x"
            seed = chosen[label].best_by(experiment.recipe.select_by)
            final.append(score_row(experiment, label, last[label], seed) | self.extra)
            row = score_row(experiment, label, best[label], seed) | self.extra
            row |= {"final_coarse": final[-1]["coarse"], "final_fine": final[-1]["fine"]}
            rows.append(
                beside_the_paper(row | _of_tests(tests.get(label)), self.figures.get(scale), self.request.quick)
            )
        return {
            "rows": rows,
            "final": final,
            "experiment": experiment.to_json(),
            "epochs": epoch,
            "best_epochs": [int(epoch) for epoch in learners.best_epoch],
            "chosen_starts": [int(seed) for seed in learners.seed],
            "best_tests_of_starts": best_tests_of_starts(run),
            "tests": tests,
            "steps_without_finite_gradient": _skipped(metrics, experiment),
            "training_seconds": seconds_spent(folder),
            "problems_a_second": round(_rate(experiment, epoch, folder), 1),
            "scoring_seconds": round(time.monotonic() - began, 1),
            "trained": run.provenance(),
            "scored": provenance(),
        }

    def score_shipped(self) -> dict[str, Any] | None:
        if self._zoo_name not in zoo.names():
            return None
        shipped = zoo.load(self._zoo_name)
        began = time.monotonic()
        score = Scorer(shipped.task, {f"{scale}x": shipped.task.lengths_at(scale) for scale in self.scales}, 1)
        scores = score(shipped.models, shipped.seeds, self.request.problems, REPORTING)
        rows = [
            beside_the_paper(
                score_row(shipped.experiment, f"{scale}x", scores[f"{scale}x"]) | self.extra,
                self.figures.get(scale),
                self.request.quick,
            )
            for scale in self.scales
        ]
        return {
            "rows": rows,
            "machine": shipped.name,
            "experiment": shipped.experiment.to_json(),
            "scoring_seconds": round(time.monotonic() - began, 1),
            "trained": shipped.trained,
            "scored": provenance(),
        }

    @property
    def _zoo_name(self) -> str:
        return "-".join(filter(None, [zoo.zoo_name(self.experiment), self.varied]))


def _complete(run: RunFolder) -> bool:
    if not run.has_checkpoint():
        return False
    experiment, _, epoch, _, _ = load_learners(run)
    return epoch >= experiment.recipe.epochs


def _tests(metrics: Iterable[Row], experiment: Experiment) -> dict[str, Any]:
    """Every periodic test, by scale: the epochs, and at each the scores of all seeds."""
    found: dict[str, dict[int, dict[int, Row]]] = {}
    for row in metrics:
        if "test" in row:
            found.setdefault(row["test"], {}).setdefault(row["epoch"], {})[row["seed"]] = row
    seeds = range(experiment.first_seed, experiment.first_seed + experiment.seeds)
    return {
        scale: {
            "epochs": list(by_epoch),
            "coarse": [[rows[seed]["coarse"] for seed in seeds] for rows in by_epoch.values()],
            "fine": [[rows[seed]["fine"] for seed in seeds] for rows in by_epoch.values()],
        }
        for scale, by_epoch in found.items()
    }


def _skipped(metrics: Iterable[Row], experiment: Experiment) -> list[int]:
    """Steps that were left out since their gradient had overflowed, seed by seed; each row has the count so far."""
    counts = {row["seed"]: row["skipped"] for row in metrics if "skipped" in row}
    return [counts[experiment.first_seed + index] for index in range(experiment.seeds)]


def _of_tests(tests: Mapping[str, Any] | None) -> Row:
    """What the periodic tests at a scale say of its row.

    The paper's own figures are the best of these tests; an epoch in which a seed is first seen to solve the
    task is that of a test.
    """
    if tests is None:
        return {}
    by_seed = zip(*tests["coarse"], strict=True)
    first = [
        next((epoch for epoch, coarse in zip(tests["epochs"], seed, strict=True) if coarse >= SOLVED), None)
        for seed in by_seed
    ]
    solved = [epoch for epoch in first if epoch is not None]
    return {
        "best_test_coarse": round(max(map(max, tests["coarse"])), 2),
        "best_test_fine": round(max(map(max, tests["fine"])), 2),
        "epochs_until_solved": statistics.median(solved) if solved else None,
        "epochs_until_solved_by_seed": first,
    }


def _rate(experiment: Experiment, epochs: int, folder: pathlib.Path) -> float:
    """Problems trained on a second, all machines together; compilation and tests take their time too."""
    recipe = experiment.recipe
    problems = epochs * recipe.batches * recipe.batch_size * experiment.machines
    return problems / max(seconds_spent(folder), 1e-3)
