"""`lantm.train`: trains machines from Python, with or without a run folder."""

import dataclasses
import pathlib
from collections.abc import Callable
from typing import Any

import numpy as np

from lantm.checking import check_own
from lantm.errors import LantmError
from lantm.geometry import GEOMETRIES, Geometry
from lantm.interrupt import interruptible
from lantm.machine import WEIGHTINGS, Weighting
from lantm.paper import make_experiment
from lantm.provenance import provenance
from lantm.tasks import TASKS, Lengths, Task
from lantm.trained import Trained, initial_weights, preset_model
from lantm.training import Experiment, ModelName, Progress, RunFolder, check_budget
from lantm.training import train as train_experiment


def train(
    task: str | Task | Experiment,
    *,
    model: ModelName = "lantm-invnorm",
    recipe: str = "paper",
    seeds: int | None = None,
    folder: str | pathlib.Path | None = None,
    resume: bool = False,
    start_from: Trained | None = None,
    on_epoch: Callable[[Progress], object] | None = None,
    **settings: Any,
) -> Trained:
    """Trains machines on a task or a text, all seeds in parallel, and returns them.

        run = lantm.train("copy", recipe="robust", seeds=8)
        run.history.loss                           # epochs x seeds
        run.scores(scales=(1, 2, 4))["4x"].coarse  # percent, per seed
        run.best.solve("hello").answer

    The task is a name, a `Task` object, or "text" with `data="FOLDER"`. `model` and `recipe` select the paper's sizes
    and settings; every other setting of `lantm train --help` is a keyword argument (`cells=20`, `epochs=300`,
    `geometry=lantm.Disk()`, `lengths=(2, 16)`). An `Experiment` is trained as it is.

    With a `folder`, checkpoints, metrics and recordings are written there, and `resume=True` continues an interrupted
    run, or extends a complete one to more `epochs`. With `start_from`, all seeds start from the weights of that machine
    (the best seed of several), and its settings are the defaults.

    Nothing is printed, also while it compiles (some ten seconds). `on_epoch` is called after every epoch, and may print
    the progress; training stops early if it returns True, and also after Ctrl-C. The machines
    trained so far are then returned, with `complete` false.
    """
    if start_from is not None and not isinstance(task, Experiment):
        model, settings = preset_model(start_from.experiment), {**vars(start_from.experiment.machine), **settings}
    experiment = _experiment(task, model, recipe, seeds, settings)
    source = _own_task(task, experiment) if isinstance(task, Task) else experiment.source()
    if experiment.modules:
        own = task if isinstance(task, Task) else None
        check_own((name for name in experiment.modules if own is None or name != experiment.task), own)
    check_budget(experiment, source, None if folder is None else pathlib.Path(folder))
    initial = None if start_from is None else initial_weights(start_from, experiment, source)
    trained = provenance() | ({} if start_from is None else {"from": start_from.name})
    run = None if folder is None else _run_folder(pathlib.Path(folder), experiment, resume, trained)
    ended = False

    def watch(progress: Progress) -> None:
        nonlocal ended
        if progress.report is not None and on_epoch is not None:
            ended = _is_true(on_epoch(progress))

    with interruptible("finishing the current step (once more to stop at once)") as interrupted:
        result = train_experiment(
            experiment, run, source, resume, watch, lambda: ended or interrupted(), initial=initial
        )
    return Trained.of_result(result, run, trained)


def _is_true(answer: object) -> bool:
    """Whether a callback returned True, as a Python or array bool; other values count as false."""
    return (isinstance(answer, bool) or getattr(answer, "dtype", None) == np.bool_) and bool(answer)


def _experiment(
    task: str | Task | Experiment, model: ModelName, recipe: str, seeds: int | None, settings: dict[str, Any]
) -> Experiment:
    if isinstance(task, Experiment):
        if given := [*settings, *(["seeds"] if seeds is not None else [])]:
            raise LantmError(f"an experiment already has all settings: leave out {', '.join(given)}")
        return task
    if isinstance(task, Task):
        if any(field.name == "train_lengths" for field in dataclasses.fields(task)):
            settings = {"lengths": (task.train_lengths.smallest, task.train_lengths.largest), **settings}
        task = TASKS.name_of(task, ignored=("train_lengths",))
    for name, registry, kind in _OBJECTS:
        if isinstance(settings.get(name), kind):
            settings = {**settings, name: registry.name_of(settings[name])}
    if seeds is not None:
        settings = {**settings, "seeds": seeds}
    return make_experiment({"task": task, "model": model, "recipe": recipe, **settings})


def _own_task(task: Task, experiment: Experiment) -> Task:
    """The task object itself, which need not be importable, with the lengths of the experiment."""
    if experiment.lengths is None:
        return task
    return task.with_lengths(Lengths(*experiment.lengths, task.train_lengths.stride))


_OBJECTS: tuple[tuple[str, Any, type], ...] = (
    ("geometry", GEOMETRIES, Geometry),
    ("weighting", WEIGHTINGS, Weighting),
)
"""Settings that may be given as objects; experiments store their names."""


def _run_folder(path: pathlib.Path, experiment: Experiment, resume: bool, trained: dict[str, Any]) -> RunFolder:
    run = RunFolder(path, experiment.modules)
    if not (resume and run.exists()):
        return RunFolder.create(path, experiment, trained)
    found, epochs = run.experiment(), experiment.recipe.epochs
    if epochs > found.recipe.epochs and found.with_epochs(epochs) == experiment:
        found = run.extend(epochs)
    if found != experiment:
        raise LantmError(f"{path} holds a training with other settings: choose another folder")
    return run
