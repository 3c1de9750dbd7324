"""`Registry`: built-in classes by name; `module:Name` is a user's class, imported from files only if
they are trusted."""

import ast
import dataclasses
import importlib
import inspect
import os
import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from lantm.errors import LantmError, meant, reason

T = TypeVar("T")

Trust = bool | tuple[str, ...]
"""Which `module:Name` names in a file may be imported: all, none, or the ones listed (which the user gave)."""


MODULES: set[str] = set()
"""The user's modules that were imported by name; exceptions raised there are not bugs of this package."""


def imports_module(name: str) -> bool:
    """Whether creating the object of this name imports a user's module.

    >>> imports_module("my_task:Mine[size=3]"), imports_module("copy[data_symbols=5]")
    (True, False)
    """
    return ":" in name.partition("[")[0]


def check_trust(names: Iterable[object], trust: Trust, where: str) -> None:
    """Raises a `LantmError` for names from a file that would import a module, which runs its code, unless trusted.

    Names typed by the user or in the user's own code need no check.
    """
    for name in names:
        if isinstance(name, str) and imports_module(name) and not (trust if isinstance(trust, bool) else name in trust):
            raise LantmError(
                f"{where} names {name!r}, and importing a module runs its code: add --trust (in Python: trust=True) if "
                "you trust its author"
            )


class Registry(Generic[T]):
    """Maps names to classes (or other callables) that create objects of one kind.

    A name is either registered or of the form `module:Name`. The latter imports `Name`, a class or an object, from the
    Python module `module` on the import path or in the current folder, which may also be given as a file:
    `./mine.py:Name`. Options in brackets are keyword arguments: `bigramFlip[unit=bigrams]`.
    """

    def __init__(self, kind: str, base: type[T], needs: str = "") -> None:
        """`kind` is the word used in messages; `base` is the base class of the objects; `needs` says what a class of
        one's own defines."""
        self.kind = kind
        self._needs = needs
        self._base = base
        self._makers: dict[str, Callable[..., T]] = {}

    def add(self, name: str, maker: Callable[..., T]) -> None:
        """Registers `maker` under a new name."""
        if name in self._makers:
            raise ValueError(f"{self.kind} {name!r} is registered already")
        self._makers[name] = maker

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def make(self, name: str) -> T:
        """Creates the object of this name; an unknown name raises a `LantmError` with a suggestion."""
        name, options = self._split(name)
        if name in self._makers:
            return self._call(self._makers[name], name, options)
        if ":" in name:
            return self._make_from_module(name, options)
        if name.endswith(".py"):
            raise LantmError(_without_class(name))
        known = meant(name, self._makers)
        raise LantmError(f"unknown {self.kind} {name!r}: {known}, or name your own as module:Name")

    def name_of(self, made: T, ignored: tuple[str, ...] = ()) -> str:
        """The inverse of `make`: a name from which it creates an equal object."""
        kind = type(made)
        name = next((name for name, maker in self._makers.items() if maker is kind), None)
        if name is None:
            name = f"{kind.__module__}:{kind.__qualname__}"
        options = []
        for field in dataclasses.fields(made) if dataclasses.is_dataclass(made) else ():
            value = getattr(made, field.name)
            if field.name in ignored or value == field.default:
                continue
            if not isinstance(value, bool | int | float | str):
                raise LantmError(
                    f"{field.name} of {name} is {value!r}, which cannot be part of the name of a {self.kind}"
                )
            options.append(f"{field.name}={str(value).lower() if isinstance(value, bool) else value}")
        return f"{name}[{','.join(options)}]" if options else name

    def _split(self, name: str) -> tuple[str, dict[str, Any]]:
        """The name and the options of a name such as `bigramFlip[unit=bigrams]`."""
        match = re.fullmatch(r"([^\[\]]+)(?:\[([^\[\]]*)\])?", name)
        if not match:
            raise LantmError(f"{name!r} is not the name of a {self.kind}: write name or name[field=value,...]")
        options = {}
        for option in filter(None, (match[2] or "").split(",")):
            field, equals, value = option.partition("=")
            if not equals:
                raise LantmError(f"{option!r} in {name!r} is not an option: write field=value")
            options[field.strip()] = _scalar(value.strip())
        return match[1], options

    def _call(self, maker: Callable[..., T], name: str, options: dict[str, Any]) -> T:
        if undefined := _undefined(maker):
            needs = f"; {self._needs}" if self._needs else ""
            raise LantmError(f"cannot make the {self.kind} {name!r}: its class lacks {', '.join(undefined)}{needs}")
        parameters = inspect.signature(maker).parameters
        for field, value in options.items():
            usual = parameters[field].default if field in parameters else None
            kinds = (int, float) if isinstance(usual, float) else type(usual)
            if usual is not None and (
                not isinstance(value, kinds) or isinstance(value, bool) != isinstance(usual, bool)
            ):
                raise LantmError(f"the {self.kind} {name!r} cannot have {field}={value}: by default it is {usual!r}")
        try:
            return maker(**options)
        except (TypeError, ValueError, AttributeError) as error:
            given = f" with the options {options}" if options else ""
            raise LantmError(f"cannot make the {self.kind} {name!r}{given}: {error}") from error

    def _make_from_module(self, name: str, options: dict[str, Any]) -> T:
        module_name, _, attribute = name.partition(":")
        if "" in _module_of(module_name).split("."):
            raise LantmError(
                f"cannot import the {self.kind} {name!r}: name a module, or a file in the current folder or below it"
            )
        if os.getcwd() not in sys.path:  # `python -m` adds it too
            sys.path.insert(0, os.getcwd())
        try:
            module = importlib.import_module(_module_of(module_name))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # user code may raise anything
            absent = isinstance(error, ModuleNotFoundError) and error.name == _module_of(module_name)
            if absent and module_name.endswith(".py"):
                raise LantmError(f"there is no file {module_name!r} in the current folder") from error
            kind, why = type(error).__name__, reason(error)
            raise LantmError(
                f"cannot import the {self.kind} {name!r}: {kind}{f': {why}' if why != kind else ''}; modules are "
                "searched for on Python's path and in the current folder"
            ) from error
        MODULES.add(module.__name__)
        found = getattr(module, attribute, None)
        if found is None:
            kinds = [
                one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__
            ]
            known = f": {meant(attribute, [kind.__name__ for kind in kinds])}" if kinds else ""
            raise LantmError(f"module {module_name!r} has no {attribute!r} to use as {self.kind}{known}")
        if isinstance(found, self._base):
            if options:
                raise LantmError(f"{name!r} is an object, which takes no options: leave out {list(options)}")
            return found
        # Only subclasses of the base class are called.
        if not (isinstance(found, type) and issubclass(found, self._base)):
            raise LantmError(f"{name!r} is not a {self._base.__name__}: derive it from that class")
        return self._call(found, name, options)


