"""One machine's training on a text: truncated gradients, Adagrad, and what is carried from piece to piece."""

from collections.abc import Callable
from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from lantm.machine import Model, Schedule
from lantm.tasks import Corpus, Text
from lantm.tasks.pieces import Pieces
from lantm.training import Experiment, Learner
from lantm.training.learner import begin, close_epoch, learn_from_test, remember_best, train_batches
from lantm.training.material import TextMaterial

Make = Callable[..., Experiment]


def begun(experiment: Experiment, corpus: Corpus) -> tuple[Learner, TextMaterial]:
    material = TextMaterial(experiment, Text(corpus, experiment.recipe.steps))
    learner = jax.jit(partial(begin, experiment.machine, material.lessons, len(corpus.words)))(
        jnp.asarray(0, jnp.int32)
    )
    return learner, material


def read(learner: Learner, material: TextMaterial, first: int, end: int, epoch: int = 1) -> Learner:
    bounds = (jnp.asarray(number, jnp.int32) for number in (epoch, first, end))
    return compiled(material)(learner, material.data, *bounds)


@lru_cache
def compiled(material: TextMaterial) -> Callable[..., Learner]:
    return jax.jit(partial(train_batches, material.lessons))


def long_way(experiment: Experiment, model: Model, text: Pieces, pieces: int) -> tuple[Model, list[float]]:
    """Adagrad in NumPy, on the gradients of pieces that are carried on by hand."""
    steps, batch = text.inputs.shape[1:]
    rate = experiment.recipe.learning_rate
    carried = jax.jit(lambda model: model.begin(batch, 20))(model)

    def loss(model: Model, carried, piece: Pieces, first: bool):
        start = jax.tree.map(lambda new, old: jnp.where(first, new, old), model.begin(batch, 20), carried)
        schedule = Schedule(jnp.asarray(steps), jnp.full(batch, steps))
        features, after = model.run(piece.inputs, schedule, start)
        logs = jax.nn.log_softmax(model.readout(features))
        chosen = jnp.take_along_axis(logs, piece.targets[..., None], axis=-1)[..., 0]
        return -jnp.sum(chosen, where=piece.mask) / jnp.sum(piece.mask), after

    gradient = jax.jit(jax.value_and_grad(loss, has_aux=True))
    squares = [np.zeros(leaf.shape) for leaf in jax.tree.leaves(model)]
    losses = []
    for at in range(pieces):
        piece = Pieces(*(rows[at] for rows in text))
        (value, carried), gradients = gradient(model, carried, piece, at == 0)
        losses.append(float(value))
        leaves, structure = jax.tree.flatten(model)
        for number, (leaf, g) in enumerate(zip(leaves, map(np.asarray, jax.tree.leaves(gradients)), strict=True)):
            squares[number] = squares[number] + g.astype(float) ** 2
            step = np.divide(g, np.sqrt(squares[number]), where=squares[number] > 0, out=np.zeros(g.shape))
            leaves[number] = leaf - rate * step.astype(np.float32)
        model = jax.tree.unflatten(structure, leaves)
    return model, losses


def test_pieces_are_learned_from_one_by_one(text_experiment: Make, corpus: Corpus) -> None:
    """Twelve words and three steps: what is carried, what is forgotten, and what Adagrad makes of it."""
    experiment = text_experiment(learning_rate=0.001)
    learner, material = begun(experiment, corpus)
    after = read(learner, material, 0, 4)
    expected, losses = long_way(experiment, learner.model, material.data, 4)
    np.testing.assert_allclose(after.losses[:4], losses, rtol=1e-5)
    for found, theirs, before in zip(*map(jax.tree.leaves, (after.model, expected, learner.model)), strict=True):
        # Adagrad's first steps are as large for a tiny gradient as for any: rounding may turn one or two around.
        wrong = np.abs(np.asarray(found - theirs)) > 1e-5
        assert wrong.mean() <= 0.02
        assert np.abs(np.asarray(found - before)).max() > 5e-4
    assert int(after.batch) == 4


