"""A recording of one problem against the oracle's own account of that problem."""

import dataclasses

import numpy as np
import oracle
import pytest
from agreement import SEVERAL_HEADS, TOLERANCE, build, problems, small_lantm, small_lstm

from lantm.batch import Batch
from lantm.evaluation import Recording, record
from lantm.machine import LantmConfig, LstmConfig

pytestmark = pytest.mark.usefixtures("double_precision")

MACHINES = {
    "one head each": small_lantm(),
    "several heads, softmax": small_lantm(weighting="softmax", **SEVERAL_HEADS),
    "no initial slot, reads see writes": small_lantm(initial_slot=False, read_sees_write=True),
    "rotations": small_lantm(geometry="rotation"),
    "a line": small_lantm(geometry="translation-1"),
    "forgetful": small_lantm(memory_limit=4, memory_drop=2),
    "settles": small_lantm(settle_reads=True, write_end=True, geometry="rotation"),
    "settles, forgetful": small_lantm(
        settle_reads=True, read_heads=2, geometry="translation-1", memory_limit=4, memory_drop=2
    ),
    "an LSTM": small_lstm(),
}


def near(found: np.ndarray, expected: object) -> None:
    np.testing.assert_allclose(found, np.array(expected), rtol=TOLERANCE, atol=TOLERANCE)


FURTHER = ("one head each", "forgetful")  # what they have, others have too


@pytest.mark.parametrize(
    "config",
    [pytest.param(one, marks=pytest.mark.thorough if name in FURTHER else ()) for name, one in MACHINES.items()],
    ids=MACHINES.keys(),
)
def test_a_problem_in_a_batch(config: LantmConfig | LstmConfig) -> None:
    """The second of three problems, the shortest, in arrays with room for longer ones."""
    batch = problems("addition", lengths=(3, 2, 4), longest=5)
    model = build(config, "addition")
    found = record(model, batch, problem=1, read_weights=True)
    writes = 1 + 2 * 2
    steps = writes + 3 + 1
    expected_symbols(found, batch, writes, steps)
    run_problem = oracle.run_lstm_problem if isinstance(config, LstmConfig) else oracle.run_lantm_problem
    run = run_problem(oracle.numbers(model), config, found.inputs.tolist(), writes)
    assert found.predicted.tolist() == [int(np.argmax(step.logits)) for step in run.steps[writes:]]
    if isinstance(config, LstmConfig):
        assert found.heads is None
        return
    assert found.heads is not None
    compare_heads(found, config, run, writes)


def expected_symbols(found: Recording, batch: Batch, writes: int, steps: int) -> None:
    assert (found.steps, found.answer_start) == (steps, writes)
    assert found.inputs.tolist() == np.asarray(batch.inputs)[:steps, 1].tolist()
    answered = np.asarray(batch.mask)[:, 1]
    assert found.expected.tolist() == np.asarray(batch.targets)[answered, 1].tolist()


def compare_heads(found: Recording, config: LantmConfig, run: oracle.Run, writes: int) -> None:
    heads = found.heads
    assert heads is not None
    assert (heads.read_heads, heads.write_heads) == (config.read_heads, config.write_heads)
    for name in ("keys", "actions", "key_gates", "action_gates"):
        near(getattr(heads, name), [getattr(step, name) for step in run.steps])
    near(heads.read_keys, [step.keys[: config.read_heads] for step in run.steps])
    if config.weighting == "softmax":
        near(heads.temperatures, [step.temperatures for step in run.steps])
    else:
        assert heads.temperatures is None
    if config.settle_reads:
        assert heads.settled_on.tolist() == [step.settled_on for step in run.steps]
        assert {-1} < set(heads.settled_on.flat), "some settle, and some do not"
    else:
        assert heads.settled_on is None

    memories = heads.memories
    near(memories.addresses, [slot.address for slot in run.written])
    near(memories.strengths, [slot.strength for slot in run.written])
    before = [(-1, -1)] * config.initial_slot
    written = [(step, head) for step in range(writes + config.write_end) for head in range(config.write_heads)]
    assert list(zip(memories.written_at.tolist(), memories.written_by.tolist(), strict=True)) == before + written

    weights = np.zeros((found.steps, config.read_heads, len(run.written)))
    for time, step in enumerate(run.steps):
        for head, by_number in enumerate(step.read_weights):
            for number, weight in by_number.items():
                weights[time, head, number] = weight
        seen = sorted(step.read_weights[0])
        first, end = heads.seen[time]
        assert list(range(first, end)) == seen
    near(heads.read_weights, weights)


def test_weights_are_kept_on_request_only() -> None:
    batch = problems("copy", lengths=(2,), longest=2)
    found = record(build(small_lantm()), batch)
    assert found.heads is not None
    assert found.heads.read_weights is None
    assert dataclasses.replace(found, heads=None).heads is None
