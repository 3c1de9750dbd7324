"""Exact match at a length: counts, kinds, the first mistake, and how much is run at once."""

import importlib
from collections.abc import Iterator

import hand_made
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.evaluation import Part, Tally, Verification, mark, predict, verify
from lantm.evaluation.exact_match import RANDOM, _AtOnce, batch_size
from lantm.machine import LantmConfig, Model
from lantm.randomness import VERIFY, seed_key
from lantm.tasks import Task, make_task

TASK = hand_made.TASK
BOTH = {"random": (RANDOM,), "hard": TASK.hard_kinds}
EXACT_MATCH = importlib.import_module("lantm.evaluation.exact_match")
LENGTH = 30


def random_inputs(problems: int, draw: int = 1) -> Iterator[list[int]]:
    """The symbols of the random problems, drawn one by one."""
    for number in range(problems):
        batch = TASK.sample(seed_key(draw, VERIFY, 0, number), 1, LENGTH, LENGTH)
        yield np.asarray(batch.inputs)[1 : 1 + LENGTH, 0].tolist()


@pytest.fixture(scope="module")
def exact() -> Verification:
    """Of a machine that makes no mistakes."""
    return verify(hand_made.exact(), TASK, LENGTH, 40, BOTH)


def test_a_machine_without_mistakes(exact: Verification) -> None:
    assert exact.right
    assert exact.complete
    assert exact.first_mistake is None
    assert exact.random is not None
    assert exact.hard is not None
    assert exact.random.kinds == {RANDOM: Tally(40, 40)}
    assert (exact.hard.total, exact.total) == (Tally(40, 40), Tally(80, 80))
    for part in (exact.random, exact.hard):
        assert part.steps == 40 * (1 + LENGTH + LENGTH + 1)
        assert part.steps_per_second == part.steps / part.seconds > 0


def test_the_kinds_take_turns(exact: Verification) -> None:
    assert exact.hard is not None
    counts = [tally.problems for tally in exact.hard.kinds.values()]
    assert list(exact.hard.kinds) == list(TASK.hard_kinds)
    assert max(counts) - min(counts) <= 1
    assert counts == sorted(counts, reverse=True), "those that come first have the one more"


def test_mistakes_are_counted_and_the_first_is_kept() -> None:
    """The machine is wrong on the problems that have one of two symbols, and nowhere else."""
    found = verify(hand_made.confusing("a", "b"), TASK, LENGTH, 12, {"random": (RANDOM,)}, draw=3)
    pair = {TASK.alphabet.index("a"), TASK.alphabet.index("b")}
    problems = list(random_inputs(12, draw=3))
    wrong = [number for number, inputs in enumerate(problems) if pair & set(inputs)]
    assert 0 < len(wrong) < 12, "otherwise nothing is tested"
    assert found.total == Tally(12 - len(wrong), 12)
    assert (found.right, found.complete, found.hard) == (False, True, None)
    mistake = found.first_mistake
    assert mistake is not None
    first = problems[wrong[0]]
    position = next(at for at, symbol in enumerate(first) if symbol in pair)
    assert (mistake.kind, mistake.number, mistake.position) == (RANDOM, wrong[0], position)
    assert mistake.inputs == first
    assert repr(mistake) == f"Mistake(kind='{RANDOM}', number={wrong[0]})", "a problem may have thousands of symbols"
    assert mistake.targets == [*first, TASK.end_of_output]
    assert {mistake.symbols[position], mistake.targets[position]} == pair
    assert not mistake.only_the_end
    alone = predict(hand_made.confusing("a", "b"), mistake.problem)
    assert np.asarray(alone.predicted)[np.asarray(alone.mask)].tolist() == mistake.symbols


@pytest.mark.thorough
def test_an_answer_that_does_not_end() -> None:
    mistake = verify(hand_made.endless(), TASK, LENGTH, 1, {"hard": TASK.hard_kinds}).first_mistake
    assert mistake is not None
    assert mistake.only_the_end
    assert mistake.position == LENGTH
    assert mistake.kind == TASK.hard_kinds[0]


