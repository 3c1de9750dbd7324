"""Tables of studies as Markdown, from the files that `lantm reproduce` leaves in results/."""

import json
import math
import pathlib
from collections.abc import Iterable
from typing import Any

from lantm.evaluation.measured import BEYOND_ALL_SCORES
from lantm.grids import Request
from lantm.grids.studies import STUDIES
from lantm.paper.published import FURTHER, PROGRAMS, SEQUENCES, Figures
from lantm.training import Experiment

RECIPES = ("paper", "robust", "exact")  # those that tables compare
TUNED = "tuned"  # of the LSTM alone
NOT_RUN = "-"  # in a cell of a table
CHANGED = "†"  # behind figures of a training whose settings have been changed since
MODEL_NAMES = {
    "lantm-invnorm": "InvNorm",
    "lantm-softmax": "SoftMax",
    "lstm": "LSTM",
    "ram": "RAM",
    "ram-tape": "RAM/tape",
    "ntm": "NTM",
    "tape-rnn": "tape RNN",
    "transformer": "transformer",
}

Row = dict[str, Any]


class Results:
    """The results of a study, by what its cells are labelled with: task, model, and what else tells them apart."""

    def __init__(self, root: pathlib.Path, study: str, options: str = ""):
        """`options` are those of the command that makes them."""
        self._folder, self._study = root / "results" / study, study
        self.command = f"`lantm reproduce {study}{options}`"
        self._used: list[dict[str, Any]] = []

    def cells(self, recipe: str) -> dict[tuple[str, ...], dict[str, Any]]:
        """All that were run, in the order of the study."""
        cells = STUDIES[self._study].cells(Request(recipe=recipe))
        files = {tuple(cell.labels.values()): self._folder / f"{cell.name}.json" for cell in cells}
        found = {labels: json.loads(file.read_text()) for labels, file in files.items() if file.exists()}
        for cell in cells:
            result = found.get(tuple(cell.labels.values()))
            if result and settings_changed(result, cell.experiment):
                result["rows"] = [{**row, "changed": True} for row in result["rows"]]
        self._used += found.values()
        return found

    def recipes(self, *names: str) -> dict[str, dict[tuple[str, ...], dict[str, Any]]]:
        """The same by recipe, of all or of these; recipes of which nothing was run are left out."""
        return {recipe: found for recipe in names or RECIPES if (found := self.cells(recipe))}

    def table(self, head: list[str], rows: list[list[str]]) -> str:
        """A table, and where its numbers come from; one line where there are none."""
        return table_of(head, rows, self)

    @property
    def origin(self) -> str:
        """Where those that were used come from; empty if there are none."""
        if not self._used:
            return ""
        devices = sorted({result["trained"]["device"] for result in self._used})
        dates = sorted({result["trained"]["date"][:10] for result in self._used})
        span = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
        return f"{self.command}, results/{self._study}, {span}, trained on {'; '.join(devices)}"


def table_of(head: list[str], rows: list[list[str]], *studies: Results) -> str:
    """A table from the results of one or more studies, and where its numbers come from."""
    origins = [study.origin for study in studies if study.origin]
    if not origins:
        does = "does" if len(studies) == 1 else "do"
        return f"Not run yet: {' and '.join(study.command for study in studies)} {does} it."
    missing = f"; {NOT_RUN}: not run" if any(NOT_RUN in row for row in rows) else ""
    return f"{table(head, rows)}\n\n<sub>{'; '.join(origins)}{missing}{changed_note(rows)}</sub>"


def settings_changed(result: dict[str, Any], now: Experiment) -> bool:
    """Whether a machine was trained with other settings than these, which `lantm reproduce` would train it with now."""
    then = Experiment.from_json(result["experiment"])
    return (then.machine, then.recipe) != (now.machine, now.recipe)


