"""The share of the time that a GPU is busy, told by a program that plays NVIDIA's."""

import sys

import pytest

from lantm.cli.gpu_busy import GpuBusy

PLAYED = "print(40); print(' 61 '); print('[N/A]', flush=True); import time; time.sleep(60)"


@pytest.fixture(autouse=True)
def all_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def test_the_mean_of_what_it_says() -> None:
    with GpuBusy((sys.executable, "-c", PLAYED)) as busy:
        while busy.samples < 2:
            pass
    assert (busy.percent, busy.samples) == (50.5, 2)


def test_without_a_gpu() -> None:
    with GpuBusy(("a-program-that-is-not-there",)) as busy:
        pass
    assert (busy.percent, busy.samples) == (None, 0)


def test_only_gpus_that_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,3")
    with GpuBusy((sys.executable, "-c", "import sys; print(7 if sys.argv[1] == '--id=1,3' else 0)")) as busy:
        while not busy.samples:
            pass
    assert busy.percent == 7
