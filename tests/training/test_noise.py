"""Noise on the controller's preactivations: in training only, new for every batch, for machines with a memory."""

import dataclasses

import jax
import numpy as np
import pytest

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.evaluation import answer
from lantm.machine import LantmConfig, LstmConfig, Noise
from lantm.paper import make_experiment
from lantm.tasks import make_task
from lantm.training import Experiment
from lantm.training.material import make_material


@pytest.fixture
def problems() -> Batch:
    return make_task("copy").sample(jax.random.key(0), 4, 5, 5)


answered = jax.jit(lambda model, problems, noise: answer(model, problems, noise=noise))


def logits(problems: Batch, noise: Noise | None) -> np.ndarray:
    model = LantmConfig(cells=6, embedding=3, memory_width=3).build(128, jax.random.key(1))
    return np.asarray(answered(model, problems, noise).logits)


def test_it_depends_on_its_key_and_grows_with_its_scale(problems: Batch) -> None:
    quiet = logits(problems, None)
    one, again, other = (logits(problems, Noise(jax.random.key(key), 0.5)) for key in (2, 2, 3))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 1e-3
    small, large = (np.abs(logits(problems, Noise(jax.random.key(2), scale)) - quiet).max() for scale in (0.001, 0.1))
    assert 0 < 20 * small < large


def test_every_problem_and_every_step_has_its_own(problems: Batch) -> None:
    """Four times the same problem: with noise, four different answers."""
    same = jax.tree.map(lambda leaf: leaf[..., :1].repeat(4, axis=-1) if leaf.ndim else leaf, problems)
    found = logits(same, Noise(jax.random.key(2), 0.5))
    for problem in range(1, 4):
        assert np.abs(found[:, problem] - found[:, 0]).max() > 1e-3


def test_batches_of_training_have_it_and_no_two_the_same(tiny: Experiment) -> None:
    noisy = dataclasses.replace(tiny, recipe=dataclasses.replace(tiny.recipe, noise=0.5))
    model = tiny.machine.build(tiny.build_task().vocabulary, jax.random.key(0))
    losses = {}
    for name, experiment in (("quiet", tiny), ("noisy", noisy)):
        lessons = make_material(experiment, experiment.build_task()).lessons
        zero, one = jax.numpy.asarray(0), jax.numpy.asarray(1)
        lesson, following = (lessons.take((), zero, one, at, None) for at in (zero, one))
        losses[name] = float(lessons.loss(model, lesson, None, zero)[0])
        assert jax.random.key_data(lesson.noise).tolist() != jax.random.key_data(following.noise).tolist()
    assert losses["quiet"] != losses["noisy"]


def test_the_baseline_has_none(problems: Batch) -> None:
    model = LstmConfig(layers=1, cells=4, embedding=3).build(128, jax.random.key(1))
    with pytest.raises(LantmError, match="lstm does not support noise"):
        answer(model, problems, noise=Noise(jax.random.key(2), 0.5))
    with pytest.raises(LantmError, match="lstm does not support noise"):
        make_experiment({"task": "copy", "model": "lstm", "noise": 0.3})


@pytest.mark.parametrize("name", ["noise", "hard_share", "curriculum"])
def test_a_text_has_none(name: str) -> None:
    with pytest.raises(LantmError, match=f"{name} applies to tasks, not to texts"):
        make_experiment({"task": "text", name: 0.3})
