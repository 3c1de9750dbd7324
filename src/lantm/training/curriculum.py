"""An adaptive curriculum: the longest training length grows once problems of the current one are mostly solved.

Every seed has its own curriculum, since seeds learn at different speeds. It is scored on training batches, so it needs
no extra tests. Its state is part of a checkpoint.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.evaluation import Marks
from lantm.tasks import Lengths

_NEWEST = 0.25
"""The weight of the newest batch in the running mean. It restarts at 0, so reaching 90% takes 9 batches or more."""


class Reached(NamedTuple):
    """The curriculum state of a seed."""

    longest: Int[Array, ""]  # the current maximum length
    right: Float[Array, ""]  # running fraction of correct symbols at that length

    @classmethod
    def start(cls, lengths: Lengths, step: int) -> "Reached":
        """Before the first batch: the `step` shortest lengths."""
        longest = min(lengths.smallest + (step - 1) * lengths.stride, lengths.largest)
        return cls(jnp.asarray(longest, jnp.int32), jnp.zeros(()))

    def draw_length(self, lengths: Lengths, key: PRNGKeyArray, focus: float) -> Int[Array, ""]:
        """The current maximum with probability `focus`, otherwise uniform up to it."""
        key, focus_key = jax.random.split(key)
        focused = jax.random.bernoulli(focus_key, focus)
        return jnp.where(focused, self.longest, lengths.sample_to(key, self.longest))

    def after(
        self, lengths: Lengths, drawn: Int[Array, " batch"], marks: Marks, threshold: float, step: int
    ) -> "Reached":
        """The state after a batch with these lengths and marks."""
        counts = drawn == self.longest
        right, size = (jnp.sum(marks_of_problems, where=counts) for marks_of_problems in (marks.right, marks.size))
        share = right / jnp.maximum(size, 1)
        running = jnp.where(size > 0, self.right + _NEWEST * (share - self.right), self.right)
        grows = (running >= threshold) & (self.longest < lengths.largest)
        longer = jnp.minimum(self.longest + step * lengths.stride, lengths.largest)
        return Reached(jnp.where(grows, longer, self.longest), jnp.where(grows, 0.0, running))
