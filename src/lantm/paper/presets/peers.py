"""Sizes and recipes of the peers, the models for comparison besides the LSTM.

RAM and RAM/tape are the baselines of the authors' second paper, and have its sizes: a controller of 50 cells,
embeddings of 14, memories of 20. The other peers have the same controller.
"""

import dataclasses

from lantm.errors import LantmError
from lantm.machine import Config, NtmConfig, RamConfig, TapeRnnConfig, TransformerConfig
from lantm.paper.presets.second import SECOND_RECIPES, second_recipe
from lantm.paper.presets.tuned import TUNED
from lantm.training import ModelName, Recipe

PEERS: dict[ModelName, Config] = {
    "ram": RamConfig(),
    "ram-tape": RamConfig(tape=True),
    "ntm": NtmConfig(),
    "tape-rnn": TapeRnnConfig(),
    "transformer": TransformerConfig(),
}
"""One size for all tasks."""

# For RMSProp; NTM and tape take smaller steps, since one wrong write spoils all later reads.
_RATES: dict[ModelName, float] = {"ram": 0.01, "ram-tape": 0.01, "ntm": 0.002, "tape-rnn": 0.002, "transformer": 0.0003}
_TUNED_RATES: dict[ModelName, float] = {**dict.fromkeys(PEERS, 0.005), "transformer": 0.0005}  # for Adam


def peer(task: str, model: ModelName, recipe: str) -> tuple[Config, Recipe]:
    """`paper`: RMSProp as for the paper's models; `second`: the second paper's; `tuned`: ours; `demo`: short."""
    machine, tuned = PEERS[model], dataclasses.replace(TUNED, learning_rate=_TUNED_RATES[model], batch_size=32)
    if recipe in SECOND_RECIPES:
        return machine, second_recipe(task, model, recipe, learning_rate=_RATES[model])
    if recipe == "paper":
        return machine, Recipe(learning_rate=_RATES[model], epochs=1500)
    if recipe == "tuned":
        # 40,000 updates; controllers of 50 cells learn faster than four layers of 256, or not at all.
        return machine, dataclasses.replace(tuned, epochs=400)
    if recipe == "demo":
        return machine, dataclasses.replace(tuned, epochs=300, batches=10, test_every=25, test_batches=10)
    known = ", ".join(("paper", *SECOND_RECIPES, "tuned"))
    raise LantmError(f"{model} has the recipes {known} and demo, not {recipe}: choose one of them")
