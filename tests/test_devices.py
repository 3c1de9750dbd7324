"""Many seeds as one program: results that depend on the seed alone, on one device and on many."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import jax
import numpy as np
import pytest
from safetensors.numpy import load_file

from lantm import devices
from lantm.devices import device_mesh, use_all_cores, use_one_device
from lantm.training import Experiment, RunFolder, train
from lantm.weight_files import named_arrays


def test_a_seed_is_the_same_in_other_company(tiny: Experiment, trained, tmp_path: pathlib.Path) -> None:
    other = dataclasses.replace(tiny, first_seed=2)  # seeds 2 to 5, not 0 to 3
    folder = RunFolder.create(tmp_path / "run", other, {})
    result = train(other, folder)
    before = named_arrays(trained.result.learners)
    for name, array in named_arrays(result.learners).items():
        np.testing.assert_allclose(array[:2], before[name][2:], rtol=1e-5, atol=1e-6, err_msg=name)
    assert (before["model.readout.weight"][2] != before["model.readout.weight"][1]).all()
    expected = [row for row in trained.folder.metrics() if row["seed"] in (2, 3)]
    assert_close([row for row in folder.metrics() if row["seed"] in (2, 3)], expected)


def assert_close(rows: Iterable[dict[str, Any]], expected: Iterable[dict[str, Any]]) -> None:
    for one, other in zip(rows, expected, strict=True):
        assert one.keys() == other.keys()
        assert all(value == other[name] or abs(value - other[name]) < 1e-4 for name, value in one.items())


def test_every_core_that_is_ours_is_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, int]] = []
    monkeypatch.setattr(jax.config, "update", lambda *setting: asked.append(setting))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3, 5, 7}, raising=False)
    use_all_cores()
    assert asked == [("jax_num_cpu_devices", 3)]
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    use_all_cores()
    assert asked[1] == ("jax_num_cpu_devices", 12)
    use_one_device()
    assert asked[2] == ("jax_num_cpu_devices", 1)


def test_devices_in_use_stay_as_they_are() -> None:
    devices = jax.local_devices()
    use_all_cores()
    use_one_device()
    assert jax.local_devices() == devices


def test_seeds_are_shared_out_evenly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jax, "local_devices", lambda backend=None: jax.devices() * 4)
    assert [device_mesh(seeds).size for seeds in (1, 2, 3, 4, 5, 6, 8)] == [1, 2, 3, 4, 1, 3, 4]


@pytest.mark.parametrize(("largest", "kept"), [(2**31, 2**30), (2**25, 2**25), (0, None)])
def test_memory_is_kept_as_far_as_the_c_library_lets_it(
    monkeypatch: pytest.MonkeyPatch, largest: int, kept: int | None
) -> None:
    """An older glibc refuses thresholds of `mmap` above 32 MiB; refused after the other, it would stay at 128 KiB."""
    mmap_threshold = -3  # M_MMAP_THRESHOLD
    settings: dict[int, int] = {}

    class Library:
        @staticmethod
        def mallopt(name: int, value: int) -> int:
            if name == mmap_threshold and value > largest:
                return 0
            settings[name] = value
            return 1

    monkeypatch.setattr(devices.ctypes, "CDLL", lambda _: Library)
    devices.keep_memory()
    assert settings.get(mmap_threshold) == kept
    assert len(settings) in (0, 2)


def test_two_devices_share_the_seeds() -> None:
    """Of whatever is mapped over them."""
    program = """
import jax, jax.numpy as jnp
from lantm.devices import device_mesh, over_seeds
found = over_seeds(lambda x: 2 * x, device_mesh(4))(jnp.arange(4))
print(jax.local_device_count(), {shard.data.shape for shard in found.addressable_shards}, found.tolist())
"""
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"}
    ended = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert ended.stdout == "2 {(2,)} [0, 2, 4, 6]\n"


@pytest.mark.thorough
def test_two_devices_give_the_numbers_of_one(trained, tmp_path: pathlib.Path) -> None:
    program = """
import json, pathlib, sys
import jax
from lantm.training import Experiment, RunFolder, train
experiment = Experiment.from_json(json.loads(sys.argv[1]))
result = train(experiment, RunFolder.create(pathlib.Path(sys.argv[2]), experiment, {}))
places = {str(shard.device) for shard in result.learners.seed.addressable_shards}
print(json.dumps({"devices": jax.local_device_count(), "places": len(places)}))
"""
    folder = RunFolder(tmp_path / "run")
    ended = subprocess.run(
        [sys.executable, "-c", program, json.dumps(trained.experiment.to_json()), str(folder.path)],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "JAX_NUM_CPU_DEVICES": "2"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ended.stdout) == {"devices": 2, "places": 2}
    expected = named_arrays(trained.result.learners)
    path = folder.path / "checkpoints" / "epoch-000006.safetensors"
    for name, array in load_file(path).items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-3, atol=1e-4, err_msg=name)
    assert_close(folder.metrics(), trained.folder.metrics())
