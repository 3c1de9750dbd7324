"""`RunFolder`: the folder of a training (experiment, metrics, checkpoints, results), and its lock.

experiment.json     the experiment: all that is needed to repeat the training
metrics.jsonl       one line per epoch and seed, and one per test and seed
checkpoints/        the last two, as safetensors; training resumes from the newest intact one
.lock               lock of the process that trains, reports or promotes; .holder.json names it
recordings/         what seeds did on one problem per epoch, as safetensors
tensorboard/        the metrics as event files
seconds.json        the training time of all processes together
summary.json        the final scores, once training is complete
report.html         the results as a page (see `lantm.report.pages`)
"""

import contextlib
import dataclasses
import json
import pathlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lantm import weight_files
from lantm.errors import LantmError, concerning
from lantm.evaluation import Recording
from lantm.files import check_file, check_folder, destination, leftovers, read_json_object, write_json, write_whole
from lantm.locks import LOCK_FILES, locked
from lantm.provenance import read_provenance
from lantm.records import make_record
from lantm.registry import Trust
from lantm.tasks import Source
from lantm.training import recordings
from lantm.training.experiment import Experiment
from lantm.training.history import History, is_metrics
from lantm.training.rows import read_rows


@dataclasses.dataclass(frozen=True)
class Summary:
    """The required fields of summary.json besides the rows; further fields are allowed."""

    epoch: int = 0
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Seconds:
    """The contents of seconds.json."""

    seconds: float


_LONGEST_LINE = 2**16  # characters per line of metrics
KEPT = 2  # checkpoints: the newest, and the previous one in case the newest is damaged


