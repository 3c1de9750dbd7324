"""Builds the viewer page, in which machines run on typed problems and can be followed step by step.

It shows one machine, or two side by side. If the page can run a machine, it contains its weights and computes
everything itself. For other machines, and for training, it contains recordings.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.evaluation import Recording, record
from lantm.geometry import Geometry
from lantm.machine import LantmConfig, Model
from lantm.randomness import RECORD, shared_key
from lantm.report.pages.document import page
from lantm.report.pages.packed_recording import pack, share
from lantm.report.pages.tasks import TASK_SCRIPTS, pack_task
from lantm.report.pages.training import Recorded
from lantm.report.pages.weights import ENGINE, pack_machine, pack_problem
from lantm.tasks import Source

STYLES = ("base.css", "viewer.css")
SCRIPTS = (
    "base.js",
    *ENGINE,
    *TASK_SCRIPTS,
    *(
        f"viewer/{name}.js"
        for name in (
            *("read_weights", "scene", "projection", "live_scene", "tape", "key_frame", "key_marks", "keyspace"),
            *("timeline", "words", "ask", "what_if", "pane", "viewer", "help"),
        )
    ),
)
LONGEST = 2000  # recordings hold read weights, which grow quadratically with the length


class Problem(NamedTuple):
    """A problem to show."""

    name: str
    batch: Batch
    text: str | None = None
    """The problem as it was typed."""
    recording: Recording | None = None
    """What the machine does, if it has been recorded."""


class Machine(NamedTuple):
    """A machine to show."""

    name: str
    task: Source
    model: Model
    problems: Sequence[Problem]
    training: Sequence[Recorded] = ()
    """Recordings of its training."""


def viewer_page(title: str, about: str, machines: Sequence[dict[str, Any]], chosen: Sequence[int], first: int) -> str:
    """The page. `chosen` are the one or two machines shown at first, on problem number `first`."""
    data = {"title": title, "about": about, "chosen": chosen, "first": first, **together(machines)}
    return page(f"{title}: {about}", STYLES, (*SCRIPTS, "view_page.js"), data)


def together(machines: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The machines of a page, with shared tasks and key spaces stored once."""
    numbered, spaces = share(machines, "space")
    numbered, tasks = share(numbered, "task")
    return {"machines": numbered, "spaces": spaces, "tasks": tasks}


def exhibit(machine: Machine) -> dict[str, Any]:
    """A machine for the viewer: with its weights, or else with recordings of all problems."""
    packed = pack_machine(machine.model)
    problems = [_present(machine, problem, packed is not None) for problem in machine.problems]
    if machine.training:
        geometry = geometry_of(machine.model)
        training = [
            {"epoch": epoch, "loss": loss, "scene": pack(recording, machine.task, geometry)}
            for epoch, loss, recording in machine.training
        ]
        problems.append({"name": "while training", "training": training})
    return {"name": machine.name, "task": pack_task(machine.task), "machine": packed, "problems": problems}


def _present(machine: Machine, problem: Problem, runs: bool) -> dict[str, Any]:
    """A problem for the viewer: its symbols if the page runs the machine, otherwise a recording."""
    if runs:
        text = {} if problem.text is None else {"text": problem.text}
        return {"name": problem.name, **text, **pack_problem(problem.batch)}
    made = problem.recording or record(machine.model, problem.batch, 0, True)
    return {"name": problem.name, "scene": pack(made, machine.task, geometry_of(machine.model))}


def geometry_of(model: Model) -> Geometry | None:
    """The geometry of a machine; None for other models."""
    return model.config.access.geometry if isinstance(model.config, LantmConfig) else None


def sampled_problems(task: Source, lengths: Sequence[int], draw: int = 0) -> list[Problem]:
    """A random problem of each length, the same for every machine; each `draw` gives different ones.

    All arrays have room for the longest, so that one compiled program runs them all.
    """
    for length in lengths:
        task.check_length(length)
        _check_size(length)
    return [
        Problem(f"length {length}", task.sample(shared_key(RECORD, draw, length), 1, length, max(lengths)))
        for length in lengths
    ]


def written_problem(task: Source, text: str) -> Problem:
    """A typed problem."""
    _check_size(len(text))
    return Problem(f"“{text}”" if len(text) <= 32 else f"“{text[:31]}…”", task.encode(text), text)


def _check_size(length: int) -> None:
    if length > LONGEST:
        raise LantmError(f"a page shows problems of lengths up to {LONGEST:,}, not {length:,}: choose a shorter one")


def usual_lengths(task: Source) -> list[int]:
    """A short problem, the longest training length, and two and four times that."""
    stride, longest = task.train_lengths.stride, task.train_lengths.largest
    short = min(longest, -(-8 // stride) * stride)
    limit = min(task.longest_length, max(LONGEST, short))
    return sorted({length for length in (short, longest, 2 * longest, 4 * longest) if length <= limit}) or [limit]
