"""Whole trainings on a small text: they learn, and stopped and resumed they end the same."""

import json
import logging
import math
import pathlib
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from lantm.language import Corpus, LanguageExperiment, LanguageProgress, load_learners, loop, open_corpus, train
from lantm.language.pieces import cut
from lantm.seeds import device_mesh
from lantm.training.checkpoint import named_arrays

from lantm.errors import LantmError
from lantm.training import RunFolder

Make = Callable[..., LanguageExperiment]


@pytest.fixture(scope="module")
def finished(language: Make, corpus: Corpus, tmp_path_factory: pytest.TempPathFactory):
    experiment = language()
    folder = RunFolder.create(tmp_path_factory.mktemp("language") / "run", experiment, {})
    seen: list[LanguageProgress] = []
    return experiment, folder, train(experiment, corpus, folder, watch=seen.append), seen


def test_it_learns(finished, corpus: Corpus) -> None:
    _, folder, result, _ = finished
    assert result.complete
    assert result.epoch == 3
    rows = list(folder.metrics())
    assert [(row["epoch"], row["seed"]) for row in rows] == [(e, s) for e in (1, 2, 3) for s in (3, 4)]
    assert rows[-1]["validation_perplexity"] < rows[0]["validation_perplexity"] < len(corpus.words)
    assert rows[-1]["perplexity"] < 5 < rows[0]["perplexity"]
    # The best weights are those of the best epoch, and the test is theirs.
    best = [min(row["validation_perplexity"] for row in rows if row["seed"] == seed) for seed in (3, 4)]
    np.testing.assert_allclose(result.validation.values, best, rtol=1e-6)
    assert result.validation.tokens == len(corpus.valid)
    assert result.test.tokens == len(corpus.test)
    assert (result.test.values < 8).all()
    assert list(folder.path.glob("tensorboard/seed-3/*"))


def test_watchers_are_told(finished) -> None:
    *_, seen = finished
    ended = [progress for progress in seen if progress.validation is not None]
    assert [progress.epoch for progress in ended] == [1, 2, 3]
    assert all(progress.piece == progress.pieces == 21 for progress in ended)
    assert all(progress.words_per_second > 0 for progress in seen)
    assert {progress.epoch for progress in seen} == {1, 2, 3}
    assert ended[0].perplexity.shape == (2,)


