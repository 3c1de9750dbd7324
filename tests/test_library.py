"""`import lantm`: its names, training from Python, and loading what was trained."""

import ast
import importlib
import inspect
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array, Int

import lantm
from examples import every_second, helix, own_weighting, train_in_ten_lines
from lantm import library
from lantm.tasks.base import Count

# As the training that many tests share, whose programs are compiled already.
SMALL = {
    **{"cells": 6, "embedding": 3, "memory_width": 3, "learning_rate": 0.01, "seeds": 4},
    **{"epochs": 4, "batches": 2, "batch_size": 4, "test_every": 2, "test_batches": 2, "lengths": (2, 4)},
}


# Training.


@pytest.fixture(scope="module")
def run() -> lantm.Trained:
    """Trained without a folder."""
    return lantm.train("copy", **SMALL)


def test_training_without_a_folder(run: lantm.Trained) -> None:
    assert (run.epoch, run.complete, run.folder, run.name) == (4, True, None, "copy-lantm-invnorm")
    assert run.experiment.lengths == (2, 4)
    history = run.history
    assert history is not None
    assert history.epochs.tolist() == [1, 2, 3, 4]
    assert history.loss.shape == history.rate.shape == history.gradient_norm.shape == (4, 4)
    assert (history.loss[-1] < history.loss[0]).all()
    assert history.tests["2x"].epochs.tolist() == [2, 4]
    assert history.tests["1x"].figures["fine"].shape == (2, 4)
    assert run.trained["jax"]
    scores = run.scores(scales=(1, 2), problems=8)
    assert isinstance(scores["2x"], lantm.Scores)
    assert scores["2x"].coarse.shape == (4,)
    assert isinstance(run.best.solve("abc"), lantm.Solution)
    assert isinstance(run.best.trace("abc"), lantm.Recording)
    assert run.best.merits[0] == run.merits.max()


def test_a_callback_per_epoch() -> None:
    told: list[lantm.Progress] = []
    lantm.train("copy", on_epoch=told.append, **SMALL)
    assert [progress.epoch for progress in told] == [1, 2, 3, 4]
    assert [progress.tested for progress in told] == [False, True, False, True]
    assert all(progress.loss.shape == (4,) for progress in told)


def test_training_ends_early_when_the_callback_says_so(run: lantm.Trained) -> None:
    ended = lantm.train("copy", on_epoch=lambda progress: progress.loss.max() < np.inf and progress.epoch == 3, **SMALL)
    assert (ended.epoch, ended.complete) == (3, False)
    assert ended.history is not None
    assert run.history is not None
    np.testing.assert_array_equal(ended.history.loss, run.history.loss[:3])
    assert ended.best.solve("abc").problem == "abc", "what there is can be used"


@pytest.mark.parametrize("answer", [True, np.bool_(True), jnp.array(True)])
def test_arrays_say_true_as_well(answer: object) -> None:
    assert library._is_true(answer)


@pytest.mark.parametrize("answer", [False, np.bool_(False), None, "yes", 1, [True]])
def test_what_a_callback_returns_by_chance_ends_nothing(answer: object) -> None:
    assert not library._is_true(answer)


INTERRUPTED = """
import lantm

run = lantm.train("copy", on_epoch=lambda progress: print(progress.epoch, flush=True), **{small!r})
print(run.complete, run.epoch, run.history.loss.shape, len(run.best.solve("abc").symbols), sep="|")
"""


def test_ctrl_c_returns_what_there_is() -> None:
    """Also without a folder; the message is for people, and nothing is raised."""
    program = INTERRUPTED.format(small=SMALL | {"epochs": 100_000, "test_every": 5})
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if line == "3\n":
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate()
    assert process.returncode == 0, err
    assert err == "\nfinishing the current step (once more to stop at once)\n"
    complete, epoch, shape, symbols = out.splitlines()[-1].split("|")
    assert (complete, symbols) == ("False", "4")
    assert 3 <= int(epoch) < 100_000
    assert shape == f"({epoch}, 4)"