def _undefined(maker: object) -> list[str]:
    """What an abstract class leaves to be defined: methods, and attributes declared with Equinox."""
    kinds = ("__abstractmethods__", "__abstractvars__", "__abstractclassvars__")
    return sorted({name for kind in kinds for name in getattr(maker, kind, ())})


def _without_class(file: str) -> str:
    """The error for a file given without the name of a class: says which classes it has."""
    try:
        nodes = ast.parse(pathlib.Path(file).read_bytes()).body
    except OSError:
        return f"there is no file {file!r} in the current folder"
    except (SyntaxError, ValueError) as error:
        return f"{file!r} is not a Python module: {error}"
    names = [f"{file}:{node.name}" for node in nodes if isinstance(node, ast.ClassDef)]
    return f"{file!r} is a file: name a class in it, " + (" or ".join(names) if names else f"as {file}:Name")


def _module_of(name: str) -> str:
    """The module name for a module that may be given as a file in the current folder.

    >>> _module_of("./tasks/mine.py"), _module_of("tasks.mine")
    ('tasks.mine', 'tasks.mine')
    """
    return name.removeprefix("./").removesuffix(".py").replace("/", ".")


def _scalar(text: str) -> int | float | bool | str:
    """The value of an option: an int, a float or a bool if possible, otherwise the text."""
    if text in ("true", "false"):
        return text == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
