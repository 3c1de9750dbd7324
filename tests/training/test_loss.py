"""The loss by hand, and the window of the answer that it is computed in."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parrot import Parrot

from lantm.batch import Batch
from lantm.evaluation import Answer, answer
from lantm.tasks import Copy, Lengths
from lantm.training.loss import negative_log_likelihood

TASK = Copy(data_symbols=5, train_lengths=Lengths(2, 6))


def by_hand(logits: np.ndarray, targets: np.ndarray, mask: np.ndarray) -> float:
    losses = []
    for time, problem in zip(*np.nonzero(mask), strict=True):
        row = logits[time, problem].astype(np.float64)
        losses.append(np.log(np.exp(row - row.max()).sum()) + row.max() - row[targets[time, problem]])
    return float(np.mean(losses))


@pytest.fixture(scope="module")
def random_answer() -> Answer:
    random = np.random.default_rng(0)
    logits = 5 * random.normal(size=(7, 3, 4)).astype(np.float32)
    mask = random.random((7, 3)) < 0.5
    return Answer(jnp.asarray(logits), jnp.asarray(random.integers(0, 4, (7, 3))), jnp.asarray(mask))


def test_by_hand(random_answer: Answer) -> None:
    found = float(negative_log_likelihood(random_answer))
    assert found == pytest.approx(by_hand(*map(np.asarray, random_answer[:3])), rel=1e-5)


def test_what_is_masked_does_not_count(random_answer: Answer) -> None:
    loss, gradient = jax.value_and_grad(lambda logits: negative_log_likelihood(random_answer._replace(logits=logits)))(
        random_answer.logits
    )
    mask = np.asarray(random_answer.mask)
    assert not np.asarray(gradient)[~mask].any()
    assert np.asarray(gradient)[mask].any(axis=-1).all()
    elsewhere = random_answer._replace(
        logits=jnp.where(mask[..., None], random_answer.logits, 1e3 * random_answer.logits[::-1]),
        targets=jnp.where(mask, random_answer.targets, 0),
    )
    assert float(negative_log_likelihood(elsewhere)) == float(loss)


def test_logits_of_any_size_give_a_finite_loss() -> None:
    logits = jnp.array([[[1e30, 0.0, -1e30]]])
    for target in range(3):
        assert np.isfinite(negative_log_likelihood(Answer(logits, jnp.array([[target]]), jnp.array([[True]]))))


def test_it_can_be_differentiated_again_where_all_rows_are_run() -> None:
    """Of one symbol, the second derivatives are those of a softmax: diag(p) - p p."""
    row = jnp.array([0.5, -1.0, 2.0])
    answer_of = lambda row: Answer(row[None, None], jnp.array([[1]]), jnp.array([[True]]))  # noqa: E731
    share = np.exp(row) / np.exp(row).sum()
    curvature = jax.hessian(lambda row: negative_log_likelihood(answer_of(row)))(row)
    np.testing.assert_allclose(curvature, np.diag(share) - np.outer(share, share), atol=1e-6)


@pytest.fixture(scope="module")
def parrot() -> Parrot:
    return Parrot(TASK.vocabulary, jax.random.key(1))


@pytest.mark.parametrize("length", [2, 5, 6])
def test_the_window_of_the_answer_holds_all_that_counts(parrot: Parrot, length: int) -> None:
    """At every length, the loss in the window is that of the whole sequence."""
    batch = TASK.sample(jax.random.key(2), 3, length, 6)
    given = jax.jit(answer)(parrot, batch)
    assert jax.eval_shape(lambda: answer(parrot, batch, "scan")).steps is None, "its loss can be differentiated again"
    assert given.logits.shape[0] == 7, "as many steps as the longest answer, not as many as the arrays"
    assert int(given.mask.sum()) == 3 * (length + 1)
    check_window(parrot, batch, given)


def test_lengths_that_differ_need_a_larger_window(parrot: Parrot) -> None:
    batch = TASK.sample(jax.random.key(3), 4, jnp.array([2, 6, 3, 5]), 6)
    given = jax.jit(answer)(parrot, batch)
    assert int(given.mask.sum()) == 3 + 7 + 4 + 6
    check_window(parrot, batch, given)


def check_window(parrot: Parrot, batch: Batch, given: Answer) -> None:
    logits = np.asarray(jax.jit(Parrot.__call__)(parrot, batch).logits)
    whole = by_hand(logits, np.asarray(batch.targets), np.asarray(batch.mask))
    assert float(negative_log_likelihood(given)) == pytest.approx(whole, rel=1e-5)
    for problem in range(batch.inputs.shape[1]):
        expected = np.asarray(batch.targets)[np.asarray(batch.mask)[:, problem], problem]
        np.testing.assert_array_equal(np.asarray(given.targets)[np.asarray(given.mask)[:, problem], problem], expected)
