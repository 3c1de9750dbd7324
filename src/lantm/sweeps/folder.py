"""The sweep folder: what was asked for, what is done, and the trainings themselves.

sweep.json     the sweep, as its file has it
records/       one JSON a point, once it is trained and scored
runs/          a run folder a group
failures/      why a group failed, until it is tried again
"""

import contextlib
import json
import pathlib
import shutil
from collections.abc import Iterator, Sequence
from typing import Any

import filelock

from lantm.errors import LantmError
from lantm.provenance import provenance
from lantm.sweeps.file import Sweep
from lantm.sweeps.packing import Group, pack
from lantm.sweeps.point import Point, Scoring
from lantm.training import RunFolder
from lantm.training.checkpoint import write_whole

Record = dict[str, Any]


class SweepFolder:
    """A sweep on disk."""

    def __init__(self, path: pathlib.Path):
        """Names the folder; `begin` makes it one, `sweep` reads what is in it."""
        self.path = path

    # What was asked for.

    def begin(self, sweep: Sweep, command: str = "") -> None:
        """Writes down what is asked for; records of an earlier sweep stay, and count where they fit."""
        self.check()
        self.asked_to_stop(False)
        text = json.dumps({"sweep": sweep.to_json(), "command": command, "provenance": provenance()}, indent=2)
        write_whole(self._sweep_file, text.encode())

    def check(self) -> None:
        """Raises a `LantmError` where there are files that are not of a sweep."""
        try:
            others = {path.name for path in self.path.iterdir()} - {".lock", "locks"}
        except FileNotFoundError:
            return
        except OSError as error:
            raise LantmError(f"{self.path} cannot be a sweep folder: {error.strerror}") from error
        if others and not self._sweep_file.exists():
            raise LantmError(f"{self.path} is not empty and holds no sweep: choose another --out")

    def sweep(self) -> Sweep:
        """What was asked for."""
        try:
            values = json.loads(self._sweep_file.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise LantmError(f"{self.path} is not a sweep folder: lantm sweep FILE --out makes one") from error
        except (OSError, ValueError, RecursionError) as error:
            raise LantmError(f"{self._sweep_file} cannot be read as JSON: {error}") from error
        return Sweep.from_json(values.get("sweep") if isinstance(values, dict) else None)

    @property
    def _sweep_file(self) -> pathlib.Path:
        return self.path / "sweep.json"

    @contextlib.contextmanager
    def locked(self, name: str = "") -> Iterator[None]:
        """Keeps other processes out, of the sweep or of a group; the system lets go of it when a process dies."""
        path = self.path / "locks" / f"{name}.lock" if name else self.path / ".lock"
        lock = filelock.FileLock(path, timeout=60 if name else 0)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except filelock.Timeout as error:
            raise LantmError(
                f"another process works in {self.path}: wait for its end or stop it; "
                f"lantm sweep --show {self.path} says how far it is"
            ) from error
        except OSError as error:
            raise LantmError(f"cannot write {path}: {error.strerror or error}") from error
        try:
            yield
        finally:
            lock.release()

    # What is done.

    def record(self, point: Point) -> Record | None:
        """The record of a point; nothing where there is none, or none that can be used."""
        try:
            record = json.loads((self.path / "records" / f"{point.name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            return None
        if not isinstance(record, dict) or record.get("point") != point.name:
            return None
        return record if isinstance(record.get("rows"), list) else None

    def write_record(self, record: Record) -> None:
        """Stores a point's record, whole or not at all."""
        path = self.path / "records" / f"{record['point']}.json"
        write_whole(path, (json.dumps(record, indent=1) + "\n").encode())

    def missing(self, points: Sequence[Point], largest: int) -> list[Group]:
        """The groups that have still to be done: those that were begun go on, the other points are packed anew."""
        left = dict.fromkeys(point for point in points if self.record(point) is None)
        scorings = dict.fromkeys(point.scoring for point in left)
        groups = []
        for scoring in scorings:
            for begun in self._begun(scoring):
                if any(point in left for point in begun.points):
                    groups.append(begun)
                    for point in begun.points:
                        left.pop(point, None)
        return groups + pack(list(left), largest)

    def _begun(self, scoring: Scoring) -> Iterator[Group]:
        for path in sorted((self.path / "runs").glob("*/experiment.json")):
            with contextlib.suppress(LantmError):
                group = Group(RunFolder(path.parent).experiment(), scoring)
                if group.name == path.parent.name:
                    yield group

    # Groups.

    def run_folder(self, group: Group) -> tuple[RunFolder, bool]:
        """The run folder of a group, and whether it was begun before."""
        path = self.path / "runs" / group.name
        if (path / "experiment.json").is_file():
            folder = RunFolder.open(path)
            if folder.experiment() != group.experiment:
                raise LantmError(f"{path} holds a training with other settings: remove it to begin anew")
            return folder, True
        if path.is_dir():  # it was ended before its first file was whole
            shutil.rmtree(path)
        return RunFolder.create(path, group.experiment, provenance()), False

    def epoch(self, group: Group) -> int:
        """The epoch that a group has reached, as its metrics say; a look at their end costs little."""
        try:
            with open(self.path / "runs" / group.name / "metrics.jsonl", "rb") as file:
                file.seek(0, 2)
                file.seek(max(0, file.tell() - 4096))
                lines = file.read().splitlines()
        except OSError:
            return 0
        for line in reversed(lines):
            with contextlib.suppress(ValueError, LookupError, TypeError, RecursionError):
                return int(json.loads(line)["epoch"])
        return 0

    def failure(self, group: Group) -> str | None:
        """Why a group failed when it was last tried."""
        try:
            return str(json.loads(self._failure_file(group).read_text(encoding="utf-8"))["reason"])
        except (OSError, ValueError, LookupError, TypeError):
            return None

    def note_failure(self, group: Group, reason: str | None) -> None:
        """Remembers why a group failed, or forgets it; a disk that is full cannot be told."""
        with contextlib.suppress(OSError, LantmError):
            if reason is None:
                self._failure_file(group).unlink(missing_ok=True)
            else:
                write_whole(self._failure_file(group), json.dumps({"reason": reason, **provenance()}).encode())

    def _failure_file(self, group: Group) -> pathlib.Path:
        return self.path / "failures" / f"{group.name}.json"

    # Workers elsewhere.

    def asked_to_stop(self, ask: bool | None = None) -> bool:
        """Whether workers are asked to save and end; with an argument, asks them or no longer does."""
        path = self.path / "stop"
        with contextlib.suppress(OSError):
            if ask:
                path.touch()
            elif ask is False:
                path.unlink(missing_ok=True)
        return path.exists()
