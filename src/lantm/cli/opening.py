"""Trained machines as the commands open them."""

import pathlib

from lantm.devices import use_one_device
from lantm.trained import Trained, load
from lantm.training import Experiment, RunFolder


def open_trained(name: str | pathlib.Path, data: pathlib.Path | None = None) -> Trained:
    """The machines of a run folder, a file or the zoo; `data` is the folder of their text, if it has moved."""
    run = RunFolder(pathlib.Path(name))
    if run.exists():
        prepare_devices(run.experiment())
    return load(name, data)


def prepare_devices(experiment: Experiment) -> None:
    """For a text, makes all cores one device: its matrices are large enough to keep them busy."""
    if experiment.reads_text:
        use_one_device()
