"""The recipe: its rules for steps and rates by hand, and what it refuses."""

import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.tasks import Lengths
from lantm.training import Recipe

Tree = dict[str, np.ndarray]


def gradients(count: int) -> list[Tree]:
    """Gradients of many sizes: some are clipped, some are so small that epsilon decides."""
    random = np.random.default_rng(0)
    scales = [1.0, 30.0, 1e-8, 0.1, 1e-7, 3.0]
    return [{"a": scale * random.normal(size=3), "b": scale * random.normal(size=(2, 2))} for scale in scales[:count]]


def clipped(tree: Tree, limit: float | None) -> Tree:
    norm = math.sqrt(sum(float((g**2).sum()) for g in tree.values()))
    factor = 1.0 if limit is None or norm <= limit else limit / norm
    return {name: factor * g for name, g in tree.items()}


def steps_of(recipe: Recipe, trees: list[Tree]) -> list[Tree]:
    with jax.enable_x64(True):
        transform = recipe.transform()
        stacked = jax.tree.map(lambda *rows: np.stack(rows), *trees)

        @jax.jit
        def run(stacked: Tree) -> Tree:
            start = transform.init(jax.tree.map(lambda rows: jnp.zeros_like(rows[0]), stacked))
            return jax.lax.scan(lambda state, tree: transform.update(tree, state)[::-1], start, stacked)[1]

        steps = jax.device_get(run(stacked))
    return [{name: rows[index] for name, rows in steps.items()} for index in range(len(trees))]


def assert_same(found: list[Tree], expected: list[Tree]) -> None:
    for index, (one, other) in enumerate(zip(found, expected, strict=True)):
        for name in one:
            np.testing.assert_allclose(one[name], other[name], rtol=1e-6, atol=1e-12, err_msg=f"step {index}")


@pytest.mark.parametrize(
    ("clip", "momentum", "decay"), [(10.0, 0.0, 0.95), (0.5, 0.0, 0.5), (None, 0.0, 0.95), (10.0, 0.9, 0.95)]
)
def test_rmsprop_by_hand(clip: float | None, momentum: float, decay: float) -> None:
    expected = []
    square = {"a": np.zeros(3), "b": np.zeros((2, 2))}
    velocity = {"a": np.zeros(3), "b": np.zeros((2, 2))}
    for tree in gradients(6):
        tree = clipped(tree, clip)
        for name, g in tree.items():
            square[name] = decay * square[name] + (1 - decay) * g**2
            velocity[name] = momentum * velocity[name] + g / (np.sqrt(square[name]) + 1e-8)
        expected.append(dict(velocity))
    assert_same(steps_of(Recipe(clip=clip, momentum=momentum, decay=decay), gradients(6)), expected)


def test_the_defaults_are_the_papers() -> None:
    recipe = Recipe()
    assert (recipe.optimiser, recipe.decay, recipe.momentum, recipe.clip) == ("rmsprop", 0.95, 0.0, 10.0)
    assert (recipe.learning_rate, recipe.batches, recipe.batch_size, recipe.test_batches) == (0.02, 10, 32, 100)
    assert (recipe.schedule, recipe.plateau_start, recipe.plateau_patience) == ("plateau", 100, 30)
    assert (recipe.plateau_factor, recipe.mixed_lengths, recipe.curriculum) == (0.5, False, 0.0)


def test_adam_by_hand() -> None:
    expected = []
    first = {"a": np.zeros(3), "b": np.zeros((2, 2))}
    second = {"a": np.zeros(3), "b": np.zeros((2, 2))}
    for count, tree in enumerate(gradients(6), start=1):
        step = {}
        for name, g in clipped(tree, 10.0).items():
            first[name] = 0.9 * first[name] + 0.1 * g
            second[name] = 0.999 * second[name] + 0.001 * g**2
            mean, square = first[name] / (1 - 0.9**count), second[name] / (1 - 0.999**count)
            step[name] = mean / (np.sqrt(square) + 1e-8)
        expected.append(step)
    assert_same(steps_of(Recipe(optimiser="adam"), gradients(6)), expected)


def test_adagrad_by_hand() -> None:
    expected = []
    square = {"a": np.zeros(3), "b": np.zeros((2, 2))}
    for tree in gradients(6):
        step = {}
        for name, g in clipped(tree, 10.0).items():
            square[name] = square[name] + g**2
            step[name] = g / np.sqrt(square[name] + 1e-10)
        expected.append(step)
    assert_same(steps_of(Recipe(optimiser="adagrad"), gradients(6)), expected)


