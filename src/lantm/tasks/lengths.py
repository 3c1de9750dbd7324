"""`Lengths`: the range of lengths from which problems are drawn."""

import dataclasses
from typing import TypeAlias

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.errors import LantmError

Length: TypeAlias = int | Int[Array, ""] | Int[Array, " batch"]
"""One length for all problems of a batch, or one per problem."""


@dataclasses.dataclass(frozen=True)
class Lengths:
    """The lengths `smallest`, `smallest + stride`, ... up to and including `largest`.

    All lengths are multiples of the stride; bigramFlip, with lengths in symbols, has stride 2.

    >>> Lengths(2, 32, stride=2).count
    16
    """

    smallest: int
    largest: int
    stride: int = 1

    def __post_init__(self) -> None:
        if self.stride < 1:
            raise LantmError(f"lengths cannot have the stride {self.stride}: use 1 or more")
        if not 1 <= self.smallest <= self.largest:
            raise LantmError(
                f"there are no lengths from {self.smallest} to {self.largest}: the smallest is at least 1 "
                "and at most the largest"
            )
        if self.smallest % self.stride or self.largest % self.stride:
            raise LantmError(
                f"lengths from {self.smallest} to {self.largest} do not fit the stride {self.stride}: "
                f"both ends must be multiples of {self.stride}"
            )

    @property
    def count(self) -> int:
        """The number of lengths."""
        return (self.largest - self.smallest) // self.stride + 1

    def sample(self, key: PRNGKeyArray, share: float | Float[Array, ""] = 1.0) -> Int[Array, ""]:
        """A length drawn uniformly from the shortest fraction `share` of the lengths; by default from all of them."""
        return self.sample_to(key, self.longest(share))

    def sample_to(self, key: PRNGKeyArray, longest: Int[Array, ""]) -> Int[Array, ""]:
        """A length drawn uniformly from those up to `longest`, which must be one of them."""
        count = (longest - self.smallest) // self.stride + 1
        return self.smallest + self.stride * jax.random.randint(key, (), 0, count, dtype="int32")

    def longest(self, share: float | Float[Array, ""] = 1.0) -> Int[Array, ""]:
        """The longest of the shortest fraction `share` of the lengths."""
        first = jnp.clip(jnp.ceil(self.count * jnp.asarray(share)), 1, self.count)  # how many of them, at least one
        return self.smallest + self.stride * (first.astype("int32") - 1)