def test_looking_at_a_training_compiles_nothing(
    language: Make, corpus: Corpus, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program compiled for every look would be kept: in an hour of training that takes gigabytes."""
    monkeypatch.setattr(loop, "_SECONDS_A_CALL", 0.0)  # a piece a call: as many looks as there are pieces
    compiled: list[str] = []
    looks: list[int] = []
    with jax.log_compiles():
        logger = logging.getLogger("jax._src.interpreters.pxla")
        handler = logging.Handler()
        handler.emit = lambda record: compiled.append(record.getMessage())  # type: ignore[method-assign]
        logger.addHandler(handler)
        try:
            experiment = language(epochs=2)
            folder = RunFolder.create(tmp_path / "run", experiment, {})
            train(experiment, corpus, folder, watch=lambda progress: looks.append(len(compiled)))
        finally:
            logger.removeHandler(handler)
    assert len(looks) > 30
    assert looks[0] > 0, "what is compiled is seen"
    assert len(set(looks)) < 6, "some of it at the first look and at the end of the first epoch, then nothing"


def test_epochs_are_whole(finished, corpus: Corpus) -> None:
    """Every epoch reads the whole text, from its first piece on, as if by one call."""
    experiment, folder, *_ = finished
    recipe, mesh = experiment.recipe, device_mesh(experiment.seeds)
    text = cut(corpus.train, recipe.batch_size, recipe.steps, corpus.end)
    learners = loop.start(experiment, len(corpus.words), text.number, mesh)
    for epoch in (1, 2, 3):
        learners = loop._reading(recipe.clip, mesh)(learners, text, 0, text.number)
        losses = [np.log(row["validation_perplexity"]) for row in folder.metrics() if row["epoch"] == epoch]
        learners = loop._closing(recipe.rate_factor, mesh)((learners, jnp.asarray(losses, jnp.float32)), epoch)
    expected, found = named_arrays(learners.model), named_arrays(load_learners(folder, experiment, corpus)[1].model)
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)


@pytest.mark.parametrize("damaged", [False, True], ids=["from the newest checkpoint", "from the one before it"])
def test_stopped_and_resumed(
    finished, corpus: Corpus, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, damaged: bool
) -> None:
    """In the middle of the second epoch; the checkpoint before that is from the middle of the first."""
    experiment, reference, *_ = finished
    monkeypatch.setattr(loop._Pace, "__exit__", lambda self, *_: setattr(self, "pieces", 8))
    monkeypatch.setattr(loop, "_SECONDS_A_CHECKPOINT", 0.0 if damaged else 60.0)
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    reached: list[tuple[int, int]] = [(0, 0)]
    stopped = train(
        experiment,
        corpus,
        folder,
        watch=lambda progress: reached.append((progress.epoch, progress.piece)),
        stop=lambda: reached[-1] == (2, 8),
    )
    assert (stopped.complete, stopped.epoch, stopped.test) == (False, 1, None)
    if damaged:
        newest = folder.path / "checkpoints" / "epoch-000001.safetensors"
        newest.write_bytes(newest.read_bytes()[:-7])
    warnings: list[str] = []
    result = train(experiment, corpus, folder, resume=True, warn=warnings.append)
    assert len(warnings) == damaged
    assert result.complete
    ours, theirs = (named_arrays(load_learners(one, experiment, corpus)[1]) for one in (folder, reference))
    for name, array in theirs.items():
        np.testing.assert_array_equal(ours[name], array, f"{name} bit for bit")
    assert (folder.path / "metrics.jsonl").read_bytes() == (reference.path / "metrics.jsonl").read_bytes()
    np.testing.assert_array_equal(result.test.losses, finished[2].test.losses)


def test_a_run_that_was_killed_before_its_first_checkpoint(finished, corpus: Corpus, tmp_path: pathlib.Path) -> None:
    experiment, reference, *_ = finished
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    assert train(experiment, corpus, folder, stop=lambda: True).epoch == 0
    assert not folder.has_checkpoint()
    train(experiment, corpus, folder, resume=True)
    assert (folder.path / "metrics.jsonl").read_bytes() == (reference.path / "metrics.jsonl").read_bytes()


def test_seeds_do_not_touch_each_other(finished, language: Make, corpus: Corpus, tmp_path: pathlib.Path) -> None:
    experiment = LanguageExperiment(**vars(language()) | {"first_seed": 4})
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    others = train(experiment, corpus, folder)
    assert others.test.losses[0] == finished[2].test.losses[1]
    assert others.test.losses[1] != finished[2].test.losses[0]


def test_another_text_is_noticed(
    language: Make, corpus: Corpus, text_folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    experiment = language()
    assert open_corpus(experiment).digest == corpus.digest
    for path in text_folder.iterdir():
        (tmp_path / path.name).write_text(path.read_text())
    assert open_corpus(experiment, tmp_path).digest == corpus.digest
    (tmp_path / "tiny.valid.txt").write_text("the head\n")
    with pytest.raises(LantmError, match="is not the one that was trained on"):
        open_corpus(experiment, tmp_path)


def test_a_run_that_diverges_says_so(language: Make, corpus: Corpus, tmp_path: pathlib.Path) -> None:
    """Numbers that are none are null in the metrics, and training goes on to its end."""
    experiment = language(epochs=2, learning_rate=1e38)
    folder = RunFolder.create(tmp_path / "run", experiment, {})
    result = train(experiment, corpus, folder)
    rows = [json.loads(line) for line in (folder.path / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["skipped"] > 0
    assert rows[-1]["validation_perplexity"] is None or rows[-1]["validation_perplexity"] > 1e6
    assert not any(isinstance(value, float) and math.isnan(value) for row in rows for value in row.values())
    assert result.complete
