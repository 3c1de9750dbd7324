"""Language modelling (section 4.3 of the paper): its table of perplexities on the Penn Treebank."""

import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any

from lantm.devices import use_one_device
from lantm.errors import LantmError
from lantm.files import write_whole
from lantm.grids.cell import Cell
from lantm.grids.request import Request
from lantm.grids.study import Study
from lantm.machine import LantmConfig
from lantm.paper.presets import PAPER_MODELS, preset
from lantm.paper.published import LANGUAGE as FIGURES
from lantm.report import perplexity_table
from lantm.tasks import read_corpus
from lantm.training import Experiment, ModelName, TextFiles

SEEDS = 4
_QUICK_WORDS = {"train": 50_000, "valid": 12_500, "test": 12_500}
_QUICK_FOLDER = pathlib.Path("runs/quick/text")


def _cells(request: Request) -> list[Cell]:
    return text_cells(request, [(model, {}, "") for model in PAPER_MODELS])


def text_cells(request: Request, machines: Sequence[tuple[ModelName, Mapping[str, Any], str]]) -> list[Cell]:
    """A cell for each model, change of its machine, and file name part that distinguishes it from the paper's."""
    if request.folder is None:
        raise LantmError(
            "language needs a text: give --data FOLDER with ptb.train.txt, ptb.valid.txt and ptb.test.txt "
            "(Tomas Mikolov's simple-examples.tgz has them)"
        )
    if request.recipe != "paper" or request.scales or request.hard:
        raise LantmError("language has only the recipe paper, and no scales: leave out --recipe, --scales and --hard")
    # With a large vocabulary, a single matrix product uses all cores.
    use_one_device()
    text = TextFiles.of(_beginning(request.folder) if request.quick else request.folder)
    cells = []
    for model, changes, varied in machines:
        experiment = _changed(preset("text", model), changes, text, request)
        machine = experiment.machine
        cells.append(
            Cell(
                experiment=experiment,
                figures={label: {"perplexity": figure} for label, figure in FIGURES[model].items()},
                request=request,
                varied=varied,
                extra={"geometry": machine.geometry} if isinstance(machine, LantmConfig) else {},
            )
        )
    return cells


def _changed(experiment: Experiment, changes: Mapping[str, Any], text: TextFiles, request: Request) -> Experiment:
    machine = dataclasses.replace(experiment.machine, **changes)
    experiment = dataclasses.replace(experiment, machine=machine, text=text)
    return request.applied_to(experiment.with_epochs(2), 1) if request.quick else request.applied_to(experiment, SEEDS)


def _beginning(folder: pathlib.Path) -> pathlib.Path:
    """A folder with the beginning of a text, for a quick version."""
    corpus = read_corpus(folder)
    for part, most in _QUICK_WORDS.items():
        words = " ".join(corpus.words[number] for number in corpus.part(part)[:most])  # type: ignore[arg-type]
        lines = words.replace(" <eos>", "\n").replace("<eos>", "\n")
        write_whole(_QUICK_FOLDER / f"{part}.txt", (lines.removesuffix("\n") + "\n").encode())
    return _QUICK_FOLDER


LANGUAGE = Study(
    "language",
    "perplexities of 3 models on the Penn Treebank, whose files are named by --data (table of section 4.3)",
    _cells,
    table=perplexity_table,
)
