"""What opening a file from somebody else cannot do (docs/security.md)."""

import json
import pathlib
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import safetensors.numpy

import lantm as package
from lantm import weight_files
from lantm.cli import COMMANDS
from lantm.errors import LantmError
from lantm.grids import GridFolder, Sweep
from lantm.training import RunFolder

EVIL = """
import pathlib
from lantm.geometry import Translation
from lantm.machine.weighting import InvNorm
from lantm.tasks import Copy
pathlib.Path(__file__).with_name("executed").touch()
class Task(Copy): pass
class Geometry(Translation): pass
class Weighting(InvNorm): pass
"""
NAMES = {"task": "stranger:Task", "geometry": "stranger:Geometry", "weighting": "stranger:Weighting"}


@pytest.fixture
def executed(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], bool]]:
    """Whether the module `stranger`, in the current folder, was imported."""
    folder = tmp_path / "here"
    folder.mkdir()
    (folder / "stranger.py").write_text(EVIL)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield (folder / "executed").exists
    sys.modules.pop("stranger", None)


def named(experiment: dict[str, Any], field: str) -> dict[str, Any]:
    """An experiment that names the stranger's module in a field."""
    if field == "task":
        return {**experiment, "task": NAMES[field]}
    model = "lantm" if field == "weighting" else experiment["model"]
    return {**experiment, "model": model, "machine": {**experiment["machine"], field: NAMES[field]}}


@pytest.fixture
def stranger(trained, copy_of_run, tmp_path: pathlib.Path) -> Callable[[str, str], pathlib.Path]:
    """Makes a run folder, or a machine's file with a right digest, that names the module in a field."""

    def make(kind: str, field: str) -> pathlib.Path:
        if kind == "run":
            run = copy_of_run().path
            stored = json.loads((run / "experiment.json").read_text())
            stored["experiment"] = named(stored["experiment"], field)
            (run / "experiment.json").write_text(json.dumps(stored))
            return run
        file = tmp_path / "shelf" / "machine.safetensors"
        best = trained.machines.best
        notes = {"experiment": named(best.experiment.to_json(), field), "epoch": 6, "trained": {}}
        weight_files.save(file, best.model(), notes)
        return file

    return make


RUNS = ["eval", "solve", "verify", "report", "view", "trace", "video", "info", "train --resume", "zoo add"]
FILES = ["eval", "solve", "verify", "view", "trace", "info", "zoo --shelf", "zoo add"]
MORE = {"solve": ["hello"], "verify": ["--length", "4"]}


def command(words: str, path: pathlib.Path) -> list[object]:
    return [*words.split(), path.parent if words == "zoo --shelf" else path, *MORE.get(words, [])]


def test_nothing_is_imported_that_a_file_names(lantm, stranger, executed) -> None:
    for kind, commands in (("run", RUNS), ("file", FILES)):
        path = stranger(kind, "task")
        for words in commands:
            said = lantm(*command(words, path))
            assert said.status == 2, words
            assert "names 'stranger:Task', and importing a module runs its code: add --trust" in said.err, words
            assert said.err.count("\n") == 1
    assert not executed()


@pytest.mark.parametrize("field", NAMES)
@pytest.mark.parametrize("kind", ["run", "file"])
def test_python_is_told_whom_to_trust(stranger, executed, kind: str, field: str) -> None:
    path = stranger(kind, field)
    with pytest.raises(LantmError, match=f"names '{NAMES[field]}'"):
        package.load(path)
    assert not executed()
    if kind == "run":  # its checkpoints are those of the experiment before it was edited
        experiment = RunFolder(path, trust=True).experiment()
        experiment.source()
        assert experiment.modules == (NAMES[field],)
    else:
        assert package.load(path, trust=True).experiment.modules == (NAMES[field],)
    assert executed()


def test_with_trust_commands_run_it(lantm, stranger, executed) -> None:
    said = lantm("info", stranger("file", "task"), "--trust", "--json")
    assert json.loads(said.out)["task"] == "stranger:Task"
    assert executed()


def test_what_is_typed_is_the_users_own_word(lantm, executed) -> None:
    assert lantm("info", "stranger:Task").status == 0
    assert executed()


def test_every_command_that_reads_files_has_the_flag(lantm) -> None:
    for name in COMMANDS:
        code = (pathlib.Path(package.__file__).parent / "cli" / f"{name}.py").read_text()
        reads = re.search(r"open_trained\(|open_run\(|load_file\(|RunFolder\.open\(|read_sweep\(", code)
        assert bool(reads) == ("--trust" in lantm(name, "--help").out), name
    assert "--trust" in lantm("zoo", "add", "--help").out


def test_a_checkpoint_is_no_way_in(lantm, copy_of_run, executed) -> None:
    """Its names are not those of experiment.json, which alone are trusted, so --trust is not what is missing."""
    run = copy_of_run().path
    for path in (run / "checkpoints").iterdir():
        notes, arrays = weight_files.read_notes(path), safetensors.numpy.load_file(path)
        weight_files.save(path, arrays, notes | {"experiment": named(notes["experiment"], "task")})
    for flags in ([], ["--trust"]):
        said = lantm("eval", run, *flags)
        assert said.status == 2
        assert "a checkpoint of another experiment: it names 'stranger:Task', and experiment.json does not" in said.err
        assert "--trust" not in said.err
    assert not executed()