def test_with_a_folder_and_resumed(run: lantm.Trained, tmp_path: pathlib.Path) -> None:
    """An early end is saved, and continued to the same weights as without an interruption."""
    settings = SMALL | {"folder": tmp_path / "run"}
    ended = lantm.train("copy", on_epoch=lambda progress: progress.epoch == 2, **settings)
    assert (ended.complete, ended.name) == (False, str(tmp_path / "run"))
    resumed = lantm.train("copy", resume=True, **settings)
    assert (resumed.complete, resumed.epoch) == (True, 4)
    for one, other in ((resumed, run), (lantm.load(tmp_path / "run"), run)):
        assert one.history is not None
        assert other.history is not None
        np.testing.assert_array_equal(one.history.loss, other.history.loss)
        np.testing.assert_array_equal(one.weights("last").readout.weight, other.weights("last").readout.weight)
    with pytest.raises(lantm.LantmError, match="holds a run already"):
        lantm.train("copy", **settings)
    with pytest.raises(lantm.LantmError, match="holds a training with other settings"):
        lantm.train("copy", resume=True, **settings | {"cells": 7})
    new = SMALL | {"folder": str(tmp_path / "new"), "epochs": 1}
    assert lantm.train("copy", resume=True, **new).complete, "there is nothing to continue: it begins"


class Backwards(lantm.SequenceTask):
    """A task that no file has, with lengths that cannot be changed."""

    name: ClassVar[str] = "backwards"

    @property
    def train_lengths(self) -> lantm.Lengths:
        return lantm.Lengths(2, 3)

    def input_size(self, length: Count) -> Count:
        return length

    def output_size(self, length: Count) -> Count:
        return length

    def output(self, symbols: Int[Array, " input"], length: Int[Array, ""]) -> Int[Array, " output"]:
        return jnp.take(symbols, length - 1 - jnp.arange(symbols.size), mode="clip")

    def expected(self, text: str) -> str:
        return text[::-1]


@pytest.fixture
def asked_for(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[lantm.Experiment, lantm.Task]]:
    """What would be trained: the experiment and the task."""

    class AskedForError(Exception):
        pass

    def stop(experiment: lantm.Experiment, folder: object, source: lantm.Task, *_: object, **__: object) -> None:
        raise AskedForError(experiment, source)

    def ask(task: str | lantm.Task, **settings: Any) -> tuple[lantm.Experiment, lantm.Task]:
        monkeypatch.setattr(library, "train_experiment", stop)
        with pytest.raises(AskedForError) as asked:
            lantm.train(task, **settings)
        experiment, source = asked.value.args
        assert lantm.Experiment.from_json(experiment.to_json(), trust=True) == experiment
        return experiment, source

    return ask


def test_things_of_ones_own() -> None:
    """A task, a geometry and a weighting as objects, trained together; by command they are trained as names."""
    task = every_second.EverySecond(train_lengths=lantm.Lengths(2, 4))
    settings = {**SMALL, "epochs": 1, "test_batches": 1, "seeds": 1}
    settings.pop("lengths")
    run = lantm.train(task, geometry=helix.Helix(), weighting=own_weighting.Cauchy(width=0.5), **settings)
    assert run.experiment.task == "examples.every_second:EverySecond"
    assert run.source.train_lengths == lantm.Lengths(2, 4)
    assert run.experiment.source() == run.source, "as its name makes it again"
    assert run.geometry == helix.Helix()
    assert run.experiment.machine.weighting == "examples.own_weighting:Cauchy[width=0.5]"
    assert run.experiment.machine.access.weighting == own_weighting.Cauchy(width=0.5)
    assert run.solve("abcde").expected == "ace"


def test_lengths_of_tasks(asked_for) -> None:
    """Those of the object, or those that are asked for; some tasks have one choice only."""
    task = every_second.EverySecond(train_lengths=lantm.Lengths(3, 5))
    assert asked_for(task)[1] == task
    experiment, source = asked_for(task, lengths=(2, 4))
    assert (experiment.lengths, source.train_lengths) == ((2, 4), lantm.Lengths(2, 4))
    experiment, source = asked_for(Backwards())
    assert (experiment.lengths, source.train_lengths) == (None, lantm.Lengths(2, 3))
    with pytest.raises(lantm.LantmError, match="fixed lengths"):
        lantm.train(Backwards(), lengths=(2, 4))


