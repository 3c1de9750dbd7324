"""Machines and recipes for Python programs (section 4.2 of the paper and its appendix)."""

import dataclasses

from lantm.machine import LantmConfig, LstmConfig
from lantm.paper.presets.robust import with_robust_heads
from lantm.training import ModelName, Recipe

# Epochs, test interval and curriculum are ours (docs/programs.md).
_PAPER = Recipe(
    learning_rate=0.002,
    schedule="validation",
    plateau_start=0,
    plateau_factor=0.8,
    epochs=900,
    batches=100,
    mixed_lengths=True,
    curriculum=0.6,
    curriculum_focus=0.8,
    test_every=15,
    test_scales=(1,),
    select_by="fine",
)

# After half of 900 epochs the scores of small loops alone were still rising steadily (docs/programs.md).
SMALL_LOOPS = "programs[kinds=loop]"
_EPOCHS_OF_SMALL_LOOPS = 1200


def programs(task: str, model: ModelName, recipe: str) -> tuple[LantmConfig | LstmConfig, Recipe]:
    """One size for all models and small initial weights; Lie access machines without the paper's two tweaks.

    `robust` has initial weights of the usual size, a cosine schedule, and for Lie access machines the heads of the
    sequence tasks; `demo` is a short version with the paper's heads.
    """
    machine: LantmConfig | LstmConfig
    if model == "lstm":
        machine = LstmConfig(layers=1, cells=128, embedding=100, weight_range=0.08, forget_bias=1.0)
    else:
        machine = LantmConfig(
            weighting="softmax" if model == "lantm-softmax" else "invnorm",
            cells=128,
            embedding=100,
            memory_width=128,
            weight_range=0.0008,
            weight_range_of=("controller",),
            forget_bias=1.0,
            write_gate_bias=0.0,
            normalise_steps=False,
        )
    training = dataclasses.replace(_PAPER, epochs=_EPOCHS_OF_SMALL_LOOPS) if task == SMALL_LOOPS else _PAPER
    if recipe == "paper":
        return machine, training
    training = dataclasses.replace(training, schedule="cosine", clip=1.0, learning_rate=0.003)
    if recipe == "demo":
        training = dataclasses.replace(training, epochs=40, batches=50, test_every=5, test_batches=10)
    machine = dataclasses.replace(machine, weight_range=None)
    if recipe == "robust" and isinstance(machine, LantmConfig):
        machine = with_robust_heads(machine)
    return machine, training
