"""Examinations of models whose scores are known beforehand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int, PyTree

from lantm.batch import Batch
from lantm.evaluation import Examiner, Scores
from lantm.machine import Backend, Model, Output, Schedule
from lantm.machine.model import Linear
from lantm.seeds import EVALUATE, TEST, TRAIN, seed_key
from lantm.tasks import Copy, Lengths

TASK = Copy(data_symbols=9, train_lengths=Lengths(2, 6))
LONGEST = 24

traced: list[str] = []
problems: list[np.ndarray] = []


class Crib(Model):
    """A model that has seen the answers: it gives the right ones up to a place, and then a constant."""

    config: None = eqx.field(static=True)
    readout: Linear
    until: Float[Array, ""]
    constant: Float[Array, ""]

    def __init__(self, until: float, constant: int):
        self.config = None
        size = TASK.vocabulary
        self.readout = eqx.tree_at(
            lambda linear: (linear.weight, linear.bias),
            Linear(size, size, jax.random.key(0)),
            (jnp.eye(size), jnp.zeros(size)),
        )
        self.until = jnp.asarray(float(until))
        self.constant = jnp.asarray(float(constant))

    def features(self, batch: Batch, backend: Backend = "auto") -> Float[Array, "time batch vocabulary"]:
        traced.append("once more")
        jax.debug.callback(lambda inputs: problems.append(np.asarray(inputs)), batch.inputs)
        place = jnp.cumsum(batch.mask, axis=0) - 1
        said = jnp.where(place < self.until, batch.targets, self.constant.astype(int))
        return jax.nn.one_hot(said, TASK.vocabulary)

    def begin(self, batch_size: int, slots: int) -> PyTree:
        raise NotImplementedError

    def run(
        self, inputs: Int[Array, "time batch"], schedule: Schedule, carried: PyTree, backend: Backend = "auto"
    ) -> tuple[Array, PyTree]:
        raise NotImplementedError

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        raise NotImplementedError


NEVER = 10**6
SEEDS = jnp.arange(3)
# One that knows everything, one that always says <e>, and one that knows three symbols and then says <s>.
MODELS = jax.tree.map(
    lambda *leaves: jnp.stack(leaves), Crib(NEVER, 0), Crib(0, TASK.end_of_output), Crib(3, TASK.start)
)


@pytest.fixture(scope="module")
def examiner() -> Examiner:
    return Examiner(TASK, LONGEST, seeds=3, batch_size=4)


def scored(examiner: Examiner, lengths: Lengths, batches: int = 5, purpose: int = TEST, counter: int = 1) -> Scores:
    return examiner(MODELS, SEEDS, lengths, batches, purpose, counter)


def test_models_whose_scores_are_known(examiner: Examiner) -> None:
    scores = scored(examiner, Lengths(7, 7))
    assert scores.problems == 20
    np.testing.assert_allclose(scores.coarse, [100, 0, 0])
    np.testing.assert_allclose(scores.fine, [100, 100 / 8, 300 / 8], err_msg="the end symbol counts")
    np.testing.assert_allclose(scores.first_error, [np.nan, 0, 3 / 8])
    assert scores.row()["solved"] == 1


def test_short_answers_are_right_before_the_model_errs(examiner: Examiner) -> None:
    scores = scored(examiner, Lengths(2, 2))
    np.testing.assert_allclose(scores.coarse, [100, 0, 100], err_msg="two symbols and <e>")


def test_one_compilation_serves_many_lengths(examiner: Examiner) -> None:
    scored(examiner, Lengths(2, 6))
    before = len(traced)
    for lengths in (Lengths(2, 6), Lengths(7, 12), Lengths(24, 24), Lengths(3, 3)):
        for counter in (1, 2):
            np.testing.assert_allclose(scored(examiner, lengths, counter=counter).coarse[0], 100)
    scored(examiner, Lengths(5, 5), purpose=EVALUATE)
    assert len(traced) == before


def test_all_lengths_of_a_range_are_drawn(examiner: Examiner) -> None:
    problems.clear()
    scored(examiner, Lengths(2, 4), batches=20)
    jax.effects_barrier()
    lengths = {int((inputs == TASK.end_of_input).argmax(axis=0)[0]) - 1 for inputs in problems}
    assert lengths == {2, 3, 4}


def drawn(examiner: Examiner, purpose: int, counter: int, models: Model = MODELS) -> set[bytes]:
    problems.clear()
    examiner(models, SEEDS, Lengths(20, 20), 5, purpose, counter)
    jax.effects_barrier()
    return {problem.tobytes() for batch in problems for problem in batch.T}


def test_problems_are_never_the_same(examiner: Examiner) -> None:
    tests = [drawn(examiner, purpose, counter) for purpose in (TEST, EVALUATE) for counter in (0, 1, 2)]
    trained = set()
    for seed in range(3):
        for at in range(5):
            batch = TASK.sample(seed_key(seed, TRAIN, 1, at), 4, 20, LONGEST)
            trained |= {np.asarray(problem).tobytes() for problem in batch.inputs.T}
    sets = [*tests, trained]
    assert [len(one) for one in sets] == [3 * 5 * 4] * 7, "every seed has its own"
    assert len(set.union(*sets)) == 7 * 60


def test_problems_depend_on_the_seed_purpose_and_counter_alone(examiner: Examiner) -> None:
    again = Examiner(TASK, 21, seeds=3, batch_size=4)  # another compilation, with room for other lengths
    problems.clear()
    first = scored(examiner, Lengths(2, 6), purpose=EVALUATE)
    second = scored(again, Lengths(2, 6), purpose=EVALUATE)
    np.testing.assert_array_equal(first.fine, second.fine)
    assert (first.fine != scored(examiner, Lengths(2, 6), purpose=TEST).fine).any()
