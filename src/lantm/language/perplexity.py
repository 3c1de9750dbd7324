"""Perplexity: how many words, all equally likely, would be as hard to guess as the next word of the text."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import Mesh
from jaxtyping import Array, Float, Int, PyTree

from lantm.language import reading
from lantm.language.loss import total_surprise
from lantm.language.pieces import Pieces, cut
from lantm.machine import Model
from lantm.seeds import device_mesh, over_seeds, place


class Perplexity(NamedTuple):
    """What every seed makes of a text."""

    losses: Float[np.ndarray, " seeds"]  # mean surprise a word, in nats
    tokens: int  # words of the text, line ends among them: all of them count

    @property
    def values(self) -> Float[np.ndarray, " seeds"]:
        """The perplexity of every seed."""
        return np.exp(self.losses)


class Examiner:
    """Reads a text with the machines of all seeds, all of it, and carries their state and memory along."""

    def __init__(self, text: Int[np.ndarray, " tokens"], end: int, seeds: int, batch_size: int = 32, steps: int = 20):
        """`end` is the number of `<eos>`; the text is read in `batch_size` columns, by pieces of `steps`."""
        self._tokens = len(text)
        self._mesh = device_mesh(seeds)
        self._text = cut(text, batch_size, steps, end)

    def __call__(self, models: Model) -> Perplexity:
        """The perplexity of the text for every seed."""
        surprises = jax.device_get(_examining(self._mesh)(place(models, self._mesh), self._text))
        # Sums of sums of many pieces: in double precision nothing is lost.
        return Perplexity(surprises.astype(np.float64).sum(axis=1) / self._tokens, self._tokens)


@lru_cache
def _examining(mesh: Mesh) -> Callable[..., Any]:
    return over_seeds(_examine, mesh)


def _examine(model: Model, text: Pieces) -> Float[Array, " pieces"]:
    """The surprise of every piece, for one seed."""
    _, steps, batch_size = text.inputs.shape

    def one_piece(carried: PyTree, given: tuple[Array, Pieces]) -> tuple[PyTree, Array]:
        at, piece = given
        features, carried = reading.read_piece(model, piece.inputs, carried, at)
        return carried, total_surprise(model.readout, features, piece.targets, piece.mask)

    start = reading.begin(model, batch_size, steps)
    return lax.scan(one_piece, start, (jnp.arange(text.number), text))[1]
