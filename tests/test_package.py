"""The package: its metadata agree with each other, and its wheel works where nothing else is installed."""

import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import venv
import zipfile

import pytest

import lantm

ROOT = pathlib.Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_one_version_everywhere() -> None:
    assert f"\nversion: {lantm.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    newest = re.search(r"^## (\S+), (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest
    assert newest[1] == lantm.__version__
    assert f"\ndate-released: {newest[2]}\n" in (ROOT / "CITATION.cff").read_text()


def test_all_has_what_any_command_may_ask_for() -> None:
    """The errors of commands name the package that is missing: `all` brings each of them, and nothing else."""
    text = "".join(path.read_text() for path in (ROOT / "src/lantm").rglob("*.py"))
    named = set(re.findall(r"pip install ([\w-]+)", text))
    extras = PROJECT["optional-dependencies"]

    def brought(extra: str) -> set[str]:
        packages: set[str] = set()
        for wanted in extras[extra]:
            name, _, others = wanted.partition("[")
            packages |= (
                {one for other in re.findall(r"\w+", others) for one in brought(other)}
                if others
                else {re.split(r"[<>=]", name)[0]}
            )
        return packages

    assert brought("all") == named == {"matplotlib", "imageio-ffmpeg", "ray", "pyarrow"}


@pytest.mark.thorough
def test_the_wheel_works_in_an_empty_environment(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("build")
    subprocess.run([sys.executable, "-m", "build", "--outdir", tmp_path, ROOT], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    assert len(list(tmp_path.glob("*.tar.gz"))) == 1
    names = zipfile.ZipFile(wheel).namelist()
    assert {name.split("/")[0] for name in names} == {"lantm", f"lantm-{lantm.__version__}.dist-info"}

    venv.create(tmp_path / "empty", with_pip=True)
    bin_folder = tmp_path / "empty" / "bin"
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}

    def run(*command: object) -> str:
        done = subprocess.run(
            [*map(str, command)], capture_output=True, text=True, cwd=tmp_path, env=clean, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    run(bin_folder / "python", "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", wheel)
    assert run(bin_folder / "lantm", "--version") == f"lantm {lantm.__version__}\n"
    assert json.loads(run(bin_folder / "lantm", "solve", "copy", "hello", "--json"))["answer"] == "hello"
    assert json.loads(run(bin_folder / "lantm", "info", "copy-lantm-invnorm", "--json"))["task"] == "copy"
    assert json.loads(run(bin_folder / "lantm", "doctor", "--json"))["lantm"] == lantm.__version__
    example = (
        f"import sys; sys.path.append({str(ROOT / 'examples')!r}); import train_in_ten_lines as e; e.main(epochs=1)"
    )
    assert "hello, world -> " in run(bin_folder / "python", "-c", example)
