"""Perplexity of a text for every seed: the exponential of the mean negative log likelihood per word."""

import dataclasses
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PyTree

from lantm.evaluation import reading
from lantm.evaluation.cross_entropy import total_surprise
from lantm.evaluation.measured import Measured, Score, rounded
from lantm.machine import Model
from lantm.tasks.pieces import Pieces


@dataclasses.dataclass(frozen=True)
class Perplexity(Measured):
    """The perplexity of a text for every seed."""

    losses: Float[np.ndarray, " seeds"]  # mean negative log likelihood per word, in nats
    tokens: int  # words of the text, including line ends

    @property
    def values(self) -> Float[np.ndarray, " seeds"]:
        """The perplexity of every seed; infinite on overflow."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.losses))

    def ranking(self, select_by: Score) -> tuple[Float[np.ndarray, " seeds"], Float[np.ndarray, " seeds"]]:
        return -self.losses, np.zeros_like(self.losses)

    @property
    def solved(self) -> Bool[np.ndarray, " seeds"]:
        """A text is never solved."""
        return np.zeros(len(self.losses), bool)

    def among(self, places: Int[np.ndarray, " some"]) -> "Perplexity":
        return dataclasses.replace(self, losses=self.losses[places])

    def by_seed(self, index: int) -> dict[str, float | None]:
        return {"perplexity": rounded(self.values[index], 3)}

    def figures(self, best: int) -> dict[str, Any]:
        by_seed = [rounded(value, 3) for value in self.values]
        return {
            "tokens": self.tokens,
            "perplexity": by_seed[best],
            "median_perplexity": rounded(np.median(self.values), 3),
            "seeds": len(self.losses),
            "perplexity_by_seed": by_seed,
        }


def piece_surprises(model: Model, text: Pieces) -> Float[Array, " pieces"]:
    """The summed negative log likelihood of every piece of a text, for one seed, with carried state and memory."""
    _, steps, batch_size = text.inputs.shape

    def one_piece(carried: PyTree, given: tuple[Array, Pieces]) -> tuple[PyTree, Array]:
        at, piece = given
        features, carried = reading.read_piece(model, piece.inputs, carried, at)
        return carried, total_surprise(model.readout, features, piece.targets, piece.mask)

    start = reading.begin(model, batch_size, steps)
    return lax.scan(one_piece, start, (jnp.arange(text.number), text))[1]
