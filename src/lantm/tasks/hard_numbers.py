"""Hard problems for arithmetic: structured operands that random sampling hardly ever produces, such as long carries.

Digits are least significant first. `length` digits of the array of size `room` are used; as in `Task.sample`, a problem
does not depend on the room.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

from lantm.tasks.patterns import few_symbols, one_symbol, run_numbers

Number = Int[Array, " room"]
Pair = Callable[[PRNGKeyArray, Int[Array, ""], int], tuple[Number, Number]]

# Single numbers.


def constant(key: PRNGKeyArray, length: Int[Array, ""], room: int, digit: int) -> Int[Array, " {room}"]:
    """`9 9 9 9`."""
    return jnp.full((room,), digit, "int32")


def fours_above_a_carry(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
    """`7 4 4 4`: twice 4447 is 8894, where only the lowest digit carries."""
    return constant(key, length, room, 4).at[0].set(jax.random.randint(key, (), 5, 10, dtype="int32"))


def fours_and_fives(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
    """`5 4 4 5`: the largest digit whose double does not carry, and the smallest whose double does."""
    return jax.random.randint(key, (room,), 4, 6, dtype="int32")


def leading_zeros(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
    """`8 2 0 0`: a number with at most half as many digits, and at least one."""
    key, size_key = jax.random.split(key)
    size = jax.random.randint(size_key, (), 1, jnp.maximum(length // 2, 1) + 1)
    return jnp.where(jnp.arange(room) < size, _random(key, room), 0)


def trailing_zeros(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
    """`0 0 3 7`: at least the lower half of the digits are zeros."""
    key, zeros_key = jax.random.split(key)
    fewest = (length + 1) // 2
    zeros = jax.random.randint(zeros_key, (), fewest, jnp.maximum(length, fewest + 1))
    return jnp.where(jnp.arange(room) < zeros, 0, _random(key, room))


NUMBERS: dict[str, Callable[[PRNGKeyArray, Int[Array, ""], int], Number]] = {
    "nines": functools.partial(constant, digit=9),
    "fives": functools.partial(constant, digit=5),
    "zeros": functools.partial(constant, digit=0),
    "fours above a carry": fours_above_a_carry,
    "fours and fives": fours_and_fives,
    "leading zeros": leading_zeros,
    "trailing zeros": trailing_zeros,
}
"""Single numbers by kind of hard problem."""

# Pairs to add. A position whose digits sum to 9 propagates a carry, one with 10 or more generates a carry, and one with
# less absorbs it. Random digits propagate a carry in one position of ten.


def carry_chain(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """4713 + 5287: one position generates a carry and all above propagate it; usually (3 in 4) it is the lowest one."""
    key, lowest_key, place_key, sum_key = jax.random.split(key, 4)
    place = jax.random.randint(place_key, (), 0, length)
    place = jnp.where(jax.random.bernoulli(lowest_key, 0.75), 0, place)
    makes = jax.random.randint(sum_key, (), 10, 19, dtype="int32")
    return _summing_to(key, jnp.where(jnp.arange(room) == place, makes, 9))


def sums_of_nine(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """4713 + 5286: every position would propagate a carry, but there is none."""
    return _summing_to(key, jnp.full((room,), 9, "int32"))


def runs_of_carries(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """Runs of positions that generate, propagate or absorb a carry."""
    key, run_key, kind_key, low_key, high_key = jax.random.split(key, 5)
    kind = jax.random.randint(kind_key, (room,), 0, 3, dtype="int32")[run_numbers(run_key, length, room)]
    low = jax.random.randint(low_key, (room,), 0, 9, dtype="int32")
    high = jax.random.randint(high_key, (room,), 10, 19, dtype="int32")
    return _summing_to(key, jnp.where(kind == 0, low, jnp.where(kind == 1, 9, high)))


def all_nines(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """9999 + 9999."""
    return constant(key, length, room, 9), constant(key, length, room, 9)


def nines_and_one(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """9999 + 1."""
    return constant(key, length, room, 9), constant(key, length, room, 0).at[0].set(1)


def zeros(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """0 + 0."""
    return constant(key, length, room, 0), constant(key, length, room, 0)


def number_and_zero(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """4713 + 0."""
    return _random(key, room), constant(key, length, room, 0)


def equal_digits(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """7777 + 4444."""
    x_key, y_key = jax.random.split(key)
    return one_symbol(x_key, length, room, 10), one_symbol(y_key, length, room, 10)


def equal_numbers(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """4713 + 4713."""
    number = _random(key, room)
    return number, number


def two_digits(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """4774 + 7747: two different digits in both numbers."""
    both = few_symbols(key, length, 2 * room, 10, fewest=2, most=2)
    return both[0::2], both[1::2]


def short_and_long(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """4713 + 28."""
    short_key, long_key = jax.random.split(key)
    return _random(long_key, room), leading_zeros(short_key, length, room)


def round_numbers(key: PRNGKeyArray, length: Int[Array, ""], room: int) -> tuple[Number, Number]:
    """4700 + 9000."""
    x_key, y_key = jax.random.split(key)
    return trailing_zeros(x_key, length, room), trailing_zeros(y_key, length, room)


PAIRS: dict[str, Pair] = {
    "carry chain": carry_chain,
    "sums of nine": sums_of_nine,
    "runs of carries": runs_of_carries,
    "nines": all_nines,
    "nines and one": nines_and_one,
    "zeros": zeros,
    "number and zero": number_and_zero,
    "equal digits": equal_digits,
    "equal numbers": equal_numbers,
    "two digits": two_digits,
    "short and long": short_and_long,
    "round numbers": round_numbers,
}
"""Pairs of numbers by kind of hard problem; either may come first."""


def _random(key: PRNGKeyArray, room: int) -> Int[Array, " {room}"]:
    return jax.random.randint(key, (room,), 0, 10, dtype="int32")


def _summing_to(key: PRNGKeyArray, sums: Int[Array, " room"]) -> tuple[Number, Number]:
    """Uniformly random pairs of digits with the given sums (0 to 18)."""
    x = jax.random.randint(key, sums.shape, jnp.maximum(sums - 9, 0), jnp.minimum(sums, 9) + 1, dtype="int32")
    return x, sums - x
