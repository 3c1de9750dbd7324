"""Programs as batches: what is drawn is Python, its answer is Python's, and each answer follows its own program."""

import collections
import contextlib
import dataclasses
import io
import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.evaluation import answer
from lantm.machine import LantmConfig
from lantm.tasks import Batch, Lengths, Programs, make_task
from lantm.tasks.grammar import KINDS, TEMPLATES, understand

KEY = jax.random.key(2016)
TASK = Programs()


def sample(task: Programs, batch_size: int, length: int | jax.Array, longest: int, key: jax.Array = KEY) -> Batch:
    return jax.device_get(task.sample(key, batch_size, length, longest))


def problem(batch: Batch, row: int) -> tuple[str, str]:
    """A program and its answer as the machine is to say it."""
    text, said = batch.inputs[1 : batch.writes[row], row], batch.targets[batch.mask[:, row], row]
    return "".join(map(TASK.symbol_name, text.tolist())), "".join(map(TASK.symbol_name, said.tolist()))


def problems(batch: Batch) -> list[tuple[str, str]]:
    return [problem(batch, row) for row in range(batch.inputs.shape[1])]


@pytest.mark.parametrize("digits", [1, pytest.param(4, marks=pytest.mark.thorough), 7])
def test_what_is_drawn_is_python_and_so_are_its_answers(digits: int) -> None:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        batch = sample(TASK, 2400, digits, 7)
        drawn = problems(batch)[:200]
        for text, _ in drawn:
            exec(compile(text.replace(";", "\n"), "program", "exec"), {})
    for (text, answered), printed in zip(drawn, said.getvalue().splitlines(), strict=True):
        assert answered == printed[::-1] + ".", text
        assert str(understand(text).answer) == printed
    assert {understand(text).template.kind for text, _ in drawn} == set(KINDS)


@pytest.mark.parametrize("digits", [pytest.param(2, marks=pytest.mark.thorough), 4])
def test_numbers_are_those_of_the_difficulty(digits: int) -> None:
    drawn = [understand(text) for text, _ in problems(sample(TASK, 2400, digits, 7))]
    # Which factor is the small one cannot be told where both are.
    clear = [one for one in drawn if one.template.kind != "multiplication"]
    operands = np.array([int(text) for one in clear for name, text in one.filling.items() if name in "abcd"])
    assert operands.min() >= 1
    assert operands.max() < 10**digits
    shares = np.histogram(operands, bins=10, range=(0, 10**digits))[0] / operands.size
    np.testing.assert_allclose(shares, 0.1, atol=0.015)
    small = collections.Counter(int(one.filling["n"]) for one in clear if "n" in one.filling)
    assert set(small) == set(range(1, 4 * digits + 1))
    assert {one.filling["v"] for one in drawn if "v" in one.filling} == set("abcdefghij")
    kinds = collections.Counter(one.template.kind for one in drawn)
    forms = collections.Counter(one.template.text for one in drawn)
    for kind in KINDS:
        assert abs(kinds[kind] - 400) < 90
        if kind == "multiplication" and digits < 4:
            continue
        of_kind = [template.text for template in TEMPLATES if template.kind == kind]
        for text in of_kind:
            assert abs(forms[text] - kinds[kind] / len(of_kind)) < 70


def test_the_answer_begins_right_after_each_program() -> None:
    batch = sample(TASK, 2400, 4, 7)
    assert len({int(writes) for writes in batch.writes}) > 5, "programs differ in size"
    for row, writes in enumerate(batch.writes[:64]):
        answering = batch.mask[:, row].nonzero()[0]
        np.testing.assert_array_equal(answering, np.arange(writes, writes + len(answering)))
        assert batch.inputs[0, row] == TASK.start
        np.testing.assert_array_equal(batch.inputs[writes:, row], TASK.end_of_input)
        assert np.all(batch.inputs[1:writes, row] < TASK.data_symbols)
        assert batch.targets[answering[-1], row] == TASK.end_of_output
        np.testing.assert_array_equal(batch.targets[~batch.mask[:, row], row], TASK.end_of_output)


@pytest.mark.parametrize(
    "task",
    [TASK, *(pytest.param(Programs(kinds=kinds), marks=pytest.mark.thorough) for kinds in ("identity", "if+loop"))],
    ids=lambda task: task.kinds,
)
def test_how_long_to_run_depends_on_the_length_alone(task: Programs) -> None:
    """Seeds run in step: no loop may end where one seed's programs happen to."""
    for length in (2, 3):
        batches = [sample(task, 8, length, 4, jax.random.key(seed)) for seed in range(3)]
        assert {int(batch.steps) for batch in batches} == {task.steps(length)}
        assert {int(batch.turn) for batch in batches} == {task.writes(length)}
        for batch in batches:
            assert batch.writes.max() <= batch.turn <= batch.write_capacity == task.writes(4)
            assert batch.mask.nonzero()[0].max() < batch.steps
            assert batch.inputs.shape[0] == batch.answer_capacity == task.capacity(4)
    mixed = sample(task, 4, jnp.array([2, 3, 2, 2]), 4)
    assert (mixed.steps, mixed.turn) == (task.steps(3), task.writes(3))


