"""How a machine is trained: optimiser, schedule, batches and tests, as one record."""

import dataclasses
import math
from typing import Literal

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.errors import LantmError
from lantm.evaluation import Score
from lantm.tasks import Lengths

_LARGEST = 2**31 - 1  # of the integers that programs are compiled with


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a machine is trained. The defaults are the paper's for its sequence tasks."""

    optimiser: Literal["rmsprop", "adam", "adagrad"] = "rmsprop"
    """The rule that turns gradients into steps."""
    learning_rate: float = 0.02
    """The rate at the start."""
    decay: float = 0.95
    """RMSProp's memory of squared gradients: what the paper calls its momentum of .95."""
    momentum: float = 0.0
    """Heavy-ball momentum of RMSProp: the other reading of the paper's "RMSProp with momentum .95"."""
    clip: float | None = 10.0
    """The largest norm of the whole gradient; None does not clip."""
    schedule: Literal["plateau", "validation", "cosine", "constant"] = "plateau"
    """How the rate falls: on plateaus of the loss (the paper's for sequences), when a test is worse (for programs)."""
    plateau_start: int = 100
    """Epochs before the plateau or validation rule begins; the latter also waits for the curriculum's end."""
    plateau_patience: int = 30
    """Epochs without a better training loss after which the rate falls."""
    plateau_factor: float = 0.5
    """What the rate is multiplied with then, by either rule."""
    validation_memory: int = 4
    """The validation rule: the rate falls when a test has a lower fine score than the best of this many before it."""
    epochs: int = 1000
    """Epochs to train."""
    batches: int = 10
    """Batches an epoch."""
    batch_size: int = 32
    """Problems a batch."""
    mixed_lengths: bool = False
    """Let problems of different lengths share a batch, padded; by default a batch has one length, exactly."""
    curriculum: float = 0.0
    """Begin with the shortest problems and reach all lengths after this share of the epochs."""
    curriculum_focus: float = 0.0
    """Draw this share of the lengths as the longest it has reached, the rest from all there are; 0: of all reached."""
    test_every: int = 20
    """Epochs between tests."""
    test_batches: int = 100
    """Batches a test, at each scale."""
    test_scales: tuple[int, ...] = (1, 2)
    """Multiples of the training lengths to test at."""
    select_scales: tuple[int, ...] = ()
    """Which of these choose the best weights, by their mean score; all of them unless given."""
    select_by: Score = "coarse"
    """The score that chooses, of the best weights and of the best seed; the other decides between equals."""
    shorter_first: bool = False
    """What is solved of these counts first, from the shortest on: no lucky test at a long one outweighs a short one."""
    starts: int = 1
    """Machines a seed trains, from different weights, of which it keeps the one with the best test."""
    patience: int = 20
    """Steps in a row without a finite gradient after which a seed counts as diverged."""

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < math.inf:
            raise LantmError(f"learning_rate is {self.learning_rate}: give a number above 0")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise LantmError(f"clip is {self.clip}: give a number above 0, or None for no clipping")
        for name in ("decay", "momentum"):
            if not 0 <= getattr(self, name) < 1:
                raise LantmError(f"{name} is {getattr(self, name)}: give a number from 0 to below 1")
        if not 0 < self.plateau_factor <= 1:
            raise LantmError(f"plateau_factor is {self.plateau_factor}: give a number above 0, at most 1")
        for name in ("curriculum", "curriculum_focus"):
            if not 0 <= getattr(self, name) <= 1:
                raise LantmError(f"{name} is {getattr(self, name)}: give a number from 0 to 1")
        if not 0 <= self.plateau_start <= _LARGEST:
            raise LantmError(f"plateau_start is {self.plateau_start}: give a whole number from 0 to {_LARGEST}")
        counts = ("epochs", "batches", "batch_size", "test_every", "test_batches", "starts", "patience")
        for name in ("plateau_patience", "validation_memory", *counts):
            if not 1 <= getattr(self, name) <= _LARGEST:
                raise LantmError(f"{name} is {getattr(self, name)}: give a whole number from 1 to {_LARGEST}")
        if not self.test_scales or not all(1 <= scale <= _LARGEST for scale in self.test_scales):
            raise LantmError(f"test_scales are {self.test_scales}: give whole numbers from 1 on, at least one")
        if not set(self.select_scales) <= set(self.test_scales):
            raise LantmError(f"select_scales are {self.select_scales}: give some of test_scales, {self.test_scales}")

    @property
    def selecting(self) -> tuple[int, ...]:
        """The scales whose tests choose the best weights."""
        return self.select_scales or self.test_scales

    def transform(self) -> optax.GradientTransformation:
        """Gradients to steps of unit rate. A gradient that is not finite gives no step, and is counted."""
        clip = optax.identity() if self.clip is None else optax.clip_by_global_norm(self.clip)
        if self.optimiser == "rmsprop":
            # The authors' rule: epsilon outside the root, an average that starts at zero.
            scale = optax.scale_by_rms(self.decay, eps=1e-8, initial_scale=0.0, eps_in_sqrt=False)
            momentum = optax.trace(self.momentum) if self.momentum else optax.identity()
            rule = optax.chain(scale, momentum)
        elif self.optimiser == "adam":
            rule = optax.scale_by_adam()
        else:
            rule = optax.scale_by_rss(initial_accumulator_value=0.0, eps=1e-10)
        return optax.apply_if_finite(optax.chain(clip, rule), max_consecutive_errors=2**30)

    def rate(self, epoch: Int[Array, ""], plateau_scale: Float[Array, ""]) -> Float[Array, ""]:
        """The learning rate of an epoch."""
        if self.schedule == "cosine":
            plateau_scale = plateau_scale * 0.5 * (1 + jnp.cos(jnp.pi * epoch / self.epochs))
        return self.learning_rate * plateau_scale

    def draw_length(self, lengths: Lengths, epoch: Int[Array, ""], key: PRNGKeyArray) -> Int[Array, ""]:
        """A length to train on in an epoch."""
        share = self.share_of_lengths(epoch)
        if not self.curriculum_focus:
            return lengths.sample(key, share)
        key, focus_key = jax.random.split(key)
        focused = jax.random.bernoulli(focus_key, self.curriculum_focus)
        return jnp.where(focused, lengths.longest(share), lengths.sample(key))

    def share_of_lengths(self, epoch: Int[Array, ""]) -> Float[Array, ""]:
        """How far the curriculum has come: the share of the training lengths, shortest first, in use."""
        if not self.curriculum:
            return jnp.ones(())
        return jnp.minimum(1.0, epoch / (self.curriculum * self.epochs))
