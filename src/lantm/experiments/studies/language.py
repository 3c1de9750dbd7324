"""Language modelling (section 4.3 of the paper): its table of perplexities."""

import dataclasses
import pathlib
import time
from collections.abc import Mapping, Sequence
from typing import Any

from lantm.errors import LantmError
from lantm.experiments.paper import LANGUAGE as FIGURES
from lantm.experiments.presets import MODELS, language_machine
from lantm.experiments.study import Cell, Conduct, Request, Row, Study, whole
from lantm.language import (
    Corpus,
    Examiner,
    LanguageExperiment,
    LanguageProgress,
    LanguageRecipe,
    load_learners,
    read_corpus,
    train,
)
from lantm.machine import LantmConfig, LstmConfig
from lantm.provenance import provenance
from lantm.report import perplexity_rows, perplexity_table
from lantm.seeds import use_one_device
from lantm.training import ModelName, RunFolder
from lantm.training.seconds import add_seconds, seconds_spent

SEEDS = 4
_QUICK_WORDS = 50_000  # of the training text; a quarter of it of the others


@dataclasses.dataclass(frozen=True)
class LanguageCell(Cell):
    """One machine and its perplexities."""

    experiment: LanguageExperiment
    corpus: Corpus
    request: Request
    varied: str = ""
    """What tells its training from the paper's, as a part of names."""

    @property
    def name(self) -> str:
        parts = [self.experiment.model, self.varied, "quick" if self.request.quick else ""]
        return "-".join(filter(None, parts))

    @property
    def run_name(self) -> str:
        return f"language-{self.name}"

    @property
    def labels(self) -> Mapping[str, str]:
        machine = self.experiment.machine
        geometry = {"geometry": machine.geometry} if isinstance(machine, LantmConfig) else {}
        return {"task": "language", "model": self.experiment.model, **geometry}

    def check(self) -> None:
        self.corpus.check_columns(self.experiment.recipe.batch_size)

    def matches(self, result: Mapping[str, Any]) -> bool:
        """The text may lie elsewhere; the number of seeds may be another, unless it was asked for."""
        record = result.get("experiment")
        try:
            trained = LanguageExperiment.from_json({**record, "data": self.experiment.data} if record else None)
        except LantmError:
            return False
        if self.request.seeds is None:
            trained = dataclasses.replace(trained, seeds=self.experiment.seeds)
        return trained == self.experiment

    def train(self, folder: pathlib.Path, conduct: Conduct) -> bool:
        resume = (folder / "experiment.json").exists()
        if resume:
            run = RunFolder.open(folder)
            found = LanguageExperiment.from_json(run.record(LanguageExperiment.kind))
            if dataclasses.replace(found, data=self.experiment.data) != self.experiment:
                raise LantmError(
                    f"{folder} holds a training with other settings: --again moves it aside and begins anew, "
                    "or choose another --runs"
                )
        else:
            run = RunFolder.create(folder, self.experiment, provenance())

        def watch(progress: LanguageProgress) -> None:
            if progress.validation is not None:
                conduct.say(
                    f"  epoch {progress.epoch}/{self.experiment.recipe.epochs}, {progress.seconds:.0f} s: "
                    f"training {progress.perplexity.min():.1f}, validation {progress.validation.values.min():.2f}, "
                    f"rate {progress.rate.min():.2g}, {progress.words_per_second:,.0f} words/s"
                )

        result = train(self.experiment, self.corpus, run, resume, watch, conduct.stop, conduct.say)
        add_seconds(folder, result.seconds)
        return result.complete

    def score(self, folder: pathlib.Path) -> dict[str, Any]:
        run = RunFolder.open(folder)
        recipe = self.experiment.recipe
        epoch, learners, _ = load_learners(run, self.experiment, self.corpus)
        began = time.monotonic()
        validation, test = (
            Examiner(text, self.corpus.end, self.experiment.seeds, recipe.batch_size, recipe.steps)(learners.best_model)
            for text in (self.corpus.valid, self.corpus.test)
        )
        rows = [self._beside_the_paper(row) for row in perplexity_rows(self.experiment, validation, test)]
        return {
            "rows": rows,
            "experiment": self.experiment.published(),
            "text": self.corpus.facts(),
            "epochs": epoch,
            "best_epochs": [int(epoch) for epoch in learners.best_epoch],
            "tests": [row for row in run.metrics() if "validation_perplexity" in row],
            "training_seconds": seconds_spent(folder),
            "scoring_seconds": round(time.monotonic() - began, 1),
            "trained": run.provenance(),
            "scored": provenance(),
        }

    def score_shipped(self) -> dict[str, Any] | None:
        return None

    def _beside_the_paper(self, row: Row) -> Row:
        """A row with the paper's figure, and whether ours is at most that, rounded as the paper's is."""
        figure = FIGURES[self.experiment.model][row["scale"]]
        row = {**row, "paper": {"perplexity": figure}, "pass": None}
        if isinstance(self.experiment.machine, LantmConfig):
            row["geometry"] = self.experiment.machine.geometry
        if self.request.quick:
            row["quick"] = True
        else:
            row["pass"] = row["perplexity"] is not None and whole(row["perplexity"]) <= figure
        return row


def _cells(request: Request) -> Sequence[LanguageCell]:
    return language_cells(request, [(model, language_machine(model), "") for model in MODELS])


def language_cells(
    request: Request, machines: Sequence[tuple[ModelName, LantmConfig | LstmConfig, str]]
) -> list[LanguageCell]:
    """A cell for each machine, with what tells it from the paper's."""
    if request.data is None:
        raise LantmError(
            "language needs a text: give --data FOLDER with ptb.train.txt, ptb.valid.txt and ptb.test.txt "
            "(Tomas Mikolov's simple-examples.tgz has them)"
        )
    if request.recipe != "paper" or request.scales:
        raise LantmError("language has one recipe, the paper's, and no scales: leave out --recipe and --scales")
    # A large vocabulary makes large matrices: a product of them keeps all cores busy.
    use_one_device()
    corpus, recipe, seeds = read_corpus(request.data), LanguageRecipe(), SEEDS
    if request.quick:
        corpus = corpus._replace(
            train=corpus.train[:_QUICK_WORDS],
            valid=corpus.valid[: _QUICK_WORDS // 4],
            test=corpus.test[: _QUICK_WORDS // 4],
        )
        recipe, seeds = dataclasses.replace(recipe, epochs=2), 1
    if request.epochs is not None:
        recipe = dataclasses.replace(recipe, epochs=request.epochs)
    return [
        LanguageCell(
            LanguageExperiment(
                data=str(request.data),
                digest=corpus.digest,
                vocabulary=len(corpus.words),
                model=model,
                machine=machine,
                recipe=recipe,
                seeds=seeds if request.seeds is None else request.seeds,
            ),
            corpus,
            request,
            varied,
        )
        for model, machine, varied in machines
    ]


LANGUAGE = Study(
    "language",
    "perplexities of 3 models on the Penn Treebank, whose files are named by --data (table of section 4.3)",
    _cells,
    table=perplexity_table,
)
