"""The training loop over a text: epochs of all seeds, validation, metrics and checkpoints, interruptible at any moment.

The text is on the device; a call reads as many pieces as fit into a few seconds. Nothing waits for data.
"""

import pathlib
import time
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Bool, Float

from lantm.errors import LantmError
from lantm.language.corpus import Corpus, read_corpus
from lantm.language.experiment import LanguageExperiment
from lantm.language.learner import LanguageLearner, begin, close_epoch, read_and_learn
from lantm.language.perplexity import Examiner, Perplexity
from lantm.language.pieces import cut
from lantm.seeds import device_mesh, over_seeds, place
from lantm.training.events import EventFiles
from lantm.training.run_folder import RunFolder

_SECONDS_A_CALL = 3.0  # between two moments at which training can be stopped
_SECONDS_A_CHECKPOINT = 60.0  # writing one takes seconds when there are many seeds


class LanguageProgress(NamedTuple):
    """What a watcher is told after every call, and after every epoch."""

    epoch: int  # the one that is under way, or has just ended
    piece: int
    pieces: int
    perplexity: Float[np.ndarray, " seeds"]  # of the training text, as far as it was read in this epoch
    rate: Float[np.ndarray, " seeds"]
    validation: Perplexity | None  # when the epoch has ended
    words_per_second: float  # all seeds together, since training began in this process
    seconds: float


class LanguageResult(NamedTuple):
    """How a training ended."""

    learners: LanguageLearner
    epoch: int
    complete: bool
    validation: Perplexity | None  # of the best weights, once training is complete
    test: Perplexity | None
    seconds: float


def start(experiment: LanguageExperiment, vocabulary: int, pieces: int, mesh: Mesh) -> LanguageLearner:
    """All seeds before their first epoch."""
    seeds = jnp.arange(experiment.first_seed, experiment.first_seed + experiment.seeds, dtype=jnp.int32)
    return _beginning(experiment, vocabulary, pieces, mesh)(place(seeds, mesh))


# A program is compiled once in a process, also when training is stopped and resumed.


@lru_cache
def _beginning(experiment: LanguageExperiment, vocabulary: int, pieces: int, mesh: Mesh) -> Callable[..., Any]:
    return over_seeds(partial(begin, experiment, vocabulary, pieces), mesh)


@lru_cache
def _reading(clip: float | None, mesh: Mesh) -> Callable[..., Any]:
    return over_seeds(partial(read_and_learn, clip), mesh, donate_argnums=0)


@lru_cache
def _closing(rate_factor: float, mesh: Mesh) -> Callable[..., Any]:
    return over_seeds(partial(close_epoch, rate_factor), mesh, donate_argnums=0)


def open_corpus(experiment: LanguageExperiment, folder: pathlib.Path | None = None) -> Corpus:
    """The text of an experiment, from where it was or from another folder."""
    folder = folder or pathlib.Path(experiment.data)
    corpus = read_corpus(folder, experiment.vocabulary)
    if corpus.digest != experiment.digest:
        raise LantmError(f"the text in {folder} is not the one that was trained on: name its folder with --data")
    return corpus