class RunFolder:
    """The folder of a training run."""

    def __init__(self, path: pathlib.Path, trust: Trust = False):
        """Does not access the disk; use `create` or `open`. `trust` lists modules that the folder may import."""
        self.path = path
        self.trust = trust

    @classmethod
    def create(cls, path: pathlib.Path, experiment: Experiment, provenance: dict[str, Any]) -> "RunFolder":
        """Creates a run folder; raises a `LantmError` if the folder already holds a run."""
        folder = cls(path, experiment.modules)
        held = LantmError(f"{path} holds a run already: continue it with --resume, or choose another --out")
        if folder.exists():
            raise held
        check_folder(path)
        taken = LantmError(f"{path} is not empty: choose another --out")
        # If the folder has a lock, another process may be creating a run there; then taking the lock reports it.
        if path.exists() and (names := _names(path)) and not names & LOCK_FILES:
            raise taken
        with folder.locked():
            if folder.exists():  # another process was faster
                raise held
            for unfinished in leftovers(path):  # of a process that was killed before it had created a run
                unfinished.unlink(missing_ok=True)
            if _names(path) - LOCK_FILES:
                raise taken
            write_json(folder._experiment_file, {"experiment": experiment.to_json(), "provenance": provenance})
        return folder

    @classmethod
    def open(cls, path: pathlib.Path, trust: Trust = False) -> "RunFolder":
        """Opens an existing run folder."""
        folder = cls(path, trust)
        if not folder.exists():
            raise LantmError(f"{path} is not a run folder: it has no experiment.json; lantm train --out makes one")
        return folder

    @contextlib.contextmanager
    def locked(self, timeout: float = 0, reads: bool = False) -> Iterator[None]:
        """Holds the folder's lock, which excludes other processes that train, report on or promote this run."""
        with locked(self.path, timeout, reads=reads):
            yield

    def exists(self) -> bool:
        """Whether the folder holds a run."""
        return self._experiment_file.is_file()

    @property
    def _experiment_file(self) -> pathlib.Path:
        return self.path / "experiment.json"

    @property
    def _summary_file(self) -> pathlib.Path:
        return self.path / "summary.json"

    @property
    def _metrics_file(self) -> pathlib.Path:
        return self.path / "metrics.jsonl"

    def experiment(self) -> Experiment:
        """The experiment of the run."""
        values = read_json_object(self._experiment_file).get("experiment")
        with concerning(self._experiment_file):
            return Experiment.from_json(values, self.trust)

    def provenance(self) -> dict[str, Any]:
        """The provenance of the run."""
        where = f"the provenance in {self._experiment_file}"
        return read_provenance(read_json_object(self._experiment_file).get("provenance", {}), where)

    def extend(self, epochs: int) -> Experiment:
        """Increases the number of epochs, before the run is resumed; deletes the summary, which is then outdated."""
        experiment = self.experiment()
        if epochs <= experiment.recipe.epochs:
            raise LantmError(f"epochs is {epochs}: the run is set to {experiment.recipe.epochs}, give more")
        longer = experiment.with_epochs(epochs)
        self._summary_file.unlink(missing_ok=True)
        write_json(self._experiment_file, {"experiment": longer.to_json(), "provenance": self.provenance()})
        return longer

    # Metrics.

    def append_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Adds lines to metrics.jsonl."""
        try:
            with open(destination(self._metrics_file), "a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        except OSError as error:
            raise LantmError(f"cannot write {self._metrics_file}: {error.strerror}") from error

    def metrics(self) -> Iterator[dict[str, Any]]:
        """The lines of metrics.jsonl; incomplete or invalid lines are skipped."""
        if not self._metrics_file.exists():
            return
        check_file(self._metrics_file)
        with open(self._metrics_file, encoding="utf-8", errors="replace") as file:
            # We write no longer lines. A longer one is read in parts, which are skipped, and never as a whole.
            for line in iter(lambda: file.readline(_LONGEST_LINE), ""):
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if is_metrics(row):
                    yield row

    def history(self, experiment: Experiment) -> History:
        """The metrics as arrays."""
        return History.from_rows(self.metrics(), experiment.seed_numbers)

    def last_epoch(self) -> int:
        """The last epoch in the metrics; reads only the end of the file."""
        try:
            check_file(self._metrics_file)
            with open(self._metrics_file, "rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - 4096))
                lines = file.read().splitlines()
        except (OSError, LantmError):
            return 0
        for line in reversed(lines):
            with contextlib.suppress(ValueError, RecursionError):
                if is_metrics(row := json.loads(line)):
                    return int(row["epoch"])
        return 0

    def forget_after(self, epoch: int) -> None:
        """Deletes everything newer than the checkpoint that training resumes from, and unfinished files."""
        for folder in (self.path, self.path / "checkpoints", self.recordings_path):
            for unfinished in leftovers(folder):
                unfinished.unlink(missing_ok=True)
        recordings.forget_after(self.recordings_path, epoch)
        rows = [row for row in self.metrics() if row["epoch"] <= epoch]
        kept = "".join(json.dumps(row) + "\n" for row in rows).encode()
        if not (self._metrics_file.is_file() and self._metrics_file.read_bytes() == kept):
            write_whole(self._metrics_file, kept)

    def write_summary(self, summary: dict[str, Any]) -> None:
        """Writes the final scores."""
        write_json(self._summary_file, summary)

    def summary(self) -> dict[str, Any]:
        """The final scores; empty if training is not complete."""
        if not self._summary_file.exists():
            return {}
        summary, where = read_json_object(self._summary_file), str(self._summary_file)
        make_record(Summary, summary, where, others=True)
        return {**summary, "rows": read_rows(summary.get("rows", []), f"rows in {where}")}

    def has_since_completion(self, name: str) -> bool:
        """Whether this file of a complete run is there, and was written after the final scores."""
        path = self.path / name
        return path.is_file() and path.stat().st_mtime_ns >= self._summary_file.stat().st_mtime_ns

    @property
    def seconds(self) -> float:
        """The training time of all processes together; for a killed process, up to its last checkpoint."""
        try:
            return make_record(Seconds, read_json_object(self.path / "seconds.json"), "seconds.json").seconds
        except (OSError, LantmError):
            return 0.0

    def write_seconds(self, seconds: float) -> None:
        """Writes the training time so far."""
        write_json(self.path / "seconds.json", {"seconds": round(seconds, 1)})

    # Recordings.

    @property
    def recordings_path(self) -> pathlib.Path:
        """The folder of the recordings."""
        return self.path / "recordings"

    def recordings(self, source: Source, seed: int) -> Iterator[tuple[int, Recording]]:
        """The recordings of a seed with their epochs; raises a `LantmError` if it is not among the recorded ones."""
        return recordings.load_recordings(self.recordings_path, self.experiment(), source, seed)

    # Checkpoints.

    def _checkpoints(self) -> list[tuple[int, pathlib.Path]]:
        """Epochs and files, newest first."""
        found = []
        for path in (self.path / "checkpoints").glob("epoch-*.safetensors"):
            if match := re.fullmatch(r"epoch-(\d+)\.safetensors", path.name):
                found.append((int(match[1]), path))
        return sorted(found, reverse=True)

    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint, intact or not."""
        return bool(self._checkpoints())

    def save_checkpoint(self, epoch: int, learners: Any, origin: Mapping[str, Any] | None = None) -> None:
        """Writes a checkpoint with notes of its origin, and deletes all but the last two."""
        path = self.path / "checkpoints" / f"epoch-{epoch:06d}.safetensors"
        weight_files.save(path, learners, {"epoch": epoch, **(origin or {})})
        for _, old in self._checkpoints()[KEPT:]:
            old.unlink(missing_ok=True)

    def load_checkpoint(
        self, like: Any, check_origin: Callable[[Mapping[str, Any]], None] = lambda notes: None
    ) -> tuple[int, Any, list[str]]:
        """The newest intact checkpoint: its epoch, its contents, and warnings about damaged newer ones.

        `check_origin` raises an error if the checkpoint belongs to another experiment.
        """
        warnings = []
        for epoch, path in self._checkpoints():
            try:
                notes = weight_files.read_notes(path)
            except LantmError as error:
                warnings.append(str(error))
                continue
            check_origin(notes)
            try:
                learners, notes = weight_files.load(path, like)
            except LantmError as error:
                warnings.append(str(error))
                continue
            if notes.get("epoch") == epoch:
                return epoch, learners, warnings
            warnings.append(f"{path} is damaged: it is not of epoch {epoch}")
        if warnings:
            raise LantmError(f"{self.path} has no usable checkpoint: {warnings[0]}")
        raise LantmError(f"{self.path} has no checkpoint yet: continue training with --resume {self.path}")


def _names(folder: pathlib.Path) -> set[str]:
    return {path.name for path in folder.iterdir()}
