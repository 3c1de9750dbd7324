"""Sweeps: a grid of experiments, packed into few programs, trained on one machine or on many."""

from lantm.sweeps.engine import Engine, Event, InProcess
from lantm.sweeps.file import Sweep, read_sweep
from lantm.sweeps.folder import SweepFolder
from lantm.sweeps.packing import Group, pack
from lantm.sweeps.point import Point

__all__ = ["Engine", "Event", "Group", "InProcess", "Point", "Sweep", "SweepFolder", "pack", "read_sweep"]
