"""One seed's training: truncated gradients, Adagrad, and the rate that is halved."""

from collections.abc import Callable
from functools import lru_cache, partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.language import Corpus, LanguageExperiment, LanguageRecipe
from lantm.language.learner import LanguageLearner, begin, close_epoch, read_and_learn
from lantm.language.pieces import Pieces, cut
from lantm.machine import LantmConfig, LstmConfig, Model, Schedule

Make = Callable[..., LanguageExperiment]


def begun(experiment: LanguageExperiment, corpus: Corpus) -> tuple[LanguageLearner, Pieces]:
    recipe = experiment.recipe
    text = cut(corpus.train, recipe.batch_size, recipe.steps, corpus.end)
    return jax.jit(partial(begin, experiment, len(corpus.words), text.number))(jnp.asarray(0)), text


def read(experiment: LanguageExperiment, learner: LanguageLearner, text: Pieces, first: int, end: int):
    return compiled(experiment.recipe.clip)(learner, text, first, end)


@lru_cache
def compiled(clip: float | None) -> Callable[..., LanguageLearner]:
    return jax.jit(partial(read_and_learn, clip))


def long_way(experiment: LanguageExperiment, model: Model, text: Pieces, pieces: int) -> tuple[Model, list[float]]:
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


def test_pieces_are_learned_from_one_by_one(language: Make, corpus: Corpus) -> None:
    """Twelve words and three steps: what is carried, what is forgotten, and what Adagrad makes of it."""
    experiment = language(learning_rate=0.001)
    learner, text = begun(experiment, corpus)
    after = read(experiment, learner, text, 0, 4)
    expected, losses = long_way(experiment, learner.model, text, 4)
    np.testing.assert_allclose(after.surprises[:4] / 20, losses, rtol=1e-5)
    for found, theirs, before in zip(*map(jax.tree.leaves, (after.model, expected, learner.model)), strict=True):
        # Adagrad's first steps are as large for a tiny gradient as for any: rounding may turn one or two around.
        wrong = np.abs(np.asarray(found - theirs)) > 1e-5
        assert wrong.mean() <= 0.02
        assert np.abs(np.asarray(found - before)).max() > 5e-4
    assert int(after.piece) == 4


def test_calls_do_not_matter(language: Make, corpus: Corpus) -> None:
    experiment = language()
    learner, text = begun(experiment, corpus)
    once = read(experiment, learner, text, 0, 9)
    often = learner
    for first, end in ((0, 1), (1, 6), (6, 9)):
        often = read(experiment, often, text, first, end)
    for found, expected in zip(jax.tree.leaves(often), jax.tree.leaves(once), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_nothing_is_compiled_twice(language: Make, corpus: Corpus) -> None:
    """A learner keeps its types, also the strength of its types, through pieces and epochs."""
    experiment = language()
    learner, text = begun(experiment, corpus)
    after = jax.eval_shape(partial(read_and_learn, 10.0), learner, text, 0, 3)
    closed = jax.eval_shape(partial(close_epoch, 0.5), (learner, jnp.float32(1.0)), 1)
    for other in (after, closed):
        for found, expected in zip(jax.tree.leaves(other), jax.tree.leaves(learner), strict=True):
            assert (found.dtype, found.weak_type) == (expected.dtype, expected.weak_type)


def test_an_epoch_begins_anew(language: Make, corpus: Corpus) -> None:
    """The first piece begins with the machine's start, whatever was carried before, and trains it."""
    experiment = language()
    learner, text = begun(experiment, corpus)
    first = read(experiment, learner, text, 0, 1)
    elsewhere = learner._replace(carried=read(experiment, learner, text, 0, 5).carried)
    again = read(experiment, elsewhere, text, 0, 1)
    np.testing.assert_array_equal(again.surprises, first.surprises)
    assert np.abs(np.asarray(first.model.start.hidden - learner.model.start.hidden)).max() > 1e-3
    second = read(experiment, first, text, 1, 2)
    np.testing.assert_array_equal(second.model.start.hidden, first.model.start.hidden)


def test_clipping(language: Make, corpus: Corpus) -> None:
    experiment = language("lstm", clip=1e-3)
    after = read(experiment, *begun(experiment, corpus), 0, 1)
    assert float(after.norms[0]) > 0.01, "the norm before clipping"
    squares = sum(float(jnp.sum(leaf)) for leaf in jax.tree.leaves(after.squares))
    np.testing.assert_allclose(squares, 1e-6, rtol=1e-4)


def test_what_is_not_finite_is_skipped(language: Make, corpus: Corpus) -> None:
    experiment = language()
    learner, text = begun(experiment, corpus)
    bias = learner.model.readout.bias.at[0].set(jnp.inf)
    spoiled = learner._replace(model=eqx.tree_at(lambda model: model.readout.bias, learner.model, bias))
    after = read(experiment, spoiled, text, 0, 3)
    assert int(after.skipped) == 3
    for found, expected in zip(jax.tree.leaves(after.model), jax.tree.leaves(spoiled.model), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert int(read(experiment, learner, text, 0, 3).skipped) == 0


def test_the_rate_is_halved_when_validation_gets_worse(language: Make, corpus: Corpus) -> None:
    """ "Halved each time the validation perplexity exceeded that of the previous epoch": the last, not the best."""
    experiment = language("lstm", learning_rate=0.8, rate_factor=0.5)
    learner, _ = begun(experiment, corpus)
    close = jax.jit(partial(close_epoch, experiment.recipe.rate_factor))
    rates, best = [], []
    for epoch, loss in enumerate([5.0, 4.0, 4.5, 4.2, 4.2, 4.3, 3.9, np.nan], start=1):
        marked = learner._replace(
            model=jax.tree.map(lambda leaf, epoch=epoch: jnp.full_like(leaf, epoch), learner.model)
        )
        learner = close((marked, jnp.asarray(loss)), jnp.asarray(epoch))
        rates.append(round(float(learner.rate), 6))
        best.append(int(learner.best_epoch))
        assert float(learner.best_model.readout.bias[0]) == best[-1]
    assert rates == [0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.1]
    assert best == [1, 2, 2, 2, 2, 2, 7, 7]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"learning_rate": 0.0}, "learning_rate is 0.0"),
        ({"rate_factor": 1.5}, "rate_factor is 1.5"),
        ({"clip": -1.0}, "clip is -1.0"),
        ({"epochs": 0}, "epochs is 0"),
        ({"steps": 2**31}, "steps is"),
    ],
)
def test_recipes_that_cannot_work(changes: dict, reason: str) -> None:
    with pytest.raises(LantmError, match=reason):
        LanguageRecipe(**changes)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seeds": 0}, "seeds is 0"),
        ({"first_seed": -1}, "first_seed is -1"),
        ({"machine": LantmConfig()}, "give a memory_limit"),
        ({"machine": LstmConfig()}, "does not have this LstmConfig"),
        ({"machine": LantmConfig(weighting="softmax", memory_limit=100)}, "does not have this LantmConfig"),
    ],
)
def test_experiments_that_cannot_work(language: Make, changes: dict, reason: str) -> None:
    record = vars(language())
    with pytest.raises(LantmError, match=reason):
        LanguageExperiment(**record | changes)


@pytest.mark.parametrize("model", ["lantm-softmax", "lstm"])
def test_records(language: Make, model: str) -> None:
    experiment = language(model)
    assert LanguageExperiment.from_json(experiment.to_json()) == experiment
    with pytest.raises(LantmError, match=r"recipe\.epochs is 'many', which is not a whole number"):
        LanguageExperiment.from_json(experiment.to_json() | {"recipe": {"epochs": "many"}})
