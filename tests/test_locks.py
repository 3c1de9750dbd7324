"""Locks: one process at a time changes a folder, and a process that has died is no obstacle."""

import os
import pathlib
import signal
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from lantm.errors import LantmError
from lantm.locks import LOCK_FILES, locked
from lantm.training import RunFolder

HOLDS = """
import pathlib, sys
from lantm.locks import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def held() -> Iterator[Callable[[pathlib.Path], subprocess.Popen[str]]]:
    """Has another process hold the lock of a folder, until the end of its input."""
    begun: list[subprocess.Popen[str]] = []

    def hold(folder: pathlib.Path) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLDS, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        begun.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in begun:
        process.communicate()


def test_it_says_who_holds_it_and_is_free_again(held, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "run"
    process = held(folder)
    who = rf"another process works in .*run \(process {process.pid} on {socket.gethostname()}, since 20\d\d-"
    with pytest.raises(LantmError, match=who), locked(folder):
        pass
    process.communicate()
    with locked(folder):
        assert {path.name for path in folder.iterdir()} == LOCK_FILES
    assert {path.name for path in folder.iterdir()} < LOCK_FILES


def test_a_lock_left_by_a_dead_process_is_no_obstacle(held, tmp_path: pathlib.Path) -> None:
    process = held(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (tmp_path / ".holder.json").exists(), "it had no time to tidy up"
    with locked(tmp_path):
        assert str(os.getpid()) in (tmp_path / ".holder.json").read_text()


def test_who_holds_it_may_take_it_again_but_no_other_thread(tmp_path: pathlib.Path) -> None:
    refused: list[str] = []

    def other() -> None:
        try:
            with locked(tmp_path):
                pass
        except LantmError as error:
            refused.append(str(error))

    with locked(tmp_path):
        with locked(tmp_path / "." / ""):
            pass
        assert (tmp_path / ".holder.json").exists()
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert len(refused) == 1
    other()
    assert len(refused) == 1


def test_a_note_that_cannot_be_read_does_no_harm(held, tmp_path: pathlib.Path) -> None:
    held(tmp_path)
    for text in ("", "[]", '{"pid": "1"}', '{"pid": 1, "host": 3, "since": null}'):
        (tmp_path / ".holder.json").write_text(text)
        with (
            pytest.raises(LantmError, match=r"another process works in \S*: wait for its end or stop it"),
            locked(tmp_path),
        ):
            pass


def test_who_reads_does_without_where_nothing_can_be_written(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").touch()
    with locked(tmp_path / "file", reads=True):
        pass
    with pytest.raises(LantmError, match="it is a file; give the name of a folder"), locked(tmp_path / "file"):
        pass


def test_what_is_in_the_place_of_the_note_stays(tmp_path: pathlib.Path) -> None:
    os.mkfifo(tmp_path / ".holder.json")
    with locked(tmp_path):
        pass
    assert stat.S_ISFIFO((tmp_path / ".holder.json").stat().st_mode)


def test_commands_that_change_a_run_hold_its_lock(lantm, copy_of_run, held, tmp_path: pathlib.Path) -> None:
    run = copy_of_run()
    process = held(run.path)
    before = (run.path / "metrics.jsonl").read_bytes()
    for words in (["train", "--resume", run.path], ["report", run.path], ["zoo", "add", run.path, "--shelf", tmp_path]):
        said = lantm(*words)
        assert said.status == 2, words
        assert said.err.count("\n") == 1
        assert f"(process {process.pid} on " in said.err
    assert (run.path / "metrics.jsonl").read_bytes() == before
    assert not (run.path / "report.html").exists()
    assert lantm("info", run.path).status == 0, "who only reads is let in"


def test_who_is_late_to_make_a_run_is_told_who_makes_it(held, tiny, tmp_path: pathlib.Path) -> None:
    """The first one has a file there that is not whole yet."""
    process = held(tmp_path)
    (tmp_path / f".experiment.json.{process.pid}.tmp").touch()
    with pytest.raises(LantmError, match=rf"another process works in .* \(process {process.pid} on "):
        RunFolder.create(tmp_path, tiny, {})
    process.communicate()
    assert RunFolder.create(tmp_path, tiny, {}).exists(), "what a dead process left is no obstacle"
