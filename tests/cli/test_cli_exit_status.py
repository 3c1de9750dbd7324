"""How commands end where something else fails: one line, and a status that is not 0."""

import io
import os
import pathlib
import subprocess
import sys
from collections.abc import Callable

import pytest
from rich.console import Console

from lantm.cli import main, train
from lantm.cli.exit_status import status_after
from lantm.devices import on_cpu
from lantm.errors import LantmError

LEAVES = """
from lantm.tasks import Copy
class AtOnce(Copy):
    def __post_init__(self):
        raise SystemExit(0)
class Later(Copy):
    def __post_init__(self):
        1 // 0
"""


@pytest.fixture
def own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a module of the user's into the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])

    def write(name: str, text: str) -> None:
        (tmp_path / f"{name}.py").write_text(text)

    return write


def test_modules_that_leave(lantm, own) -> None:
    own("leaving", "raise SystemExit(0)")
    own("generating", "raise GeneratorExit")
    own("odd", "class Odd(BaseException): pass\nraise Odd('one')")
    own("leaves", LEAVES)
    own("mute", "class Mute(Exception):\n    def __str__(self): raise ValueError\nraise Mute")
    for name, said in (
        ("leaving:Task", "lantm: cannot import the task 'leaving:Task': SystemExit: 0"),
        ("generating:Task", "lantm: cannot import the task 'generating:Task': GeneratorExit; "),
        ("mute:Task", "lantm: cannot import the task 'mute:Task': Mute; modules are searched for"),
        ("odd:Task", "lantm: cannot import the task 'odd:Task': Odd: one"),
        ("leaves:AtOnce", r"leaves.py, line 5, raised SystemExit: 0"),
        ("leaves:Later", r"leaves.py, line 8, raised ZeroDivisionError: integer division or modulo by zero"),
    ):
        ended = lantm("train", name)
        assert ended.status == 2
        assert said in ended.err
        assert ended.err.count("\n") == 1
        assert ended.out == ""


def test_a_module_whose_threads_go_on(own) -> None:
    """Python would wait for them at its end."""
    own("lingering", "import threading\nthreading.Thread(target=threading.Event().wait).start()")
    command = [sys.executable, "-m", "lantm", "info", "lingering:Task"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 2
    assert ended.stderr.startswith("lantm: module 'lingering' has no 'Task'")


def test_a_fault_of_ours_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lantm.cli.info.main", lambda words: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        main(["info"])
    with pytest.raises(ZeroDivisionError):
        status_after(ZeroDivisionError())


def test_an_output_without_our_characters(monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", write_through=True))
    assert main(["zoo"]) == 0
    assert b"machines of the zoo" in written.getvalue()
    monkeypatch.setattr("lantm.cli.HELP", "≥ {commands}")
    for errors in ("strict", "surrogateescape"):  # the latter in the C locale
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "ascii", errors, write_through=True))
        assert main(["--help"]) == 0
        assert b"? " in written.getvalue()


def test_an_output_that_is_closed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", None)
        assert main(["zoo"]) == 2
    assert capsys.readouterr().err == "lantm: standard output is closed: send it to a file, or to /dev/null\n"
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", None)
        assert main(["nothing"]) == 2
        sys.stderr.close()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", None)
        assert main(["solve", "copy", "-"]) == 2
    assert "standard input is closed" in capsys.readouterr().err


def test_a_process_whose_output_is_closed() -> None:
    said = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m lantm zoo >&-"], stderr=subprocess.PIPE, text=True, check=False
    )
    assert said.returncode == 2
    assert said.stderr == "lantm: standard output is closed: send it to a file, or to /dev/null\n"


def test_an_input_without_end(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """As `yes` or /dev/zero write: it is read as far as a problem can reach."""

    class Endless(io.StringIO):
        def read(self, size: int | None = -1) -> str:
            assert size is not None
            assert size >= 0, "it would never come back"
            return "y" * size

    monkeypatch.setattr(sys, "stdin", Endless())
    assert main(["solve", "copy", "-"]) == 2
    said = capsys.readouterr().err
    assert said == "lantm: standard input has more than 10,000,000 characters: give a shorter problem\n"


class Gone(io.StringIO):
    """An output whose reader goes away after some lines, as `head` does."""

    def __init__(self, lines: int):
        super().__init__()
        self._lines = lines

    def write(self, text: str) -> int:
        self._lines -= text.count("\n")
        if self._lines < 0:
            raise BrokenPipeError(32, "Broken pipe")
        return super().write(text)

    def fileno(self) -> int:
        raise OSError("it has none")


def test_a_training_whose_reader_goes_away_is_saved(
    lantm, tiny_flags: list[str], tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `lantm train ... | head -1`."""

    def quiet(console: Console) -> None:
        console.quiet = True
        raise SystemExit(1)  # as the library does it, which also redirects the process's output

    monkeypatch.setattr(Console, "on_broken_pipe", quiet)
    monkeypatch.setattr(train, "Console", lambda **options: Console(file=Gone(1)))
    monkeypatch.setattr("lantm.cli.exit_status.os.dup2", lambda *files: None)
    said = lantm("train", *tiny_flags, "--seeds", 1, "--out", tmp_path / "run")
    assert said.status == 141
    assert said.err == (
        "lantm: the output was closed too early; stopped after epoch 2 and saved; continue with: "
        f"lantm train --resume {tmp_path / 'run'}\n"
    )
    assert (tmp_path / "run" / "checkpoints" / "epoch-000002.safetensors").exists()


@pytest.mark.skipif(not on_cpu(), reason="there is such a device")
@pytest.mark.parametrize("name", ["JAX_PLATFORMS", "JAX_PLATFORM_NAME"])
def test_a_device_that_there_is_not(name: str) -> None:
    """JAX fails an assertion of its own."""
    ended = subprocess.run(
        [sys.executable, "-m", "lantm", "solve", "copy", "hello"],
        capture_output=True, text=True, env={**os.environ, name: "cuda"}, timeout=120,
    )  # fmt: skip
    assert ended.returncode == 2
    assert ended.stderr.startswith(f"lantm: JAX cannot use {name}=cuda here: unset it")
    assert "Traceback" not in ended.stderr


def test_more_problems_than_can_be_counted(lantm) -> None:
    for words in ("eval copy", "verify copy --length 4", "zoo add copy --shelf nowhere"):
        said = lantm(*words.split(), "--problems", 99_999_999_999)
        assert (said.status, said.out) == (2, "")
        assert said.err == "lantm: problems is 99999999999: give a whole number from 1 to 10,000,000\n"


def test_a_line_is_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert status_after(LantmError("one\nof\r\nmany")) == 2
    assert capsys.readouterr().err == "lantm: one of many\n"
