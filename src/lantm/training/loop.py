"""The training loop: epochs of all seeds, tests, metrics and checkpoints, interruptible at any moment."""

import time
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Float, Int

from lantm.evaluation import SOLVED, Examiner, Scores
from lantm.seeds import EVALUATE, SEEDS, TEST, device_mesh, over_seeds, place
from lantm.tasks import Task
from lantm.training.events import EventFiles
from lantm.training.experiment import Experiment
from lantm.training.learner import EpochReport, Learner, begin, heed_test, remember_best, train_epoch
from lantm.training.recipe import Recipe
from lantm.training.recordings import Recorder
from lantm.training.run_folder import RunFolder

BEYOND_ALL_SCORES = 1000  # more than any mean of scores
_BETWEEN_STARTS = 1_000_003  # seeds: far enough for no start of a seed to be another seed of the same run


class Progress(NamedTuple):
    """What a watcher is told after every epoch."""

    epoch: int
    epochs: int
    report: EpochReport  # fields with a leading axis of seeds
    tests: dict[int, Scores]  # the latest test, by scale
    seconds: float  # spent training in this process


class Result(NamedTuple):
    """How a training ended."""

    learners: Learner
    epoch: int
    complete: bool
    scores: dict[int, Scores]  # of the best weights, on fresh problems; empty when interrupted
    seconds: float


def start(experiment: Experiment, task: Task, mesh: Mesh) -> Learner:
    """All machines before their first epoch; those of one seed are neighbours."""
    members, starts = experiment.members, experiment.recipe.starts
    seeds = [member.seed for member in members] or range(
        experiment.first_seed, experiment.first_seed + experiment.seeds
    )
    numbers = [start_seed(seed, at) for seed in seeds for at in range(starts)]
    initialise = over_seeds(partial(begin, experiment, task), mesh)
    learners = initialise(place(jnp.array(numbers, jnp.int32), mesh))
    if members:
        rate = experiment.recipe.learning_rate
        scales = [member.learning_rate / rate for member in members for _ in range(starts)]
        learners = learners._replace(rate_scale=place(jnp.array(scales, float), mesh))
    return learners


def start_seed(seed: int, at: int) -> int:
    """The seed whose machine, trained alone, is the one of this start; the first is the seed's own."""
    return (seed + at * _BETWEEN_STARTS) % SEEDS


def load_all(folder: RunFolder) -> tuple[Experiment, Task, int, Learner, list[str]]:
    """The newest whole checkpoint of a run, with warnings about newer ones that are damaged; every start is there."""
    experiment = folder.experiment()
    task = experiment.build_task()
    mesh = device_mesh(experiment.machines)
    like = jax.eval_shape(lambda: start(experiment, task, mesh))
    epoch, learners, warnings = folder.load_checkpoint(like)
    return experiment, task, epoch, place(learners, mesh), warnings


def load_learners(folder: RunFolder) -> tuple[Experiment, Task, int, Learner, list[str]]:
    """The same, with one learner a seed: the best of its starts."""
    experiment, task, epoch, learners, warnings = load_all(folder)
    return experiment, task, epoch, best_starts(experiment, learners), warnings


def best_starts(experiment: Experiment, learners: Learner) -> Learner:
    """Of every seed the machine with the best test so far."""
    if experiment.recipe.starts == 1:
        return learners
    leading = _leading(experiment, learners)
    return place(jax.tree.map(lambda leaf: leaf[leading], learners), device_mesh(experiment.seeds))


def best_tests_of_starts(folder: RunFolder) -> list[list[float]]:
    """The merit of the best test of every machine, a list a seed: what its starts were chosen by."""
    experiment, _, _, learners, _ = load_all(folder)
    merits = np.asarray(learners.best_score).reshape(experiment.seeds, experiment.recipe.starts)
    return [[round(float(merit), 3) for merit in of_seed] for of_seed in merits]


def _leading(experiment: Experiment, learners: Learner) -> Int[np.ndarray, " seeds"]:
    """Where the machines with the best tests are, seed by seed; of equals the earlier start."""
    starts = experiment.recipe.starts
    scores = np.asarray(learners.best_score).reshape(experiment.seeds, starts)
    return starts * np.arange(experiment.seeds) + np.argmax(scores, axis=1)


