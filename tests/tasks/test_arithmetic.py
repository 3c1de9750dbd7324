"""Double and addition against Python's own integers."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.tasks import Addition, Double, NumberTask
from lantm.tasks.arithmetic import add_digits, plain_sum


def number(digits: np.ndarray) -> int:
    """The number with these digits, least significant first."""
    return int("".join(map(str, digits[::-1])))


def symbols(text: str) -> jax.Array:
    return jnp.array([[int(digit) for digit in text]])


@pytest.mark.parametrize(
    ("task", "length", "given_digits", "answer"),
    [(Double(), 3, "928", "8561"), (Addition(), 3, "439204", "7150")],
)
def test_examples_of_the_paper(task: NumberTask, length: int, given_digits: str, answer: str) -> None:
    batch = task.layout(symbols(given_digits), length)
    names = [task.symbol_name(int(symbol)) for symbol in batch.inputs[:, 0]]
    assert names == ["<s>", *given_digits, *["</s>"] * 5]
    targets = [task.symbol_name(int(symbol)) for symbol in batch.targets[:, 0]]
    assert targets == ["<e>"] * (1 + len(given_digits)) + [*answer, "<e>"]
    np.testing.assert_array_equal(batch.mask[:, 0], [False] * (1 + len(given_digits)) + [True] * 5)
    assert batch.steps == 6 + len(given_digits)
    np.testing.assert_array_equal(batch.writes, [1 + len(given_digits)])


@pytest.mark.parametrize("text", ["423 + 94", "423+094", "  423 +94 "])
def test_addition_as_the_paper_writes_it(text: str) -> None:
    assert Addition().read(text) == [4, 3, 9, 2, 0, 4]
    assert Addition().expected(text) == "517"


def test_leading_zeros_count_as_digits() -> None:
    assert Double().read("007") == [7, 0, 0]
    assert Addition().read("1 + 000") == [0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("length", [1, 2, 17, 1000])
def test_random_problems_against_python(length: int) -> None:
    key = jax.random.key(length)
    double, addition = (jax.device_get(task.sample(key, 64, length, 1000)) for task in (Double(), Addition()))
    for row in range(64):
        given_digits, answer = double.inputs[:, row], double.targets[:, row]
        x = number(given_digits[1 : 1 + length])
        assert number(answer[1 + length : 2 + 2 * length]) == 2 * x
        assert answer[2 + 2 * length] == Double().end_of_output

        given_digits, answer = addition.inputs[:, row], addition.targets[:, row]
        x, y = number(given_digits[1 : 1 + 2 * length : 2]), number(given_digits[2 : 2 + 2 * length : 2])
        assert number(answer[1 + 2 * length : 2 + 3 * length]) == x + y
        assert answer[2 + 3 * length] == Addition().end_of_output


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from([(9, 0), (4, 5), (5, 5), (9, 9), (0, 0), (0, 1)]), min_size=24, max_size=24))
def test_carries_travel_any_distance(pairs: list[tuple[int, int]]) -> None:
    x, y = np.array(pairs).T
    assert number(np.asarray(jax.jit(add_digits)(x, y))) == number(x) + number(y)


@given(st.text("0123456789", min_size=1, max_size=50), st.text("0123456789", min_size=1, max_size=50))
def test_plain_sums_are_exact(x: str, y: str) -> None:
    assert plain_sum(x, y) == str(int(x) + int(y))


def test_numbers_longer_than_python_reads() -> None:
    task = Addition()
    text = "9" * 6000 + " + 1"
    answer = jax.device_get(task.encode(text)).targets[12001:, 0]
    assert task.decode_answer(answer) == task.expected(text) == "1" + "0" * 6000


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        ([8, 5, 6, 1, 12, 3], "1658"),
        ([7, 1, 5, 0, 12], "517"),
        ([0, 0, 0, 12], "0"),
        ([12], ""),
        ([8, 10, 6, 13, 11], "</s>⟨13⟩6<s>8"),
    ],
)
def test_answers_are_shown_most_significant_digit_first(answer: list[int], shown: str) -> None:
    assert Double().decode_answer(answer) == shown


def test_the_unused_symbol_can_be_left_out() -> None:
    assert Double(unused_symbols=0).vocabulary == Addition(unused_symbols=0).vocabulary == 13