def load_learners(
    folder: RunFolder, experiment: LanguageExperiment, corpus: Corpus
) -> tuple[int, LanguageLearner, list[str]]:
    """The newest whole checkpoint of a run, with warnings about newer ones that are damaged."""
    recipe, mesh = experiment.recipe, device_mesh(experiment.seeds)
    pieces = -(-len(corpus.train) // (recipe.batch_size * recipe.steps))
    like = jax.eval_shape(lambda: start(experiment, len(corpus.words), pieces, mesh))
    epoch, learners, warnings = folder.load_checkpoint(like)
    return epoch, place(learners, mesh), warnings


def train(
    experiment: LanguageExperiment,
    corpus: Corpus,
    folder: RunFolder,
    resume: bool = False,
    watch: Callable[[LanguageProgress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    warn: Callable[[str], None] = lambda warning: None,
) -> LanguageResult:
    """Trains every seed to the end, or until `stop` says so; a stopped run can be resumed, also within an epoch.

    Interrupted at any moment and resumed, a run ends in the same weights as one that was not, on the same machine.
    """
    recipe, mesh = experiment.recipe, device_mesh(experiment.seeds)
    text = cut(corpus.train, recipe.batch_size, recipe.steps, corpus.end)
    mask = np.asarray(text.mask)
    validate, test = (
        Examiner(part, corpus.end, experiment.seeds, recipe.batch_size, recipe.steps)
        for part in (corpus.valid, corpus.test)
    )
    epoch = 0
    if resume and folder.has_checkpoint():
        epoch, learners, warnings = load_learners(folder, experiment, corpus)
        for warning in warnings:
            warn(warning)
    else:  # also when it was killed before its first checkpoint
        learners = start(experiment, len(corpus.words), text.number, mesh)
    if resume:
        folder.forget_after(epoch)

    read, close = _reading(recipe.clip, mesh), _closing(recipe.rate_factor, mesh)
    piece = int(np.asarray(learners.piece)[0])
    began = saved = time.monotonic()
    words, unsaved = 0, False
    pace = _Pace()

    def report(validation: Perplexity | None) -> None:
        seconds = time.monotonic() - began
        losses = _training_losses(learners, piece, mask)
        rate = np.asarray(learners.rate)
        progress = LanguageProgress(
            epoch + 1, piece, text.number, np.exp(losses), rate, validation, words / seconds, seconds
        )
        watch(progress)

    with EventFiles(folder.path / "tensorboard", epoch) as events:
        while epoch < recipe.epochs and not stop():
            if piece < text.number:
                end = min(piece + pace.pieces, text.number)
                with pace:
                    learners = jax.block_until_ready(read(learners, text, piece, end))
                words += experiment.seeds * recipe.batch_size * recipe.steps * (end - piece)
                piece, unsaved = end, True
                report(None)
            if piece == text.number:
                validation = validate(learners.model)
                rows = _rows(experiment, epoch + 1, learners, _training_losses(learners, piece, mask), validation)
                report(validation)
                losses = place(jnp.asarray(validation.losses, jnp.float32), mesh)
                learners = close((learners, losses), jnp.asarray(epoch + 1))
                epoch, piece = epoch + 1, 0
                folder.append_metrics(rows)
                events.write(rows)
            if epoch == recipe.epochs or time.monotonic() - saved > _SECONDS_A_CHECKPOINT:
                folder.save_checkpoint(epoch, learners)
                saved, unsaved = time.monotonic(), False

        complete = epoch >= recipe.epochs
        if unsaved:
            folder.save_checkpoint(epoch, learners)
    seconds = time.monotonic() - began
    if not complete:
        return LanguageResult(learners, epoch, False, None, None, seconds)
    best = learners.best_model
    return LanguageResult(learners, epoch, True, validate(best), test(best), seconds)


class _Pace:
    """How many pieces a call reads: few at first, then as many as fit into its time."""

    def __init__(self) -> None:
        self.pieces = 4
        self._calls = 0

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        taken = time.monotonic() - self._began
        self._calls += 1
        if self._calls > 1:  # the first one compiles
            fitting = self.pieces * _SECONDS_A_CALL / taken
            self.pieces = max(1, int(min(fitting, 8 * self.pieces)))


def _training_losses(
    learners: LanguageLearner, piece: int, mask: Bool[np.ndarray, "pieces steps batch"]
) -> Float[np.ndarray, " seeds"]:
    """The mean surprise a word in the pieces that were read so far in this epoch, with the weights of each moment.

    NumPy cuts the arrays: JAX would compile a program for every number of pieces, and keep it.
    """
    surprises = np.asarray(learners.surprises, np.float64)[:, :piece]
    return surprises.sum(axis=1) / max(int(mask[:piece].sum()), 1)


def _rows(
    experiment: LanguageExperiment,
    epoch: int,
    learners: LanguageLearner,
    losses: Float[np.ndarray, " seeds"],
    validation: Perplexity,
) -> list[dict[str, Any]]:
    norms = np.asarray(learners.norms)
    return [
        {
            "epoch": epoch,
            "seed": experiment.first_seed + index,
            "perplexity": _number(np.exp(losses[index])),
            "validation_perplexity": _number(validation.values[index]),
            "gradient_norm": _number(norms[index].mean()),
            "rate": float(learners.rate[index]),
            "skipped": int(learners.skipped[index]),
        }
        for index in range(experiment.seeds)
    ]


def _number(value: Any) -> float | None:
    """A JSON number; JSON has no word for infinity or nan."""
    return float(value) if np.isfinite(value) else None
