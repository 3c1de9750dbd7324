"""`GridFolder`: the folder layout and the lock of a grid.

grid.json      the contents of the sweep file
records/       one JSON per finished point or cell; those of a study are in results/STUDY
runs/          the run folders
failures/      the reason of a failed job, until it is tried again
"""

import contextlib
import dataclasses
import json
import pathlib
import shutil
from collections.abc import Iterator
from typing import Any

from lantm.errors import LantmError
from lantm.files import check_folder, read_json_object, write_json, write_whole
from lantm.locks import LOCK_FILES, locked
from lantm.provenance import provenance
from lantm.registry import Trust
from lantm.training import Experiment, RunFolder

Record = dict[str, Any]


class GridFolder:
    """The folder of a grid."""

    def __init__(self, path: pathlib.Path, records: pathlib.Path | None = None):
        """Does not access the disk; use `begin`. `records` is the folder of records, by default a subfolder."""
        self.path = path
        self.records = records or path / "records"

    # The grid.

    def begin(self, asked: dict[str, Any], command: str = "") -> None:
        """Stores the grid; records of an earlier grid stay, and are reused if they match."""
        self.check()
        self.asked_to_stop(False)
        write_json(self._grid_file, {"grid": asked, "command": command, "provenance": provenance()})

    def check(self) -> None:
        """Raises a `LantmError` if the folder has files that do not belong to a grid."""
        check_folder(self.path)
        try:
            others = {path.name for path in self.path.iterdir()} - LOCK_FILES
        except FileNotFoundError:
            return
        except OSError as error:
            raise LantmError(f"{self.path} cannot be the folder of a grid: {error.strerror}") from error
        if others and not self._grid_file.exists():
            raise LantmError(f"{self.path} is not empty and does not hold a grid: choose another --out")

    def asked(self) -> Any:
        """The stored grid."""
        try:
            return read_json_object(self._grid_file).get("grid")
        except FileNotFoundError as error:
            raise LantmError(f"{self.path} is not the folder of a sweep: lantm sweep FILE --out makes one") from error

    @property
    def _grid_file(self) -> pathlib.Path:
        return self.path / "grid.json"

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Holds the grid's lock; its runs have separate locks."""
        with locked(self.path, remedy=f"; lantm sweep --show {self.path} shows its progress"):
            yield

    # Records.

    def record_file(self, name: str) -> pathlib.Path:
        """The file of a record."""
        return self.records / f"{name}.json"

    def record(self, name: str) -> Record | None:
        """A record; None if there is none. Raises a `LantmError` if it cannot be read."""
        try:
            return read_json_object(self.record_file(name), "remove it to have it made again")
        except FileNotFoundError:
            return None

    def write_record(self, name: str, record: Record) -> None:
        """Stores a record atomically."""
        write_whole(self.record_file(name), to_text(record).encode())

    # Trainings.

    @property
    def runs(self) -> pathlib.Path:
        """The folder of the run folders."""
        return self.path / "runs"

    def run(self, name: str, trust: Trust = False) -> RunFolder:
        """The run folder of this name, which need not exist."""
        return RunFolder(self.runs / name, trust)

    def run_folder(self, name: str, experiment: Experiment, for_people: bool) -> tuple[RunFolder, bool]:
        """The run folder of an experiment, and whether it existed; without recordings unless `for_people`."""
        run = self.run(name, experiment.modules)
        if self.check_run(name, experiment):
            return run, True
        if run.path.is_dir():  # a process was killed before it completed the first file
            for path in run.path.iterdir():
                if path.name not in LOCK_FILES:
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        if not for_people:
            experiment = dataclasses.replace(experiment, recorded_seeds=0)
        return RunFolder.create(run.path, experiment, provenance()), False

    def check_run(self, name: str, experiment: Experiment) -> bool:
        """Whether the run folder exists; raises a `LantmError` if it has other settings."""
        run = self.run(name, experiment.modules)
        if not run.exists():
            return False
        if not same_training(run.experiment(), experiment):
            raise LantmError(
                f"{run.path} holds a training with other settings: remove it, or move it aside (lantm reproduce "
                "--again), or choose another folder"
            )
        return True

    def move_aside(self, name: str, record: str) -> None:
        """Renames an existing training and record."""
        for path in (self.record_file(record), self.runs / name):
            number = 1
            while (aside := path.with_name(f"{path.name}.before-{number}")).exists():
                number += 1
            if path.exists():
                path.rename(aside)

    def failure(self, name: str) -> str | None:
        """The reason why the last attempt of a job failed; None if it did not."""
        try:
            return str(read_json_object(self._failure_file(name))["reason"])
        except (OSError, LantmError, LookupError):
            return None

    def note_failure(self, name: str, reason: str | None) -> None:
        """Stores the reason of a failure; None deletes it. Errors, such as a full disk, are ignored."""
        with contextlib.suppress(OSError, LantmError):
            if reason is None:
                self._failure_file(name).unlink(missing_ok=True)
            else:
                write_json(self._failure_file(name), {"reason": reason, **provenance()})

    def _failure_file(self, name: str) -> pathlib.Path:
        return self.path / "failures" / f"{name}.json"

    # Communication with workers on other computers.

    def asked_to_stop(self, ask: bool | None = None) -> bool:
        """Whether workers are asked to save and stop; an argument sets this."""
        path = self.path / "stop"
        with contextlib.suppress(OSError):
            if ask:
                path.touch()
            elif ask is False:
                path.unlink(missing_ok=True)
        return path.exists()


def same_training(one: Experiment, other: Experiment, any_seeds: bool = False) -> bool:
    """Whether two experiments train the same machines, ignoring recordings and the folder of a text."""

    def bare(experiment: Experiment) -> Experiment:
        text = experiment.text and dataclasses.replace(experiment.text, folder="")
        experiment = dataclasses.replace(experiment, recorded_seeds=0, text=text)
        return dataclasses.replace(experiment, seeds=1) if any_seeds and not experiment.members else experiment

    return bare(one) == bare(other)


def to_text(record: Record) -> str:
    """A record as readable JSON: one line per field, and one line per row."""
    fields = []
    for name, value in record.items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        fields.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"
