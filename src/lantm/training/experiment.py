"""An experiment: everything that is needed to repeat a training, as one record that is also a JSON file."""

import dataclasses
import math
from typing import Any, ClassVar, Literal

from lantm.errors import LantmError
from lantm.machine import WEIGHTINGS, LantmConfig, LstmConfig
from lantm.seeds import SEEDS
from lantm.tasks import Lengths, Task, make_task
from lantm.tasks.base import LONGEST_TEXT
from lantm.training.recipe import Recipe
from lantm.training.records import json_object, make_record

ModelName = Literal["lantm-invnorm", "lantm-softmax", "lstm"]


@dataclasses.dataclass(frozen=True)
class Member:
    """One of the machines that are trained side by side, where they differ in more than the seed."""

    seed: int
    """Its seed."""
    learning_rate: float
    """Its rate at the start, in place of the recipe's."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < SEEDS:
            raise LantmError(f"the seed of a member is {self.seed}: give a whole number from 0 to below {SEEDS}")
        if not 0 < self.learning_rate < math.inf:
            raise LantmError(f"the learning_rate of a member is {self.learning_rate}: give a number above 0")


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A task, a machine, a recipe, and how many seeds to train."""

    kind: ClassVar[str] = "task"
    """What a run folder says it holds."""

    task: str
    """What to learn: copy, reverse, bigramFlip, double, addition, programs, or module:Name."""
    model: ModelName
    """The paper's name of the model."""
    machine: LantmConfig | LstmConfig
    """Sizes and switches of the machine."""
    recipe: Recipe
    """How it is trained."""
    recipe_name: str = "paper"
    """The recipe this one began as."""
    seeds: int = 8
    """How many seeds are trained side by side."""
    first_seed: int = 0
    """The first of them; the others count on from there."""
    lengths: tuple[int, int] | None = None
    """Train on these lengths, from and to, instead of the task's."""
    recorded_seeds: int = 8
    """So many seeds, from the first on, are recorded in every epoch, for videos and pages; 0 records nothing."""
    members: tuple[Member, ...] = ()
    """The machines one by one, where not only their seeds differ; metrics and reports then number them from 0 on."""

    def __post_init__(self) -> None:
        if self.members and (self.seeds, self.first_seed) != (len(self.members), 0):
            raise LantmError(f"there are {len(self.members)} members: give as many seeds, with 0 as the first")
        if self.seeds < 1:
            raise LantmError(f"seeds is {self.seeds}: give a whole number from 1 on")
        if self.first_seed < 0:
            raise LantmError(f"first_seed is {self.first_seed}: give a whole number from 0 on")
        if self.recorded_seeds < 0:
            raise LantmError(f"recorded_seeds is {self.recorded_seeds}: give a whole number from 0 on")
        if self.first_seed + self.seeds > SEEDS:
            raise LantmError(f"{self.seeds} seeds from {self.first_seed} on are too many: seeds end below {SEEDS}")
        for record in (self.machine, self.recipe):
            for name, value in vars(record).items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise LantmError(f"{name} is {value}: give a finite number")
        lstm = isinstance(self.machine, LstmConfig)
        if lstm != (self.model == "lstm"):
            raise LantmError(f"the model {self.model} does not have a {type(self.machine).__name__}")
        if isinstance(self.machine, LantmConfig):
            weighting = self.machine.weighting.partition("[")[0]
            if weighting in WEIGHTINGS and self.model != f"lantm-{weighting}":
                raise LantmError(f"the model {self.model} does not have the weighting {self.machine.weighting}")
            if self.recipe.mixed_lengths and self.machine.memory_limit is not None:
                raise LantmError("problems that share a batch forget together: turn mixed_lengths or memory_limit off")

    @property
    def machines(self) -> int:
        """How many machines are trained side by side: those of a seed are neighbours."""
        return self.seeds * self.recipe.starts

    def build_task(self) -> Task:
        """The task, with this experiment's lengths."""
        task = make_task(self.task)
        if task.data_symbols < 1 or task.unused_symbols < 0:
            raise LantmError(
                f"{self.task} has {task.data_symbols} symbols of data and {task.unused_symbols} unused ones: "
                "give it at least 1 and 0"
            )
        if self.lengths is None:
            return task
        for length in self.lengths:
            task.check_length(length)
        if max(self.lengths) > LONGEST_TEXT:
            raise LantmError(f"lengths are {self.lengths}: give lengths up to {LONGEST_TEXT:,}")
        return task.with_lengths(Lengths(*self.lengths, task.train_lengths.stride))

    def seed_index(self, seed: int) -> int:
        """The place of a seed among those that are trained."""
        if not self.first_seed <= seed < self.first_seed + self.seeds:
            last = self.first_seed + self.seeds - 1
            raise LantmError(f"there is no seed {seed}: the run has {self.first_seed} to {last}")
        return seed - self.first_seed

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> "Experiment":
        """The record back from JSON; anything that does not fit is a `LantmError` that names the field."""
        values = json_object(values, cls, "experiment")
        config = LstmConfig if values.get("model") == "lstm" else LantmConfig
        values["machine"] = make_record(config, values.get("machine"), "machine")
        values["recipe"] = make_record(Recipe, values.get("recipe"), "recipe")
        return make_record(cls, values, "experiment")
