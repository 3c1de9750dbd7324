"""Applies settings by name (flags, sweep files, keyword arguments) to a preset."""

import os
import pathlib
from collections.abc import Mapping
from typing import Any

from lantm.errors import LantmError, meant
from lantm.paper.presets.by_name import preset
from lantm.training import Experiment, ModelName, TextFiles

NAMES = ("task", "model", "recipe")
_OWN = ("lengths", "seeds", "first_seed", "recorded_seeds")
_OF_TEXT = ("data", "vocabulary")


def make_experiment(settings: Mapping[str, Any]) -> Experiment:
    """The preset of a task, a model and a recipe with overrides, named as the flags.

    >>> make_experiment({"task": "copy", "recipe": "robust", "cells": 20}).machine.cells
    20
    """
    values = dict(settings)
    names = {name: values.pop(name, usual) for name, usual in zip(NAMES, (None, "lantm-invnorm", "paper"), strict=True)}
    if names["task"] is None:
        raise LantmError("there is no task: name one, such as copy")
    for name, value in names.items():
        if not isinstance(value, str):
            raise LantmError(f"{name} is {value!r}, which is not text")
    made = preset(names["task"], names["model"], names["recipe"]).to_json()
    text = {name: values.pop(name) for name in _OF_TEXT if name in values}
    for name, value in values.items():
        place = next((part for part in (made["machine"], made["recipe"]) if name in part), None)
        if place is not None:
            place[name] = value
        elif name in _OWN:
            made[name] = value
        else:
            known = [*NAMES, *_OWN, *_OF_TEXT, *made["machine"], *made["recipe"]]
            raise LantmError(f"{names['model']} has no setting {name!r}: {meant(name, known)}")
    if not isinstance(text.get("data", ""), str | os.PathLike):
        raise LantmError(f"data is {text['data']!r}, which is not the name of a folder")
    if "data" in text:
        made["text"] = vars(TextFiles.of(pathlib.Path(text["data"]), text.get("vocabulary", 10_000)))
    made["model"] = _own_weighting(made)
    return Experiment.from_json(made, trust=True)  # names from files were checked by the caller


def _own_weighting(made: Mapping[str, Any]) -> ModelName:
    """The name of the model: `lantm` for a custom weighting."""
    return "lantm" if ":" in str(made["machine"].get("weighting", "")) else made["model"]


def settings_of(experiment: Experiment) -> dict[str, Any]:
    """All settings of an experiment, by name."""
    flat = {"task": experiment.task, "model": experiment.machine.model_name, "recipe": experiment.recipe_name}
    text = {} if experiment.text is None else {"data": experiment.text.folder, "vocabulary": experiment.text.vocabulary}
    return {**flat, "lengths": experiment.lengths, **text, **vars(experiment.machine), **vars(experiment.recipe)}
