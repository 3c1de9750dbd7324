"""Predictions on long inputs: through the index where there is one, and the same as without."""

import importlib
import sys
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.batch import Batch
from lantm.evaluation import Draw, Prediction, ProblemExaminer, predict
from lantm.machine import Index, LantmConfig, LstmConfig, Model, infer
from lantm.randomness import EVALUATE
from lantm.tasks import Copy, Lengths

TASK = Copy(data_symbols=9, train_lengths=Lengths(2, 6))
ANSWERING = importlib.import_module("lantm.evaluation.answer")  # the package has a function of that name


@pytest.fixture
def indexed(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The steps of every batch that is run through the index; batches count as long from 100 steps on."""
    seen: list[int] = []

    def watched(model: Any, batch: Batch, index: Index | None) -> Any:
        assert index is not None, "on a CPU"
        seen.append(batch.inputs.shape[0])
        return infer(model, batch, index)

    monkeypatch.setattr(ANSWERING, "LONG", 100)
    monkeypatch.setattr(ANSWERING, "infer", watched)
    return seen


def compiled(model: Model, batch: Batch) -> Prediction:
    """Compiled anew: what counts as long is known when a program is made."""
    return jax.jit(lambda model, batch: predict(model, batch))(model, batch)


def answers(found: Prediction) -> list[list[int]]:
    """What was predicted where an answer counts, problem by problem."""
    predicted, mask = np.asarray(found.predicted), np.asarray(found.mask)
    return [predicted[mask[:, problem], problem].tolist() for problem in range(mask.shape[1])]


def expected(found: Prediction) -> list[list[int]]:
    return answers(found._replace(predicted=found.targets))


@pytest.mark.parametrize("read_heads", [pytest.param(1, marks=pytest.mark.thorough), 2])
def test_the_same_as_the_plain_answer(indexed: list[int], read_heads: int) -> None:
    """Problems of different lengths, and a machine that answers them somehow."""
    config = LantmConfig(cells=6, embedding=3, memory_width=3, read_heads=read_heads)
    model = jax.tree.map(lambda weights: 3 * weights, config.build(TASK.vocabulary, jax.random.key(2)))
    batch = TASK.sample(jax.random.key(0), 3, jnp.array([60, 12, 41]), 64)
    by_index = compiled(model, batch)
    assert indexed == [130]
    ANSWERING.LONG = 131  # the fixture puts back what it was
    plain = compiled(model, batch)
    assert indexed == [130], "not by the index"
    assert answers(by_index) == answers(plain)
    assert expected(by_index) == expected(plain)
    assert [len(answer) for answer in answers(plain)] == [61, 13, 42]
    assert len({symbol for answer in answers(plain) for symbol in answer}) > 1, "no constant answer"


def test_a_machine_that_copies_does_so_through_the_index(indexed: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines of all seeds, as examiners run them."""
    monkeypatch.setattr(sys, "path", [str(Path(__file__).parents[2]), *sys.path])
    from examples.copy_by_hand import copy_machine

    task = Copy()
    models = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), copy_machine())
    examiner = ProblemExaminer(task, {"long": Lengths(150, 150)}, seeds=2, batch_size=2)
    scores = examiner(models, jnp.arange(2), Draw(4, EVALUATE, 1))["long"]
    assert indexed == [task.steps(150)]
    assert scores.coarse.tolist() == [100, 100]


@pytest.mark.parametrize(
    "machine",
    [
        LstmConfig(layers=1, cells=4, embedding=3),
        LantmConfig(cells=6, embedding=3, memory_width=3, geometry="disk"),
        LantmConfig(cells=6, embedding=3, memory_width=3, memory_limit=9, memory_drop=5),
    ],
    ids=["no memory", "other distances", "forgets"],
)
def test_machines_that_have_no_index(indexed: list[int], machine: LantmConfig | LstmConfig) -> None:
    model: Model = machine.build(TASK.vocabulary, jax.random.key(1))
    batch = TASK.sample(jax.random.key(0), 2, 60, 64)
    found = compiled(model, batch)
    assert indexed == []
    assert [len(answer) for answer in answers(found)] == [61, 61]


def test_short_inputs_are_read_in_full(indexed: list[int]) -> None:
    model = LantmConfig(cells=6, embedding=3, memory_width=3).build(TASK.vocabulary, jax.random.key(1))
    compiled(model, TASK.sample(jax.random.key(0), 2, 6, 6))
    assert indexed == []


def test_an_accelerator_reads_all_memories(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the same answers as the recurrence that training uses."""
    model = LantmConfig(cells=6, embedding=3, memory_width=3).build(TASK.vocabulary, jax.random.key(2))
    model = jax.tree.map(lambda weights: 3 * weights, model)
    batch = TASK.sample(jax.random.key(0), 2, 60, 64)
    plain = compiled(model, batch)
    indices = []

    def watched(model: Any, batch: Batch, index: Index | None) -> Any:
        indices.append(index)
        return infer(model, batch, index)

    monkeypatch.setattr(ANSWERING, "LONG", 100)
    monkeypatch.setattr(ANSWERING, "infer", watched)
    monkeypatch.setattr(ANSWERING, "on_cpu", lambda: False)
    assert answers(compiled(model, batch)) == answers(plain)
    assert indices == [None]
