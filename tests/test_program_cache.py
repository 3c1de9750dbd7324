"""Compiled programs that are kept: where, and what must not be read."""

import os
import pathlib
import subprocess
import sys

import pytest

from lantm import program_cache

ASK = """
import jax
from lantm.program_cache import keep_programs
keep_programs()
print(jax.config.jax_compilation_cache_dir)
"""


@pytest.fixture
def own(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """A folder for caches, below folders that are the user's alone."""
    base = tmp_path / "cache"
    base.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(base))
    return base


def test_a_folder_of_the_users_own_is_made(own: pathlib.Path) -> None:
    folder = program_cache.own_folder("programs")
    assert folder is not None
    assert own in folder.parents
    made = [folder, *[parent for parent in folder.parents if own in parent.parents]]
    assert len(made) == 3
    assert all(one.stat().st_mode & 0o777 == 0o700 for one in made)
    assert program_cache.own_folder("programs") == folder


@pytest.mark.parametrize("place", [".", "lantm", "lantm/programs"])
def test_a_folder_that_others_can_write_to_is_not_used(own: pathlib.Path, place: str) -> None:
    folder = program_cache.own_folder("programs")
    assert folder is not None
    (own / place).chmod(0o770)
    assert program_cache.own_folder("programs") is None


def test_a_folder_of_somebody_elses_is_not_used(own: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = program_cache.own_folder("programs")
    assert folder is not None
    if os.getuid() == 0:
        os.chown(folder, 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert program_cache.own_folder("programs") is None


def test_a_link_is_followed_before_it_is_judged(own: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_to_all = own / "open"
    open_to_all.mkdir()
    open_to_all.chmod(0o777)
    (own / "link").symlink_to(open_to_all)
    monkeypatch.setenv("XDG_CACHE_HOME", str(own / "link"))
    assert program_cache.own_folder("programs") is None


def test_without_a_place_nothing_is_kept(own: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (own / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(own / "file"))
    assert program_cache.own_folder("programs") is None


def test_what_a_killed_process_left_is_removed(own: pathlib.Path) -> None:
    folder = program_cache.own_folder("programs")
    assert folder is not None
    for name in ("whole-cache", "whole-atime", "broken-cache"):
        (folder / name).write_bytes(b"12345678")
    assert program_cache.own_folder("programs") == folder
    assert {path.name for path in folder.glob("*-*")} == {"whole-cache", "whole-atime"}


@pytest.mark.parametrize("named", [None, "there"])
def test_a_folder_that_jax_was_told_of_is_kept(
    own: pathlib.Path, monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    monkeypatch.delenv("JAX_COMPILATION_CACHE_DIR", raising=False)
    if named is not None:
        monkeypatch.setenv("JAX_COMPILATION_CACHE_DIR", str(own / named))
    said = subprocess.run([sys.executable, "-c", ASK], capture_output=True, text=True, check=True).stdout.strip()
    expected = program_cache.own_folder("programs") if named is None else own / named
    assert said == str(expected)
