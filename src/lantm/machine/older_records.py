"""Compatibility: converts machine configurations that were written by older versions."""

from collections.abc import Mapping
from typing import Any

from lantm.errors import LantmError

# Removed fields, with the value that is now fixed for every machine.
LANTM_CONSTANTS: dict[str, Any] = {
    "learn_start": True,
    "squash_keys": False,
    "normalise_initial_steps": False,
    "step_lengths": (),
    "steady_read_heads": 0,
}
LSTM_CONSTANTS: dict[str, Any] = {"decoder": "shared"}

# Fields that are now options of the weighting, with their defaults; those of other weightings had no effect.
_OPTIONS: dict[str, dict[str, Any]] = {
    "invnorm": {"power": 1.0, "epsilon": 1e-9, "renormalise": False},
    "softmax": {"temperature": None, "renormalise": False},
}


def with_weighting_options(values: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the former weighting fields as options of its name: `invnorm[power=2.0]`."""
    names = {name for options in _OPTIONS.values() for name in options}
    rest = {name: value for name, value in values.items() if name not in names}
    weighting = values.get("weighting", "invnorm")
    if rest.keys() == values.keys():
        return rest
    if not isinstance(weighting, str) or weighting not in _OPTIONS:
        raise LantmError(f"{min(names & values.keys())} is no longer a field: make it an option of the weighting")
    options = {
        name: values[name]
        for name, default in _OPTIONS[weighting].items()
        if name in values and (values[name] != default or isinstance(values[name], bool) != isinstance(default, bool))
    }
    if options:
        written = ",".join(f"{name}={str(value).lower()}" for name, value in options.items())
        rest["weighting"] = f"{weighting}[{written}]"
    return rest
