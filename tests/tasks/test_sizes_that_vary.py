"""Tasks whose problems of a length differ in size: answers that depend on the content, and inputs too."""

import sys
from pathlib import Path
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.errors import LantmError
from lantm.tasks import NOTHING, Batch, Count, Lengths, SequenceTask, Task, keep, make_task

ROOT = Path(__file__).parents[2]
LONGEST = 8


class Echo(SequenceTask):
    """A text of 1 to `length` symbols between blanks, once or twice: `  ab` gives `ab`, ` ab` gives `abab`."""

    name: ClassVar[str] = "echo"
    sizes_vary: ClassVar[bool] = True
    data_symbols: ClassVar[int] = 95
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 4))

    def input_size(self, length: Count) -> Count:
        return 2 + length

    def output_size(self, length: Count) -> Count:
        return 2 * (length + 1)

    def draw(self, key: jax.Array, length: jax.Array, room: int) -> jax.Array:
        key, size_key, blanks_key = jax.random.split(key, 3)
        blanks = jax.random.randint(blanks_key, (), 1, 3)
        size = jax.random.randint(size_key, (), 1, length + 1)
        at = jnp.arange(room) - blanks
        text = jnp.where(at < 0, 0, jax.random.randint(key, (room,), 1, self.data_symbols))
        return jnp.where(at < size, text, NOTHING)

    def output(self, symbols: jax.Array, length: jax.Array) -> jax.Array:
        blanks = jnp.sum(symbols == 0)
        size = jnp.sum(symbols != NOTHING) - blanks
        at = jnp.arange(2 * symbols.size)
        return jnp.where(at < (3 - blanks) * size, symbols[blanks + at % size], NOTHING)

    def expected(self, text: str) -> str:
        word = text.lstrip(" ")
        return word * (3 - (len(text) - len(word)))


@pytest.fixture(scope="module")
def letters() -> Task:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        patch.setattr(sys, "path", sys.path[:])
        return make_task("examples.letters:Letters")


def problem(task: Task, batch: Batch, row: int) -> tuple[str, str]:
    """A problem and its answer as text, found without the task's own arithmetic."""
    inputs = batch.inputs[1 : int(batch.writes[row]), row]
    answer = batch.targets[batch.mask[:, row], row].tolist()
    assert answer.pop() == task.end_of_output
    return tuple("".join(task.symbol_name(int(symbol)) for symbol in symbols) for symbols in (inputs, answer))


def test_random_problems_are_those_of_plain_python(letters: Task) -> None:
    for task in (letters, Echo()):
        for length in (1, 5, LONGEST):
            batch = jax.device_get(task.sample(jax.random.key(length), 32, length, LONGEST))
            found = [problem(task, batch, row) for row in range(32)]
            assert [answer for _, answer in found] == [task.expected(text) for text, _ in found]
            assert len({len(answer) for _, answer in found}) > 1
            assert batch.inputs.min() >= 0, "what is not there is never read"
            assert batch.inputs[:, 0].tolist().count(task.start) == 1
            # Seeds, whose problems differ, run for the same number of steps.
            assert batch.steps == task.steps(length)
            assert batch.turn == 1 + task.input_size(length) >= batch.writes.max()
    assert len(set(batch.writes.tolist())) > 5, "inputs differ in size as well"


def test_a_problem_depends_neither_on_capacity_nor_on_batch_size() -> None:
    task = Echo()
    sample = jax.jit(task.sample, static_argnums=(1, 2, 3))
    small, large = (jax.device_get(sample(jax.random.key(0), *sizes)) for sizes in ((3, 4, 4), (5, 4, LONGEST)))
    assert [problem(task, small, row) for row in range(3)] == [problem(task, large, row) for row in range(3)]


@settings(max_examples=20, deadline=None)
@given(st.text("ab1 -", min_size=1, max_size=6))
def test_problems_of_people_have_their_exact_size(letters: Task, text: str) -> None:
    batch = jax.device_get(letters.encode(text))
    assert problem(letters, batch, 0) == (text, "".join(filter(str.isalpha, text)))
    assert batch.inputs.shape == (int(batch.steps), 1)
    assert int(batch.steps) == 1 + len(text) + sum(map(str.isalpha, text)) + 1


def test_inputs_that_are_shorter_than_their_length_has_room_for() -> None:
    for text in ("  a", " abc", "  abcdef"):
        batch = jax.device_get(Echo().encode(text))
        assert problem(Echo(), batch, 0) == (text, Echo().expected(text))
        assert batch.writes[0] == batch.write_capacity == 1 + len(text)


def test_an_answer_that_does_not_fit_is_refused() -> None:
    class Narrow(Echo):
        def output_size(self, length: Count) -> Count:
            return length

    with pytest.raises(LantmError, match="echo has two answers to ' abc', 'ab' by output and 'abcabc' by expected"):
        Narrow().encode(" abc")


@given(st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=6))
@settings(max_examples=20, deadline=None)
def test_keep(pairs: list[tuple[int, bool]]) -> None:
    symbols, chosen = map(np.array, zip(*pairs, strict=True))
    kept = [symbol for symbol, keeps in pairs if keeps]
    assert keep(jnp.asarray(symbols), jnp.asarray(chosen)).tolist() == kept + [NOTHING] * (len(pairs) - len(kept))
