"""A task of your own whose answers differ in size, in one file: keep the letters.

    input    a 1 b - c
    output   a b c

From the folder that holds `examples`:

    lantm train examples.letters:Letters
"""

from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Int

from lantm.tasks import Lengths, SequenceTask, keep


class Letters(SequenceTask):
    """`a 1 b - c` gives `a b c`."""

    name: ClassVar[str] = "letters"
    sizes_vary: ClassVar[bool] = True
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 32))

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " output"]:
        """The letters, in their order."""
        letters = [symbol for symbol, character in enumerate(self.alphabet) if character.isalpha()]
        return keep(symbols, jnp.isin(symbols, jnp.array(letters)))

    def expected(self, text: str) -> str:
        """The answer to a text, in plain Python."""
        return "".join(filter(str.isalpha, text))
