"""The paper's machines and recipes, by task, model and recipe."""

from lantm.experiments.presets.by_name import MODELS, RECIPES, preset
from lantm.experiments.presets.language import language_machine
from lantm.experiments.presets.programs import SMALL_LOOPS

__all__ = ["MODELS", "RECIPES", "SMALL_LOOPS", "language_machine", "preset"]
