"""The run folder: everything about a training, in files that other programs can read.

experiment.json     what was trained and how: all that is needed to repeat it
metrics.jsonl       a line an epoch a seed, and a line a test a seed
checkpoints/        the last two, as safetensors; training goes on from the newest whole one
recordings/         what seeds did with one problem an epoch, as safetensors
tensorboard/        the same metrics as event files
summary.json        the final scores, once training is complete
report.html         the same for people: curves, machines at work, why they fail (see `lantm.report.pages`)
"""

import json
import pathlib
import re
from collections.abc import Iterator
from typing import Any, ClassVar, Protocol, runtime_checkable

from lantm.errors import LantmError
from lantm.evaluation import Recording
from lantm.training import checkpoint, recordings
from lantm.training.experiment import Experiment

_COMMANDS = "tasks are for lantm train, eval and solve, language models for lantm language"
KEPT = 2  # checkpoints: one that is being replaced by the next can be lost, so the one before it stays


@runtime_checkable
class Record(Protocol):
    """What was trained and how."""

    kind: ClassVar[str]

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""


class RunFolder:
    """A run on disk."""

    def __init__(self, path: pathlib.Path):
        """Names the folder; `create` or `open` make sure that it is one."""
        self.path = path

    @classmethod
    def create(cls, path: pathlib.Path, experiment: Record, provenance: dict[str, Any]) -> "RunFolder":
        """A new run folder; one that holds a run already is not touched."""
        folder = cls(path)
        if folder._experiment_file.exists():
            raise LantmError(f"{path} holds a run already: go on with --resume, or choose another --out")
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise LantmError(f"{path} is not empty: choose another --out")
        text = json.dumps(
            {"kind": experiment.kind, "experiment": experiment.to_json(), "provenance": provenance}, indent=2
        )
        checkpoint.write_whole(folder._experiment_file, text.encode())
        return folder

    @classmethod
    def open(cls, path: pathlib.Path) -> "RunFolder":
        """A run folder that exists."""
        folder = cls(path)
        if not folder._experiment_file.is_file():
            raise LantmError(f"{path} is not a run folder: it has no experiment.json; lantm train --out makes one")
        return folder

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
        """What was trained."""
        return Experiment.from_json(self.record(Experiment.kind))

    def record(self, kind: str) -> Any:
        """What was trained, as JSON has it; a run of another kind is a `LantmError`."""
        values = self._read_json(self._experiment_file)
        found = values.get("kind", Experiment.kind)
        if found != kind:
            raise LantmError(f"{self.path} holds a run of another kind ({found}, not {kind}): {_COMMANDS}")
        return values.get("experiment")

    def provenance(self) -> dict[str, Any]:
        """Where and with what it was trained."""
        return self._read_json(self._experiment_file).get("provenance", {})

    def _read_json(self, path: pathlib.Path) -> dict[str, Any]:
        try:
            values = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise LantmError(f"{path} cannot be read as JSON: {error}") from error
        if not isinstance(values, dict):
            raise LantmError(f"{path} is not a JSON object")
        return values

    # Metrics.

    def append_metrics(self, rows: list[dict[str, Any]]) -> None:
        """Adds lines to metrics.jsonl."""
        try:
            with open(self._metrics_file, "a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
        except OSError as error:
            raise LantmError(f"cannot write {self._metrics_file}: {error.strerror}") from error

    def metrics(self) -> Iterator[dict[str, Any]]:
        """The lines of metrics.jsonl; one that was cut off by a crash is passed over."""
        if not self._metrics_file.exists():
            return
        with open(self._metrics_file, encoding="utf-8", errors="replace") as file:
            for line in file:
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError):
                    continue
                if isinstance(row, dict) and isinstance(row.get("epoch"), int):
                    yield row

    def forget_after(self, epoch: int) -> None:
        """Drops what was recorded after the checkpoint that training goes on from, and files cut off by a crash."""
        for unfinished in (*self.path.glob(".*.tmp"), *self.path.glob("checkpoints/.*.tmp")):
            unfinished.unlink(missing_ok=True)
        recordings.forget_after(self.recordings_path, epoch)
        rows = [row for row in self.metrics() if row["epoch"] <= epoch]
        checkpoint.write_whole(self._metrics_file, "".join(json.dumps(row) + "\n" for row in rows).encode())

    def write_summary(self, summary: dict[str, Any]) -> None:
        """The final scores."""
        checkpoint.write_whole(self._summary_file, json.dumps(summary, indent=2).encode())

    def summary(self) -> dict[str, Any]:
        """The final scores; empty while training is not complete."""
        return self._read_json(self._summary_file) if self._summary_file.exists() else {}

    # Recordings.

    @property
    def recordings_path(self) -> pathlib.Path:
        """The folder of the recordings."""
        return self.path / "recordings"

    def recordings(self, seed: int) -> Iterator[tuple[int, Recording]]:
        """What a seed did after every epoch, with the epochs; a run without recordings has none."""
        return recordings.load_recordings(self.recordings_path, self.experiment(), seed)

    # Checkpoints.

    def _checkpoints(self) -> list[tuple[int, pathlib.Path]]:
        """Epochs and files, newest first."""
        found = []
        for path in (self.path / "checkpoints").glob("epoch-*.safetensors"):
            if match := re.fullmatch(r"epoch-(\d+)\.safetensors", path.name):
                found.append((int(match[1]), path))
        return sorted(found, reverse=True)

    def has_checkpoint(self) -> bool:
        """Whether there is a checkpoint, whole or not."""
        return bool(self._checkpoints())

    def save_checkpoint(self, epoch: int, learners: Any) -> None:
        """Writes a checkpoint and removes all but the last two."""
        path = self.path / "checkpoints" / f"epoch-{epoch:06d}.safetensors"
        checkpoint.save(path, learners, {"epoch": epoch})
        for _, old in self._checkpoints()[KEPT:]:
            old.unlink(missing_ok=True)

    def load_checkpoint(self, like: Any) -> tuple[int, Any, list[str]]:
        """The newest whole checkpoint: its epoch, its contents, and what was wrong with newer ones."""
        warnings = []
        for epoch, path in self._checkpoints():
            try:
                learners, notes = checkpoint.load(path, like)
            except LantmError as error:
                warnings.append(str(error))
                continue
            if notes.get("epoch") == epoch:
                return epoch, learners, warnings
            warnings.append(f"{path} is damaged: it is not of epoch {epoch}")
        if warnings:
            raise LantmError(f"{self.path} has no usable checkpoint: {warnings[0]}")
        raise LantmError(f"{self.path} has no checkpoint yet: train on with --resume {self.path}")
