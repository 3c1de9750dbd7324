"""Converts JSON to dataclasses and checks every field against its annotation.

Everything read from a file passes through here: experiments, sweeps, notes of machines, rows of scores, summaries,
provenance, lock holders. Numbers are limited in size, so that later computations cannot overflow.
"""

import dataclasses
import functools
import reprlib
import sys
import types
import typing
from collections.abc import Mapping
from typing import Any, Literal, TypeVar

from lantm.errors import LantmError

T = TypeVar("T")

LARGEST = 2**53
"""The largest integer in a file; larger ones are not exact in many JSON readers."""


def json_object(values: Any, kind: type, where: str) -> dict[str, Any]:
    """The fields of a JSON object; raises a `LantmError` for other values."""
    if not isinstance(values, dict):
        raise LantmError(f"{where} is not a JSON object with the fields of {kind.__name__}")
    return dict(values)


def drop_retired(values: dict[str, Any], retired: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Removes settings that this version no longer has; raises a `LantmError` unless they have the value now fixed."""
    for name, fixed in retired.items():
        value = values.get(name, fixed)
        value = tuple(value) if isinstance(value, list) else value
        if value != fixed or isinstance(value, bool) != isinstance(fixed, bool):
            raise LantmError(
                f"{where}.{name} is {reprlib.repr(value)}: this version of lantm no longer has that setting and "
                f"always uses {fixed!r}"
            )
    return {name: value for name, value in values.items() if name not in retired}


@functools.cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def make_record(kind: type[T], values: Any, where: str, others: bool = False) -> T:
    """A dataclass instance from JSON values, every field checked against its annotation.

    A static method `upgrade` of the class converts values of earlier versions. With `others`, unknown fields are
    ignored; otherwise they raise a `LantmError`.
    """
    values = json_object(values, kind, where)
    if (upgrade := getattr(kind, "upgrade", None)) is not None:
        values = upgrade(values)
    hints = _hints(kind)  # type: ignore[arg-type]  # classes are hashable
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    if others:
        values = {name: value for name, value in values.items() if name in fields}
    for name in values:
        if name not in fields:
            raise LantmError(f"{where} has no field {reprlib.repr(name)}: known are {', '.join(fields)}")
    for name, field in fields.items():
        if name not in values and field.default is field.default_factory is dataclasses.MISSING:
            raise LantmError(f"{where} lacks the field {name!r}")
    return kind(**{name: _fit(hints[name], value, f"{where}.{name}") for name, value in values.items()})


def _fit(hint: Any, value: Any, where: str) -> Any:
    """`value` converted to the annotated type: a list becomes a tuple, an integer may stand for a float."""
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
    elif dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        return make_record(hint, value, where)
    elif origin is dict:
        fits = isinstance(value, dict)
    elif hint is float:
        fits = isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < sys.float_info.max
        value = float(value) if fits else value
    elif hint is int:
        fits = isinstance(value, int) and not isinstance(value, bool)
        if fits and abs(value) > LARGEST:
            raise LantmError(f"{where} is {reprlib.repr(value)}: whole numbers go up to {LARGEST:,}")
    elif hint is Any:
        fits = True
    else:
        fits = isinstance(value, hint)
    if not fits:
        names = {float: "a number", int: "a whole number", bool: "true or false", str: "text"}
        names |= {dict[str, Any]: "a JSON object"}
        expected = names.get(hint) or str(hint).replace("typing.", "")
        raise LantmError(f"{where} is {reprlib.repr(value)}, which is not {expected}")
    return value
