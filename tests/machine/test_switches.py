"""Every switch of the configurations: it changes something, and what comes out is what the oracle says."""

import dataclasses
import functools
import itertools

import equinox as eqx
import jax
import numpy as np
import pytest
from agreement import SEVERAL_HEADS, assert_agrees, build, loss_and_gradient, problems, small_lantm, small_lstm

from lantm.errors import LantmError
from lantm.machine import LantmConfig, LstmConfig, Model, Output
from lantm.machine.controller import CellKind, lstm_cell
from lantm.machine.gates import opened

pytestmark = pytest.mark.usefixtures("double_precision")

SOFTMAX = {"weighting": "softmax"}
FULL = {"memory_limit": 4, "memory_drop": 2}


@functools.cache
def output(config: LantmConfig | LstmConfig) -> Output:
    """What a model of this configuration does with the problems of this file, once it agrees with the oracle."""
    return assert_agrees(build(config), problems(lengths=(4, 4, 4)))


def assert_matters(before: LantmConfig | LstmConfig, after: LantmConfig | LstmConfig) -> None:
    """Both agree with the oracle, and not with one another."""
    steps = int(problems(lengths=(4, 4, 4)).steps)
    difference = output(after).logits[:steps] - output(before).logits[:steps]
    assert np.abs(difference).max() > 1e-6


# Switches of how training starts, which both kinds of models have; they are tested at the end of this file.
START_SWITCHES = {"weight_range", "forget_bias", "state_range"}


# What a Lie access machine does.

SWITCHES: list[tuple[dict, dict]] = [
    ({}, {"weighting": "invnorm[power=2]"}),
    ({}, {"weighting": "invnorm[power=0.5]"}),
    ({}, {"weighting": "invnorm[epsilon=0.1]"}),
    ({}, {"weighting": "invnorm[renormalise=true]"}),
    ({}, {"read_sees_write": True}),
    ({}, {"initial_slot": False}),
    ({"read_sees_write": True}, {"initial_slot": False}),
    ({}, {"squash_vectors": "sigmoid"}),
    ({}, {"normalise_steps": False}),
    ({}, {"write_gate_bias": 0.5}),
    ({}, {"tied_read_heads": 1}),
    ({"tied_read_heads": 1}, {"write_gate_bias": -1.0}),
    ({}, {"gate_overshoot": 0.3}),
    ({}, {"interpolate_actions": False}),
    ({}, {"interpolate_read_actions": False}),
    ({"interpolate_read_actions": False}, {"interpolate_actions": False}),
    (SEVERAL_HEADS | {"geometry": "rotation"}, {"interpolate_read_actions": False}),
    ({}, {"settle_reads": True}),
    ({}, {"cell_bound": 0.4}),
    ({}, {"controller_overshoot": 0.2}),
    ({"cell_bound": 0.4}, {"settle_cells": 0.1}),
    ({}, {"write_end": True}),
    ({"read_sees_write": True, "write_end": True}, {"settle_reads": True}),
    (SOFTMAX | SEVERAL_HEADS | {"geometry": "scaling-rotation"}, {"settle_reads": True}),
    (FULL, {"settle_reads": True}),
    ({}, FULL),
    (FULL, {"memory_limit": 5}),
    (FULL, {"memory_drop": 3}),
    (FULL, {"read_sees_write": True}),
    (FULL, {"initial_slot": False}),
    ({}, {"geometry": "rotation"}),
    ({}, {"geometry": "scaling-rotation"}),
    ({"geometry": "scaling-rotation"}, {"normalise_steps": False}),
    ({}, SOFTMAX),
    (SOFTMAX, {"weighting": "softmax[temperature=0.7]"}),
    (SOFTMAX, {"weighting": "softmax[renormalise=true]"}),
    (SOFTMAX, FULL),
]


# Switches that others are tested with as well.
TOGETHER = [
    ({"read_sees_write": True}, {"initial_slot": False}),
    ({"tied_read_heads": 1}, {"write_gate_bias": -1.0}),
    ({"read_sees_write": True, "write_end": True}, {"settle_reads": True}),
    (FULL, {"settle_reads": True}),
    (FULL, {"read_sees_write": True}),
    (FULL, {"initial_slot": False}),
    ({"geometry": "scaling-rotation"}, {"normalise_steps": False}),
    (SOFTMAX, FULL),
]
LSTM_SWITCHES = [{"layers": 3}, {"cells": 3}, {"embedding": 2}]


def names(changes: dict) -> str:
    return " ".join(f"{name}={value}" for name, value in changes.items())


@pytest.mark.parametrize(
    ("base", "changes"),
    [
        pytest.param(*pair, marks=pytest.mark.thorough if pair in TOGETHER else (), id=" > ".join(map(names, pair)))
        for pair in SWITCHES
    ],
)
def test_switch(base: dict, changes: dict) -> None:
    assert_matters(small_lantm(**base), small_lantm(**base | changes))


