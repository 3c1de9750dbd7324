"""What many tests share: one cache of compiled programs, a small trained run, a small text, the command line."""

import dataclasses
import importlib.metadata
import os
import pathlib
import random
import shutil
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import pytest

# Tests compile much and run little: code that is quick to make is better than code that is quick.
# The second flag is known to some versions; others end the process at its name.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0"
    + (" --xla_cpu_use_fusion_emitters=false" if importlib.metadata.version("jaxlib").startswith("0.10.") else ""),
)

from small_machines import MACHINES

from lantm.cli import main
from lantm.machine import LantmConfig
from lantm.paper import preset
from lantm.tasks import Corpus, read_corpus
from lantm.trained import Trained, load_run
from lantm.training import Experiment, Recipe, Result, RunFolder, TextFiles, train


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Compiling takes most of the time: a program is compiled once, also for the processes that tests start.

    And for all workers of pytest-xdist. One may find what another has not yet written to its end: then it is
    compiled again, and the warning about it is passed over (pyproject.toml).
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "compiled"
    folder.mkdir(exist_ok=True)
    settings = {
        "jax_compilation_cache_dir": str(folder),
        "jax_persistent_cache_min_compile_time_secs": 0.2,
        "jax_persistent_cache_min_entry_size_bytes": 0,
    }
    before = {name: getattr(jax.config, name) for name in settings}
    for name, value in settings.items():
        jax.config.update(name, value)
        os.environ[name.upper()] = str(value)
    jax.devices()  # from here on this process has one device, whatever a command asks for
    yield
    for name, value in before.items():
        jax.config.update(name, value)
        del os.environ[name.upper()]


TINY_RECIPE = Recipe(learning_rate=0.01, epochs=6, batches=2, batch_size=4, test_every=2, test_batches=2)
TINY_MACHINE = LantmConfig(cells=6, embedding=3, memory_width=3)


class Run(NamedTuple):
    """A finished training: not to be changed."""

    experiment: Experiment
    folder: RunFolder
    result: Result
    machines: Trained


@pytest.fixture(scope="session")
def tiny() -> Experiment:
    """The smallest training that has all parts: four seeds, six epochs, three tests."""
    return Experiment("copy", "lantm-invnorm", TINY_MACHINE, TINY_RECIPE, seeds=4, lengths=(2, 4))


@pytest.fixture(scope="session")
def tiny_flags() -> list[str]:
    """The same for the command line."""
    words = "--cells 6 --embedding 3 --memory-width 3 --learning-rate 0.01 --epochs 6 --batches 2 --batch-size 4"
    return f"copy {words} --test-every 2 --test-batches 2 --seeds 4 --lengths 2 4".split()


@pytest.fixture(scope="session")
def trained(tiny: Experiment, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """It, trained without interruption."""
    folder = RunFolder.create(tmp_path_factory.mktemp("trained") / "run", tiny, {})
    return Run(tiny, folder, train(tiny, folder), load_run(folder))


@pytest.fixture
def copy_of_run(trained: Run, tmp_path: pathlib.Path) -> Callable[[], RunFolder]:
    """Makes a copy of it, to be damaged."""

    def copy() -> RunFolder:
        return RunFolder(shutil.copytree(trained.folder.path, tmp_path / "copy"))

    return copy


SUBJECTS, VERBS, OBJECTS = ("the", "a", "one"), ("reads", "writes", "keeps", "loses"), ("key", "memory", "step")


def sentences(count: int, seed: int) -> str:
    """Lines in which the words say something about the next: there is something to learn."""
    draw = random.Random(seed)
    lines = []
    for _ in range(count):
        noun = draw.choice(OBJECTS)
        lines.append(f" {draw.choice(SUBJECTS)} head {draw.choice(VERBS)} its {noun} {noun} \n")
    return "".join(lines)


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A small text in three files: not to be changed."""
    folder = tmp_path_factory.mktemp("text")
    for part, count in (("train", 60), ("valid", 15), ("test", 11)):
        (folder / f"tiny.{part}.txt").write_text(sentences(count, seed=count))
    return folder


@pytest.fixture(scope="session")
def corpus(text_folder: pathlib.Path) -> Corpus:
    return read_corpus(text_folder)


@pytest.fixture(scope="session")
def language(text_folder: pathlib.Path) -> Callable[..., Experiment]:
    """Makes an experiment on the small text, with a model and changes to the recipe."""
    usual = {"learning_rate": 0.1, "epochs": 3, "batch_size": 5, "steps": 4}

    def make(model: str = "lantm-invnorm", seeds: int = 2, **changes: object) -> Experiment:
        recipe = dataclasses.replace(preset("text", model).recipe, **usual | changes)  # type: ignore[arg-type]
        files = TextFiles.of(text_folder)
        return Experiment("text", model, MACHINES[model], recipe, seeds=seeds, first_seed=3, text=files)  # type: ignore[arg-type]

    return make


class Said(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


@pytest.fixture
def lantm(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Said]:
    """Runs a command, as on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: object) -> Said:
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        return Said(status, *capsys.readouterr())

    return run
