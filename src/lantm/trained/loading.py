"""`load`: loads trained machines by zoo name, file or run folder."""

import dataclasses
import pathlib
import warnings
from typing import Any

import jax
import numpy as np

from lantm import weight_files
from lantm.errors import DamageWarning, LantmError, concerning, meant
from lantm.evaluation.budget import model_shapes
from lantm.files import check_file
from lantm.machine import Model
from lantm.provenance import read_provenance
from lantm.records import make_record
from lantm.registry import Trust
from lantm.tasks import TASKS, Corpus, Source, Text
from lantm.trained import zoo
from lantm.trained.trained import Trained
from lantm.training import Experiment, RunFolder, best_starts, load_learners
from lantm.training.origin import finite_weights
from lantm.training.rows import read_rows

LARGEST_FILE = 2**32
"""The maximum size of a machine's file in bytes: that of a thousand million parameters."""


def load(name: str | pathlib.Path, data: pathlib.Path | None = None, trust: Trust = False) -> Trained:
    """Loads trained machines from a run folder, a file, or the zoo (by machine name or task name).

    `data` is the folder of the text they were trained on, if it has moved. With `trust`, modules that the file names as
    `module:Name` are imported, which runs their code; otherwise such a file is refused (docs/security.md).

    >>> load("addition").solve("423 + 94").answer
    '517'
    """
    path = pathlib.Path(name)
    if path.suffix == weight_files.SUFFIX and path.is_file():
        return load_file(path, data, trust)
    if (run := RunFolder(path, trust)).exists():
        return load_run(run, data)
    if (file := zoo.find(str(name))) is not None:
        return load_file(file, data, trust)
    raise LantmError(_unknown(str(name)))


def _unknown(name: str) -> str:
    """The error for a name of which there is no machine."""
    if name in TASKS:
        return f"the zoo has no machine for {name}: lantm train {name} --out RUN trains one; then give RUN instead"
    near = meant(name, zoo.tasks(), also=zoo.names())
    return (
        f"{name or repr(name)} is not a run folder: it has no experiment.json; lantm train --out makes one; nor is "
        f"it a machine of the zoo: {near}, and the longer names that lantm zoo lists"
    )


def load_run(folder: RunFolder, data: pathlib.Path | None = None) -> Trained:
    """Loads the machines of a run folder, one per seed; damaged checkpoints are skipped with a `DamageWarning`."""
    experiment = folder.experiment()
    source = experiment.source(data)
    epoch, learners, damage = load_learners(folder, experiment, source)
    for warning in damage:
        warnings.warn(warning, DamageWarning, stacklevel=2)
    return Trained.of_learners(
        str(folder.path),
        experiment,
        source,
        epoch,
        best_starts(experiment, learners),
        trained=folder.provenance(),
        folder=folder,
        history=folder.history(experiment),
        complete=epoch >= experiment.recipe.epochs,
    )


def load_file(path: pathlib.Path, data: pathlib.Path | None = None, trust: Trust = False) -> Trained:
    """Loads the machine in a file."""
    if path.exists():
        check_file(path, LARGEST_FILE)
    stored = weight_files.read_notes(path)
    notes = _read_notes(stored, path)
    with concerning(path):
        experiment = Experiment.from_json(notes.experiment, trust)
        source = _source_of_file(experiment, notes.words, data)
    model, _ = weight_files.load(path, model_shapes(experiment.machine, source.vocabulary))
    weights: Model = jax.tree.map(lambda weights: np.asarray(weights)[None], model)  # NumPy needs no compilation
    if not finite_weights(weights).all():
        raise LantmError(f"{path} has weights that are not finite, and cannot answer: restore it, or save another seed")
    return Trained(
        name=path.name.removesuffix(weight_files.SUFFIX),
        experiment=experiment,
        source=source,
        epoch=notes.epoch,
        start_seeds=np.array([experiment.first_seed], np.int32),
        best_weights=weights,
        last_weights=None,
        merits=np.zeros(1),
        best_epochs=np.array([notes.epoch]),
        trained=notes.trained,
        notes=stored,
    )


@dataclasses.dataclass(frozen=True)
class Notes:
    """The fields of the notes of a machine's file; further ones are allowed."""

    experiment: dict[str, Any]
    epoch: int = 0
    seed: int = 0
    trained: dict[str, Any] = dataclasses.field(default_factory=dict)
    scored: dict[str, Any] = dataclasses.field(default_factory=dict)
    words: tuple[str, ...] | None = None


def _read_notes(stored: dict[str, Any], path: pathlib.Path) -> Notes:
    """The notes of a machine, checked."""
    if "experiment" not in stored or "source" in stored:
        raise LantmError(f"{path} is not a machine file: for a checkpoint, give the run folder it is in")
    notes = make_record(Notes, stored, f"{path}: notes", others=True)
    read_provenance(notes.trained, f"{path}: notes.trained")
    read_provenance(notes.scored, f"{path}: notes.scored")
    with concerning(path):
        read_rows(stored.get("scores", []), "notes.scores")
    return notes


def _source_of_file(experiment: Experiment, words: tuple[str, ...] | None, data: pathlib.Path | None) -> Source:
    """The source of a machine's file. If it was trained on a text, the file has the vocabulary, but not the text."""
    if not experiment.reads_text or data is not None or words is None:
        return experiment.source(data)
    nothing = np.zeros(0, np.int32)
    return Text(Corpus(words, nothing, nothing, nothing), experiment.recipe.steps)
