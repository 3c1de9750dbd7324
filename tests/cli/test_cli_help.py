"""Help that is worth reading, and what there is."""

import itertools
import json

import pytest

import lantm as package
from lantm.cli import COMMANDS
from lantm.paper import MODELS, RECIPES
from lantm.trained import load


def test_the_overview(lantm) -> None:
    for arguments in ((), ("--help",), ("-h",), ("help",)):
        said = lantm(*arguments)
        assert (said.status, said.err) == (0, "")
        assert all(f"  {command}" in said.out for command in COMMANDS)
    assert lantm("--version") == (0, f"lantm {package.__version__}\n", "")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_that_fits_a_terminal(lantm, command: str) -> None:
    said = lantm(command, "--help")
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith(f"usage: lantm {command}")
    assert max(map(len, said.out.splitlines())) <= 80


@pytest.mark.parametrize("command", COMMANDS)
def test_lines_of_help_are_full(lantm, command: str) -> None:
    """No line ends where the next word would have had room."""
    lines = lantm(command, "--help").out.splitlines()
    for line, following in itertools.pairwise(lines):
        if line.startswith(" " * 12) and following.startswith(" " * 12):
            assert len(line) + 1 + len(following.split()[0]) > 80, line


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_no_defaults_that_say_nothing(lantm, command: str) -> None:
    """None is said of settings that can be set to None, such as the limit of the memory, and of no others."""
    flags = lantm(command, "--help").out.split("\n  -")
    of_none = [" ".join(flag.split()) for flag in flags if "None" in flag]
    assert not [flag for flag in of_none if "{None}|" not in flag]
    assert not [flag for flag in flags if "(default: )" in flag]
    assert bool(of_none) == (command == "train")


def test_help_uses_a_wide_terminal(lantm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lists of flags are left as they were laid out, and paragraphs have no breaks of the source in them."""
    monkeypatch.setenv("COLUMNS", "120")
    lines = lantm("train", "--help").out.splitlines()
    assert not [line for line in lines if line.startswith("-----")]
    whole = "--seeds INT Number of seeds, trained in parallel as one program. (default: 8)"
    assert whole in [" ".join(line.split()) for line in lines], "a line of 80 columns would be broken"
    assert '("423 + 94"), a program for programs' in " ".join(lantm("solve", "--help").out.split())
    prose = lantm("video", "--help").out.partition("positional")[0].splitlines()
    assert all(len(line) > 60 for line in prose[4:7])


def test_help_shows_the_defaults_of_the_task_and_model(lantm) -> None:
    def default(*arguments: str) -> str:
        lines = lantm("train", *arguments, "--help").out.split()
        at = lines.index("--embedding", lines.index("--weighting") if "--weighting" in lines else 0)
        return lines[lines.index("(default:", at) + 1]

    assert default() == "7)"
    assert default("addition") == "14)"
    assert default("addition", "--model", "lstm") == "64)"


def test_every_flag_is_explained(lantm) -> None:
    text = " ".join(lantm("train", "--help").out.split())
    for words in (
        "--optimiser {rmsprop,adam,adagrad} Optimiser.",
        "--geometry STR The key space and its group",
        "--seeds INT Number of seeds, trained in parallel",
        "TASK Task to train on: copy, reverse, bigramFlip, double, addition, oddFirst, repeatCopy, prioritySort, "
        "programs, text, or your own as module:Name.",
    ):
        assert words in text


def test_info_lists_what_there_is(lantm) -> None:
    said = lantm("info", "--json")
    facts = json.loads(said.out)
    assert facts["models"] == list(MODELS)
    assert facts["recipes"] == list(RECIPES)
    assert {"copy", "addition", "text", "module:Name"} <= set(facts["tasks"])
    assert {"translation", "rotation", "translation-N"} <= set(facts["geometries"])
    table = lantm("info").out
    assert all(name in table for name in (*MODELS, "bigramFlip", "scaling-rotation"))


def test_info_shows_seed_and_start(lantm) -> None:
    """The seed of a later start is a large number, which scripts are given."""
    (number,) = json.loads(lantm("info", "copy-lantm-softmax", "--json").out)["seeds"]
    assert number > 1_000_000
    shown = next(line for line in lantm("info", "copy-lantm-softmax").out.splitlines() if line.startswith(" seeds "))
    assert shown.split() == ["seeds", f"{number % 1_000_003},", "start", f"{number // 1_000_003 + 1}"]
    assert f"seed {number % 1_000_003}, start" in repr(load("copy-lantm-softmax"))


def test_info_counts_parameters(lantm) -> None:
    facts = json.loads(lantm("info", "copy", "--json").out)
    assert facts["parameters_as_the_paper_counts"] == 26105
    assert facts["parameters"] == sum(facts["by_part"].values())
    assert facts["parameters"] + sum(facts["paper_counts_besides"].values()) == 26105
    assert facts["trained_on_lengths"] == [2, 64]
    assert "trained on lengths              2-64 " in lantm("info", "copy").out
    assert facts["recipe"] == "paper"
    answering = load("copy")
    assert facts["answered_by"]["parameters"] == answering.parameters != facts["parameters"]
    assert answering.name in facts["answered_by"]
    by_recipe = json.loads(lantm("info", "copy", "--recipe", answering.experiment.recipe_name, "--json").out)
    assert by_recipe["parameters"] == answering.parameters
    table = lantm("info", "addition", "--model", "lstm").out
    assert "1,918,222" in table
    assert max(map(len, table.splitlines())) <= 80
    of_text = json.loads(lantm("info", "text", "--model", "lstm", "--json").out)
    assert (of_text["vocabulary"], of_text["parameters"]) == (10_000, 4_047_632 - 4 * 128), "but for a second bias"
    of_programs = json.loads(lantm("info", "programs", "--json").out)
    for counted_otherwise in (of_text, of_programs):
        assert "parameters_as_the_paper_counts" not in counted_otherwise