def changed_note(rows: list[list[str]]) -> str:
    """What the mark means, for the line below a table that has it."""
    marked = any(CHANGED in cell for row in rows for cell in row)
    return (
        f"; {CHANGED}: the settings have been changed since, its file has those it was trained with" if marked else ""
    )


def sequences(root: pathlib.Path) -> str:
    """Five tasks, three models, at 1x and 2x."""
    results = Results(root, "sequences")
    cells = results.recipes(*RECIPES, TUNED)
    head = ["task", "model", "paper: 1x", "2x"]
    for recipe in cells:
        head += [f"ours, `{recipe}`: 1x", "2x", "seeds that solve 1x, 2x"]
    rows = []
    for (task, model), figures in SEQUENCES.items():
        row = [task, MODEL_NAMES[model], *(_percent(figures[scale]) for scale in (1, 2))]
        for recipe in cells:
            at = [_row(cells[recipe].get((task, model)), scale) for scale in (1, 2)]
            row += [*map(ours, at), ", ".join(_solved(one) for one in at if one)]
        rows.append(row)
    return results.table(head, rows)


def robust(root: pathlib.Path) -> str:
    """What `robust` makes of every seed, and what of every single start."""
    results = Results(root, "sequences")
    rows = []
    for (task, model), result in results.cells("robust").items():
        if model != "lantm-invnorm":
            continue
        scales = [_row(result, scale) for scale in (1, 2)]
        lowest = [min(row["coarse_by_seed"]) for row in scales if row]
        starts, solving = starts_that_solve(result, 1, 2, 3)
        rows.append(
            [
                task,
                *(_solved(row) for row in scales if row),
                *(f"{low:.1f}%" for low in lowest),
                *(_solved(row) for row in result["final"]),
                f"{solving[0]} of {starts}",
                *map(str, solving[1:]),
            ]
        )
    head = ["task", "seeds that solve 1x", "2x", "worst seed: 1x", "2x"]
    head += ["last weights: 1x", "2x", "starts that solve 1x", "2x", "4x"]
    return results.table(head, rows)


def generalisation(root: pathlib.Path) -> str:
    """InvNorm at 4x, 5x and 8x; the recipe `exact`, which goes further, has tables of its own (exact_tables.py)."""
    results = Results(root, "generalisation")
    cells = results.recipes("paper", "robust")
    scales = (4, 5, 8)
    head = ["task"]
    for whose in ("paper", *(f"ours, `{recipe}`" for recipe in cells)):
        head += [f"{whose}: {scales[0]}x", *(f"{scale}x" for scale in scales[1:])]
    rows = []
    for labels, figures in FURTHER.items():
        row = [labels[0], *(_percent(figures.get(scale)) for scale in scales)]
        for recipe in cells:
            row += [ours(_row(cells[recipe].get(labels), scale)) for scale in scales]
        rows.append(row)
    return results.table(head, rows)


def every_cell(root: pathlib.Path) -> str:
    """All that is known of every cell of both studies: the best seed, its last weights, the paper's reading, seeds."""
    head = ["task", "model", "recipe", "scale", "paper", "ours", "last weights", "best test"]
    head += ["median coarse", "solved", "epochs until solved", "minutes", ""]
    text = []
    for study in ("sequences", "generalisation"):
        results = Results(root, study)
        recipes = (*RECIPES, TUNED) if study == "sequences" else RECIPES
        cells = [result for found in results.recipes(*recipes).values() for result in found.values()]
        rows = [_full_row(result, row) for result in cells for row in result["rows"]]
        text.append(f"### {study.capitalize()}\n\n{results.table(head, rows)}")
    return "\n\n".join(text)


