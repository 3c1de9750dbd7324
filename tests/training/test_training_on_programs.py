"""Training on programs: the validation rule at work, resuming, recordings, and seeds that run in step."""

import dataclasses
import pathlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from parrot import train_epoch

from lantm.machine import LantmConfig
from lantm.tasks import Batch, Programs
from lantm.tasks.grammar import understand
from lantm.training import Experiment, Recipe, RunFolder, load_learners, train
from lantm.training.learner import begin
from lantm.training.material import ProblemMaterial
from lantm.training.recordings import load_recordings

pytestmark = pytest.mark.thorough

RECIPE = Recipe(
    learning_rate=0.05,  # so high that tests go up and down
    schedule="validation",
    plateau_start=0,
    plateau_factor=0.8,
    validation_memory=2,
    epochs=10,
    batches=2,
    batch_size=4,
    mixed_lengths=True,
    curriculum=0.2,
    curriculum_focus=0.5,
    test_every=1,
    test_batches=2,
    test_scales=(1,),
)
EXPERIMENT = Experiment(
    "programs",
    "lantm-invnorm",
    LantmConfig(cells=6, embedding=3, memory_width=3),
    RECIPE,
    seeds=2,
    lengths=(1, 2),
    recorded_seeds=1,
)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = RunFolder.create(tmp_path_factory.mktemp("programs") / "run", EXPERIMENT, {})
    assert train(EXPERIMENT, folder).complete
    return folder


def test_the_rate_falls_with_the_tests(run: RunFolder) -> None:
    rows = list(run.metrics())
    for seed in range(2):
        rates = [row["rate"] for row in rows if row["seed"] == seed and "rate" in row]
        tests = [row["fine"] for row in rows if row["seed"] == seed and "test" in row]
        expected, rate = [], 0.05
        for epoch, fine in enumerate(tests, start=1):
            expected.append(rate)
            before = tests[max(0, epoch - 3) : epoch - 1]
            if epoch >= 2 and before and fine < max(before):
                rate *= 0.8
        np.testing.assert_allclose(rates, expected, rtol=1e-5)
        assert rates[-1] < 0.05, "it fell"


def test_a_resumed_run_ends_in_the_same_weights_and_rate(run: RunFolder, tmp_path: pathlib.Path) -> None:
    folder = RunFolder.create(tmp_path / "run", EXPERIMENT, {})
    stops = iter([False] * 5 + [True])
    assert not train(EXPERIMENT, folder, stop=lambda: next(stops)).complete
    assert train(EXPERIMENT, folder, resume=True).complete
    whole, resumed = (load_learners(one, EXPERIMENT, EXPERIMENT.source())[1] for one in (run, folder))
    for one, other in zip(jax.tree.leaves(whole), jax.tree.leaves(resumed), strict=True):
        np.testing.assert_array_equal(one, other)


def test_recordings_are_cut_to_their_own_programs(run: RunFolder) -> None:
    task = Programs()
    sizes = set()
    for _, recording in load_recordings(run.recordings_path, EXPERIMENT, EXPERIMENT.source(), 0):
        text = "".join(task.symbol_name(symbol) for symbol in recording.inputs[1 : recording.answer_start].tolist())
        program = understand(text)
        assert task.decode_answer(recording.expected) == str(program.answer)
        assert len(recording.expected) == len(recording.predicted) == len(str(program.answer)) + 1
        sizes.add(len(text))
        heads = recording.heads
        assert heads is not None
        assert len(heads.keys) == len(heads.seen) == recording.steps
        assert len(heads.memories.strengths) == 1 + recording.answer_start == heads.seen.max()
        np.testing.assert_array_equal(heads.memories.written_at, np.arange(-1, recording.answer_start))
    assert len(sizes) > 2


def loops(jaxpr: Any) -> Iterator[Any]:
    """The conditions of all loops in a program."""
    for equation in jaxpr.eqns:
        if equation.primitive.name == "while":
            yield equation.params["cond_jaxpr"].jaxpr
        for inside in jax.tree.leaves(list(equation.params.values()), is_leaf=lambda one: hasattr(one, "eqns")):
            inside = getattr(inside, "jaxpr", inside)
            if hasattr(inside, "eqns"):
                yield from loops(inside)


def seeds_wait_for_each_other(task: Programs) -> bool:
    """Whether some loop of an epoch ends when the last of its seeds is done, and not for all at once."""

    material = ProblemMaterial(EXPERIMENT, task)

    def epoch(seed: Any) -> Any:
        learner = begin(EXPERIMENT.machine, material.lessons, task.vocabulary, seed)
        return train_epoch(RECIPE, material, learner, jnp.asarray(1))[1]

    conditions = loops(jax.make_jaxpr(jax.vmap(epoch))(jnp.arange(3)).jaxpr)
    found = [condition.outvars[0].aval.shape != () for condition in conditions]
    assert len(found) >= 4
    return any(found)


def test_seeds_run_in_step(monkeypatch: pytest.MonkeyPatch) -> None:
    task = EXPERIMENT.build_task()
    assert isinstance(task, Programs)
    assert not seeds_wait_for_each_other(task)
    sample: Callable[..., Batch] = Programs.sample

    def without_turn(*arguments: Any) -> Batch:
        return dataclasses.replace(sample(*arguments), turn=None)

    monkeypatch.setattr(Programs, "sample", without_turn)
    assert not seeds_wait_for_each_other(task), "whose inputs end at different steps: they go by the longest"
    monkeypatch.setattr("lantm.machine.model.in_step", lambda steps: steps)
    assert seeds_wait_for_each_other(task), "they would, if each ran for as many steps as its own problems have"
