"""What is in results/ stays readable, and is not trained again."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest

from lantm.grids import Cell, GridFolder, Request
from lantm.grids.studies import STUDIES
from lantm.paper import RECIPES
from lantm.paper.presets.second import SECOND_RECIPES
from lantm.training import Experiment, TextFiles

RESULTS = pathlib.Path(__file__).parent.parent.parent / "results"
PENN_TREEBANK = TextFiles(
    folder="elsewhere", digest="fbe6fabcfac4ed05f229cbda7fa66bbb3885121325e807e2aac2e8ba00362e64", vocabulary=10_000
)
"""The text of all results; it is not part of this package."""
KEPT_FOR_COMPARISON = {
    # Trained before the recipes of programs were what they are; docs/programs.md cites them.
    "programs": {"earlier-programs-lantm-softmax-paper", "earlier-programs-lantm-softmax-robust"},
    # Trained before the cells of the recipe settled; tables mark them.
    "generalisation": {"copy-lantm-invnorm-exact", "reverse-lantm-invnorm-exact"},
}


def experiments_in(value: Any) -> Iterator[Any]:
    """Every experiment that a JSON value holds, however deep."""
    if isinstance(value, dict):
        if "experiment" in value:
            yield value["experiment"]
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from experiments_in(one)


def test_every_experiment_can_be_read() -> None:
    """As it was, also after it is written and read again."""
    count = 0
    for path in sorted(RESULTS.rglob("*.json")):
        for record in experiments_in(json.loads(path.read_text())):
            experiment = Experiment.from_json(record)
            assert (experiment.model, experiment.seeds) == (record["model"], record["seeds"]), path
            assert experiment.machine.cells == record["machine"]["cells"], path
            assert experiment.recipe.learning_rate == record["recipe"]["learning_rate"], path
            assert experiment.recipe.epochs == record["recipe"]["epochs"], path
            assert Experiment.from_json(json.loads(json.dumps(experiment.to_json()))) == experiment, path
            count += 1
    assert count > 140


@pytest.fixture
def penn_treebank(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stands for the text, which no cell has to read to be compared."""
    monkeypatch.setattr(TextFiles, "of", lambda *_: PENN_TREEBANK)


def cells_of(study: str) -> dict[str, Cell]:
    """All cells that anybody may have trained without settings of their own, by name."""
    texts = study.startswith("language")
    limited = {"exact": ("sequences", "generalisation"), "tuned": ("sequences",)}
    limited |= dict.fromkeys(SECOND_RECIPES, ("second-paper",))
    recipes = [recipe for recipe in RECIPES if study in limited.get(recipe, (study,))]
    requests = [Request(data="elsewhere")] if texts else [Request(recipe=recipe) for recipe in recipes]
    return {cell.name: cell for request in requests for cell in STUDIES[study].selected(request)}


LONG = ("geometries", "mechanisms", "tweaks")  # studies of many cells


@pytest.mark.parametrize(
    "study", [pytest.param(study, marks=pytest.mark.thorough if study in LONG else ()) for study in sorted(STUDIES)]
)
def test_every_result_is_taken_for_its_cell(study: str, penn_treebank: None, tmp_path: pathlib.Path) -> None:
    if not (RESULTS / study).exists():
        pytest.skip("it was not run yet")
    cells, folder = cells_of(study), GridFolder(tmp_path, RESULTS)
    stored = {path.stem for path in (RESULTS / study).glob("*.json")}
    kept = KEPT_FOR_COMPARISON.get(study, set())
    assert kept <= stored
    assert stored - kept <= cells.keys()
    assert len(stored - kept) >= 2
    for name in stored - kept:
        assert cells[name].stored(folder) is not None, f"{study} would train {name} again"
