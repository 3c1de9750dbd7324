"""`Cell`: one table cell of a study: its experiment is trained with all seeds in parallel, scored and compared."""

import dataclasses
import math
import statistics
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from lantm.errors import LantmError
from lantm.evaluation import SOLVED, Measured, ProblemExaminer, best_seed, choosing, finite, reporting
from lantm.evaluation.examiner import BATCH, check_problems
from lantm.files import file_name
from lantm.grids.comparison import beside_the_paper
from lantm.grids.folder import GridFolder, Record, same_training
from lantm.grids.job import Job
from lantm.grids.request import Request
from lantm.provenance import provenance
from lantm.tasks import Task, Text
from lantm.trained import Trained, lengths_or_parts, usual_name
from lantm.trained.promotion import CHOOSING_PROBLEMS
from lantm.training import Experiment, History, Learner, Row, score_row
from lantm.training.rows import read_rows

_LAST_OF_ALL = 16  # the largest scale with the requested number of problems


@dataclasses.dataclass(frozen=True)
class Cell(Job):
    """An experiment, the scales it is scored at, and the paper's scores."""

    experiment: Experiment
    figures: Mapping[str, Mapping[str, int]]
    """The paper's scores by label of a test, where available."""
    request: Request
    approximate: bool = False
    """Whether the paper's scores are only approximately known: they are shown, but not compared."""
    scales: tuple[int, ...] = ()
    """Scales to score at, as multiples of the training lengths; empty for a text."""
    varied: str = ""
    """What distinguishes the training from the preset's, as a part of file names."""
    extra: dict[str, str] = dataclasses.field(default_factory=dict)
    """Further labels besides task and model; they are also included in every row."""
    study: str = ""
    """The study it belongs to."""
    command: str = ""
    """The command that requested it, as recorded in results."""

    @property
    def hard(self) -> bool:
        """Whether hard problems are scored too; always for the recipe `exact`."""
        return self.request.hard or self.experiment.recipe_name == "exact"

    @property
    def machine_name(self) -> str:
        """The name of its machine in the zoo."""
        return "-".join(filter(None, [usual_name(self.experiment), file_name(self.varied)]))

    @property
    def run_name(self) -> str:
        """The name of its run folder; cells of different studies with the same training share it."""
        quick = "quick" if self.request.quick else ""
        if self.experiment.reads_text:
            return "-".join(filter(None, ["language", self.experiment.model, file_name(self.varied), quick]))
        return "-".join(filter(None, [self.machine_name, self.experiment.recipe_name, quick]))

    @property
    def name(self) -> str:
        """The name of its result, within its study; results at requested scales do not replace the study's."""
        scales = "".join(f"-{scale}x" for scale in self.request.scales)
        return self.run_name.removeprefix("language-") + scales + ("-hard" if self.request.hard else "")

    @property
    def key(self) -> str:
        """The name of its record below the results folder; unique over all studies."""
        return f"{self.study}/{self.name}"

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels it is selected by: task, model, and further ones."""
        return {"task": self.experiment.task, "model": self.experiment.model, **self.extra}

    @property
    def for_people(self) -> bool:
        return not self.request.bare

    def check(self) -> None:
        """Raises a `LantmError` if the cell cannot be trained or scored."""
        source = self.experiment.source()
        check_problems(self.request.problems)
        if isinstance(source, Task):
            lengths_or_parts(source, self.scales, hard=self.hard)

    def stored(self, folder: GridFolder) -> Record | None:
        """The stored result, if it belongs to this cell and there is no newer training."""
        record = folder.record(self.key)
        if record is None or not self.matches(record):
            return None
        run = folder.run(self.run_name)
        return None if run.exists() and run.provenance() != record.get("trained") else record

    def matches(self, record: Mapping[str, Any]) -> bool:
        """Whether a stored result belongs to this cell. The number of seeds may differ, unless one was requested."""
        try:
            rows = read_rows(record.get("rows"), self.name)
            trained = Experiment.from_json(record.get("experiment"), self.experiment.modules)
        except LantmError:
            return False
        if not same_training(trained, self.experiment, any_seeds=self.request.seeds is None):
            return False
        if self.experiment.reads_text:
            return True
        # Problems come in whole batches, so there may be slightly more than requested.
        kinds = ("x", "x hard") if self.hard else ("x",)
        asked = {f"{scale}{kind}": self.problems_at(scale) for scale in self.scales for kind in kinds}
        return [row.get("scale") for row in rows] == list(asked) and all(
            isinstance(row.get("problems"), int) and row["problems"] >= asked[row["scale"]] for row in rows
        )

    def problems_at(self, scale: int) -> int:
        """The number of problems at a scale: fewer beyond 16x, since their cost grows quadratically with the length."""
        fewer = min(1.0, _LAST_OF_ALL / scale) ** 2
        return math.ceil(fewer * self.request.problems)

    def _tests(self) -> list[tuple[tuple[int, ...], int]]:
        """Groups of scales that share array lengths, with the number of problems; for a text, one group without
        scales."""
        short = tuple(scale for scale in self.scales if scale <= _LAST_OF_ALL)
        together = [(short, self.request.problems)] if short or not self.scales else []
        return together + [((scale,), self.problems_at(scale)) for scale in self.scales if scale > _LAST_OF_ALL]

    def compile(self) -> Learner:
        untrained, source = super().compile(), self.experiment.source()
        if isinstance(source, Task):  # the tests of a text are compiled with its training
            for at, (scales, problems) in enumerate(self._tests()):
                tests = lengths_or_parts(source, scales, hard=self.hard)
                examiner = ProblemExaminer(source, tests, self.experiment.seeds, min(problems, BATCH))
                draws = [reporting(problems), *([] if at else [choosing(min(CHOOSING_PROBLEMS, problems))])]
                for draw in draws:
                    examiner.compile(untrained.model, untrained.seed, draw)
        return untrained

    def records(self, trained: Trained, start_merits: list[list[float | None]]) -> dict[str, Record]:
        """The record: rows, configuration, tests, and the provenance of training and scores."""
        experiment, history, run = trained.experiment, trained.history, trained.folder
        assert history is not None
        assert run is not None
        began = time.monotonic()
        rows, final = self._scored(trained, history)
        record = {
            "study": self.study,
            "cell": self.name,
            "command": self.command,
            "rows": rows,
            "final": final,
            "experiment": experiment.published(),
            "epochs": trained.epoch,
            "best_epochs": trained.best_epochs.tolist(),
            "chosen_starts": trained.start_seeds.tolist(),
            "best_tests_of_starts": start_merits,
            "tests": {label: _listed(curves) for label, curves in history.tests.items()},
            "steps_without_finite_gradient": history.skipped[-1].astype(int).tolist(),
            "training_seconds": run.seconds,
            "scoring_seconds": round(time.monotonic() - began, 1),
            "trained": run.provenance(),
            "scored": provenance(),
        }
        if not np.isnan(history.longest).all():
            record["lengths_reached"] = _reached(history)
        if isinstance(trained.source, Text):
            record["text"] = trained.source.corpus.facts()
        else:
            recipe = experiment.recipe
            problems = trained.epoch * recipe.batches * recipe.batch_size * experiment.machines
            record["problems_a_second"] = round(problems / max(run.seconds, 1e-3), 1)
        return {self.key: record}

    def _scored(self, trained: Trained, history: History) -> tuple[list[Row], list[Row]]:
        """The rows of the best weights and of the last ones. The best seed is selected on other problems.

        Long problems are expensive: beyond 16x, the best seed is the one selected at the longest scale up to 16x, and
        the last weights are not scored.
        """
        select_by, source = trained.experiment.recipe.select_by, trained.source
        best: dict[str, Measured] = {}
        last: dict[str, Measured] = {}
        chosen: dict[str, Measured] = {}
        for scales, problems in self._tests():
            tests = lengths_or_parts(source, scales, hard=self.hard)
            examiner = trained.examiner(source, tests, problems if problems < BATCH else None)
            best |= examiner(trained.best_weights, trained.start_seeds, reporting(problems))
            if "validation" in best:
                chosen = dict.fromkeys(best, best["validation"])
            elif not chosen:
                draw = choosing(min(CHOOSING_PROBLEMS, problems))
                chosen = examiner(trained.best_weights, trained.start_seeds, draw)
            if problems == self.request.problems:
                last |= examiner(trained.weights("last"), trained.start_seeds, reporting(problems))
        rows, final = [], []
        for label in best:
            seed = best_seed([chosen.get(label, list(chosen.values())[-1])], select_by)
            row = score_row(trained.experiment, label, best[label], seed) | self.extra
            if label in last:
                final.append(score_row(trained.experiment, label, last[label], seed) | self.extra)
                scores = ("coarse", "fine", "perplexity")
                row |= {f"final_{name}": final[-1][name] for name in scores if name in final[-1]}
            rows.append(self._compared(label, row | _of_tests(history, label)))
        return rows, final

    def score_machine(self, machine: Trained) -> Record:
        """The record of a single machine, without a training."""
        began = time.monotonic()
        scores: dict[str, Measured] = {}
        for scales, problems in self._tests():
            scores |= machine.scores(scales, problems=problems, hard=self.hard)
        rows = [
            self._compared(label, score_row(machine.experiment, label, one) | self.extra)
            for label, one in scores.items()
        ]
        return {
            "study": self.study,
            "cell": self.name,
            "rows": rows,
            "machine": machine.name,
            "experiment": machine.experiment.published(),
            "scoring_seconds": round(time.monotonic() - began, 1),
            "trained": machine.trained,
            "scored": provenance(),
        }

    def _compared(self, label: str, row: Row) -> Row:
        return beside_the_paper(row, self.figures.get(label), self.request.quick, self.approximate)

    def to_json(self) -> dict[str, Any]:
        request = dataclasses.asdict(self.request)
        return {"study": self.study, "request": request, "cell": self.name, "command": self.command}


def _listed(curves: Any) -> dict[str, Any]:
    """Periodic tests as JSON: the epochs, and the scores of all seeds at each; null for nan."""
    figures = {
        name: [[finite(value) for value in of_seeds] for of_seeds in table] for name, table in curves.figures.items()
    }
    return {"epochs": curves.epochs.tolist(), **figures}


def _reached(history: History) -> dict[str, Any]:
    """The progress of an adaptive curriculum: its maximum length per seed, at the epochs at which any changed."""
    moved = np.any(np.diff(history.longest, axis=0, prepend=0) != 0, axis=1)
    return {"epochs": history.epochs[moved].tolist(), "longest": history.longest[moved].astype(int).tolist()}


def _of_tests(history: History, label: str) -> Row:
    """The columns of a row that come from the periodic tests at its scale.

    The paper's scores are the best of such tests. A seed counts as having solved the task at the first test that shows
    it.
    """
    curves = history.tests.get(label)
    if curves is None or "coarse" not in curves.figures:
        return {}
    coarse, fine = curves.figures["coarse"], curves.figures["fine"]
    first = [
        next((int(epoch) for epoch, score in zip(curves.epochs, of_seed, strict=True) if score >= SOLVED), None)
        for of_seed in coarse.T
    ]
    solved = [epoch for epoch in first if epoch is not None]
    return {
        "best_test_coarse": round(float(np.nanmax(coarse)), 2),
        "best_test_fine": round(float(np.nanmax(fine)), 2),
        "epochs_until_solved": statistics.median(solved) if solved else None,
        "epochs_until_solved_by_seed": first,
    }