def test_the_longest_program_fits_exactly() -> None:
    longest = max(sample(TASK, 2400, 4, 7).writes)
    assert longest == TASK.writes(4) == 1 + len("b=1398;for x in range(10):b-=6843;print(b)")
    assert TASK.steps(4) == longest + len("-159983.")


def test_a_problem_depends_neither_on_capacity_nor_on_batch_size() -> None:
    lengths = jnp.array([2, 4, 3, 4])
    mixed = problems(sample(TASK, 4, lengths, 4))
    assert problems(sample(TASK, 4, lengths, 7)) == mixed
    assert problems(sample(TASK, 6, 4, 4))[1] == mixed[1]
    assert len(set(mixed)) == 4
    assert problems(sample(TASK, 4, lengths, 4, jax.random.key(1))) != mixed


@pytest.mark.thorough
def test_machines_answer_in_a_batch_as_alone() -> None:
    """Mixed sizes: a program's answer is the same beside longer ones and alone, with `turn` given or found."""
    batch = TASK.sample(KEY, 5, 3, 4)
    machine = LantmConfig(cells=6, embedding=4, memory_width=5).build(TASK.vocabulary, KEY)
    run = jax.jit(answer)
    together = run(machine, batch)
    found = run(machine, dataclasses.replace(batch, turn=None))
    for row in range(5):
        mask = np.asarray(batch.mask[:, row])
        alone = Batch(
            *(rows[:, row : row + 1] for rows in (batch.inputs, batch.targets, batch.mask)),
            steps=batch.writes[row] + mask.sum(),
            writes=batch.writes[row : row + 1],
            write_capacity=batch.write_capacity,
            answer_capacity=batch.answer_capacity,
        )
        expected = run(machine, alone).logits[mask, 0]
        np.testing.assert_allclose(together.logits[mask, row], expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(found.logits[mask, row], expected, rtol=1e-4, atol=1e-5)


def test_people_s_programs() -> None:
    batch = jax.device_get(TASK.encode("b = 1398\nfor x in range(10): b -= 6843\nprint(b)"))
    text, said = problem(batch, 0)
    assert (text, said) == ("b=1398;for x in range(10):b-=6843;print(b)", "23076-.")
    assert batch.inputs.shape == (1 + len(text) + len(said), 1)
    assert TASK.decode_answer(batch.targets[batch.mask]) == TASK.expected(text) == "-67032"
    with pytest.raises(LantmError, match=re.escape("cannot have '/' after 'print((8'")):
        TASK.encode("print(8/2)")


def test_small_loops_alone() -> None:
    task = make_task("programs[kinds=loop]")
    texts = [text for text, _ in problems(sample(task, 400, 4, 4))]
    assert {understand(text).template.kind for text in texts} == {"loop"}
    assert "23076-"[::-1] == task.expected("b=1398;for x in range(10):b-=6843;print(b)")
    with pytest.raises(LantmError, match="the kinds are loop"):
        task.encode("print(5)")
    both = make_task("programs[kinds=identity+addition]")
    kinds = collections.Counter(understand(text).template.kind for text, _ in problems(sample(both, 400, 4, 4)))
    assert set(kinds) == {"identity", "addition"}
    assert abs(kinds["identity"] - 200) < 60


def test_the_vocabulary_is_the_papers() -> None:
    assert TASK.vocabulary == 42
    assert [TASK.symbol_name(symbol) for symbol in (TASK.start, TASK.end_of_input, TASK.end_of_output)] == [
        "<s>",
        "</s>",
        ".",
    ]
    assert len({TASK.symbol_name(symbol) for symbol in range(42)}) == 42


def test_lengths() -> None:
    assert TASK.train_lengths == Lengths(2, 4)
    assert TASK.lengths_at(1) == Lengths(4, 4)
    assert TASK.with_lengths(Lengths(1, 3)).lengths_at(1) == Lengths(3, 3)
    with pytest.raises(LantmError, match="no programs at scale 2: use 1"):
        TASK.lengths_at(2)
    with pytest.raises(LantmError, match="no problems of length 8: use up to 7"):
        TASK.check_length(8)
    with pytest.raises(LantmError, match="no problems of length 0"):
        TASK.check_length(0)
    with pytest.raises(LantmError, match="no problems of length 9: use up to 7"):
        Programs(train_lengths=Lengths(2, 9))
    with pytest.raises(LantmError, match="no programs of the kind 'loops': known are identity"):
        make_task("programs[kinds=loops]")
