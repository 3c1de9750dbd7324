"""`Recipe`: the settings of a training: optimiser, learning-rate schedule, batches and tests."""

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
"""A seed counts as diverged after this many consecutive steps with a non-finite gradient."""
_MOST_SCALES = 100  # number of scales in a recipe
_LARGEST = 2**31 - 1  # the largest 32-bit integer, the type of step counters in compiled programs


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How to train a machine. The defaults are the paper's for its sequence tasks.

    Lengths, curricula, scales and batches per epoch apply to tasks only. For a text, an epoch is one pass over it.
    """

    optimiser: Literal["rmsprop", "adam", "adagrad"] = "rmsprop"
    """Optimiser."""
    learning_rate: float = 0.02
    """Initial learning rate."""
    decay: float = 0.95
    """Decay of RMSProp's mean squared gradient; the paper's "momentum .95" is read this way."""
    momentum: float = 0.0
    """Heavy-ball momentum of RMSProp; the other reading of the paper's "RMSProp with momentum .95"."""
    clip: float | None = 10.0
    """Maximum norm of the whole gradient (clipping by global norm); None disables clipping."""
    schedule: Literal["plateau", "validation", "geometric", "cosine", "constant"] = "plateau"
    """When the learning rate falls: when the training loss is on a plateau (the paper's rule for sequences), when a
    test is worse (its rule for programs and texts), every epoch by a factor (geometric; the second paper), along a
    cosine to zero, or never."""
    plateau_start: int = 100
    """Epochs before the plateau, validation or geometric rule begins; validation also waits for the curriculum's
    end."""
    plateau_patience: int = 30
    """Plateau rule: epochs without a better training loss before the rate falls."""
    plateau_factor: float = 0.5
    """Factor by which the rate falls under the plateau, validation and geometric rules."""
    validation_memory: int = 4
    """Validation rule: the rate falls if a test is worse than the best of this many previous tests."""
    epochs: int = 1000
    """Number of epochs."""
    batches: int = 10
    """Batches per epoch."""
    batch_size: int = 32
    """Problems per batch, or parallel columns of a text."""
    steps: int = 20
    """Words of a text per piece: the length of truncated backpropagation; state and memory are carried over."""
    mixed_lengths: bool = False
    """Mix problems of different lengths in a batch, padded; by default all problems of a batch have the same length."""
    curriculum: float = 0.0
    """Start with the shortest problems and reach all lengths after this fraction of the epochs."""
    curriculum_seeds: Literal["all", "even"] = "all"
    """Which machines follow the curriculum: all, or those with an even seed, which includes every second start."""
    curriculum_focus: float = 0.0
    """Fraction of problems with the current maximum length; the others are uniform. 0: all uniform up to the
    maximum."""
    curriculum_threshold: float = 0.0
    """Adaptive curriculum: a seed moves on to longer problems once this fraction of symbols is right at its current
    maximum length. 0: no adaptive curriculum."""
    curriculum_step: int = 2
    """Adaptive curriculum: the number of lengths it starts with, and that it adds each time."""
    hard_share: float = 0.0
    """Fraction of training problems that are hard (structured ones, such as long carries and repeated symbols)."""
    recycled_problems: int | None = None
    """Train on a fixed set of this many problems per seed; by default all problems are fresh."""
    noise: float = 0.0
    """Standard deviation of Gaussian noise on the controller's preactivations during training."""
    test_every: int = 20
    """Epochs between tests."""
    test_batches: int = 100
    """Batches per test and scale."""
    test_scales: tuple[int, ...] = (1, 2)
    """Scales to test at, as multiples of the training lengths."""
    test_hard_scales: tuple[int, ...] = ()
    """Scales at which to test on hard problems too; these tests also select the best weights."""
    select_by: Score = "coarse"
    """Score that selects the best weights and the best seed; the other score breaks ties."""
    shorter_first: bool = False
    """Rank weights by the number of consecutive scales solved, then by mean score."""
    starts: int = 1
    """Machines trained per seed, with different initial weights; the one with the best test is kept."""

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < math.inf:
            raise LantmError(f"learning_rate is {self.learning_rate}: give a number above 0")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise LantmError(f"clip is {self.clip}: give a number above 0, or None for no clipping")
        for name in ("decay", "momentum"):
            if not 0 <= getattr(self, name) < 1:
                raise LantmError(f"{name} is {getattr(self, name)}: give a number of at least 0 and below 1")
        if not 0 < self.plateau_factor <= 1:
            raise LantmError(f"plateau_factor is {self.plateau_factor}: give a number above 0, at most 1")
        if not 0 <= self.noise < math.inf:
            raise LantmError(f"noise is {self.noise}: give a number of at least 0")
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
            raise LantmError("curriculum and curriculum_threshold cannot be combined: give one of them")
        if self.curriculum_threshold and self.schedule == "validation":
            raise LantmError(
                "the schedule validation waits for the end of the curriculum, and with curriculum_threshold it is not "
                "known: give another one"
            )
        counts = ("epochs", "batches", "batch_size", "steps", "test_every", "test_batches", "starts", "curriculum_step")
        for name in ("plateau_patience", "validation_memory", *counts):
            if not 1 <= getattr(self, name) <= _LARGEST:
                raise LantmError(f"{name} is {getattr(self, name)}: give a whole number from 1 to {_LARGEST}")
        for name in ("test_scales", "test_hard_scales"):
            if (scales := len(getattr(self, name))) > _MOST_SCALES:
                raise LantmError(f"{name} has {scales:,} entries: give at most {_MOST_SCALES}")
        if not self.test_scales or not all(1 <= scale <= _LARGEST for scale in self.test_scales):
            raise LantmError(
                f"test_scales are {self.test_scales}: give at least one, each a whole number of at least 1"
            )
        if not all(1 <= scale <= _LARGEST for scale in self.test_hard_scales):
            raise LantmError(f"test_hard_scales are {self.test_hard_scales}: give whole numbers of at least 1, or none")

    @staticmethod
    def upgrade(values: dict[str, Any]) -> dict[str, Any]:
        """Converts a record of an earlier version."""
        values = drop_retired(values, {"select_scales": (), "patience": PATIENCE, "retest_batches": 0}, "recipe")
        if "rate_factor" not in values:
            return values
        # Earlier versions had a separate recipe for texts, with these settings fixed.
        factor = values.pop("rate_factor")
        fixed = {"optimiser": "adagrad", "schedule": "validation", "plateau_start": 0, "validation_memory": 1}
        return {**fixed, "plateau_factor": factor, "test_every": 1, **values}

    def transform(self) -> "optax.GradientTransformation":
        """The gradient transformation, at learning rate 1. Steps with a non-finite gradient are skipped and counted."""
        import optax  # imported here because it slows the start of commands that do not train

        clip = optax.identity() if self.clip is None else optax.clip_by_global_norm(self.clip)
        if self.optimiser == "rmsprop":
            # As in the authors' program: epsilon outside the root, and an average that starts at zero.
            scale = optax.scale_by_rms(self.decay, eps=1e-8, initial_scale=0.0, eps_in_sqrt=False)
            momentum = optax.trace(self.momentum) if self.momentum else optax.identity()
            rule = optax.chain(scale, momentum)
        elif self.optimiser == "adam":
            rule = optax.scale_by_adam()
        else:
            # As in the authors' program: sums start at zero, with a negligible epsilon.
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
        """Draws a training length for a seed in an epoch; `reached` is the state of an adaptive curriculum."""
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
