"""The machine as a layer: against the oracle, carried on, mapped over, and with a controller of one's own."""

import dataclasses
import inspect
import itertools
import subprocess
import sys
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from agreement import SEVERAL_HEADS, assert_near, build, quick, small_lantm

from lantm.errors import LantmError
from lantm.geometry import GEOMETRIES, Geometry, RawKey, Translation, make_geometry
from lantm.machine import (
    WEIGHTINGS,
    Controller,
    InvNorm,
    LantmConfig,
    LieAccess,
    LieAccessState,
    LstmController,
    Schedule,
    SoftMax,
    make_weighting,
)
from lantm.machine.controller import CellState, lstm_cell

pytestmark = pytest.mark.usefixtures("double_precision")

TIME, INPUTS, CELLS = 7, 3, 5  # the sizes of `small_lantm`


def small_layer(**changes: Any) -> LieAccess:
    return LieAccess(INPUTS, CELLS, key=jax.random.key(0), **{"memory_width": 4} | changes)


def sequences(count: int, time: int = TIME) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=(count, time, INPUTS)))


def assert_same(ours: Any, theirs: Any) -> None:
    assert jax.tree.structure(ours) == jax.tree.structure(theirs)
    for left, right in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-10)


def test_switches_have_the_names_and_defaults_of_the_configuration() -> None:
    parameters = inspect.signature(LieAccess).parameters
    defaults = {field.name: field.default for field in dataclasses.fields(LantmConfig)}
    of_the_layer = {"inputs", "key", "controller"}
    assert parameters.keys() - of_the_layer == defaults.keys() - {"embedding"}
    for name in defaults.keys() - {"embedding", "geometry", "weighting"}:
        assert parameters[name].default == defaults[name], name
    assert parameters["geometry"].default == make_geometry(defaults["geometry"])
    assert parameters["weighting"].default == make_weighting(defaults["weighting"])


# Against the oracle.

MACHINES = [
    {},
    {"weighting": "softmax"},
    {"weighting": "invnorm[power=2,renormalise=true]", "geometry": "rotation", "read_sees_write": True},
    {**SEVERAL_HEADS, "geometry": "translation-3", "initial_slot": False},
    {"geometry": "scaling-rotation", "memory_limit": 5, "memory_drop": 2},
]


WRITES = (None, 0, 3)


@pytest.mark.parametrize(
    ("changes", "writes"),
    [*zip(MACHINES, itertools.cycle(WRITES), strict=False), *((MACHINES[0], writes) for writes in WRITES[1:])],
    ids=str,
)
def test_against_the_oracle(changes: dict, writes: int | None) -> None:
    config = small_lantm(**changes)
    model = build(config)
    xs = sequences(1)[0]
    outputs, state = quick(lambda layer, xs: layer(xs, writes=writes))(model.layer, xs)
    parameters = oracle.numbers(model)
    expected = oracle.lantm_start(parameters, config)
    for time, x in enumerate(np.asarray(xs)):
        may_write = writes is None or time < writes
        expected, _ = oracle.layer_step(parameters, config, expected, x, may_write)
        assert_near(outputs[time], expected.hidden, f"output of step {time}")
    assert_near(state.reading, expected.reading, "reading")
    assert_near(state.heads.keys, np.array(expected.keys), "keys")
    assert_near(state.heads.actions, np.array(expected.actions), "actions")
    remembered = len(expected.memory)
    assert remembered == (len(state.memory.strengths) if state.remembered is None else state.remembered)
    for slot, memory in enumerate(expected.memory):
        assert_near(state.memory.addresses[slot], memory.address, "addresses")
        assert_near(state.memory.vectors[slot], memory.vector, "vectors")
        assert_near(state.memory.strengths[slot], memory.strength, "strengths")


# State that is carried on.

FORGETS = {"memory_limit": 4, "memory_drop": 2}
# Four weightings and three features have no common divisor: every geometry meets another pair of them.
EVERY_KIND = [
    {"geometry": make_geometry(geometry), "weighting": make_weighting(weighting), **features}
    for geometry, weighting, features in zip(
        GEOMETRIES,
        itertools.cycle([*WEIGHTINGS, "invnorm[power=2]", "softmax[renormalise=true]"]),
        itertools.cycle([{}, FORGETS, SEVERAL_HEADS]),
        strict=False,
    )
]


