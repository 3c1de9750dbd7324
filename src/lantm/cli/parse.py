"""Parses flags into dataclasses (with tyro); errors are one line that names the mistake and the remedy."""

import contextlib
import difflib
import inspect
import io
import itertools
import pathlib
import re
import shlex
import shutil
import textwrap
from collections.abc import Sequence
from typing import Any, get_origin

import tyro

from lantm.cli.exit_status import HelpShown
from lantm.errors import LantmError


def parse(form: Any, command: str, arguments: Sequence[str], **options: Any) -> Any:
    """Parses the arguments of a command into the dataclass `form`; `options` are passed to `tyro.cli`."""
    options.setdefault("description", described(form))
    options.setdefault("config", (tyro.conf.DisallowNone,))  # that a flag is not given needs no word
    chosen, said = _parsed(form, command, arguments, options)
    if chosen is not None:
        return chosen
    if said.startswith("usage:"):
        print(_wrapped(said))
        raise HelpShown
    _, help = _parsed(form, command, ["--help"], options)
    message = _in_one_line(said, arguments, help)
    raise LantmError(f"{message}; lantm {command} --help lists the flags")


def _parsed(form: Any, command: str, arguments: Sequence[str], options: dict[str, Any]) -> tuple[Any, str]:
    """The record, or None and what tyro printed instead: help or an error."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said), contextlib.suppress(SystemExit):
        return tyro.cli(form, prog=f"lantm {command}", args=arguments, **options), ""
    return None, said.getvalue()


def required(default: Any, field: str) -> Any:
    """The record of defaults, with one field marked as required."""
    object.__setattr__(default, field, tyro.MISSING)  # not a constructor argument, since the types differ
    return default


def described(form: Any, *more: str) -> str:
    """The docstring of a command's dataclass plus further paragraphs, unwrapped; indented examples are kept."""
    paragraphs = inspect.cleandoc((get_origin(form) or form).__doc__).split("\n\n")
    return "\n\n".join(
        # Indented examples keep their lines.
        paragraph if paragraph.startswith(" ") else " ".join(paragraph.split())
        for paragraph in (*paragraphs, *more)
    )


def published(command: str, arguments: Sequence[str], run: str | None = None) -> str:
    """The command as recorded in results, without file paths, which differ between computers.

    >>> published("reproduce", ["language", "--data", "texts", "--seeds", "2", "--out=there"])
    'lantm reproduce language --data FOLDER --seeds 2'
    >>> published("trace", [".", "--save", "there"], run=".")
    'lantm trace RUN'
    """
    return shlex.join(["lantm", command, *publishable(arguments, run)])


def publishable(arguments: Sequence[str], run: str | None = None) -> list[str]:
    """Arguments without file paths: a text's folder becomes FOLDER, and `run` RUN unless it is a machine of the zoo.

    >>> publishable(["--seeds", "2", "--out", "there"])
    ['--seeds', '2']
    """
    words: list[str] = []
    rest = iter(arguments)
    for word in rest:
        flag, given, _ = word.partition("=")
        if flag not in ("--data", "--out", "--runs", "--save"):
            words.append("RUN" if word == run and pathlib.Path(word).exists() else word)
            continue
        if not given:
            next(rest, None)
        if flag == "--data":
            words += [flag, "FOLDER"]
    return words


_EXPLAINED = 12  # columns: descriptions of flags begin further to the right
_NONE = "{None}|"  # of a flag that can be set to None; of others, a default of None or of no values says nothing


def _wrapped(text: str) -> str:
    """Help wrapped to the terminal: tyro wraps only its lists of flags, which are indented."""
    width = min(100, shutil.get_terminal_size().columns)
    lines: list[str] = []
    for line in map(str.rstrip, text.splitlines()):
        column = len(line) - len(line.lstrip())
        before = lines[-1] if lines else ""
        if not column:
            lines.append(textwrap.fill(line, width, break_on_hyphens=False))
        elif column >= _EXPLAINED and before[column - 2 : column] == "  " and before[column : column + 1].strip():
            # The description of a flag goes on. tyro keeps the line breaks of the source in it.
            whole = textwrap.wrap(f"{before[column:]} {line.strip()}", width - column, break_on_hyphens=False)
            lines[-1:] = [before[:column] + whole[0], *(" " * column + more for more in whole[1:])]
        else:
            lines.append(line)
    flags = re.split(r"\n(?=  -)", re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip())
    return "\n".join(flag if _NONE in flag else re.sub(r"\s*\(default:\s+(None)?\)", "", flag) for flag in flags)


def _in_one_line(said: str, arguments: Sequence[str], help: str) -> str:
    """Condenses an error message of tyro, which has a title, the error and a hint, separated by rules."""
    lines = [line.strip() for line in said.splitlines()]
    _, what, *others = [part.strip().split("\n") for part in re.split(r"\n-{3,}\n", "\n".join(lines))]
    if value := re.match(r"Error parsing (--\S+):", what[0]):
        flag = value[1]
        takes = next(row for part in others for row in part if row.startswith(f"{flag} ")).removeprefix(flag).strip()
        given = _given(flag, arguments)[: None if "[" in takes else len(takes.split())]
        return f"{flag} cannot be {' '.join(given)!r}, it takes {takes}"
    if what[0].startswith("Missing from"):
        return _missing(what[1:])
    message = " ".join(what).strip(" .")
    if not message.startswith("Unrecognized"):
        return message
    # The hints of tyro are left out where several words are unknown.
    flags = re.findall(r"(?<!\S)--[a-z][a-z-]*", help)
    unknown = [word.partition("=")[0].replace("_", "-") for word in re.findall(r"--[^\s,]+", message)]
    meant = dict.fromkeys(near for word in unknown for near in difflib.get_close_matches(word, flags, 1, 0.75))
    if not unknown and "--input" in flags:  # lantm solve takes its problem without a flag
        return f"{message}; a problem goes behind --input"
    if not unknown and re.search(r"^ +PROBLEM ", help, re.MULTILINE):
        return f"{message}; put a problem with spaces into quotes"
    return message + (f", did you mean {' and '.join(meant)}?" if meant else "")


def _missing(lines: Sequence[str]) -> str:
    """The error for missing arguments, with the description if only one is missing.

    >>> _missing(["RUN", "The run", "folder. (required)", "PROBLEM", "The problem. (required)"])
    'RUN and PROBLEM are missing'
    >>> _missing(["RUN", "The run", "folder. (required)"])
    'RUN is missing (The run folder)'
    """
    starts = [at for at, _ in enumerate(lines) if not at or lines[at - 1].endswith("(required)")]
    if len(starts) == 1:
        return f"{lines[0]} is missing ({' '.join(lines[1:]).removesuffix('(required)').strip(' .')})"
    return f"{' and '.join(lines[at] for at in starts)} are missing"


def _given(flag: str, arguments: Sequence[str]) -> list[str]:
    """The words after a flag."""
    for at, argument in enumerate(arguments):
        name, equals, value = argument.partition("=")
        if name.replace("_", "-") == flag:
            behind = itertools.takewhile(lambda word: not word.startswith("--"), arguments[at + 1 :])
            return [value] if equals else list(behind)
    return []
