"""A language experiment: everything that is needed to repeat a training, as one record that is also a JSON file."""

import dataclasses
import math
from typing import Any, ClassVar

from lantm.errors import LantmError
from lantm.machine import WEIGHTINGS, LantmConfig, LstmConfig
from lantm.seeds import SEEDS
from lantm.training.experiment import ModelName
from lantm.training.records import json_object, make_record

_LARGEST = 2**31 - 1  # of the integers that programs are compiled with


@dataclasses.dataclass(frozen=True)
class LanguageRecipe:
    """How a language model is trained: Adagrad on truncated gradients. The defaults are the paper's."""

    learning_rate: float = 0.05
    """Adagrad's rate at the start."""
    rate_factor: float = 0.5
    """What the rate is multiplied with when the validation perplexity exceeds that of the epoch before."""
    clip: float | None = 10.0
    """The largest norm of the whole gradient; None does not clip."""
    epochs: int = 30
    """Times that the training text is read."""
    batch_size: int = 32
    """Columns of the text that are read side by side."""
    steps: int = 20
    """Words of a column that gradients go back through; state and memory are carried on."""

    def __post_init__(self) -> None:
        if not 0 < self.learning_rate < math.inf:
            raise LantmError(f"learning_rate is {self.learning_rate}: give a number above 0")
        if not 0 < self.rate_factor <= 1:
            raise LantmError(f"rate_factor is {self.rate_factor}: give a number above 0, at most 1")
        if self.clip is not None and not 0 < self.clip < math.inf:
            raise LantmError(f"clip is {self.clip}: give a number above 0, or None for no clipping")
        for name in ("epochs", "batch_size", "steps"):
            if not 1 <= getattr(self, name) <= _LARGEST:
                raise LantmError(f"{name} is {getattr(self, name)}: give a whole number from 1 to {_LARGEST}")


@dataclasses.dataclass(frozen=True)
class LanguageExperiment:
    """A text, a machine, a recipe, and how many seeds to train."""

    kind: ClassVar[str] = "language"

    data: str
    """The folder of the text."""
    digest: str
    """The digest of the text and its vocabulary: another text in that folder is noticed."""
    vocabulary: int
    """The most words that the vocabulary may have."""
    model: ModelName
    """The paper's name of the model."""
    machine: LantmConfig | LstmConfig
    """Sizes and switches of the machine."""
    recipe: LanguageRecipe
    """How it is trained."""
    seeds: int = 1
    """How many seeds are trained side by side."""
    first_seed: int = 0
    """The first of them; the others count on from there."""

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise LantmError(f"seeds is {self.seeds}: give a whole number from 1 on")
        if not 0 <= self.first_seed <= SEEDS - self.seeds:
            raise LantmError(f"first_seed is {self.first_seed}: give a whole number from 0 to {SEEDS - self.seeds}")
        if isinstance(self.machine, LstmConfig):
            fits = self.model == "lstm"
        else:
            weighting = self.machine.weighting.partition("[")[0]
            fits = self.model == f"lantm-{weighting}" or weighting not in WEIGHTINGS
            if self.machine.memory_limit is None:
                raise LantmError(
                    "a text has no end for its memory to grow to: give a memory_limit (the paper's is 100)"
                )
        if not fits:
            raise LantmError(f"the model {self.model} does not have this {type(self.machine).__name__}")

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return dataclasses.asdict(self)

    def published(self) -> dict[str, Any]:
        """The same without the folder, which is of one computer only."""
        return {name: value for name, value in self.to_json().items() if name != "data"}

    @classmethod
    def from_json(cls, values: Any) -> "LanguageExperiment":
        """The record back from JSON; anything that does not fit is a `LantmError` that names the field."""
        values = json_object(values, cls, "experiment")
        config = LstmConfig if values.get("model") == "lstm" else LantmConfig
        values["machine"] = make_record(config, values.get("machine"), "machine")
        values["recipe"] = make_record(LanguageRecipe, values.get("recipe"), "recipe")
        return make_record(cls, values, "experiment")
