"""`load`: the same object for a name of the zoo, a machine's file and a run folder."""

import pathlib
import warnings

import jax
import numpy as np

from lantm import weight_files
from lantm.errors import DamageWarning, LantmError
from lantm.randomness import INITIALISE, seed_key
from lantm.registry import Trust
from lantm.tasks import Corpus, Source, Text
from lantm.trained import zoo
from lantm.trained.trained import Trained
from lantm.training import Experiment, RunFolder, best_starts, load_learners


def load(name: str | pathlib.Path, data: pathlib.Path | None = None, trust: Trust = False) -> Trained:
    """The trained machines of a run folder, of a file, or of the zoo, by its name or by its task's name alone.

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
    known = ", ".join(zoo.names())
    raise LantmError(
        f"{name} is not a run folder: it has no experiment.json; lantm train --out makes one; nor is it a machine of "
        f"the zoo, which has {known}"
    )


def load_run(folder: RunFolder, data: pathlib.Path | None = None) -> Trained:
    """The machines of a run folder, one per seed; a `DamageWarning` names damaged checkpoints that were skipped."""
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
    """The machine in a file of its own."""
    notes = weight_files.read_notes(path)
    if "experiment" not in notes:
        raise LantmError(f"{path} is no machine by itself: of a checkpoint, give the run folder it is in")
    experiment = Experiment.from_json(notes["experiment"], trust)
    source = _source_of_file(experiment, notes.get("words"), data)
    like = jax.eval_shape(lambda: experiment.machine.build(source.vocabulary, seed_key(0, INITIALISE)))
    model, notes = weight_files.load(path, like)
    epoch = int(notes.get("epoch", 0))
    return Trained(
        name=path.name.removesuffix(weight_files.SUFFIX),
        experiment=experiment,
        source=source,
        epoch=epoch,
        start_seeds=np.array([experiment.first_seed], np.int32),
        best_weights=jax.tree.map(lambda weights: np.asarray(weights)[None], model),  # NumPy compiles nothing
        last_weights=None,
        merits=np.zeros(1),
        best_epochs=np.array([epoch]),
        trained=dict(notes.get("trained", {})),
        notes=notes,
    )


def _source_of_file(experiment: Experiment, words: list[str] | None, data: pathlib.Path | None) -> Source:
    """The source of a machine's file. One that was trained on a text holds its vocabulary, but not the text."""
    if not experiment.reads_text or data is not None or words is None:
        return experiment.source(data)
    nothing = np.zeros(0, np.int32)
    return Text(Corpus(tuple(words), nothing, nothing, nothing), experiment.recipe.steps)
