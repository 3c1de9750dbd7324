"""Where a number comes from."""

import datetime
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
from typing import Any

import jax
import pytest

import lantm
from lantm.provenance import provenance


def test_what_is_said() -> None:
    said = provenance()
    assert said == json.loads(json.dumps(said))
    assert (said["lantm"], said["jax"]) == (lantm.__version__, jax.__version__)
    assert said["device"].startswith(jax.default_backend())
    assert said["devices"] == jax.local_device_count()
    written = datetime.datetime.fromisoformat(said["date"])
    assert abs(datetime.datetime.now(datetime.UTC) - written) < datetime.timedelta(minutes=1)


@pytest.mark.parametrize("error", [FileNotFoundError("git"), subprocess.TimeoutExpired("git", 10)])
def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(subprocess, "run", fail)
    assert provenance()["commit"] is None
    monkeypatch.setenv("LANTM_COMMIT", "abc123")
    assert provenance()["commit"] == "abc123"


def test_the_commit_of_another_project_is_not_ours(tmp_path: pathlib.Path) -> None:
    """A virtual environment often lies in the checkout of the project that uses it."""
    package = tmp_path / ".venv" / "lantm"
    shutil.copytree(pathlib.Path(lantm.__file__).parent, package, ignore=shutil.ignore_patterns("*.safetensors"))
    who = ("-c", "user.name=a", "-c", "user.email=b")
    for command in (["init", "-q"], [*who, "commit", "-q", "--allow-empty", "-m", "theirs"]):
        subprocess.run(["git", "-C", tmp_path, *command], check=True)
    code = "import lantm.provenance as here; print(here.__file__); print(here.provenance()['commit'])"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(package.parent)},
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines() == [str(package / "provenance.py"), "None"]


def system(monkeypatch: pytest.MonkeyPatch, name: str, cpuinfo: str | None, sysctl: str = "") -> None:
    def read(path: pathlib.Path, **options: Any) -> str:
        if cpuinfo is None:
            raise FileNotFoundError(path)
        return cpuinfo

    def run(command: tuple[str, ...], **options: Any) -> Any:
        return subprocess.CompletedProcess(command, 0, stdout=sysctl if command[0] == "sysctl" else "")

    monkeypatch.setattr(platform, "system", lambda: name)
    monkeypatch.setattr(platform, "processor", lambda: "a processor")
    monkeypatch.setattr(pathlib.Path, "read_text", read)
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(os, "cpu_count", lambda: 6)


@pytest.mark.parametrize(
    ("name", "cpuinfo", "sysctl", "expected"),
    [
        ("Linux", "processor\t: 0\nmodel name\t: Fast CPU @ 2: GHz\nmodel name\t: other\n", "", "Fast CPU @ 2: GHz"),
        ("Linux", "Hardware : a board\n", "", "a processor"),
        ("Darwin", None, "Apple M9\n", "Apple M9"),
        ("Darwin", None, "", "a processor"),
        ("Windows", None, "", "a processor"),
    ],
)
def test_a_cpu_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, cpuinfo: str | None, sysctl: str, expected: str
) -> None:
    system(monkeypatch, name, cpuinfo, sysctl)
    assert provenance()["device"] == f"cpu: {expected}, 6 cores"


def test_accelerators_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class Device:
        platform = "gpu"
        device_kind = "NVIDIA H200"

    monkeypatch.setattr(jax, "local_devices", lambda: [Device(), Device()])
    monkeypatch.setattr(jax, "local_device_count", lambda: 2)
    assert provenance()["device"] == "gpu: 2 x NVIDIA H200"
