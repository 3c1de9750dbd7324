"""The loss: negative log likelihood of the answer."""

from jaxtyping import Array, Float

from lantm.evaluation import Answer
from lantm.machine.step_sums import mean_surprise


def negative_log_likelihood(answer: Answer) -> Float[Array, ""]:
    """The mean negative log likelihood over all symbols of all answers, including end symbols."""
    return mean_surprise(*answer)
