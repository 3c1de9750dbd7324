"""A stack of LSTM layers by cuDNN, NVIDIA's library, which JAX comes with on a GPU.

It computes what `lantm.machine.lstm_stack` does, in other products and so with other rounding. One call does all steps
of all layers, where the loop starts a few kernels in every step.

cuDNN runs one set of weights. Seeds that are mapped over have one each, so they run one after the other (`lax.map`):
a stack of several layers of 256 cells keeps a GPU busy by itself, and a call for each seed is all that cuDNN offers.
Stacks of one layer stay with the loop, which runs all seeds in the same kernels.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jax.experimental import rnn
from jaxtyping import Array, Float, Int

from lantm.devices import current_device
from lantm.errors import LantmError
from lantm.machine.backend import Backend
from lantm.machine.controller import CellState
from lantm.machine.linear import Linear
from lantm.machine.lstm_stack import StackRun

_RNN: Any = rnn  # whose annotations are not those of its arguments
# Names of `jax.default_matmul_precision` that cuDNN's LSTM has: in full precision, or in TF32.
_PRECISIONS = (None, "high", "tensorfloat32", "highest", "float32")


@runtime_checkable
class Layer(Protocol):
    """The weights of a layer, with the gates in our order: input, forget, output, candidate."""

    inputs: Linear
    recurrent: Float[Array, "cells four_cells"]


class _Sizes(NamedTuple):
    inputs: int
    cells: int
    layers: int

    def options(self) -> dict[str, Any]:
        """What cuDNN is told besides its arrays."""
        sizes = {"input_size": self.inputs, "hidden_size": self.cells, "num_layers": self.layers}
        return {**sizes, "dropout": 0.0, "bidirectional": False, "precision": None}


def serves(backend: Backend, layers: int, dtype: Any) -> bool:
    """Whether cuDNN is to run a stack of so many layers; a `LantmError` if it was asked for and cannot."""
    reason = _unserved(dtype)
    if backend == "kernel" and reason is not None:
        raise LantmError(f"cuDNN cannot run this LSTM: {reason}; use the backend 'auto' or 'loops'")
    return backend == "kernel" or (backend == "auto" and reason is None and layers > 1)


def _unserved(dtype: Any) -> str | None:
    """Why cuDNN cannot run an LSTM here."""
    device, config = current_device(), jax.config
    if device.platform != "gpu" or "nvidia" not in device.device_kind.lower() or getattr(_RNN, "gpu_rnn", None) is None:
        return f"it runs on a GPU of NVIDIA, and JAX's default device is {device.device_kind}"
    if dtype != jnp.float32:
        return f"it computes in float32, not in {jnp.dtype(dtype)}"
    if (precision := getattr(config, "jax_default_matmul_precision", None)) not in _PRECISIONS:
        return f"it has no products in the precision {precision}"
    return None


def run_layers(
    layers: Sequence[Layer], below: Float[Array, "time batch inputs"], carried: CellState, steps: Int[Array, ""]
) -> StackRun:
    """The outputs of the highest layer, zeros beyond the last step, and the final state of every layer."""
    time, batch, inputs = below.shape
    sizes = _Sizes(inputs, carried.hidden.shape[-1], len(layers))
    lengths = jnp.broadcast_to(jnp.asarray(steps, jnp.int32), (batch,))
    outputs, hidden, cell = _lstm(sizes)(
        jnp.swapaxes(below, 0, 1), carried.hidden, carried.cell, flat_weights(layers), lengths
    )
    # What cuDNN leaves beyond the last step is padding, in both directions.
    within = (jnp.arange(time) < steps)[:, None, None]
    return StackRun(jnp.where(within, jnp.swapaxes(outputs, 0, 1), 0), CellState(hidden, cell))


def flat_weights(layers: Sequence[Layer]) -> Float[Array, " weights"]:
    """All weights as cuDNN has them: the matrices of every layer, then two biases for every layer.

    A matrix has a row per output; the gates are in the order input, forget, candidate, output.
    """

    def reordered(columns: Float[Array, "*rows four_cells"]) -> Float[Array, "*rows four_cells"]:
        input_gate, forget_gate, output_gate, candidate = jnp.split(columns, 4, axis=-1)
        return jnp.concatenate([input_gate, forget_gate, candidate, output_gate], axis=-1)

    matrices = [reordered(matrix).T for layer in layers for matrix in (layer.inputs.weight, layer.recurrent)]
    # The second bias would add the same again.
    biases = [bias for layer in layers for bias in (reordered(layer.inputs.bias), jnp.zeros_like(layer.inputs.bias))]
    return jnp.concatenate([part.reshape(-1) for part in (*matrices, *biases)])


@lru_cache
def _lstm(sizes: _Sizes) -> Callable[..., tuple[Array, Array, Array]]:
    """cuDNN's LSTM with its derivative, both mapped over one by one."""

    @_one_by_one
    def forward(*arguments: Array) -> tuple[Any, Any]:
        found: tuple[Any, Any] = _RNN.lstm_fwd(*arguments, **sizes.options())
        return found

    @_one_by_one
    def backward(saved: Any, cotangent: Any) -> Any:
        return _RNN.lstm_bwd(*sizes.options().values(), saved, cotangent)[:-1]

    @jax.custom_vjp
    def lstm(*arguments: Array) -> tuple[Array, Array, Array]:
        outputs: tuple[Array, Array, Array] = forward(*arguments)[0]
        return outputs

    lstm.defvjp(forward, lambda saved, cotangent: (*backward(saved, cotangent), None))
    return lstm


def _one_by_one(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function`, which has no batching rule, with one: a call for each of what is mapped over."""
    mapped = custom_vmap(function)

    @mapped.def_vmap
    def rule(size: int, in_batched: list[Any], *arguments: Any) -> tuple[Any, Any]:
        def spread(is_mapped: bool, array: Array) -> Array:
            return array if is_mapped else jnp.broadcast_to(array, (size, *array.shape))

        found = lax.map(lambda one: mapped(*one), jax.tree.map(spread, tuple(in_batched), arguments))
        return found, jax.tree.map(lambda _: True, found)

    return mapped
