"""Random keys derived from a seed, a purpose (such as training or testing) and counters (such as epoch and batch)."""

import jax
from jaxtyping import Array, Int, PRNGKeyArray

# What random numbers are for: the same seed draws different ones for each purpose.
INITIALISE, TRAIN, TEST, EVALUATE, RECORD, HARD, NOISE, VERIFY, RECYCLE, RETEST = range(10)

SEEDS = 2**31 - 1
"""Seeds are below this one, which stands for all of them together."""


def seed_key(
    seed: int | Int[Array, ""], purpose: int | Int[Array, ""], *counters: int | Int[Array, ""]
) -> PRNGKeyArray:
    """The random key of a seed for a purpose, at given counters (epoch, batch)."""
    key = jax.random.fold_in(jax.random.key(seed), purpose)
    for counter in counters:
        key = jax.random.fold_in(key, counter)
    return key


def shared_key(purpose: int, *counters: int | Int[Array, ""]) -> PRNGKeyArray:
    """The random key of what all seeds share: the lengths."""
    return seed_key(SEEDS, purpose, *counters)
