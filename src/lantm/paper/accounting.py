"""Parameter counts of a model, in our count and in the paper's.

Besides ours, the paper counts three duplicates that carry no information: a second bias of every LSTM layer, a second
embedding table, and an unused weight beside every learnable initial value. With them our counts are the paper's exactly
(docs/machine.md lists the rows that do not follow).
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
    """Ours, by part of the model."""
    second_bias: int
    second_embedding: int
    dead_start: int

    @property
    def ours(self) -> int:
        """What is trained."""
        return sum(self.parts.values())

    @property
    def paper(self) -> int:
        """What the paper would count."""
        return self.ours + self.second_bias + self.second_embedding + self.dead_start


def account(config: Config, vocabulary: int) -> Account:
    """Counts the parameters of a configuration without building it; the paper has no peers to count differently."""
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
