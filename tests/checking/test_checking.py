"""What keeps its contract passes, and what breaks one law of it is named, with a case in which it does."""

import pathlib
import re
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest

import lantm
from examples.own_controller import Gru
from examples.own_weighting import Cauchy
from lantm.checking import check, find
from lantm.errors import LantmError
from lantm.geometry import Translation
from lantm.machine import Weighting
from lantm.tasks import Copy, Lengths, SequenceTask


def broken(thing: object, thorough: bool = True) -> dict[str, str]:
    return {finding.law: finding.counterexample for finding in check(thing, thorough) if finding.broken}


class Swapped(SequenceTask):
    """Says that it reverses, and copies problems of more than three symbols."""

    name: ClassVar[str] = "swapped"
    alphabet: ClassVar[str] = "abcde"
    data_symbols: int = eqx.field(static=True, default=5)
    train_lengths: Lengths = eqx.field(static=True, default=Lengths(2, 8))

    def output(self, symbols, length):
        turned = jnp.take(symbols, length - 1 - jnp.arange(symbols.size), mode="clip")
        return jnp.where(length > 3, symbols, turned)

    def expected(self, text: str) -> str:
        return text[::-1]


class LastFirst(Swapped):
    """Takes the end of the array for the end of the input."""

    def output(self, symbols, length):
        return symbols[::-1]


class Halfway(Translation):
    """Undoes half of an action."""

    def inverse(self, action):
        return -0.5 * action


class Stuck(Translation):
    """Never takes the candidate wholly, and has no gradient where keys coincide."""

    def mix_keys(self, gate, candidate, previous):
        return super().mix_keys(0.9 * gate, candidate, previous)

    def squared_distance(self, key, address):
        return jnp.linalg.norm(key - address, axis=-1) ** 2


class Backwards(Weighting):
    """Far memories count for more."""

    def affinities(self, squared_distances, temperature, nearest):
        return squared_distances / (1 + squared_distances)


class Growing(Gru):
    """Its state is longer after a step."""

    def step(self, inputs, state):
        output, state = super().step(inputs, state)
        return output, jnp.append(state, 0)


def test_a_task_and_its_output() -> None:
    assert broken(Copy(), thorough=False) == {}
    law, *others = broken(Swapped(), thorough=False).items()
    assert law[0] == "output is what expected says"
    assert others == []
    text, output, expected = re.findall(r"'(.*?)'", law[1])
    assert re.match(r"a (random|hard) problem of length \d+: for '", law[1])
    assert (output, expected) == (text, text[::-1])
    assert len(text) > 3


class FewCharacters(Copy):
    """An alphabet of 100 of its 125 symbols: few problems can be written, so `expected` is tested with few."""

    name: ClassVar[str] = "few"
    alphabet: ClassVar[str] = Copy.alphabet[:100]


def test_symbols_without_a_character() -> None:
    found = {finding.law.partition(":")[0]: finding for finding in check(FewCharacters())}
    symbols, answers = found["symbols"], found["output is what expected says"]
    assert not any(finding.broken for finding in found.values())
    assert symbols.note is not None
    assert symbols.note.startswith("25 of 125 data symbols have no character in the alphabet: `data_symbols: int = ")
    assert answers.note is not None
    left_out = re.match(r"(\d+) problems were left out, which cannot be written as text: few has no ", answers.note)
    assert left_out
    assert int(left_out[1]) + answers.cases == 1000
    assert not any(finding.note for finding in check(Copy(), thorough=False))


def test_a_geometry_and_its_laws() -> None:
    assert set(broken(Halfway(), thorough=False)) == {
        "inverse: act(inverse(a), act(a, k)) = k",
        "inverse: a inverse(a) = e",
    }
    found = broken(Stuck())
    gradients = {f"gradients by {name} are finite" for name in ("keys", "actions")}
    assert set(found) == {"mixing keys: gate 1 gives the candidate", *gradients}
    assert " instead of " in found["mixing keys: gate 1 gives the candidate"]
    assert " for raw keys of k, l, m [[" in found["mixing keys: gate 1 gives the candidate"]
    assert "nan" in found["gradients by keys are finite"]


def test_a_weighting() -> None:
    assert broken(Cauchy()) == {}
    assert set(broken(Backwards())) == {"affinities fall with the distance"}


def test_room_that_is_taken_for_input() -> None:
    found = broken(LastFirst())["a problem does not depend on the room in its arrays"]
    assert found == "length 7 in arrays for 7 and for 16 differ: only the first 7 of `symbols` are their input"


def test_a_controller() -> None:
    key = jax.random.key(0)
    assert broken(Gru(1, 3, 4, key)) == {}
    assert "after a step" in broken(Growing(1, 3, 4, key))["the state keeps its shape"]


def test_names() -> None:
    assert find("disk[radius=8]").radius == 8
    with pytest.raises(LantmError, match="cannot be checked"):
        find("pathlib:Path")
    with pytest.raises(LantmError, match=r"module 'examples\.helix' has no 'Helx' to check: did you mean 'Helix'"):
        find("examples.helix:Helx")
    with pytest.raises(LantmError, match="No module named 'nowhere'"):
        find("nowhere:Task")


def test_training_begins_with_it(tmp_path: pathlib.Path, lantm, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line with the counterexample, before anything is written."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine_checked.py").write_text(
        "from lantm.tasks import Copy\nclass Wrong(Copy):\n    def expected(self, text):\n        return text[::-1]\n"
    )
    said = lantm("train", "mine_checked:Wrong", "--out", "run")
    assert said.status == 2
    assert said.err.startswith("lantm: mine_checked:Wrong breaks its contract: output is what expected says: ")
    assert said.err.count("\n") == 1
    assert not (tmp_path / "run").exists()
    said = lantm("check", "mine_checked:Wrong")
    assert said.status == 1
    assert "broken     output is what expected says" in said.out


def test_training_from_python_begins_with_it() -> None:
    with pytest.raises(LantmError, match=r":Swapped breaks its contract: output is what expected says"):
        lantm.train(Swapped(), recipe="demo")


class Endless(Copy):
    def output_size(self, length: Any) -> Any:
        return 10**9 * length


class Half(Copy):
    def input_size(self, length: Any) -> Any:
        return 0.5 * length


class Traced(Copy):
    def output_size(self, length: Any) -> Any:
        return jnp.maximum(length, 2)


def test_sizes_that_cannot_be() -> None:
    """A size that is no number, or that no memory holds, ends in one line: XLA would end the process."""
    with pytest.raises(LantmError, match=r"this check would take .* of memory"):
        check(Endless())
    for task, name in ((Half(), "input_size"), (Traced(), "output_size")):
        with pytest.raises(LantmError, match=rf"{name}\(\d+\) of the task copy is .*: return a whole number"):
            jax.eval_shape(lambda key, task=task: task.sample(key, 2, 4, 5), jax.random.key(0))


def test_more_symbols_than_fit_into_an_integer() -> None:
    (finding,) = check(Copy(data_symbols=10**14))
    assert "100000000000000 data symbols" in str(finding.counterexample)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("sphere[radius=0]", "cannot have the radius 0"),
        ("translation-0", "dimension 1 or more"),
        ("copy[size=3]", "cannot make the task 'copy'"),
        ("invnorm[power=x]", "cannot have power=x"),
        ("cpoy", "'cpoy' cannot be checked: name a Task"),
    ],
)
def test_what_is_wrong_with_a_known_name(name: str, said: str) -> None:
    with pytest.raises(LantmError, match=said):
        find(name)
