"""An adaptive curriculum: the longest training length grows once problems of the current one are mostly solved.

Every seed has its own, since seeds learn at different times. It is scored on the batches that it trains on, so it
costs no tests; and it is part of what a training saves, so a training that is resumed goes on with it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.evaluation import Marks
from lantm.tasks import Lengths

_NEWEST = 0.25
"""The weight of the newest batch in the running share. The share restarts at 0, so that 90% take 9 batches or more."""


class Reached(NamedTuple):
    """How far a seed has come."""

    longest: Int[Array, ""]  # the longest length that it trains on
    right: Float[Array, ""]  # the running share of symbols that are right at that length

    @classmethod
    def start(cls, lengths: Lengths, step: int) -> "Reached":
        """Before the first batch: the `step` shortest lengths."""
        longest = min(lengths.smallest + (step - 1) * lengths.stride, lengths.largest)
        return cls(jnp.asarray(longest, jnp.int32), jnp.zeros(()))

    def draw_length(self, lengths: Lengths, key: PRNGKeyArray, focus: float) -> Int[Array, ""]:
        """The longest length with the probability `focus`, otherwise one that is uniform up to it."""
        key, focus_key = jax.random.split(key)
        focused = jax.random.bernoulli(focus_key, focus)
        return jnp.where(focused, self.longest, lengths.sample_to(key, self.longest))

    def after(
        self, lengths: Lengths, drawn: Int[Array, " batch"], marks: Marks, threshold: float, step: int
    ) -> "Reached":
        """What a batch of these lengths with these marks makes of it."""
        counts = drawn == self.longest
        right, size = (jnp.sum(marks_of_problems, where=counts) for marks_of_problems in (marks.right, marks.size))
        share = right / jnp.maximum(size, 1)
        running = jnp.where(size > 0, self.right + _NEWEST * (share - self.right), self.right)
        grows = (running >= threshold) & (self.longest < lengths.largest)
        longer = jnp.minimum(self.longest + step * lengths.stride, lengths.largest)
        return Reached(jnp.where(grows, longer, self.longest), jnp.where(grows, 0.0, running))
