"""Trained machines as the commands open them."""

import pathlib

from lantm.devices import use_one_device
from lantm.trained import Trained, load
from lantm.training import Experiment, RunFolder


def open_trained(name: str | pathlib.Path, data: pathlib.Path | None = None) -> Trained:
    """The machines of a run folder, a file or the zoo; `data` is the folder of their text, where it has moved."""
    run = RunFolder(pathlib.Path(name))
    if run.exists():
        prepare_devices(run.experiment())
    return load(name, data)


def prepare_devices(experiment: Experiment) -> None:
    """A text's large vocabulary makes large matrices: a product of them keeps all cores busy as one device."""
    if experiment.reads_text:
        use_one_device()
