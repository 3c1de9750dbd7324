"""Experiments on a text: what is refused, records of this version and of earlier ones, and which text it is."""

import dataclasses
import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from lantm.errors import LantmError
from lantm.machine import LantmConfig, LstmConfig
from lantm.paper.presets import preset
from lantm.tasks import Corpus, Text
from lantm.training import Experiment, TextFiles

Make = Callable[..., Experiment]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"seeds": 0}, "seeds is 0"),
        ({"first_seed": -1}, "first_seed is -1"),
        ({"machine": LantmConfig()}, "give a memory_limit"),
        ({"machine": LstmConfig()}, "this machine is not a lantm-invnorm.* lstm"),
        (
            {"machine": LantmConfig(weighting="softmax", memory_limit=100)},
            "this machine is not a lantm-invnorm.* lantm-softmax",
        ),
        ({"lengths": (2, 4)}, "a text has no lengths"),
        ({"task": "copy"}, "the task copy has no text: leave out --data, or choose the task text"),
    ],
)
def test_experiments_that_cannot_work(text_experiment: Make, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(LantmError, match=reason):
        dataclasses.replace(text_experiment(), **changes)


def test_the_kinds_of_source(text_experiment: Make, corpus: Corpus) -> None:
    experiment = text_experiment(steps=7)
    text = experiment.source()
    assert isinstance(text, Text)
    assert experiment.reads_text
    assert (text.steps, text.corpus.digest) == (7, corpus.digest)
    task = preset("copy", "lstm")
    assert not task.reads_text
    assert task.source() == task.build_task()


def test_a_text_has_to_be_given(text_experiment: Make) -> None:
    with pytest.raises(LantmError, match=r"a text is needed: give --data FOLDER with train\.txt"):
        preset("text", "lstm").source()
    with pytest.raises(LantmError, match="the test text has 77 words, fewer than the 78 columns"):
        text_experiment(batch_size=78).source()


def test_another_text_is_noticed(
    text_experiment: Make, corpus: Corpus, text_folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    experiment = text_experiment()
    for path in text_folder.iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    assert experiment.build_text(tmp_path).corpus.digest == corpus.digest
    (tmp_path / "tiny.valid.txt").write_text("the head\n")
    with pytest.raises(LantmError, match="is not the one that was trained on: name its folder with --data"):
        experiment.source(tmp_path)


# Records.


@pytest.mark.parametrize("model", ["lantm-softmax", "lstm"])
def test_records(text_experiment: Make, model: str) -> None:
    experiment = text_experiment(model)
    values = json.loads(json.dumps(experiment.to_json()))
    assert Experiment.from_json(values) == experiment
    with pytest.raises(LantmError, match=r"recipe\.epochs is 'many', which is not a whole number"):
        Experiment.from_json(values | {"recipe": {"epochs": "many"}})
    with pytest.raises(LantmError, match=r"experiment\.text"):
        Experiment.from_json(values | {"text": {"folder": 5}})


def test_what_is_published_does_not_name_a_folder(text_experiment: Make, text_folder: pathlib.Path) -> None:
    experiment = text_experiment()
    published = json.dumps(experiment.published())
    assert str(text_folder) not in published
    again = Experiment.from_json(json.loads(published))
    assert again.text == TextFiles("", experiment.text.digest, 10_000)
    assert dataclasses.replace(again, text=experiment.text) == experiment
    assert again.source(text_folder).vocabulary == 14


def earlier(**changes: Any) -> dict[str, Any]:
    """A record of the version in which texts had experiments and recipes of their own."""
    machine = {
        "layers": 1,
        "cells": 128,
        "embedding": 256,
        "decoder": "shared",
        "learn_start": False,
        "weight_range": 0.08,
        "forget_bias": 1.0,
        "state_range": 0.0,
    }
    recipe = {"learning_rate": 0.05, "rate_factor": 0.5, "clip": 10.0, "epochs": 30, "batch_size": 32, "steps": 20}
    usual = {"digest": "fbe6", "vocabulary": 10000, "model": "lstm", "machine": machine, "recipe": recipe}
    return {**usual, "seeds": 4, "first_seed": 0, **changes}


def test_records_of_the_earlier_version() -> None:
    """They mean the paper's experiment, which this version makes in its own way."""
    paper = preset("text", "lstm")
    text = TextFiles("", "fbe6", 10_000)
    expected = dataclasses.replace(paper, seeds=4, recorded_seeds=0, text=text)
    assert Experiment.from_json(earlier()) == expected
    somewhere = Experiment.from_json(earlier(data="/somewhere", vocabulary=500))
    assert somewhere.text == TextFiles("/somewhere", "fbe6", 500)
    slower = Experiment.from_json(earlier(recipe=earlier()["recipe"] | {"rate_factor": 0.8, "steps": 5}))
    assert slower.recipe == dataclasses.replace(paper.recipe, plateau_factor=0.8, steps=5)


@pytest.mark.parametrize("path", sorted(pathlib.Path(__file__).parents[2].glob("results/language*/*.json")), ids=str)
def test_results_of_the_earlier_version(path: pathlib.Path) -> None:
    record = json.loads(path.read_text())
    if "experiment" not in record:
        pytest.skip("no record of an experiment")
    experiment = Experiment.from_json(record["experiment"])
    assert experiment.reads_text
    assert experiment.text.digest == record["experiment"].get("digest", experiment.text.digest)
    recipe = experiment.recipe
    assert (recipe.optimiser, recipe.schedule, recipe.validation_memory) == ("adagrad", "validation", 1)
    assert Experiment.from_json(json.loads(json.dumps(experiment.to_json()))) == experiment


def test_settings_of_earlier_versions_that_there_are_no_more(text_experiment: Make) -> None:
    with pytest.raises(LantmError, match=r"machine\.decoder is 'separate': this version of lantm no longer has"):
        Experiment.from_json(earlier(machine=earlier()["machine"] | {"decoder": "separate"}))
    with pytest.raises(LantmError, match=r"plateau_factor is 1\.5"):
        Experiment.from_json(earlier(recipe=earlier()["recipe"] | {"rate_factor": 1.5}))
