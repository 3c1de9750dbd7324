"""`LstmConfig` and `Lstm`: the baseline, a stack of LSTM layers that reads the input and then answers (section 4.1)."""

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray, PyTree

from lantm.batch import Batch
from lantm.devices import on_cpu
from lantm.errors import LantmError, check_at_least_one
from lantm.machine.backend import Backend
from lantm.machine.controller import CellState
from lantm.machine.linear import Linear, lstm_matrices
from lantm.machine.lstm_stack import StackRun, StackWeights, run_stack
from lantm.machine.model import MOST_LAYERS, Config, Model, ModelName, Output, refuse_kernels_and_noise
from lantm.machine.older_records import LSTM_CONSTANTS
from lantm.machine.state import Schedule
from lantm.machine.step_sums import Noise
from lantm.records import drop_retired


@dataclasses.dataclass(frozen=True)
class LstmConfig(Config):
    """Settings of the LSTM baseline. The defaults are the paper's for copy."""

    layers: int = 4
    """Number of layers, each reading the one below."""
    cells: int = 256
    """Number of cells per layer."""
    embedding: int = 7
    """Size of the symbol embedding."""
    learn_start: bool = True
    """Train the initial state; otherwise it keeps its random value."""
    weight_range: float | None = None
    """Initialise all weights uniformly in +- this; by default +-1/sqrt(inputs)."""
    forget_bias: float | None = None
    """Initial bias of the forget gates; by default initialised like the other weights."""
    state_range: float = 1.0
    """Initialise the initial state uniformly in +- this."""

    def __post_init__(self) -> None:
        check_at_least_one(self, "layers", "cells", "embedding")
        if self.layers > MOST_LAYERS:
            raise LantmError(f"layers is {self.layers}: give at most {MOST_LAYERS}")

    @staticmethod
    def upgrade(values: dict[str, Any]) -> dict[str, Any]:
        """Converts the fields of a record written by an older version."""
        return drop_retired(values, LSTM_CONSTANTS, "machine")

    @property
    def model_name(self) -> ModelName:
        """`lstm`."""
        return "lstm"

    def build(self, vocabulary: int, key: PRNGKeyArray) -> "Lstm":
        """A model with initial weights."""
        return Lstm(self, vocabulary, key)


class Layer(eqx.Module):
    """One LSTM layer."""

    inputs: Linear
    recurrent: Float[Array, "cells four_cells"]

    def __init__(self, inputs: int, config: LstmConfig, key: PRNGKeyArray):
        self.inputs, self.recurrent = lstm_matrices(
            inputs, config.cells, config.cells, key, config.weight_range, config.forget_bias
        )


class Start(eqx.Module):
    """The learnable initial state."""

    hidden: Float[Array, "layers cells"]
    cell: Float[Array, "layers cells"]


class Lstm(Model):
    """The LSTM baseline."""

    config: LstmConfig = eqx.field(static=True)
    embedding: Float[Array, "vocabulary embedding"]
    layers: list[Layer]
    readout: Linear
    start: Start

    def __init__(self, config: LstmConfig, vocabulary: int, key: PRNGKeyArray):
        embedding_key, readout_key, hidden_key, cell_key, layers_key = jax.random.split(key, 5)
        self.config = config
        self.embedding = jax.random.normal(embedding_key, (vocabulary, config.embedding))
        if (bound := config.weight_range) is not None:
            self.embedding = jax.random.uniform(embedding_key, self.embedding.shape, minval=-bound, maxval=bound)

        sizes = [config.embedding] + [config.cells] * (config.layers - 1)
        keys = jax.random.split(layers_key, config.layers)
        self.layers = [Layer(size, config, layer_key) for size, layer_key in zip(sizes, keys, strict=True)]
        self.readout = Linear(config.cells, vocabulary, readout_key, config.weight_range)
        shape, bound = (config.layers, config.cells), config.state_range
        self.start = Start(
            jax.random.uniform(hidden_key, shape, minval=-bound, maxval=bound),
            jax.random.uniform(cell_key, shape, minval=-bound, maxval=bound),
        )

    @property
    def parts(self) -> dict[str, PyTree]:
        """The parameters by part."""
        return {"embedding": self.embedding, "layers": self.layers, "readout": self.readout, "start": self.start}

    @property
    def learns_start(self) -> bool:
        """As configured by `learn_start`."""
        return self.config.learn_start

    def begin(self, batch_size: int, slots: int) -> CellState:
        """The learnable initial state of every layer; `slots` is unused, since there is no memory."""
        start = self.start if self.config.learn_start else jax.lax.stop_gradient(self.start)
        shape = (self.config.layers, batch_size, self.config.cells)
        return CellState(*(jnp.broadcast_to(part[:, None], shape) for part in (start.hidden, start.cell)))

    def run(
        self,
        inputs: Int[Array, "time batch"],
        schedule: Schedule,
        carried: CellState,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Float[Array, "time batch cells"], CellState]:
        """The top layer's output at every step, and the final state of every layer."""
        refuse_kernels_and_noise(self.config.model_name, backend, noise)
        return _run_layers(self.layers, self.embedding[inputs], carried, schedule.steps)

    def trace(self, batch: Batch, read_weights: bool = False, backend: Backend = "auto") -> Output:
        """The answer; there are no heads to trace."""
        return Output(self.readout(self.features(batch, backend)), None)


def _run_layers(
    layers: list[Layer], below: Float[Array, "time batch inputs"], carried: CellState, steps: Int[Array, ""]
) -> StackRun:
    # On a CPU, launching a product costs nothing, so layers run one after the other, without products of zeros.
    how = _one_after_the_other if on_cpu() else _at_once
    return how(layers, below, carried, steps)


def _one_after_the_other(
    layers: list[Layer], below: Float[Array, "time batch inputs"], carried: CellState, steps: Int[Array, ""]
) -> StackRun:
    ends = []
    for index, layer in enumerate(layers):
        start = jax.tree.map(lambda leaf, index=index: leaf[index : index + 1], carried)
        below, end = _at_once([layer], below, start, steps)
        ends.append(end)
    return StackRun(below, jax.tree.map(lambda *leaves: jnp.concatenate(leaves), *ends))


def _at_once(
    layers: list[Layer], below: Float[Array, "time batch inputs"], carried: CellState, steps: Int[Array, ""]
) -> StackRun:
    lowest, *others = layers
    recurrent = [layer.recurrent for layer in layers]
    if others:
        from_below = [jnp.zeros_like(lowest.recurrent), *(layer.inputs.weight for layer in others)]
        recurrent = [jnp.concatenate(pair) for pair in zip(recurrent, from_below, strict=True)]
    biases = [layer.inputs.bias for layer in layers]
    weights = StackWeights(jnp.stack(recurrent), jnp.stack(biases))
    return run_stack(weights, below @ lowest.inputs.weight, carried, steps)
