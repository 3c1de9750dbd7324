"""The run folder: what is refused, what is kept, and what is made of files that are damaged."""

import json
import os
import pathlib
import shutil
import tracemalloc
from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
import pytest
import safetensors.numpy

from lantm import weight_files
from lantm.errors import LantmError
from lantm.training import Experiment, Learner, RunFolder, load_learners, train
from lantm.weight_files import named_arrays

Copier = Callable[[], RunFolder]


def checkpoints(folder: RunFolder) -> list[pathlib.Path]:
    return sorted((folder.path / "checkpoints").iterdir())


def flip(path: pathlib.Path) -> None:
    data = bytearray(path.read_bytes())
    data[-20] ^= 4
    path.write_bytes(data)


def test_what_is_in_it(trained) -> None:
    path = trained.folder.path
    assert sorted(os.listdir(path)) == [
        ".lock",
        "checkpoints",
        "experiment.json",
        "metrics.jsonl",
        "recordings",
        "seconds.json",
        "tensorboard",
    ]
    assert [file.name for file in checkpoints(trained.folder)] == [
        "epoch-000004.safetensors",
        "epoch-000006.safetensors",
    ], "the last two"
    assert trained.folder.experiment() == trained.experiment
    rows = list(trained.folder.metrics())
    assert len(rows) == 6 * 4 + 3 * 2 * 4, "a line per epoch and seed, and a line per test and seed"
    epochs = [row for row in rows if "test" not in row]
    assert [(row["epoch"], row["seed"]) for row in epochs] == [(e, s) for e in range(1, 7) for s in range(4)]
    assert set(epochs[0]) == {"epoch", "seed", "loss", "gradient_norm", "rate", "skipped", "diverged"}
    tests = [row for row in rows if "test" in row]
    assert {row["epoch"] for row in tests} == {2, 4, 6}
    assert {row["test"] for row in tests} == {"1x", "2x"}
    assert set(tests[0]) == {"epoch", "seed", "test", "coarse", "fine"}


def load(folder: RunFolder) -> tuple[int, Learner, list[str]]:
    """The newest whole checkpoint of a run."""
    experiment = folder.experiment()
    return load_learners(folder, experiment, experiment.source())


def test_the_newest_checkpoint_holds_what_was_trained(trained) -> None:
    epoch, learners, warnings = load(trained.folder)
    assert (epoch, warnings) == (6, [])
    expected = named_arrays(trained.result.learners)
    found = named_arrays(learners)
    assert found.keys() == expected.keys()
    for name, array in found.items():
        np.testing.assert_array_equal(array, expected[name], name)
    assert "model.readout.weight" in found
    assert found["seed"].tolist() == [0, 1, 2, 3]


# Making and opening.


