"""The learners of a training: initial ones, those of a checkpoint, and the best start of every seed."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Int

from lantm.compiling import quick_and_exact
from lantm.devices import device_mesh, over_seeds, place
from lantm.evaluation import rounded
from lantm.machine import Model
from lantm.randomness import SEEDS
from lantm.shapes import shapes_of
from lantm.tasks import Source
from lantm.training.experiment import Experiment
from lantm.training.learner import Learner, begin
from lantm.training.material import Material, make_material
from lantm.training.origin import check_learners, check_origin, diverged_machines
from lantm.training.run_folder import RunFolder

_BETWEEN_STARTS = 1_000_003  # offset of seeds, large enough that starts do not coincide with other seeds of the run


def start(experiment: Experiment, source: Source, material: Material, mesh: Mesh) -> Learner:
    """The initial state of all machines; those of one seed are adjacent."""
    members, starts = experiment.members, experiment.recipe.starts
    seeds = [member.seed for member in members] or experiment.seed_numbers
    numbers = [start_seed(seed, at) for seed in seeds for at in range(starts)]
    initialise = _initialiser(mesh, experiment.machine, material.lessons, source.vocabulary)
    learners: Learner = initialise(place(jnp.array(numbers, jnp.int32), mesh))
    if members:
        rate = experiment.recipe.learning_rate
        scales = [member.learning_rate / rate for member in members for _ in range(starts)]
        learners = learners._replace(rate_scale=place(jnp.array(scales, float), mesh))
    return learners


@functools.lru_cache(maxsize=64)
def _initialiser(mesh: Mesh, *settings: Any) -> Callable[..., Learner]:
    """`begin` for all seeds, compiled with options that keep the weights bit for bit."""
    return over_seeds(functools.partial(begin, *settings), mesh, compiler_options=quick_and_exact())


def start_seed(seed: int, at: int) -> int:
    """The seed of the machine of this start; the first start uses the seed itself."""
    return (seed + at * _BETWEEN_STARTS) % SEEDS


def seed_and_start(number: int) -> str:
    """The seed and the start of a machine, from the seed that `start_seed` gave it; starts are counted from 1.

    >>> seed_and_start(3), seed_and_start(start_seed(8, 4))
    ('seed 3', 'seed 8, start 5')
    """
    at, seed = divmod(number, _BETWEEN_STARTS)
    return f"seed {seed}, start {at + 1}" if at and seed < 10_000 else f"seed {number}"


def start_with(learners: Learner, model: Model, mesh: Mesh) -> Learner:
    """The same machines with the weights of `model`; all other state is unchanged."""

    def repeated() -> Model:  # separate arrays for each use, since learners are donated
        weights: Model = jax.tree.map(
            lambda one, all: jnp.array(np.broadcast_to(one, all.shape)), model, learners.model
        )
        return place(weights, mesh)

    return learners._replace(model=repeated(), best_model=repeated())


def load_learners(folder: RunFolder, experiment: Experiment, source: Source) -> tuple[int, Learner, list[str]]:
    """The newest intact checkpoint of a run: its epoch, all machines, and warnings about damaged newer ones."""
    material, mesh = make_material(experiment, source), device_mesh(experiment.machines)
    seeds = jax.ShapeDtypeStruct((experiment.machines,), jnp.int32)
    begun = jax.vmap(functools.partial(begin, experiment.machine, material.lessons, source.vocabulary))
    check = functools.partial(check_origin, experiment=experiment, source=source, folder=folder.path)
    epoch, learners, warnings = folder.load_checkpoint(shapes_of(begun, seeds), check)
    check_learners(learners, material.batches, folder.path)
    return epoch, place(learners, mesh), warnings + diverged_machines(learners)


def best_starts(experiment: Experiment, learners: Learner) -> Learner:
    """The machine with the best test so far, for every seed."""
    if experiment.recipe.starts == 1:
        return learners
    places = leading(experiment, learners)
    best: Learner = jax.tree.map(lambda leaf: leaf[places], learners)
    return place(best, device_mesh(experiment.seeds))


def start_merits(experiment: Experiment, learners: Learner) -> list[list[float | None]]:
    """The merit of the best test of every machine, by which starts are selected: one list per seed."""
    found = np.asarray(learners.best_score).reshape(experiment.seeds, experiment.recipe.starts)
    return [[rounded(merit, 3) for merit in of_seed] for of_seed in found]


def leading(experiment: Experiment, learners: Learner) -> Int[np.ndarray, " seeds"]:
    """The index of the machine with the best test of every seed; the earlier start wins a tie."""
    starts = experiment.recipe.starts
    scores = np.asarray(learners.best_score).reshape(experiment.seeds, starts)
    return np.asarray(starts * np.arange(experiment.seeds) + np.argmax(scores, axis=1))
