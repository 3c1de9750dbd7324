"""The kernels in double precision, for a CPU and, emulated there, for a GPU, against the loops they stand in for."""

import ctypes
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import quick, small_lantm

from lantm.devices import on_cpu
from lantm.errors import LantmError, SlowerWarning
from lantm.evaluation import answer
from lantm.geometry import Translation
from lantm.machine import InvNorm, LantmConfig, backend, compilers, recur
from lantm.machine.backend import SERVED, Kernels, choose_kernels
from lantm.machine.compilers import find_nvrtc
from lantm.machine.kernel import calls
from lantm.machine.kernel.program import Shape, choose_shape, program_text, shared_memory
from lantm.machine.kernel.program import _source as kernel_source
from lantm.machine.state import Machinery, Schedule, Weights
from lantm.tasks import make_task
from lantm.training.loss import negative_log_likelihood

pytestmark = pytest.mark.usefixtures("double_precision", "c_compiler")

BATCH = 8

CONFIGURATIONS = {
    "as in the paper": small_lantm(),
    "softmax, several heads, gates that close": small_lantm(
        weighting="softmax",
        read_heads=2,
        write_heads=2,
        tied_read_heads=1,
        gate_overshoot=0.2,
        interpolate_read_actions=False,
    ),
    "switches": small_lantm(
        weighting="invnorm[power=2,renormalise=true]",
        squash_vectors="sigmoid",
        normalise_steps=False,
        interpolate_actions=False,
        initial_slot=False,
    ),
    "it forgets, on a sphere": small_lantm(geometry="sphere", memory_limit=8, memory_drop=3, read_sees_write=True),
    "exact": small_lantm(
        read_heads=2,
        tied_read_heads=1,
        settle_reads=True,
        cell_bound=0.5,
        controller_overshoot=0.1,
        settle_cells=0.1,
        write_end=True,
    ),
    "exact, in three dimensions, it forgets": small_lantm(
        geometry="translation-3", weighting="softmax", settle_reads=True, cell_bound=0.3, memory_limit=9, memory_drop=4
    ),
    "large": small_lantm(
        cells=70,
        memory_width=40,
        read_heads=2,
        weighting="invnorm[power=2,renormalise=true]",
        squash_vectors="sigmoid",
        normalise_steps=False,
        interpolate_actions=False,
        initial_slot=False,
    ),
}


def prepared(config: LantmConfig, length: int, capacity: int, problems: int = BATCH) -> tuple[Any, ...]:
    """What a recurrence is called with, in double precision, with room for longer problems than these."""

    @quick
    def arguments() -> tuple[Any, ...]:
        task = make_task("copy")
        batch = task.sample(jax.random.key(1), problems, length, capacity)
        model = config.build(task.vocabulary, jax.random.key(0))
        controller, heads = model.layer.controller, model.layer.heads
        weights = Weights(controller.recurrent, heads.weight, heads.bias)
        inputs = controller.inputs(model.embedding[batch.inputs])
        fewer = jnp.arange(problems, dtype=jnp.int32) % 2 if config.memory_limit is None else 0
        begin = model.begin(problems, batch.write_capacity)
        return (weights, inputs, *begin, Schedule(batch.steps, batch.writes - fewer))

    return jax.tree.map(lambda leaf: leaf.astype(float) if leaf.dtype == jnp.float32 else leaf, arguments())


def assert_same(ours: Any, theirs: Any) -> None:
    for mine, yours in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, yours, rtol=1e-9, atol=1e-10)


