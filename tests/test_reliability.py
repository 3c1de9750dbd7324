"""The faults of `make reliability` in small numbers, and its stored counts."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent


@pytest.mark.thorough  # what it runs is `make reliability`, at a small size
def test_faults_are_survived(tmp_path: pathlib.Path) -> None:
    """A process of its own: what is killed in it is forked before JAX has begun its threads."""
    small = "--kills 3 --pairs 1 --inputs 240 --flips 40 --only kills pairs power weights malformed"
    ended = subprocess.run(
        [sys.executable, "-m", "benchmarks.reliability", *small.split(), "--out", str(tmp_path / "counts.json")],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    faults = {one["fault"]: one for one in json.loads((tmp_path / "counts.json").read_text())["faults"]}
    assert len(faults) == 11
    assert all(one["tried"] == one["survived"] > 0 for one in faults.values())
    assert sum(one["tried"] for name, one in faults.items() if name.startswith("malformed")) == 240


def test_what_is_stored_was_survived() -> None:
    path = ROOT / "results" / "reliability.json"
    if not path.exists():
        pytest.skip("make reliability has not been run")
    stored = json.loads(path.read_text())
    faults = {one["fault"]: one for one in stored["faults"]}
    for name, one in faults.items():
        assert one["tried"] == one["survived"], name
        assert one["made"].keys() >= {"commit", "device", "date"}
    assert faults["kill -9 at a random moment of training"]["tried"] >= 50
    assert sum(one["tried"] for name, one in faults.items() if name.startswith("malformed")) >= 10_000
