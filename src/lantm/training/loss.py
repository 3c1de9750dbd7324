"""The loss: negative log likelihood of the answer."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lantm.evaluation import Answer


def negative_log_likelihood(answer: Answer) -> Float[Array, ""]:
    """The mean negative log likelihood over all symbols of all answers, including end symbols."""
    chosen = jax.nn.one_hot(answer.targets, answer.logits.shape[-1], dtype=answer.logits.dtype)
    losses = jax.nn.logsumexp(answer.logits, axis=-1) - jnp.sum(chosen * answer.logits, axis=-1)
    return jnp.sum(losses, where=answer.mask) / jnp.sum(answer.mask)
