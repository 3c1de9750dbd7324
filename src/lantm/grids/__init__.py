"""Grids of trainings: sweeps (from a sweep file) and studies (tables that are compared with the paper's numbers)."""

from lantm.grids.cell import Cell
from lantm.grids.engine import Engine, Event, InProcess
from lantm.grids.folder import GridFolder
from lantm.grids.job import Job
from lantm.grids.packing import Group, missing, pack
from lantm.grids.point import Point
from lantm.grids.request import Request
from lantm.grids.study import Study, from_zoo
from lantm.grids.sweep import Sweep, read_sweep

__all__ = [
    "Cell",
    "Engine",
    "Event",
    "GridFolder",
    "Group",
    "InProcess",
    "Job",
    "Point",
    "Request",
    "Study",
    "Sweep",
    "from_zoo",
    "missing",
    "pack",
    "read_sweep",
]