@pytest.mark.thorough
def test_calls_do_not_matter(text_experiment: Make, corpus: Corpus) -> None:
    experiment = text_experiment()
    learner, material = begun(experiment, corpus)
    once = read(learner, material, 0, 9)
    often = learner
    for first, end in ((0, 1), (1, 6), (6, 9)):
        often = read(often, material, first, end)
    for found, expected in zip(jax.tree.leaves(often), jax.tree.leaves(once), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_nothing_is_compiled_twice(text_experiment: Make, corpus: Corpus) -> None:
    """A learner keeps its types, also the strength of its types, through pieces, epochs and tests."""
    experiment = text_experiment()
    recipe = experiment.recipe
    learner, material = begun(experiment, corpus)
    counts, score, epoch = jnp.asarray(material.counts), jnp.float32(1.0), jnp.asarray(1)
    bounds = (jnp.asarray(number, jnp.int32) for number in (1, 0, 3))
    after = [
        jax.eval_shape(partial(train_batches, material.lessons), learner, material.data, *bounds),
        jax.eval_shape(partial(close_epoch, recipe), learner, counts, epoch)[0],
        jax.eval_shape(remember_best, learner, score, epoch),
        jax.eval_shape(partial(learn_from_test, recipe), learner, score, epoch),
    ]
    for other in after:
        for found, expected in zip(jax.tree.leaves(other), jax.tree.leaves(learner), strict=True):
            assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)


def test_an_epoch_begins_anew(text_experiment: Make, corpus: Corpus) -> None:
    """The first piece begins with the machine's start, whatever was carried before, and trains it."""
    experiment = text_experiment()
    learner, material = begun(experiment, corpus)
    first = read(learner, material, 0, 1)
    elsewhere = learner._replace(carried=read(learner, material, 0, 5).carried)
    again = read(elsewhere, material, 0, 1)
    np.testing.assert_array_equal(again.losses, first.losses)
    assert (
        np.abs(
            np.asarray(first.model.layer.controller.start.hidden - learner.model.layer.controller.start.hidden)
        ).max()
        > 1e-3
    )
    second = read(first, material, 1, 2)
    np.testing.assert_array_equal(second.model.layer.controller.start.hidden, first.model.layer.controller.start.hidden)


def test_clipping(text_experiment: Make, corpus: Corpus) -> None:
    experiment = text_experiment("lstm", clip=1e-3)
    after = read(*begun(experiment, corpus), 0, 1)
    assert float(after.norms[0]) > 0.01, "the norm before clipping"
    squares = optax.tree.get(after.optimiser, "sum_of_squares")
    squares = sum(float(jnp.sum(leaf)) for leaf in jax.tree.leaves(squares))
    np.testing.assert_allclose(squares, 1e-6, rtol=1e-4)


def test_what_is_not_finite_is_skipped(text_experiment: Make, corpus: Corpus) -> None:
    experiment = text_experiment()
    learner, material = begun(experiment, corpus)
    bias = learner.model.readout.bias.at[0].set(jnp.inf)
    spoiled = learner._replace(model=eqx.tree_at(lambda model: model.readout.bias, learner.model, bias))
    after = read(spoiled, material, 0, 3)
    assert int(after.optimiser.total_notfinite) == 3
    for found, expected in zip(jax.tree.leaves(after.model), jax.tree.leaves(spoiled.model), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert int(read(learner, material, 0, 3).optimiser.total_notfinite) == 0


@pytest.mark.thorough
def test_the_loss_of_an_epoch_is_the_mean_over_its_words(text_experiment: Make, corpus: Corpus) -> None:
    """The last piece has fewer words than the others, and counts for less."""
    experiment = text_experiment(batch_size=8)
    learner, material = begun(experiment, corpus)
    assert material.counts.sum() == len(corpus.train)
    assert material.counts[-1] < material.counts[0] == 8 * 4
    after = read(learner, material, 0, material.batches)
    surprise = float(np.sum(np.asarray(after.losses, np.float64) * np.asarray(material.data.mask).sum(axis=(1, 2))))
    _, report = close_epoch(experiment.recipe, after, jnp.asarray(material.counts), jnp.asarray(1))
    np.testing.assert_allclose(report.loss, surprise / len(corpus.train), rtol=1e-5)
