"""Trained machines: loading from a run folder, a file or the zoo, and everything they can do."""

from lantm.trained.loading import load, load_file, load_run
from lantm.trained.promotion import promote
from lantm.trained.reuse import initial_weights, preset_model, switched
from lantm.trained.scored_at import lengths_or_parts
from lantm.trained.solution import Solution
from lantm.trained.trained import Trained, Which, usual_name

__all__ = [
    "Solution",
    "Trained",
    "Which",
    "initial_weights",
    "lengths_or_parts",
    "load",
    "load_file",
    "load_run",
    "preset_model",
    "promote",
    "switched",
    "usual_name",
]
