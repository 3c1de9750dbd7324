"""An experiment: everything that is needed to repeat a training, as one record that is also a JSON file."""

import dataclasses
import math
import reprlib
import sys
import types
import typing
from typing import Any, Literal

from lantm.errors import LantmError
from lantm.machine import LantmConfig, LstmConfig
from lantm.seeds import SEEDS
from lantm.tasks import Lengths, Task, make_task
from lantm.tasks.base import LONGEST_TEXT
from lantm.training.recipe import Recipe

ModelName = Literal["lantm-invnorm", "lantm-softmax", "lstm"]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A task, a machine, a recipe, and how many seeds to train."""

    task: str
    """What to learn: copy, reverse, bigramFlip, double, addition, or module:Name."""
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

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise LantmError(f"seeds is {self.seeds}: give a whole number from 1 on")
        if self.first_seed < 0:
            raise LantmError(f"first_seed is {self.first_seed}: give a whole number from 0 on")
        if self.first_seed + self.seeds > SEEDS:
            raise LantmError(f"{self.seeds} seeds from {self.first_seed} on are too many: seeds end below {SEEDS}")
        for record in (self.machine, self.recipe):
            for name, value in vars(record).items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise LantmError(f"{name} is {value}: give a finite number")
        lstm = isinstance(self.machine, LstmConfig)
        if lstm != (self.model == "lstm"):
            raise LantmError(f"the model {self.model} does not have a {type(self.machine).__name__}")
        if isinstance(self.machine, LstmConfig):
            if self.recipe.mixed_lengths and self.machine.decoder == "separate":
                raise LantmError("a separate decoder needs one length a batch: turn mixed_lengths off")
        else:
            if self.model != f"lantm-{self.machine.weighting}":
                raise LantmError(f"the model {self.model} does not have the weighting {self.machine.weighting}")
            if self.recipe.mixed_lengths and self.machine.memory_limit is not None:
                raise LantmError("problems that share a batch forget together: turn mixed_lengths or memory_limit off")

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

    def to_json(self) -> dict[str, Any]:
        """The record as plain JSON values."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, values: Any) -> "Experiment":
        """The record back from JSON; anything that does not fit is a `LantmError` that names the field."""
        values = _record(values, cls, "experiment")
        config = LstmConfig if values.get("model") == "lstm" else LantmConfig
        values["machine"] = _make(config, values.get("machine"), "machine")
        values["recipe"] = _make(Recipe, values.get("recipe"), "recipe")
        return _make(cls, values, "experiment")


def _record(values: Any, kind: type, where: str) -> dict[str, Any]:
    if not isinstance(values, dict):
        raise LantmError(f"{where} is not a JSON object with the fields of {kind.__name__}")
    return dict(values)


def _make(kind: type, values: Any, where: str) -> Any:
    """An instance of a dataclass from JSON values, every field checked against its annotation."""
    values = _record(values, kind, where)
    hints = typing.get_type_hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    for name in values:
        if name not in fields:
            raise LantmError(f"{where} has no field {name!r}: known are {', '.join(fields)}")
    for name, field in fields.items():
        if name not in values and field.default is dataclasses.MISSING:
            raise LantmError(f"{where} lacks the field {name!r}")
    return kind(**{name: _fit(hints[name], value, f"{where}.{name}") for name, value in values.items()})


def _fit(hint: Any, value: Any, where: str) -> Any:
    """`value` as the annotated type: a JSON list becomes a tuple, a whole number may stand for a float."""
    origin, choices = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        fits = value in choices
    elif origin in (typing.Union, types.UnionType):
        for choice in choices:
            try:
                return _fit(choice, value, where)
            except LantmError:
                continue
        fits = False
    elif origin is tuple:
        if not isinstance(value, list | tuple):
            fits = False
        else:
            kinds = choices[:1] * len(value) if choices[-1] is Ellipsis else choices
            if len(kinds) == len(value):
                return tuple(_fit(kind, item, where) for kind, item in zip(kinds, value, strict=True))
            fits = False
    elif hint is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < sys.float_info.max
        value = float(value) if fits else value
    elif hint is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
    else:
        fits = isinstance(value, hint)
    if not fits:
        names = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
        expected = names.get(hint) or str(hint).replace("typing.", "")
        raise LantmError(f"{where} is {reprlib.repr(value)}, which is not {expected}")
    return value
