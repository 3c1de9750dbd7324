"""Examinations of models whose scores are known beforehand."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Float, Int, PyTree

from lantm.batch import Batch
from lantm.evaluation import Draw, Hard, ProblemExaminer, Scores, choosing, random_and_hard, reporting
from lantm.machine import Backend, Model, Noise, Output, Schedule
from lantm.machine.model import Linear
from lantm.randomness import EVALUATE, TEST, TRAIN, seed_key
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

    def features(
        self, batch: Batch, backend: Backend = "auto", noise: Noise | None = None
    ) -> Float[Array, "time batch vocabulary"]:
        traced.append("once more")
        jax.debug.callback(lambda inputs: problems.append(np.asarray(inputs)), batch.inputs)
        place = jnp.cumsum(batch.mask, axis=0) - 1
        said = jnp.where(place < self.until, batch.targets, self.constant.astype(int))
        return jax.nn.one_hot(said, TASK.vocabulary)

    @property
    def learns_start(self) -> bool:
        return True

    def begin(self, batch_size: int, slots: int) -> PyTree:
        raise NotImplementedError

    def run(
        self,
        inputs: Int[Array, "time batch"],
        schedule: Schedule,
        carried: PyTree,
        backend: Backend = "auto",
        noise: Noise | None = None,
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


LENGTHS = {
    str(lengths): lengths
    for lengths in (
        *(Lengths(length, length) for length in (2, 3, 5, 7, 20, LONGEST)),
        *(Lengths(2, 4), Lengths(2, 6), Lengths(7, 12)),
    )
}


@pytest.fixture(scope="module")
def examiner() -> ProblemExaminer:
    return ProblemExaminer(TASK, LENGTHS, seeds=3, batch_size=4)


def scored(
    examiner: ProblemExaminer, lengths: Lengths, problems: int = 20, purpose: int = TEST, counter: int = 1
) -> Scores:
    found = examiner(MODELS, SEEDS, Draw(problems, purpose, counter))[str(lengths)]
    assert isinstance(found, Scores)
    assert found.lengths == lengths
    return found


def test_models_whose_scores_are_known(examiner: ProblemExaminer) -> None:
    scores = scored(examiner, Lengths(7, 7))
    assert scores.problems == 20
    np.testing.assert_allclose(scores.coarse, [100, 0, 0])
    np.testing.assert_allclose(scores.fine, [100, 100 / 8, 300 / 8], err_msg="the end symbol counts")
    np.testing.assert_allclose(scores.first_error, [np.nan, 0, 3 / 8])
    assert scores.solved.tolist() == [True, False, False]


def test_problems_are_rounded_up_to_whole_batches(examiner: ProblemExaminer) -> None:
    assert [scored(examiner, Lengths(7, 7), problems).problems for problems in (1, 4, 5, 8)] == [4, 4, 8, 8]


def test_short_answers_are_right_before_the_model_errs(examiner: ProblemExaminer) -> None:
    scores = scored(examiner, Lengths(2, 2))
    np.testing.assert_allclose(scores.coarse, [100, 0, 100], err_msg="two symbols and <e>")


def test_one_compilation_serves_many_lengths(examiner: ProblemExaminer) -> None:
    scored(examiner, Lengths(2, 6))
    before = len(traced)
    for counter in (1, 2):
        found = examiner(MODELS, SEEDS, Draw(20, TEST, counter))
        assert found.keys() == LENGTHS.keys()
        for scores in found.values():
            np.testing.assert_allclose(scores.coarse[0], 100)
    scored(examiner, Lengths(5, 5), purpose=EVALUATE)
    assert len(traced) == before


def test_all_lengths_of_a_range_are_drawn() -> None:
    examiner = ProblemExaminer(TASK, {"1x": Lengths(2, 4)}, seeds=3, batch_size=4)
    problems.clear()
    examiner(MODELS, SEEDS, Draw(80, TEST, 1))
    jax.effects_barrier()
    lengths = {int((inputs == TASK.end_of_input).argmax(axis=0)[0]) - 1 for inputs in problems}
    assert lengths == {2, 3, 4}


@pytest.fixture(scope="module")
def long() -> ProblemExaminer:
    """Problems of a length at which no two are alike by chance."""
    return ProblemExaminer(TASK, {"long": Lengths(20, 20)}, seeds=3, batch_size=4)


def drawn(examiner: ProblemExaminer, draw: Draw) -> set[bytes]:
    problems.clear()
    examiner(MODELS, SEEDS, draw)
    jax.effects_barrier()
    return {problem.tobytes() for batch in problems for problem in batch.T}


def test_problems_are_never_the_same(long: ProblemExaminer) -> None:
    tests = [drawn(long, Draw(20, purpose, counter)) for purpose in (TEST, EVALUATE) for counter in (0, 1, 2)]
    trained = set()
    for seed in range(3):
        for at in range(5):
            batch = TASK.sample(seed_key(seed, TRAIN, 1, at), 4, 20, 20)
            trained |= {np.asarray(problem).tobytes() for problem in batch.inputs.T}
    sets = [*tests, trained]
    assert [len(one) for one in sets] == [3 * 5 * 4] * 7, "every seed has its own"
    assert len(set.union(*sets)) == 7 * 60


def test_what_is_chosen_by_is_not_what_is_reported(long: ProblemExaminer) -> None:
    """Nor what the tests of epochs choose weights by; and `lantm eval --draw` has others again."""
    draws = [choosing(20), reporting(20), reporting(20, 2), *(Draw(20, TEST, epoch) for epoch in (1, 2))]
    assert len(set.union(*(drawn(long, draw) for draw in draws))) == 5 * 60
    assert drawn(long, reporting(20)) == drawn(long, reporting(20, draw=1)), "the same again when asked again"


class OnlyHard(Crib):
    """One that knows the answer wherever all symbols are equal, and no other."""

    def features(
        self, batch: Batch, backend: Backend = "auto", noise: Noise | None = None
    ) -> Float[Array, "time batch vocabulary"]:
        traced.append("once more")
        at = jnp.arange(len(batch.inputs))[:, None]
        reading = (at >= 1) & (at < batch.writes)
        known = jnp.all((batch.inputs == batch.inputs[1]) | ~reading, axis=0)
        return jax.nn.one_hot(jnp.where(known, batch.targets, TASK.start), TASK.vocabulary)


def test_hard_problems_are_scored_kind_by_kind() -> None:
    tests = random_and_hard({"1x": Lengths(5, 6)}, {"1x": Lengths(5, 6)})
    models = jax.tree.map(lambda leaf: jnp.stack([leaf] * 3), OnlyHard(0, 0))
    before = len(traced)
    examiner = ProblemExaminer(TASK, tests, seeds=3, batch_size=4)
    found = examiner(models, SEEDS, reporting(400))
    assert list(found) == ["1x", "1x hard"]
    random, hard = found["1x"], found["1x hard"]
    assert isinstance(random, Scores)
    assert isinstance(hard, Scores)
    assert (random.lengths, hard.lengths, hard.problems) == (Lengths(5, 6), Lengths(5, 6), 400)
    assert random.kinds == {}
    assert random.coarse.max() < 2
    assert tuple(hard.kinds) == TASK.hard_kinds
    for kind in ("one symbol", "alternating", "consecutive"):
        np.testing.assert_allclose(hard.kinds[kind], 100 if kind == "one symbol" else 0, err_msg=kind)
    assert len(traced) == before + 1, "one program for both"


@pytest.mark.thorough
def test_random_problems_are_the_same_beside_hard_ones() -> None:
    lengths = {"1x": Lengths(2, 6)}
    alone, beside = (
        ProblemExaminer(TASK, tests, seeds=3, batch_size=4)(MODELS, SEEDS, reporting(40))["1x"]
        for tests in (lengths, random_and_hard(lengths, {"1x": Lengths(2, 6), "2x": Lengths(7, 12)}))
    )
    np.testing.assert_array_equal(alone.fine, beside.fine)  # type: ignore[attr-defined]


def test_labels_of_tests_side_by_side() -> None:
    one, two, four = Lengths(2, 6), Lengths(7, 12), Lengths(24, 24)
    tests = random_and_hard({"1x": one, "2x": two}, {"2x": two, "4x": four})
    assert list(tests.items()) == [("1x", one), ("2x", two), ("2x hard", Hard(two)), ("4x hard", Hard(four))]


def test_problems_depend_on_the_seed_purpose_and_counter_alone(examiner: ProblemExaminer) -> None:
    again = ProblemExaminer(TASK, {str(Lengths(2, 6)): Lengths(2, 6)}, seeds=3, batch_size=4)  # with less room
    first = scored(examiner, Lengths(2, 6), purpose=EVALUATE)
    second = scored(again, Lengths(2, 6), purpose=EVALUATE)
    np.testing.assert_array_equal(first.fine, second.fine)
    assert (first.fine != scored(examiner, Lengths(2, 6), purpose=TEST).fine).any()