@pytest.mark.parametrize("place", ["experiment", "grid"])
def test_sweep_files(lantm, executed, tmp_path: pathlib.Path, place: str) -> None:
    asked = {"experiment": {"task": "copy"}, "grid": {"learning_rate": [0.1]}}
    asked[place] |= {"geometry": ["stranger:Geometry"] if place == "grid" else "stranger:Geometry"}
    (tmp_path / "sweep.json").write_text(json.dumps(asked))
    GridFolder(tmp_path / "sweep").begin(Sweep.from_json(asked, trust=True).to_json())
    for words in (["--plan", tmp_path / "sweep.json"], ["--show", tmp_path / "sweep"], [tmp_path / "sweep.json"]):
        said = lantm("sweep", *words)
        assert said.status == 2
        assert "the sweep names 'stranger:Geometry'" in said.err
        assert "--trust" in said.err
    assert not executed()
    assert lantm("sweep", "--plan", tmp_path / "sweep.json", "--trust").status == 0
    assert executed()


def test_digests_come_before_all_else(stranger, executed) -> None:
    """Even one who is trusted is not believed where the file is damaged."""
    path = stranger("file", "task")
    with safetensors.safe_open(path, framework="numpy") as file:
        metadata = file.metadata()
    metadata["notes"] = metadata["notes"].replace("stranger:Task", "stranger:Tusk")
    path.write_bytes(safetensors.numpy.save(safetensors.numpy.load_file(path), metadata))
    with pytest.raises(LantmError, match="do not match its digest"):
        weight_files.read_notes(path)
    with pytest.raises(LantmError, match="do not match its digest"):
        package.load(path, trust=True)
    assert not executed()


def test_a_training_with_a_module_says_how_to_continue(
    lantm, executed, tiny_flags: list[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The user has given the names himself: he need not be asked until the run is read again."""
    from lantm.cli import train

    real = train.train
    monkeypatch.setattr(
        train, "train", lambda *arguments, **more: real(*arguments[:5], lambda: True, *arguments[6:], **more)
    )
    said = lantm("train", "stranger:Task", *tiny_flags[1:], "--seeds", 1, "--out", tmp_path / "run")
    assert re.search(r"continue with: lantm train --resume .* --trust\n", said.out)
    assert lantm("train", "--resume", tmp_path / "run").status == 2


def test_python_code_that_resumes_gives_the_names_itself(
    executed, copy_of_run, tmp_path: pathlib.Path, stranger
) -> None:
    """Another folder's names are not those of the experiment that is to be continued."""
    experiment = copy_of_run().experiment()
    run = tmp_path / "copy"
    stored = json.loads((run / "experiment.json").read_text())
    stored["experiment"] = named(stored["experiment"], "task")
    (run / "experiment.json").write_text(json.dumps(stored))
    with pytest.raises(LantmError, match="--trust"):
        package.train(experiment, folder=run, resume=True)
    assert not executed()
    assert RunFolder(run, trust=("stranger:Task",)).experiment().modules == ("stranger:Task",)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("report", "report.html"),
        ("train --resume", "metrics.jsonl"),
        ("train --resume", "checkpoints/epoch-000009.safetensors"),
        ("view", "view.html"),
        ("video", "video-seed-0.gif"),
        ("trace", "figures/length-4/keys.png"),
        ("trace", "figures/other/gates.svg"),
    ],
)
def test_nothing_is_written_through_the_links_of_a_folder(
    lantm, copy_of_run, tmp_path: pathlib.Path, words: str, name: str
) -> None:
    run, other = copy_of_run().path, tmp_path / "mine"
    other.write_text("precious")
    (run / name).unlink(missing_ok=True)
    (run / name).parent.mkdir(parents=True, exist_ok=True)
    (run / name).symlink_to(other)
    said = lantm(*words.split(), run)
    assert said.status == 2
    assert f"{pathlib.Path(name).name} there is a link to {other}; remove the link" in said.err
    assert other.read_text() == "precious"


@pytest.mark.parametrize("name", [".lock", ".holder.json", "report.html"])
def test_nothing_is_made_by_the_links_of_a_folder(lantm, copy_of_run, tmp_path: pathlib.Path, name: str) -> None:
    run, other = copy_of_run().path, tmp_path / "not there"
    (run / name).unlink(missing_ok=True)
    (run / name).symlink_to(other)
    said = lantm("report", run)
    assert said.status == 2
    assert f"{name} there is a link to {other}; remove the link" in said.err
    assert not other.exists()


def test_a_file_does_not_speak_to_the_terminal(lantm, stranger, trained, tmp_path: pathlib.Path) -> None:
    """Nor has it a mark-up of its own in our tables."""
    path = stranger("file", "task")
    notes = {
        "experiment": trained.machines.best.experiment.to_json() | {"recipe_name": "\x1b[31mred[/nope]"},
        "trained": {"device": "\x1b]0;title\x07", "\x9b2J": "[/nope]"},
        "scores": [],
    }
    weight_files.save(path, trained.machines.best.model(), notes)
    for words in ("info", "zoo --shelf", "solve"):
        said = lantm(*command(words, path)) if words != "solve" else lantm("solve", path, "\x1b[31m")
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", said.out + said.err), words
        assert ("red[/nope]" in said.out) == (words != "solve")


def test_nor_does_the_name_of_a_folder(lantm, trained, tmp_path: pathlib.Path) -> None:
    """As of a run in somebody's archive, named by `lantm report runs/*`."""
    run = shutil.copytree(trained.folder.path, tmp_path / "\x1b[31mred")
    for words in ("report", "view", "video", "trace", "info", "eval --problems 4 --lengths 2"):
        name, *flags = words.split()
        said = lantm(name, run, *flags)
        assert said.status == 0
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", said.out + said.err), words
