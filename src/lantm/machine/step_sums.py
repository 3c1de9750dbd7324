"""Linear layers, embedding lookups, noise, losses and weight gradients over the steps of a run; on a CPU without its
padding.

On a GPU, or on a CPU with few steps, one operation over all rows is fastest. On a CPU with a C++ compiler, compiled
code skips the padding (`lantm.machine.kernel.cpu_calls`); otherwise loops do it in chunks, except for the loss.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, UInt32

from lantm.devices import on_cpu
from lantm.machine.backend import cpu_kernels
from lantm.machine.first_order import first_order_only
from lantm.machine.kernel import cpu_calls as compiled
from lantm.machine.loops import get_slices, put_slices

Sum = TypeVar("Sum")

_CHUNK = 16  # steps: large enough that a product per chunk is as fast as one large product


class Rows(NamedTuple):
    """A view of an array with one row per step: that of step t is `stack[t + offset, ..., columns]`.

    It is not sliced in advance, since a loop would be given a copy of the slice.
    """

    stack: Array
    offset: int = 0
    columns: slice = slice(None)

    def first(self, steps: int) -> Array:
        """The rows of the first steps."""
        return self.stack[self.offset : self.offset + steps, ..., self.columns]

    def chunk(self, begin: Int[Array, ""]) -> Array:
        """The rows of a chunk of steps."""
        return get_slices(self.stack, begin + self.offset, _CHUNK, axis=0)[..., self.columns]


def summed_over_steps(term: Callable[..., Sum], rows: Sequence[Rows], time: int, steps: Int[Array, ""]) -> Sum:
    """Sums `term`, itself a sum over steps, over `time` rows, which are zero from `steps` on."""
    # With a batch of one (under `vmap`), every chunk would add to a separate sum per example.
    if not _in_chunks(time) or rows[0].stack.shape[1] == 1:
        return term(*(part.first(time) for part in rows))

    def add(chunk: Array, total: Sum) -> Sum:
        first = jnp.minimum(chunk * _CHUNK, time - _CHUNK)
        fresh = first + jnp.arange(_CHUNK) >= chunk * _CHUNK  # the last chunk may overlap the one before it

        def taken(part: Rows) -> Array:
            chosen = fresh.reshape(-1, *[1] * (part.stack.ndim - 1))
            return jnp.where(chosen, part.chunk(first), jnp.zeros((), part.stack.dtype))

        new: Sum = jax.tree.map(jnp.add, total, term(*map(taken, rows)))
        return new

    shapes = jax.eval_shape(lambda: term(*(part.first(_CHUNK) for part in rows)))
    zero: Sum = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shapes)
    total: Sum = lax.fori_loop(0, _chunks(steps), add, zero)
    return total


def _in_chunks(time: int) -> bool:
    return on_cpu() and time > _CHUNK


def _chunks(steps: Int[Array, ""]) -> Int[Array, ""]:
    return -(-jnp.asarray(steps) // _CHUNK)


def _each(product: Callable[[Array], Array], rows: Array, steps: Int[Array, ""], otherwise: Array) -> Array:
    """`product` of every row before `steps`; `otherwise` in the rows after the last chunk."""

    def fill(chunk: Array, filled: Array) -> Array:
        first = jnp.minimum(chunk * _CHUNK, rows.shape[0] - _CHUNK)
        return put_slices(filled, product(get_slices(rows, first, _CHUNK, axis=0)), first, axis=0)

    filled: Array = lax.fori_loop(0, _chunks(steps), fill, otherwise)
    return filled


@jax.custom_vjp
def linear(
    weight: Float[Array, "inputs outputs"],
    bias: Float[Array, " outputs"],
    rows: Float[Array, "time batch inputs"],
    steps: Int[Array, ""],
) -> Float[Array, "time batch outputs"]:
    """x W + b for every row before `steps`; later rows must be unused.

    Cotangents of later rows must be zero; where compiled code runs, they are not read.
    """
    if cpu_kernels(rows.dtype):
        return compiled.multiplied_rows(weight, bias, rows, steps)
    time, batch, _ = rows.shape
    if not _in_chunks(time):
        return rows @ weight + bias

    def of_some() -> Array:
        otherwise = jnp.broadcast_to(bias, (time, batch, bias.size))
        return _each(lambda x: x @ weight + bias, rows, steps, otherwise)

    outputs: Array = lax.cond(_most(steps, time), lambda: rows @ weight + bias, of_some)
    return outputs


def _linear(weight: Array, bias: Array, rows: Array, steps: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    weight, bias, rows = map(first_order_only, (weight, bias, rows))
    return linear(weight, bias, rows, steps), (weight, rows, steps)


def _linear_backward(given: tuple[Array, Array, Array], d: Array) -> tuple[Array, Array, Array, None]:
    weight, rows, steps = given
    time = rows.shape[0]
    if cpu_kernels(rows.dtype):
        nothing = jnp.zeros(weight.shape[0], weight.dtype)
        d_rows = compiled.multiplied_rows(weight.T, nothing, d, steps, zeros=True)
        found = compiled.step_products(rows, d, steps)
        return found.products, found.sums, d_rows, None

    def sums(rows: Array, d: Array) -> tuple[Array, Array]:
        return jnp.einsum("tbi,tbj->ij", rows, d), jnp.sum(d, axis=(0, 1))

    def of_all() -> tuple[Array, Array, Array]:
        return *sums(rows, d), d @ weight.T

    def of_some() -> tuple[Array, Array, Array]:
        d_rows = _each(lambda d: d @ weight.T, d, steps, jnp.zeros_like(rows))
        return *summed_over_steps(sums, (Rows(rows), Rows(d)), time, steps), d_rows

    if not _in_chunks(time):
        return *of_all(), None
    return *lax.cond(_most(steps, time), of_all, of_some), None


def _most(steps: Int[Array, ""], time: int) -> Bool[Array, ""]:
    """Whether so many steps are run that one product over all rows is faster than chunks."""
    return 2 * jnp.asarray(steps) > time


linear.defvjp(_linear, _linear_backward)


@jax.custom_vjp
def look_up(
    table: Float[Array, "symbols size"], symbols: Int[Array, "time batch"], steps: Int[Array, ""]
) -> Float[Array, "time batch size"]:
    """The rows of `table` for all symbols before `steps`; later rows and their cotangents must be unused."""
    return compiled.rows_of(table, symbols, steps) if cpu_kernels(table.dtype) else table[symbols]


def _look_up(table: Array, symbols: Array, steps: Array) -> tuple[Array, tuple[Array, Array, Array]]:
    table = first_order_only(table)
    return look_up(table, symbols, steps), (table, symbols, steps)


def _pull_back(given: tuple[Array, Array, Array], d_rows: Array) -> tuple[Array, None, None]:
    table, symbols, steps = given
    if cpu_kernels(table.dtype):
        return compiled.summed_rows(d_rows, symbols, steps, table.shape[0]), None, None

    def gathered(d_rows: Array, symbols: Array) -> Array:
        return jnp.zeros_like(table).at[symbols].add(d_rows)

    return summed_over_steps(gathered, (Rows(d_rows), Rows(symbols)), symbols.shape[0], steps), None, None


look_up.defvjp(_look_up, _pull_back)


def mean_surprise(
    logits: Float[Array, "time batch vocabulary"],
    symbols: Int[Array, "time batch"],
    mask: Bool[Array, "time batch"],
    steps: Int[Array, ""] | None = None,
) -> Float[Array, ""]:
    """The mean negative log likelihood, in nats, of the symbols where the mask is true.

    Logits where it is false may be any finite number. With `steps`, of logits by `linear` with the same number: it is
    false from there on, and the gradient of later rows is zero, or uninitialised if compiled code computes it.
    """
    if steps is not None and cpu_kernels(logits.dtype):
        return _compiled_mean(logits, symbols, mask, steps)
    chosen = jax.nn.one_hot(symbols, logits.shape[-1], dtype=logits.dtype)
    surprises = jax.nn.logsumexp(logits, axis=-1) - jnp.sum(chosen * logits, axis=-1)
    return jnp.sum(surprises, where=mask) / jnp.sum(mask)


@jax.custom_vjp
def _compiled_mean(logits: Array, symbols: Array, mask: Array, steps: Array) -> Float[Array, ""]:
    return _mean_and_gradient(logits, symbols, mask, steps)[0]


def _mean_and_gradient(logits: Array, symbols: Array, mask: Array, steps: Array) -> tuple[Float[Array, ""], Array]:
    count = jnp.sum(mask)
    shares = jnp.where(mask, 1 / count, 0).astype(logits.dtype)
    found = compiled.surprises(logits, symbols, shares, steps)
    return jnp.sum(found.surprises) / count, found.gradient


_compiled_mean.defvjp(_mean_and_gradient, lambda gradient, d: (d * gradient, None, None, None))


@jax.custom_vjp
def _with_noise(
    rows: Float[Array, "time batch size"], key: UInt32[Array, "2"], scale: Float[Array, ""], steps: Int[Array, ""]
) -> Float[Array, "time batch size"]:
    """`Noise.added` by compiled code."""
    return compiled.noisy_rows(rows, key, scale, steps)


_with_noise.defvjp(lambda *given: (_with_noise(*given), None), lambda _, d: (d, None, None, None))


class Noise(NamedTuple):
    """Gaussian noise on the controller's preactivations in training, which makes its decisions robust."""

    key: PRNGKeyArray
    scale: float  # standard deviation

    def added(
        self, rows: Float[Array, "time batch size"], steps: Int[Array, ""], plain: bool = False
    ) -> Float[Array, "time batch size"]:
        """Rows with noise, at least in those before `steps`; later rows must be unused, unless it is `plain` JAX.

        It depends on the key and the number of the row alone, however it is computed.
        """
        if not plain and cpu_kernels() and rows.dtype == jnp.float32 and self._as_compiled():
            return _with_noise(rows, jax.random.key_data(self.key), jnp.asarray(self.scale, rows.dtype), steps)

        def drawn(numbers: Int[Array, " some"]) -> Float[Array, "some batch size"]:
            keys = jax.vmap(lambda number: jax.random.fold_in(self.key, number))(numbers)
            return jax.vmap(lambda key: jax.random.normal(key, rows.shape[1:], rows.dtype))(keys)

        numbers = jnp.arange(rows.shape[0])
        noise = _each(drawn, numbers, steps, jnp.zeros_like(rows)) if _in_chunks(rows.shape[0]) else drawn(numbers)
        return rows + self.scale * noise

    def _as_compiled(self) -> bool:
        """Whether JAX draws as the compiled code does, which knows its default generator."""
        config: Any = jax.config  # its fields have types only from JAX 0.12 on
        return str(jax.random.key_impl(self.key)) == "threefry2x32" and config.jax_threefry_partitionable
