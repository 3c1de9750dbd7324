"""The record of an experiment: JSON and back, and every way in which a file can be wrong."""

import copy
import dataclasses
import json
import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lantm.errors import LantmError
from lantm.machine import LantmConfig, LstmConfig
from lantm.paper.presets import MODELS, preset
from lantm.randomness import SEEDS
from lantm.tasks import TASKS, Lengths
from lantm.training import Experiment, Member, Recipe


def as_json(experiment: Experiment) -> dict[str, Any]:
    return json.loads(json.dumps(experiment.to_json()))


EXPERIMENT = Experiment(
    "reverse",
    "lantm-softmax",
    LantmConfig(weighting="softmax[temperature=0.5]", cells=6),
    Recipe(clip=None, test_scales=(1, 2, 4)),
    seeds=3,
    first_seed=2,
    lengths=(2, 5),
)
VALUES = as_json(EXPERIMENT)


def test_round_trip() -> None:
    assert Experiment.from_json(VALUES) == EXPERIMENT
    for task in TASKS:
        for model in MODELS:
            experiment = preset(task, model)
            assert Experiment.from_json(as_json(experiment)) == experiment


def test_fields_with_defaults_may_be_missing() -> None:
    values = {name: VALUES[name] for name in ("task", "model", "machine", "recipe")}
    assert Experiment.from_json(values).seeds == 8


def test_a_whole_number_stands_for_a_float_too() -> None:
    values = copy.deepcopy(VALUES)
    values["recipe"]["learning_rate"] = 1
    rate = Experiment.from_json(values).recipe.learning_rate
    assert rate == 1.0
    assert isinstance(rate, float)


def refusal(values: Any) -> str:
    with pytest.raises(LantmError) as caught:
        Experiment.from_json(values)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("field", ["task", "model", "machine", "recipe"])
def test_a_missing_field_is_named(field: str) -> None:
    assert field in refusal({name: value for name, value in VALUES.items() if name != field})


@pytest.mark.parametrize("where", [(), ("machine",), ("recipe",)], ids=["experiment", "machine", "recipe"])
def test_an_unknown_field_is_named(where: tuple[str, ...]) -> None:
    values = copy.deepcopy(VALUES)
    place = values
    for name in where:
        place = place[name]
    place["wings"] = 2
    assert "no field 'wings'" in refusal(values)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("task", 5),
        ("task", None),
        ("model", "perceptron"),
        ("model", ["lstm"]),
        ("seeds", "8"),
        ("seeds", 1.5),
        ("seeds", True),
        ("seeds", 0),
        ("first_seed", -1),
        ("lengths", [2]),
        ("lengths", [2, "x"]),
        ("lengths", 7),
        ("machine", []),
        ("machine", None),
        ("recipe", "paper"),
        ("machine.cells", "50"),
        ("machine.cells", 0),
        ("machine.cells", 5.0),
        ("machine.weighting", "linear"),
        ("machine.weighting", 5),
        ("machine.state_range", True),
        ("machine.state_range", 10**400),
        ("machine.state_range", math.nan),
        ("machine.read_sees_write", 1),
        ("recipe.epochs", None),
        ("recipe.epochs", [1]),
        ("recipe.epochs", 10**30),
        ("recipe.clip", "10"),
        ("recipe.test_scales", [1, 2.5]),
        ("recipe.test_scales", []),
        ("recipe.optimiser", "sgd"),
        ("recipe.learning_rate", {"a": 1}),
        ("recipe.learning_rate", math.inf),
        ("recipe.schedule", 3),
    ],
    ids=lambda value: str(value)[:30],
)
def test_a_value_of_the_wrong_kind_is_refused_with_its_field(path: str, value: Any) -> None:
    values = copy.deepcopy(VALUES)
    *where, name = path.split(".")
    place = values
    for part in where:
        place = place[part]
    place[name] = value
    assert name in refusal(values)


@pytest.mark.parametrize("values", [None, [], "text", 5, [VALUES]])
def test_what_is_no_record(values: Any) -> None:
    assert "experiment is not a JSON object" in refusal(values)


def test_parts_that_do_not_fit_together() -> None:
    with pytest.raises(LantmError, match=r"this machine is not a lstm.* lantm-softmax"):
        dataclasses.replace(EXPERIMENT, model="lstm")
    with pytest.raises(LantmError, match=r"this machine is not a lantm-invnorm.* lstm"):
        dataclasses.replace(EXPERIMENT, model="lantm-invnorm", machine=LstmConfig())
    with pytest.raises(LantmError, match=r"this machine is not a lantm-invnorm.* lantm-softmax"):
        dataclasses.replace(EXPERIMENT, model="lantm-invnorm")
    with pytest.raises(LantmError, match="mixed_lengths and memory_limit cannot be combined"):
        Experiment("copy", "lantm-invnorm", LantmConfig(memory_limit=100), Recipe(mixed_lengths=True))


