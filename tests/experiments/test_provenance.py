"""Where a number comes from."""

import datetime
import json
import subprocess
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
