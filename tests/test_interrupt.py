"""Ctrl-C and SIGTERM end a process of ours while its main thread is in the middle of native code, and save first."""

import contextlib
import os
import pty
import signal
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pytest
from safetensors.numpy import load_file

from lantm.interrupt import ended_at_once, ended_soon, interruptible, saved_at_the_end
from lantm.training import RunFolder, load_learners, train

# A function in C that takes hours and lets other threads run: so does a compilation.
STUCK = "__import__('hashlib').pbkdf2_hmac('sha256', b'', b'', 2**31 - 1)"

WAITING = f"""
from lantm.interrupt import ended_soon, interruptible
with ended_soon(), interruptible(afterwards="run it again"):
    print("stuck", flush=True)
    {STUCK}
"""

TRAINING = f"""
import pathlib, sys
from lantm.interrupt import ended_soon, interruptible
from lantm.training import RunFolder, train

def watch(progress):
    if progress.report is not None and progress.epoch == 6:
        print("stuck", flush=True)
        {STUCK}

with ended_soon(), interruptible() as interrupted:
    folder = RunFolder(pathlib.Path(sys.argv[1]))
    train(folder.experiment(), folder, watch=watch, stop=interrupted)
"""


def ended(number: signal.Signals, *command: str) -> tuple[int, str]:
    """The status of a process that was sent a signal once it was stuck, and its last line."""
    with subprocess.Popen(
        [sys.executable, "-c", *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stuck\n", process.communicate()[1]
        process.send_signal(number)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
        return process.returncode, err.splitlines()[-1]


def test_a_process_that_is_stuck() -> None:
    assert ended(signal.SIGTERM, WAITING) == (130, "lantm: interrupted; run it again")


def test_an_interruption_that_a_destructor_swallows() -> None:
    """Python shows a traceback of it and goes on."""
    code = f"""
from lantm.interrupt import ended_soon, raised
class Slow:
    def __del__(self):
        print("stuck", flush=True)
        while True:
            pass
with ended_soon(), raised():
    Slow()
    {STUCK}
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "stuck\n"
        process.send_signal(signal.SIGINT)
        try:
            _, err = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, err) == (130, "lantm: interrupted\n")


def test_the_last_line_of_a_terminal_is_that_of_the_end() -> None:
    """And not the live line, which would stay there before the prompt of the shell."""
    code = f"""
from lantm.cli.output import working
from lantm.interrupt import ended_soon, interruptible
with ended_soon(), interruptible(), working("answering"):
    {STUCK}
"""
    ours, its = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stdin=its, stdout=its, stderr=its) as process:
        os.close(its)
        seen = b""
        try:
            while b"answering" not in seen:
                seen += os.read(ours, 1024)
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(OSError):  # as a terminal ends
                while more := os.read(ours, 1024):
                    seen += more
        finally:
            process.kill()
            os.close(ours)
    assert seen.endswith(b"lantm: interrupted\r\n")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_import_is_ended_on_the_spot(number: signal.Signals) -> None:
    """An exception in the middle of it would leave modules half imported, and who meets one fails in its own way."""
    script = f"""
import importlib, os, signal, sys
import lantm.cli
def half_done(name):
    try:
        signal.raise_signal({int(number)})
    finally:
        raise AttributeError("partially initialized module")
importlib.import_module = half_done
sys.argv = ["lantm", "zoo"]
lantm.cli.entry()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "lantm: interrupted\n")


def test_what_is_ignored_stays_so_and_handlers_come_back() -> None:
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        usual = signal.getsignal(signal.SIGINT)
        with ended_at_once():
            assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) is not usual
        assert signal.getsignal(signal.SIGINT) is usual
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_training_that_is_stuck_saves_first(tiny, trained, tmp_path) -> None:
    """At the end of the last epoch: what was there before that epoch is saved, and resumed to the same end."""
    folder = RunFolder.create(tmp_path / "run", tiny, {})
    status, err = ended(signal.SIGINT, TRAINING, str(folder.path))
    assert (status, err) == (130, "lantm: interrupted")
    assert load_learners(folder, tiny, tiny.source())[0] == 5
    assert folder.seconds > 0
    assert train(tiny, folder, resume=True).complete
    task = tiny.source()
    ours, theirs = (list(one.recordings(task, 2)) for one in (folder, trained.folder))
    assert [epoch for epoch, _ in ours] == [1, 2, 3, 4, 5, 6], "that of epoch 5 had not been run before"
    for (_, one), (_, other) in zip(ours, theirs, strict=True):
        assert one.heads.keys.tolist() == other.heads.keys.tolist()
    assert list(folder.metrics()) == list(trained.folder.metrics())
    found, expected = (load_file(one.path / "checkpoints/epoch-000006.safetensors") for one in (folder, trained.folder))
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, f"{name} bit for bit")
    assert not list(folder.path.rglob("*waiting*"))


def test_what_ends_by_itself_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Within the time it has: nothing is saved by the other thread, and the process is not ended."""
    saved: list[Callable[[], object]] = []
    with ended_soon() as came, saved_at_the_end(lambda: saved.append), interruptible("stopping") as interrupted:
        assert not came()
        signal.raise_signal(signal.SIGINT)
        while not (came() and interrupted()):
            pass
    assert saved == []


def test_no_file_stays_open() -> None:
    """Commands may run one after the other in a process, as in a notebook or in these tests."""

    def files_open() -> int:
        return len(os.listdir("/dev/fd"))

    before = files_open()
    for _ in range(10):  # what other tests left open may be closed meanwhile, but not so many files
        with ended_soon():
            pass
    limit = time.monotonic() + 10
    while files_open() > before and time.monotonic() < limit:
        time.sleep(0.01)  # a thread closes the last one
    assert files_open() <= before


def test_the_first_tenth_of_a_second() -> None:
    """Before it hears signals, a command imports nothing that Python or its own script has not imported already."""
    program = "import sys, signal, re; before = {*sys.modules}; import lantm.cli; print(*{*sys.modules} - before)"
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) == {"lantm", "lantm.cli"}


BEFORE_THE_COMMAND = """
import sys, time
class Slow:
    def find_spec(self, name, path, target=None):
        if name.startswith("lantm."):
            print("stuck", flush=True)
            time.sleep(60)
from lantm.cli import entry
sys.meta_path.insert(0, Slow())
sys.argv = ["lantm", "info"]
entry()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_before_a_command_begins(number: signal.Signals) -> None:
    assert ended(number, BEFORE_THE_COMMAND) == (130, "lantm: interrupted")


WITHIN_A_COMMAND = """
import sys, time
import lantm.cli.info
def main(words):
    print("stuck", flush=True)
    time.sleep(60)
lantm.cli.info.main = main
sys.argv = ["lantm", "info"]
from lantm.cli import entry
entry()
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_a_command_that_has_no_handler_of_its_own(number: signal.Signals) -> None:
    assert ended(number, WITHIN_A_COMMAND) == (130, "lantm: interrupted")
