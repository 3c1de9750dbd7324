"""`find` and `check`: test a user's task, geometry, weighting or controller against its contract.

>>> from lantm.geometry import Translation
>>> [finding.law for finding in check(Translation()) if finding.broken]
[]
"""

from collections.abc import Callable, Iterable
from typing import Any

from lantm.checking.controllers import check_controller
from lantm.checking.finding import Finding
from lantm.checking.geometries import check_geometry
from lantm.checking.tasks import check_task
from lantm.checking.weightings import check_weighting
from lantm.errors import LantmError
from lantm.geometry import Geometry, make_geometry
from lantm.machine import Controller, Weighting, make_weighting
from lantm.registry import Registry, imports_module
from lantm.tasks import TASKS, Task, make_task

CONTROLLERS: Registry[Controller] = Registry("controller", Controller)  # type: ignore[type-abstract]

_MAKERS: tuple[Callable[[str], Any], ...] = (make_task, make_geometry, make_weighting, CONTROLLERS.make)
_NOT_MINE = ("is not the name of", "derive it from that class")


def find(name: str) -> Task | Geometry | Weighting | Controller:
    """The task, geometry, weighting or controller of this name: a registered one, or `module:Name`."""
    reasons = []
    for make in _MAKERS:
        try:
            made: Task | Geometry | Weighting | Controller = make(name)
            return made
        except LantmError as error:
            reasons.append(str(error))
    # The registry that has the name says what is wrong with it, as all do for a module or a file; the others that they
    # do not know it, or that it is not of their base class.
    for reason in reasons:
        if not (reason.startswith("unknown ") or any(words in reason for words in _NOT_MINE)):
            raise LantmError(reason.replace(" to use as task", " to check"))  # that of the first registry
    kinds = "a Task, a Geometry, a Weighting or an object that is a Controller"
    raise LantmError(f"{name!r} cannot be checked: name {kinds}, as module:Name")


def check(thing: Task | Geometry | Weighting | Controller, thorough: bool = True) -> list[Finding]:
    """The findings for every law of its contract."""
    if isinstance(thing, Task):
        return check_task(thing, thorough)
    if isinstance(thing, Geometry):
        return check_geometry(thing, thorough)
    if isinstance(thing, Weighting):
        return check_weighting(thing)
    return check_controller(thing)


def check_own(names: Iterable[str], task: Task | None = None) -> None:
    """Quickly checks objects from the user's own modules; raises a `LantmError` with the counterexample.

    `task` is the task itself, if it was given as an object: it need not be importable.
    """
    things: dict[str, Any] = dict.fromkeys(filter(imports_module, names))
    if task is not None:
        things[TASKS.name_of(task, ignored=("train_lengths",))] = task
    for name, thing in things.items():
        for finding in check(find(name) if thing is None else thing, thorough=False):
            if finding.broken:
                raise LantmError(
                    f"{name} breaks its contract: {finding.law}: {finding.counterexample}; lantm check {name} says more"
                )


__all__ = ["check", "check_own", "find"]
