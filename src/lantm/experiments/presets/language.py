"""The machines for language modelling (section 4.3 of the paper and its appendix)."""

from lantm.machine import LantmConfig, LstmConfig
from lantm.training import ModelName


def language_machine(model: ModelName) -> LantmConfig | LstmConfig:
    """The paper's machine (appendix, "Language modelling"): 128 cells, 256 numbers a word, 100 a memory.

    Which parts "the controllers" are that have the small weights was settled by validation (docs/language.md).
    """
    if model == "lstm":
        # Its 4,047,632 parameters leave none for a learnable start.
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
