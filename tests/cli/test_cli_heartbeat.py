"""No command is silent for long, wherever its output goes."""

import itertools
import json
import os
import subprocess
import sys
import time

import pytest

from lantm.cli import COMMANDS

# A command that takes its time, and says something only at its end.
SLOW = """
import sys, time
import lantm.cli.info
def main(words):
    {work}
    print("[1]")
    return 0
lantm.cli.info.main = main
try:
    import lantm.cli.heartbeat as heartbeat
    heartbeat.AT_FIRST, heartbeat.SILENCE = 0.3, 0.6
except ImportError:
    pass
sys.argv = ["lantm", "info"]
from lantm.cli import entry
entry()
"""


def slow(work: str) -> tuple[list[str], str]:
    """The lines on standard error, and what is on standard output."""
    command = [sys.executable, "-c", SLOW.format(work=work)]
    ended = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=True)
    return ended.stderr.splitlines(), ended.stdout


def test_what_takes_long_is_named() -> None:
    said, out = slow("time.sleep(2.5)")
    assert len(said) >= 2
    assert said[0] == "lantm: at work, 1 s since the start"
    assert json.loads(out) == [1]


def test_it_is_named_soon_after_it_began() -> None:
    work = "from lantm.cli.output import working\n    with working('adding up'):\n        time.sleep(0.8)"
    assert slow(work)[0][0] in ("lantm: adding up, 0 s since the start", "lantm: adding up, 1 s since the start")


def test_a_bar_is_told_in_words() -> None:
    work = (
        "from lantm.cli.output import Display; from rich.console import Console\n"
        "    with Display(Console(stderr=True), total=8, epoch='epoch 2') as display:\n"
        "        display._progress.update(display._bar, completed=4, status='loss 3')\n"
        "        time.sleep(0.8)"
    )
    assert slow(work)[0][0].startswith("lantm: epoch 2, loss 3, 50%, ")


def test_who_speaks_is_left_alone() -> None:
    assert slow("[(time.sleep(0.1), print(end=' ')) for _ in range(15)]")[0] == []


def test_who_waits_for_the_user_is_silent() -> None:
    assert slow("from lantm.cli.heartbeat import doing\n    with doing(''):\n        time.sleep(1.5)")[0] == []


def test_nobody_listens() -> None:
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", sys.executable, "-c", SLOW.format(work="time.sleep(1.5)")],
        capture_output=True,
        text=True,
    )
    assert (ended.returncode, ended.stdout) == (0, "[1]\n")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        ("train", "copy", "--recipe", "demo", "--seeds", "2", "--epochs", "30"),
        ("eval", "copy", "--scales", "1", "2"),
        ("verify", "copy", "--length", "200", "--problems", "200"),
        ("view", "copy"),
    ],
)
def test_the_longest_silence(words: tuple[str, ...], tmp_path) -> None:
    """Nothing is compiled yet, and the output is a pipe."""
    assert words[0] in COMMANDS
    heard = [time.monotonic()]
    with subprocess.Popen(
        [sys.executable, "-m", "lantm", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=tmp_path,
        env={**os.environ, "XDG_CACHE_HOME": str(tmp_path)},
    ) as process:
        assert process.stdout is not None
        while os.read(process.stdout.fileno(), 1 << 16):
            heard.append(time.monotonic())
    heard.append(time.monotonic())
    assert process.returncode == 0
    assert max(after - before for before, after in itertools.pairwise(heard)) < 10
