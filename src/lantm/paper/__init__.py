"""The paper: its machines and recipes as presets, its published scores, and its way of counting parameters."""

from lantm.paper.accounting import account
from lantm.paper.presets import MODELS, PAPER_MODELS, RECIPES, make_experiment, preset, settings_of

__all__ = ["MODELS", "PAPER_MODELS", "RECIPES", "account", "make_experiment", "preset", "settings_of"]
