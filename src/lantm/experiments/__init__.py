"""The paper's experiments: presets by name, and what they are counted by."""

from lantm.experiments.accounting import Account, account
from lantm.experiments.presets import MODELS, RECIPES, preset

__all__ = ["MODELS", "RECIPES", "Account", "account", "preset"]