SIZES = [
    {"read_heads": 2},
    {"write_heads": 2},
    {"cells": 6},
    {"embedding": 2},
    {"memory_width": 3},
    {"geometry": "translation-3"},
    SEVERAL_HEADS | {"memory_limit": 6, "memory_drop": 4},
    SEVERAL_HEADS | {"weighting": "invnorm[renormalise=true,power=2]", "read_sees_write": True, "geometry": "rotation"},
    SEVERAL_HEADS | {"weighting": "softmax[temperature=0.7]", "interpolate_actions": False, "tied_read_heads": 1},
]


@pytest.mark.parametrize("changes", SIZES, ids=names)
def test_sizes(changes: dict) -> None:
    config = small_lantm(**changes)
    trace = output(config).trace
    heads, batch = config.read_heads + config.write_heads, 3
    slots = 1 + config.write_heads * 6  # room for a length of 5
    key = 3 if config.geometry == "translation-3" else 2
    assert trace.keys.shape[1:] == (batch, heads, key)
    assert trace.readings.shape[1:] == (batch, config.read_heads * config.memory_width)
    assert trace.memory.vectors.shape == (batch, slots, config.memory_width)


def test_every_switch_is_tested() -> None:
    tested = {name for changes in [*(changes for _, changes in SWITCHES), *SIZES] for name in changes}
    start = START_SWITCHES | {"initial_step", "weight_range_of"}
    assert tested | start == {field.name for field in dataclasses.fields(LantmConfig)}
    tested = {name for changes in LSTM_SWITCHES for name in changes}
    start = START_SWITCHES | {"learn_start"}
    assert tested | start == {field.name for field in dataclasses.fields(LstmConfig)}


# What the baseline does.


@pytest.mark.parametrize("changes", LSTM_SWITCHES, ids=names)
def test_lstm_switch(changes: dict) -> None:
    assert_matters(small_lstm(), small_lstm(**changes))


# Where training starts.


def weights(model: Model) -> list[np.ndarray]:
    """All parameters but the initial state."""
    parts = [part for name, part in model.parts.items() if name != "start"]
    return [np.asarray(leaf) for leaf in jax.tree.leaves(parts)]


def biases(model: Model) -> list[np.ndarray]:
    """The controller's biases, layer by layer."""
    layers = model.layers if isinstance(model.config, LstmConfig) else [model.layer.controller]
    return [np.asarray(layer.inputs.bias) for layer in layers]


both_kinds = pytest.mark.parametrize("small", [small_lantm, small_lstm])


@both_kinds
def test_fresh_models_differ_by_their_start_and_agree_with_the_oracle(small: type) -> None:
    batch = problems(lengths=(4, 4, 4))
    outputs = [
        assert_agrees(small(**changes).build(128, jax.random.key(0)), batch).logits
        for changes in ({}, {"weight_range": 0.3}, {"forget_bias": 1.0}, {"state_range": 0.1})
    ]
    for before, after in itertools.combinations(outputs, 2):
        assert np.abs(np.asarray(before - after)).max() > 1e-6


@both_kinds
def test_weight_range(small: type) -> None:
    for array in weights(small(weight_range=0.02).build(14, jax.random.key(0))):
        assert np.abs(array).max() <= 0.02
        assert np.abs(array).max() > 0.01


@pytest.mark.parametrize("part", ["embedding", "controller", "heads", "output"])
def test_weight_range_of_one_part(part: str) -> None:
    """That part is in the range; the others start as without it."""
    arrays = {
        "embedding": lambda model: [model.embedding],
        "controller": lambda model: [*jax.tree.leaves(model.layer.controller.inputs), model.layer.controller.recurrent],
        "heads": lambda model: jax.tree.leaves(model.layer.heads),
        "output": lambda model: [model.readout.weight, model.readout.bias],
    }
    build = lambda **changes: small_lantm(**changes).build(14, jax.random.key(0))  # noqa: E731
    model, plain = build(weight_range=0.02, weight_range_of=(part,)), build()
    for array in arrays.pop(part)(model):
        assert 0.01 < np.abs(array).max() <= 0.02
    for others in arrays.values():
        assert eqx.tree_equal(others(model), others(plain))


@both_kinds
def test_the_default_range_is_that_of_the_inputs(small: type) -> None:
    """1/sqrt(all that a cell or an output sums over); embeddings are normally distributed."""
    config = small()
    model = config.build(14, jax.random.key(0))
    is_lstm = isinstance(config, LstmConfig)
    inputs = config.embedding + config.cells + (0 if is_lstm else config.memory_width)
    first = model.layers[0] if is_lstm else model.layer.controller
    for array, fan_in in [
        (first.inputs.weight, inputs),
        (first.recurrent, inputs),
        (model.readout.weight, config.cells),
    ]:
        assert 0.8 * fan_in**-0.5 < np.abs(array).max() <= fan_in**-0.5
    assert np.abs(model.embedding).max() > 1.5