# Their parts are in the others too.
OTHER_MIXTURES = (
    "as in the paper",
    "exact, in three dimensions, it forgets",
    "softmax, several heads, gates that close",
    "switches",
)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.thorough if name in OTHER_MIXTURES else ()) for name in CONFIGURATIONS],
)
def test_kernels_do_what_the_loops_do(name: str) -> None:
    """Also for a batch that does not fill its last block."""
    config = CONFIGURATIONS[name]
    problems = BATCH - 3 if name == "it forgets, on a sphere" else BATCH
    length = 5 if name == "large" else 19
    weights, inputs, start, memory, window, schedule = prepared(config, length, length + 2, problems)

    @partial(quick, static_argnames="backend")
    def run(backend: str, d_hidden: Any) -> Any:
        def hidden_states(*given: Any) -> Any:
            path = recur(config.access, config.policy, *given, window, schedule, backend, config.cell)
            return path.states.controller.hidden, path

        _, pull, path = jax.vjp(hidden_states, weights, inputs, start, memory, has_aux=True)
        return path, pull(d_hidden)

    running = (jnp.arange(len(inputs)) < schedule.steps)[:, None, None]
    d_hidden = np.random.default_rng(0).normal(size=(len(inputs), problems, config.cells)) * running
    emulated, found, expected = (run(backend, d_hidden) for backend in ("emulated", "kernel", "loops"))
    assert_same(emulated, expected)
    assert_same(found, expected)
    assert float(jnp.max(jnp.abs(expected[1][0].recurrent))) > 1e-3


def losses(config: LantmConfig, of_path: Any, backend: str) -> Any:
    weights, *rest = prepared(config, length=4, capacity=4)

    def loss(scale: Any) -> Any:
        scaled = jax.tree.map(lambda leaf: leaf * scale, weights)
        return of_path(recur(config.access, config.policy, scaled, *rest, backend=backend))

    return quick(jax.vmap(jax.value_and_grad(loss)))(jnp.array([0.9, 1.1]))


@pytest.mark.parametrize(
    "of_path",
    [
        pytest.param(lambda path: jnp.sum(jnp.sin(path.states.controller.hidden)), marks=pytest.mark.thorough),
        lambda path: jnp.sum(path.state.controller.cell) + jnp.sum(path.memory.vectors**2) + jnp.sum(path.emissions),
    ],
    ids=["of hidden states", "of everything else"],
)
def test_gradients_through_the_kernels(of_path: Any) -> None:
    config = small_lantm(read_heads=2)
    expected = losses(config, of_path, "loops")
    for kernels in ("emulated", "kernel"):
        assert_same(losses(config, of_path, kernels), expected)


GEOMETRIES = ["translation-1", "translation-3", "rotation", "scaling-rotation", "se2", "sphere", "disk", "hyperbolic-3"]


@pytest.mark.thorough
@pytest.mark.parametrize("weighting", ["invnorm", "softmax"])
@pytest.mark.parametrize("geometry", GEOMETRIES)
def test_all_that_is_served_on_a_cpu(geometry: str, weighting: str) -> None:
    """Every geometry and weighting, with heads that settle, and more problems than one thread takes."""
    config = small_lantm(geometry=geometry, weighting=weighting, read_heads=2, settle_reads=True)
    weights, inputs, start, memory, window, schedule = prepared(config, length=6, capacity=7, problems=70)

    def loss(backend: str, weights: Weights) -> Any:
        path = recur(config.access, config.policy, weights, inputs, start, memory, window, schedule, backend)
        return jnp.sum(jnp.sin(path.states.controller.hidden))

    assert {type(config.access.geometry) for config in map(served_on_a_cpu, GEOMETRIES)} == set(SERVED.geometries)
    assert_same(*(quick(jax.value_and_grad(partial(loss, backend)))(weights) for backend in ("kernel", "loops")))


@pytest.mark.parametrize("backend", ["kernel", "emulated"])
def test_problems_do_not_read_the_memories_of_others(backend: str) -> None:
    """Nor do those that are to write more than there is room for: what they cannot write they cannot read."""
    config = small_lantm()
    weights, inputs, start, memory, window, schedule = prepared(config, length=6, capacity=6)
    cut = jax.tree.map(lambda field: field[:, :4], memory)
    other = cut._replace(vectors=cut.vectors.at[1].set(jnp.nan))

    @quick
    def hidden(memory: Any) -> Any:
        given = (weights, inputs, start, memory, window, schedule)
        return recur(config.access, config.policy, *given, backend).states.controller.hidden

    expected, found = hidden(cut), hidden(other)
    np.testing.assert_array_equal(found[:, 0], expected[:, 0])
    assert np.isnan(found[:, 1]).any()


