"""`lantm doctor`: what it finds here, and its advice elsewhere."""

import importlib.metadata
import json
import os
import pathlib
from typing import NamedTuple

import jax
import pytest

from lantm import provenance
from lantm.cli import doctor
from lantm.machine import backend


def test_what_it_finds_here(lantm) -> None:
    facts = json.loads(lantm("doctor", "--json").out)
    assert facts["packages"]["jax"] == jax.__version__
    assert facts["packages"]["equinox"] == importlib.metadata.version("equinox")
    assert facts["extras"]["figures"] is True
    assert facts["device"].startswith("cpu: ")
    assert facts["kernels"] == "there is no C++ compiler: install one, such as g++"
    said = lantm("doctor")
    assert (said.status, said.err) == (0, "")
    assert max(map(len, said.out.partition("how to run")[0].splitlines())) <= 80
    assert all(f"- {line}" in said.out for line in facts["advice"] if "busy" not in line)


def test_a_commit_that_cannot_be_known(lantm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(provenance.COMMIT, raising=False)
    monkeypatch.setattr(provenance, "_commit", lambda: None)
    assert "unknown (installed without git)" in lantm("doctor").out
    assert json.loads(lantm("doctor", "--json").out)["commit"] is None


def test_extras_that_are_not_there(lantm, monkeypatch: pytest.MonkeyPatch) -> None:
    assert ("pip install 'lantm[" in lantm("doctor").out) == (not all(doctor.facts()["extras"].values()))
    monkeypatch.setattr(doctor, "_EXTRAS", {"figures": "matplotlib", "ray": "no_such_module", "parquet": "nor_this"})
    assert "pip install 'lantm[ray,parquet]'" in lantm("doctor").out


@pytest.mark.usefixtures("c_compiler")
def test_the_kernels_are_tried() -> None:
    """The loops agree."""
    found = doctor.facts()["kernels"]
    assert found.startswith("work: ")
    assert float(found.rpartition(" ")[2]) < 1e-5


def test_kernels_that_fail_are_reported() -> None:
    assert doctor._trial("kernel").startswith("they fail on this device, use the backend 'loops'")


class Gpu(NamedTuple):
    platform: str
    compute_capability: str


@pytest.mark.parametrize(("driver", "extra"), [("570.86.10", "cuda12"), ("580.65.06", "cuda13")])
def test_a_gpu_that_jax_does_not_use(
    driver: str, extra: str, monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    """The two lines that NVIDIA's drivers write there."""
    for text in (
        f"NVRM version: NVIDIA UNIX x86_64 Kernel Module  {driver}  Tue Jan  7 20:57:27 UTC 2025\n",
        f"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  {driver}  Release Build\n",
    ):
        (tmp_path / "version").write_text(text)
        monkeypatch.setattr(doctor, "_DRIVER", tmp_path / "version")
        assert doctor.advice()[0] == f"JAX does not use the NVIDIA GPU of this machine: pip install 'jax[{extra}]'"


def test_what_makes_it_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    assert not [line for line in doctor.advice() if "busy" in line or "jax_debug_nans" in line]
    monkeypatch.setattr(os, "getloadavg", lambda: (100.0, 0.0, 0.0))
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    monkeypatch.setattr(doctor, "own_cores", lambda: 1)
    with jax.debug_nans(True):
        advice = "\n".join(doctor.advice())
    for words in ("jax_debug_nans is on", "100.0 run on 2 cores", "may use 1 of 2 cores", "an NVIDIA GPU of 2020"):
        assert words in advice
    for capability, served in (("7.5", False), ("9.0", True)):
        for module in (doctor, backend):
            monkeypatch.setattr(module, "current_device", lambda capability=capability: Gpu("gpu", capability))
        assert any("compute capability 8.0" in line for line in doctor.advice()) != served
    with jax.default_matmul_precision("highest"):
        assert any("TF32" in line for line in doctor.advice())
