"""`Recipe`: how to train: optimiser, learning-rate schedule (such as plateau), batches and tests."""

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.errors import LantmError
from lantm.evaluation import Score
from lantm.records import drop_retired
from lantm.tasks import Lengths
from lantm.training.curriculum import Reached

if TYPE_CHECKING:
    import optax

PATIENCE = 20
"""The number of consecutive steps without a finite gradient after which a seed counts as diverged."""
_MOST_SCALES = 100  # that a machine is tested at
_LARGEST = 2**31 - 1  # of the integers that programs are compiled with


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a machine is trained. The defaults are the paper's for its sequence tasks.

    Some settings apply to one kind of source only: lengths, curricula, scales and batches per epoch apply to tasks. An
    epoch of a text reads it once.
    """

    optimiser: Literal["rmsprop", "adam", "adagrad"] = "rmsprop"
    """The rule that turns gradients into steps."""
    learning_rate: float = 0.02
    """The learning rate at the start."""
    decay: float = 0.95
    """RMSProp's decay of the mean squared gradient: what the paper calls its momentum of .95."""
    momentum: float = 0.0
    """Heavy-ball momentum of RMSProp: the other reading of the paper's "RMSProp with momentum .95"."""
    clip: float | None = 10.0
    """The largest norm of the whole gradient; None does not clip."""
    schedule: Literal["plateau", "validation", "geometric", "cosine", "constant"] = "plateau"
    """How the rate falls: on plateaus of the loss (the paper's for sequences), when a test is worse (for programs and
    texts), in every epoch by a factor (the second paper's), along a cosine to zero, or not at all."""
    plateau_start: int = 100
    """Epochs before the plateau, validation or geometric rule begins; validation also waits for a curriculum's end."""
    plateau_patience: int = 30
    """Epochs without a better training loss after which the rate falls."""
    plateau_factor: float = 0.5
    """The factor the rate is multiplied with then, by any of these rules; by the geometric one in every epoch."""
    validation_memory: int = 4
    """The validation rule: the rate falls when a test is worse than the best of this many before it."""
    epochs: int = 1000
    """Epochs to train."""
    batches: int = 10
    """Batches per epoch."""
    batch_size: int = 32
    """Problems per batch, or columns of a text that are read side by side."""
    steps: int = 20
    """Words of a text that gradients go back through; state and memory are carried on."""
    mixed_lengths: bool = False
    """Let problems of different lengths share a batch, padded; by default a batch has one length, exactly."""
    curriculum: float = 0.0
    """Begin with the shortest problems and reach all lengths after this fraction of the epochs."""
    curriculum_seeds: Literal["all", "even"] = "all"
    """The machines that follow the curriculum: all, or those with an even seed, which is every second start."""
    curriculum_focus: float = 0.0
    """Fraction of lengths drawn at the current maximum; the rest are uniform. 0: all uniform up to the maximum."""
    curriculum_threshold: float = 0.0
    """Follow what has been learnt instead of the epochs: a seed goes on to longer problems when this fraction of
    symbols is right at the longest it has reached; what `curriculum_focus` leaves is uniform up to there. 0: do not."""
    curriculum_step: int = 2
    """The number of lengths that such a curriculum begins with, and that it adds each time."""
    hard_share: float = 0.0
    """Fraction of training problems that are hard ones, such as long carries and repeated symbols."""
    recycled_problems: int | None = None
    """Train on a fixed set of this many problems, each seed on its own, again and again; by default all are fresh."""
    noise: float = 0.0
    """Standard deviation of what is added to the controller's preactivations in training (not in tests)."""
    test_every: int = 20
    """Epochs between tests."""
    test_batches: int = 100
    """Batches per test, at each scale."""
    test_scales: tuple[int, ...] = (1, 2)
    """Multiples of the training lengths to test at."""
    test_hard_scales: tuple[int, ...] = ()
    """Multiples of the training lengths to test at on hard problems too; these tests also choose the best weights."""
    retest_batches: int = 0
    """Batches per test by which weights that beat the best so far are compared with those once more, and starts and
    seeds with one another in the end; 0: the tests during training decide."""
    select_by: Score = "coarse"
    """The score that chooses the best weights and the best seed; the other decides between equals."""
    shorter_first: bool = False
    """Rank weights by the number of consecutive scales solved, then by mean score."""
    starts: int = 1
    """Machines trained per seed, from different initial weights; the one with the best test is kept."""

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
        if not 0 <= self.noise < math.inf:
            raise LantmError(f"noise is {self.noise}: give a number from 0 on")
        for name in ("curriculum", "curriculum_focus", "curriculum_threshold", "hard_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise LantmError(f"{name} is {getattr(self, name)}: give a number from 0 to 1")
        if self.recycled_problems is not None and not 1 <= self.recycled_problems <= _LARGEST:
            raise LantmError(
                f"recycled_problems is {self.recycled_problems}: give a whole number from 1 to {_LARGEST}, or None for "
                "fresh problems"
            )
        if not 0 <= self.plateau_start <= _LARGEST:
            raise LantmError(f"plateau_start is {self.plateau_start}: give a whole number from 0 to {_LARGEST}")
        if self.curriculum_threshold and self.curriculum:
            raise LantmError(
                "a curriculum follows the epochs or what is learnt: give curriculum or curriculum_threshold"
            )
        if self.curriculum_threshold and self.schedule == "validation":
            raise LantmError(
                "the schedule validation waits for the end of a curriculum, and one with curriculum_threshold has none "
                "that is known: give another schedule"
            )
        counts = ("epochs", "batches", "batch_size", "steps", "test_every", "test_batches", "starts", "curriculum_step")
        for name in ("plateau_patience", "validation_memory", *counts):
            if not 1 <= getattr(self, name) <= _LARGEST:
                raise LantmError(f"{name} is {getattr(self, name)}: give a whole number from 1 to {_LARGEST}")
        for name in ("test_scales", "test_hard_scales"):
            if (scales := len(getattr(self, name))) > _MOST_SCALES:
                raise LantmError(f"{name} are {scales:,} numbers: give at most {_MOST_SCALES}")
        if not self.test_scales or not all(1 <= scale <= _LARGEST for scale in self.test_scales):
            raise LantmError(f"test_scales are {self.test_scales}: give whole numbers from 1 on, at least one")
        if not 0 <= self.retest_batches <= _LARGEST:
            raise LantmError(f"retest_batches is {self.retest_batches}: give a whole number from 0 to {_LARGEST}")
        if not all(1 <= scale <= _LARGEST for scale in self.test_hard_scales):
            raise LantmError(f"test_hard_scales are {self.test_hard_scales}: give whole numbers from 1 on, or none")

    @staticmethod
    def upgrade(values: dict[str, Any]) -> dict[str, Any]:
        """A record of an earlier version, as this one writes it."""
        values = drop_retired(values, {"select_scales": (), "patience": PATIENCE}, "recipe")
        if "rate_factor" not in values:
            return values
        # Earlier versions had a recipe of its own for texts, with these settings fixed.
        factor = values.pop("rate_factor")
        fixed = {"optimiser": "adagrad", "schedule": "validation", "plateau_start": 0, "validation_memory": 1}
        return {**fixed, "plateau_factor": factor, "test_every": 1, **values}

    def transform(self) -> "optax.GradientTransformation":
        """Turns gradients into steps at learning rate 1. A gradient that is not finite is skipped and counted."""
        import optax  # here, since commands that train nothing start sooner without it

        clip = optax.identity() if self.clip is None else optax.clip_by_global_norm(self.clip)
        if self.optimiser == "rmsprop":
            # The authors' rule: epsilon outside the root, an average that starts at zero.
            scale = optax.scale_by_rms(self.decay, eps=1e-8, initial_scale=0.0, eps_in_sqrt=False)
            momentum = optax.trace(self.momentum) if self.momentum else optax.identity()
            rule = optax.chain(scale, momentum)
        elif self.optimiser == "adam":
            rule = optax.scale_by_adam()
        else:
            # Sums that start at zero, and next to nothing added to their roots, as the authors do.
            rule = optax.scale_by_rss(initial_accumulator_value=0.0, eps=1e-20)
        return optax.apply_if_finite(optax.chain(clip, rule), max_consecutive_errors=2**30)

    def rate(self, epoch: Int[Array, ""], plateau_scale: Float[Array, "*machines"]) -> Float[Array, "*machines"]:
        """The learning rate of an epoch."""
        if self.schedule == "cosine":
            plateau_scale = plateau_scale * 0.5 * (1 + jnp.cos(jnp.pi * epoch / self.epochs))
        elif self.schedule == "geometric":
            plateau_scale = plateau_scale * self.plateau_factor ** jnp.maximum(epoch - self.plateau_start, 0)
        return self.learning_rate * plateau_scale

    def draw_length(
        self,
        lengths: Lengths,
        epoch: Int[Array, ""],
        key: PRNGKeyArray,
        seed: Int[Array, ""],
        reached: Reached | None = None,
    ) -> Int[Array, ""]:
        """A length to train on in an epoch, for the machine of a seed, and how far it has come if that counts."""
        if reached is not None:
            return reached.draw_length(lengths, key, self.curriculum_focus)
        share = self.share_of_lengths(epoch)
        if self.curriculum and self.curriculum_seeds == "even":
            share = jnp.where(seed % 2 == 0, share, 1.0)
        if not self.curriculum_focus:
            return lengths.sample(key, share)
        key, focus_key = jax.random.split(key)
        focused = jax.random.bernoulli(focus_key, self.curriculum_focus)
        return jnp.where(focused, lengths.longest(share), lengths.sample(key))

    def share_of_lengths(self, epoch: Int[Array, ""]) -> Float[Array, ""]:
        """The fraction of the training lengths, shortest first, that the curriculum has reached."""
        if not self.curriculum:
            return jnp.ones(())
        return jnp.minimum(1.0, epoch / (self.curriculum * self.epochs))
