"""A trained run as the commands take it."""

import pathlib
import sys
from typing import NamedTuple

from lantm.language import Corpus, LanguageExperiment, load_learners, open_corpus
from lantm.language.learner import LanguageLearner
from lantm.training import RunFolder


class LanguageRun(NamedTuple):
    """What was trained, on what, and how far."""

    folder: RunFolder
    experiment: LanguageExperiment
    corpus: Corpus
    epoch: int
    learners: LanguageLearner


def open_run(path: pathlib.Path, data: pathlib.Path | None) -> LanguageRun:
    """A run folder with its text, from where it was or from `data`; warnings go to standard error."""
    folder = RunFolder.open(path)
    experiment = LanguageExperiment.from_json(folder.record(LanguageExperiment.kind))
    corpus = open_corpus(experiment, data)
    epoch, learners, warnings = load_learners(folder, experiment, corpus)
    for warning in warnings:
        print(f"lantm: warning: {warning}", file=sys.stderr)
    return LanguageRun(folder, experiment, corpus, epoch, learners)
