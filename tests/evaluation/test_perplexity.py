"""Perplexity against the machines in NumPy, word by word; the loss's gradient against plain autodiff."""

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from small_texts import MACHINES

from lantm.evaluation import TextExaminer, reporting
from lantm.evaluation.cross_entropy import total_surprise
from lantm.machine import LstmConfig, Model
from lantm.machine.model import Linear
from lantm.tasks import Corpus, Text
from lantm.tasks.pieces import cut

BATCH, STEPS = 4, 3


def surprises(model: Model, corpus: Corpus) -> list[float]:
    """What each word of the validation text costs, column by column, nothing cut into pieces."""
    run = oracle.run_lstm_problem if isinstance(model.config, LstmConfig) else oracle.run_lantm_problem
    words = corpus.valid.tolist()
    found, begin = [], 0
    for column in np.array_split(np.arange(len(words)), BATCH):
        inputs = [words[place - 1] if place else corpus.end for place in column]
        for place, step in zip(
            column, run(oracle.numbers(model), model.config, inputs, len(inputs)).steps, strict=True
        ):
            shares = np.exp(step.logits) / np.exp(step.logits).sum()
            found.append(-np.log(shares[words[place]]))
        begin += len(column)
    assert begin == len(words)
    return found


@pytest.mark.parametrize("model", ["lantm-invnorm", pytest.param("lstm", marks=pytest.mark.thorough)])
def test_against_numpy(model: str, corpus: Corpus) -> None:
    def build(seed: jax.Array) -> Model:
        # Larger weights than one begins with: everything matters.
        machine = MACHINES[model].build(len(corpus.words), jax.random.key(seed))
        return jax.tree.map(lambda weights: 2 * weights, machine)

    models = jax.jit(jax.vmap(build))(jnp.arange(2))
    examiner = TextExaminer(Text(corpus, STEPS), {"validation": "valid", "test": "test"}, seeds=2, batch_size=BATCH)
    both = examiner(models, jnp.arange(2), reporting(1))
    found = both["validation"]
    assert both["test"].tokens == len(corpus.test)
    assert found.tokens == len(corpus.valid)
    for seed in range(2):
        expected = surprises(jax.tree.map(lambda leaf, seed=seed: leaf[seed], models), corpus)
        np.testing.assert_allclose(found.losses[seed], np.mean(expected), rtol=2e-5)
        np.testing.assert_allclose(found.values[seed], np.exp(np.mean(expected)), rtol=1e-4)


def test_the_gradient_of_the_loss() -> None:
    with jax.enable_x64(True):
        keys = jax.random.split(jax.random.key(0), 4)
        readout = Linear(5, 11, keys[0], 2.0)
        features = 3 * jax.random.normal(keys[1], (4, 3, 5))
        targets = jax.random.randint(keys[2], (4, 3), 0, 11)
        mask = jax.random.bernoulli(keys[3], 0.7, (4, 3))

        def plain(readout: Linear, features: jax.Array) -> jax.Array:
            chosen = jnp.take_along_axis(jax.nn.log_softmax(readout(features)), targets[..., None], axis=-1)[..., 0]
            return -jnp.sum(chosen, where=mask)

        ours = jax.jit(jax.value_and_grad(lambda *given: total_surprise(*given, targets, mask) ** 2, (0, 1)))(
            readout, features
        )
        theirs = jax.jit(jax.value_and_grad(lambda *given: plain(*given) ** 2, (0, 1)))(readout, features)
        for found, expected in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def test_large_logits_do_not_overflow() -> None:
    readout = Linear(2, 4, jax.random.key(0), 1.0)
    features = jnp.full((1, 1, 2), 1e4)
    targets, mask = jnp.zeros((1, 1), int), jnp.ones((1, 1), bool)
    value, gradients = jax.value_and_grad(total_surprise)(readout, features, targets, mask)
    assert np.isfinite(value)
    assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(gradients))


def test_the_last_piece_is_not_all_text(corpus: Corpus) -> None:
    """The tests above cut the text so that columns differ in length and the last piece is filled up."""
    mask = np.asarray(cut(corpus.valid, BATCH, STEPS, corpus.end).mask)
    assert not mask[-1].all()
    assert len(corpus.valid) % BATCH
