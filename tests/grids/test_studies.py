"""The studies: which cells there are, what the paper has for them, and how they are chosen."""

import re

import pytest
from lantm.experiments import STUDIES, Request, preset
from lantm.experiments.paper import Figures, sequence_figures
from lantm.experiments.study import beside_the_paper
from lantm.experiments.trained_cell import TrainedCell

from lantm.errors import LantmError
from lantm.machine import LantmConfig


def cells(study: str, **asked: object) -> list[TrainedCell]:
    found = STUDIES[study].selected(Request(**asked))  # type: ignore[arg-type]
    assert all(isinstance(cell, TrainedCell) for cell in found)
    return found  # type: ignore[return-value]


def test_the_sequences() -> None:
    """5 tasks x 3 models; at least 8 seeds of a LANTM and 3 of the LSTM; every cell has figures of the paper."""
    found = cells("sequences")
    assert len({cell.name for cell in found}) == 15
    for cell in found:
        lstm = cell.experiment.model == "lstm"
        assert cell.experiment.seeds == (3 if lstm else 8)
        assert cell.scales == (1, 2)
        assert set(cell.scales) <= set(cell.figures)
        assert cell.experiment.recipe == preset(cell.experiment.task, cell.experiment.model).recipe
        cell.check()


@pytest.mark.parametrize(
    ("task", "model", "scale", "expected"),
    [
        ("copy", "lstm", 1, (58, 97)),
        ("copy", "lantm-softmax", 2, (99, 100)),
        ("reverse", "lantm-softmax", 1, (1, 12)),
        ("reverse", "lantm-invnorm", 5, (12, 65)),
        ("bigramFlip", "lantm-invnorm", 8, (12, 96)),
        ("double", "lantm-invnorm", 4, (86, 99)),
        ("addition", "lantm-invnorm", 2, (99, 100)),
        ("addition", "lantm-invnorm", 4, (2, 95)),
        ("addition", "lstm", 2, (6, 64)),
    ],
)
def test_the_papers_figures(task: str, model: str, scale: int, expected: tuple[int, int]) -> None:
    assert sequence_figures(task, model)[scale] == expected


def test_generalisation_scores_the_trainings_of_the_sequences() -> None:
    found = cells("generalisation", recipe="robust")
    assert len(found) == 5
    assert {cell.scales for cell in found} == {(4, 5, 8)}
    trained = {cell.run_name: cell.experiment for cell in cells("sequences", recipe="robust")}
    assert all(trained[cell.run_name] == cell.experiment for cell in found)


def test_geometries() -> None:
    """5 tasks x 12 key spaces, which can all be made, with one start a seed."""
    found = cells("geometries", recipe="robust")
    assert len({cell.name for cell in found}) == len(found) == 60
    shared = {cell.run_name: cell.experiment for cell in cells("sequences", recipe="robust")}
    for cell in found:
        geometry, machine = cell.extra["geometry"], cell.experiment.machine
        assert isinstance(machine, LantmConfig)
        assert machine.geometry == geometry
        assert cell.scales == (1, 2, 4)
        assert cell.experiment.seeds == 8
        assert re.fullmatch("[A-Za-z0-9-]+", cell.name)
        assert cell.experiment.recipe.starts == 1
        assert cell.run_name not in shared
        assert (geometry == "translation") == bool(cell.figures)
        machine.access  # noqa: B018 it makes the geometry
        assert (machine.state_range > 0) == (geometry in ("rotation", "scaling-rotation")), "the origin stays"
    assert [cell.experiment.task for cell in cells("geometries", only=("disk[radius=8]",))] == [
        *("copy", "reverse", "bigramFlip", "double", "addition")
    ]


def test_tweaks() -> None:
    """Each changes one field; the machine as it is shares the training of the sequences."""
    found = cells("tweaks")
    assert len({cell.name for cell in found}) == 25
    whole = {cell.experiment.task: cell for cell in cells("sequences", models=("lantm-invnorm",))}
    changed = set()
    for cell in found:
        usual, machine = whole[cell.experiment.task].experiment.machine, cell.experiment.machine
        assert isinstance(usual, LantmConfig)
        assert isinstance(machine, LantmConfig)
        difference = {name: value for name, value in vars(machine).items() if value != getattr(usual, name)}
        if cell.extra["variation"] == "as-it-is":
            assert difference == {}
            assert cell.run_name == whole[cell.experiment.task].run_name
        else:
            changed |= set(difference.items())
            assert cell.run_name != whole[cell.experiment.task].run_name
    assert changed == {
        ("write_gate_bias", 0.0),
        ("normalise_steps", False),
        ("interpolate_actions", False),
        ("power", 2.0),
    }


