"""The time account of `lantm reproduce all`: one file to which every process adds the time it spent."""

import pathlib
import time
from collections.abc import Sequence
from typing import Any

from lantm.errors import LantmError
from lantm.files import read_json_object, write_whole
from lantm.grids.cell import Cell
from lantm.grids.engine import Event
from lantm.grids.folder import to_text
from lantm.grids.studies.whole import LAST
from lantm.provenance import provenance

ACCOUNT = "reproduce-all.json"


class Account:
    """The time per cell, and the time of each process with its mean GPU utilisation."""

    def __init__(self, path: pathlib.Path, cells: Sequence[Cell], stored: Sequence[Cell], command: str):
        """Continues the file of the same cells unless it is complete; `stored` cells are already done."""
        self._path, self._cells, self._command = path, cells, command
        self._done = {cell.key for cell in stored}
        earlier = _read(path)
        goes_on = earlier.get("complete") is False and earlier.get("cells") == [cell.key for cell in cells]
        self._seconds: dict[str, float] = dict(earlier["seconds"]) if goes_on else {}
        self._processes: list[dict[str, Any]] = list(earlier["processes"]) if goes_on else []
        self._running: dict[str, float] = {}  # when each cell was last counted
        self._began, self._origin = time.monotonic(), provenance()

    def heed(self, event: Event) -> bool:
        """Counts the time of a cell; returns whether it has ended (done, failed or stopped)."""
        key, now = event.job.key, time.monotonic()
        if event.state in ("running", "done", "failed", "stopped"):
            since = self._running.get(key, now)
            self._seconds[key] = self._seconds.get(key, 0.0) + now - since
            self._running[key] = now
        if event.state == "done":
            self._done.add(key)
        return event.state != "running"

    def write(self, busy: float | None, samples: int) -> dict[str, Any]:
        """Writes the file, and returns its contents."""
        now = {"seconds": round(time.monotonic() - self._began, 1), "gpu_busy_percent": busy, "gpu_samples": samples}
        processes = [*self._processes, {**now, **self._origin}]
        sampled = [one for one in processes if one["gpu_samples"]]
        counted = sum(one["gpu_samples"] for one in sampled)
        mean = sum(one["gpu_busy_percent"] * one["gpu_samples"] for one in sampled) / counted if counted else None
        record = {
            "command": self._command,
            "complete": len(self._done) == len(self._cells),
            "total_seconds": round(sum(one["seconds"] for one in processes), 1),
            "gpu_busy_percent": None if mean is None else round(mean, 1),
            "studies": self._parts(),
            "processes": processes,
            "cells": [cell.key for cell in self._cells],
            "seconds": {key: round(seconds, 1) for key, seconds in self._seconds.items()},
        }
        write_whole(self._path, to_text(record).encode())
        return record

    def _parts(self) -> list[dict[str, Any]]:
        """Per study and recipe (LSTM rows separately): cells, how many are done, how many were done here, and the
        time."""
        together: dict[tuple[str, str, bool], list[str]] = {}
        for cell in self._cells:
            part = cell.study, cell.experiment.recipe_name, cell.experiment.model == LAST
            together.setdefault(part, []).append(cell.key)
        return [
            {
                "study": study,
                "recipe": recipe,
                "rows": LAST if last else "all others",
                "cells": len(keys),
                "done": len(self._done.intersection(keys)),
                "worked_on": len(self._seconds.keys() & keys),
                "seconds": round(sum(self._seconds.get(key, 0.0) for key in keys), 1),
            }
            for (study, recipe, last), keys in together.items()
        ]


def _read(path: pathlib.Path) -> dict[str, Any]:
    """The file of earlier processes; empty if there is no readable one."""
    try:
        return read_json_object(path)
    except (OSError, LantmError):
        return {}
