"""95% confidence intervals of scores; every reported interval is computed here.

Problems of one length are independent, so Wilson's interval applies. In a test over a range of lengths, the problems of
a batch share one length, and a machine that fails at some lengths is right on most of a batch or wrong on most of it.
Then 3,200 problems may carry no more information than 100 independent ones, and Wilson's interval would contain the
true score in a third of all cases instead of 95% (results/intervals.json).
"""

import math

import numpy as np
from jaxtyping import Float, Int

_NORMAL = 1.96  # standard deviations that contain 95% of a normal distribution
_FEW = 4.0  # batches; with fewer, the variance between batches is hardly known


def wilson(right: float, problems: float, deviations: float = _NORMAL) -> tuple[float, float]:
    """Wilson's interval of a fraction, by default at 95%. It stays within [0, 1], also if all answers are right.

    >>> low, high = wilson(100, 100)
    >>> round(low, 3), high
    (0.963, 1.0)
    """
    if problems < 1:
        return 0.0, 1.0
    share, square = right / problems, deviations**2 / problems
    middle = (share + square / 2) / (1 + square)
    half = deviations / (1 + square) * math.sqrt(share * (1 - share) / problems + square / (4 * problems))
    # If all or none are right, one bound is exact; rounding would move it slightly inside.
    return (0.0 if right == 0 else max(0.0, middle - half)), (1.0 if right == problems else min(1.0, middle + half))


def clustered(right: Int[np.ndarray, " batches"], batch_size: int) -> tuple[float, float]:
    """The interval of a fraction from the number of right answers per batch, if problems of a batch are correlated.

    It is Wilson's interval for the effective number of independent problems (Kish's effective sample size), between one
    per batch and all. If all answers are right, or none, there is no variance and a batch counts as one problem. As the
    variance is estimated, quantiles are those of Student's t.

    If the variance rests on one to three batches, it says little about lengths that were not drawn. The interval is
    then widened to include that of `beta_binomial`.

    >>> low, high = clustered(np.full(100, 32), 32)
    >>> round(low, 3), high
    (0.962, 1.0)
    """
    batches = len(right)
    problems, share = batches * batch_size, float(np.sum(right)) / (batches * batch_size)
    if batches < 2:
        return wilson(batches * share, batches, _NORMAL)
    scatter = float(np.var(right / batch_size, ddof=1)) / batches
    independent = share * (1 - share) / scatter if scatter > 0 and 0 < share < 1 else 0.0
    independent = min(max(independent, batches), problems)
    low, high = wilson(share * independent, independent, _student(batches - 1))
    squares = (right - np.mean(right)) ** 2
    if scatter > 0 and np.sum(squares) ** 2 < _FEW * np.sum(squares**2):  # the participation ratio of the batches
        least, most = beta_binomial(right, batch_size)
        return min(low, least), max(high, most)
    return low, high


def beta_binomial(right: Int[np.ndarray, " batches"], batch_size: int) -> tuple[float, float]:
    """The interval of a fraction if every batch has its own success probability, drawn from a beta distribution.

    It is the posterior interval of the distribution's mean. The dispersion (0: all batches alike, 1: every batch all
    right or all wrong) is unknown and integrated over. Both have an arcsine prior.

    >>> low, high = beta_binomial(np.array([32, 32, 32, 32, 30]), 32)
    >>> round(low, 2), round(high, 2)
    (0.68, 1.0)
    """
    mean: Float[np.ndarray, "means 1"] = _arcsine(400)[:, None]
    alike: Float[np.ndarray, " differences"] = 1 / (1e-4 + 0.998 * _arcsine(40)) - 1
    likelihood = np.zeros((mean.size, alike.size))
    # The likelihood of a batch is a product over its right answers, one over its mistakes, and one over all.
    for at in range(batch_size):
        likelihood += np.sum(right > at) * np.log(mean * alike + at)
        likelihood += np.sum(batch_size - right > at) * np.log((1 - mean) * alike + at)
        likelihood -= len(right) * np.log(alike + at)
    below = np.cumsum(np.exp(likelihood - likelihood.max()).sum(axis=1))
    low, high = np.interp([0.025, 0.975], below / below[-1], mean[:, 0])
    return float(low), float(high)


def _arcsine(points: int) -> Float[np.ndarray, " points"]:
    """Points between 0 and 1 at equal quantiles of the arcsine distribution."""
    return np.sin(np.pi / 2 * (np.arange(points) + 0.5) / points) ** 2


def _student(freedom: int) -> float:
    """The two-sided 95% quantile of Student's t distribution, by an expansion around the normal one.

    >>> [round(_student(freedom), 2) for freedom in (9, 99)]
    [2.26, 1.98]
    """
    z = _NORMAL
    return (
        z
        + (z**3 + z) / (4 * freedom)
        + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)
        + (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / (384 * freedom**3)
    )
