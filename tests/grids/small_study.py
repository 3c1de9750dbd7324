"""A study of one small cell, and a watch on the engine that does it."""

import dataclasses
import pathlib
from typing import Any

from lantm.grids import Cell, Event, GridFolder, InProcess, Request, Study
from lantm.training import Experiment

NAME = "copy-lantm-invnorm-paper"


class Watch:
    """Notes what the engine tells, and stops it when it has asked often enough."""

    def __init__(self, stops_after: int | None = None) -> None:
        self.events: list[Event] = []
        self._left = stops_after

    def stop(self) -> bool:
        if self._left is None:
            return False
        self._left -= 1
        return self._left < 0

    @property
    def progress(self) -> list[tuple[int, int]]:
        """Epochs, and batches of them that were done, after every call to the device."""
        return [(event.progress.epoch, event.progress.batch) for event in self.events if event.progress is not None]

    @property
    def epochs(self) -> list[int]:
        """The epochs that were trained, where each is one call."""
        return [epoch for epoch, _ in self.progress]

    @property
    def states(self) -> list[str]:
        return [event.state for event in self.events]


class Bench:
    """A study of one small cell, in a folder."""

    def __init__(self, folder: pathlib.Path, experiment: Experiment):
        self.experiment = experiment
        self.request = Request(problems=64, bare=True)  # pages take longer than all else
        self.study = Study("small", "a small one", self.cells)
        self.folder = GridFolder(folder / "runs", folder / "results")
        self.run = folder / "runs" / "runs" / NAME
        self.file = folder / "results" / "small" / f"{NAME}.json"

    def cells(self, request: Request) -> list[Cell]:
        experiment = self.experiment
        if request.seeds is not None:
            experiment = dataclasses.replace(experiment, seeds=request.seeds)
        figures = {"1x": {"coarse": 0, "fine": 0}, "2x": {"coarse": 100, "fine": 100}}
        return [Cell(experiment, figures, request, scales=(1, 2))]

    @property
    def cell(self) -> Cell:
        (cell,) = self.study.selected(self.request, "a command")
        return cell

    def __call__(self, watch: Watch | None = None, again: bool = False) -> dict[str, Any] | None:
        """Takes the stored record, or does what is missing; the record that there is in the end."""
        watch, cell = watch or Watch(), self.cell
        if again:
            self.folder.move_aside(cell.run_name, cell.key)
        if cell.stored(self.folder) is None:
            InProcess().run([cell], self.folder, watch.events.append, watch.stop)
        return cell.stored(self.folder)
