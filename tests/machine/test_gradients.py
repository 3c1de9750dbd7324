"""Gradients: against differences of the oracle's loss, and the fast backward pass against plain autodiff."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from agreement import SEVERAL_HEADS, build, loss_and_gradient, problems, quick, small_lantm, small_lstm

from lantm.batch import Batch
from lantm.geometry import GEOMETRIES
from lantm.machine import Lantm, Memory, Model, Schedule, Window, recur
from lantm.machine.reference import recur_by_scan
from lantm.machine.state import Path, State, Weights

pytestmark = pytest.mark.usefixtures("double_precision")

SOFTMAX = {"weighting": "softmax"}


def random_like(tree: Any, seed: int) -> Any:
    """The same arrays, full of random numbers."""
    random = np.random.default_rng(seed)
    return jax.tree.map(lambda leaf: jnp.asarray(random.normal(size=leaf.shape)), tree)


# Against the oracle.

CONFIGURATIONS = {
    "invnorm": small_lantm(),
    "softmax": small_lantm(**SOFTMAX),
    "lstm": small_lstm(),
    "several heads": small_lantm(**SEVERAL_HEADS, weighting="invnorm[power=2]", tied_read_heads=1),
    "renormalise": small_lantm(weighting="invnorm[renormalise=true,power=0.5]", initial_slot=False),
    "drop": small_lantm(memory_limit=4, memory_drop=2, read_sees_write=True),
    "rotation": small_lantm(weighting="softmax[temperature=0.7]", geometry="rotation", squash_vectors="sigmoid"),
    "spiral": small_lantm(geometry="scaling-rotation", normalise_steps=False),
    "settles": small_lantm(
        settle_reads=True,
        cell_bound=0.4,
        controller_overshoot=0.2,
        settle_cells=0.05,
        write_end=True,
        **SEVERAL_HEADS,
    ),
    "settles, softmax": small_lantm(settle_reads=True, cell_bound=0.3, tied_read_heads=1, **SOFTMAX),
}
ONE_LENGTH = ("drop",)


def dot(left: Model, right: Model) -> float:
    products = jax.tree.map(lambda x, y: np.sum(np.asarray(x) * np.asarray(y)), left, right)
    return float(sum(jax.tree.leaves(products)))


def slope(model: Model, batch: Batch, direction: Model, small: float = 1e-3) -> float:
    """How the oracle's loss changes along the direction, by central differences of the fourth order.

    Heads and cells that settle are displaced as they are at `model`: their gradients go straight through.
    """
    like = oracle.run_problems(model, model.config, batch)

    def moved(distance: float) -> float:
        there = jax.tree.map(lambda x, d: np.asarray(x) + distance * d, model, direction)
        return oracle.loss(there, model.config, batch, like)

    near, far = moved(small) - moved(-small), moved(2 * small) - moved(-2 * small)
    return (8 * near - far) / (12 * small)


def directions(model: Model) -> Iterator[Model]:
    """Random directions of length 1: two through all parameters, and one through each part of the model."""
    everywhere = random_like(model, seed=0)
    nowhere = jax.tree.map(np.zeros_like, everywhere)
    for direction in [
        everywhere,
        random_like(model, seed=1),
        *(eqx.tree_at(lambda m, p=part: m.parts[p], nowhere, everywhere.parts[part]) for part in model.parts),
    ]:
        length = dot(direction, direction) ** 0.5
        yield jax.tree.map(lambda leaf, length=length: leaf / length, direction)


# All that these have, others have too.
FURTHER = ("invnorm", "softmax", "settles, softmax")
every_configuration = pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.thorough if name in FURTHER else ()) for name in CONFIGURATIONS]
)


@every_configuration
def test_gradients_are_differences_of_the_oracles_loss(name: str) -> None:
    batch = problems(lengths=(4, 4, 4) if name in ONE_LENGTH else (2, 4, 3))
    model = build(CONFIGURATIONS[name])
    value, gradient = loss_and_gradient(model, batch)
    assert float(value) == pytest.approx(oracle.loss(model, model.config, batch), rel=1e-10)

    for direction in directions(model):
        ours = dot(gradient, direction)
        assert ours == pytest.approx(slope(model, batch, direction), rel=1e-6, abs=1e-9)
        assert abs(ours) > 1e-6


@every_configuration
def test_steep_losses_have_finite_gradients(name: str) -> None:
    """Also where the first reading finds an empty memory: clipping mends large gradients, not infinite ones."""
    model = build(CONFIGURATIONS[name])
    steep = eqx.tree_at(lambda model: model.readout.weight, model, 1e8 * model.readout.weight)
    value, gradient = loss_and_gradient(steep, problems(lengths=(2, 4, 3)))
    assert float(value) > 1e6
    assert all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(gradient))


# Against plain autodiff.

SETTLES = {
    "settle_reads": True,
    "cell_bound": 0.5,
    "controller_overshoot": 0.1,
    "settle_cells": 0.1,
    "write_end": True,
}
FEATURES = [
    {},
    {**SEVERAL_HEADS, "read_sees_write": True, "memory_limit": 6, "memory_drop": 4},
    {**SEVERAL_HEADS, "initial_slot": False},
    {"read_sees_write": True},
    {"memory_limit": 3, "memory_drop": 2},
    SETTLES,
    {**SETTLES, **SEVERAL_HEADS, "read_sees_write": True},
]
OTHER_SIZES = ["translation-3", "sphere[radius=8]", "disk[radius=8]"]
WEIGHTINGS = ["invnorm", "softmax[renormalise=true]", "invnorm[power=2,renormalise=true]", "softmax"]
# Four weightings and seven features have no common divisor: they meet in other pairs every time round.
MACHINES = [
    {"geometry": geometry, "weighting": weighting, **features}
    for geometry, weighting, features in zip(
        [*GEOMETRIES, *OTHER_SIZES], itertools.cycle(WEIGHTINGS), itertools.cycle(FEATURES), strict=False
    )
]
# Its machine has most features. Gradients against the oracle are those of the fast recurrence too, with all features;
# gradients of each geometry and weighting have tests of their own.
MOST_FEATURES = "rotation"
SCHEDULES = {
    "mixed lengths": (8, (3, 5, 2)),
    "ends while writing": (4, (6, 2, 5)),
    "full": (10, (6, 6, 6)),
    "no answer": (6, (6, 6, 6)),
    "no step": (0, (3, 1, 2)),
}

Differentiable = tuple[Weights, jax.Array, State, Memory]
Outcome = tuple[State, jax.Array, State, Memory]  # states and emissions of every step; what it ended with


def run_and_pull_back(
    how: Callable[..., Path], model: Lantm, given: Differentiable, schedule: Schedule, window: Window
) -> tuple[Path, Differentiable]:
    """The path, and the gradient of a random function of all of it: the trace and the end."""

    def run(weights: Weights, inputs: jax.Array, start: State, memory: Memory) -> tuple[Outcome, Path]:
        given = (weights, inputs, start, memory, window, schedule)
        path = how(model.config.access, model.config.policy, *given, cell=model.config.cell)
        return (path.states, path.emissions, path.state, path.memory), path

    outcome, pull, path = jax.vjp(run, *given, has_aux=True)
    return path, pull(random_like(outcome, seed=1))


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param(changes, marks=() if changes["geometry"] == MOST_FEATURES else pytest.mark.thorough)
        for changes in MACHINES
    ],
    ids=lambda changes: " ".join(map(str, changes.values())),
)
def test_the_fast_recurrence_is_the_plain_one(changes: dict) -> None:
    """Values and gradients, with cotangents on the trace, the final state and the final memory."""
    model = build(small_lantm(**changes))
    state, memory, window = model.begin(batch_size=3, slots=6)
    inputs = random_like(jax.ShapeDtypeStruct((10, 3, 4 * model.config.cells), float), seed=0)
    weights = Weights(model.layer.controller.recurrent, model.layer.heads.weight, model.layer.heads.bias)
    given = (weights, inputs, state, memory)

    @quick
    def both(schedule: Schedule) -> list[tuple[Path, Differentiable]]:
        return [run_and_pull_back(how, model, given, schedule, window) for how in (recur, recur_by_scan)]

    remembered = int(window.end)
    for name, (steps, writes) in SCHEDULES.items():
        schedule = Schedule(jnp.array(steps), jnp.array(writes))
        (path, gradient), (plain_path, plain_gradient) = jax.device_get(both(schedule))
        assert_same(path, plain_path, name)
        # Slots that are free at the start hold nothing that could be learnt.
        for ours, theirs in zip(gradient[3], plain_gradient[3], strict=True):
            assert_same(ours[:, :remembered], theirs[:, :remembered], name)
            np.testing.assert_array_equal(ours[:, remembered:], 0)
        assert_same(gradient[:3], plain_gradient[:3], name)
        assert steps == 0 or all(np.any(np.asarray(leaf) != 0) for leaf in jax.tree.leaves(gradient[:3]))


def assert_same(ours: Any, theirs: Any, name: str) -> None:
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for left, right in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-10, err_msg=name)


# Many at once.


@pytest.mark.thorough
def test_models_mapped_over_give_what_each_gives() -> None:
    """Seeds are trained side by side, on problems of one length or each on its own."""
    model = build(small_lantm())
    models = [model, jax.tree.map(lambda leaf: 0.9 * leaf, model)]
    batches = [problems(lengths=(3, 3, 3)), problems(lengths=(5, 5, 5))]
    together = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)
    apart = jax.tree.map(lambda *leaves: jnp.stack(leaves), *batches)

    plain = loss_and_gradient.__wrapped__
    one_length = quick(jax.vmap(plain, in_axes=(0, None)))(together, batches[0])
    each_its_own = quick(jax.vmap(plain))(together, apart)
    for seed, (model, batch) in enumerate(zip(models, batches, strict=True)):
        for outcome, problem in [(one_length, batches[0]), (each_its_own, batch)]:
            mapped = jax.tree.map(lambda leaf, seed=seed: leaf[seed], outcome)
            assert_same(mapped, loss_and_gradient(model, problem), f"seed {seed}")
