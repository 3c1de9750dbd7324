"""Training: recipes, many seeds as one program, and the run folder they leave behind."""

from lantm.training.experiment import Experiment, Member, ModelName
from lantm.training.learner import EpochReport, Learner
from lantm.training.loop import Progress, Result, best_tests_of_starts, load_learners, train
from lantm.training.recipe import Recipe
from lantm.training.run_folder import RunFolder

__all__ = [
    "EpochReport",
    "Experiment",
    "Learner",
    "Member",
    "ModelName",
    "Progress",
    "Recipe",
    "Result",
    "RunFolder",
    "best_tests_of_starts",
    "load_learners",
    "train",
]
