"""The recipes `second` and `second-small`: machines and training of the authors' second paper (docs/second-paper.md).

What the text leaves open follows the authors' program (harvardnlp/lie-access-memory, options.lua and xopts/).
"""

import dataclasses
from typing import Any

from lantm.machine import LantmConfig, LstmConfig
from lantm.training import ModelName, Recipe

SECOND_RECIPES = ("second", "second-small")
"""The recipes with 320,000 and with 16,000 training problems."""

_LARGE = Recipe(
    learning_rate=0.01,
    decay=0.99,
    clip=32.0,
    schedule="geometric",
    plateau_factor=0.99,
    plateau_start=600,
    # 1,000 epochs of 320 problems: each problem is seen once on average.
    recycled_problems=320_000,
    epochs=1000,
    test_every=50,
)
_SMALL = dataclasses.replace(_LARGE, plateau_start=300, recycled_problems=16_000)

# 0.01 or 0.02, as in most of the authors' best settings for 320,000 problems.
_RATES: dict[tuple[str, str], float] = {
    ("lantm-softmax", "addition"): 0.02,
    ("lantm-softmax", "prioritySort"): 0.02,
    ("lantm-softmax", "reverse"): 0.02,
}
_LSTM_RATE = 0.002


def second_machine(model: ModelName) -> LantmConfig | LstmConfig:
    """The machine for all tasks: a controller of 50 cells with a memory, or two LSTM layers."""
    if model == "lstm":
        return LstmConfig(layers=2, cells=256, embedding=128, forget_bias=1.0)
    return LantmConfig(
        weighting="softmax" if model == "lantm-softmax" else "invnorm",
        cells=50,
        embedding=14,
        memory_width=20,
        forget_bias=1.0,
        # Actions are not interpolated in this paper.
        interpolate_actions=False,
    )


def second_recipe(task: str, model: ModelName, recipe: str, **changes: Any) -> Recipe:
    """The training with either recipe, for a task by its name without options."""
    rate = _LSTM_RATE if model == "lstm" else _RATES.get((model, task), _LARGE.learning_rate)
    return dataclasses.replace(_SMALL if recipe == "second-small" else _LARGE, **{"learning_rate": rate, **changes})
