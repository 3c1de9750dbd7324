"""Estimates the memory of an evaluation and refuses it before it starts if it cannot fit (training:
`training/budget.py`).

Estimates come from shapes alone, without building anything, and are right within a factor of about two.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax

from lantm.devices import available_memory, current_device, local_devices, on_cpu
from lantm.errors import LantmError
from lantm.evaluation.answer import LONG
from lantm.machine import Config
from lantm.randomness import INITIALISE, seed_key
from lantm.shapes import shapes_of

# Numbers kept per step and output of a matrix: in training, its value and its gradient.
LEARNING, ANSWERING = 2, 1
_THROUGH_THE_INDEX = 100  # bytes per step if long inputs are read through an index (`exact_match`)


class Share(NamedTuple):
    """A part of the required memory."""

    size: int
    """In bytes."""
    lower: str
    """The settings to lower if it is too large."""


def size_of(shapes: Any) -> int:
    """The size in bytes of all arrays of a tree of shapes."""
    return sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(shapes))


def model_shapes(machine: Config, vocabulary: int) -> Any:
    """The shapes of a model, without building it."""
    return shapes_of(lambda: machine.build(vocabulary, seed_key(0, INITIALISE)))


def run_size(model: Any, problems: int, steps: int, kept: int = ANSWERING) -> int:
    """The bytes needed to run a model of these shapes on `problems` problems in parallel."""
    besides: int = 4 * model.config.kept_per_step(steps, kept == LEARNING) * problems * steps
    if kept == ANSWERING and steps >= LONG and on_cpu():
        return _THROUGH_THE_INDEX * problems * steps + besides
    outputs: int = sum(leaf.shape[-1] for leaf in jax.tree.leaves(model) if leaf.ndim >= 2)
    return 4 * kept * outputs * problems * steps + besides


def at_once(machines: int) -> int:
    """The number of machines that run in parallel: one per core on a CPU, all on accelerators."""
    return min(machines, len(local_devices())) if on_cpu() else machines


def check_fits(what: str, shares: Mapping[str, Share], available: int | None = None, place: str = "memory") -> None:
    """Raises a `LantmError` that says how much is needed, and what to lower, if it does not fit.

    `available` defaults to the free memory of the devices; the check is skipped if that is unknown.
    """
    available = available_memory() if available is None else available
    needed = sum(share.size for share in shares.values())
    if available is None or needed <= available:
        return
    largest = max(shares, key=lambda name: shares[name].size)
    device = current_device().platform if place == "memory" else place
    raise LantmError(
        f"{what} would take {in_words(needed)} of {place}, and {device} has {in_words(available)}: "
        f"{in_words(shares[largest].size)} of it for {largest}; lower {shares[largest].lower}"
    )


def in_words(size: int) -> str:
    """A readable number of bytes.

    >>> in_words(640_000), in_words(23_500_000_000), in_words(34 * 10**12), in_words(3 * 10**30)
    ('1 MB', '24 GB', '34 TB', 'more than a million TB')
    """
    for unit, bytes_of_it in (("MB", 10**6), ("GB", 10**9)):
        if size < 1000 * bytes_of_it:
            return f"{max(1, round(size / bytes_of_it)):,} {unit}"
    return f"{round(size / 10**12):,} TB" if size < 10**18 else "more than a million TB"
