"""What is stored of a cell: scores on fresh problems, the tests of the training, and the paper's figures beside."""

import dataclasses
import json
import pathlib
import shutil
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
from small_study import NAME, Bench, Watch

from lantm.evaluation import ProblemExaminer, best_seed, choosing, reporting
from lantm.grids import Cell, GridFolder, InProcess, Request, Study, from_zoo
from lantm.tasks import Corpus
from lantm.trained import load_run, promote, zoo
from lantm.training import Experiment, RunFolder
from lantm.training.starts import start_seed


def test_what_a_result_says(done: Bench, trained) -> None:
    result = done()
    assert result is not None
    assert (result["study"], result["cell"], result["command"]) == ("small", NAME, "a command")
    assert Experiment.from_json(result["experiment"]) == trained.experiment
    assert result["scored"]["jax"]
    assert result["epochs"] == 6
    learners, task = trained.result.learners, trained.experiment.build_task()
    assert result["best_epochs"] == learners.best_epoch.tolist()
    assert result["steps_without_finite_gradient"] == [0, 0, 0, 0]
    examiner = ProblemExaminer(task, {f"{scale}x": task.lengths_at(scale) for scale in (1, 2)}, 4)
    fresh = examiner(learners.best_model, learners.seed, reporting(64))
    last = examiner(learners.model, learners.seed, reporting(64))
    others = examiner(learners.best_model, learners.seed, choosing(64))
    for scale, row, final in zip(("1x", "2x"), result["rows"], result["final"], strict=True):
        assert row["fine_by_seed"] == np.round(fresh[scale].fine, 2).tolist(), "the problems that lantm eval draws"
        best = best_seed([others[scale]], "coarse")
        assert row["best_seed"] == best, "chosen on other problems"
        assert (row["coarse"], row["fine"]) == (row["coarse_by_seed"][best], row["fine_by_seed"][best])
        assert final["fine_by_seed"] == np.round(last[scale].fine, 2).tolist()
        assert row["final_fine"] == final["fine_by_seed"][best]
        assert row["problems"] == 64
    assert [row["pass"] for row in result["rows"]] == [True, False]


def test_the_tests_of_a_training_are_stored(done: Bench, trained) -> None:
    result = done()
    assert result is not None
    metrics = [line for line in trained.folder.metrics() if "test" in line]
    assert result["tests"].keys() == {"1x", "2x"}
    for scale, tests in result["tests"].items():
        assert tests["epochs"] == [2, 4, 6]
        for name in ("coarse", "fine"):
            found = [
                {"epoch": epoch, "seed": seed, "test": scale, name: score}
                for epoch, scores in zip(tests["epochs"], tests[name], strict=True)
                for seed, score in enumerate(scores)
            ]
            expected = [
                {key: line[key] for key in ("epoch", "seed", "test", name)} for line in metrics if line["test"] == scale
            ]
            assert sorted(found, key=str) == sorted(expected, key=str)
    row = result["rows"][0]
    assert row["best_test_fine"] == round(max(map(max, result["tests"]["1x"]["fine"])), 2)
    assert row["epochs_until_solved"] is None
    assert row["epochs_until_solved_by_seed"] == [None] * 4


def test_the_epochs_until_solved(done: Bench) -> None:
    file = done.run / "metrics.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    solved = {(0, 4): 99.0, (0, 6): 10.0, (1, 6): 100.0, (2, 6): 98.9}
    for line in lines:
        if line.get("test") == "1x":
            line["coarse"] = solved.get((line["seed"], line["epoch"]), 0.0)
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    result = done()
    assert result is not None
    row = result["rows"][0]
    assert row["epochs_until_solved_by_seed"] == [4, 6, None, None]
    assert row["epochs_until_solved"] == 5
    assert row["best_test_coarse"] == 100.0


def test_steps_that_were_left_out(done: Bench) -> None:
    """Every row has the count so far: the last one is a seed's."""
    metrics = done.run / "metrics.jsonl"
    rows = [json.loads(line) for line in metrics.read_text().splitlines()]
    for row in rows:
        if "skipped" in row and row["seed"] == 2:
            row["skipped"] = row["epoch"] // 2
    metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = done()
    assert result is not None
    assert result["steps_without_finite_gradient"] == [0, 0, 3, 0]


@pytest.mark.thorough
def test_hard_problems_beside_random_ones(done: Bench) -> None:
    """In a result of its own, so that the study's is not replaced."""
    random = done()
    done.request = dataclasses.replace(done.request, hard=True)
    assert done.cell.stored(done.folder) is None
    result = done()
    assert result is not None
    assert random is not None
    assert result["cell"] == f"{NAME}-hard"
    assert [row["scale"] for row in result["rows"]] == ["1x", "1x hard", "2x", "2x hard"]
    assert result["rows"][0::2] == random["rows"]
    assert [(row["paper"], row["pass"], "kinds" in row) for row in result["rows"][1::2]] == [(None, None, True)] * 2
    assert [row["scale"] for row in result["final"]] == ["1x", "1x hard", "2x", "2x hard"]


