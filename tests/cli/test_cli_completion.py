"""Completion: what bash offers for a line, and that all flags of all commands are offered."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from lantm.cli import COMMANDS
from lantm.cli.completion import flags
from lantm.trained import zoo


@pytest.mark.parametrize("command", COMMANDS)
def test_every_flag_of_the_help_is_offered(lantm, command: str) -> None:
    listed = set(re.findall(r"(?:^ +|, )(--[a-z][a-z-]*)", lantm(command, "--help").out, re.MULTILINE))
    offered = {flag.name for flag in flags(command)}
    # The help of train is that of one model, the help of zoo that of the list alone.
    assert offered == listed if command not in ("train", "zoo") else offered > listed


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
@pytest.mark.parametrize(
    ("line", "offered"),
    [
        (["tr"], {"train", "trace"}),
        (["train", "rev"], {"reverse"}),
        (["train", "copy", "--recip"], {"--recipe"}),
        (["train", "copy", "--recipe", "ro"], {"robust"}),
        (["solve", "copy-"], {name for name in zoo.names() if name.startswith("copy-")}),
        (["eval", "run"], {"run folder"}),
    ],
)
def test_what_bash_offers(
    lantm, tmp_path_factory: pytest.TempPathFactory, line: list[str], offered: set[str], script: pathlib.Path
) -> None:
    folder = tmp_path_factory.mktemp("files")
    (folder / "run folder").mkdir()
    words = " ".join(f'"{word}"' for word in ("lantm", *line))
    ask = f'source "{script}"; COMP_WORDS=({words}); COMP_CWORD={len(line)}; _lantm; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run(["bash", "-c", ask], capture_output=True, text=True, cwd=folder, check=True)
    assert (set(done.stdout.splitlines()), done.stderr) == (offered, "")


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    from lantm.cli.completion import _bash

    path = tmp_path_factory.mktemp("completion") / "lantm.bash"
    path.write_text(_bash("bash"))
    return path


def test_the_scripts_of_other_shells(lantm) -> None:
    assert lantm("completion", "zsh").out.endswith(lantm("completion", "bash").out)
    lines = lantm("completion", "fish").out.splitlines()
    within = "complete -c lantm -n '__fish_seen_subcommand_from train'"
    assert f"{within} -l squash-vectors -x -a 'tanh sigmoid'" in lines
    assert f"{within} -l epochs -r" in lines
    assert all(line.startswith("complete -c lantm ") for line in lines)
    said = lantm("completion", "tcsh")
    assert (said.status, said.err.count("\n")) == (2, 1)


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_what_the_help_says_to_type_works_in_a_new_home(lantm, tmp_path: pathlib.Path) -> None:
    """No shell makes the folders of its completions by itself."""
    lines = lantm("completion", "--help").out.splitlines()
    typed = [line.strip() for line in lines if line.startswith("    ")]
    assert len(typed) == 6
    home, programs = tmp_path / "home", tmp_path / "programs"
    home.mkdir()
    programs.mkdir()
    (programs / "lantm").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m lantm "$@"\n')
    (programs / "lantm").chmod(0o755)
    around = {**os.environ, "HOME": str(home), "PATH": f"{programs}:{os.environ['PATH']}"}
    subprocess.run(["bash", "-ec", "\n".join(typed)], env=around, check=True)
    assert (home / ".local/share/bash-completion/completions/lantm").read_text() == lantm("completion", "bash").out
    assert (home / ".config/fish/completions/lantm.fish").read_text() == lantm("completion", "fish").out
    assert (home / ".lantm-completion").read_text() == lantm("completion", "zsh").out
    assert (home / ".zshrc").read_text() == "source ~/.lantm-completion\n"
