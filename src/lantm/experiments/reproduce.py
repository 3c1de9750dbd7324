"""Reproducing a study: what is stored is taken, what was interrupted goes on, the rest is trained."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from lantm.errors import LantmError
from lantm.experiments.study import Cell, Conduct, Request, Study
from lantm.training import RunFolder
from lantm.training.checkpoint import write_whole

Result = dict[str, Any]


def reproduce(
    study: Study,
    request: Request,
    results: pathlib.Path,
    runs: pathlib.Path,
    conduct: Conduct,
    again: bool = False,
    command: str = "",
) -> Iterator[tuple[Cell, Result | None]]:
    """The cells that were asked for with their results, one after the other; the last has none when stopped.

    A result is stored as results/STUDY/CELL.json and taken from there, unless there is a newer training in the
    cell's run folder. `again` first moves all results and run folders that were asked for aside, so that the same
    call without it goes on with what is new.
    """
    cells = study.selected(request)
    if again:
        for cell in cells:
            _move_aside(results / study.name / f"{cell.name}.json")
            _move_aside(runs / cell.run_name)
    for cell in cells:
        path = results / study.name / f"{cell.name}.json"
        folder = runs / cell.run_name
        if (stored := _stored(cell, path, folder)) is not None:
            yield cell, stored
            continue
        if conduct.stop():
            yield cell, None
            return
        conduct.say(f"{study.name}: {cell.name}, in {folder}")
        if not cell.train(folder, conduct) or conduct.stop():
            yield cell, None
            return
        result = {"study": study.name, "cell": cell.name, "command": command, **cell.score(folder)}
        write_whole(path, to_text(result).encode())
        yield cell, result


def from_zoo(study: Study, request: Request, conduct: Conduct) -> Iterator[tuple[Cell, Result]]:
    """The same of the machines that ship with the package, without training; cells without one are passed over."""
    without = []
    for cell in study.selected(request):
        if (result := cell.score_shipped()) is None:
            without.append(" ".join(cell.labels.values()))
        else:
            yield cell, {"study": study.name, "cell": cell.name, **result}
    if without:
        conduct.say(f"the zoo has no machine for {', '.join(without)}")


def to_text(result: Result) -> str:
    """A result as JSON that can be read and compared: a line a field, and a line a row."""
    fields = []
    for name, value in result.items():
        text = json.dumps(value)
        if isinstance(value, list) and value and isinstance(value[0], dict):
            text = "[\n  " + ",\n  ".join(json.dumps(row) for row in value) + "\n ]"
        fields.append(f" {json.dumps(name)}: {text}")
    return "{\n" + ",\n".join(fields) + "\n}\n"


def read_result(path: pathlib.Path) -> Result | None:
    """A stored result; nothing when there is none. One that cannot be read is a `LantmError`."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise LantmError(f"{path} cannot be read as JSON: {error}; remove it to have it made again") from error
    if not isinstance(result, dict):
        raise LantmError(f"{path} is not the JSON of a result: remove it to have it made again")
    return result


def _stored(cell: Cell, path: pathlib.Path, folder: pathlib.Path) -> Result | None:
    """The stored result, if it is of this cell and there is no newer training of it."""
    result = read_result(path)
    if result is None or not cell.matches(result):
        return None
    if (folder / "experiment.json").exists() and RunFolder.open(folder).provenance() != result.get("trained"):
        return None
    return result


def _move_aside(path: pathlib.Path) -> None:
    """Makes room for a new file or folder; what is there is kept, under a name with a number."""
    number = 1
    while (aside := path.with_name(f"{path.name}.before-{number}")).exists():
        number += 1
    if path.exists():
        path.rename(aside)