def test_a_run_is_never_overwritten(tiny: Experiment, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "a" / "run"
    RunFolder.create(path, tiny, {"lantm": "0"})
    before = (path / "experiment.json").read_bytes()
    with pytest.raises(LantmError, match="holds a run already: continue it with --resume, or choose another --out"):
        RunFolder.create(path, tiny, {})
    assert (path / "experiment.json").read_bytes() == before
    assert RunFolder.open(path).provenance() == {"lantm": "0"}


def test_a_folder_with_other_things_is_left_alone(tiny: Experiment, tmp_path: pathlib.Path) -> None:
    (tmp_path / "thesis.txt").write_text("x")
    with pytest.raises(LantmError, match="is not empty: choose another --out"):
        RunFolder.create(tmp_path, tiny, {})
    with pytest.raises(LantmError, match="it is a file; give the name of a folder"):
        RunFolder.create(tmp_path / "thesis.txt", tiny, {})
    with pytest.raises(LantmError, match="cannot write"):
        RunFolder.create(tmp_path / "thesis.txt" / "run", tiny, {})
    assert os.listdir(tmp_path) == ["thesis.txt"]
    (tmp_path / "empty").mkdir()
    RunFolder.create(tmp_path / "empty", tiny, {})


def test_what_is_no_run_folder(tmp_path: pathlib.Path) -> None:
    for path in (tmp_path, tmp_path / "nothing", tmp_path / "nothing" / "below"):
        with pytest.raises(LantmError, match=r"is not a run folder: .* lantm train --out makes one"):
            RunFolder.open(path)


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", "5", "null", '{"experiment": []}', "{}", "\x00", "[" * 100_000, '{"experiment": 1e', "\ud800"],
    ids=lambda text: repr(text[:20]),
)
def test_an_experiment_that_cannot_be_read(tmp_path: pathlib.Path, text: str) -> None:
    (tmp_path / "experiment.json").write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(LantmError) as caught:
        RunFolder.open(tmp_path).experiment()
    assert "\n" not in str(caught.value)
    assert "experiment" in str(caught.value)


def test_a_run_without_a_checkpoint_says_what_to_do(tiny: Experiment, tmp_path: pathlib.Path) -> None:
    folder = RunFolder.create(tmp_path / "run", tiny, {})
    with pytest.raises(LantmError, match=r"no checkpoint yet: continue training with --resume .*run"):
        load(folder)


# Checkpoints.


def test_two_checkpoints_are_kept(tmp_path: pathlib.Path) -> None:
    folder = RunFolder(tmp_path)
    for epoch in (1, 2, 30, 400, 5_000_000):
        folder.save_checkpoint(epoch, {"a": jnp.full(3, epoch)})
        assert folder.load_checkpoint({"a": jnp.zeros(3, jnp.int32)})[0] == epoch
    assert [path.name for path in checkpoints(folder)] == ["epoch-000400.safetensors", "epoch-5000000.safetensors"]


def test_a_damaged_checkpoint_falls_back_to_the_one_before(copy_of_run: Copier) -> None:
    folder = copy_of_run()
    older, newest = checkpoints(folder)
    flip(newest)
    epoch, _, warnings = load(folder)
    assert epoch == 4
    assert len(warnings) == 1
    assert str(newest) in warnings[0]
    assert "damaged" in warnings[0]

    flip(older)
    with pytest.raises(LantmError, match=r"no usable checkpoint: .*epoch-000006.* damaged"):
        load(folder)


def test_a_checkpoint_under_a_wrong_name(copy_of_run: Copier) -> None:
    folder = copy_of_run()
    older, newest = checkpoints(folder)
    shutil.copy(older, newest)
    epoch, _, warnings = load(folder)
    assert epoch == 4
    assert "it is not of epoch 6" in warnings[0]


def test_a_checkpoint_of_another_machine(copy_of_run: Copier) -> None:
    folder = copy_of_run()
    values = json.loads((folder.path / "experiment.json").read_text())
    values["experiment"]["machine"]["cells"] = 7
    (folder.path / "experiment.json").write_text(json.dumps(values))
    with pytest.raises(LantmError, match=r"a checkpoint of another experiment: machine\.cells was 6 and is now 7"):
        load(folder)


def test_a_missing_and_an_additional_tensor(copy_of_run: Copier) -> None:
    folder = copy_of_run()
    newest = checkpoints(folder)[-1]
    notes, arrays = weight_files.read_notes(newest), safetensors.numpy.load_file(newest)
    bias = arrays.pop("model.readout.bias")
    weight_files.save(newest, arrays, notes)
    assert "lacks 'model.readout.bias'" in load(folder)[-1][0]
    weight_files.save(newest, {**arrays, "model.readout.bias": bias, "wings": bias}, notes)
    assert "also has 'wings'" in load(folder)[-1][0]


# Metrics.


def test_lines_that_cannot_be_read_are_passed_over(tmp_path: pathlib.Path) -> None:
    folder = RunFolder(tmp_path)
    assert list(folder.metrics()) == []
    folder.append_metrics([{"epoch": 1, "seed": 0, "loss": 0.5}, {"epoch": 2, "seed": 0, "loss": None}])
    with open(tmp_path / "metrics.jsonl", "ab") as file:
        file.write(b'[1]\n{"epoch": "x"}\n\xff\xfe\n{}\n' + b"[" * 100_000 + b'\n{"epoch": 3, "lo')
    assert [row["loss"] for row in folder.metrics()] == [0.5, None]
    folder.forget_after(1)
    assert (tmp_path / "metrics.jsonl").read_text() == '{"epoch": 1, "seed": 0, "loss": 0.5}\n'


def test_a_line_without_end_is_never_read_as_a_whole(tmp_path: pathlib.Path) -> None:
    folder = RunFolder(tmp_path)
    folder.append_metrics([{"epoch": 1, "seed": 0, "loss": 0.5}])
    size = 2**25
    with open(tmp_path / "metrics.jsonl", "ab") as file:
        file.truncate(size)
    tracemalloc.start()
    try:
        assert [row["loss"] for row in folder.metrics()] == [0.5]
        assert tracemalloc.get_traced_memory()[1] < size / 8
    finally:
        tracemalloc.stop()


def test_files_that_a_crash_cut_off_are_removed(tmp_path: pathlib.Path) -> None:
    folder = RunFolder(tmp_path)
    folder.save_checkpoint(1, {"a": jnp.zeros(3)})
    dead = 99_999_999  # more than a system has processes
    (tmp_path / "checkpoints" / f".epoch-000002.safetensors.{dead}.tmp").write_bytes(b"half")
    (tmp_path / f".metrics.jsonl.{dead}.tmp").write_bytes(b"half")
    folder.forget_after(1)
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "epoch-000001.safetensors",
        "metrics.jsonl",
    ]


def test_training_does_not_hide_that_it_cannot_write(
    tiny: Experiment, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder.create(tmp_path / "run", tiny, {})
    (tmp_path / "run" / "metrics.jsonl").mkdir()
    with pytest.raises(LantmError, match=r"cannot write .*metrics.jsonl"):
        train(tiny, folder)


def test_the_last_epoch_of_the_metrics(trained, tmp_path: pathlib.Path) -> None:
    assert trained.folder.last_epoch() == 6
    folder = RunFolder(tmp_path)
    assert folder.last_epoch() == 0, "none yet"
    folder.append_metrics([{"epoch": epoch, "seed": 0, "note": "x" * 50} for epoch in range(1, 300)])
    with open(tmp_path / "metrics.jsonl", "ab") as file:
        file.write(b'{"epoch": 300, "lo')
    assert folder.last_epoch() == 299, "the last whole line"


def test_seconds(tmp_path: pathlib.Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.seconds == 0
    folder.write_seconds(3.75)
    assert folder.seconds == pytest.approx(3.75, abs=0.06)
    (tmp_path / "seconds.json").write_text("{")
    assert folder.seconds == 0


def test_summaries(tmp_path: pathlib.Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.summary() == {}
    folder.write_summary({"rows": [], "more": 1})
    assert folder.summary() == {"rows": [], "more": 1}