def test_problems_do_not_depend_on_how_many_are_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(problems: int) -> Verification:
        return verify(hand_made.confusing("a", "b"), TASK, LENGTH, problems, {"random": (RANDOM,)})

    many = found(20)
    monkeypatch.setattr(EXACT_MATCH, "_CPU", _AtOnce(steps=1, most=1))
    one_by_one = found(20)
    assert {name: part.kinds for name, part in one_by_one.parts.items()} == {
        name: part.kinds for name, part in many.parts.items()
    }
    assert many.first_mistake is not None
    assert one_by_one.first_mistake is not None
    few = found(many.first_mistake.number + 1).first_mistake
    assert few is not None
    for other in (one_by_one.first_mistake, few):
        for name in ("kind", "number", "inputs", "symbols"):
            assert getattr(other, name) == getattr(many.first_mistake, name)


@pytest.mark.thorough
def test_another_draw_gives_other_problems() -> None:
    inputs = {
        tuple(found.first_mistake.inputs)
        for draw in (1, 2)
        if (found := verify(hand_made.endless(), TASK, LENGTH, 1, {"random": (RANDOM,)}, draw)).first_mistake
    }
    assert inputs == {tuple(next(random_inputs(1, draw))) for draw in (1, 2)}
    assert len(inputs) == 2


@pytest.mark.thorough
def test_an_interruption_leaves_what_was_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EXACT_MATCH, "_CPU", _AtOnce(steps=4 * TASK.steps(LENGTH), most=4))
    told: list[tuple[str, Part]] = []

    def interrupt(name: str, part: Part) -> None:
        told.append((name, part))
        if len(told) == 2:
            raise KeyboardInterrupt

    found = verify(hand_made.exact(), TASK, LENGTH, 12, BOTH, watch=interrupt)
    assert not found.complete
    assert found.right, "as far as it went"
    assert [(name, part.total) for name, part in told] == [("random", Tally(4, 4)), ("random", Tally(8, 8))]
    assert found.total == Tally(8, 8)
    assert found.hard is not None
    assert found.hard.total == Tally(0, 0)


@pytest.mark.parametrize(("right", "problems"), [(10, 10), (100, 100), (97, 100), (0, 5), (3199, 3200)])
def test_the_error_rate_is_wilsons(right: int, problems: int) -> None:
    """A rate p is in the interval if the counted one is within 1.96 deviations sqrt(p (1 - p) / n) of it."""
    low, high = Tally(right, problems).error_rate
    rate = 1 - right / problems
    for p in np.linspace(0, 1, 20_001):
        inside = (rate - p) ** 2 <= 1.96**2 * p * (1 - p) / problems + 1e-15
        assert inside == (low <= p <= high) or min(abs(p - low), abs(p - high)) < 1e-9


def test_how_much_is_run_at_once() -> None:
    for steps in (*range(1, 20_000, 7), 200_002, 300_002, 3_000_002):
        size = batch_size(steps)
        assert size == 1 or size * steps <= 8192
        assert 1 <= size <= 32
        assert size == 32 or (size + 1) * steps > 8192, "as many as fit"


def test_a_sum_of_a_hundred_thousand_digits_takes_little_memory() -> None:
    """Which is run alone: ten of them on ten cores are well below 2 GB."""
    task = make_task("addition")
    assert batch_size(task.steps(100_000)) == 1
    assert temporary_bytes(LantmConfig(), task, 100_000) < 100e6


def temporary_bytes(machine: LantmConfig, task: Task, length: int) -> int:
    model: Model = jax.eval_shape(lambda: machine.build(task.vocabulary, jax.random.key(0)))
    batch = jax.eval_shape(lambda: task.sample(jax.random.key(0), 1, length, length))
    program = jax.jit(lambda model, batch: mark(*predict(model, batch))).lower(model, batch).compile()
    return int(program.memory_analysis().temp_size_in_bytes)


def test_a_kind_by_its_index() -> None:
    for index, kind in [*enumerate(TASK.hard_kinds)][::4]:
        by_name, by_index = (TASK.sample_hard(jax.random.key(0), 3, 7, 7, one) for one in (kind, jnp.int32(index)))
        assert jnp.array_equal(by_name.inputs, by_index.inputs)
