"""Small changes of things that are right: JSON values, arrays, and words of a command."""

import copy
import random
import string
from collections.abc import Sequence
from typing import Any

import numpy as np

NAMES = ["stranger:Task", "stranger:Geometry", "stranger:Weighting[power=2]", "copy", "text", "lstm", "disk[radius=8]"]
NUMBERS = [0, -1, 1, 2, 3, 2**15, 2**31 - 1, 2**31, 2**53, 2**53 + 1, 2**63, 10**30, -(10**30), 10**400]
FLOATS = [0.0, -0.0, 1.5, -1.5, 1e-320, 1e308, 1e39, float("nan"), float("inf"), float("-inf")]
TEXTS = [
    "",
    " ",
    "a" * 5000,
    "\0",
    "\n",
    "é≥字",
    "\ud800",
    "<script>",
    "[[",
    "copy[",
    "a:b:c",
    "../etc",
    "-5",
    "1e9",
    "nan",
]
Values = Any


def any_value(draw: random.Random, depth: int = 0) -> Values:
    """A value of any JSON type, often an extreme one."""
    kind = draw.randrange(9 if depth < 2 else 6)
    if kind == 0:
        return draw.choice(NUMBERS)
    if kind == 1:
        return draw.choice(FLOATS)
    if kind == 2:
        return draw.choice(TEXTS + NAMES)
    if kind == 3:
        return draw.choice([None, True, False])
    if kind == 4:
        return draw.randrange(-5, 500)
    if kind == 5:
        return "".join(draw.choice(string.printable) for _ in range(draw.randrange(12)))
    if kind == 6:
        return [any_value(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {
        draw.choice(["a", "seeds", "rows", "epoch", ""]): any_value(draw, depth + 1) for _ in range(draw.randrange(3))
    }


def mutated(value: Values, draw: random.Random) -> Values:
    """A copy with one to three changes, anywhere in it."""
    value = copy.deepcopy(value)
    for _ in range(draw.choice([1, 1, 1, 2, 3])):
        value = _changed(value, draw)
    return value


def _changed(value: Values, draw: random.Random) -> Values:
    inside = isinstance(value, dict | list) and len(value) and draw.random() < 0.9
    if not inside:
        return _replaced(value, draw)
    place = draw.choice(list(value)) if isinstance(value, dict) else draw.randrange(len(value))
    action = draw.random()
    if action < 0.08:
        del value[place]
    elif action < 0.14:
        extra = any_value(draw)
        value.update({draw.choice(["more", "notes", "__class__"]): extra}) if isinstance(value, dict) else value.append(
            extra
        )
    else:
        value[place] = _changed(value[place], draw)
    return value


def _replaced(value: Values, draw: random.Random) -> Values:
    """Something else in the place of a value: near it, of another type, or anything."""
    if isinstance(value, bool) or draw.random() < 0.5:
        return any_value(draw)
    if isinstance(value, int | float):
        return draw.choice([value + 1, value - 1, -value, value * 1000, str(value), [value], 0.5])
    if isinstance(value, str):
        cut = draw.randrange(len(value) + 1)
        return draw.choice(
            [value[:cut], value + value, value[:cut] + draw.choice(TEXTS) + value[cut:], draw.choice(NAMES)]
        )
    return [value]


def mutated_arrays(arrays: dict[str, np.ndarray], draw: random.Random) -> dict[str, np.ndarray]:
    """A copy with a change of one array: its numbers, its shape, its type, its name, or that it is there."""
    changed = dict(arrays)
    name = draw.choice(sorted(arrays))
    array = np.array(arrays[name])
    action = draw.randrange(7)
    if action == 0:
        del changed[name]
    elif action == 1:
        changed[draw.choice(["wings", "", "a.b", "é"])] = array
    elif action == 2:
        changed[name] = array[..., None]
    elif action == 3:
        changed[name] = array.astype(draw.choice([np.float64, np.float16, np.int64, np.int32, np.uint8, np.bool_]))
    elif action == 4 and array.ndim:
        changed[name] = array[:0]
    elif array.dtype.kind == "f":
        changed[name] = np.full_like(
            array, draw.choice([np.nan, np.inf, -np.inf, 0.0, 1e30 if array.itemsize > 2 else 6e4])
        )
    elif array.dtype.kind in "iu":
        limits = np.iinfo(array.dtype)
        changed[name] = np.full_like(array, draw.choice([limits.min, limits.max, 0, 1, 77]))
    return changed


def mutated_words(words: Sequence[str], draw: random.Random) -> list[str]:
    """The words of a command with one to three changes."""
    changed = list(words)
    for _ in range(draw.choice([1, 1, 2, 3])):
        at = draw.randrange(len(changed) + 1)
        new = str(
            draw.choice([*NUMBERS, *FLOATS, *TEXTS[:-4], *NAMES, "--json", "--hard", "--out", "-h", "--", "None"])
        )
        action = draw.randrange(4)
        if action == 0 or at == len(changed):
            changed.insert(at, new)
        elif action == 1 and len(changed) > 1:
            del changed[at]
        elif action == 2:
            changed[at] = new
        else:
            changed[at] = changed[at][: draw.randrange(len(changed[at]) + 1)]
    return changed
