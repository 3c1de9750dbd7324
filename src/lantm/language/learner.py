"""One seed's training on a text, as pure functions: what is carried from piece to piece, what an epoch ends with."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax
from jaxtyping import Array, Float, Int, PyTree

from lantm.language import reading
from lantm.language.experiment import LanguageExperiment
from lantm.language.loss import total_surprise
from lantm.language.pieces import Pieces
from lantm.machine import Model
from lantm.machine.loops import get_row, put_row
from lantm.seeds import INITIALISE, seed_key


class LanguageLearner(NamedTuple):
    """All that one seed's training depends on, besides the experiment, the text and the epoch."""

    seed: Int[Array, ""]
    model: Model
    squares: PyTree  # Adagrad's sums of squared gradients
    rate: Float[Array, ""]
    piece: Int[Array, ""]  # pieces of this epoch that were read
    carried: PyTree  # controller, heads and memory after them
    surprises: Float[Array, " pieces"]  # of each piece in this epoch: the sum over its words
    norms: Float[Array, " pieces"]  # of the gradients, before clipping
    skipped: Int[Array, ""]  # pieces so far without a step, for want of a finite gradient
    last_loss: Float[Array, ""]  # mean surprise in validation after the last epoch
    best_loss: Float[Array, ""]
    best_epoch: Int[Array, ""]
    best_model: Model  # the weights with the best validation so far


# The authors' rule: sums that start at zero, and next to nothing added to their roots.
_ADAGRAD = optax.scale_by_rss(initial_accumulator_value=0.0, eps=1e-20)


def begin(experiment: LanguageExperiment, vocabulary: int, pieces: int, seed: Int[Array, ""]) -> LanguageLearner:
    """A seed before its first epoch."""
    recipe = experiment.recipe
    model = experiment.machine.build(vocabulary, seed_key(seed, INITIALISE))
    return LanguageLearner(
        seed=seed,
        model=model,
        squares=_ADAGRAD.init(model),
        rate=jnp.full((), recipe.learning_rate, float),
        piece=jnp.zeros((), jnp.int32),
        carried=reading.begin(model, recipe.batch_size, recipe.steps),
        surprises=jnp.zeros(pieces),
        norms=jnp.zeros(pieces),
        skipped=jnp.zeros((), jnp.int32),
        last_loss=jnp.full((), jnp.inf, float),
        best_loss=jnp.full((), jnp.inf, float),
        best_epoch=jnp.zeros((), jnp.int32),
        best_model=model,
    )


def read_and_learn(
    clip: float | None, learner: LanguageLearner, text: Pieces, first: Int[Array, ""], end: Int[Array, ""]
) -> LanguageLearner:
    """Reads the pieces from `first` to before `end`, with a step after each. All seeds read the same pieces."""
    # Numbers from Python have a weaker type: a learner that took it on would have everything compiled again.
    first, end = (jnp.asarray(bound).astype(jnp.int32) for bound in (first, end))
    return lax.fori_loop(first, end, lambda at, learner: _learn(clip, learner, text, at), learner)


def _learn(clip: float | None, learner: LanguageLearner, text: Pieces, at: Int[Array, ""]) -> LanguageLearner:
    inputs, targets, mask = (get_row(rows, at) for rows in text)

    def loss(model: Model) -> tuple[Float[Array, ""], tuple[Float[Array, ""], PyTree]]:
        features, carried = reading.read_piece(model, inputs, learner.carried, at)
        surprise = total_surprise(model.readout, features, targets, mask)
        return surprise / jnp.sum(mask), (surprise, carried)

    gradients, (surprise, carried) = jax.grad(loss, has_aux=True)(learner.model)
    norm = optax.tree.norm(gradients)
    finite = jnp.isfinite(norm) & jnp.isfinite(surprise)
    scale = 1.0 if clip is None else jnp.minimum(1.0, clip / norm)
    # Adagrad takes no step, and remembers none, where the gradient is zero.
    gradients = jax.tree.map(lambda g: jnp.where(finite, scale * g, 0), gradients)
    steps, squares = _ADAGRAD.update(gradients, learner.squares)
    return learner._replace(
        model=jax.tree.map(lambda weight, step: weight - learner.rate * step, learner.model, steps),
        squares=squares,
        piece=at + 1,
        carried=carried,
        surprises=put_row(learner.surprises, surprise, at),
        norms=put_row(learner.norms, norm, at),
        skipped=learner.skipped + ~finite,
    )


def close_epoch(
    rate_factor: float, learner_and_loss: tuple[LanguageLearner, Float[Array, ""]], epoch: Int[Array, ""]
) -> LanguageLearner:
    """The rate falls when validation was better an epoch ago; the weights with the best validation are kept."""
    learner, loss = learner_and_loss
    falls = ~(loss <= learner.last_loss)  # also when it is no number any more
    better = loss < learner.best_loss
    return learner._replace(
        piece=jnp.zeros_like(learner.piece),
        rate=jnp.where(falls, learner.rate * rate_factor, learner.rate),
        last_loss=loss,
        best_loss=jnp.where(better, loss, learner.best_loss),
        best_epoch=jnp.where(better, jnp.asarray(epoch).astype(jnp.int32), learner.best_epoch),
        best_model=jax.tree.map(lambda new, old: jnp.where(better, new, old), learner.model, learner.best_model),
    )
