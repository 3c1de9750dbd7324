"""Draws the figures of docs/exact.md from what machines of the zoo did, before and after.

python tools/exact_figures.py              # draws docs/exact-*.svg from results/exact-figures.json
python tools/exact_figures.py --measure    # runs the machines first; `make gallery` does both
"""

import argparse
import json
import pathlib
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lantm.batch import Batch
from lantm.evaluation.recording import approach, stride
from lantm.machine import Lantm
from lantm.machine.state import Schedule
from lantm.provenance import provenance
from lantm.report.figures.canvas import QUIET, READS, WRITE, Look, heading, new_figure, style
from lantm.trained import Trained, load, zoo

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = pathlib.Path(__file__).parent.parent
MEASURED = ROOT / "results" / "exact-figures.json"

Measured = dict[str, Any]

# Machines before and after, by the figure that compares them.
MACHINES = {
    "counting": ("copy-lantm-invnorm-robust", "copy-lantm-invnorm"),
    "lines": (
        *("copy-lantm-invnorm-robust", "copy-lantm-invnorm"),
        *("addition-lantm-invnorm-robust", "addition-lantm-invnorm"),
    ),
}
_SCALES = {"counting": 8, "lines": 16}  # lengths of problems, in the longest trained length
_CELLS = 12  # of the figure of counting: those that range furthest
_POINTS = 128  # of a curve
_SIDES = {"before": WRITE, "after": READS[0]}


# What machines do.


def counted(machine: Trained, scale: int) -> Measured:
    """The controller's cells over the steps of one random problem."""
    length, batch = _problem(machine, scale)
    cells = _cells(machine.model(), batch)[: int(batch.steps), 0]
    furthest = np.sort(np.argsort(np.ptp(cells, axis=0))[-_CELLS:])
    at = _spread_out(len(cells))
    return {
        "length": length,
        "answer_start": int(batch.writes[0]),
        "steps": at.tolist(),
        "cells": _rounded(cells[at][:, furthest].T),
        "largest": _rounded(np.abs(cells).max()),
    }


def strayed(machine: Trained, scale: int) -> Measured:
    """How far the head that reads the answer is from the nearest memory, in write steps, symbol by symbol."""
    length, batch = _problem(machine, scale)
    recording, geometry = machine.trace(batch), machine.geometry
    assert geometry is not None
    distances = approach(recording, geometry).distances / stride(recording, geometry)
    # A reading is used a step later: these are the reads of the second symbol to the last one before the end.
    distances = distances[: length - 1]
    reader = int(np.argmin(np.median(distances, axis=0)))  # other heads are elsewhere
    at = _spread_out(len(distances))
    return {
        "length": length,
        "symbols": (at + 2).tolist(),
        "distances": _rounded(distances[at, reader]),
        "wrong": int(recording.wrong.size),
    }


@eqx.filter_jit
def _run(model: Lantm, batch: Batch) -> Float[Array, "time batch cells"]:
    schedule = Schedule(batch.steps, batch.writes, batch.turn)
    carried = model.begin(batch.inputs.shape[1], batch.write_capacity)
    _, path = model.layer.run_batch(model.embedding[batch.inputs], schedule, carried)
    cells: Array = path.states.controller.cell
    return cells


def _cells(model: Any, batch: Batch) -> Float[np.ndarray, "time batch cells"]:
    """The controller's cells after every step."""
    return np.asarray(_run(jax.tree.map(jnp.asarray, model), batch))


def _problem(machine: Trained, scale: int) -> tuple[int, Batch]:
    """The first random problem of a length, a multiple of the longest trained length: none is chosen."""
    length = scale * machine.source.train_lengths.largest
    return length, machine.problem(length)


def _spread_out(number: int) -> Int[np.ndarray, " points"]:
    return np.unique(np.linspace(0, number - 1, _POINTS).astype(int))


def _rounded(values: Any) -> Any:
    """As lists of numbers with four digits."""
    rounded = np.vectorize(lambda value: float(f"{value:.4g}"))(np.asarray(values, np.float64))
    return rounded.tolist()


MEASUREMENTS = {"counting": counted, "lines": strayed}


