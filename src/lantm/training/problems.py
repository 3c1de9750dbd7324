"""Draws the problems of a training batch: fresh ones, or ones from a fixed set that is reused.

A fixed set is not stored: each of its problems is generated from its length and index when it is needed.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from lantm.batch import Batch, mixed, side_by_side
from lantm.errors import LantmError
from lantm.randomness import HARD, RECYCLE, TRAIN, seed_key
from lantm.tasks import Lengths, Task
from lantm.tasks.lengths import Length
from lantm.training.recipe import Recipe


def draw_problems(
    recipe: Recipe, task: Task, seed: Int[Array, ""], epoch: Int[Array, ""], at: Int[Array, ""], lengths: Length
) -> Batch:
    """Batch number `at` of an epoch for a seed: problems of one length or of mixed lengths, some of them hard."""
    longest = task.train_lengths.largest
    if recipe.recycled_problems is not None:
        return _recycled(recipe, recipe.recycled_problems, task, seed, epoch, at, lengths)
    problems = task.sample(seed_key(seed, TRAIN, epoch, at), recipe.batch_size, lengths, longest)
    if recipe.hard_share:
        share_key, hard_key = jax.random.split(seed_key(seed, HARD, TRAIN, epoch, at))
        chosen = jax.random.bernoulli(share_key, recipe.hard_share, (recipe.batch_size,))
        problems = mixed(chosen, task.sample_hard(hard_key, recipe.batch_size, lengths, longest), problems)
    return problems


def _recycled(
    recipe: Recipe,
    recycled: int,
    task: Task,
    seed: Int[Array, ""],
    epoch: Int[Array, ""],
    at: Int[Array, ""],
    lengths: Length,
) -> Batch:
    """Problems of the fixed set, drawn at random among those of their length."""
    longest = task.train_lengths.largest
    keys = jax.random.split(seed_key(seed, TRAIN, epoch, at), recipe.batch_size)
    numbers = jax.vmap(lambda key, size: jax.random.randint(key, (), 0, size, dtype="int32"))(
        keys, jnp.broadcast_to(set_size(recycled, task.train_lengths, jnp.asarray(lengths)), keys.shape)
    )

    def draw(length: Int[Array, ""], number: Int[Array, ""]) -> Batch:
        key = seed_key(seed, RECYCLE, length, number)
        own = length[None] if recipe.mixed_lengths else length  # with mixed lengths, answers start at different steps
        problem = task.sample(key, 1, own, longest)
        if recipe.hard_share:  # whether a problem is hard depends on its index alone
            share_key, hard_key = jax.random.split(jax.random.fold_in(key, HARD))
            chosen = jax.random.bernoulli(share_key, recipe.hard_share, (1,))
            problem = mixed(chosen, task.sample_hard(hard_key, 1, own, longest), problem)
        return problem

    # A single length stays a scalar, so that all seeds run for the same number of steps.
    return side_by_side(jax.vmap(draw, in_axes=(0 if recipe.mixed_lengths else None, 0))(jnp.asarray(lengths), numbers))


def set_size(recycled: int, lengths: Lengths, length: Int[Array, "*batch"]) -> Int[Array, "*batch"]:
    """The number of problems of a length in a set of `recycled` problems, split evenly over the lengths.

    >>> [int(set_size(11, Lengths(2, 5), jnp.asarray(length))) for length in (2, 3, 4, 5)]
    [3, 3, 3, 2]
    """
    each, left = divmod(recycled, lengths.count)
    return each + ((length - lengths.smallest) // lengths.stride < left)


def check_set(recipe: Recipe, lengths: Lengths) -> None:
    """Raises a `LantmError` if the set is too small to have a problem of every length."""
    if recipe.recycled_problems is not None and recipe.recycled_problems < lengths.count:
        raise LantmError(
            f"recycled_problems is {recipe.recycled_problems}: give at least {lengths.count}, one for each length "
            f"from {lengths.smallest} to {lengths.largest}"
        )
