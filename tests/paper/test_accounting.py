"""Parameter counts: ours, and the paper's integers exactly."""

import pytest

from lantm.machine import LantmConfig, LstmConfig
from lantm.paper import MODELS, account, preset
from lantm.tasks import TASKS, make_task
from lantm.training import ModelName


def papers_formula(n: int, E: int, M: int, V: int, temperature: int = 0) -> int:  # noqa: N803 the paper's letters
    """P of section 3 of the specification: ours, a second bias, a second embedding, a dead weight per start."""
    emitted = 13 + M + temperature
    return 4 * n * (E + M + n) + 8 * n + emitted * (n + 1) + V * (n + 1) + 2 * V * E + 2 * (2 * n + 2 * M + 11)


@pytest.mark.parametrize(
    ("task", "model", "count"),
    [
        ("copy", "lantm-invnorm", 26105),
        ("reverse", "lantm-invnorm", 26105),
        ("bigramFlip", "lantm-invnorm", 70155),
        ("addition", "lantm-invnorm", 20291),
        ("double", "lantm-invnorm", 18695),
        ("copy", "lantm-softmax", 26156),
        ("reverse", "lantm-softmax", 26156),
        ("double", "lstm", 1918222),
        ("addition", "lstm", 1918222),
        ("copy", "lstm", 1889152),  # where the paper repeats the arithmetic figure
    ],
)
def test_the_papers_integers(task: str, model: ModelName, count: int) -> None:
    machine = preset(task, model).machine
    assert account(machine, make_task(task).vocabulary).paper == count


@pytest.mark.parametrize(
    ("model", "count"), [("lstm", 127_890), ("lantm-invnorm", 212_149), ("lantm-softmax", 212_149)]
)
def test_the_papers_integers_for_programs(model: ModelName, count: int) -> None:
    """With one embedding table, and for SoftMax without a temperature: a row of the heads, 128 weights and a bias."""
    found = account(preset("programs", model).machine, make_task("programs").vocabulary)
    temperature = 129 if model == "lantm-softmax" else 0
    assert found.ours + found.second_bias + found.dead_start - temperature == count


def test_the_papers_integer_for_texts() -> None:
    """With one embedding table."""
    found = account(preset("text", "lstm").machine, 10_000)
    assert found.ours + found.second_bias == 4_047_632


@pytest.mark.parametrize("task", list(TASKS))
def test_the_papers_formula(task: str) -> None:
    vocabulary = make_task(task).vocabulary
    for model in ("lantm-invnorm", "lantm-softmax"):
        machine = preset(task, model).machine
        assert isinstance(machine, LantmConfig)
        sizes = (machine.cells, machine.embedding, machine.memory_width, vocabulary)
        expected = papers_formula(*sizes, temperature=int(machine.weighting == "softmax"))
        assert account(machine, vocabulary).paper == expected


def test_the_parts_add_up() -> None:
    count = account(LantmConfig(cells=5, embedding=3, memory_width=2), 9)
    assert count.ours == sum(count.parts.values())
    assert count.paper - count.ours == 4 * 5 + 9 * 3 + count.parts["start"]
    assert count.parts["start"] == 2 * 5 + 2 * 2 + 11


def test_a_start_that_is_not_learned_is_not_counted() -> None:
    learned, drawn = (account(LstmConfig(learn_start=learn), 128) for learn in (True, False))
    assert "start" not in drawn.parts
    assert drawn.dead_start == 0
    assert learned.ours - drawn.ours == learned.parts["start"]


def test_layers_are_counted() -> None:
    one, two = (account(LstmConfig(layers=layers, cells=6, embedding=3), 9) for layers in (1, 2))
    assert two.second_bias == 2 * one.second_bias == 2 * 24
    assert two.ours - one.ours == 4 * 6 * (6 + 6 + 1) + 12


def test_every_preset_can_be_built() -> None:
    for task in TASKS:
        for model in MODELS:
            assert account(preset(task, model).machine, make_task(task).vocabulary).ours > 0