@pytest.mark.parametrize(
    "changes",
    [pytest.param(kind, marks=pytest.mark.thorough if at != 1 else ()) for at, kind in enumerate(EVERY_KIND)],
    ids=str,
)
def test_two_halves_are_one_run(changes: dict) -> None:
    """Outputs, what is carried on, and gradients."""
    layer, xs = small_layer(**changes), sequences(1)[0]

    def at_once(layer: LieAccess) -> tuple[jax.Array, LieAccessState]:
        return layer(xs)

    def in_halves(layer: LieAccess) -> tuple[jax.Array, LieAccessState]:
        first, state = layer(xs[:3])
        second, state = layer(xs[3:], state)
        return jnp.concatenate([first, second]), state

    @quick
    def both(layer: LieAccess) -> list[Any]:
        def loss(layer: LieAccess, how: Any) -> tuple[jax.Array, Any]:
            outputs, state = how(layer)
            return jnp.sum(jnp.sin(outputs)) + jnp.sum(state.memory.vectors) + jnp.sum(state.reading), (outputs, state)

        return [jax.value_and_grad(loss, has_aux=True)(layer, how) for how in (at_once, in_halves)]

    (one, gradient), (two, gradient_in_halves) = both(layer)
    if one[1][1].remembered is not None:  # what is forgotten may be anything
        one, two = (jax.tree.map(jnp.asarray, (o[0], o[1][0], o[1][1].heads, o[1][1].remembered)) for o in (one, two))
    assert_same(two, one)
    assert_same(gradient_in_halves, gradient)


def test_the_memory_grows_by_what_was_written() -> None:
    layer, xs = small_layer(write_heads=2), sequences(1)[0]
    state = layer.begin()
    assert state.memory.strengths.shape == (1,)
    _, state = layer(xs, state, writes=3)
    assert state.memory.strengths.shape == (1 + 2 * 3,)
    _, state = layer(xs, state)
    assert state.memory.strengths.shape == (7 + 2 * TIME,)


def test_a_layer_that_forgets_can_be_scanned() -> None:
    """Step by step in `lax.scan`, since the state keeps its shape."""
    layer, xs = small_layer(**FORGETS), sequences(1)[0]

    def step(state: LieAccessState, x: jax.Array) -> tuple[LieAccessState, jax.Array]:
        outputs, state = layer(x[None], state)
        return state, outputs[0]

    assert_same(quick(lambda: jax.lax.scan(step, layer.begin(), xs)[1])(), layer(xs)[0])


@pytest.mark.parametrize("writes", [-1, TIME + 1])
def test_there_are_not_so_many_steps_to_write_in(writes: int) -> None:
    with pytest.raises(LantmError, match=f"writes is {writes}: give a number from 0 to the number of steps, {TIME}"):
        small_layer()(sequences(1)[0], writes=writes)


@pytest.mark.parametrize("name", ["cells", "memory_width", "read_heads", "write_heads"])
def test_sizes_from_1_on(name: str) -> None:
    with pytest.raises(LantmError, match=f"{name} is 0: give a whole number of at least 1"):
        LieAccess(INPUTS, key=jax.random.key(0), **{name: 0})


# Mapped over.


def loss(layer: LieAccess, xs: jax.Array, backend: str = "auto") -> jax.Array:
    """Of the outputs, as in training, and of all else that comes out."""
    outputs, state = layer(xs, writes=4, backend=backend)
    return jnp.sum(jnp.sin(outputs)) + jnp.sum(state.memory.addresses**2) + jnp.sum(state.controller.cell)


def ensemble() -> LieAccess:
    layer = small_layer(read_heads=2)
    return stacked([layer, jax.tree.map(lambda leaf: 0.9 * np.asarray(leaf), layer)])


def one_of(tree: Any, index: int) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(np.asarray(leaf)[index]), tree)


def stacked(trees: list[Any]) -> Any:
    """By NumPy, which compiles nothing."""
    return jax.tree.map(lambda *leaves: jnp.asarray(np.stack(leaves)), *trees)


