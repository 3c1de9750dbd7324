"""Random keys derived from a seed, a purpose (such as training or testing) and counters (such as epoch and batch)."""

import jax
from jaxtyping import Array, Int, PRNGKeyArray

# Purposes of random numbers: each has its own random stream per seed.
INITIALISE, TRAIN, TEST, EVALUATE, RECORD, HARD, NOISE, VERIFY, RECYCLE = range(9)

SEEDS = 2**31 - 1
"""Seeds are smaller than this; the number itself is used for what all seeds share."""


def seed_key(
    seed: int | Int[Array, ""], purpose: int | Int[Array, ""], *counters: int | Int[Array, ""]
) -> PRNGKeyArray:
    """The random key of a seed for a purpose, at the given counters (such as epoch and batch)."""
    key = jax.random.fold_in(jax.random.key(seed), purpose)
    for counter in counters:
        key = jax.random.fold_in(key, counter)
    return key


def shared_key(purpose: int, *counters: int | Int[Array, ""]) -> PRNGKeyArray:
    """A random key shared by all seeds, used for lengths."""
    return seed_key(SEEDS, purpose, *counters)
