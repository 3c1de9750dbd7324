"""The fuzzer: it survives a few inputs of every kind, it can fail, and its stored counts."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
BROKEN = """
import pathlib, runpy, sys
from lantm.trained import loading
import lantm.trained
def load_file(path, *more):
    __import__("stranger")
    return 1 // 0
lantm.trained.load_file = load_file
runpy.run_module("benchmarks.fuzz", run_name="__main__")
"""


def fuzzed(out: pathlib.Path, program: list[str], *words: str) -> subprocess.CompletedProcess[str]:
    """A process of its own: the fuzzer replaces what takes long."""
    paths = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [sys.executable, *program, *words, "--out", str(out)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )


def test_nothing_crashes_hangs_or_executes(tmp_path: pathlib.Path) -> None:
    ended = fuzzed(tmp_path / "fuzz.json", ["-m", "benchmarks.fuzz"], "--inputs", "300")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / "fuzz.json").read_text())
    assert found["inputs"] == 300
    assert 2 * found["with_right_digests"] >= 300
    assert found["problems"] == []
    assert all(kind["inputs"] for kind in found["kinds"].values()), "every kind was tried"
    assert found["made"].keys() >= {"commit", "device", "date"}


@pytest.mark.thorough
def test_it_finds_what_is_broken(tmp_path: pathlib.Path) -> None:
    ended = fuzzed(tmp_path / "fuzz.json", ["-c", BROKEN], "--inputs", "20", "--only", "machine's file")
    assert ended.returncode == 1, ended.stderr
    problems = json.loads((tmp_path / "fuzz.json").read_text())["problems"]
    assert any("ZeroDivisionError" in problem or "executed stranger.py" in problem for problem in problems)


def test_what_is_stored_was_survived() -> None:
    path = ROOT / "results" / "fuzz.json"
    if not path.exists():
        pytest.skip("make fuzz has not been run")
    stored = json.loads(path.read_text())
    assert stored["problems"] == []
    assert stored["inputs"] >= 20_000
    assert 2 * stored["with_right_digests"] >= stored["inputs"]
    assert stored["made"].keys() >= {"commit", "device", "date"}
