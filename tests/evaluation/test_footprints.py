"""Where heads went: the same as the machine in NumPy says, and what follows from it."""

import dataclasses
import pathlib

import jax
import numpy as np
import oracle
import pytest
from small_texts import MACHINES

from lantm.evaluation.footprints import Footprints, find, follow
from lantm.machine import Lantm
from lantm.report.figures.canvas import save, style
from lantm.report.figures.footprints import describe, draw_footprints
from lantm.tasks import Corpus
from lantm.tasks.pieces import cut


@pytest.fixture(scope="module")
def followed(corpus: Corpus) -> tuple[Lantm, np.ndarray, Footprints]:
    machine = MACHINES["lantm-invnorm"].build(len(corpus.words), jax.random.key(0))
    words = np.asarray(cut(corpus.test, 2, 1, corpus.end).inputs[:, 0])
    return machine, words, jax.device_get(jax.jit(follow)(machine, words))


def test_against_numpy(followed) -> None:
    machine, words, steps = followed
    for column in range(words.shape[1]):
        run = oracle.run_lantm_problem(oracle.numbers(machine), machine.config, words[:, column].tolist(), len(words))
        keys = np.stack([step.keys for step in run.steps])
        np.testing.assert_allclose(steps.keys[:, column], keys, rtol=2e-3, atol=2e-4)
        for at, step in enumerate(run.steps):
            weights = np.array(list(step.read_weights[0].values()))
            assert len(weights) == steps.remembered[at]
            np.testing.assert_allclose(steps.shared[at, column, 0], weights.sum() ** 2 / np.sum(weights**2), rtol=5e-3)


def test_in_the_disk(corpus: Corpus) -> None:
    """A machine whose write head goes straight on, by steps longer than the disk is wide, stays within its rim."""
    config = dataclasses.replace(MACHINES["lantm-invnorm"], geometry="disk[radius=0.5]")
    machine = config.build(len(corpus.words), jax.random.key(0))
    steps = jax.jit(follow)(machine, np.asarray(cut(corpus.test, 2, 1, corpus.end).inputs[:60, 0]))
    assert steps.keys.shape[-1] == 2
    norms = np.linalg.norm(steps.keys, axis=-1)
    assert 0.99 < norms.max() < 1


def test_findings() -> None:
    """Reads that stay, writes that go straight on, one step a word, five remembered."""
    time = 400
    writes = np.stack([np.arange(time), np.zeros(time)], axis=-1) + 1
    reads = np.broadcast_to([0.0, 3.0], (time, 2))
    keys = np.repeat(np.stack([reads, writes], axis=1)[:, None], 3, axis=1)
    steps = Footprints(keys, np.full((time, 3, 1), 4.0), np.full(time, 5))
    found = find(MACHINES["lantm-invnorm"].build(4, jax.random.key(0)), steps)
    assert found.first_read_norm == found.last_read_norm == 3
    assert found.first_write_norm == pytest.approx(np.median(np.hypot([1, 2, 3, 4], 1)))
    assert found.last_write_norm == pytest.approx(398.5, abs=0.1)
    assert found.distance == pytest.approx(300, rel=0.02)
    assert found.spread == pytest.approx(np.sqrt(2))
    assert (found.shared_over, found.remembered) == (4, 5)
    assert "a reading is spread over 4.0 of 5 memories" in describe(found)


def test_the_figure(followed, tmp_path: pathlib.Path) -> None:
    """Every location of a column is in it, and the medians of all columns."""
    machine, words, steps = followed
    with style():
        save(lambda: draw_footprints(steps, machine.config.read_heads, "title", "of whom"), tmp_path / "keys")
        places, norms, spread = draw_footprints(steps, 1, "title", "of whom").axes
    assert (tmp_path / "keys.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "keys.svg").exists()
    marks = {marks.get_gid(): np.asarray(marks.get_offsets()) for marks in places.collections}
    np.testing.assert_allclose(marks["read"], steps.keys[:, 0, 0])
    np.testing.assert_allclose(marks["write"], steps.keys[:, 0, 1])
    lines = {line.get_gid(): line.get_ydata() for line in (*norms.lines, *spread.lines)}
    np.testing.assert_allclose(lines["write-keys"], np.median(np.linalg.norm(steps.keys[:, :, 1], axis=-1), axis=1))
    np.testing.assert_allclose(lines["a-reading-is-spread-over"], np.median(steps.shared[:, :, 0], axis=1))
    np.testing.assert_array_equal(lines["remembered"], steps.remembered)
    assert len(words) == len(lines["remembered"])