@pytest.mark.parametrize(
    "geometry", [lantm.Translation(3), lantm.Disk(radius=8.0), lantm.Hyperbolic(3), lantm.RigidMotion(), "rotation"]
)
def test_a_geometry_as_an_object(asked_for, geometry: Any) -> None:
    experiment, _ = asked_for("copy", geometry=geometry)
    wanted = lantm.make_geometry(geometry) if isinstance(geometry, str) else geometry
    assert experiment.machine.access.geometry == wanted


@pytest.mark.parametrize(
    ("model", "weighting"),
    [("lantm-invnorm", lantm.InvNorm(power=2.0)), ("lantm-softmax", lantm.SoftMax()), ("lantm-invnorm", "invnorm")],
)
def test_a_weighting_as_an_object(asked_for, model: str, weighting: Any) -> None:
    experiment, _ = asked_for("copy", model=model, weighting=weighting)
    wanted = lantm.InvNorm() if isinstance(weighting, str) else weighting
    assert experiment.machine.access.weighting == wanted
    assert experiment.model == model


def test_a_text_is_a_folder(asked_for, text_folder: pathlib.Path) -> None:
    experiment, source = asked_for("text", data=text_folder)
    assert isinstance(source, lantm.Text)
    assert source.corpus.digest == lantm.read_corpus(text_folder).digest == experiment.text.digest


@pytest.mark.thorough
def test_a_text(text_folder: pathlib.Path) -> None:
    small = {"cells": 6, "embedding": 4, "memory_width": 3, "memory_limit": 9, "memory_drop": 5, "weight_range": None}
    run = lantm.train("text", data=text_folder, epochs=1, seeds=2, batch_size=5, steps=4, learning_rate=0.1, **small)
    assert isinstance(run.source, lantm.Text)
    assert run.source.corpus.digest == lantm.read_corpus(text_folder).digest
    assert run.history is not None
    assert run.history.tests["validation"].figures["perplexity"].shape == (1, 2)
    scores = run.scores()
    assert set(scores) == {"validation", "test"}
    assert isinstance(scores["test"], lantm.Perplexity)


def test_an_experiment_is_trained_as_it_is(tiny: lantm.Experiment, trained) -> None:
    run = lantm.train(tiny)
    assert run.experiment == tiny
    np.testing.assert_array_equal(run.merits, trained.machines.merits)
    with pytest.raises(lantm.LantmError, match="already has all settings: leave out cells, seeds"):
        lantm.train(tiny, cells=5, seeds=2)


@pytest.mark.parametrize(
    ("task", "settings", "reason"),
    [
        ("cpoy", {}, "did you mean 'copy'"),
        ("copy", {"recipe": "cake"}, "unknown recipe 'cake'"),
        ("copy", {"sedes": 3}, "has no setting 'sedes'"),
        ("copy", {"seeds": 0}, "seeds is 0"),
        ("copy", {"weighting": lantm.SoftMax()}, "choose the model lantm-softmax"),
        ("text", {}, "a text is needed"),
    ],
)
def test_mistakes(task: str, settings: dict[str, Any], reason: str) -> None:
    with pytest.raises(lantm.LantmError, match=reason):
        lantm.train(task, **settings)


def test_values_of_a_wrong_kind_are_refused_in_a_line() -> None:
    """In a process of its own: here the annotations would be checked before."""
    tries = {
        "machine.solve(423)": "copy takes problems as text, not 423: put it into quotes",
        "machine.trace(423)": "copy takes problems as text, not 423: put it into quotes",
        "machine.scores(scales=2)": "scales is 2: give a sequence of whole numbers, as in scales=(4,)",
        "machine.scores(lengths=4)": "lengths is 4: give a sequence of whole numbers, as in lengths=(4,)",
        "machine.scores(lengths='4')": "lengths is '4': give a sequence of whole numbers, as in lengths=(4,)",
    }
    script = ["import lantm", "machine = lantm.load('copy')"]
    for wrong in tries:
        script += ["try:", f"    {wrong}", "except lantm.LantmError as error:", "    print(error)"]
    said = subprocess.run([sys.executable, "-c", "\n".join(script)], capture_output=True, text=True, check=True)
    assert said.stdout.splitlines() == list(tries.values())


