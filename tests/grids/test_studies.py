"""The studies: which cells there are, what the paper has for them, and how they are chosen."""

import dataclasses
import pathlib
import re

import pytest

from lantm.errors import LantmError
from lantm.grids import Cell, Request
from lantm.grids.comparison import beside_the_paper
from lantm.grids.studies import STUDIES, texts
from lantm.machine import LantmConfig
from lantm.paper import MODELS, preset, settings_of


def cells(study: str, **asked: object) -> list[Cell]:
    found = STUDIES[study].selected(Request(**asked))  # type: ignore[arg-type]
    assert {cell.study for cell in found} == {study}
    return found


def test_the_sequences() -> None:
    """5 tasks x 3 models; at least 8 seeds of a LANTM and 3 of the LSTM; every cell has figures of the paper."""
    found = cells("sequences")
    assert len({cell.name for cell in found}) == 15
    for cell in found:
        lstm = cell.experiment.model == "lstm"
        assert cell.experiment.seeds == (3 if lstm else 8)
        assert cell.scales == (1, 2)
        assert {"1x", "2x"} <= set(cell.figures)
        assert cell.experiment.recipe == preset(cell.experiment.task, cell.experiment.model).recipe
        cell.check()


def test_generalisation_scores_the_trainings_of_the_sequences() -> None:
    found = cells("generalisation", recipe="robust")
    assert len(found) == 5
    assert {cell.scales for cell in found} == {(4, 5, 8)}
    trained = {cell.run_name: cell.experiment for cell in cells("sequences", recipe="robust")}
    assert all(trained[cell.run_name] == cell.experiment for cell in found)


def test_geometries() -> None:
    """5 tasks x 12 key spaces, which can all be made, with one start per seed."""
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
    assert len({cell.name for cell in found}) == 5 * 12
    whole = {cell.experiment.task: cell for cell in cells("sequences", models=("lantm-invnorm",))}
    changed: dict[str, set[tuple[str, object]]] = {}
    for cell in found:
        usual = settings_of(whole[cell.experiment.task].experiment)
        difference = {name: value for name, value in settings_of(cell.experiment).items() if value != usual[name]}
        changed.setdefault(cell.extra["variation"], set()).update(difference.items())
        shared = cell.run_name == whole[cell.experiment.task].run_name
        assert shared == (cell.extra["variation"] == "as-it-is") == (difference == {})
    assert changed == {
        "as-it-is": set(),
        "no-gate-bias": {("write_gate_bias", 0.0)},
        "no-normalisation": {("normalise_steps", False)},
        "no-interpolation": {("interpolate_actions", False)},
        "no-read-interpolation": {("interpolate_read_actions", False)},
        "power-2": {("weighting", "invnorm[power=2.0]")},
        "renormalised": {("weighting", "invnorm[renormalise=true]")},
        "read-sees-write": {("read_sees_write", True)},
        "sigmoid-vectors": {("squash_vectors", "sigmoid")},
        "momentum": {("momentum", 0.95)},
        "adam": {("optimiser", "adam")},
        "two-write-heads": {("write_heads", 2)},
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
    with pytest.raises(LantmError, match="--only lstm selects nothing in sequences: known are copy, reverse,"):
        cells("sequences", only=("lstm",))
    with pytest.raises(LantmError, match="--models copy selects nothing in sequences: known are lantm-invnorm,"):
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
    compared = beside_the_paper(row(coarse, fine), {"coarse": 91, "fine": 98}, quick=False)
    assert compared["pass"] is passes
    assert compared["paper"] == {"coarse": 91, "fine": 98}
    assert "quick" not in compared


def test_nothing_is_compared_without_the_papers_figures_or_in_a_hurry() -> None:
    assert beside_the_paper(row(100, 100), None, quick=False)["pass"] is None
    quick = beside_the_paper(row(100, 100), {"coarse": 1, "fine": 1}, quick=True)
    assert (quick["pass"], quick["quick"]) == (None, True)


def test_programs() -> None:
    """All six kinds and small loops, x 3 models, scored where the paper scores: at the most digits trained on."""
    found = cells("programs")
    assert [(cell.labels["task"], cell.labels["kinds"]) for cell in found[::3]] == [
        ("programs", "all"),
        ("programs[kinds=loop]", "loop"),
    ]
    assert len({cell.name for cell in found}) == len({cell.run_name for cell in found}) == 6
    figures = {(cell.labels["kinds"], cell.experiment.model): tuple(cell.figures["1x"].values()) for cell in found}
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


# Texts.


def test_language(text_folder: pathlib.Path) -> None:
    """Three models on one text, with the paper's perplexities, one device and four seeds."""
    found = cells("language", data=str(text_folder))
    assert [cell.name for cell in found] == ["lantm-invnorm", "lantm-softmax", "lstm"]
    assert found[0].figures == {"validation": {"perplexity": 128}, "test": {"perplexity": 123}}
    for cell in found:
        cell.check()
        usual = preset("text", cell.experiment.model)
        assert (cell.experiment.machine, cell.experiment.recipe) == (usual.machine, usual.recipe)
        assert (cell.experiment.seeds, cell.scales) == (4, ())
        assert cell.experiment.text is not None
        assert cell.experiment.text.folder == str(text_folder.resolve())
    few = cells("language", data=str(text_folder), models=("lstm",), seeds=1, epochs=2)[0].experiment
    assert (few.model, few.seeds, few.recipe.epochs) == ("lstm", 1, 2)


def test_key_spaces_of_language(text_folder: pathlib.Path) -> None:
    """The paper's machine shares its training with the table of perplexities; the disk has one of its own."""
    plane, disk = cells("language-geometries", data=str(text_folder))
    assert plane.run_name in {cell.run_name for cell in cells("language", data=str(text_folder))}
    assert disk.name == "lantm-invnorm-disk"
    assert (plane.labels["geometry"], disk.labels["geometry"]) == ("translation", "disk")
    assert disk.experiment.machine == dataclasses.replace(plane.experiment.machine, geometry="disk")


@pytest.mark.parametrize("study", ["sequences", "geometries", "programs", "language"])
def test_no_epochs_are_refused(study: str, text_folder: pathlib.Path) -> None:
    with pytest.raises(LantmError, match="epochs is 0"):
        cells(study, epochs=0, data=str(text_folder))


def test_a_quick_version_reads_the_beginning_of_the_text(
    text_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(texts, "_QUICK_WORDS", {"train": 70, "valid": 35, "test": 35})
    quick = cells("language", data=str(text_folder), quick=True)[0]
    whole = cells("language", data=str(text_folder))[0]
    assert quick.name == "lantm-invnorm-quick"
    assert quick.experiment.recipe.epochs < whole.experiment.recipe.epochs
    corpus = quick.experiment.build_text().corpus
    assert [len(part) for part in (corpus.train, corpus.valid, corpus.test)] == [70, 35, 35]
    of_whole = whole.experiment.build_text().corpus
    words = [[read.words[number] for number in read.train[:70]] for read in (corpus, of_whole)]
    assert words[0] == words[1]


@pytest.mark.parametrize(
    ("perplexity", "quick", "passes"),
    [(123.49, False, True), (123.5, False, False), (None, False, False), (80.0, True, None)],
)
def test_perplexities_count_in_whole_numbers(perplexity: float | None, quick: bool, passes: bool | None) -> None:
    row = {"scale": "test", "perplexity": perplexity}
    assert beside_the_paper(row, {"perplexity": 123}, quick)["pass"] is passes


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({}, "language needs a text: give --data FOLDER"),
        ({"data": "nowhere"}, "there is no folder nowhere"),
        ({"data": "nowhere", "scales": (2,)}, "leave out --recipe, --scales and --hard"),
        ({"data": "nowhere", "recipe": "robust"}, "leave out --recipe, --scales and --hard"),
        ({"data": "nowhere", "hard": True}, "leave out --recipe, --scales and --hard"),
    ],
)
def test_what_cannot_be_asked_of_a_text(asked: dict[str, object], reason: str) -> None:
    for study in ("language", "language-geometries"):
        with pytest.raises(LantmError, match=reason):
            cells(study, **asked)


