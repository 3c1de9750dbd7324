"""`Experiment`: everything needed to repeat a training, as one record that is stored as JSON."""

import dataclasses
import math
import pathlib
from collections.abc import Mapping
from typing import Any

from lantm.errors import LantmError, check_at_least_one
from lantm.machine import (
    Config,
    LantmConfig,
    LstmConfig,
    ModelName,
    NtmConfig,
    RamConfig,
    TapeRnnConfig,
    TransformerConfig,
)
from lantm.randomness import SEEDS
from lantm.records import LARGEST, json_object, make_record
from lantm.registry import Trust, check_trust, imports_module
from lantm.tasks import Corpus, Lengths, Source, Task, Text, make_task, read_corpus
from lantm.training.recipe import Recipe

CONFIGS: dict[ModelName, type[Config]] = {
    "lantm-invnorm": LantmConfig,
    "lantm-softmax": LantmConfig,
    "lantm": LantmConfig,
    "lstm": LstmConfig,
    "ram": RamConfig,
    "ram-tape": RamConfig,
    "ntm": NtmConfig,
    "tape-rnn": TapeRnnConfig,
    "transformer": TransformerConfig,
}
"""The configuration class of every model, by model name."""


@dataclasses.dataclass(frozen=True)
class Member:
    """One machine of an experiment whose machines differ in more than the seed."""

    seed: int
    """The seed."""
    learning_rate: float
    """The initial learning rate, instead of the recipe's."""

    def __post_init__(self) -> None:
        if not 0 <= self.seed < SEEDS:
            raise LantmError(
                f"the seed of a member is {self.seed}: give a whole number of at least 0 and below {SEEDS}"
            )
        if not 0 < self.learning_rate < math.inf:
            raise LantmError(f"the learning_rate of a member is {self.learning_rate}: give a number above 0")