@pytest.mark.thorough
def test_several_starts_per_seed(bench: Bench) -> None:
    """The kept start of every seed is the one with the best test, and its weights are those that are scored."""
    recipe = dataclasses.replace(bench.experiment.recipe, starts=2)
    bench.experiment = dataclasses.replace(bench.experiment, recipe=recipe, seeds=2)
    result = bench()
    assert result is not None
    merits = np.array(result["best_tests_of_starts"])
    assert merits.shape == (2, 2)
    kept = [start_seed(seed, int(np.argmax(of_seed))) for seed, of_seed in enumerate(merits)]
    assert result["chosen_starts"] == kept
    run = load_run(RunFolder(bench.run))
    scores = run.scores((1, 2), problems=64)
    assert [row["fine_by_seed"] for row in result["rows"]] == [
        np.round(one.fine, 2).tolist() for one in scores.values()
    ]
    np.testing.assert_allclose(run.merits, merits.max(axis=1), atol=1e-3)


def test_from_the_zoo(bench: Bench, trained, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same figures as the run's own seed has, without training."""
    promote(trained.machines, seed=2, scales=(1, 2), problems=64, shelf=tmp_path / "shelf")
    monkeypatch.setattr(zoo, "find", partial(zoo.find, shelf=tmp_path / "shelf"))
    (result,), without = from_zoo([bench.cell])
    assert without == []
    assert (result["study"], result["cell"], result["machine"]) == ("small", NAME, "copy-lantm-invnorm")
    shutil.copytree(trained.folder.path, bench.run)
    own = bench()
    assert own is not None
    for row, other in zip(result["rows"], own["rows"], strict=True):
        assert (row["seeds"], row["best_seed"]) == (1, 2)
        assert (row["coarse"], row["fine"]) == (other["coarse_by_seed"][2], other["fine_by_seed"][2])
        assert (row["paper"], row["pass"]) == (other["paper"], row["scale"] == "1x")

    varied = dataclasses.replace(bench.cell, varied="disk[radius=8]")
    assert from_zoo([varied]) == ([], [varied]), "another machine of the same task and model is not taken for it"
    (tmp_path / "shelf" / "copy-lantm-invnorm.safetensors").unlink()
    assert from_zoo([bench.cell]) == ([], [bench.cell])


def test_a_cell_of_a_text(
    text_experiment: Callable[..., Experiment], corpus: Corpus, text_folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """Trained, interrupted and stored as one of a task; validation chooses the seed whose test is reported."""
    figures = {"validation": {"perplexity": 1000}, "test": {"perplexity": 1}}
    study = Study("texts", "", lambda request: [Cell(text_experiment(), figures, request)])
    folder = GridFolder(tmp_path / "runs", tmp_path / "results")
    (cell,) = study.selected(Request(bare=True))
    assert (cell.run_name, cell.name) == ("language-lantm-invnorm", "lantm-invnorm")
    watch = Watch(stops_after=2)
    InProcess().run([cell], folder, watch.events.append, watch.stop)
    assert watch.progress == [(1, 4)], "within an epoch"
    watch = Watch()
    InProcess().run([cell], folder, watch.events.append, watch.stop)
    assert watch.progress[0] == (1, 8)
    assert watch.progress[-1] == (3, 21)
    result = cell.stored(folder)
    assert result is not None
    assert (result["epochs"], result["text"]) == (3, corpus.facts())
    assert str(text_folder) not in json.dumps(result)
    run = load_run(folder.run(cell.run_name))
    scores = run.scores()
    best = int(np.argmin(scores["validation"].values))
    for row, final in zip(result["rows"], result["final"], strict=True):
        expected = scores[row["scale"]]
        assert row["perplexity_by_seed"] == np.round(expected.values, 3).tolist()
        assert row["perplexity"] == row["perplexity_by_seed"][best]
        assert (row["best_seed"], row["tokens"]) == (3 + best, expected.tokens)
        assert row["final_perplexity"] == final["perplexity"]
    assert [(row["scale"], row["pass"]) for row in result["rows"]] == [("validation", True), ("test", False)]
    tests = result["tests"]["validation"]
    assert tests["epochs"] == [1, 2, 3]
    assert np.shape(tests["perplexity"]) == (3, 2)

    elsewhere = shutil.copytree(text_folder, tmp_path / "elsewhere")
    files = dataclasses.replace(cell.experiment.text, folder=str(elsewhere))
    moved = dataclasses.replace(cell, experiment=dataclasses.replace(cell.experiment, text=files))
    assert moved.matches(result), "wherever its text lies"
    files = dataclasses.replace(files, digest="another")
    other = dataclasses.replace(cell, experiment=dataclasses.replace(cell.experiment, text=files))
    assert not other.matches(result)
