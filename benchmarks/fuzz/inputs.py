"""What is fuzzed: one class per kind of input, each with what reads it."""

import abc
import contextlib
import dataclasses
import io
import json
import pathlib
import random
import shutil
import sys
import textwrap
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import safetensors.numpy
from rich.console import Console

from benchmarks.fuzz.mutations import TEXTS, any_value, mutated, mutated_arrays, mutated_words
from benchmarks.reliability.trials import EXPERIMENT
from lantm import weight_files
from lantm.cli import main, train, view, zoo
from lantm.errors import LantmError
from lantm.geometry import make_geometry
from lantm.grids import GridFolder, Sweep, read_sweep
from lantm.grids.table import point_rows
from lantm.machine.weighting import make_weighting
from lantm.tasks import TASKS, make_task, read_corpus
from lantm.trained import Trained, load_file
from lantm.training import RunFolder, load_learners
from lantm.training import train as train_experiment
from lantm.training.origin import check_learners, check_origin

EPOCHS = 4


class Base:
    """A small run, whose files are right, to begin with."""

    def __init__(self, scratch: pathlib.Path):
        """Trains it."""
        self.scratch = scratch
        recipe = dataclasses.replace(EXPERIMENT.recipe, epochs=EPOCHS, test_every=2)
        self.experiment = dataclasses.replace(EXPERIMENT, recipe=recipe, seeds=2)
        self.source = self.experiment.source()
        self.folder = RunFolder.create(scratch / "run", self.experiment, {"device": "cpu", "devices": 1, "date": "now"})
        result = train_experiment(self.experiment, self.folder)
        self.machine = Trained.of_result(result, self.folder).best
        rows = zoo_rows()
        self.folder.write_summary({"rows": rows, "epoch": EPOCHS, "seconds": 1.5})
        self.machine.save(scratch / "machine.safetensors", scores=rows, scored={"device": "cpu"})
        _, self.learners, _ = load_learners(self.folder, self.experiment, self.source)


def zoo_rows() -> list[dict[str, Any]]:
    """Rows of scores as the notes of a machine of the zoo have them."""
    return weight_files.read_notes(zoo.zoo.SHELF / f"{zoo.zoo.names()[0]}.safetensors")["scores"]


class Kind(abc.ABC):
    """A kind of input."""

    name: str
    share: int
    """How often it is drawn, relative to the others."""
    right_digest = False
    """Whether its files have the digest that belongs to their contents."""

    def __init__(self, base: Base):
        self.base = base
        self.path = base.scratch / type(self).__name__
        self.path.mkdir()

    @abc.abstractmethod
    def try_one(self, draw: random.Random) -> None:
        """Makes an input and has it read; one that is refused is a `LantmError`."""


class MachineFiles(Kind):
    """A machine's file, of which notes or arrays are changed."""

    name, share, right_digest = "machine's file with a right digest", 70, True

    def __init__(self, base: Base):
        super().__init__(base)
        file = base.scratch / "machine.safetensors"
        self.notes, self.arrays = weight_files.read_notes(file), safetensors.numpy.load_file(file)

    def try_one(self, draw: random.Random) -> None:
        notes, arrays = self.notes, self.arrays
        if draw.random() < 0.8:
            part = draw.choice([None, "experiment", "experiment", "scores", "trained"])
            notes = mutated(notes, draw) if part is None else {**notes, part: mutated(notes[part], draw)}
        else:
            arrays = mutated_arrays(arrays, draw)
        path = self.path / "machine.safetensors"
        text = json.dumps(notes)
        metadata = {
            "format": weight_files.FORMAT,
            "notes": text,
            "digest": weight_files._digest(sorted(arrays.items()), text),
        }
        with contextlib.suppress(safetensors.SafetensorError, UnicodeEncodeError):  # what cannot be written
            path.write_bytes(safetensors.numpy.save(arrays, metadata))
        machine = load_file(path)
        shown = Console(file=io.StringIO(), width=80)
        shown.print(zoo._table([machine]))
        json.dumps(machine.notes)


class Checkpoints(Kind):
    """A checkpoint, of which notes or arrays are changed."""

    name, share, right_digest = "checkpoint with a right digest", 12, True

    def __init__(self, base: Base):
        super().__init__(base)
        self.folder = RunFolder(shutil.copytree(base.folder.path, self.path / "run"))
        self.file = max((self.folder.path / "checkpoints").iterdir())
        for other in (self.folder.path / "checkpoints").iterdir():
            if other != self.file:
                other.unlink()
        self.notes, self.arrays = weight_files.read_notes(self.file), safetensors.numpy.load_file(self.file)

    def try_one(self, draw: random.Random) -> None:
        by_notes = draw.random() < 0.5
        notes = mutated(self.notes, draw) if by_notes else self.notes
        arrays = self.arrays if by_notes else mutated_arrays(self.arrays, draw)
        weight_files.save(self.file, arrays, notes if isinstance(notes, dict) else {})
        base = self.base
        _, learners, _ = self.folder.load_checkpoint(
            base.learners, lambda found: check_origin(found, base.experiment, base.source, self.path)
        )
        check_learners(learners, base.experiment.recipe.batches, self.path)


