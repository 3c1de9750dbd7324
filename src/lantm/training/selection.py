"""Retests weights that beat the best so far, since the best of many short tests is partly luck.

With `Recipe.retest_batches`, such weights and the best so far are tested on the same fresh problems, and the better
ones are kept. At the end, the best weights of all machines are tested on the same fresh problems, which decides the
best start of every seed and the best seed.
"""

import numpy as np
from jaxtyping import Array, Float

from lantm.evaluation import Draw, merits
from lantm.machine import Model
from lantm.randomness import RETEST
from lantm.training.learner import Learner
from lantm.training.material import Material

Merit = Float[np.ndarray, " machines"]


def contested(material: Material, learners: Learner, merit: Merit, epoch: int) -> tuple[Merit, Merit]:
    """The merits of the current weights and of the best weights so far, for all machines; the better ones are to be
    kept.

    Machines that do not beat their best so far are not retested, nor are their first weights.
    """
    before = np.asarray(learners.best_score)
    challenging = merit >= before
    if not (challenging & np.isfinite(before)).any():
        return merit, before
    again = _tested(material, learners.model, learners, epoch)
    best_again = _tested(material, learners.best_model, learners, epoch)
    first = challenging & ~np.isfinite(before)
    new, old = np.where(challenging, again, -np.inf), np.where(challenging & ~first, best_again, before)
    return new.astype(np.float32), old.astype(np.float32)


def final_merits(material: Material, learners: Learner, epoch: int) -> Merit:
    """The merits of the best weights of all machines on the same fresh problems, after the last epoch."""
    return _tested(material, learners.best_model, learners, epoch + 1)


def with_best_scores(learners: Learner, scores: Float[Array, " machines"]) -> Learner:
    """The learners with new merits of their best weights."""
    return learners._replace(best_score=scores)


def _tested(material: Material, models: Model, learners: Learner, counter: int) -> Merit:
    recipe = material.lessons.recipe
    draw = Draw(recipe.retest_batches * recipe.batch_size, RETEST, counter)
    tests = material.selecting(material.tests(models, learners.seed, draw))
    return merits(tests, recipe.select_by, recipe.shorter_first)
