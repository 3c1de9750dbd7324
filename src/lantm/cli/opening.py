"""Loads the trained machines that a command names."""

import pathlib

from lantm.devices import use_one_device
from lantm.errors import LantmError
from lantm.trained import Trained, load, zoo
from lantm.training import Experiment, RunFolder


def open_trained(name: str | pathlib.Path, data: pathlib.Path | None = None, trust: bool = False) -> Trained:
    """Loads the machines of a run folder, a file or the zoo; `data` is the folder of their text, if it has moved.

    With `trust`, modules that they name are imported.
    """
    run = RunFolder(pathlib.Path(name), trust)
    if run.exists():
        prepare_devices(run.experiment())
    return load(name, data, trust)


def open_run(path: pathlib.Path, data: pathlib.Path | None, trust: bool) -> Trained:
    """Loads the machines of a run folder, for a command that needs what the training left there."""
    if not path.exists() and zoo.find(str(path)) is not None:
        raise LantmError(
            f"{path} is a machine of the zoo, which keeps no training and no recordings: give the folder of a run, or "
            f"see the machine with lantm view {path}"
        )
    return open_trained(RunFolder.open(path).path, data, trust)


def prepare_devices(experiment: Experiment) -> None:
    """For a text, uses all cores as one device, since its matrices are large enough to occupy them."""
    if experiment.reads_text:
        use_one_device()