def served_on_a_cpu(geometry: str) -> LantmConfig:
    return small_lantm(geometry=geometry)


def test_a_cpu_in_single_precision() -> None:
    """Its exponentials and hyperbolic tangents are right to a few units in the last place, however large or small."""
    text = f"#define CPU_REAL float\n{kernel_source('cpu.h')}\n"
    text += 'extern "C" float an_exp(float x) { return exp(x); }\nextern "C" float a_tanh(float x) { return tanh(x); }'
    library = compilers.shared_library(text)
    random = np.random.default_rng(0)
    numbers = np.concatenate(
        [random.uniform(-80, 80, 2000), random.normal(size=2000), random.normal(size=99) * 1e-4, [0]]
    )
    for name, exact in (("an_exp", np.exp), ("a_tanh", np.tanh)):
        function = getattr(library, name)
        function.argtypes, function.restype = [ctypes.c_float], ctypes.c_float
        expected = exact(numbers.astype(np.float32).astype(float))
        np.testing.assert_allclose([function(x) for x in numbers], expected, rtol=1e-6)
    assert library.an_exp(-1e9) < 1e-37
    assert np.isfinite(library.an_exp(1e9))
    assert library.a_tanh(1e9) == 1


def test_a_training_step_on_a_cpu() -> None:
    """As it is taken by default, in single precision and for several machines at once, whose problems are short."""
    task = make_task("copy")
    with jax.enable_x64(False):
        batch = task.sample(jax.random.key(1), 11, 3, 20)
        models = jax.vmap(lambda key: small_lantm().build(task.vocabulary, key))(jax.random.split(jax.random.key(0), 2))

        def step(backend: str) -> Any:
            loss = jax.value_and_grad(lambda model: negative_log_likelihood(answer(model, batch, backend)))
            return quick(jax.vmap(loss))(models)

        assert choose_kernels("auto", small_lantm().access, 5, jnp.float32) == Kernels("cpu")
        found = step("auto")
        compilers.no_c_compiler.cache_clear()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CXX", "")
            expected = step("loops")
        compilers.no_c_compiler.cache_clear()
    for mine, yours in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(mine, yours, rtol=1e-4, atol=1e-5)


# Which backend is chosen.


class OwnGeometry(Translation):
    """A geometry of a user's own."""


class OwnWeighting(InvNorm):
    """A weighting of a user's own."""


class Chip(NamedTuple):
    platform: str
    compute_capability: str


def use_chip(monkeypatch: pytest.MonkeyPatch, chip: Chip) -> None:
    monkeypatch.setattr(backend, "current_device", lambda: chip)
    monkeypatch.setattr(backend, "missing_compiler", lambda: None)
    backend._warn_once.cache_clear()


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    use_chip(monkeypatch, Chip("gpu", "9.0"))


def test_a_cpu_has_them_where_there_is_a_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    own = LantmConfig(geometry=f"{__name__}:OwnGeometry").access
    for asked in ("auto", "kernel"):
        assert choose_kernels(asked, LantmConfig(memory_width=200).access, 300, jnp.float64) == Kernels("cpu")
    assert choose_kernels("auto", LantmConfig().access, 50, jnp.bfloat16) is None
    assert choose_kernels("auto", own, 50, jnp.float32) is None  # nobody has to be warned on a CPU
    with pytest.raises(LantmError, match="geometry OwnGeometry"):
        choose_kernels("kernel", own, 50, jnp.float32)
    monkeypatch.setenv("CXX", "")
    compilers.no_c_compiler.cache_clear()
    assert choose_kernels("auto", LantmConfig().access, 50, jnp.float32) is None
    with pytest.raises(LantmError, match="no C\\+\\+ compiler"):
        choose_kernels("kernel", LantmConfig().access, 50, jnp.float32)


def test_a_compiler_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(LantmError, match=r"could not compile: .*nothing_here"):
        compilers.shared_library("int x = nothing_here;")
    monkeypatch.setenv("CXX", "false --option")  # with options, as build systems have it
    assert compilers.c_compiler() == "false --option"


