"""Training from Python: a function that returns trained machines, with or without a run folder."""

import pathlib
from collections.abc import Callable
from typing import Any

from lantm.errors import LantmError
from lantm.geometry import GEOMETRIES, Geometry
from lantm.interrupt import interruptible
from lantm.machine import WEIGHTINGS, Weighting
from lantm.paper import make_experiment
from lantm.provenance import provenance
from lantm.tasks import TASKS, Task
from lantm.trained import Trained
from lantm.training import Experiment, ModelName, Progress, RunFolder
from lantm.training import train as train_experiment


def train(
    task: str | Task | Experiment,
    *,
    model: ModelName = "lantm-invnorm",
    recipe: str = "paper",
    seeds: int | None = None,
    folder: str | pathlib.Path | None = None,
    resume: bool = False,
    on_epoch: Callable[[Progress], object] | None = None,
    **settings: Any,
) -> Trained:
    """Trains machines on a task or a text, all seeds at once, and returns them.

        run = lantm.train("copy", recipe="robust", seeds=8)
        run.history.loss                           # epochs x seeds
        run.scores(scales=(1, 2, 4))["4x"].coarse  # percent, per seed
        run.best.solve("hello").answer

    The task is a name, a `Task` of one's own, or "text" with `data="FOLDER"`. `model` and `recipe` choose the paper's
    sizes and settings; every other setting of `lantm train --help` is a keyword argument (`cells=20`, `epochs=300`,
    `geometry=lantm.Disk()`, `lengths=(2, 16)`). A whole `Experiment` is trained as it is.

    With a `folder`, checkpoints, metrics and recordings are written there, and `resume=True` continues an interrupted
    run. `on_epoch` is called after every epoch; training ends early when it returns True. After Ctrl-C, or in either
    case, what there is so far is returned, with `complete` false.
    """
    experiment = task if isinstance(task, Experiment) else _experiment(task, model, recipe, seeds, settings)
    source = task if isinstance(task, Task) else experiment.source()
    run = None if folder is None else _run_folder(pathlib.Path(folder), experiment, resume)
    ended = False

    def watch(progress: Progress) -> None:
        nonlocal ended
        if progress.report is not None and on_epoch is not None:
            ended = on_epoch(progress) is True

    with interruptible("finishing the current step (once more to stop at once)") as interrupted:
        result = train_experiment(experiment, run, source, resume, watch, lambda: ended or interrupted())
    return Trained.of_result(result, run, provenance())


def _experiment(
    task: str | Task, model: ModelName, recipe: str, seeds: int | None, settings: dict[str, Any]
) -> Experiment:
    if isinstance(task, Task):
        lengths = task.train_lengths
        settings = {"lengths": (lengths.smallest, lengths.largest), **settings}
        task = TASKS.name_of(task, ignored=("train_lengths",))
    for name, registry, kind in _OBJECTS:
        if isinstance(settings.get(name), kind):
            settings = {**settings, name: registry.name_of(settings[name])}
    if seeds is not None:
        settings = {**settings, "seeds": seeds}
    return make_experiment({"task": task, "model": model, "recipe": recipe, **settings})


_OBJECTS: tuple[tuple[str, Any, type], ...] = (
    ("geometry", GEOMETRIES, Geometry),
    ("weighting", WEIGHTINGS, Weighting),
)
"""Settings that may be given as objects, which experiments store by their names."""


def _run_folder(path: pathlib.Path, experiment: Experiment, resume: bool) -> RunFolder:
    run = RunFolder(path)
    if not (resume and run.exists()):
        return RunFolder.create(path, experiment, provenance())
    if run.experiment() != experiment:
        raise LantmError(f"{path} holds a training with other settings: choose another folder")
    return run
