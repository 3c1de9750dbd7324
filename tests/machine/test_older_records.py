"""Configurations that older versions wrote: they become today's, or say what there is no more."""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
import safetensors

import lantm
from lantm.errors import LantmError
from lantm.machine import LantmConfig, LstmConfig
from lantm.records import make_record

RESULTS = pathlib.Path(__file__).parents[2] / "results"


def machines(value: Any) -> Iterator[dict[str, Any]]:
    """All records of machines in a JSON value."""
    if isinstance(value, dict):
        if {"cells", "embedding"} <= value.keys():
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from machines(item)


OLD = {"weighting": "invnorm", "power": 1.0, "epsilon": 1e-9, "temperature": None, "renormalise": False}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"cells": 6}, {"cells": 6}),
        ({"weighting": "softmax[temperature=2.0]"}, {"weighting": "softmax[temperature=2.0]"}),
        (OLD, {"weighting": "invnorm"}),
        ({"power": 2.0}, {"weighting": "invnorm[power=2.0]"}),
        (OLD | {"power": 2.0, "renormalise": True}, {"weighting": "invnorm[power=2.0,renormalise=true]"}),
        (OLD | {"weighting": "softmax", "temperature": 0.5}, {"weighting": "softmax[temperature=0.5]"}),
        # Fields of the other weighting had no effect.
        (OLD | {"weighting": "softmax", "power": 2.0}, {"weighting": "softmax"}),
        (OLD | {"temperature": 0.5}, {"weighting": "invnorm"}),
        ({"learn_start": True, "squash_keys": False, "normalise_initial_steps": False}, {}),
        ({"step_lengths": [], "steady_read_heads": 0}, {}),
    ],
)
def test_what_became_of_fields(before: dict[str, Any], after: dict[str, Any]) -> None:
    assert LantmConfig.upgrade(before) == after
    LantmConfig(**LantmConfig.upgrade(before))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("learn_start", False),
        ("squash_keys", True),
        ("squash_keys", 0),
        ("normalise_initial_steps", True),
        ("step_lengths", [0.5, 2.0]),
        ("steady_read_heads", 1),
    ],
)
def test_machines_that_there_are_no_more(field: str, value: Any) -> None:
    with pytest.raises(LantmError, match=f"{field} is .* no longer has"):
        LantmConfig.upgrade({field: value})


def test_an_option_beside_a_weighting_of_ones_own_is_refused() -> None:
    with pytest.raises(LantmError, match="power is no longer a field"):
        LantmConfig.upgrade({"weighting": "module:Name", "power": 2.0})


@pytest.mark.parametrize("weighting", [["invnorm"], {}, None])
def test_a_weighting_that_is_no_name_is_refused(weighting: Any) -> None:
    with pytest.raises(LantmError, match="power is no longer a field"):
        LantmConfig.upgrade({"weighting": weighting, "power": 2.0})


def test_lstms() -> None:
    assert LstmConfig.upgrade({"decoder": "shared", "layers": 2}) == {"layers": 2}
    with pytest.raises(LantmError, match="decoder is 'separate'"):
        LstmConfig.upgrade({"decoder": "separate"})


def stored() -> Iterator[tuple[str, dict[str, Any]]]:
    """Every machine in the results and in the notes of the zoo's files, with the name of its file."""
    for path in sorted(RESULTS.rglob("*.json")):
        for record in machines(json.loads(path.read_text())):
            yield path.name, record
    for path in sorted(pathlib.Path(lantm.__file__).parent.rglob("*.safetensors")):
        with safetensors.safe_open(path, framework="numpy") as file:
            for record in machines(json.loads(file.metadata()["notes"])):
                yield path.name, record


def test_every_machine_that_was_stored_is_there_today() -> None:
    """With every field that it was trained with, as the field itself or as an option of the weighting."""
    count = 0
    for file, record in stored():
        kind = LstmConfig if "layers" in record else LantmConfig
        today = vars(make_record(kind, record, "machine"))
        for name in today.keys() & record.keys() - {"weighting"}:
            value = tuple(record[name]) if isinstance(record[name], list) else record[name]
            assert today[name] == value, (file, name)
        if "weighting" in record:
            power = record.get("power", 1.0)
            expected = record["weighting"] + (f"[power={power}]" if power != 1.0 else "")
            assert today["weighting"] == expected, file
        count += 1
    assert count > 150