def test_what_is_asked_for() -> None:
    few = cells("sequences", only=("copy", "double"), models=("lstm",), seeds=2, epochs=7, scales=(3, 6), recipe="demo")
    assert [cell.name for cell in few] == ["copy-lstm-demo-3x-6x", "double-lstm-demo-3x-6x"]
    assert {(cell.experiment.seeds, cell.experiment.recipe.epochs) for cell in few} == {(2, 7)}
    assert {cell.scales for cell in few} == {(3, 6)}
    assert len(cells("tweaks", only=("power-2",))) == 5
    both = cells("tweaks", only=("power-2", "copy", "double"))
    assert [cell.name for cell in both] == [f"{task}-lantm-invnorm-power-2-paper" for task in ("copy", "double")]


def test_what_chooses_nothing() -> None:
    with pytest.raises(LantmError, match="--only lstm chooses nothing of sequences: known are copy, reverse,"):
        cells("sequences", only=("lstm",))
    with pytest.raises(LantmError, match="--models copy chooses nothing of sequences: known are lantm-invnorm,"):
        cells("sequences", models=("copy",))


def test_quick_is_small_and_has_names_of_its_own() -> None:
    found = cells("sequences", quick=True)
    usual = {cell.name for cell in cells("sequences")}
    for cell in found:
        assert cell.name not in usual
        assert cell.experiment.seeds <= 2
        assert cell.experiment.recipe.epochs <= 100
        assert cell.experiment.build_task().train_lengths.largest == 8
        cell.check()


def row(coarse: float, fine: float) -> dict[str, float]:
    return {"coarse": coarse, "fine": fine}


@pytest.mark.parametrize(
    ("coarse", "fine", "passes"),
    [(91.0, 98.0, True), (90.5, 97.5, True), (90.49, 98.0, False), (100.0, 97.49, False), (100, 100, True)],
)
def test_both_figures_count_in_whole_percent(coarse: float, fine: float, passes: bool) -> None:
    compared = beside_the_paper(row(coarse, fine), Figures(91, 98), quick=False)
    assert compared["pass"] is passes
    assert compared["paper"] == {"coarse": 91, "fine": 98}
    assert "quick" not in compared


def test_nothing_is_compared_without_the_papers_figures_or_in_a_hurry() -> None:
    assert beside_the_paper(row(100, 100), None, quick=False)["pass"] is None
    quick = beside_the_paper(row(100, 100), Figures(1, 1), quick=True)
    assert (quick["pass"], quick["quick"]) == (None, True)


def test_programs() -> None:
    """All six kinds and small loops, x 3 models, scored where the paper scores: at the most digits trained on."""
    found = cells("programs")
    assert [(cell.labels["task"], cell.labels["kinds"]) for cell in found[::3]] == [
        ("programs", "all"),
        ("programs[kinds=loop]", "loop"),
    ]
    assert len({cell.name for cell in found}) == len({cell.run_name for cell in found}) == 6
    figures = {(cell.labels["kinds"], cell.experiment.model): cell.figures[1] for cell in found}
    assert figures == {
        ("all", "lstm"): (35, 66),
        ("all", "lantm-invnorm"): (39, 74),
        ("all", "lantm-softmax"): (35, 67),
        ("loop", "lstm"): (0, 51),
        ("loop", "lantm-invnorm"): (0, 55),
        ("loop", "lantm-softmax"): (0, 55),
    }
    for cell in found:
        cell.check()
        assert (cell.scales, cell.experiment.seeds) == ((1,), 8)
        assert cell.experiment.build_task().lengths_at(1).smallest == 4
    quick = cells("programs", quick=True, only=("loop",), models=("lstm",))[0].experiment
    assert (quick.seeds, quick.lengths) == (2, (1, 2))
    assert quick.recipe.epochs < 10
    asked = cells("programs", seeds=3, epochs=7)[0].experiment
    assert (asked.seeds, asked.recipe.epochs) == (3, 7)
    with pytest.raises(LantmError, match="no programs at scale 2"):
        cells("programs", scales=(2,))[0].check()
