"""Promotion: the best seed of a run, chosen on some problems and scored on others, as a file of its own."""

import dataclasses
import json
import pathlib

import jax
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.evaluation import ProblemExaminer, best_seed, choosing, random_and_hard, reporting
from lantm.trained import Trained, load_run, promote, zoo
from lantm.training import RunFolder, train


def test_the_best_seed_is_promoted_with_its_scores(trained, tmp_path: pathlib.Path) -> None:
    machine = promote(trained.machines, scales=(1, 2), problems=64, shelf=tmp_path)
    task, learners = trained.experiment.build_task(), trained.result.learners
    examiner = ProblemExaminer(task, {f"{scale}x": task.lengths_at(scale) for scale in (1, 2)}, 4)
    best = best_seed(list(examiner(learners.best_model, learners.seed, choosing(64)).values()), "coarse")
    assert machine.experiment.first_seed == best
    assert machine.epoch == int(learners.best_epoch[best])
    reported = examiner(learners.best_model, learners.seed, reporting(64))
    rows = machine.notes["scores"]
    assert [row["scale"] for row in rows] == ["1x", "2x"]
    assert [row["fine"] for row in rows] == [round(float(reported[row["scale"]].fine[best]), 2) for row in rows]  # type: ignore[attr-defined]
    assert {row["best_seed"] for row in rows} == {best}
    assert machine.notes["scored"]["jax"] == jax.__version__
    assert json.dumps(machine.notes)


@pytest.mark.thorough
def test_hard_problems_choose_and_are_scored_too(trained, tmp_path: pathlib.Path) -> None:
    machine = promote(trained.machines, scales=(1,), problems=64, shelf=tmp_path, hard=True)
    run, task = trained.machines, trained.experiment.build_task()
    lengths = {"1x": task.lengths_at(1)}
    found = ProblemExaminer(task, random_and_hard(lengths, lengths), 4)(run.best_weights, run.start_seeds, choosing(64))
    assert machine.experiment.first_seed == best_seed(list(found.values()), "coarse")
    assert [row["scale"] for row in machine.notes["scores"]] == ["1x", "1x hard"]


def test_a_seed_and_a_name_of_ones_own(trained, tmp_path: pathlib.Path) -> None:
    machine = promote(trained.machines, seed=3, name="mine", scales=(1, 2), problems=32, shelf=tmp_path)
    assert (machine.name, machine.experiment.first_seed) == ("mine", 3)
    assert zoo.names(tmp_path) == ["mine"]
    np.testing.assert_array_equal(machine.model().embedding, trained.result.learners.best_model.embedding[3])
    with pytest.raises(LantmError, match="no seed 4"):
        promote(trained.machines, seed=4, shelf=tmp_path)


@pytest.mark.parametrize("name", ["../copy", "a/b", "a b", "."])
def test_a_name_is_no_path(trained, tmp_path: pathlib.Path, name: str) -> None:
    with pytest.raises(LantmError, match="cannot be the name of a machine"):
        promote(trained.machines, seed=0, name=name, shelf=tmp_path / "shelf")
    assert not (tmp_path / "shelf").exists()


@pytest.mark.thorough
def test_a_machine_names_the_seed_of_its_start(tiny, tmp_path: pathlib.Path) -> None:
    several = dataclasses.replace(tiny, seeds=2, recipe=dataclasses.replace(tiny.recipe, starts=3))
    folder = RunFolder.create(tmp_path / "run", several, {})
    result = train(several, folder)
    machine = promote(load_run(folder), seed=1, name="one-of-three", problems=32, shelf=tmp_path / "shelf")
    assert machine.experiment.recipe.starts == 1
    assert machine.experiment.first_seed == machine.notes["seed"] == result.learners.seed[1]
    np.testing.assert_array_equal(machine.model().readout.weight, result.learners.best_model.readout.weight[1])


@pytest.mark.thorough
def test_of_a_text_validation_chooses(reader: Trained, tmp_path: pathlib.Path) -> None:
    machine = promote(reader, shelf=tmp_path)
    assert machine.name == "text-lantm-invnorm"
    scores = reader.scores()
    best = int(np.argmin(scores["validation"].losses))  # type: ignore[attr-defined]
    assert list(machine.seeds) == [3 + best]
    rows = {row["scale"]: row for row in machine.notes["scores"]}
    assert rows.keys() == {"validation", "test"}
    assert rows["test"]["perplexity"] == round(float(scores["test"].values[best]), 3)  # type: ignore[attr-defined]
