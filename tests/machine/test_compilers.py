"""What becomes of compilers that fail, of threads that compile the same, and of kernels that fail."""

import concurrent.futures
import ctypes
import os
import pathlib
import stat

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lantm.errors import LantmError
from lantm.machine import compilers

pytestmark = pytest.mark.usefixtures("c_compiler")


@pytest.fixture
def own_folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """Nothing is compiled yet."""
    folder = tmp_path / "kept"
    folder.mkdir()
    monkeypatch.setattr(compilers, "_folder", lambda: folder)
    return folder


def a_compiler(path: pathlib.Path, *lines: str) -> str:
    """A script in the place of a compiler, which may go on to the real one."""
    path.write_text("\n".join(["#!/bin/sh", *lines]).replace("REAL", str(compilers.c_compiler())) + "\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def test_threads_that_want_the_same_compile_it_once(
    own_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A training begins to compile in a thread what it may come to need before that thread has ended."""
    calls = tmp_path / "calls"
    monkeypatch.setenv("CXX", a_compiler(tmp_path / "slow", f"echo >> {calls}", "sleep 0.2", 'exec REAL "$@"'))
    text = 'extern "C" int number() { return 7; }'
    with concurrent.futures.ThreadPoolExecutor(4) as threads:
        found = list(threads.map(compilers.shared_library, [text] * 4))
    assert [library.number() for library in found] == [7] * 4
    assert calls.read_text() == "\n"
    assert len([*own_folder.iterdir()]) == 1


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["exit 0"], "does not say why"),  # it writes nothing
        (["kill -9 $$"], "does not say why"),
        (["case \"$*\" in *native*) echo 'error: unknown cpu' >&2; exit 1;; esac", 'exec REAL "$@"'], "unknown cpu"),
    ],
    ids=["nothing is written", "it is killed", "it does not know the processor"],
)
def test_a_compiler_of_no_use_is_one_that_is_not_there(
    own_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, lines: list[str], said: str
) -> None:
    """The loops run then, and the reason says what to do."""
    monkeypatch.setenv("CXX", a_compiler(tmp_path / "c++", *lines))
    reason = compilers.no_c_compiler()
    assert reason is not None
    assert f"could not compile: {said}" in reason.replace("error: ", "").replace("it does", "does")
    assert reason.endswith("in the environment variable CXX, or none: CXX=")
    assert not [*own_folder.iterdir()]


def test_ctrl_c_in_a_terminal_is_not_for_the_compiler(
    own_folder: pathlib.Path, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal interrupts all processes of the group: a compiler among them would be said to have failed."""
    group = tmp_path / "group"
    monkeypatch.setenv("CXX", a_compiler(tmp_path / "c++", f"ps -o pgid= -p $$ > {group}", "exit 1"))
    assert compilers.no_c_compiler() is not None
    assert int(group.read_text()) != os.getpgrp()


@pytest.mark.parametrize("nothing", ["", " "])
def test_no_compiler_may_be_asked_for(monkeypatch: pytest.MonkeyPatch, nothing: str) -> None:
    monkeypatch.setenv("CXX", nothing)
    assert compilers.c_compiler() is None
    with pytest.raises(LantmError, match=r"no C\+\+ compiler"):
        compilers.shared_library("")


def call(kernel: str, items: int) -> np.ndarray:
    """The result of a kernel on a CPU."""
    numbers = {"kind": np.int32(0), "runs": np.int32(1), "items": np.int32(items)}
    result = jax.ffi.ffi_call(compilers.RUN_ON_CPU, [jax.ShapeDtypeStruct((items,), jnp.float32)])
    return np.asarray(result(kernel=kernel, sizes=np.array([items], np.int32), **numbers)[0])


PIECE = """
#include <new>
extern "C" void run_piece(int, void** at, int, const int*, int, int begin, int count) {{
  for (int i = begin; i < begin + count; i++) {body};
}}
"""


def test_a_kernel_that_fails_is_an_error_and_not_the_end() -> None:
    """One that is out of memory, in any of the threads that share its work, and one that nobody knows."""
    fine = compilers.registered_on_cpu(PIECE.format(body="((float*)at[0])[i] = i"))
    fails = compilers.registered_on_cpu(PIECE.format(body="if (i % 50 == 49) throw std::bad_alloc()"))
    np.testing.assert_array_equal(call(fine, 1000), np.arange(1000))
    with pytest.raises(jax.errors.JaxRuntimeError, match="too little memory"):
        call(fails, 1000)
    with pytest.raises(jax.errors.JaxRuntimeError, match="unknown nobody"):
        call("nobody", 8)
    np.testing.assert_array_equal(call(fine, 3), np.arange(3))
    assert call(fine, 0).size == 0


def test_a_library_is_loaded_from_where_it_is_kept(own_folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'extern "C" int number() { return 8; }'
    compilers.shared_library(text)
    monkeypatch.setattr(compilers.subprocess, "run", None)  # nothing is compiled again
    assert isinstance(compilers.shared_library(text), ctypes.CDLL)
    monkeypatch.setenv("CXXFLAGS", "-O0")
    with pytest.raises(TypeError):
        compilers.shared_library(text)