@pytest.mark.usefixtures("gpu")
def test_a_gpu_has_them_unless_loops_are_asked_for() -> None:
    for asked in ("auto", "kernel"):
        assert choose_kernels(asked, LantmConfig().access, 50, jnp.float32) == Kernels("gpu", full_precision=False)
        assert choose_kernels(asked, LantmConfig(geometry="disk", memory_width=128).access, 100, jnp.float32)
    assert choose_kernels("loops", LantmConfig().access, 50, jnp.float32) is None


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("precision", "full"),
    [(None, False), ("default", False), ("tensorfloat32", False), ("highest", True), ("float32", True)],
)
def test_kernels_multiply_in_the_precision_that_jax_is_told(precision: str | None, full: bool) -> None:
    with jax.default_matmul_precision(precision):
        assert choose_kernels("auto", LantmConfig().access, 50, jnp.float32).full_precision == full


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("changes", "cells", "dtype", "reason"),
    [
        ({}, 129, jnp.float32, "up to 128 cells, and there are 129"),
        ({}, 50, jnp.float64, "not in float64"),
        ({"memory_width": 200}, 50, jnp.float32, "up to 128 numbers in a memory vector"),
        ({"read_heads": 3}, 50, jnp.float32, "up to 2 read heads"),
        ({"write_heads": 3}, 50, jnp.float32, "up to 2 write heads"),
        ({"geometry": "translation-9"}, 50, jnp.float32, "up to 8 coordinates"),
        ({"geometry": f"{__name__}:OwnGeometry"}, 50, jnp.float32, "geometry OwnGeometry"),
        ({"weighting": f"{__name__}:OwnWeighting"}, 50, jnp.float32, "weighting OwnWeighting"),
    ],
)
def test_machines_that_the_kernels_do_not_serve(changes: dict, cells: int, dtype: Any, reason: str) -> None:
    """One warning for each reason, and an error where nothing else will do."""
    access = LantmConfig(**changes).access
    with pytest.warns(SlowerWarning, match=f"half the speed.*{reason}"):
        assert choose_kernels("auto", access, cells, dtype) is None
    assert choose_kernels("auto", access, cells, dtype) is None  # a second warning would be an error
    with pytest.raises(LantmError, match=reason):
        choose_kernels("kernel", access, cells, dtype)


@pytest.mark.parametrize("other", ["7.5", "gfx90a"])
def test_other_chips_are_not_served(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    use_chip(monkeypatch, Chip("gpu", other))
    with pytest.warns(SlowerWarning, match=r"compute capability 8\.0"):
        assert choose_kernels("auto", LantmConfig().access, 50, jnp.float32) is None


@pytest.mark.usefixtures("gpu")
def test_without_a_compiler_the_loops_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backend, "missing_compiler", lambda: "there is no C++ compiler: install one, such as g++")
    with pytest.warns(SlowerWarning, match="half the speed.*no C\\+\\+ compiler"):
        assert choose_kernels("auto", LantmConfig().access, 50, jnp.float32) is None


def test_the_default_device_is_honoured_and_traced_for() -> None:
    """A function that was compiled for one device is traced again for another."""
    seen = []

    @jax.jit
    def function(x: Any) -> Any:
        seen.append(backend.current_device())
        return x

    first = jax.devices()[0]
    function(1.0)
    with jax.default_device("cpu"):
        function(1.0)
        assert on_cpu()
    with jax.default_device(first):
        function(1.0)
    function(1.0)
    assert seen == [first] * 3


@pytest.mark.parametrize(
    ("precision", "config"),
    [
        pytest.param("default", LantmConfig(), marks=pytest.mark.thorough),
        ("highest", LantmConfig(weighting="softmax", read_heads=2, memory_limit=100)),
    ],
    ids=["default", "highest"],
)
def test_a_gpu_is_told_to_start_them(monkeypatch: pytest.MonkeyPatch, precision: str, config: LantmConfig) -> None:
    """A step of training calls the forward and the backward kernel, for all machines at once."""
    use_chip(monkeypatch, Chip("gpu", "9.0"))
    monkeypatch.setattr(calls, "registered", lambda text, architecture: f"kernel of {architecture}")
    task = make_task("copy")
    step = jax.jit(jax.vmap(jax.grad(lambda model, batch: jnp.sum(model(batch).logits)), in_axes=(0, None)))
    with jax.enable_x64(False), jax.default_matmul_precision(precision):
        batch = task.sample(jax.random.key(1), BATCH, 4, 4)
        build = jax.vmap(lambda key: config.build(task.vocabulary, key))
        models = jax.eval_shape(build, jax.random.split(jax.random.key(0), 3))
        text = step.trace(models, batch).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("@lantm_launch") == 2
    assert text.count("runs = 3") == 2
    assert text.count('kernel = "kernel of sm_90"') == 2


