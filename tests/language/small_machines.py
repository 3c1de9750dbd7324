"""Machines small enough to read a text in no time."""

from lantm.machine import LantmConfig, LstmConfig

LANTM = LantmConfig(
    cells=6, embedding=4, memory_width=3, memory_limit=9, memory_drop=5, normalise_steps=False, forget_bias=1.0
)
MACHINES = {
    "lantm-invnorm": LANTM,
    "lantm-softmax": LantmConfig(
        weighting="softmax", cells=6, embedding=4, memory_width=3, memory_limit=8, memory_drop=8
    ),
    "lstm": LstmConfig(layers=1, cells=6, embedding=4, learn_start=False, state_range=0.0),
}
