"""The training loop over epochs, for all seeds: tests, metrics and checkpoints; can be interrupted at any time.

A call to the device runs about a second's worth of batches, so that training can be stopped and resumed within an
epoch.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lantm.devices import device_mesh, place
from lantm.evaluation import Measured, merits
from lantm.interrupt import saved_at_the_end
from lantm.machine import Model, kernel
from lantm.tasks import Source
from lantm.training.budget import check_budget
from lantm.training.events import EventFiles
from lantm.training.experiment import Experiment
from lantm.training.history import History, epoch_rows, rows_of_tests
from lantm.training.learner import EpochReport, Learner
from lantm.training.material import final_draw, make_material, periodic_draw
from lantm.training.origin import origin
from lantm.training.pace import Pace
from lantm.training.programs import Programs
from lantm.training.recordings import Recorder
from lantm.training.rows import Row
from lantm.training.run_folder import RunFolder
from lantm.training.starts import best_starts, leading, load_learners, start, start_merits, start_with

_SECONDS_PER_CHECKPOINT = 60.0  # within an epoch, or if writing a checkpoint is slow
_QUICK = 1.0  # seconds: a checkpoint that takes longer is not written after every test


class Progress(NamedTuple):
    """The argument of `watch`, which is called after every call to the device and after every epoch."""

    epoch: int  # the current epoch, or the one that has just ended
    epochs: int
    batch: int  # batches done in this epoch
    batches: int
    loss: Float[np.ndarray, " seeds"]  # mean over this epoch so far
    rate: Float[np.ndarray, " seeds"]
    report: EpochReport | None  # at the end of an epoch; fields have a leading axis of seeds
    tests: dict[str, Measured]  # the latest test
    tested: bool  # whether `tests` is new
    seconds: float  # training time, including earlier processes
    per_second: float  # problems or words per second, all machines together


class Result(NamedTuple):
    """The result of a training: one learner per seed, the best of its starts."""

    experiment: Experiment
    source: Source
    learners: Learner
    epoch: int
    complete: bool
    tests: dict[str, Measured]  # of the best weights on fresh problems; empty if interrupted
    history: History
    start_merits: list[list[float | None]]  # the best test of every machine, one list per seed
    seconds: float  # as in `Progress`


def train(
    experiment: Experiment,
    folder: RunFolder | None = None,
    source: Source | None = None,
    resume: bool = False,
    watch: Callable[[Progress], None] = lambda progress: None,
    stop: Callable[[], bool] = lambda: False,
    warn: Callable[[str], None] = lambda warning: None,
    initial: Model | None = None,
    announce: Callable[[int, str], None] = lambda epoch, what: None,
) -> Result:
    """Trains every seed to the end, or until `stop` returns true; a run with a folder can be resumed.

    All seeds start from the weights `initial` if given, otherwise each from its own random weights. `announce` is
    called with what else is done after an epoch, such as a test, which may take longer than the epoch.

    On a CPU, interrupting and resuming a run at any moment does not change the final weights: everything random is a
    function of seed, epoch and batch, and everything else is in the checkpoint.
    """
    kernel.prepare()
    source = source or experiment.source()
    check_budget(experiment, source, None if folder is None else folder.path)
    with folder.locked() if folder else contextlib.nullcontext():
        training = _Training(experiment, folder, source, watch, warn, announce)
        if resume and folder is not None:
            training.resume(folder)
        if initial is not None and not training.resumed:
            training.begin_with(initial)
        events = EventFiles(folder.path / "tensorboard" if folder else None, training.epoch)
        with saved_at_the_end(training.save_last):
            while training.epoch < experiment.recipe.epochs and not stop():
                events.write(training.advance())
            return training.result()


class _Training:
    """A training in progress."""

    def __init__(
        self,
        experiment: Experiment,
        folder: RunFolder | None,
        source: Source,
        watch: Callable[[Progress], None],
        warn: Callable[[str], None],
        announce: Callable[[int, str], None],
    ):
        self._experiment, self._folder, self._source = experiment, folder, source
        self._watch, self._warn, self._announce = watch, warn, announce
        self._origin = origin(experiment, source)
        self._recipe = experiment.recipe
        self._material = material = make_material(experiment, source)
        mesh = self._mesh = device_mesh(experiment.machines)
        self._learners = start(experiment, source, material, mesh)
        self._programs = Programs.of(material.lessons, mesh)
        self._recorder = Recorder(experiment, source, folder.recordings_path) if folder else None
        self._leading = leading(experiment, self._learners)
        self.epoch = self._batch = 0
        self.resumed = False
        self._tests: dict[str, Measured] = {}
        self._rows: list[Row] = []
        self._pace = Pace(material.batches)
        self._trained = 0
        self._began = self._saved = time.monotonic()
        self._earlier = 0.0  # training time of earlier processes
        self._saving, self._unsaved = 0.0, False
        self._last = 0, self._learners
        self._writing = threading.Lock()

    def begin_with(self, model: Model) -> None:
        """Gives all machines the same initial weights, and saves them for a resumed run."""
        self._learners = start_with(self._learners, model, self._mesh)
        self._last = 0, self._learners
        self._save()

    def resume(self, folder: RunFolder) -> None:
        """Continues from the newest intact checkpoint, or from the start if there is none."""
        self._earlier = folder.seconds
        if folder.has_checkpoint():
            self.epoch, self._learners, warnings = load_learners(folder, self._experiment, self._source)
            for warning in warnings:
                self._warn(warning)
            self._batch = int(np.asarray(self._learners.batch)[0])
            self.resumed = True
            self._leading = leading(self._experiment, self._learners)
        folder.forget_after(self.epoch)
        self._last = self.epoch, self._learners
        if self._recorder is not None:
            self._recorder.resume(self.epoch)

    def advance(self) -> list[Row]:
        """Trains for about a second, or to the end of the epoch; returns the rows of metrics if the epoch ended."""
        material, epoch = self._material, self.epoch + 1
        end = min(self._batch + self._pace.batches, material.batches)
        with self._pace:
            bounds = (jnp.asarray(number, jnp.int32) for number in (epoch, self._batch, end))
            self._learners = jax.block_until_ready(self._programs.train(self._learners, material.data, *bounds))
        self._trained += self._experiment.machines * material.per_batch * (end - self._batch)
        self._batch, self._unsaved = end, True
        rows: list[Row] = []
        if end == material.batches:
            rows = self._end_epoch(epoch)
        else:
            self._report(epoch)
        self._last = self.epoch, self._learners
        if self._recorder is not None:
            self._recorder.let_go()
        since = time.monotonic() - self._saved
        tested = bool(rows) and "test" in rows[-1]
        if since > _SECONDS_PER_CHECKPOINT or (tested and (self._saving < _QUICK or epoch == self._recipe.epochs)):
            self._save()
        return rows

    def _end_epoch(self, epoch: int) -> list[Row]:
        recipe, experiment = self._recipe, self._experiment
        self._learners, reports = self._programs.close(
            self._learners, jnp.asarray(self._material.counts), jnp.asarray(epoch)
        )
        report: EpochReport = jax.tree.map(lambda values: values[self._leading], jax.device_get(reports))
        if self._recorder is not None:
            self._recorder.add(epoch, self._learners.model, self._leading)
        rows = epoch_rows(experiment, epoch, report)
        tested = epoch % recipe.test_every == 0 or epoch == recipe.epochs
        if tested:
            self._announce(epoch, "testing")
            self._take_tests(epoch)
            rows += rows_of_tests(experiment, epoch, self._tests)
        if self._folder is None:
            self._rows += rows
        else:  # a long training keeps its metrics only on disk
            self._folder.append_metrics(rows)
        self.epoch, self._batch = epoch, 0
        self._report(epoch, report, tested)
        return rows

    def _take_tests(self, epoch: int) -> None:
        recipe, learners = self._recipe, self._learners
        tests = self._material.tests(learners.model, learners.seed, periodic_draw(recipe, epoch))
        selecting = self._material.selecting(tests)
        merit = merits(selecting, recipe.select_by, recipe.shorter_first)
        self._learners = self._programs.keep_best((self._learners, self._placed(merit)), jnp.asarray(epoch))
        if recipe.schedule == "validation":
            fine = np.asarray(np.mean([test.ranking("fine")[0] for test in tests.values()], axis=0), np.float32)
            self._learners = self._programs.heed((self._learners, self._placed(fine)), jnp.asarray(epoch))
        self._leading = leading(self._experiment, self._learners)
        self._tests = {label: test.among(self._leading) for label, test in tests.items()}

    def _placed(self, values: Float[np.ndarray, " machines"]) -> Float[Array, " machines"]:
        return place(jnp.asarray(values), self._mesh)

    def _report(self, epoch: int, report: EpochReport | None = None, tested: bool = False) -> None:
        """Calls `watch`, within an epoch or at its end."""
        if report is None:
            # Sliced by NumPy: JAX would compile and cache a program for every number of batches.
            losses = np.asarray(self._learners.losses)[self._leading, : self._batch]
            counts = np.isfinite(losses) * self._material.counts[: self._batch]
            with np.errstate(invalid="ignore"):  # nan: no step was finite
                loss = np.sum(losses * counts, axis=1, where=counts > 0) / np.sum(counts, axis=1)
            rate = np.asarray(self._recipe.rate(jnp.asarray(epoch), self._learners.rate_scale))[self._leading]
        else:
            loss, rate = (np.asarray(values) for values in (report.loss, report.rate))
        self._watch(
            Progress(
                epoch=epoch,
                epochs=self._recipe.epochs,
                batch=self._batch or self._material.batches,
                batches=self._material.batches,
                loss=loss,
                rate=rate,
                report=report,
                tests=self._tests,
                tested=tested,
                seconds=self._seconds,
                per_second=self._trained / max(self._seconds - self._earlier, 1e-9),
            )
        )

    @property
    def _seconds(self) -> float:
        return self._earlier + time.monotonic() - self._began

    def _save(self, stopped: bool = False) -> None:
        if self._folder is None or self._recorder is None:
            return
        if self.epoch < self._recipe.epochs and stopped and not self._recorder.compiled:
            self._recorder.set_aside()  # an interrupted command does not wait for compilation
        else:
            self._recorder.write()  # the first call compiles, so it is not counted as checkpoint time
        began = time.monotonic()
        with self._writing:
            self._folder.save_checkpoint(self.epoch, self._learners, self._origin)
            self._folder.write_seconds(self._seconds)
            self._unsaved = False
        self._saved = time.monotonic()
        self._saving = self._saved - began

    def save_last(self) -> None:
        """Saves the state before the current call to the device, from another thread; the process then ends."""
        self._writing.acquire()  # never released: a write in progress finishes, and no other one begins
        epoch, learners = self._last
        if self._unsaved and self._folder is not None and self._recorder is not None:
            self._recorder.set_aside(epoch)
            self._folder.save_checkpoint(epoch, learners, self._origin)
            self._folder.write_seconds(self._seconds)

    def result(self) -> Result:
        """The result so far, after saving a last checkpoint."""
        experiment, recipe, learners = self._experiment, self._recipe, self._learners
        if self._unsaved:
            self._save(stopped=True)
        # A run that was already complete has used no more time.
        seconds = self._seconds if self._trained else self._earlier
        if self._folder is not None and self._trained:
            self._folder.write_seconds(seconds)
        complete = self.epoch >= recipe.epochs
        tests: dict[str, Measured] = {}
        if complete:
            self._announce(self.epoch, "scoring the best weights")
            found = self._material.final(learners.best_model, learners.seed, final_draw(recipe))
            tests = {label: one.among(self._leading) for label, one in found.items()}
        rows = self._rows if self._folder is None else self._folder.metrics()
        history = History.from_rows(rows, experiment.seed_numbers)
        best = best_starts(experiment, learners)
        merit = start_merits(experiment, learners)
        return Result(experiment, self._source, best, self.epoch, complete, tests, history, merit, seconds)