class Recordings(Kind):
    """A recording, of which arrays are changed."""

    name, share, right_digest = "recording with a right digest", 3, True

    def __init__(self, base: Base):
        super().__init__(base)
        self.folder = RunFolder(shutil.copytree(base.folder.path, self.path / "run"))
        self.file = max(self.folder.recordings_path.iterdir())
        self.arrays = safetensors.numpy.load_file(self.file)

    def try_one(self, draw: random.Random) -> None:
        weight_files.save(
            self.file, mutated_arrays(self.arrays, draw), {"first_epoch": 1, "last_epoch": any_value(draw)}
        )
        for _, recording in self.folder.recordings(self.base.source, 0):
            assert len(recording.expected) == len(recording.predicted)


class DamagedFiles(Kind):
    """A machine's file with some bytes changed, whose digest is not right any more."""

    name, share = "machine's file with changed bytes", 12

    def __init__(self, base: Base):
        super().__init__(base)
        self.whole = (base.scratch / "machine.safetensors").read_bytes()

    def try_one(self, draw: random.Random) -> None:
        data, path = bytearray(self.whole), self.path / "machine.safetensors"
        for _ in range(draw.choice([1, 1, 2, 50])):
            data[draw.randrange(len(data) if draw.random() < 0.5 else 3000)] = draw.randrange(256)
        path.write_bytes(data if draw.random() < 0.8 else data[: draw.randrange(len(data))])
        if bytes(data) != self.whole:
            load_file(path)
            raise AssertionError("a damaged file was taken")


class RunFiles(Kind):
    """The JSON files of a run folder."""

    name, share = "file of a run folder", 20

    def __init__(self, base: Base):
        super().__init__(base)
        self.folder = RunFolder(shutil.copytree(base.folder.path, self.path / "run"))

    def try_one(self, draw: random.Random) -> None:
        name = draw.choice(["experiment.json", "experiment.json", "summary.json", "metrics.jsonl", "seconds.json"])
        path, right = self.folder.path / name, (self.base.folder.path / name).read_text()
        try:
            lines = right.splitlines() if name == "metrics.jsonl" else [right]
            for _ in range(draw.choice([1, 2, 5])):
                at = draw.randrange(len(lines))
                lines[at] = json.dumps(mutated(json.loads(right.splitlines()[at] if len(lines) > 1 else right), draw))
            path.write_text("\n".join(lines))
            run = self.folder
            run.last_epoch(), run.seconds, run.summary(), run.provenance()
            run.history(run.experiment())
        finally:
            path.write_text(right)


class SweepFiles(Kind):
    """Sweep files."""

    name, share = "sweep file", 10
    right: ClassVar[dict[str, Any]] = {
        "seeds": 2,
        "scales": [1, 2],
        "problems": 64,
        "hard": False,
        "pack": 4,
        "experiment": {"recipe": "paper", "epochs": 5, "lengths": [2, 6], "cells": 8},
        "grid": [
            {"task": ["copy", "reverse"], "geometry": ["disk", "translation-3"]},
            {"task": ["double"], "seeds": 1},
        ],
    }

    def try_one(self, draw: random.Random) -> None:
        path = self.path / "sweep.json"
        path.write_text(json.dumps(mutated(self.right, draw)))
        read_sweep(path).points()


class Results(Kind):
    """The records of a sweep."""

    name, share = "stored result", 10

    def __init__(self, base: Base):
        super().__init__(base)
        self.sweep = Sweep.from_json({"experiment": {"task": "copy"}, "seeds": 1})
        (self.point,) = self.sweep.points()
        self.right = {"point": self.point.name, "rows": zoo_rows(), "best_epoch": 2, "skipped": 0, "diverged": False}

    def try_one(self, draw: random.Random) -> None:
        folder = GridFolder(self.path)
        folder.record_file(self.point.name).parent.mkdir(exist_ok=True)
        folder.record_file(self.point.name).write_text(json.dumps(mutated(self.right, draw)))
        point_rows(self.sweep, [self.point], folder)


