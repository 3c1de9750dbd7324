"""Machines and recipe for language modelling (section 4.3 of the paper and its appendix)."""

from lantm.machine import LantmConfig, LstmConfig
from lantm.training import ModelName, Recipe

_RECIPE = Recipe(
    optimiser="adagrad",
    learning_rate=0.05,
    schedule="validation",
    plateau_start=0,
    validation_memory=1,
    epochs=30,
    test_every=1,
)


def text(model: ModelName) -> tuple[LantmConfig | LstmConfig, Recipe]:
    """The paper's machine (appendix, "Language modelling"): 128 cells, embeddings of 256, memories of 100.

    Which parts have small initial weights ("the controllers") was determined by validation (docs/language.md). The
    learning rate is halved when the validation perplexity is worse than in the previous epoch.
    """
    return _machine(model), _RECIPE


def _machine(model: ModelName) -> LantmConfig | LstmConfig:
    if model == "lstm":
        # The paper's 4,047,632 parameters do not include a learnable initial state.
        return LstmConfig(
            layers=1, cells=128, embedding=256, weight_range=0.08, forget_bias=1.0, learn_start=False, state_range=0.0
        )
    return LantmConfig(
        weighting="softmax" if model == "lantm-softmax" else "invnorm",
        cells=128,
        embedding=256,
        memory_width=100,
        memory_limit=100,
        memory_drop=60,
        normalise_steps=False,
        weight_range=0.008,
        weight_range_of=("embedding", "controller", "heads"),
        forget_bias=1.0,
    )