def test_members() -> None:
    """Machines that differ in more than their seeds are numbered from 0 on."""
    members = (Member(7, 0.1), Member(7, 0.2), Member(3, 0.1))
    experiment = dataclasses.replace(EXPERIMENT, members=members, seeds=3, first_seed=0)
    assert list(experiment.seed_numbers) == [0, 1, 2]
    assert Experiment.from_json(as_json(experiment)) == experiment
    with pytest.raises(LantmError, match="there are 3 members: give as many seeds, with first_seed 0"):
        dataclasses.replace(experiment, seeds=2)
    with pytest.raises(LantmError, match="the seed of a member is -1"):
        Member(-1, 0.1)
    with pytest.raises(LantmError, match="the learning_rate of a member is 0"):
        Member(1, 0.0)


def test_the_place_of_a_seed() -> None:
    assert [EXPERIMENT.seed_index(seed) for seed in (2, 3, 4)] == [0, 1, 2]
    with pytest.raises(LantmError, match="there is no seed 5: the run has 2 to 4"):
        EXPERIMENT.seed_index(5)


# Records of earlier versions.


def test_settings_that_are_now_fixed_may_have_that_value() -> None:
    values = copy.deepcopy(VALUES)
    values["recipe"] |= {"select_scales": [], "patience": 20}
    assert Experiment.from_json(values) == EXPERIMENT


@pytest.mark.parametrize(
    ("part", "setting", "value"),
    [("recipe", "select_scales", [1]), ("recipe", "patience", 5), ("machine", "squash_keys", True)],
)
def test_settings_of_earlier_versions_with_other_values_are_refused_by_name(
    part: str, setting: str, value: Any
) -> None:
    values = copy.deepcopy(VALUES)
    values[part][setting] = value
    message = refusal(values)
    assert f"{part}.{setting} is" in message
    assert "no longer has that setting" in message


def test_seeds_stay_below_the_one_that_stands_for_all() -> None:
    assert dataclasses.replace(EXPERIMENT, first_seed=SEEDS - 3).seeds == 3
    with pytest.raises(LantmError, match="too many"):
        dataclasses.replace(EXPERIMENT, first_seed=SEEDS - 2)


def test_numbers_that_json_has_no_word_for_are_refused() -> None:
    with pytest.raises(LantmError, match="state_range is inf"):
        dataclasses.replace(EXPERIMENT, machine=dataclasses.replace(EXPERIMENT.machine, state_range=math.inf))


def test_the_task_has_the_lengths_asked_for() -> None:
    assert EXPERIMENT.build_task().train_lengths == Lengths(2, 5)
    assert dataclasses.replace(EXPERIMENT, lengths=None).build_task().train_lengths == Lengths(2, 64)
    for lengths in ((0, 4), (4, 2), (-1, 3), (2, 10**9)):
        with pytest.raises(LantmError, match="length"):
            dataclasses.replace(EXPERIMENT, lengths=lengths).build_task()
    with pytest.raises(LantmError, match="multiple of 2"):
        dataclasses.replace(EXPERIMENT, task="bigramFlip").build_task()


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["lstm", "softmax"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PLACES = [(name,) for name in VALUES] + [(part, name) for part in ("machine", "recipe") for name in VALUES[part]]


@settings(max_examples=100, deadline=None)
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), JSON), min_size=1, max_size=4), drop=st.booleans())
def test_anything_is_an_experiment_or_an_error(changes: list[tuple[tuple[str, ...], Any]], drop: bool) -> None:
    values = copy.deepcopy(VALUES)
    for (*where, name), value in changes:
        place = values
        for part in where:
            place = place[part] if isinstance(place, dict) and part in place else {}
        if isinstance(place, dict):
            if drop:
                place.pop(name, None)
            else:
                place[name] = value
    check(values)


@settings(max_examples=100, deadline=None)
@given(values=JSON)
def test_any_json_is_an_experiment_or_an_error(values: Any) -> None:
    check(values)


def check(values: Any) -> None:
    message = None
    try:
        experiment = Experiment.from_json(values)
    except LantmError as error:
        message = str(error)
    if message is None:
        assert Experiment.from_json(as_json(experiment)) == experiment
    else:
        assert "\n" not in message
        assert len(message) < 2000


@pytest.mark.parametrize(("record", "name"), [("machine", "memory_drop"), ("", "recorded_seeds")])
def test_numbers_that_could_not_be_read_again(record: str, name: str) -> None:
    """They would be stored in the run folder, which no command could open after the training."""
    changed: Any = {name: 10**20}
    if record:
        changed = {record: dataclasses.replace(getattr(EXPERIMENT, record), **changed)}
    with pytest.raises(LantmError, match=f"{name} is 10+: whole numbers go up to 9,007,199,254,740,992"):
        dataclasses.replace(EXPERIMENT, **changed)
