"""Files: whole or not there, and JSON that says what is wrong with it."""

import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from lantm import files
from lantm.errors import LantmError
from lantm.files import file_name, free_path, read_json_object, write_json, write_whole


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
