"""Estimates memory, disk space and time of a training, and refuses one that cannot fit (evaluation:
`evaluation/budget.py`)."""

import math
import pathlib
import shutil
from functools import lru_cache
from typing import Any

import jax

from lantm.devices import local_devices, on_cpu
from lantm.evaluation.budget import LEARNING, Share, at_once, check_fits, model_shapes, run_size, size_of
from lantm.files import nearest_existing
from lantm.machine import Config, LantmConfig
from lantm.shapes import shapes_of
from lantm.tasks import Source, Task, Text
from lantm.training.experiment import Experiment
from lantm.training.problems import check_set
from lantm.training.recipe import Recipe

# Rough operations per second of a CPU core and of a GPU, measured on the paper's machines.
_OF_A_CORE, _OF_A_GPU = 2e10, 1e12
_PER_DISTANCE = 10  # multiplications for one distance and its weight, roughly
_RECORDED = 100  # bytes per step of a recording, roughly
_KEPT = 3  # checkpoints on disk, including the one being written


def check_budget(experiment: Experiment, source: Source, folder: pathlib.Path | None = None) -> None:
    """Raises a `LantmError` if a training does not fit its task, into memory, or with its files on the disk."""
    recipe, machines = experiment.recipe, experiment.machines
    if isinstance(source, Task):
        check_set(recipe, source.train_lengths)
    model, state = _shapes(experiment.machine, recipe, source.vocabulary)
    parameters = sum(leaf.size for leaf in jax.tree.leaves(model))
    per_machine = size_of(state) + 8 * recipe.batches
    machine = "--cells or the symbols of the task"
    sizes = machine if machines == 1 else f"--seeds, --starts, {machine}"
    running = at_once(machines)
    shares = {
        # During a call to the device, the states before and after it are both in memory.
        f"{machines:,} machines of {parameters:,} parameters": Share(2 * per_machine * machines, sizes),
        "the gradients": Share(2 * size_of(model) * running, machine),
        "the problems of a batch": Share(
            run_size(model, recipe.batch_size, _steps(experiment, source), LEARNING) * running,
            f"--batch-size, {machine}" if experiment.reads_text else f"--batch-size, --lengths, {machine}",
        ),
    }
    if isinstance(source, Task):
        longest = max(source.lengths_at(scale).largest for scale in (*recipe.test_scales, *recipe.test_hard_scales))
        tested = run_size(model, recipe.batch_size, source.steps(longest)) * running
        shares[f"the tests at length {longest:,}"] = Share(tested, f"--test-scales, --batch-size, {machine}")
    check_fits("this training", shares)
    if isinstance(source, Task):
        source.check_length(longest)
    if folder is not None:
        recorded = _RECORDED * _steps(experiment, source) * recipe.epochs * len(experiment.recorded)
        files = {
            "checkpoints": Share(_KEPT * per_machine * machines, sizes),
            "recordings": Share(recorded, "--recorded-seeds or --epochs"),
        }
        check_fits("this training", files, shutil.disk_usage(nearest_existing(folder)).free, "disk space")


def estimated_hours(experiment: Experiment, source: Source) -> float:
    """A rough estimate of the training time, from the number of operations; tests are not counted."""
    recipe = experiment.recipe
    model, _ = _shapes(experiment.machine, recipe, source.vocabulary)
    multiplied: float = sum(leaf.size for leaf in jax.tree.leaves(model) if leaf.ndim >= 2)
    if isinstance(machine := experiment.machine, LantmConfig):  # a read visits all memories
        memories = min(machine.memory_limit or math.inf, _steps(experiment, source) / 2) * machine.write_heads
        multiplied += machine.read_heads * memories * (machine.memory_width + _PER_DISTANCE)
    if isinstance(source, Text):
        steps = float(len(source.corpus.train))
    else:  # lengths are uniform
        steps = 0.5 * recipe.batches * recipe.batch_size * _steps(experiment, source)
    operations = 6 * multiplied * steps * recipe.epochs * experiment.machines  # 2 forward, 4 backward
    return operations / (_OF_A_CORE if on_cpu() else _OF_A_GPU) / min(len(local_devices()), experiment.machines) / 3600


def _steps(experiment: Experiment, source: Source) -> int:
    """The steps of the longest problem, or the truncation length of backpropagation through a text."""
    return source.steps(source.train_lengths.largest) if isinstance(source, Task) else experiment.recipe.steps


@lru_cache(maxsize=64)
def _shapes(machine: Config, recipe: Recipe, vocabulary: int) -> tuple[Any, Any]:
    """The shapes of a model, and of the stored state of a machine: weights, best weights and optimiser state."""
    model = model_shapes(machine, vocabulary)
    return model, (model, model, shapes_of(recipe.transform().init, model))
