"""The paper's machines and recipes, by task, model and recipe."""

from lantm.experiments.presets.by_name import MODELS, RECIPES, preset
from lantm.experiments.presets.language import language_machine

__all__ = ["MODELS", "RECIPES", "language_machine", "preset"]
