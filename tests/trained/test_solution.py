"""Problems that people write, answered."""

import pytest

from lantm.errors import LantmError
from lantm.trained import Trained, load


def test_a_machine_that_ships_adds() -> None:
    solution = load("addition").solve("423 + 94")
    assert (solution.task, solution.problem) == ("addition", "423 + 94")
    assert (solution.answer, solution.expected, solution.right) == ("517", "517", True)
    assert solution.symbols == solution.targets
    assert solution.symbols_right == len(solution.targets)


def test_a_wrong_answer_says_how_wrong_it_is(trained) -> None:
    """Of a machine that has learnt next to nothing."""
    task = trained.experiment.build_task()
    solution = trained.machines.solve("abcd", seed=0)
    assert solution.expected == "abcd"
    assert solution.right is False
    pairs = zip(solution.symbols, solution.targets, strict=True)
    assert solution.symbols_right == sum(one == other for one, other in pairs)
    assert solution.symbols_right < len(solution.targets) == 5, "the end symbol is one of them"
    assert solution.inputs == solution.targets[:-1], "copying"
    assert solution.targets[-1] == task.end_of_output
    assert solution.answer == task.decode_answer(solution.symbols)


def test_what_is_no_problem(trained) -> None:
    with pytest.raises(LantmError):
        trained.machines.solve("")


def test_a_reader_guesses_the_next_word(reader: Trained) -> None:
    solution = reader.solve("the head reads")
    assert (solution.task, solution.expected, solution.right) == ("text", None, None)
    assert solution.answer == "its", "it follows every verb"
    assert [reader.source.symbol_name(symbol) for symbol in solution.inputs] == ["<eos>", "the", "head", "reads"]
    assert reader.source.symbol_name(solution.symbols[1]) == "head", "it follows every article"
    assert len(solution.symbols) == 4
    with pytest.raises(LantmError, match="there are no words to read"):
        reader.solve(" ")
