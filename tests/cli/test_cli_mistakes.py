"""Mistakes: one line that says what is wrong and what to do, status 2, and nothing is touched."""

import json
import os
import pathlib
from collections.abc import Callable

import pytest

from lantm.cli import COMMANDS
from lantm.training import RunFolder

Refused = Callable[..., str]


def test_an_unknown_command(refused: Refused) -> None:
    line = refused("trian", "copy")
    assert "unknown command 'trian': did you mean 'train'?" in line
    assert all(command in line for command in COMMANDS)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("train", ["TASK is missing", "copy", "lantm train --help"]),
        ("train cpoy", ["unknown task 'cpoy'", "did you mean 'copy'"]),
        ("train --seeds 2 cpoy", ["unknown task 'cpoy'"]),
        ("train copy --model gru", ["unknown model 'gru'", "lantm-invnorm, lantm-softmax, lstm"]),
        ("train copy --model", ["--model", "expected one argument"]),
        ("train copy --recipe exatc", ["unknown recipe 'exatc': did you mean 'exact'? known are paper"]),
        ("train copy --model lsmt", ["unknown model 'lsmt': did you mean 'lstm'? known are"]),
        ("train copy --recipe cake", ["unknown recipe 'cake'", "paper"]),
        ("train copy --geometry flat", ["unknown geometry 'flat'", "translation"]),
        ("train copy --geometry translation-0", ["dimension 1 or more"]),
        ("train copy --geometry nowhere:Name", ["cannot import the geometry 'nowhere:Name'"]),
        ("train nowhere:Name", ["cannot import the task 'nowhere:Name'"]),
        ("train copy[wings=2]", ["cannot make the task 'copy'"]),
        ("train copy[data_symbols=x]", ["cannot have data_symbols=x", "125"]),
        ("train copy[data_symbols=0]", ["0 symbols of data", "at least 1"]),
        ("train double[unused_symbols=-9]", ["symbols"]),
        ("train copy --memory-limit 10 --memory-drop 50", ["memory_drop is 50"]),
        ("train copy --weighting invnorm[power=-1]", ["power", "above 0"]),
        ("train copy --lengths 0 4", ["no problems of length 0"]),
        ("train copy --lengths 4 2", ["no lengths from 4 to 2"]),
        ("train bigramFlip --lengths 2 5", ["multiple of 2"]),
        ("train copy --lengths 2", ["--lengths cannot be '2'", "FROM TO"]),
        ("train copy --lengths 2 x", ["--lengths cannot be '2 x'"]),
        ("train copy --lengths 2 1000000000", ["up to 1,000,000"]),
        ("train copy --epochs many", ["--epochs cannot be 'many'", "INT"]),
        ("train copy --epochs=many", ["--epochs cannot be 'many'"]),
        ("train --epochs many copy", ["--epochs cannot be 'many'"]),
        ("train copy --learning_rate fast", ["--learning-rate cannot be 'fast'"]),
        ("train copy --epochs 0", ["epochs is 0", "from 1"]),
        ("train copy --epochs", ["Missing value", "--epochs"]),
        ("train copy --cells -3", ["cells is -3", "at least 1"]),
        ("train copy --seeds 0", ["seeds is 0", "at least 1"]),
        ("train copy --seeds 1.5", ["--seeds cannot be '1.5'"]),
        ("train copy --first-seed 3000000000", ["too many"]),
        ("train copy --learning-rate nan", ["learning_rate is nan"]),
        ("train copy --state-range inf", ["state_range is inf"]),
        ("train copy --recycled-problems 3", ["recycled_problems is 3", "at least 63"]),
        ("train prioritySort --test-scales 1 200", ["prioritySort has no problems of length 2,000: use up to 1,000"]),
        ("train copy --clip none", ["--clip cannot be 'none'", "{None}|FLOAT"]),
        ("train copy --test-scales", ["test_scales", "at least one"]),
        ("train copy --schedule steps", ["steps", "plateau", "cosine", "constant"]),
        ("train copy --sedes 3", ["--sedes", "did you mean --seeds?"]),
        ("train copy --cels 3", ["--cels", "did you mean --cells?"]),
        ("train copy --cels 3 --learning_rat=1", ["did you mean --cells and --learning-rate?"]),
        ("sweep --cels 3", ["--cels, 3; lantm sweep --help"]),
        ("train copy reverse", ["Unrecognized", "reverse"]),
        (
            "train copy --weighting softmax",
            ["this machine is not a lantm-invnorm", "choose the model lantm-softmax"],
        ),
        ("train --resume", ["--resume", "expected one argument"]),
        ("train --resume nowhere", ["nowhere is not a run folder"]),
        ("eval", ["RUN is missing"]),
        ("eval nowhere", ["nowhere is not a run folder", "lantm train --out"]),
        ("eval nowhere --lengths 1 two", ["--lengths cannot be '1 two'"]),
        ("eval nowhere --weights worst", ["worst", "best", "last"]),
        ("eval nowhere --problems 0", ["problems", "at least 1"]),
        ("eval nowhere --draw -1", ["draw is -1"]),
        ("eval nowhere --draw 99999999999", ["draw is 99999999999"]),
        ("solve", ["RUN", "missing"]),
        ("solve nowhere", ["PROBLEM is missing"]),
        ("solve nowhere hello", ["nowhere is not a run folder"]),
        ("solve copi hello", ["did you mean 'copy'? known are copy, reverse, bigramFlip, double, addition, programs"]),
        ("solve oddFirst abcdef", ["the zoo has no machine for oddFirst", "lantm train oddFirst --out RUN"]),
        ("eval nowhere", ["nor is it a machine of the zoo"]),
        ("eval copy --weights last --problems 1", ["only the best weights are stored"]),
        ("solve copy hello --seed 99", ["no seed 99"]),
        ("trace copy hello", ["Unrecognized options: hello; a problem goes behind --input; lantm trace --help"]),
        ("view copy hello", ["hello is not a run folder", "; a problem of yours goes behind --input"]),
        ("solve addition 12 + 34", ["Unrecognized options: +, 34; put a problem with spaces into quotes; lantm solve"]),
        ("view copy reverse hello", ["Unrecognized options: hello; a problem goes behind --input"]),
        ("report copy", ["copy is a machine of the zoo, which keeps no training", "lantm view copy"]),
        ("report nowhere", ["nowhere is not a run folder"]),
        ("zoo add nowhere", ["nowhere is not a run folder"]),
        ("zoo add nowhere --problems 0", ["problems", "from 1"]),
        ("zoo copy", ["Unrecognized", "copy"]),
        ("reproduce", ["STUDY is missing"]),
        (
            "reproduce sequence",
            ["unknown study 'sequence': did you mean 'sequences'? known are sequences"],
        ),
        ("reproduce sequences --recipe cake", ["unknown recipe 'cake'", "robust"]),
        ("reproduce sequences --only cpoy", ["--only cpoy selects nothing", "copy, reverse"]),
        ("reproduce sequences --models gru", ["--models gru selects nothing", "lstm"]),
        ("reproduce generalisation --models lstm", ["--models lstm selects nothing", "lantm-invnorm"]),
        ("reproduce sequences --problems 0", ["problems is 0", "from 1"]),
        ("reproduce sequences --minutes 0", ["minutes is 0.0", "above 0"]),
        ("reproduce sequences --seeds 0", ["seeds is 0", "at least 1"]),
        ("reproduce sequences --epochs 0", ["epochs is 0", "from 1"]),
        ("reproduce sequences --scales 0", ["scale 0"]),
        ("demo --seeds 0", ["seeds is 0", "at least 1"]),
        ("info cpoy", ["unknown task 'cpoy'"]),
        ("info copy --model gru", ["gru", "lstm"]),
        ("info copy reverse", ["Unrecognized", "reverse"]),
    ],
)
def test_a_mistake_is_one_line(
    refused: Refused, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, arguments: str, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # where a run folder would be made
    line = refused(*arguments.split())
    for word in words:
        assert word in line


def test_a_run_is_not_overwritten(refused: Refused, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    line = refused("train", "copy", "--out", folder.path)
    assert "holds a run already: continue it with --resume, or choose another --out" in line


def test_places_where_there_can_be_no_run(refused: Refused, tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert "not empty" in refused("train", "copy", "--out", tmp_path)
    assert "give the name of a folder" in refused("train", "copy", "--out", tmp_path / "file")
    assert "cannot write" in refused("train", "copy", "--out", tmp_path / "file" / "run")
    assert "too long" in refused("train", "copy", "--out", tmp_path / ("x" * 300))
    assert "too long" in refused("eval", tmp_path / ("x" * 300))
    for command in (("eval", tmp_path), ("solve", tmp_path, "hi"), ("train", "--resume", tmp_path / "file")):
        assert "is not a run folder" in refused(*command)


def test_a_resumed_run_takes_no_other_settings(refused: Refused, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    assert "leave out --seeds" in refused("train", "--resume", folder.path, "--seeds", 9)
    assert "epochs is 5: the run is set to 6, give more" in refused("train", "--resume", folder.path, "--epochs", 5)
    assert "leave out copy" in refused("train", "copy", "--resume", folder.path)


def test_damaged_weights(refused: Refused, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    for path in (folder.path / "checkpoints").iterdir():
        path.write_bytes(path.read_bytes()[:500])
    for command in (("eval", folder.path), ("solve", folder.path, "hi"), ("train", "--resume", folder.path)):
        line = refused(*command)
        assert "no usable checkpoint" in line
        assert "damaged" in line


@pytest.mark.parametrize("text", ["", "[]", "{", '{"experiment": {"task": "copy"}}', "{" * 5000])
def test_a_damaged_experiment(refused: Refused, copy_of_run: Callable[[], RunFolder], text: str) -> None:
    folder = copy_of_run()
    (folder.path / "experiment.json").write_text(text)
    for command in (("eval", folder.path), ("solve", folder.path, "hi"), ("train", "--resume", folder.path)):
        refused(*command)


def test_an_experiment_that_names_something_else(refused: Refused, copy_of_run: Callable[[], RunFolder]) -> None:
    folder = copy_of_run()
    values = json.loads((folder.path / "experiment.json").read_text())
    values["experiment"]["task"] = "os:abort"
    (folder.path / "experiment.json").write_text(json.dumps(values))
    assert "add --trust" in refused("eval", folder.path)
    assert "is not a Task" in refused("eval", folder.path, "--trust")


def test_lengths_that_cannot_be_scored(refused: Refused, trained) -> None:
    run = trained.folder.path
    assert "no problems of length 0" in refused("eval", run, "--lengths", 0)
    assert "no problems of length -2" in refused("eval", run, "--lengths", 4, -2)
    assert "scale 0" in refused("eval", run, "--scales", 0)
    assert "up to 1,000,000" in refused("eval", run, "--lengths", 10**15)
    assert "up to 1,000,000" in refused("eval", run, "--scales", 10**6)


def test_problems_that_cannot_be_read(refused: Refused, trained) -> None:
    run = trained.folder.path
    assert "copy has no symbol for '漢'" in refused("solve", run, "漢字")
    assert "needs at least one symbol" in refused("solve", run, "")
    assert "no seed 4: the run has 0 to 3" in refused("solve", run, "hi", "--seed", 4)
    assert "--seed cannot be 'first'" in refused("solve", run, "hi", "--seed", "first")


def test_too_little_memory(refused: Refused, trained, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> None:
        raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 399999999996 bytes.")

    monkeypatch.setattr("lantm.trained.loading.load_learners", fails)
    assert "not enough memory" in refused("eval", trained.folder.path)


def test_a_mistake_of_ours_is_not_hidden(lantm, trained, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*args: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("lantm.trained.loading.load_learners", fails)
    with pytest.raises(RuntimeError, match="a bug"):
        lantm("eval", trained.folder.path)


@pytest.mark.parametrize(
    "words",
    [
        "eval copy --save",
        "verify copy --length 4 --save",
        "trace copy --save",
        "view copy --out",
        "sweep --show nowhere --csv",
    ],
)
def test_what_is_no_file_is_not_replaced(refused, tmp_path: pathlib.Path, words: str) -> None:
    """And it is said at once, before anything is scored or drawn."""
    os.mkfifo(tmp_path / "pipe")
    assert "cannot write" in (said := refused(*words.split(), tmp_path / "pipe"))
    assert "it is a pipe; give the name of a file" in said
    (tmp_path / "file").touch()
    assert f"{tmp_path / 'file'} is not a folder" in refused(*words.split(), tmp_path / "file" / "new" / "result")


def test_figures_go_into_a_folder(refused, tmp_path: pathlib.Path) -> None:
    """What is none is said at once, before the machine runs."""
    (tmp_path / "file").touch()
    os.mkfifo(tmp_path / "pipe")
    for kind, name in (("a file", "file"), ("a pipe", "pipe"), ("a device", os.devnull)):
        for words in ("trace copy --out", "zoo add copy --shelf"):
            said = refused(*words.split(), tmp_path / name)
            assert f"cannot write into {tmp_path / name}: it is {kind}; give the name of a folder" in said
    (tmp_path / "loop").symlink_to("loop")
    assert "cannot write into" in refused("trace", "copy", "--out", tmp_path / "loop")
    (tmp_path / "gone").symlink_to("nowhere")
    assert "it is a broken link" in refused("trace", "copy", "--out", tmp_path / "gone")


def test_a_pipe_is_not_read(refused, tmp_path: pathlib.Path) -> None:
    """Who opened one would wait for ever."""
    os.mkfifo(tmp_path / "sweep.toml")
    assert "is a pipe, not a file" in refused("sweep", tmp_path / "sweep.toml")
