"""How the LSTM learns with the recipe `tuned`: its periodic tests, as a table and as docs/lstm-curves.svg.

python tools/lstm_curves.py     draws the picture; tools/readme.py writes the table
"""

import pathlib
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from study_tables import TUNED, Results

from lantm.tasks import make_task

ROOT = pathlib.Path(__file__).parent.parent
PICTURE = "docs/lstm-curves.svg"
POINTS = 10  # rows of the table per task


class Curve:
    """The periodic tests at 1x of one task's training."""

    def __init__(self, result: dict[str, Any]):
        recipe, tests = result["experiment"]["recipe"], result["tests"]["1x"]
        self.updates: Int[np.ndarray, " tests"] = recipe["batches"] * np.array(tests["epochs"])
        self.coarse, self.fine = (
            np.array([[np.nan if value is None else value for value in row] for row in tests[name]], float)
            for name in ("coarse", "fine")
        )
        self.reached = _at(tests["epochs"], result.get("lengths_reached"))
        self.best = int(np.lexsort([np.nan_to_num(scores[-1], nan=-1) for scores in (self.fine, self.coarse)])[-1])
        """The index of the seed that is the best in the last test."""


def _at(epochs: list[int], reached: dict[str, Any] | None) -> Float[np.ndarray, "tests seeds"] | None:
    """The longest length that every seed had been trained on at each test, if there was a curriculum."""
    if reached is None:
        return None
    places = np.searchsorted(reached["epochs"], epochs, side="right") - 1
    return np.array(reached["longest"], float)[places]


def curves(results: Results) -> dict[str, Curve]:
    """By task, those that were run."""
    return {task: Curve(result) for (task, model), result in results.cells(TUNED).items() if model == "lstm"}


def table(root: pathlib.Path) -> str:
    """Ten tests of every task, from the first to the last."""
    results = Results(root, "sequences", f" --recipe {TUNED} --models lstm")
    rows = []
    for task, curve in curves(results).items():
        for at in sorted({round(place) for place in np.linspace(0, len(curve.updates) - 1, POINTS)}):
            best = f"{curve.coarse[at, curve.best]:.1f}/{curve.fine[at, curve.best]:.1f}"
            median = f"{np.nanmedian(curve.coarse[at]):.1f}/{np.nanmedian(curve.fine[at]):.1f}"
            longest = "" if curve.reached is None else f"{curve.reached[at, curve.best]:.0f}"
            rows.append([task, f"{curve.updates[at]:,}", longest, best, median])
    head = ["task", "updates", "trained on lengths to", "1x, best seed", "1x, median"]
    made = results.table(head, rows)
    return f"![scores by updates]({pathlib.Path(PICTURE).name})\n\n{made}" if (root / PICTURE).exists() else made


def draw(root: pathlib.Path) -> None:
    """A panel per task: symbols that are right at 1x, of every seed, by updates; and the length reached."""
    from lantm.report.figures.canvas import QUIET, READS, WRITE, new_figure, style

    found = curves(Results(root, "sequences"))
    if not found:
        raise SystemExit("there are no results yet: lantm reproduce sequences --recipe tuned --models lstm")
    with style():
        figure = new_figure(height=2.2)
        for place, (task, curve) in enumerate(found.items()):
            axes = figure.add_subplot(1, len(found), place + 1)
            axes.set_title(task, fontsize=8)
            axes.set_ylim(0, 101)
            axes.set_xlabel("thousand updates", fontsize=7)
            axes.set_ylabel("percent right at 1x" if place == 0 else "", fontsize=7)
            axes.tick_params(labelsize=6)
            axes.plot(curve.updates / 1000, curve.fine, color=WRITE, linewidth=0.8)
            axes.plot(curve.updates / 1000, curve.coarse, color=READS[0], linewidth=0.8)
            if curve.reached is not None:
                share = 100 * curve.reached / make_task(task).train_lengths.largest
                axes.plot(curve.updates / 1000, share, color=QUIET, linewidth=0.6)
        figure.tight_layout()
        (root / PICTURE).parent.mkdir(exist_ok=True)
        figure.savefig(root / PICTURE, metadata={"Date": None})


if __name__ == "__main__":
    draw(ROOT)
    print(f"written to {PICTURE}")
