"""Presets: machine and recipe for each task, model and recipe name, and overrides by settings."""

from lantm.paper.presets.by_name import MODELS, PAPER_MODELS, RECIPES, preset
from lantm.paper.presets.programs import SMALL_LOOPS
from lantm.paper.presets.settings import make_experiment, settings_of

__all__ = ["MODELS", "PAPER_MODELS", "RECIPES", "SMALL_LOOPS", "make_experiment", "preset", "settings_of"]