def tweaks(root: pathlib.Path) -> str:
    """Each tweak taken away, on every task."""
    results = Results(root, "tweaks")
    head = [
        "recipe",
        "task",
        "machine",
        "solve 1x",
        "epochs until then",
        "solve 2x",
        "2x, best seed",
        "2x coarse, median",
    ]
    rows = []
    for recipe, cells in results.recipes().items():
        for (task, _, variation), result in cells.items():
            short, long = (_row(result, scale) for scale in (1, 2))
            if short and long:
                solved = [_solved(short), _plain(short["epochs_until_solved"]), _solved(long)]
                beyond = [ours(long), cut_off(long, "median_coarse")]
                rows.append([recipe, task, variation.replace("-", " "), *solved, *beyond])
    return results.table(head, rows)


def programs(root: pathlib.Path) -> str:
    """All six kinds and small loops alone, three models."""
    results = Results(root, "programs")
    cells = results.recipes("paper", "robust")
    head = ["programs", "model", "paper"]
    for recipe in cells:
        head += [f"ours, `{recipe}`", "median of seeds", "seeds that solve it"]
    rows = []
    for (kinds, model), figures in PROGRAMS.items():
        row = ["all six kinds" if kinds == "all" else "small loops", MODEL_NAMES[model], _percent(figures)]
        for recipe in cells:
            result = next((one for labels, one in cells[recipe].items() if labels[1:] == (model, kinds)), None)
            one = _row(result, 1)
            row += [ours(one), *([cut_off(one, "median_coarse", "median_fine"), _solved(one)] if one else ["", ""])]
        rows.append(row)
    return results.table(head, rows)


def table(head: list[str], rows: Iterable[list[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def row_of(result: dict[str, Any] | None, test: str) -> Row | None:
    """What a result says of a test, such as 1x or 2x hard; nothing when it was not run there."""
    rows = result["rows"] if result else []
    return next((row for row in rows if row["scale"] == test), None)


def starts_that_solve(result: dict[str, Any], *tests: int) -> tuple[int, list[int]]:
    """The number of single starts, and how many of them solve each number of tests, from the first on."""
    merits = [merit or 0.0 for of_seed in result["best_tests_of_starts"] for merit in of_seed]
    # A merit has so much for every test that is solved, from the shortest lengths on (`Recipe.shorter_first`).
    return len(merits), [sum(merit >= BEYOND_ALL_SCORES * number for merit in merits) for number in tests]


def _row(result: dict[str, Any] | None, scale: int) -> Row | None:
    return row_of(result, f"{scale}x")


def _full_row(result: dict[str, Any], row: Row) -> list[str]:
    tested = "best_test_coarse" in row
    return [
        row["task"],
        MODEL_NAMES[row["model"]],
        row["recipe"],
        row["scale"],
        _percent(row["paper"]),
        f"{row['coarse']:.2f}/{row['fine']:.2f}",
        f"{row['final_coarse']:.2f}/{row['final_fine']:.2f}" if "final_coarse" in row else "",
        f"{row['best_test_coarse']:.2f}/{row['best_test_fine']:.2f}" if tested else "",
        f"{row['median_coarse']:.2f}",
        _solved(row),
        _plain(row["epochs_until_solved"]) if tested else "",
        f"{result['training_seconds'] / 60:.1f}",
        {True: "pass", False: "**fail**", None: ""}[row["pass"]],
    ]


def _percent(figures: Figures | None) -> str:
    return f"{figures['coarse']}/{figures['fine']}" if figures else ""


def cut_off(row: Row, *scores: str) -> str:
    """Percents cut off, not rounded, so that 100.0 is all of them."""
    return "/".join(f"{math.floor(10 * row[score] + 1e-6) / 10:.1f}" for score in scores)


def ours(row: Row | None) -> str:
    """Bold where it is at least the paper's."""
    if row is None:
        return NOT_RUN
    figures = cut_off(row, "coarse", "fine")
    mark = f" {CHANGED}" if row.get("changed") else ""
    return (f"**{figures}**" if row["pass"] else figures) + mark


def _solved(row: Row) -> str:
    return f"{row['solved']} of {row['seeds']}"


def _plain(value: float | None) -> str:
    return "never" if value is None else f"{value:g}"