# Loading.


def test_one_object_wherever_it_comes_from(trained, tmp_path: pathlib.Path) -> None:
    """A name of the zoo, a task's name, a file and a run folder."""
    file = trained.machines.seed(2).save(tmp_path / "mine.safetensors")
    loaded = [lantm.load(name) for name in ("copy-lantm-invnorm", "copy", file, str(file), trained.folder.path)]
    assert {type(one) for one in loaded} == {lantm.Trained}
    assert [len(one.seeds) for one in loaded] == [1, 1, 1, 1, 4]
    assert loaded[0].name == loaded[1].name == "copy-lantm-invnorm"
    assert loaded[2].name == loaded[3].name == "mine"
    of_file, of_run = loaded[2].solve("abc"), loaded[4].solve("abc", seed=2)
    assert of_file == of_run
    for one in loaded:
        assert isinstance(one.solve("abc"), lantm.Solution)
        assert isinstance(one.trace("abc"), lantm.Recording)
    with pytest.raises(lantm.LantmError, match="is not a run folder"):
        lantm.load("nowhere")


# Names.


def test_every_name_is_there_and_says_what_it_is() -> None:
    assert lantm.__all__ == ["__version__", *sorted(set(lantm.__all__) - {"__version__"})]
    for name in lantm.__all__:
        found = getattr(lantm, name)
        if name != "__version__":
            assert inspect.getdoc(found), name
            assert found.__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Machine'"):
        lantm.Machine  # noqa: B018


def test_the_docstring_is_the_table_of_contents() -> None:
    """Every name is listed, in lines of names and what they are for, and nothing else is."""
    assert lantm.__doc__
    entries = [line.split("  ")[0] for line in re.findall(r"^    (.*)", lantm.__doc__, re.MULTILINE)]
    listed = [name for entry in entries for name in entry.split(", ")]
    assert sorted(listed) == sorted(set(lantm.__all__) - {"__version__"})
    assert set(lantm.__all__) <= set(dir(lantm))


def test_types_are_those_of_the_names() -> None:
    """What type checkers read is what is imported when a name is used."""
    tree = ast.parse(inspect.getsource(lantm))
    guarded = next(node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    found = []
    for node in guarded.body:
        assert isinstance(node, ast.ImportFrom)
        (alias,) = node.names
        assert alias.asname == alias.name, "exported under its own name"
        found.append((node.module, alias.name))
    assert sorted(found) == sorted((module, name) for module, names in lantm._WHERE.items() for name in names)
    assert all(hasattr(importlib.import_module(str(module)), name) for module, name in found)


@pytest.mark.parametrize("program", ["import lantm", "from lantm.cli import main; main(['--help'])"])
def test_what_is_not_used_is_not_imported(program: str) -> None:
    """The command line starts at once."""
    ask = f"import sys; {program}; print('jax' in sys.modules)"
    ended = subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True, env={**os.environ})
    assert ended.stdout.splitlines()[-1] == "False"


# Examples.


def test_training_in_ten_lines(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Of machines of a size that is compiled already."""
    train = lantm.train
    monkeypatch.setattr(lantm, "train", lambda task, **settings: train(task, **settings | SMALL | {"recipe": "paper"}))
    run = train_in_ten_lines.main(epochs=4)
    out = capsys.readouterr().out.splitlines()
    assert run.complete
    assert out[0].startswith("epoch 2: loss [")
    assert [line.split()[0] for line in out[2:4]] == ["1x", "2x"]
    assert out[-1] == f"hello, world -> {run.best.solve('hello, world').answer}"
    assert _lines(train_in_ten_lines.main) <= 10


def _lines(function: Callable[..., object]) -> int:
    return len(inspect.getsource(function).splitlines())