class Arguments(Kind):
    """Words of commands; what takes long is not begun."""

    name, share = "arguments", 2
    right = (
        "train copy --cells 8 --epochs 3 --batches 2 --seeds 2 --lengths 2 6 --test-scales 1 2 --out RUN",
        "train addition --model lstm --layers 1 --cells 8 --learning-rate 0.1 --clip 1 --starts 2 --out RUN",
        "train --resume RUN --epochs 9 --json",
        "eval RUN --scales 1 2 --problems 64 --draw 3 --json",
        "solve copy hello --seed 0 --json",
        "info FILE --json",
        "zoo --shelf RUN --json",
        "sweep RUN/sweep.json --plan --out RUN",
        "view RUN --lengths 8 --draw 2 --out PAGE",
        "verify FILE --length 5 --problems 3 --json",
    )

    def __init__(self, base: Base):
        super().__init__(base)

        def ends(*_: Any, **__: Any) -> None:
            raise LantmError("here the work would begin")

        # In the place of work that takes long; a process of the fuzzer does nothing else.
        train._train = train.load_learners = RunFolder.create = GridFolder.locked = ends
        view.write_whole = ends
        for name in ("scores", "solve", "verify", "trace"):
            setattr(Trained, name, ends)

    def try_one(self, draw: random.Random) -> None:
        names = {
            "RUN": self.base.folder.path,
            "FILE": self.base.scratch / "machine.safetensors",
            "PAGE": self.path / "p",
        }
        words = draw.choice(self.right)
        for name, place in names.items():
            words = words.replace(name, str(place))
        said, error = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(error):
            status = main(mutated_words(words.split(), draw))
        shutil.rmtree(self.base.scratch / "here" / "runs", ignore_errors=True)
        if status:
            refusals = [line for line in error.getvalue().splitlines() if not line.startswith("lantm: warning: ")]
            assert len(refusals) == 1, f"status {status}: {error.getvalue()[-300:]}"
            raise LantmError(refusals[0])


class Texts(Kind):
    """Problems that people write, and folders of texts."""

    name, share = "text", 6

    def __init__(self, base: Base):
        super().__init__(base)
        self.tasks = [make_task(name) for name in TASKS]

    def try_one(self, draw: random.Random) -> None:
        pieces = [*TEXTS, "hello", "829", "423 + 94", "print((14*5608))", "3:ab", "9" * 400, "1+", "a b\n", "0"]
        text = "".join(draw.choice(pieces) for _ in range(draw.randrange(1, 4)))
        if draw.random() < 0.7:
            draw.choice(self.tasks).encode(text)
            return
        for part in ("train", "valid", "test"):
            content = draw.choice(
                [text.encode(errors="replace"), bytes(draw.randrange(256) for _ in range(40)), b"a b c\n" * 9]
            )
            (self.path / f"{part}.txt").write_bytes(content)
        read_corpus(self.path, draw.choice([1, 2, 10, 10_000, -1, 10**30]))


class Modules(Kind):
    """Modules of the user's with tasks, geometries and weightings that are not what they should be."""

    name, share = "module", 5
    bodies = (
        "raise SystemExit(0)",
        "raise KeyError('x')",
        "def Name(: pass",
        "Name = 3",
        "Name = None",
        "import sys; Name = sys",
        "class Name(Base): pass",
        "class Name(Base):\n    def __init__(self, **options): raise OSError('no')",
        "class Name(Base):\n    def __init__(self, size): pass",
        "class Name(Base):\n    def __init__(self, *, a=1, b='x'): pass",
        "from lantm.tasks import Copy as Name",
        "from lantm.geometry import Disk as Name",
        "from lantm.machine.weighting import InvNorm as Name",
        "from lantm.tasks import Copy\nName = Copy(data_symbols=VALUE)",
        "from lantm.geometry import Translation\nName = Translation(VALUE)",
    )
    count = 0

    def try_one(self, draw: random.Random) -> None:
        Modules.count += 1
        name = f"fuzzed_{Modules.count}"
        base = draw.choice(["lantm.tasks", "lantm.geometry", "lantm.machine.weighting"])
        kind = {"lantm.tasks": "Task", "lantm.geometry": "Geometry"}.get(base, "Weighting")
        body = draw.choice(self.bodies).replace("VALUE", repr(any_value(draw)))
        path = pathlib.Path(f"{name}.py")
        path.write_text(f"from {base} import {kind} as Base\n{textwrap.dedent(body)}\n", errors="replace")
        options = draw.choice(["", "", "[a=1]", "[a=x,b=1]", "[size=1e9]", "[]", "[=]", "[a]"])
        make = draw.choice([make_task, make_geometry, make_weighting])
        try:
            make(f"{name}:Name{options}")
        except OSError as error:  # its own constructor's
            raise LantmError(str(error)) from error
        finally:
            path.unlink()
            sys.modules.pop(name, None)


KINDS: tuple[Callable[[Base], Kind], ...] = (
    *(MachineFiles, Checkpoints, Recordings, DamagedFiles, RunFiles, SweepFiles, Results, Texts, Modules, Arguments),
)

np.seterr(all="ignore")
