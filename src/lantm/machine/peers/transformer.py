"""A small causal transformer over the input and the steps of the answer.

Like the other models it sees `</s>` in every step of the answer, never its own predictions. The position encoding is a
setting, since it determines the length generalisation:

- none: the causal mask alone (Haviv et al., 2022; Kazemnejad et al., 2023);
- rope: queries and keys are rotated by their positions (Su et al., 2021);
- alibi: attention falls with the distance, at a slope for each head (Press et al., 2022);
- hard-alibi: half of the heads see the last 1, 2, 3, ... positions only, the others all, without positions (Jelassi et
  al., 2024, who found that it copies farthest).
"""

import dataclasses
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.errors import LantmError, check_at_least_one
from lantm.machine.backend import Backend
from lantm.machine.linear import Linear
from lantm.machine.model import MOST_LAYERS, Config, Model, ModelName, Output, refuse_kernels_and_noise
from lantm.machine.state import Schedule
from lantm.machine.step_sums import Noise

Positions = Literal["none", "rope", "alibi", "hard-alibi"]
_BASE = 10_000.0  # base of the wavelengths of rope
_UNSEEN = -1e30


@dataclasses.dataclass(frozen=True)
class TransformerConfig(Config):
    """A small transformer."""

    layers: int = 4
    """Number of layers, each an attention and a feedforward block."""
    cells: int = 128
    """Size of the residual stream."""
    embedding: int = 128
    """Size of the symbol embedding."""
    heads: int = 8
    """Number of attention heads."""
    feedforward: int = 512
    """Number of hidden units of the feedforward blocks."""
    positions: Positions = "hard-alibi"
    """Position encoding: none, rope, alibi or hard-alibi."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "layers", "cells", "embedding", "heads", "feedforward")
        if self.layers > MOST_LAYERS:
            raise LantmError(f"layers is {self.layers}: give at most {MOST_LAYERS}")
        if self.cells % self.heads:
            raise LantmError(f"{self.cells} cells cannot be split over {self.heads} heads: give a multiple")
        if self.positions == "rope" and (self.cells // self.heads) % 2:
            raise LantmError("rope rotates pairs of components: give each head an even number of cells")

    @property
    def model_name(self) -> ModelName:
        """`transformer`."""
        return "transformer"

    def kept_per_step(self, steps: int, learning: bool) -> int:
        """Attention scores and weights of one layer at a time, and for the backward pass their cotangents."""
        return (8 if learning else 2) * self.heads * steps

    def build(self, vocabulary: int, key: PRNGKeyArray) -> "Transformer":
        """A model with initial weights."""
        return Transformer(self, vocabulary, key)


class Norm(eqx.Module):
    """Layer normalisation with learned scale and offset."""

    scale: Float[Array, " cells"]
    offset: Float[Array, " cells"]

    def __init__(self, cells: int):
        self.scale, self.offset = jnp.ones(cells), jnp.zeros(cells)

    def __call__(self, x: Float[Array, "*batch cells"]) -> Float[Array, "*batch cells"]:
        centred = x - jnp.mean(x, axis=-1, keepdims=True)
        deviation = jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)
        return self.scale * centred / deviation + self.offset


class Block(eqx.Module):
    """Attention and a feedforward network, each with pre-normalisation and a residual connection."""

    attention_norm: Norm
    projections: Linear  # queries, keys and values
    attended: Linear
    feedforward_norm: Norm
    widen: Linear
    narrow: Linear

    def __init__(self, config: TransformerConfig, key: PRNGKeyArray):
        keys, cells = jax.random.split(key, 4), config.cells
        self.attention_norm, self.feedforward_norm = Norm(cells), Norm(cells)
        self.projections = Linear(cells, 3 * cells, keys[0])
        self.attended = Linear(cells, cells, keys[1])
        self.widen = Linear(cells, config.feedforward, keys[2])
        self.narrow = Linear(config.feedforward, cells, keys[3])

    def __call__(self, x: Float[Array, "time cells"], config: TransformerConfig) -> Float[Array, "time cells"]:
        """The block applied to one problem."""
        time, cells = x.shape
        per_head = self.projections(self.attention_norm(x)).reshape(time, 3, config.heads, cells // config.heads)
        queries, keys, values = (per_head[:, part] for part in range(3))
        if config.positions == "rope":
            queries, keys = rotated(queries), rotated(keys)
        scores = jnp.einsum("qhc,khc->hqk", queries, keys) * (cells // config.heads) ** -0.5
        weights = jax.nn.softmax(scores + bias(config, time), axis=-1)
        x = x + self.attended(jnp.einsum("hqk,khc->qhc", weights, values).reshape(time, cells))
        return x + self.narrow(jax.nn.gelu(self.widen(self.feedforward_norm(x))))


def bias(config: TransformerConfig, time: int) -> Float[Array, "heads time time"]:
    """The attention bias: 0, a penalty that grows with distance (alibi), and a large negative number where masked."""
    distance = jnp.arange(time)[:, None] - jnp.arange(time)
    seen = jnp.broadcast_to(distance >= 0, (config.heads, time, time))
    numbers = jnp.arange(1, config.heads + 1)[:, None, None]
    if config.positions == "hard-alibi":
        windows = jnp.where(numbers <= config.heads // 2, numbers, time)
        seen = seen & (distance < windows)
    slopes = 2.0 ** (-8.0 * numbers / config.heads) if config.positions == "alibi" else 0.0
    return jnp.where(seen, -slopes * distance, _UNSEEN)


def rotated(x: Float[Array, "time heads size"]) -> Float[Array, "time heads size"]:
    """Rotary embedding: pairs of components rotated by angles proportional to the position."""
    half = x.shape[-1] // 2
    angles = jnp.arange(x.shape[0])[:, None] * _BASE ** (-jnp.arange(half) / half)
    cosine, sine = jnp.cos(angles)[:, None], jnp.sin(angles)[:, None]
    first, second = x[..., :half], x[..., half:]
    return jnp.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)


class Transformer(Model):
    """Embedding, blocks, a final normalisation, and the readout."""

    config: TransformerConfig = eqx.field(static=True)
    embedding: Float[Array, "vocabulary embedding"]
    inputs: Linear
    blocks: list[Block]
    norm: Norm
    readout: Linear

    def __init__(self, config: TransformerConfig, vocabulary: int, key: PRNGKeyArray):
        embedding_key, inputs_key, blocks_key, readout_key = jax.random.split(key, 4)
        self.config = config
        self.embedding = jax.random.normal(embedding_key, (vocabulary, config.embedding))
        self.inputs = Linear(config.embedding, config.cells, inputs_key)
        self.blocks = [Block(config, block_key) for block_key in jax.random.split(blocks_key, config.layers)]
        self.norm = Norm(config.cells)
        self.readout = Linear(config.cells, vocabulary, readout_key)

    @property
    def parts(self) -> dict[str, Any]:
        """The parameters by part."""
        layers = (self.blocks, self.norm)
        return {"embedding": self.embedding, "symbols": self.inputs, "layers": layers, "readout": self.readout}

    def begin(self, batch_size: int, slots: int) -> None:
        """None: a transformer carries no state."""

    def run(
        self,
        inputs: Int[Array, "time batch"],
        schedule: Schedule,
        carried: None,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Float[Array, "time batch cells"], None]:
        """The output at every position; zeros after the last step."""
        refuse_kernels_and_noise(self.config.model_name, backend, noise)

        def one_problem(symbols: Int[Array, " time"]) -> Float[Array, "time cells"]:
            x = self.inputs(self.embedding[symbols])
            for block in self.blocks:
                # Attention scores are recomputed in the backward pass, not kept.
                x = jax.checkpoint(lambda x, block: block(x, self.config))(x, block)
            return self.norm(x)

        outputs = jax.vmap(one_problem, in_axes=1, out_axes=1)(inputs)
        within = (jnp.arange(inputs.shape[0]) < schedule.steps)[:, None, None]
        return jnp.where(within, outputs, 0), None

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        """The answer, without a trace."""
        return Output(self.readout(self.features(batch, backend)), None)
