"""Parameter counts of a model, in our count and in the paper's.

Compared with ours, the paper's count includes three duplicates without information: a second bias of every LSTM layer,
a second embedding table, and an unused weight beside every learnable initial value. With these our counts agree exactly
with the paper's (docs/machine.md lists the exceptions).
"""

import dataclasses
from typing import Any

import jax

from lantm.machine import Config, LantmConfig, LstmConfig
from lantm.shapes import shapes_of


@dataclasses.dataclass(frozen=True)
class Account:
    """The parameters of a model."""

    parts: dict[str, int]
    """Our count, by part of the model."""
    second_bias: int
    second_embedding: int
    dead_start: int

    @property
    def ours(self) -> int:
        """The number of trained parameters."""
        return sum(self.parts.values())

    @property
    def paper(self) -> int:
        """The number the paper would report."""
        return self.ours + self.second_bias + self.second_embedding + self.dead_start


def account(config: Config, vocabulary: int) -> Account:
    """Counts the parameters of a configuration without building it; peers are counted in our way only."""
    model: Any = shapes_of(lambda: config.build(vocabulary, jax.random.key(0)))
    parts = {name: sum(leaf.size for leaf in jax.tree.leaves(part)) for name, part in model.parts.items()}
    if not model.learns_start:
        parts["start"] = 0
    trained = {name: count for name, count in parts.items() if count}
    if not isinstance(config, LantmConfig | LstmConfig):
        return Account(trained, 0, 0, 0)
    layers = config.layers if isinstance(config, LstmConfig) else 1
    return Account(
        parts=trained,
        second_bias=4 * config.cells * layers,
        second_embedding=vocabulary * config.embedding,
        dead_start=parts["start"],
    )
