"""What many tests share: one cache of compiled programs, small trained runs of a task and of a text, the commands."""

import dataclasses
import gc
import importlib.metadata
import math
import os
import pathlib
import shutil
import signal
from collections.abc import Callable, Iterator
from typing import NamedTuple

import jax
import pytest
from jaxtyping import install_import_hook

# Tests compile much and run little: code that is quick to make is better than code that is quick, and all cores are at
# work already. The last flag is known to some versions; others end the process at its name.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0 --xla_cpu_parallel_codegen_split_count=1"
    + (" --xla_cpu_use_fusion_emitters=false" if importlib.metadata.version("jaxlib").startswith("0.10.") else ""),
)

# Kernels for a CPU are compiled by a C++ compiler, for every machine anew: loops run all that is not about kernels.
os.environ["CXX"] = ""

# Every call is checked against its annotations, shapes included. An int will do for a float, as for mypy.
install_import_hook(["lantm", "examples"], "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")

from small_texts import MACHINES, write_text

from lantm import devices
from lantm.cli import main
from lantm.machine import LantmConfig, compilers
from lantm.paper.presets import preset
from lantm.tasks import Corpus, read_corpus
from lantm.trained import Trained
from lantm.training import Experiment, Progress, Recipe, Result, RunFolder, TextFiles, train


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


@pytest.fixture
def c_compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A C++ compiler, if this machine has one, told to be quick."""
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("CXXFLAGS", "-O1")
    if compilers.c_compiler() is None:
        pytest.skip("needs a C++ compiler")
    for known in (compilers.no_c_compiler, compilers.missing_compiler):
        known.cache_clear()
    yield
    for known in (compilers.no_c_compiler, compilers.missing_compiler):
        known.cache_clear()


@pytest.fixture(scope="session", autouse=True)
def on_the_path(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Commands advise what can be typed: as where `lantm` is on the path, however the tests were started."""
    folder = tmp_path_factory.mktemp("bin")
    (folder / "lantm").touch(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", str(folder), prepend=os.pathsep)
        yield


@pytest.fixture(scope="module", autouse=True)
def programs_are_let_go() -> Iterator[None]:
    """Every compiled program takes some of the memory maps that a process may have, 65,530 on most systems."""
    yield
    maps = pathlib.Path("/proc/self/maps")
    if maps.exists() and maps.read_bytes().count(b"\n") > 25_000:
        devices.compiled_once.cache_clear()
        jax.clear_caches()
        gc.collect()


def pytest_configure() -> None:
    """Tests that a script started in the background ignore Ctrl-C, and so would the commands that they start."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Tracing makes many objects: the collector goes over them seldom, and never over those of imported modules."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 10, 5)


TINY_RECIPE = Recipe(learning_rate=0.01, epochs=6, batches=2, batch_size=4, test_every=2, test_batches=2)
TINY_MACHINE = LantmConfig(cells=6, embedding=3, memory_width=3)


class Run(NamedTuple):
    """A finished training: not to be changed."""

    experiment: Experiment
    folder: RunFolder
    result: Result
    machines: Trained
    told: list[Progress]
    """What a watcher was told."""


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
    return train_whole(tiny, tmp_path_factory.mktemp("trained") / "run")


def train_whole(experiment: Experiment, path: pathlib.Path) -> Run:
    folder = RunFolder.create(path, experiment, {})
    told: list[Progress] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("lantm.training.loop._QUICK", math.inf)  # a checkpoint after every test, however slow the disk
        result = train(experiment, folder, watch=told.append)
    return Run(experiment, folder, result, Trained.of_result(result, folder), told)


@pytest.fixture(scope="session")
def text_folder(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A small text in three files: not to be changed."""
    folder = tmp_path_factory.mktemp("text")
    write_text(folder)
    return folder


@pytest.fixture(scope="session")
def corpus(text_folder: pathlib.Path) -> Corpus:
    """The same as numbers of words."""
    return read_corpus(text_folder)


@pytest.fixture(scope="session")
def text_experiment(text_folder: pathlib.Path) -> Callable[..., Experiment]:
    """Makes an experiment with a model on the small text, by the paper's recipe with changes."""

    def make(model: str = "lantm-invnorm", seeds: int = 2, **changes: object) -> Experiment:
        usual = preset("text", model)
        settings = {"learning_rate": 0.1, "epochs": 3, "batch_size": 5, "steps": 4} | changes
        return dataclasses.replace(
            usual,
            machine=MACHINES[model],
            recipe=dataclasses.replace(usual.recipe, **settings),
            seeds=seeds,
            first_seed=3,
            text=TextFiles.of(text_folder),
        )

    return make


@pytest.fixture(scope="session")
def trained_text(text_experiment: Callable[..., Experiment], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Two seeds, trained on the small text without interruption."""
    return train_whole(text_experiment(), tmp_path_factory.mktemp("trained-text") / "run")


@pytest.fixture
def copy_of_run(trained: Run, tmp_path: pathlib.Path) -> Callable[[], RunFolder]:
    """Makes a copy of it, to be damaged."""

    def copy() -> RunFolder:
        return RunFolder(shutil.copytree(trained.folder.path, tmp_path / "copy"))

    return copy


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
