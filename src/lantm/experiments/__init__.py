"""The paper's experiments: presets by name, what they are counted by, and the studies that reproduce its tables."""

from lantm.experiments.accounting import Account, account
from lantm.experiments.presets import MODELS, RECIPES, language_machine, preset
from lantm.experiments.promotion import promote
from lantm.experiments.reproduce import from_zoo, reproduce
from lantm.experiments.studies import STUDIES
from lantm.experiments.study import Cell, Conduct, Request, Study
from lantm.experiments.trained_cell import TrainedCell

__all__ = [
    "MODELS",
    "RECIPES",
    "STUDIES",
    "Account",
    "Cell",
    "Conduct",
    "Request",
    "Study",
    "TrainedCell",
    "account",
    "from_zoo",
    "language_machine",
    "preset",
    "promote",
    "reproduce",
]