def test_the_second_paper() -> None:
    """8 tasks, every model, those with a key space in the plane and on the sphere."""
    found = cells("second-paper")
    spaces = {(cell.experiment.model, cell.extra.get("geometry")) for cell in found}
    planes = {("lantm-invnorm", "translation"), ("lantm-softmax", "translation")}
    spheres = {("lantm-invnorm", "sphere"), ("lantm-softmax", "sphere")}
    assert spaces == planes | spheres | {(model, None) for model in MODELS if not model.startswith("lantm")}
    assert len({cell.name for cell in found}) == len({cell.run_name for cell in found}) == 8 * len(spaces)
    assert {cell.scales for cell in found} == {(1, 2, 4)}
    for cell in found:
        assert re.fullmatch("[A-Za-z0-9-]+", cell.name)
        assert cell.experiment.recipe.recycled_problems == 320_000
        if isinstance(cell.experiment.machine, LantmConfig):
            assert cell.experiment.machine.geometry == cell.extra["geometry"]
        cell.check()
    reached = [(cell.experiment.task, cell.figures["2x"]["coarse"]) for cell in found if cell.figures]
    assert ("double[highest_first=true]", 100) in reached
    assert ("prioritySort", 72) in reached
    assert len(cells("second-paper", only=("oddFirst", "sphere"), models=("lantm-softmax",))) == 1


@pytest.mark.parametrize("recipe", ["robust", "exact", "tuned", "second-small", "demo"])
def test_recipes_of_the_second_paper(recipe: str) -> None:
    """Models that ours are compared with have no recipes of ours: they are trained by `tuned`."""
    for cell in cells("second-paper", recipe=recipe):
        ours = isinstance(cell.experiment.machine, LantmConfig)
        assert cell.experiment.recipe_name == ("tuned" if recipe in ("robust", "exact") and not ours else recipe)
        assert not (recipe == "tuned" and ours)
    quick = cells("second-paper", recipe=recipe, quick=True)
    assert {cell.experiment.lengths for cell in quick if cell.experiment.task == "repeatCopy"} == {(1, 5)}


def test_approximate_figures_pass_and_fail_nothing() -> None:
    figures = {"coarse": 72, "fine": 98}
    row = beside_the_paper({"coarse": 10.0, "fine": 20.0}, figures, quick=False, approximate=True)
    assert (row["paper"], row["pass"], row["approximate"]) == (figures, None, True)
    assert "approximate" not in beside_the_paper({}, None, quick=False, approximate=True)
