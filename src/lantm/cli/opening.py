"""Loads the trained machines that a command names."""

import pathlib

from lantm.devices import use_one_device
from lantm.trained import Trained, load
from lantm.training import Experiment, RunFolder


def open_trained(name: str | pathlib.Path, data: pathlib.Path | None = None, trust: bool = False) -> Trained:
    """Loads the machines of a run folder, a file or the zoo; `data` is the folder of their text, if it has moved.

    With `trust`, modules that they name are imported.
    """
    run = RunFolder(pathlib.Path(name), trust)
    if run.exists():
        prepare_devices(run.experiment())
    return load(name, data, trust)


def prepare_devices(experiment: Experiment) -> None:
    """For a text, uses all cores as one device, since its matrices are large enough to occupy them."""
    if experiment.reads_text:
        use_one_device()
