"""Hard problems for sequences: structured inputs that random sampling hardly ever produces.

Every function draws the symbols of one problem. `size` symbols of the array of size `room` are used, out of `symbols`
different ones. As in `Task.sample`, a problem does not depend on the room.
"""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PRNGKeyArray

Pattern = Callable[[PRNGKeyArray, Int[Array, ""], int, int], Int[Array, " room"]]

LONGEST_WORD = 8


def any_symbols(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """No pattern: independent, uniform symbols, as in random problems."""
    return jax.random.randint(key, (room,), 0, symbols, dtype="int32")


def one_symbol(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """`a a a a a a`."""
    return jnp.broadcast_to(jax.random.randint(key, (), 0, symbols, dtype="int32"), (room,))


def one_differs(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """`a a a b a a`; with probability 1/2 the first or the last symbol differs."""
    key, inner_key, at_edge_key, edge_key = jax.random.split(key, 4)
    usual, other = _different(key, 2, symbols)
    inner = jax.random.randint(inner_key, (), 0, size, dtype="int32")
    edge = jnp.where(jax.random.bernoulli(edge_key), 0, size - 1)
    place = jnp.where(jax.random.bernoulli(at_edge_key), edge, inner)
    return jnp.where(jnp.arange(room) == place, other, usual)


def few_symbols(
    key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int, fewest: int, most: int
) -> Int[Array, " {room}"]:
    """`a b b a c b`: `fewest` to `most` different symbols in random order."""
    key, number_key, order_key = jax.random.split(key, 3)
    number = jax.random.randint(number_key, (), fewest, most + 1, dtype="int32")
    return _different(key, most, symbols)[jax.random.randint(order_key, (room,), 0, number, dtype="int32")]


def alternating(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """`a b a b a b`."""
    return _different(key, 2, symbols)[jnp.arange(room) % 2]


def repeated_word(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """`a b c a b c`: a random word of 2 to 8 symbols, repeated."""
    key, period_key = jax.random.split(key)
    period = jax.random.randint(period_key, (), 2, LONGEST_WORD + 1, dtype="int32")
    return jax.random.randint(key, (LONGEST_WORD,), 0, symbols, dtype="int32")[jnp.arange(room) % period]


def palindrome(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """`a b c c b a`."""
    at = jnp.arange(room)
    return jax.random.randint(key, (room,), 0, symbols, dtype="int32")[jnp.clip(jnp.minimum(at, size - 1 - at), 0)]


def runs(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """`a a a b c c`: every symbol is repeated a random number of times."""
    key, run_key = jax.random.split(key)
    return jax.random.randint(key, (room,), 0, symbols, dtype="int32")[run_numbers(run_key, size, room)]


def consecutive(key: PRNGKeyArray, size: Int[Array, ""], room: int, symbols: int) -> Int[Array, " {room}"]:
    """`a b c d e f` or `f e d c b a`: in alphabetical order, cyclically."""
    key, order_key = jax.random.split(key)
    step = jnp.where(jax.random.bernoulli(order_key), 1, -1)
    return (jax.random.randint(key, (), 0, symbols, dtype="int32") + step * jnp.arange(room)) % symbols


PATTERNS: dict[str, Pattern] = {
    "one symbol": one_symbol,
    "one differs": one_differs,
    "two symbols": functools.partial(few_symbols, fewest=2, most=2),
    "few symbols": functools.partial(few_symbols, fewest=3, most=4),
    "alternating": alternating,
    "repeated word": repeated_word,
    "palindrome": palindrome,
    "runs": runs,
    "consecutive": consecutive,
}
"""Patterns by kind of hard problem."""


def run_numbers(key: PRNGKeyArray, size: Int[Array, ""], room: int) -> Int[Array, " {room}"]:
    """The number of the run that each position belongs to, such as 0 0 0 1 2 2.

    The mean length of runs is 2 to `size`, uniform in its logarithm, so that long problems have long runs too.
    """
    key, rate_key = jax.random.split(key)
    rate = 0.5 * (2 / jnp.maximum(size, 2)) ** jax.random.uniform(rate_key)
    begins = jax.random.bernoulli(key, rate, (room,)).at[0].set(False)
    return jnp.cumsum(begins, dtype="int32")


def _different(key: PRNGKeyArray, number: int, symbols: int) -> Int[Array, " {number}"]:
    """Uniformly random different symbols; repeated only if there are fewer than `number`.

    A few draws instead of a permutation of all symbols, whose sorting on a CPU takes longer than the rest of a batch.
    """
    left = symbols - jnp.arange(min(number, symbols))
    chosen: list[Array] = []
    for rank in jax.random.randint(key, left.shape, 0, left, dtype="int32"):
        symbol = rank  # among those that are left
        for _ in chosen:
            symbol = rank + sum(jnp.asarray(earlier <= symbol, "int32") for earlier in chosen)
        chosen.append(symbol)
    return jnp.resize(jnp.stack(chosen), (number,))