def texts(config: LantmConfig, rows: int, shared: bool, full_precision: bool = False) -> str:
    machinery = Machinery(config.access, config.policy, config.cell, Kernels("gpu", full_precision))
    return program_text(machinery, Shape(config.access, config.cells, rows, 40, shared))


@pytest.mark.skipif(find_nvrtc() is None, reason="needs NVRTC, which comes with JAX for a GPU")
@pytest.mark.parametrize("name", list(CONFIGURATIONS))
def test_kernels_compile_for_a_gpu(name: str) -> None:
    for rows, shared, full_precision in ((1, True, False), (8, False, True)):
        assert compilers.compiled(texts(CONFIGURATIONS[name], rows, shared, full_precision), "sm_90")


@pytest.mark.parametrize(
    ("problems", "slots", "rows", "shared"),
    [
        (32, 66, 1, True),  # few problems: as many multiprocessors as there are
        (512, 66, 2, True),
        (4096, 66, 8, True),  # many: each has several
        (4096, 1026, 1, True),  # long ones: the memories of one problem alone
        (4096, 10_000, 8, False),  # longer ones stay in global memory
    ],
)
def test_how_problems_are_laid_out(problems: int, slots: int, rows: int, shared: bool) -> None:
    room = shared_memory("9.0")
    shape = choose_shape(LantmConfig().access, 50, slots, problems, processors=132, room=room)
    assert shape is not None
    assert (shape.rows, shape.memory_shared) == (rows, shared)
    assert max(shape.shared(False), shape.shared(True)) * 4 <= room


@pytest.mark.parametrize("capability", ["8.0", "8.6", "8.9", "9.0", "12.0"])
def test_every_machine_that_is_served_fits_every_chip(capability: str) -> None:
    large = {
        "cells": backend.SERVED.cells,
        "memory_width": backend.SERVED.memory_width,
        "read_heads": 2,
        "write_heads": 2,
    }
    room = shared_memory(capability)
    for config in (LantmConfig(), LantmConfig(geometry="translation-8", **large)):
        for slots in (10, 1000, 100_000):
            shape = choose_shape(config.access, config.cells, slots, 4096, processors=132, room=room)
            assert shape is not None
            assert max(shape.shared(False), shape.shared(True)) * 4 <= room


@pytest.mark.parametrize(
    ("rows", "shared"), [(4, False), *(pytest.param(rows, True, marks=pytest.mark.thorough) for rows in (1, 8))]
)
def test_other_layouts_do_the_same(monkeypatch: pytest.MonkeyPatch, rows: int, shared: bool) -> None:
    """Whatever number of problems a block has, and wherever its memories are; the last block is not full."""
    config = small_lantm(read_heads=2, weighting="softmax", settle_reads=True, cell_bound=0.5)
    weights, inputs, start, memory, window, schedule = prepared(config, length=5, capacity=6, problems=11)

    def loss(backend: str, weights: Weights, memory: Any) -> Any:
        path = recur(
            config.access, config.policy, weights, inputs, start, memory, window, schedule, backend, config.cell
        )
        return jnp.sum(jnp.sin(path.states.controller.hidden))

    monkeypatch.setattr(
        calls, "choose_shape", lambda access, cells, slots, *_: Shape(access, cells, rows, slots, shared)
    )
    jax.clear_caches()
    found, expected = (
        quick(jax.value_and_grad(partial(loss, backend), argnums=(0, 1)))(weights, memory)
        for backend in ("emulated", "loops")
    )
    jax.clear_caches()
    assert_same(found, expected)