def one_by_one(layers: LieAccess, examples: jax.Array) -> list[list[Any]]:
    """Losses and gradients of every layer with every example, in a Python loop."""
    single = quick(jax.value_and_grad(loss))
    return [[single(one_of(layers, at), xs) for xs in examples] for at in range(2)]


def test_mapped_over_layers_and_their_examples() -> None:
    layers, examples = ensemble(), sequences(2)
    over_examples = jax.vmap(jax.value_and_grad(loss), (None, 0))
    found = quick(jax.vmap(over_examples, (0, None)))(layers, examples)
    assert_same(found, stacked([stacked(row) for row in one_by_one(layers, examples)]))


@pytest.mark.thorough
def test_mapped_over_examples_and_layers() -> None:
    """Per-example gradients, the gradient of a mean, ensembles, and both orders of nesting."""
    layers, examples = ensemble(), sequences(3)
    expected = one_by_one(layers, examples)
    single, first = jax.value_and_grad(loss), one_of(layers, 0)
    over_examples, over_layers = (None, 0), (0, None)

    def mean(layer: LieAccess) -> jax.Array:
        return jnp.mean(jax.vmap(loss, over_examples)(layer, examples))

    @quick
    def mapped() -> dict[str, Any]:
        return {
            "examples": jax.vmap(single, over_examples)(first, examples),
            "a mean": jax.grad(mean)(first),
            "layers": jax.vmap(single, over_layers)(layers, examples[0]),
            "examples of layers": jax.vmap(jax.vmap(single, over_examples), over_layers)(layers, examples),
            "layers of examples": jax.vmap(jax.vmap(single, over_layers), over_examples)(layers, examples),
            "means of layers": jax.vmap(jax.grad(mean))(layers),
        }

    found = mapped()
    assert_same(found["examples"], stacked(expected[0]))
    assert_same(found["a mean"], jax.tree.map(lambda leaf: np.mean(leaf, axis=0), stacked(expected[0])[1]))
    assert_same(found["layers"], stacked([row[0] for row in expected]))
    both = stacked([stacked(row) for row in expected])
    assert_same(found["examples of layers"], both)
    assert_same(found["layers of examples"], jax.tree.map(lambda leaf: np.swapaxes(leaf, 0, 1), both))
    assert_same(found["means of layers"], jax.tree.map(lambda leaf: np.mean(leaf, axis=1), both[1]))


@pytest.mark.parametrize("changes", [{}, FORGETS], ids=["grows", "forgets"])
def test_examples_that_are_carried_on(changes: dict) -> None:
    layer, examples = small_layer(**changes), sequences(3)

    def twice(layer: LieAccess, xs: jax.Array) -> tuple[jax.Array, LieAccessState]:
        _, state = layer(xs[:3])
        return layer(xs[3:], state)

    found = quick(jax.vmap(twice, (None, 0)))(layer, examples)
    assert_same(found, stacked([quick(twice)(layer, xs) for xs in examples]))


def test_mapped_over_inputs_that_write_for_other_times() -> None:
    """A schedule that differs from example to example cannot be one batch's."""
    model = build(small_lantm())
    layer, examples, writes = model.layer, sequences(2), jnp.array([[2], [5]])

    def run(xs: jax.Array, writes: jax.Array) -> jax.Array:
        carried = layer.begin_batch(1, TIME)
        return layer.run_batch(xs[:, None], Schedule(jnp.array(TIME), writes), carried)[0][:, 0]

    found = quick(jax.vmap(run))(examples, writes)
    for at, count in enumerate((2, 5)):
        np.testing.assert_allclose(found[at], layer(examples[at], writes=count)[0], rtol=1e-9)


def test_many_examples_are_one_batch() -> None:
    """One product for all of them in every step, in which no example has a product of its own."""
    layer, examples = small_layer(), sequences(6)
    text = str(jax.make_jaxpr(jax.vmap(layer))(examples))
    assert f"f64[6,{4 * CELLS}] = dot_general" in text
    assert f"f64[6,1,{4 * CELLS}] = dot_general" not in text.split("while")[1]


