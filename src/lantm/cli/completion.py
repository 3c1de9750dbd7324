"""`lantm completion`: prints a bash, zsh or fish script that completes commands, flags, choices and machine names."""

import dataclasses
import importlib
import types
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar, Union, get_args, get_origin, get_type_hints

import tyro

from lantm.cli import COMMANDS
from lantm.cli.parse import parse
from lantm.geometry import GEOMETRIES
from lantm.grids.studies import STUDIES
from lantm.grids.studies.whole import ALL
from lantm.machine import WEIGHTINGS
from lantm.paper import RECIPES
from lantm.tasks import TASKS, Text
from lantm.trained import zoo
from lantm.training.experiment import CONFIGS

Shell = Literal["bash", "zsh", "fish"]


@dataclasses.dataclass(frozen=True)
class Arguments:
    """Print a script that completes commands, flags, their choices and machine names in a shell.

    For bash, with the package bash-completion installed:

        mkdir -p ~/.local/share/bash-completion/completions
        lantm completion bash > ~/.local/share/bash-completion/completions/lantm

    For zsh:

        lantm completion zsh > ~/.lantm-completion
        echo "source ~/.lantm-completion" >> ~/.zshrc

    For fish:

        mkdir -p ~/.config/fish/completions
        lantm completion fish > ~/.config/fish/completions/lantm.fish

    Completion is available in shells started afterwards.
    """

    shell: Annotated[tyro.conf.Positional[Shell], tyro.conf.arg(metavar="{bash,zsh,fish}")]
    """The shell."""


class Flag(NamedTuple):
    """A flag of a command."""

    name: str
    choices: tuple[str, ...]
    takes_value: bool


def main(arguments: list[str]) -> int:
    """Runs the command."""
    shell = parse(Arguments, "completion", arguments).shell
    print(_fish() if shell == "fish" else _bash(shell), end="")
    return 0


def flags(command: str) -> list[Flag]:
    """The flags of a command: the fields of its dataclass, including nested ones."""
    module = importlib.import_module(f"lantm.cli.{command}")
    forms = [value for name, value in vars(module).items() if name in ("Arguments", "AddArguments")]
    found = {flag.name: flag for form in forms for flag in _flags_of(form)}
    return [Flag("--help", (), False), *found.values()]


def words(command: str) -> list[str]:
    """Completions of the first argument of a command, besides file names."""
    tasks = [*TASKS, Text.name]
    machines = [*zoo.tasks(), *zoo.names()]
    known: dict[str, list[str]] = {
        **dict.fromkeys(("solve", "eval", "verify", "trace", "view"), machines),
        "train": tasks,
        "info": [*tasks, *zoo.names()],
        "check": [*TASKS, *GEOMETRIES],
        "reproduce": [*STUDIES, ALL],
        "zoo": ["add"],
        "completion": list(get_args(Shell)),
    }
    return known.get(command, [])


def _flags_of(form: Any) -> Iterator[Flag]:
    names: dict[str, Iterable[str]] = {
        "recipe": RECIPES,
        "geometry": GEOMETRIES,
        "weighting": WEIGHTINGS,
        "task": TASKS,
    }
    hints = get_type_hints(form, include_extras=True)
    for field in dataclasses.fields(form):
        kind, marks = _unwrapped(hints[field.name])
        given = next((mark.name for mark in marks if getattr(mark, "name", None)), field.name)
        flag = f"--{given.replace('_', '-')}"
        records = tuple(dict.fromkeys(CONFIGS.values())) if isinstance(kind, TypeVar) else (kind,)
        if all(dataclasses.is_dataclass(record) for record in records):
            for record in records:
                yield from _flags_of(record)
        elif tyro.conf.Positional in marks:
            continue
        elif kind is bool:
            yield from (Flag(flag, (), False), Flag(f"--no-{flag[2:]}", (), False))
        else:
            yield Flag(flag, tuple(names.get(field.name, ())) or _choices(kind), True)


def _unwrapped(kind: Any) -> tuple[Any, tuple[Any, ...]]:
    """A type without `Annotated`, and its annotations."""
    return (kind.__origin__, kind.__metadata__) if get_origin(kind) is Annotated else (kind, ())


def _choices(kind: Any) -> tuple[str, ...]:
    """The values of a Literal, which may be optional."""
    if get_origin(kind) is Literal:
        return tuple(map(str, get_args(kind)))
    inside = get_args(kind) if get_origin(kind) in (Union, types.UnionType) else ()
    return tuple(choice for one in inside for choice in _choices(one))


def _bash(shell: Shell) -> str:
    """The script for bash; for zsh it uses zsh's emulation of bash completion."""
    choices = (
        _case(f'"{command} {flag.name}"', flag.choices)
        for command in COMMANDS
        for flag in flags(command)
        if flag.choices
    )
    script = _BASH % {
        "commands": " ".join(COMMANDS),
        "choices": "\n".join(choices),
        "flags": "\n".join(_case(command, [flag.name for flag in flags(command)]) for command in COMMANDS),
        "words": "\n".join(_case(command, words(command)) for command in COMMANDS if words(command)),
    }
    return ("autoload -U +X compinit bashcompinit\ncompinit\nbashcompinit\n" if shell == "zsh" else "") + script


def _case(pattern: str, found: Sequence[str]) -> str:
    return f"""            {pattern}) offered="{" ".join(found)}" ;;"""


_BASH = """\
_lantm() {
    local command="${COMP_WORDS[1]}" current="${COMP_WORDS[COMP_CWORD]}" offered="" IFS=$' \\t\\n'
    if [[ $COMP_CWORD == 1 ]]; then
        offered="%(commands)s --help --version"
    else
        case "$command ${COMP_WORDS[COMP_CWORD-1]}" in
%(choices)s
        esac
    fi
    if [[ -z $offered && $current == -* ]]; then
        case "$command" in
%(flags)s
        esac
    fi
    if [[ -n $offered ]]; then
        COMPREPLY=($(compgen -W "$offered" -- "$current"))
    else
        case "$command" in
%(words)s
        esac
        IFS=$'\\n'
        COMPREPLY=($(IFS=' ' compgen -W "$offered" -- "$current") $(compgen -f -- "$current"))
    fi
}
complete -o filenames -F _lantm lantm
"""


def _fish() -> str:
    lines = []
    for command, summary in COMMANDS.items():
        lines.append(f"complete -c lantm -f -n __fish_use_subcommand -a {command} -d {_quoted(summary)}")
        within = f"complete -c lantm -n '__fish_seen_subcommand_from {command}'"
        if words(command):
            lines.append(f"{within} -a '{' '.join(words(command))}'")
        for flag in flags(command):
            value = f" -x -a '{' '.join(flag.choices)}'" if flag.choices else " -r" if flag.takes_value else ""
            lines.append(f"{within} -l {flag.name[2:]}{value}")
    lines.append("complete -c lantm -f -n __fish_use_subcommand -l help -l version")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