@dataclasses.dataclass(frozen=True)
class TextFiles:
    """The text to train on, on disk."""

    folder: str
    """The folder with its three files."""
    digest: str
    """Digest of the text and its vocabulary, used to detect that the folder contains a different text."""
    vocabulary: int
    """The maximum vocabulary size."""

    @classmethod
    def of(cls, folder: pathlib.Path, vocabulary: int = 10_000) -> "TextFiles":
        """The text in a folder."""
        return cls(str(folder.resolve()), read_corpus(folder, vocabulary).digest, vocabulary)

    def read(self, folder: pathlib.Path | None = None) -> Corpus:
        """Reads the text from its folder or from `folder`; raises a `LantmError` if it is a different text."""
        folder = folder or pathlib.Path(self.folder)
        corpus = read_corpus(folder, self.vocabulary)
        if corpus.digest != self.digest:
            raise LantmError(f"the text in {folder} is not the one that was trained on: name its folder with --data")
        return corpus


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A task or a text, a machine, a recipe, and the number of seeds to train."""

    task: str
    """Task to train on: copy, reverse, bigramFlip, double, addition, oddFirst, repeatCopy, prioritySort, programs,
    text, or module:Name."""
    model: ModelName
    """Name of the model; `lantm` stands for a custom weighting."""
    machine: Config
    """Sizes and switches of the machine."""
    recipe: Recipe
    """How to train it."""
    recipe_name: str = "paper"
    """Name of the recipe that this one was derived from."""
    seeds: int = 8
    """Number of seeds, trained in parallel."""
    first_seed: int = 0
    """The first seed; the others follow consecutively."""
    lengths: tuple[int, int] | None = None
    """Train on lengths from the first to the second number, instead of the task's."""
    recorded_seeds: int = 8
    """Number of seeds, counted from the first, to record after every epoch for videos and pages; 0 records none."""
    members: tuple[Member, ...] = ()
    """The individual machines, if they differ in more than the seed; metrics and reports number them from 0."""
    text: TextFiles | None = None
    """The text, if the task is `text`."""

    def __post_init__(self) -> None:
        if self.members and (self.seeds, self.first_seed) != (len(self.members), 0):
            raise LantmError(f"there are {len(self.members)} members: give as many seeds, with first_seed 0")
        check_at_least_one(self, "seeds")
        if self.first_seed < 0:
            raise LantmError(f"first_seed is {self.first_seed}: give a whole number of at least 0")
        if self.recorded_seeds < 0:
            raise LantmError(f"recorded_seeds is {self.recorded_seeds}: give a whole number of at least 0")
        if self.first_seed + self.seeds > SEEDS:
            raise LantmError(f"{self.seeds} seeds from {self.first_seed} on are too many: seeds must be below {SEEDS}")
        for record in (self, self.machine, self.recipe, *filter(None, [self.text])):
            for name, value in vars(record).items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise LantmError(f"{name} is {value}: give a finite number")
                if isinstance(value, int) and abs(value) > LARGEST:  # the run folder could not be read again
                    raise LantmError(f"{name} is {value}: whole numbers go up to {LARGEST:,}")
        if self.model != (name := self.machine.model_name):
            raise LantmError(f"this machine is not a {self.model}: choose the model {name}")
        if isinstance(self.machine, LantmConfig):
            if self.reads_text and self.machine.memory_limit is None:
                raise LantmError("training on a text needs a limited memory: give a memory_limit (the paper's is 100)")
            if self.reads_text and self.machine.write_end:
                raise LantmError("a text has no end of input to write: leave write_end off")
            if self.recipe.mixed_lengths and self.machine.memory_limit is not None:
                raise LantmError("mixed_lengths and memory_limit cannot be combined: turn one of them off")
        elif self.recipe.noise:
            raise LantmError(f"{self.model} does not support noise: leave out noise")
        if self.reads_text:
            if not isinstance(self.machine, LantmConfig | LstmConfig):
                raise LantmError(f"{self.model} needs an end of input, which a text does not have: use lstm or a lantm")
            for name in (
                "noise",
                "hard_share",
                "recycled_problems",
                "test_hard_scales",
                "curriculum",
                "curriculum_threshold",
            ):
                if getattr(self.recipe, name):
                    raise LantmError(f"{name} applies to tasks, not to texts: leave it out")
        if self.text is not None and not self.reads_text:
            raise LantmError(f"the task {self.task} has no text: leave out --data, or choose the task text")
        if self.lengths is not None and self.reads_text:
            raise LantmError("a text has no lengths: leave out --lengths")

    @property
    def reads_text(self) -> bool:
        """Whether the source is a text."""
        return self.task == Text.name

    @property
    def modules(self) -> tuple[str, ...]:
        """The `module:Name` names in this record, which import a user's module."""
        return tuple(filter(imports_module, _names(vars(self), vars(self.machine))))

    @property
    def machines(self) -> int:
        """The number of machines trained in parallel, including starts; those of one seed are adjacent."""
        return self.seeds * self.recipe.starts

    @property
    def seed_numbers(self) -> range:
        """The seeds, or the numbers of the members."""
        return range(self.first_seed, self.first_seed + self.seeds)

    @property
    def recorded(self) -> range:
        """The recorded seeds."""
        return self.seed_numbers[: self.recorded_seeds]

    def source(self, data: pathlib.Path | None = None) -> Source:
        """The source: the task with this experiment's lengths, or the text, from its folder or from `data`."""
        return self.build_text(data) if self.reads_text else self.build_task()

    def build_text(self, data: pathlib.Path | None = None) -> Text:
        """The text."""
        if self.text is None:
            raise LantmError(
                "a text is needed: give --data FOLDER with train.txt, valid.txt and test.txt, or the same with a name "
                "in front (ptb.train.txt)"
            )
        corpus = self.text.read(data)
        corpus.check_columns(self.recipe.batch_size)
        return Text(corpus, self.recipe.steps)

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
        return task.with_lengths(Lengths(*self.lengths, task.train_lengths.stride))

    def with_epochs(self, epochs: int) -> "Experiment":
        """The same experiment with another number of epochs."""
        return dataclasses.replace(self, recipe=dataclasses.replace(self.recipe, epochs=epochs))

    def seed_index(self, seed: int) -> int:
        """The index of a seed among the trained ones."""
        if seed not in self.seed_numbers:
            first, last = self.seed_numbers[0], self.seed_numbers[-1]
            there = f"{first} to {last}" if self.seeds > 1 else f"seed {first} alone"
            raise LantmError(f"there is no seed {seed}: the run has {there}")
        return seed - self.first_seed

    def to_json(self) -> dict[str, Any]:
        """The record as JSON values."""
        values = dataclasses.asdict(self)
        return values if self.text is not None else {name: one for name, one in values.items() if name != "text"}

    def published(self) -> dict[str, Any]:
        """The record without the folder of the text, which is specific to one computer."""
        text = None if self.text is None else dataclasses.replace(self.text, folder="")
        return dataclasses.replace(self, text=text).to_json()

    @classmethod
    def from_json(cls, values: Any, trust: Trust = False) -> "Experiment":
        """The record from JSON; raises a `LantmError` that names the field if a value is invalid.

        A name of the form `module:Name` is refused before importing anything, unless it is trusted.
        """
        values = json_object(values, cls, "experiment")
        check_trust(_names(values, values.get("machine")), trust, "the experiment")
        if "digest" in values:  # earlier versions stored texts in a separate record
            text = {"folder": values.pop("data", ""), "digest": values.pop("digest")}
            values |= {"task": Text.name, "text": {**text, "vocabulary": values.pop("vocabulary", None)}}
            values.setdefault("recorded_seeds", 0)
        named = (config for name, config in CONFIGS.items() if name == values.get("model"))
        config = next(named, LantmConfig)  # an unknown name is refused below
        values["machine"] = make_record(config, values.get("machine"), "machine")
        values["recipe"] = make_record(Recipe, values.get("recipe"), "recipe")
        return make_record(cls, values, "experiment")


def modules_in(values: Any) -> set[str]:
    """The `module:Name` names in the JSON values of an experiment."""
    return set(filter(imports_module, _names(values, values.get("machine")))) if isinstance(values, Mapping) else set()


def _names(experiment: Mapping[str, Any], machine: Any) -> list[str]:
    """The names in an experiment and its machine that may refer to a module."""
    fields = machine if isinstance(machine, Mapping) else {}
    names = (experiment.get("task"), fields.get("geometry"), fields.get("weighting"))
    return [name for name in names if isinstance(name, str)]
