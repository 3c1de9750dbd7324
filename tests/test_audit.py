"""What `make audit` says of what its database answers, or does not."""

import importlib.util
import pathlib
import re
import subprocess
from types import ModuleType

import pytest

ROOT = pathlib.Path(__file__).parent.parent


@pytest.fixture
def audit() -> ModuleType:
    spec = importlib.util.spec_from_file_location("audit", ROOT / "tools" / "audit.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def answers(monkeypatch: pytest.MonkeyPatch, out: str, err: str = "") -> None:
    ended = subprocess.CompletedProcess([], 1, out, err)
    monkeypatch.setattr(subprocess, "run", lambda *arguments, **options: ended)


def test_nobody_answers(audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture) -> None:
    answers(monkeypatch, "", "Traceback\nConnectionError: no route")
    assert audit.main() == 0
    assert capsys.readouterr().out.startswith(
        "NOT CHECKED: the database of known vulnerabilities cannot be reached (Conn"
    )
    answers(monkeypatch, '{"dependencies": [{"name": "a", "skip_reason": "not found"}]}')
    assert audit.main() == 0
    assert capsys.readouterr().out.startswith("NOT CHECKED")


def test_a_known_vulnerability(
    audit: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    answers(
        monkeypatch,
        '{"dependencies": [{"name": "a", "version": "1", "vulns": [{"id": "X-1", "fix_versions": ["2"]}]},'
        '{"name": "b", "version": "1", "vulns": []}, {"name": "c", "skip_reason": "not found"}]}',
    )
    assert audit.main() == 1
    out = capsys.readouterr().out
    assert "a 1: X-1, fixed in 2" in out
    assert "2 pinned versions checked, 1 known vulnerabilities" in out
    assert "does not have them: c" in out


def test_everything_that_is_installed_is_pinned() -> None:
    """Every requirement of every extra has a line in the constraints."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    pins = {
        line.partition("==")[0].lower().replace("_", "-") for line in (ROOT / "constraints.txt").read_text().split()
    }
    extras = project["optional-dependencies"].values()
    for requirement in [*project["dependencies"], *(one for extra in extras for one in extra)]:
        name = re.split(r"[\[>=<; ]", requirement)[0].lower().replace("_", "-")
        assert name in {*pins, project["name"]}, requirement  # an extra may name others of the same project