@pytest.mark.usefixtures("c_compiler")
def test_mapped_examples_fill_the_blocks_of_the_kernels() -> None:
    layer, examples = small_layer(), sequences(20)

    def total(layer: LieAccess, backend: str) -> jax.Array:
        return jnp.sum(jnp.sin(jax.vmap(lambda xs: layer(xs, backend=backend)[0])(examples)))

    gradient = jax.grad(total)
    text = str(jax.make_jaxpr(lambda layer: gradient(layer, "emulated"))(layer))
    assert text.count("lantm_emulate") == 2, "one forward, one backward"
    assert text.count("('batch', np.int32(20))") == 2
    found = [quick(gradient, static_argnums=1)(layer, backend) for backend in ("emulated", "kernel", "loops")]
    assert_same(found[0], found[2])
    assert_same(found[1], found[2])
    with pytest.raises(LantmError, match="use the backend 'scan'"):
        jax.hessian(lambda xs: jnp.sum(layer(xs)[0]))(examples[0])


@pytest.mark.usefixtures("c_compiler")
def test_every_example_has_a_gradient_of_its_own_by_compiled_code() -> None:
    """Also where layers are mapped over too, in either order."""
    layers = jax.tree.map(lambda *leaves: jnp.stack(leaves), small_layer(), small_layer(read_heads=1))
    examples = sequences(3)

    def gradients(layers: LieAccess, backend: str) -> Any:
        one = jax.grad(lambda layer, xs: jnp.sum(jnp.sin(layer(xs, backend=backend)[0])))
        inner = jax.vmap(jax.vmap(one, (None, 0)), (0, None))(layers, examples)
        outer = jax.vmap(jax.vmap(one, (0, None)), (None, 0))(layers, examples)
        return inner, outer

    found, expected = (quick(gradients, static_argnums=1)(layers, backend) for backend in ("kernel", "loops"))
    assert_same(found, expected)


# A controller of one's own.


class PlainLstm(Controller):
    """The default controller again, as somebody else might write it."""

    weights: jax.Array
    bias: jax.Array
    first: CellState

    @property
    def size(self) -> int:
        return self.first.cell.shape[0]

    def begin(self) -> dict[str, jax.Array]:
        return {"h": self.first.hidden, "c": self.first.cell}

    def step(self, inputs: jax.Array, state: dict[str, jax.Array]) -> tuple[jax.Array, dict[str, jax.Array]]:
        (hidden, cell), _ = lstm_cell(jnp.concatenate([inputs, state["h"]]) @ self.weights + self.bias, state["c"])
        return hidden, {"h": hidden, "c": cell}


@pytest.mark.thorough
@pytest.mark.parametrize("changes", [SEVERAL_HEADS, {"weighting": SoftMax(), **FORGETS}])
def test_a_controller_of_ones_own_that_is_the_lstm(changes: dict) -> None:
    layer = small_layer(**changes)
    theirs = layer.controller
    assert isinstance(theirs, LstmController)
    weights = jnp.concatenate([theirs.inputs.weight, theirs.recurrent])
    own = eqx.tree_at(lambda layer: layer.controller, layer, PlainLstm(weights, theirs.inputs.bias, theirs.start))

    def total(layer: LieAccess, examples: jax.Array) -> jax.Array:
        def run(xs: jax.Array) -> jax.Array:
            first, state = layer(xs[:3])
            second, state = layer(xs[3:], state, writes=1)
            return jnp.concatenate([first, second])

        return jnp.sum(jnp.sin(jax.vmap(run)(examples)))

    both = [quick(jax.value_and_grad(total))(layer, sequences(2)) for layer in (own, layer)]
    (ours, d_own), (expected, d_layer) = both
    np.testing.assert_allclose(ours, expected, rtol=1e-12)
    d_weights = jnp.concatenate([d_layer.controller.inputs.weight, d_layer.controller.recurrent])
    assert_same(d_own.controller.weights, d_weights)
    assert_same((d_own.heads, d_own.start), (d_layer.heads, d_layer.start))


def test_the_step_of_the_lstm_is_what_the_recurrence_does() -> None:
    layer, xs = small_layer(), sequences(1)[0]
    outputs, state = layer(xs[:1])
    seen = jnp.concatenate([xs[0], layer.begin().reading])
    output, after = layer.controller.step(seen, layer.controller.begin())
    assert_same((output, after), (outputs[0], state.controller))


