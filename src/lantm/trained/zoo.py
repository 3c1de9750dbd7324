"""The zoo: trained machines that ship with the package, as safetensors files."""

import pathlib
from typing import get_args

from lantm.machine import ModelName
from lantm.tasks import TASKS
from lantm.weight_files import SUFFIX

SHELF = pathlib.Path(__file__).parent / "machines"
# A task's name stands for the first of these models that exists.
_PREFERRED: tuple[ModelName, ...] = get_args(ModelName)


def names(shelf: pathlib.Path = SHELF) -> list[str]:
    """All machines of a folder, in alphabetical order."""
    return sorted(path.name.removesuffix(SUFFIX) for path in shelf.glob(f"*{SUFFIX}"))


def tasks() -> list[str]:
    """The tasks whose names stand for a machine."""
    return [task for task in TASKS if find(task) is not None]


def find(name: str, shelf: pathlib.Path = SHELF) -> pathlib.Path | None:
    """The file of a machine, by its full name or its task's name; None if there is none."""
    there = set(names(shelf))
    full = next((full for full in (name, *(f"{name}-{model}" for model in _PREFERRED)) if full in there), None)
    return None if full is None else shelf / f"{full}{SUFFIX}"
