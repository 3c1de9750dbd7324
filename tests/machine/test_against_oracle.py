"""The library's machines against the plain second implementation in `oracle.py`, step by step."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import oracle
import pytest
from agreement import SEVERAL_HEADS, assert_agrees, assert_near, build, problems, quick, small_lantm, small_lstm

from lantm.machine import Lantm, LantmConfig, LstmConfig, Memory, Model, Position, Schedule, Window
from lantm.machine.controller import CellState
from lantm.machine.state import Carried, State
from lantm.tasks import TASKS

pytestmark = pytest.mark.usefixtures("double_precision")

MODELS = {
    "invnorm": small_lantm(),
    "softmax": small_lantm(weighting="softmax"),
    "lstm": small_lstm(),
    "invnorm, several heads": small_lantm(**SEVERAL_HEADS),
    "softmax, several heads": small_lantm(weighting="softmax", **SEVERAL_HEADS),
}
every_model = pytest.mark.parametrize("config", MODELS.values(), ids=MODELS.keys())


# One step, from anywhere.


def somewhere(config: LantmConfig, batch: int, remembered: int, room: int) -> Carried:
    """A state that no start leads to, and a memory of random contents."""
    generator = np.random.default_rng(0)
    heads = config.read_heads + config.write_heads

    def random(*shape: int) -> jax.Array:
        return jnp.asarray(generator.normal(size=shape))

    state = State(
        reading=random(batch, config.read_heads * config.memory_width),
        controller=CellState(random(batch, config.cells), random(batch, config.cells)),
        position=Position(random(batch, heads, 2), random(batch, heads, 2)),
    )
    slots = remembered + room
    memory = Memory(
        random(batch, slots, 2), random(batch, slots, config.memory_width), jax.nn.sigmoid(random(batch, slots))
    )
    return Carried(state, memory, Window(jnp.array(0), jnp.array(remembered)))


def oracle_state(carried: Carried, problem: int) -> oracle.State:
    """The same for one problem, in the oracle's terms."""
    state, memory, window = jax.tree.map(np.asarray, carried)
    return oracle.State(
        hidden=state.controller.hidden[problem],
        cell=state.controller.cell[problem],
        reading=state.reading[problem],
        keys=list(state.position.keys[problem]),
        actions=list(state.position.actions[problem]),
        memory=[
            oracle.Slot(slot, *(field[problem, slot] for field in memory))
            for slot in range(int(window.first), int(window.end))
        ],
        written=int(window.end),
    )


@quick
def one_step(model: Lantm, symbols: jax.Array, writes: jax.Array, carried: Carried) -> tuple[jax.Array, Carried]:
    hidden, carried = model.run(symbols[None], Schedule(jnp.array(1), writes), carried)
    return model.readout(hidden), carried


@pytest.mark.parametrize("writing", [True, False])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "lstm"])
def test_one_step(name: str, writing: bool) -> None:
    config = MODELS[name]
    model = build(config)
    symbols = [3, 125, 40]
    before = somewhere(config, batch=len(symbols), remembered=4, room=config.write_heads)
    writes = jnp.full(len(symbols), int(writing))
    logits, after = jax.device_get(one_step(model, jnp.array(symbols), writes, before))

    for problem, symbol in enumerate(symbols):
        expected, seen = oracle.lantm_step(
            oracle.numbers(model), config, oracle_state(before, problem), symbol, may_write=writing
        )
        ours = oracle_state(after, problem)
        assert_near(logits[0, problem], seen.logits, "logits")
        for field in ("hidden", "cell", "reading", "keys", "actions"):
            assert_near(np.array(getattr(ours, field)), np.array(getattr(expected, field)), field)
        assert len(ours.memory) == len(expected.memory) == 4 + writing * config.write_heads
        for slot, theirs in zip(ours.memory, expected.memory, strict=True):
            assert_near(slot.address, theirs.address)
            assert_near(slot.vector, theirs.vector)
            assert_near(slot.strength, theirs.strength)


@pytest.mark.parametrize("layers", [pytest.param(1, marks=pytest.mark.thorough), 3])
def test_one_step_of_the_lstm(layers: int) -> None:
    config = small_lstm(layers=layers)
    model = build(config)
    parameters = oracle.numbers(model)
    symbols = [3, 125, 40]
    carried = jax.tree.map(
        lambda x: jnp.asarray(np.random.default_rng(0).normal(size=x.shape)), model.begin(len(symbols), slots=0)
    )
    outputs, after = model.run(jnp.array([symbols]), Schedule(jnp.array(1), jnp.ones(len(symbols), int)), carried)
    for problem, symbol in enumerate(symbols):
        before = [
            (np.asarray(hidden[problem]), np.asarray(cell[problem])) for hidden, cell in zip(*carried, strict=True)
        ]
        expected = oracle.lstm_step(parameters.layers, before, parameters.embedding[symbol])
        assert_near(outputs[0, problem], expected[-1][0])
        for layer, (hidden, cell) in enumerate(expected):
            assert_near(after.hidden[layer, problem], hidden)
            assert_near(after.cell[layer, problem], cell)


# Whole sequences.

OTHERS = ("oddFirst", "prioritySort", "programs")


@pytest.mark.parametrize(
    ("task", "name"),
    [
        *(pytest.param(task, "invnorm", marks=() if task in OTHERS else pytest.mark.thorough) for task in TASKS),
        *itertools.product(["reverse", "addition"], ["softmax", "lstm"]),
    ],
)
def test_every_task_at_several_lengths(task: str, name: str) -> None:
    model = build(MODELS[name], task)
    for lengths in [(2, 2), (6, 6), (2, 6), (6, 4)]:
        assert_agrees(model, problems(task, lengths, longest=6))


@every_model
def test_one_length_mixed_lengths_and_full_arrays(config: LantmConfig | LstmConfig) -> None:
    model = build(config)
    for lengths in [(1, 1, 1), (3, 3, 3), (2, 4, 3), (5, 1, 5)]:
        assert_agrees(model, problems(lengths=lengths, longest=5))


@pytest.mark.parametrize("name", ["softmax, several heads", "lstm"])
def test_the_call_gives_the_logits_of_the_trace(name: str) -> None:
    model, batch = build(MODELS[name]), problems()

    @quick
    def called(model: Model) -> jax.Array:
        return model(batch).logits

    steps = int(batch.steps)
    assert_near(called(model)[:steps], assert_agrees(model, batch).logits[:steps])
