"""The README tells the truth: its code runs, its tables are those of results/, its commands and files exist."""

import pathlib
import re
import subprocess
import sys

from lantm.cli import COMMANDS

ROOT = pathlib.Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_its_python_runs() -> None:
    for code in re.findall(r"```python\n(.*?)```", README, re.DOTALL):
        exec(compile(code, "README.md", "exec"), {})


def test_its_tables_are_those_of_the_results() -> None:
    checked = subprocess.run(
        [sys.executable, ROOT / "tools" / "readme.py", "--check"], capture_output=True, text=True, check=False
    )
    assert checked.returncode == 0, checked.stderr


def test_its_commands_exist() -> None:
    named = set(re.findall(r"^    lantm (\w+)", README, re.MULTILINE))
    assert named
    assert named <= set(COMMANDS)


def test_its_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_it_is_short() -> None:
    assert len(README.splitlines()) <= 130


def test_the_tree_is_the_tree() -> None:
    tree = (ROOT / "docs" / "tree.md").read_text()
    inside = tree.partition("src/lantm/\n")[2]
    for name in re.findall(r"^      ([\w./]+)", inside, re.MULTILINE):
        assert (ROOT / "src/lantm" / name).exists(), name
    for name in re.findall(r"^    ([\w]+/) ", tree, re.MULTILINE):
        assert (ROOT / name).exists(), name
    for part, files in re.findall(r"^      ([\w.]+)/ ((?:.*\n {22})*.*)", inside, re.MULTILINE):
        folder = ROOT / "src/lantm" / part
        for name in re.findall(r"\w+\.py|\b\w+/", files):
            assert list(folder.rglob(name.rstrip("/"))), f"{part}/{name}"
    listed = set(re.findall(r"^      ([\w.]+)/", inside, re.MULTILINE))
    folders = {path.name for path in (ROOT / "src/lantm").iterdir() if path.is_dir() and not path.name.startswith("_")}
    assert listed == folders