def measure() -> Measured:
    """All figures whose machines are there; the second of a pair has to be one of the recipe `exact`."""
    figures = {}
    for name, machines in MACHINES.items():
        there = [load(machine) for machine in machines if zoo.find(machine) is not None]
        if len(there) < len(machines) or any(after.experiment.recipe_name != "exact" for after in there[1::2]):
            print(f"{name} is not measured: it needs {', '.join(machines)} in the zoo, every second one by exact")
            continue
        figures[name] = [_facts(machine) | MEASUREMENTS[name](machine, _SCALES[name]) for machine in there]
    return figures


def _facts(machine: Trained) -> Measured:
    return {
        "machine": machine.name,
        "task": machine.experiment.task,
        "recipe": machine.experiment.recipe_name,
        "experiment": machine.experiment.published(),
        "epoch": machine.epoch,
        "trained": machine.trained,
    }


# How it is drawn.


def draw_counting(machines: list[Measured]) -> "Figure":
    """The cells of both machines over time, each in its own units."""
    figure = _figure(
        "Cells of the controller over time",
        f"copying {machines[0]['length']:,} symbols, 8 times the trained length; the answer begins at the dashed line",
    )
    for axes, machine, (side, colour) in zip(_panels(figure, 2), machines, _SIDES.items(), strict=True):
        for number, cell in enumerate(machine["cells"]):
            axes.plot(machine["steps"], cell, color=colour, linewidth=0.7, alpha=0.7, gid=f"{side}-{number}")
        axes.axvline(machine["answer_start"], color=QUIET, linewidth=0.9, linestyle="--")
        axes.set(title=f"recipe {machine['recipe']}: up to {machine['largest']:,.0f}", xlabel="step")
    return figure


def draw_lines(machines: list[Measured]) -> "Figure":
    """How far read heads are from the line of memories, before and after, for two tasks."""
    figure = _figure(
        "Distance of the read head from the nearest memory",
        "in write steps, along answers of 16 times the trained length; dashed: half a step",
    )
    for axes, pair in zip(_panels(figure, 2), (machines[:2], machines[2:]), strict=True):
        for machine, (side, colour) in zip(pair, _SIDES.items(), strict=True):
            look: Look = {"color": colour, "linewidth": 1.0, "label": f"recipe {machine['recipe']}"}
            axes.plot(machine["symbols"], machine["distances"], gid=f"{machine['task']}-{side}", **look)
        axes.axhline(0.5, color=QUIET, linewidth=0.9, linestyle="--")
        axes.set(yscale="log", title=pair[0]["task"], xlabel="symbol of the answer")
        axes.yaxis.set_major_formatter(lambda distance, _: f"{distance:g}")
        axes.legend(fontsize=7.5, framealpha=0.9)
    return figure


DRAWINGS = {"counting": draw_counting, "lines": draw_lines}


def picture(name: str) -> str:
    """The file of a figure, below docs/."""
    return f"exact-{name}.svg"


def _figure(title: str, subtitle: str) -> "Figure":
    figure = new_figure(height=3.1)
    heading(figure, title, subtitle)
    return figure


def _panels(figure: "Figure", number: int) -> "list[Axes]":
    """Panels side by side."""
    gap, edge = 0.06, 0.06
    width = (1 - edge - number * gap + gap - 0.015) / number
    panels = [figure.add_axes((edge + at * (width + gap), 0.16, width, 0.58)) for at in range(number)]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(length=2.5, width=0.6)
        axes.xaxis.label.set_size(8)
    return panels


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--measure", action="store_true", help="run the machines of the zoo first")
    if parser.parse_args().measure and (figures := measure()):
        record = {"command": "python tools/exact_figures.py --measure", "figures": figures, **provenance()}
        MEASURED.write_text(json.dumps(record) + "\n")
    if not MEASURED.exists():
        return
    for name, machines in json.loads(MEASURED.read_text())["figures"].items():
        with style():
            path = ROOT / "docs" / picture(name)
            DRAWINGS[name](machines).savefig(path, metadata={"Date": None})
            print(f"drew docs/{path.name}")


if __name__ == "__main__":
    main()
