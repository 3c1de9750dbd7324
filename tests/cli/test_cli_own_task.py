"""A task that the package has never seen, in one file of the user's: every model is trained on it by name."""

import json
import pathlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lantm.errors import LantmError
from lantm.paper import MODELS
from lantm.tasks import make_task

FILE = '''
"""Letters, each after the number of times that it is to be written: 3a1b2c gives aaabcc."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp

from lantm import Lengths, SequenceTask
from lantm.tasks import NOTHING


class Expand(SequenceTask):
    name: ClassVar[str] = "expand"
    sizes_vary: ClassVar[bool] = True
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 5))
    most: int = eqx.field(static=True, default=3)

    def input_size(self, length):
        return 2 * length

    def output_size(self, length):
        return self.most * length

    def draw(self, key, length, room):
        number_key, letter_key = jax.random.split(key)
        (one, a) = self.read("1a")
        numbers = jax.random.randint(number_key, (room // 2,), one, one + self.most)
        letters = jax.random.randint(letter_key, (room // 2,), a, a + 26)
        return jnp.stack([numbers, letters], axis=1).reshape(-1)

    def output(self, symbols, length):
        numbers, letters = symbols[0::2], symbols[1::2]
        ends = jnp.cumsum(jnp.where(numbers == NOTHING, 0, numbers - self.read("0")[0]))
        at = jnp.arange(self.most * letters.size)
        which = jnp.searchsorted(ends, at, side="right")
        return jnp.where(at < ends[-1], jnp.take(letters, which, mode="clip"), NOTHING)

    def expected(self, text):
        return "".join(int(number) * letter for number, letter in zip(text[0::2], text[1::2]))
'''
COUNTS = {"epochs": 2, "batches": 1, "batch-size": 2, "test-every": 2, "test-batches": 1, "seeds": 1}
SHORT = [word for name, count in COUNTS.items() for word in (f"--{name}", count)]
SHORT += ["--lengths", 2, 3, "--recorded-seeds", 0]


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[pathlib.Path]:
    (tmp_path / "unseen.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    yield tmp_path
    sys.modules.pop("unseen", None)


@pytest.mark.thorough
@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_trained_on_it(folder: pathlib.Path, lantm: Callable[..., Any], model: str) -> None:
    small = ["--layers", 1, "--cells", 4] if model == "lstm" else []
    said = lantm("train", "./unseen.py:Expand", "--model", model, *SHORT, *small, "--out", "run", "--json")
    assert said.status == 0, said.err
    rows = json.loads(said.out)
    assert {(row["task"], row["model"]) for row in rows} == {("./unseen.py:Expand", model)}
    assert [row["scale"] for row in rows] == ["1x", "2x"]
    result = json.loads(lantm("solve", "run", "3a1b2c", "--json", "--trust").out)
    assert (result["task"], result["expected"], result["symbols"]) == ("expand", "aaabcc", 7)


def test_a_file_and_its_module_are_the_same_task(folder: pathlib.Path) -> None:
    assert make_task("./unseen.py:Expand[most=2]") == make_task("unseen:Expand[most=2]")
    with pytest.raises(LantmError, match=r"cannot import the task 'other:Expand'.*modules are searched for on"):
        make_task("other:Expand")


FAULTY = """
from typing import ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from lantm.tasks import Lengths, SequenceTask


class NoSize(SequenceTask):
    name: ClassVar[str] = "noSize"

    def output(self, symbols, length):
        return symbols

    def expected(self, text):
        return text


class Chosen(NoSize):
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 4))

    def output(self, symbols, length):
        return symbols[symbols > 40]


class Decided(Chosen):
    def output(self, symbols, length):
        return symbols if symbols[0] > 40 else symbols + 1


class Cut(Chosen):
    def output(self, symbols, length):
        return symbols[:length]


class Counted(Chosen):
    def output(self, symbols, length):
        return jnp.stack([symbols[at] for at in range(length)])


class Whole(Chosen):
    def output(self, symbols, length):
        return jnp.arange(int(length))


class Sorted(Chosen):
    def output(self, symbols, length):
        return np.sort(symbols)


class Listed(Chosen):
    def output(self, symbols, length):
        return [symbols[0]]


class Halved(Chosen):
    def output(self, symbols, length):
        return symbols / 2


class Square(Chosen):
    def output(self, symbols, length):
        return jnp.stack([symbols, symbols])
"""


@pytest.mark.parametrize("command", ["check", "train"])
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("faulty.py:NoSize", ["class lacks train_lengths; a SequenceTask needs name, train_lengths, output and"]),
        ("faulty:Chosen", ["line 24, raised NonConcreteBooleanIndexError", "sizes_vary = True", "lantm.tasks.keep"]),
        ("faulty:Decided", ["line 29, raised TracerBoolConversionError", "jnp.where"]),
        ("faulty:Cut", ["line 34, raised IndexError", "`length` is no number", "jnp.arange(symbols.size) < length"]),
        ("faulty:Counted", ["line 39, raised TracerIntegerConversionError", "jnp.arange(symbols.size) < length"]),
        ("faulty:Whole", ["line 44, raised ConcretizationTypeError", "jnp.arange(symbols.size) < length"]),
        ("faulty:Sorted", ["line 49, raised TracerArrayConversionError", "use jax.numpy instead of numpy"]),
        ("faulty:Listed", ["the output of the task noSize is a list: return a row of symbols"]),
        ("faulty:Halved", ["the output of the task noSize is an array of float32: return a row of symbols"]),
        ("faulty:Square", ["the output of the task noSize is an array of the shape (2, "]),
        ("faulty.py", ["name a class in it, faulty.py:NoSize or faulty.py:Chosen or faulty.py:Decided"]),
        ("empty.py", ["'empty.py' is a file: name a class in it, as empty.py:Name"]),
        ("broken.py", ["'broken.py' is not a Python module: invalid syntax"]),
        ("./absent.py:Cut", ["there is no file './absent.py' in the current folder"]),
        ("faulty:Cit", ["module 'faulty' has no 'Cit' to ", ": did you mean 'Cut'? known are NoSize, Chosen"]),
        ("absent.py", ["there is no file 'absent.py' in the current folder"]),
    ],
)
def test_mistakes_in_a_task(
    folder: pathlib.Path, lantm: Callable[..., Any], command: str, name: str, words: list[str]
) -> None:
    for file, text in (("faulty", FAULTY), ("empty", ""), ("broken", "class =")):
        (folder / f"{file}.py").write_text(text)
    try:
        said = lantm(command, name)
    finally:
        sys.modules.pop("faulty", None)
    assert (said.status, said.out, said.err.count("\n")) == (2, "", 1)
    for word in words:
        assert word in said.err