@pytest.mark.parametrize(
    ("optimiser", "bad"), [("rmsprop", math.nan), ("rmsprop", -math.inf), ("adam", math.inf), ("adagrad", math.nan)]
)
def test_a_gradient_that_is_not_finite_gives_no_step_and_leaves_no_trace(optimiser: Any, bad: float) -> None:
    good = gradients(4)
    spoiled = {"a": np.array([1.0, bad, 1.0]), "b": good[0]["b"]}
    recipe = Recipe(optimiser=optimiser)
    found = steps_of(recipe, [*good[:2], spoiled, *good[2:]])
    assert all(not step.any() for step in found[2].values())
    assert_same([*found[:2], *found[3:]], steps_of(recipe, good))


def test_rates() -> None:
    scale = jnp.asarray(0.25)
    for epoch in (1, 50, 100):
        at = jnp.asarray(epoch)
        for schedule in ("plateau", "constant"):
            rate = Recipe(learning_rate=0.2, schedule=schedule, epochs=100).rate(at, scale)
            assert float(rate) == pytest.approx(0.05)
        cosine = Recipe(learning_rate=0.2, schedule="cosine", epochs=100).rate(at, jnp.ones(()))
        assert float(cosine) == pytest.approx(0.1 * (1 + math.cos(math.pi * epoch / 100)), abs=1e-7)


def test_the_share_of_lengths() -> None:
    recipe = Recipe(epochs=100, curriculum=0.5)
    shares = [float(recipe.share_of_lengths(jnp.asarray(epoch))) for epoch in (1, 25, 50, 80)]
    assert shares == pytest.approx([0.02, 0.5, 1.0, 1.0])
    assert float(Recipe().share_of_lengths(jnp.asarray(1))) == 1.0


def test_a_curriculum_with_a_focus_is_part_the_hardest_and_part_all_there_is() -> None:
    recipe = Recipe(epochs=100, curriculum=0.5, curriculum_focus=0.8)
    keys = jax.random.split(jax.random.key(0), 3000)
    draw = jax.jit(
        jax.vmap(lambda key, epoch: recipe.draw_length(Lengths(2, 4), epoch, key, jnp.asarray(1)), in_axes=(0, None))
    )
    for epoch, hardest in ((1, 2), (16, 2), (17, 3), (33, 3), (34, 4), (100, 4)):
        lengths, counts = np.unique(draw(keys, epoch), return_counts=True)
        shares = dict(zip(lengths.tolist(), counts / 3000, strict=True))
        for length in (2, 3, 4):
            assert shares[length] == pytest.approx(0.2 / 3 + 0.8 * (length == hardest), abs=0.04)


def test_a_curriculum_for_every_second_start() -> None:
    """In the first epoch machines with an even seed have the shortest lengths, the others all of them."""
    recipe = Recipe(epochs=100, curriculum=0.5, curriculum_seeds="even")
    keys, seeds = jax.random.split(jax.random.key(0), 300), jnp.arange(300)
    draw = jax.vmap(lambda key, seed: recipe.draw_length(Lengths(2, 4), jnp.asarray(1), key, seed))
    lengths = np.asarray(draw(keys, seeds))
    assert set(lengths[0::2].tolist()) == {2}
    assert set(lengths[1::2].tolist()) == {2, 3, 4}


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("learning_rate", [0.0, -1.0, math.nan, math.inf]),
        ("clip", [0.0, -1.0, math.nan, math.inf]),
        ("decay", [-0.1, 1.0, math.nan]),
        ("momentum", [-0.1, 1.0, math.nan]),
        ("plateau_factor", [0.0, 1.5, math.nan]),
        ("curriculum", [-0.1, 1.1, math.nan]),
        ("curriculum_focus", [-0.1, 1.1, math.nan]),
        ("hard_share", [-0.1, 1.1, math.nan]),
        ("validation_memory", [0, -1]),
        ("plateau_start", [-1, 2**31]),
        ("plateau_patience", [0, -1]),
        ("epochs", [0, 2**31]),
        ("batches", [0, -5]),
        ("batch_size", [0]),
        ("test_every", [0]),
        ("test_batches", [0]),
        ("steps", [0, 2**31]),
        ("starts", [0]),
        ("test_scales", [(), (0,), (1, -2), (1,) * 101]),
        ("test_hard_scales", [(0,), (1, -2), (1,) * 101]),
    ],
)
def test_bad_values_are_refused_by_name(field: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(LantmError, match=field) as caught:
            dataclasses.replace(Recipe(), **{field: value})
        assert "give" in str(caught.value)
        assert "\n" not in str(caught.value)
