"""Things found by name: options, suggestions, and classes in files of the user's."""

import pathlib
import sys
import textwrap
from typing import Any

import pytest

from lantm.errors import LantmError
from lantm.geometry import GEOMETRIES
from lantm.machine import WEIGHTINGS, InvNorm
from lantm.registry import Registry
from lantm.tasks import TASKS, BigramFlip, Copy, Lengths, make_task


class Animal:
    def __init__(self, legs: int = 4, name: str = "", tame: bool = False, weight: float = 1.0):
        if legs < 0:
            raise ValueError("legs below zero")
        self.values = (legs, name, tame, weight)


@pytest.fixture
def animals() -> Registry[Animal]:
    registry = Registry("animal", Animal)
    registry.add("cat", Animal)
    registry.add("dog", lambda **options: Animal(**{"legs": 3, **options}))
    return registry


@pytest.fixture
def here(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """An empty folder to be in, and an import path to be forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path[:])
    return tmp_path


def refusal(registry: Registry[Animal], name: str) -> str:
    with pytest.raises(LantmError) as caught:
        registry.make(name)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_names(animals: Registry[Animal]) -> None:
    assert list(animals) == ["cat", "dog"]
    assert "cat" in animals
    assert "cow" not in animals
    assert animals.make("dog").values[0] == 3
    with pytest.raises(ValueError, match="registered already"):
        animals.add("cat", Animal)


def test_options(animals: Registry[Animal]) -> None:
    assert animals.make("cat[]").values == (4, "", False, 1.0)
    assert animals.make("cat[legs=7, name=tom,tame=true,weight=2.5]").values == (7, "tom", True, 2.5)
    flip = make_task("bigramFlip[unit=bigrams]")
    assert isinstance(flip, BigramFlip)
    assert flip.unit == "bigrams"
    assert flip.train_lengths == Lengths(2, 32)
    assert make_task("copy[data_symbols=128]").vocabulary == 131
    assert animals.make("cat[weight=2]").values[3] == 2, "a whole number stands for a float too"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("cat[legs]", "'legs' in 'cat[legs]' is not an option: write field=value"),
        ("cat[legs=4", "is not the name of a animal: write name or name[field=value,...]"),
        ("cat[a=[1]]", "is not the name of a animal"),
        ("", "is not the name of a animal"),
        ("cat[wings=2]", "cannot make the animal 'cat' with the options {'wings': 2}"),
        ("cat[legs=-1]", "legs below zero"),
        ("cat[legs=x]", "the animal 'cat' cannot have legs=x: by default it is 4"),
        ("cat[legs=1.5]", "cannot have legs=1.5"),
        ("cat[legs=true]", "cannot have legs=True"),
        ("cat[name=5]", "cannot have name=5: by default it is ''"),
        ("cat[tame=1]", "cannot have tame=1"),
        ("cta", "did you mean 'cat'? known are cat, dog, or name your own as module:Name"),
        ("elephant", "unknown animal 'elephant': known are cat, dog"),
    ],
)
def test_names_that_lead_nowhere(animals: Registry[Animal], name: str, message: str) -> None:
    assert message in refusal(animals, name)


def test_tasks_are_suggested() -> None:
    with pytest.raises(LantmError, match="unknown task 'revrese': did you mean 'reverse'"):
        make_task("revrese")
    assert {"copy", "reverse", "bigramFlip", "double", "addition", "programs"} < set(TASKS)
    with pytest.raises(LantmError, match="cannot count lengths in 'metres'"):
        make_task("bigramFlip[unit=metres]")
    for name in ("copy[train_lengths=5]", "bigramFlip[train_lengths=5]", "double[unused_symbols=x]"):
        with pytest.raises(LantmError, match="cannot"):
            make_task(name)


# Names of objects.


EVERYTHING = [(registry, name) for registry in (TASKS, GEOMETRIES, WEIGHTINGS) for name in registry]


@pytest.mark.parametrize(("registry", "name"), EVERYTHING, ids=[name for _, name in EVERYTHING])
def test_an_object_has_a_name_that_makes_its_equal(registry: Registry[Any], name: str) -> None:
    made = registry.make(name)
    assert registry.make(registry.name_of(made)) == made


def test_names_have_the_options_that_are_not_the_usual_ones() -> None:
    assert TASKS.name_of(Copy()) == "copy"
    flip = BigramFlip(unit="bigrams", data_symbols=5)
    assert TASKS.name_of(flip, ignored=("train_lengths",)) == "bigramFlip[data_symbols=5,unit=bigrams]"
    assert WEIGHTINGS.name_of(InvNorm(power=2.0, renormalise=True)) == "invnorm[renormalise=true,power=2.0]"
    assert TASKS.name_of(Copy(train_lengths=Lengths(2, 5)), ignored=("train_lengths",)) == "copy"
    with pytest.raises(LantmError, match=r"train_lengths of copy is Lengths\(.*\), which cannot be part of the name"):
        TASKS.name_of(Copy(train_lengths=Lengths(2, 5)))


# A module of the user's.


def test_a_class_in_the_current_folder(here: pathlib.Path) -> None:
    (here / "zoo_of_mine.py").write_text(
        "from lantm.tasks import Copy\n\nclass Echo(Copy):\n    name = 'echo'\n\nloud = Echo(data_symbols=7)\n"
    )
    assert isinstance(make_task("zoo_of_mine:Echo"), Copy)
    assert make_task("zoo_of_mine:Echo[data_symbols=5]").vocabulary == 8
    assert make_task("zoo_of_mine:loud").vocabulary == 10, "an object that is one already"
    with pytest.raises(LantmError, match=r"'zoo_of_mine:loud' is an object, which takes no options: leave out \['data"):
        make_task("zoo_of_mine:loud[data_symbols=5]")
    echo = make_task("zoo_of_mine:Echo[data_symbols=5]")
    assert TASKS.name_of(echo) == "zoo_of_mine:Echo[data_symbols=5]"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("no_such_module:Name", "cannot import the task 'no_such_module:Name': ModuleNotFoundError"),
        ("lantm.tasks:Nothing", "module 'lantm.tasks' has no 'Nothing' to use as task"),
        ("lantm.tasks:", "has no ''"),
        (":Copy", "cannot import the task ':Copy'"),
        (".tasks:Copy", "cannot import the task '.tasks:Copy'"),
        ("/home/mine.py:Copy", "name a module, or a file in the current folder or below it"),
        ("lantm.tasks:make_task", "is not a Task: derive it from that class"),
        ("lantm.tasks:Lengths", "is not a Task: derive it from that class"),
        ("lantm.tasks:Task", "cannot make the task 'lantm.tasks:Task': "),
    ],
)
def test_a_module_or_name_that_is_not_there(here: pathlib.Path, name: str, message: str) -> None:
    with pytest.raises(LantmError) as caught:
        make_task(name)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("body", "message"),
    [("def f(:\n", "SyntaxError"), ("1 / 0\n", "ZeroDivisionError: division by zero"), ("import nowhere\n", "nowhere")],
)
def test_a_file_with_a_mistake(here: pathlib.Path, body: str, message: str) -> None:
    name = f"mistaken_{message[:4].lower()}"
    (here / f"{name}.py").write_text(body)
    with pytest.raises(LantmError, match=message):
        make_task(f"{name}:Task")


def test_nothing_is_called_that_is_not_a_task(here: pathlib.Path) -> None:
    """Names come out of run folders too, which may come from anywhere."""
    (here / "trap.py").write_text(
        textwrap.dedent("""
            import pathlib
            def spring(**options):
                pathlib.Path("sprung").touch()
            class Spring:
                def __init__(self, **options):
                    spring()
            """)
    )
    for name in ("trap:spring", "trap:Spring", "trap:spring[path=x]"):
        with pytest.raises(LantmError, match="is not a Task"):
            make_task(name)
    assert not (here / "sprung").exists()
