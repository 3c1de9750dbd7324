"""The GPU kernels, interpreted on the CPU in double precision, against the loops they stand in for."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import quick, small_lantm

from lantm.geometry import Translation
from lantm.machine import LantmConfig, fused, kernel, recurrence
from lantm.machine.state import Machinery, Schedule, Weights
from lantm.tasks import make_task

pytestmark = pytest.mark.usefixtures("double_precision")

BATCH = 2 * kernel.ROWS

CONFIGURATIONS = {
    "as in the paper": small_lantm(),
    "softmax, several heads, gates that close": small_lantm(
        weighting="softmax",
        read_heads=2,
        write_heads=2,
        tied_read_heads=1,
        gate_overshoot=0.2,
    ),
    "switches": small_lantm(
        weighting="invnorm[power=2,renormalise=true]",
        squash_vectors="sigmoid",
        normalise_steps=False,
        interpolate_actions=False,
        initial_slot=False,
    ),
    "it forgets, on a sphere": small_lantm(geometry="sphere", memory_limit=8, memory_drop=3, read_sees_write=True),
    "large": small_lantm(cells=70, memory_width=40, read_heads=2, initial_slot=False),
}


def prepared(config: LantmConfig, length: int, capacity: int) -> tuple[Machinery, tuple[Any, ...]]:
    """What a recurrence is called with, in double precision, with room for longer problems than these."""

    @quick
    def arguments() -> tuple[Any, ...]:
        task = make_task("copy")
        batch = task.sample(jax.random.key(1), BATCH, length, capacity)
        model = config.build(task.vocabulary, jax.random.key(0))
        weights = Weights(model.recurrent, model.heads.weight, model.heads.bias)
        inputs = model.symbols(model.embedding[batch.inputs])
        fewer = jnp.arange(BATCH, dtype=jnp.int32) % 2 if config.memory_limit is None else 0
        return (weights, inputs, *model.begin(BATCH, batch.write_capacity), Schedule(batch.steps, batch.writes - fewer))

    return Machinery(config.access, config.policy), jax.tree.map(
        lambda leaf: leaf.astype(jnp.float64) if leaf.dtype == jnp.float32 else leaf, arguments()
    )


def assert_same(ours: Any, theirs: Any) -> None:
    for mine, yours in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        np.testing.assert_allclose(mine, yours, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_kernels_do_what_the_loops_do(name: str) -> None:
    machinery, arguments = prepared(CONFIGURATIONS[name], length=19, capacity=21)
    weights, _, start, _, window, schedule = arguments
    path, (rows, gates) = quick(partial(recurrence._forward, machinery))(*arguments)
    fused_path, kept = quick(partial(fused.forward, machinery, interpret=True))(*arguments)
    assert_same(fused_path, path)
    assert_same(kept.rows(machinery.access)[0], rows)

    random = np.random.default_rng(0)
    running = (jnp.arange(len(gates)) < schedule.steps)[:, None, None]
    d_hidden = jnp.asarray(random.normal(size=path.states.hidden.shape)) * running
    cotangent = jax.tree.map(jnp.zeros_like, path)
    cotangent = cotangent._replace(states=cotangent.states._replace(hidden=d_hidden))
    saved = (weights, start, rows, gates, path.memory, window, schedule)
    expected = quick(partial(recurrence._recur_backward, machinery))(saved, cotangent)
    assert_same(quick(partial(fused.backward, machinery, interpret=True))(kept, d_hidden), expected)
    assert float(jnp.max(jnp.abs(expected[0].recurrent))) > 1e-3


@pytest.fixture
def interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines that take the kernels, interpreted."""
    monkeypatch.setattr(fused, "serves", lambda *_: True)
    for name in ("forward", "backward"):
        monkeypatch.setattr(fused, name, partial(getattr(fused, name), interpret=True))


def losses(config: LantmConfig, of_path: Any) -> Any:
    machinery, (weights, *rest) = prepared(config, length=4, capacity=4)

    def loss(scale: Any) -> Any:
        scaled = jax.tree.map(lambda leaf: leaf * scale, weights)
        return of_path(recurrence._recur(machinery, scaled, *rest))

    return quick(jax.vmap(jax.value_and_grad(loss)))(jnp.array([0.9, 1.1]))


@pytest.mark.parametrize(
    "of_path",
    [
        lambda path: jnp.sum(jnp.sin(path.states.hidden)),
        lambda path: jnp.sum(path.state.cell) + jnp.sum(path.memory.vectors**2) + jnp.sum(path.emissions),
    ],
    ids=["of hidden states", "of everything else"],
)
def test_gradients_through_the_kernels(of_path: Any, request: pytest.FixtureRequest) -> None:
    expected = losses(small_lantm(read_heads=2), of_path)
    request.getfixturevalue("interpreted")
    assert_same(losses(small_lantm(read_heads=2), of_path), expected)


class Untimed(Translation):
    """A geometry of a user's own."""


class Chip(NamedTuple):
    compute_capability: str


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(jax, "devices", lambda: [Chip("9.0")])


def test_a_cpu_is_not_served() -> None:
    assert not kernel.serves(LantmConfig().access, 32, 50, jnp.float32)


@pytest.mark.usefixtures("gpu")
def test_what_is_served(monkeypatch: pytest.MonkeyPatch) -> None:
    access = LantmConfig().access
    assert kernel.serves(access, 32, 50, jnp.float32)
    assert not kernel.serves(access, 31, 50, jnp.float32)
    assert not kernel.serves(access, 32, 500, jnp.float32)
    assert not kernel.serves(access, 32, 50, jnp.float64)
    assert kernel.serves(LantmConfig(geometry="disk", memory_width=128).access, 32, 100, jnp.float32)
    assert not kernel.serves(LantmConfig(geometry=f"{__name__}:Untimed").access, 32, 50, jnp.float32)
    monkeypatch.setenv("LANTM_KERNEL", "0")
    assert not kernel.serves(access, 32, 50, jnp.float32)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize("other", ["7.5", "gfx90a"])
def test_other_chips_are_not_served(monkeypatch: pytest.MonkeyPatch, other: str) -> None:
    monkeypatch.setattr(jax, "devices", lambda: [Chip(other)])
    assert not kernel.serves(LantmConfig().access, 32, 50, jnp.float32)


def test_kernels_are_ready_for_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """JAX can write the kernels for a GPU without having one: no operation in them is unknown to it."""
    monkeypatch.setattr(fused, "serves", lambda *_: True)
    for config in (LantmConfig(), LantmConfig(weighting="softmax", read_heads=2, memory_limit=100)):
        task = make_task("copy")
        batch = task.sample(jax.random.key(1), BATCH, 4, 4)
        model = config.build(task.vocabulary, jax.random.key(0))
        step = jax.jit(jax.grad(lambda model, batch: jnp.sum(model(batch).logits)))
        try:
            text = step.trace(model, batch).lower(lowering_platforms=("cuda",)).as_text()
        except RuntimeError as error:
            pytest.skip(f"this version of JAX asks for the GPU itself: {error}")
        assert text.count("triton") == 2
