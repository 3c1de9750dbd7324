"""All tables of the paper: which cells, in which order, and what may be chosen of them."""

import itertools
import pathlib

import pytest

from lantm.errors import LantmError
from lantm.grids import Cell, Request
from lantm.grids.studies.whole import cells_of_all, tables_of


def chosen(**asked: object) -> list[Cell]:
    return cells_of_all(Request(**asked))  # type: ignore[arg-type]


def studies(cells: list[Cell]) -> set[str]:
    return {cell.study for cell in cells}


def test_all_tables_of_the_documentation() -> None:
    found = {names: len(cells) for names, cells in tables_of(chosen()).items()}
    assert found == {
        ("sequences", "paper"): 15,
        ("sequences", "robust"): 5,
        ("sequences", "exact"): 10,
        ("generalisation", "paper"): 5,
        ("generalisation", "robust"): 5,
        ("generalisation", "exact"): 10,
        ("tweaks", "paper"): 60,
        ("programs", "paper"): 6,
        ("programs", "robust"): 4,
    }


def test_their_order() -> None:
    """Every cell once; the LSTM's last; those of one training follow each other, so that it is compiled once."""
    cells = chosen()
    assert len({cell.key for cell in cells}) == len(cells)
    models = [cell.experiment.model == "lstm" for cell in cells]
    assert models == sorted(models)
    assert sum(models) == 7
    names = [cell.run_name for cell in cells]
    changes = sum(one != other for one, other in itertools.pairwise(names))
    assert changes == len(set(names)) - 1
    shared = {cell.study for cell in cells if cell.run_name == "copy-lantm-invnorm-paper"}
    assert shared == {"sequences", "generalisation", "tweaks"}
    assert cells[0].key == "sequences/copy-lantm-invnorm-paper"


def test_with_a_text(text_folder: pathlib.Path) -> None:
    cells = chosen(data=str(text_folder), models=("lstm", "lantm-softmax"))
    assert [cell.experiment.model for cell in cells if cell.study == "language"] == ["lantm-softmax", "lstm"]
    assert cells[-1].key == "language/lstm"


@pytest.mark.thorough
def test_what_is_chosen() -> None:
    assert studies(chosen(models=("lstm",))) == {"sequences", "programs"}
    assert {cell.experiment.task for cell in chosen(only=("reverse",))} == {"reverse"}
    assert studies(chosen(only=("loop",))) == {"programs"}
    both = chosen(only=("copy", "power-2"), models=("lantm-invnorm",))
    assert [cell.name for cell in both if cell.study == "tweaks"] == ["copy-lantm-invnorm-power-2-paper"]
    assert studies(both) == {"sequences", "generalisation", "tweaks"}
    assert {cell.experiment.seeds for cell in chosen(seeds=3)} == {3}


def test_a_quick_version() -> None:
    cells = chosen(quick=True)
    names = {names: len(cells) for names, cells in tables_of(cells).items()}
    assert names == {("sequences", "paper"): 3, ("generalisation", "paper"): 1, ("tweaks", "paper"): 2} | {
        ("programs", "paper"): 3
    }
    assert {cell.experiment.recipe_name for cell in cells} == {"paper"}
    assert {cell.experiment.task for cell in cells if cell.study != "programs"} == {"copy"}
    assert {cell.experiment.task for cell in chosen(quick=True, only=("double",))} == {"double"}


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"only": ("cpoy",)}, "--only cpoy selects nothing in all"),
        ({"models": ("ntm",)}, "--models ntm selects nothing in all: known are lantm-invnorm"),
        ({"only": ("power-2",), "models": ("lstm",)}, "together select no cell"),
        ({"scales": (3,)}, "--scales applies to a single study"),
        ({"hard": True}, "--hard applies to a single study"),
    ],
)
def test_mistakes(asked: dict[str, object], reason: str) -> None:
    with pytest.raises(LantmError, match=reason):
        chosen(**asked)