@both_kinds
def test_forget_bias(small: type) -> None:
    """Exactly that, in the second quarter of the biases, and nothing else changes."""
    plain, model = (small(forget_bias=bias).build(14, jax.random.key(0)) for bias in (None, 1.25))
    cells = model.config.cells
    for before, after in zip(biases(plain), biases(model), strict=True):
        np.testing.assert_array_equal(after[cells : 2 * cells], 1.25)
        np.testing.assert_array_equal(
            np.delete(after, np.s_[cells : 2 * cells]), np.delete(before, np.s_[cells : 2 * cells])
        )
    changed = [not np.array_equal(a, b) for a, b in zip(weights(plain), weights(model), strict=True)]
    assert sum(changed) == len(biases(model))


@both_kinds
def test_state_range(small: type) -> None:
    model = small(state_range=0.01).build(14, jax.random.key(0))
    if isinstance(model.config, LstmConfig):
        small_ones = [model.start.hidden, model.start.cell]
    else:
        start = model.layer.start
        small_ones = list(model.layer.controller.start)
        small_ones += [start.reading, start.keys, start.slot.key]
        assert np.abs(start.steps).max() > 0.1  # a head that does not move learns little
        assert np.abs(start.slot.vector).max() > 0.1
    for array in small_ones:
        assert 0.001 < np.abs(array).max() <= 0.01


def test_tied_heads_start_together() -> None:
    start = small_lantm(tied_read_heads=2, read_heads=3).build(14, jax.random.key(0)).layer.start
    for array in (start.keys, start.steps):
        np.testing.assert_array_equal(array[0], array[-1])
        np.testing.assert_array_equal(array[1], array[-1])
        assert np.all(array[2] != array[-1])


def test_learn_start() -> None:
    """A start that is not learnt gives the same answers, and no gradient."""
    values = []
    for learn in (True, False):
        value, gradient = loss_and_gradient(build(small_lstm(learn_start=learn)), problems())
        values.append(float(value))
        for leaf in jax.tree.leaves(gradient.start):
            assert np.any(np.asarray(leaf) != 0) == learn
        assert all(np.any(leaf != 0) for leaf in weights(gradient))
    assert values[0] == values[1]


def test_initial_steps_have_the_given_length() -> None:
    drawn = small_lantm(read_heads=2).build(14, jax.random.key(0)).layer.start.steps
    start = small_lantm(read_heads=2, initial_step=0.5).build(14, jax.random.key(0)).layer.start.steps
    np.testing.assert_allclose(np.linalg.norm(start, axis=-1), 0.5, rtol=1e-4)
    cosines = np.sum(np.asarray(drawn) * start, axis=-1) / (0.5 * np.linalg.norm(drawn, axis=-1))
    np.testing.assert_allclose(cosines, 1, rtol=1e-4)


def test_gates_that_overshoot_close_and_open_for_good() -> None:
    gate = functools.partial(opened, overshoot=0.1)
    assert gate(jax.numpy.array([-3.0, 3.0])).tolist() == [0, 1]
    slopes = jax.vmap(jax.grad(gate))(np.array([-3.0, 0.0, 3.0]))
    np.testing.assert_allclose(slopes, [0, 1.2 / 4, 0])


def test_cells_settle_on_the_bound_or_on_nothing() -> None:
    kind = CellKind(bound=2.0, settling=0.25)
    before = np.array([-2.0, -1.875, -1.5, -1.125, -0.75, -0.125, 0.0, 0.125, 0.875, 1.125, 1.5, 1.875, 2.0])
    after = [-2.0, -2.0, -1.75, -1.375, -0.5, 0.0, 0.0, 0.0, 0.625, 1.375, 1.75, 2.0, 2.0]
    assert kind.settled(jax.numpy.asarray(before)).tolist() == after


@pytest.mark.parametrize(("settling", "kept"), [(0.0, 0.99**500), (0.02, 1.0)])
def test_what_leaks_through_a_gate_is_restored(settling: float, kept: float) -> None:
    """A forget gate of 0.99, and nothing that is let in."""
    open_by = np.log(0.99 / 0.01)
    preactivation = jax.numpy.array([-100.0, open_by, 0.0, 0.0])
    cell = jax.numpy.ones(1)
    for _ in range(500):
        cell = lstm_cell(preactivation, cell, CellKind(bound=1.0, settling=settling))[0].cell
    np.testing.assert_allclose(cell, kept, rtol=1e-3)


def test_cells_without_a_bound_have_nothing_to_settle_on() -> None:
    with pytest.raises(LantmError, match="give cell_bound too"):
        LantmConfig(settle_cells=0.02)
    with pytest.raises(LantmError, match="settle_cells is -1"):
        LantmConfig(cell_bound=1.0, settle_cells=-1)