def train(
    experiment: Experiment,
    folder: RunFolder,
    resume: bool = False,
    watch: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    warn: Callable[[str], None] = lambda warning: None,
) -> Result:
    """Trains every seed to the end, or until `stop` says so; a stopped run can be resumed.

    Interrupted at any moment and resumed, a run ends in the same weights as one that was not, on the same
    machine: everything random is a function of seed, epoch and batch, and everything else is saved.
    """
    task, recipe = experiment.build_task(), experiment.recipe
    mesh = device_mesh(experiment.machines)
    done = 0
    if resume and folder.has_checkpoint():
        _, _, done, learners, warnings = load_all(folder)
        for warning in warnings:
            warn(warning)
    else:  # also when it was killed before its first checkpoint
        learners = start(experiment, task, mesh)
    if resume:
        folder.forget_after(done)

    one_epoch = over_seeds(partial(train_epoch, recipe, task), mesh, donate_argnums=0)
    keep_best = over_seeds(_remember, mesh)
    heed = over_seeds(partial(_heed, recipe), mesh)
    longest = max(task.lengths_at(scale).largest for scale in (1, *recipe.test_scales))
    examiner = Examiner(task, longest, experiment.machines, recipe.batch_size)
    recorder = Recorder(experiment, task, folder.recordings_path)
    tests: dict[int, Scores] = {}
    leading = _leading(experiment, learners)
    began = time.monotonic()

    with EventFiles(folder.path / "tensorboard", done) as events:
        epoch = done
        while epoch < recipe.epochs and not stop():
            epoch += 1
            learners, report = one_epoch(learners, jnp.asarray(epoch))
            report = EpochReport(*(values[leading] for values in jax.device_get(report)))
            recorder.add(epoch, learners.model, leading)
            rows = _epoch_rows(experiment, epoch, report)
            if epoch % recipe.test_every == 0 or epoch == recipe.epochs:
                all_tests = _test(
                    examiner,
                    learners.model,
                    learners.seed,
                    recipe.test_batches,
                    recipe.test_scales,
                    TEST,
                    epoch,
                )
                merit = _merit([all_tests[scale] for scale in sorted(recipe.selecting)], recipe)
                learners = keep_best((learners, place(jnp.asarray(merit), mesh)), jnp.asarray(epoch))
                if recipe.schedule == "validation":
                    fine = np.mean([scores.fine for scores in all_tests.values()], axis=0, dtype=np.float32)
                    learners = heed((learners, place(jnp.asarray(fine), mesh)), jnp.asarray(epoch))
                leading = _leading(experiment, learners)
                tests = {scale: scores.among(leading) for scale, scores in all_tests.items()}
                rows += _test_rows(experiment, epoch, tests)
                folder.append_metrics(rows)
                recorder.write()
                folder.save_checkpoint(epoch, learners)
            else:
                folder.append_metrics(rows)
            events.write(rows)
            watch(Progress(epoch, recipe.epochs, report, tests, time.monotonic() - began))

        complete = epoch >= recipe.epochs
        scores: dict[int, Scores] = {}
        if complete:
            found = _test(
                examiner,
                learners.best_model,
                learners.seed,
                recipe.test_batches,
                recipe.test_scales,
                EVALUATE,
                0,
            )
            scores = {scale: one.among(leading) for scale, one in found.items()}
        elif epoch > done:
            recorder.write()
            folder.save_checkpoint(epoch, learners)
    return Result(best_starts(experiment, learners), epoch, complete, scores, time.monotonic() - began)


def _remember(learner_and_merit: tuple[Learner, Any], epoch: Any) -> Learner:
    learner, merit = learner_and_merit
    return remember_best(learner, merit, epoch)


def _heed(recipe: Recipe, learner_and_fine: tuple[Learner, Any], epoch: Any) -> Learner:
    learner, fine = learner_and_fine
    return heed_test(recipe, learner, fine, epoch)


def _test(
    examiner: Examiner,
    models: Any,
    seeds: Any,
    batches: int,
    scales: tuple[int, ...],
    purpose: int,
    counter: int,
) -> dict[int, Scores]:
    return {
        scale: examiner(models, seeds, examiner.task.lengths_at(scale), batches, purpose, counter) for scale in scales
    }


def _merit(tests: list[Scores], recipe: Recipe) -> Float[np.ndarray, " seeds"]:
    """What "best" means: the mean score over the selecting scales, and the other score between equals.

    With `shorter_first`, before all that, how many of the scales are solved without one shorter that is not.
    """
    merit = np.mean([scores.merit(recipe.select_by) for scores in tests], axis=0)
    if recipe.shorter_first:
        solved = np.cumprod([scores.coarse >= SOLVED for scores in tests], axis=0).sum(axis=0)
        merit = merit + BEYOND_ALL_SCORES * solved
    return merit.astype(np.float32)


def _epoch_rows(experiment: Experiment, epoch: int, report: EpochReport) -> list[dict[str, Any]]:
    return [
        {
            "epoch": epoch,
            "seed": experiment.first_seed + index,
            "loss": _number(report.loss[index]),
            "gradient_norm": _number(report.gradient_norm[index]),
            "rate": _number(report.rate[index]),
            "skipped": int(report.skipped[index]),
            "diverged": bool(report.diverged[index]),
        }
        for index in range(experiment.seeds)
    ]


def _test_rows(experiment: Experiment, epoch: int, tests: dict[int, Scores]) -> list[dict[str, Any]]:
    return [
        {
            "epoch": epoch,
            "seed": experiment.first_seed + index,
            "test": f"{scale}x",
            "coarse": round(float(scores.coarse[index]), 3),
            "fine": round(float(scores.fine[index]), 3),
        }
        for scale, scores in tests.items()
        for index in range(experiment.seeds)
    ]


def _number(value: Any) -> float | None:
    """A JSON number; JSON has no word for infinity or nan."""
    return float(value) if np.isfinite(value) else None
