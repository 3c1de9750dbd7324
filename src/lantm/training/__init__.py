"""Training: the experiment, its recipe, the loop over all seeds, and the run folder that it writes."""

from lantm.machine import ModelName
from lantm.training.budget import check_budget, estimated_hours
from lantm.training.experiment import Experiment, Member, TextFiles
from lantm.training.history import History
from lantm.training.learner import EpochReport, Learner
from lantm.training.loop import Progress, Result, train
from lantm.training.programs import compile_ahead
from lantm.training.recipe import Recipe
from lantm.training.rows import Row, score_row, score_rows
from lantm.training.run_folder import RunFolder
from lantm.training.starts import best_starts, load_learners, seed_and_start

__all__ = [
    "EpochReport",
    "Experiment",
    "History",
    "Learner",
    "Member",
    "ModelName",
    "Progress",
    "Recipe",
    "Result",
    "Row",
    "RunFolder",
    "TextFiles",
    "best_starts",
    "check_budget",
    "compile_ahead",
    "estimated_hours",
    "load_learners",
    "score_row",
    "score_rows",
    "seed_and_start",
    "train",
]
