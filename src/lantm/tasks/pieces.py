"""Cuts a text into parallel columns, and those into pieces of equal length (truncated backpropagation through time)."""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from lantm.errors import LantmError


class Pieces(NamedTuple):
    """A text of N words as `batch` columns, each a contiguous part of it, in pieces of `steps` words.

    Every word of the text is a target exactly once. Its input is the previous word of the text, and `<eos>` for the
    first word. The lengths of columns differ by at most one word; the padding of the last piece is masked.
    """

    inputs: Int[Array, "pieces steps batch"]
    targets: Int[Array, "pieces steps batch"]
    mask: Bool[Array, "pieces steps batch"]

    @property
    def number(self) -> int:
        """The number of pieces."""
        return self.inputs.shape[0]


def cut(text: Int[np.ndarray, " tokens"], batch_size: int, steps: int, end: int) -> Pieces:
    """The pieces of a text; `end` is the index of `<eos>`."""
    if len(text) < batch_size:
        raise LantmError(f"a text of {len(text)} words cannot fill {batch_size} columns: use a smaller batch size")
    shortest, longer = divmod(len(text), batch_size)
    lengths = shortest + (np.arange(batch_size) < longer)
    firsts = np.cumsum(lengths) - lengths
    rows = -(-lengths.max() // steps) * steps
    row = np.arange(rows)[:, None]
    mask = row < lengths
    places = np.where(mask, firsts + row, 0)
    before = np.concatenate([[end], text[:-1]])

    def pieces(array: np.ndarray) -> np.ndarray:
        return array.reshape(-1, steps, batch_size)

    return Pieces(
        jnp.asarray(pieces(before[places]), jnp.int32),
        jnp.asarray(pieces(text[places]), jnp.int32),
        jnp.asarray(pieces(mask)),
    )