def test_a_controller_of_ones_own_decides_the_size() -> None:
    controller = PlainLstm(jnp.ones((INPUTS + 4 + 2, 8)), jnp.zeros(8), CellState(jnp.zeros(2), jnp.zeros(2)))
    layer = LieAccess(INPUTS, key=jax.random.key(0), memory_width=4, controller=controller)
    assert layer(sequences(1)[0])[0].shape == (TIME, 2)
    with pytest.raises(LantmError, match="kernels support only the LSTM"):
        layer(sequences(1)[0], backend="kernel")


# Objects of one's own.


class Stretched(Translation):
    """A geometry of a user's own."""

    def key(self, raw: RawKey) -> RawKey:
        return 2 * raw


@pytest.mark.parametrize(
    "changes", [{"geometry": Stretched(2)}, {"weighting": InvNorm(epsilon=0.5)}, {"geometry": Translation(3)}], ids=str
)
def test_geometry_and_weighting_are_objects(changes: dict[str, Geometry]) -> None:
    xs = sequences(1)[0]
    own, plain = small_layer(**changes), small_layer()
    assert np.abs(own(xs)[0] - plain(xs)[0]).max() > 1e-6


def square(xs: jax.Array, backend: Any) -> jax.Array:
    """Of all outputs, to be differentiated twice."""
    return jnp.sum(small_layer()(xs, backend=backend)[0] ** 2)


def test_loops_have_no_second_derivatives() -> None:
    """They say what to use instead."""
    (xs,) = sequences(1, 3)
    for twice in (jax.hessian(square), jax.jacrev(jax.grad(square))):
        with pytest.raises(LantmError, match="use the backend 'scan'"):
            twice(xs, "loops")


@pytest.mark.thorough
def test_second_derivatives() -> None:
    """By a plain scan, against differences of the gradient of the loops."""
    (xs,) = sequences(1, 3)
    hessian = quick(jax.hessian(lambda xs: square(xs, "scan")))(xs)
    gradient = quick(jax.grad(lambda xs: square(xs, "loops")))
    for at in np.ndindex(xs.shape):
        nudge = jnp.zeros_like(xs).at[at].set(1e-5)
        np.testing.assert_allclose(hessian[at], (gradient(xs + nudge) - gradient(xs - nudge)) / 2e-5, atol=1e-7)


def test_what_does_not_fit_is_refused() -> None:
    """Compiled code would read beyond its arrays."""
    layer, other = (LieAccess(2, cells=4, memory_width=width, key=jax.random.key(0)) for width in (3, 5))
    xs = jnp.ones((6, 2))
    with pytest.raises(LantmError, match="xs has 3 inputs per step, and this layer 2"):
        layer(jnp.ones((6, 3)))
    with pytest.raises(LantmError, match="of a layer with other sizes or types"):
        other(xs, layer(xs)[1])
    forgets = LieAccess(2, cells=4, memory_width=3, memory_limit=4, memory_drop=2, key=jax.random.key(0))
    with pytest.raises(LantmError, match="of a layer with other sizes or types"):
        forgets(xs, layer(xs)[1])


_UNCHECKED = """
import jax, jax.numpy as jnp, lantm
layer = lantm.LieAccess(2, cells=4, key=jax.random.key(0))
for attempt in (
    lambda: layer(jnp.ones((2, 6, 2))),
    lambda: layer(jnp.ones((6, 2)), backend="scann"),
    lambda: lantm.LieAccess(2, geometry="sphere", key=jax.random.key(0)),
):
    try:
        attempt()
    except lantm.LantmError as error:
        print(error)
"""


def test_what_is_of_another_type_is_refused() -> None:
    """In a process of its own, where annotations are not checked."""
    ended = subprocess.run([sys.executable, "-c", _UNCHECKED], capture_output=True, text=True, check=True)
    shape, backend, geometry = ended.stdout.splitlines()
    assert shape == "xs has the shape (2, 6, 2): give time x inputs; jax.vmap maps over a batch"
    assert backend.startswith("there is no backend 'scann': did you mean 'scan'?")
    assert geometry.startswith("geometry is 'sphere' and weighting ")
