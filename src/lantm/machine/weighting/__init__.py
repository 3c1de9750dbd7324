"""Weightings: read weights as a function of squared distances, one file per weighting, registered in `__init__.py`.

| name        | read weight of a memory at squared distance d           | options              |
| ----------- | ------------------------------------------------------- | -------------------- |
| invnorm     | proportional to (d + epsilon)^-power                    | power=1 epsilon=1e-9 |
| softmax     | proportional to exp(-d / T), T from the controller      | temperature          |
| module:Name | user-defined                                            | its fields           |

Options follow a name in brackets, `invnorm[power=2]`. All weightings have the option `renormalise`.
"""

from lantm.machine.weighting.base import (
    FAINTEST,
    Affinities,
    Nearest,
    Shares,
    Slopes,
    SquaredDistances,
    Temperature,
    Weighting,
)
from lantm.machine.weighting.invnorm import InvNorm
from lantm.machine.weighting.softmax import SoftMax
from lantm.registry import Registry

WEIGHTINGS = Registry("weighting", Weighting)  # type: ignore[type-abstract]  # it only asks isinstance
WEIGHTINGS.add("invnorm", InvNorm)
WEIGHTINGS.add("softmax", SoftMax)


def make_weighting(name: str) -> Weighting:
    """The weighting of that name: a registered name, optionally with options, or `module:Name` for your own.

    >>> make_weighting("invnorm[power=2]")
    InvNorm(power=2.0)
    """
    return WEIGHTINGS.make(name)


__all__ = [
    "FAINTEST",
    "WEIGHTINGS",
    "Affinities",
    "InvNorm",
    "Nearest",
    "Shares",
    "Slopes",
    "SoftMax",
    "SquaredDistances",
    "Temperature",
    "Weighting",
    "make_weighting",
]
