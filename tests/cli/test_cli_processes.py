"""Real processes: killed, interrupted, resumed."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load_file

from lantm.training import RunFolder

# Long enough to be caught in the middle of it.
EPOCHS = 120


def started(*arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "lantm", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "COLUMNS": "80"},
    )


def wait_for_epoch(process: subprocess.Popen[str], folder: RunFolder, epoch: int) -> None:
    """Until a line of that epoch is in the metrics."""
    limit = time.monotonic() + 120
    while process.poll() is None and time.monotonic() < limit:
        if any(row["epoch"] >= epoch for row in folder.metrics()):
            return
        time.sleep(0.02)
    pytest.fail(f"ended too early: {process.communicate()}")


@pytest.fixture(scope="module")
def flags(tiny_flags: list[str]) -> list[str]:
    return [*tiny_flags, "--epochs", str(EPOCHS), "--test-every", "5"]


@pytest.fixture(scope="module")
def uninterrupted(flags: list[str], tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    folder = RunFolder(tmp_path_factory.mktemp("uninterrupted") / "run")
    _, err = started("train", *flags, "--out", folder.path).communicate()
    assert all(line.endswith(" s since the start") for line in err.splitlines())
    return folder


def assert_same(folder: RunFolder, other: RunFolder) -> None:
    assert folder.experiment() == other.experiment()
    assert (folder.path / "metrics.jsonl").read_bytes() == (other.path / "metrics.jsonl").read_bytes()
    name = f"checkpoints/epoch-{EPOCHS:06d}.safetensors"
    found, expected = load_file(folder.path / name), load_file(other.path / name)
    assert found.keys() == expected.keys()
    for key, array in found.items():
        np.testing.assert_array_equal(array, expected[key], f"{key} bit for bit")


@pytest.mark.thorough  # tests/test_reliability.py kills a training, and interruptions are tested within the process
def test_killed_and_interrupted_and_resumed(flags: list[str], uninterrupted: RunFolder, tmp_path: pathlib.Path) -> None:
    """kill -9 in the middle, then Ctrl-C in the middle of the rest: the same weights and metrics in the end."""
    folder = RunFolder(tmp_path / "my run")
    process = started("train", *flags, "--out", folder.path)
    wait_for_epoch(process, folder, 20)
    process.kill()
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    reached = max(row["epoch"] for row in folder.metrics())
    assert 20 <= reached < EPOCHS

    process = started("train", "--resume", folder.path)
    wait_for_epoch(process, folder, reached + 20)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    last = out.splitlines()[-1]
    assert last.startswith("stopped after epoch ")
    assert last.endswith(f"continue with: lantm train --resume '{folder.path}'")

    process = started("train", "--resume", folder.path, "--json")
    out, err = process.communicate()
    assert process.returncode == 0, err
    assert [row["scale"] for row in json.loads(out)] == ["1x", "2x"]
    assert_same(folder, uninterrupted)
    assert not list(folder.path.rglob(".*.tmp"))


def test_a_mistake_in_a_process(tmp_path: pathlib.Path) -> None:
    process = started("train", "cpoy", "--out", tmp_path / "run")
    out, err = process.communicate()
    assert (process.returncode, out) == (2, "")
    assert err.count("\n") == 1
    assert "did you mean 'copy'" in err
    assert not (tmp_path / "run").exists()


def test_a_reader_that_goes_away() -> None:
    """As in `lantm info | head`."""
    process = started("info")
    assert process.stdout is not None
    process.stdout.close()
    _, err = process.communicate()
    assert process.returncode in (0, 1, 141)
    assert "Traceback" not in err
