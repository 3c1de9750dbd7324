"""Files: whole or not there, and JSON that says what is wrong with it."""

import json
import os
import pathlib
import socket
import stat
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from lantm import files
from lantm.errors import LantmError
from lantm.files import (
    check_file,
    check_folder,
    check_links,
    destination,
    file_name,
    free_path,
    leftovers,
    read_json_object,
    temporary_path,
    write_json,
    write_whole,
)


@pytest.fixture
def saved(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "folder" / "tree.json"
    write_json(path, {"a": 1})
    return path


def fails(*args: Any, **options: Any) -> None:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("function", ["replace", "fsync"])
def test_a_failure_leaves_the_old_file_and_nothing_else(
    saved: pathlib.Path, monkeypatch: pytest.MonkeyPatch, function: str
) -> None:
    before = saved.read_bytes()
    monkeypatch.setattr(files.os, function, fails)
    with pytest.raises(LantmError, match=r"cannot write .*tree.json: No space left on device"):
        write_json(saved, {"other": [0] * 5})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_an_interruption_leaves_the_old_file_and_nothing_else(
    saved: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*args: Any) -> None:
        raise KeyboardInterrupt

    before = saved.read_bytes()
    monkeypatch.setattr(files.os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_json(saved, {"other": [0] * 5})
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_the_file_is_synced_before_it_takes_the_name(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def recorded(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            calls.append(name)
            return function(*args)

        return call

    monkeypatch.setattr(files.os, "fsync", recorded("fsync", os.fsync))
    monkeypatch.setattr(files.os, "replace", recorded("replace", os.replace))
    write_whole(tmp_path / "file", b"data")
    assert calls == ["fsync", "replace", "fsync"], "the file, its name, its folder"


def test_a_folder_that_cannot_be_made(tmp_path: pathlib.Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(LantmError, match="cannot write"):
        write_whole(tmp_path / "file" / "folder" / "other", b"data")


def test_a_folder_that_is_not_writable(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a disk that is read-only: this is known before there is anything to write."""
    monkeypatch.setattr(files.os, "access", lambda path, mode: path != tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "link", tmp_path / "new" / "folder" / "file"):
        with pytest.raises(LantmError, match=f"cannot write {path}: the folder {tmp_path} is not writable"):
            destination(path)
    for path in (tmp_path, tmp_path / "new" / "folder"):
        with pytest.raises(LantmError, match=f"cannot write {path}: the folder {tmp_path} is not writable"):
            check_folder(path)
    assert destination(tmp_path.parent / "file") == tmp_path.parent / "file"


# JSON.


def test_json_there_and_back(saved: pathlib.Path) -> None:
    assert read_json_object(saved) == {"a": 1}
    assert saved.read_text().endswith("}\n")
    assert json.loads(saved.read_text()) == {"a": 1}


@pytest.mark.parametrize("text", ["", "{", "5", "[]", "null", "\x00", "[" * 100_000], ids=lambda text: repr(text[:5]))
def test_what_is_no_json_object(saved: pathlib.Path, text: str) -> None:
    saved.write_text(text)
    with pytest.raises(LantmError, match=r"tree\.json .*; delete it") as caught:
        read_json_object(saved, "delete it")
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_told_apart(tmp_path: pathlib.Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_json_object(tmp_path / "nothing.json")


# Names.


@pytest.mark.parametrize(("text", "name"), [("copy", "copy"), ("a:B[c=1]", "a-B-c-1"), ("../x y", "x-y")])
def test_names_of_files(text: str, name: str) -> None:
    assert file_name(text) == name


def test_a_path_that_is_free(tmp_path: pathlib.Path) -> None:
    assert free_path(tmp_path / "run") == tmp_path / "run"
    for expected in ("run", "run-2", "run-3"):
        path = free_path(tmp_path / "run")
        assert path.name == expected
        path.mkdir()


# What is no file.


@pytest.fixture
def no_files(tmp_path: pathlib.Path) -> dict[str, pathlib.Path]:
    """Things that are not files, by their kind."""
    found = {kind: tmp_path / kind.replace(" ", "-") for kind in ("a folder", "a pipe", "a socket")}
    found["a folder"].mkdir()
    os.mkfifo(found["a pipe"])
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(os.path.relpath(found["a socket"]))  # names of sockets are short
    return {**found, "a device": pathlib.Path(os.devnull)}


def test_only_files_are_replaced(no_files: dict[str, pathlib.Path]) -> None:
    for kind, path in no_files.items():
        with pytest.raises(LantmError, match=f"cannot write .*: it is {kind}; give the name of a file"):
            destination(path)
        if kind != "a device":  # a mistake here would replace it
            before = path.lstat()
            with pytest.raises(LantmError, match=f"it is {kind}"):
                write_whole(path, b"new")
            assert (path.lstat().st_ino, path.lstat().st_mode) == (before.st_ino, before.st_mode)


def test_only_files_are_read(no_files: dict[str, pathlib.Path]) -> None:
    for kind, path in no_files.items():
        with pytest.raises(LantmError, match=f"is {kind}, not a file; remove it"):
            read_json_object(path, "remove it")


def test_files_that_are_too_large_are_not_read(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "large.json"
    with open(path, "wb") as file:
        file.truncate(files.LARGEST_JSON + 1)  # of holes, which take no room
    with pytest.raises(LantmError, match="has 67,108,865 bytes: such a file has at most 67,108,864"):
        read_json_object(path)
    check_file(path)


def test_a_link_stays_a_link_and_its_file_is_written(saved: pathlib.Path, tmp_path: pathlib.Path) -> None:
    link = tmp_path / "link.json"
    link.symlink_to(os.path.relpath(saved, tmp_path))
    write_json(link, {"b": 2})
    assert link.is_symlink()
    assert json.loads(saved.read_text()) == {"b": 2}
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


def test_links_that_lead_to_no_file_are_refused(no_files: dict[str, pathlib.Path], tmp_path: pathlib.Path) -> None:
    places = {"nothing": tmp_path / "nothing", "itself": tmp_path / "link-to-itself", **no_files}
    for name, target in places.items():
        link = tmp_path / f"link-to-{name}"
        link.symlink_to(target)
        with pytest.raises(LantmError, match="it is a link, but not to a file"):
            write_whole(link, b"new")
        assert link.is_symlink()
    assert stat.S_ISFIFO(no_files["a pipe"].stat().st_mode)


def test_links_in_a_folder_to_files_elsewhere_are_refused(saved: pathlib.Path, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "run"
    (folder / "below").mkdir(parents=True)
    (folder / "file").touch()
    (folder / "to-a-file-here").symlink_to("file")
    (folder / "to-a-folder").symlink_to(saved.parent)
    check_links(folder)
    for place in (folder / "report.html", folder / "below" / "report.html"):
        place.symlink_to(os.path.relpath(saved, place.parent))
        with pytest.raises(LantmError, match=r"report.html there is a link to \S*; remove the link"):
            check_links(folder)
        place.unlink()


def test_what_a_dead_process_left_is_told_from_what_a_live_one_writes(tmp_path: pathlib.Path) -> None:
    """The temporary files of other processes, and of other computers that share the folder, are not ours to delete."""
    ended = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)
    dead, own = int(ended.stdout), temporary_path(tmp_path / "metrics.jsonl").name
    assert own.startswith(f".metrics.jsonl.{os.getpid()}@")
    host = own.partition("@")[2]
    gone = {own, f".a.b.{dead}@{host}", f".of-an-older-version.{dead}.tmp", f".huge.{10**30}.tmp"}
    stays = {f".a.{os.getppid()}@{host}", f".a.{dead}@elsewhere.tmp", ".hidden", "mine.tmp"}
    for name in gone | stays:
        (tmp_path / name).touch()
    assert {path.name for path in leftovers(tmp_path)} == gone
