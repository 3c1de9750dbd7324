"""The recurrence of controller and heads, differentiable and independent of the backend (loops or kernels).

Autodiff of a plain `lax.scan` would save the whole memory at every step, which is quadratic in time. But the memory is
append-only, so each step saw a window of the final memory. The backward pass here saves only the small state of every
step, replays each step against the final memory seen through that step's window, and propagates the cotangent of the
memory backwards: linear in time. The gradients of the weights are computed outside of the loop, which stacks the
cotangents of all preactivations, by one large matrix product.

The number of steps is given at run time; arrays have their capacity.

Loops or kernels run the steps as functions of a batch, into which `jax.vmap` merges mapped axes
(`lantm.machine.folding`). The gradients of the weights are computed outside of these functions, so that every mapped
example has its own.
"""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_derivatives import SymbolicZero
from jaxtyping import Array, Float

from lantm.machine import by_kernels, by_loops
from lantm.machine.access import Access
from lantm.machine.backend import Backend, check_backend, choose_kernels
from lantm.machine.controller import CellKind
from lantm.machine.first_order import first_order_only
from lantm.machine.folding import SHARED, foldable
from lantm.machine.loops import get_row
from lantm.machine.memory import Memory, Policy, Window
from lantm.machine.reference import recur_by_scan
from lantm.machine.state import Machinery, Path, Pulled, Schedule, State, Weights, weights_gradient
from lantm.machine.step_sums import Rows, summed_over_steps


def recur(
    access: Access,
    policy: Policy,
    weights: Weights,
    inputs: Float[Array, "time batch four_cells"],
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
    backend: Backend = "auto",
    cell: CellKind = CellKind(),  # noqa: B008 (it is immutable)
) -> Path:
    """Runs the machine over `inputs`, their contribution to the controller's preactivations.

    `memory` needs room for all writes: its slots from `window.end` on are free.
    """
    check_backend(backend)
    if backend == "scan":
        return recur_by_scan(access, policy, weights, inputs, start, memory, window, schedule, cell)
    kernels = choose_kernels(backend, access, start.controller.hidden.shape[-1], inputs.dtype)
    schedule = schedule._replace(turn_at=schedule.turn)
    return _recur(Machinery(access, policy, cell, kernels), weights, inputs, start, memory, window, schedule)


# Batch axes of the arguments and results: time comes first in some of them.
_SCHEDULE: Any = Schedule(SHARED, 0, SHARED)  # type: ignore[arg-type]
_COTANGENT: Any = Path(1, 1, 0, 0, SHARED)  # type: ignore[arg-type]
_PULLED: Any = Pulled(1, 1, 0, 0)  # type: ignore[arg-type]


@lru_cache
def _forward(machinery: Machinery) -> Callable[..., Any]:
    engine = by_loops.forward if machinery.kernels is None else by_kernels.forward
    return foldable(partial(engine, machinery), (SHARED, 1, 0, 0, SHARED, _SCHEDULE), (1, 0))


@lru_cache
def _backward_by_loops(machinery: Machinery) -> Callable[..., Pulled]:
    in_axes = (SHARED, 0, 1, 0, SHARED, _SCHEDULE, _COTANGENT)
    return foldable(partial(by_loops.backward, machinery), in_axes, _PULLED)


@lru_cache
def _backward_by_kernels(machinery: Machinery) -> Callable[..., Pulled]:
    return foldable(partial(by_kernels.backward, machinery), (SHARED, 1, 0, SHARED, _SCHEDULE, 1), _PULLED)


def _run(
    machinery: Machinery,
    weights: Weights,
    inputs: Array,
    start: State,
    memory: Memory,
    window: Window,
    schedule: Schedule,
) -> tuple[Path, Any]:
    saved, memory = _forward(machinery)(weights, inputs, start, memory, window, schedule)
    if machinery.kernels is None:
        states, emissions = by_loops.unpack(start, saved.rows)
        emissions = emissions[1:]
    else:
        states, emissions = by_kernels.unpack(machinery, saved, schedule)
    written = machinery.access.write_heads * jnp.minimum(schedule.turn, schedule.steps)
    path = Path(
        states=jax.tree.map(lambda rows: rows[1:], states),
        emissions=emissions,
        state=jax.tree.map(lambda rows: get_row(rows, schedule.steps), states),
        memory=memory,
        window=machinery.policy.window(window, written),
    )
    return path, (weights, start, saved, memory, window, schedule)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def _recur(machinery: Machinery, *arguments: Any) -> Path:
    return _run(machinery, *arguments)[0]


def _recur_forward(machinery: Machinery, *arguments: Any) -> tuple[Path, Any]:
    # JAX says for every argument whether it is differentiated; here all are treated alike.
    given = jax.tree.map(
        lambda leaf: first_order_only(leaf.value), arguments, is_leaf=lambda leaf: hasattr(leaf, "perturbed")
    )
    return _run(machinery, *given)


def _recur_backward(machinery: Machinery, residuals: Any, cotangent: Path) -> Any:
    weights, start, saved, memory, window, schedule = residuals
    cells, reading_size = start.controller.hidden.shape[-1], start.reading.shape[-1]
    if machinery.kernels is not None and _is_of_hidden_states_alone(cotangent):
        d_hidden = _instantiate(cotangent.states.controller.hidden)
        pulled = _backward_by_kernels(machinery)(weights, saved, memory, window, schedule, d_hidden)
        d_weights = by_kernels.weights_gradient(machinery, saved, pulled, schedule)
    else:
        if machinery.kernels is not None:
            saved = by_kernels.as_loops_save(machinery, saved, schedule)
        cotangent = cotangent._replace(window=None)  # type: ignore[arg-type]  # integers
        cotangent = jax.tree.map(_instantiate, cotangent, is_leaf=_is_zero)
        pulled = _backward_by_loops(machinery)(weights, start, saved, memory, window, schedule, cotangent)
        joined = Rows(saved.rows, 0, slice(reading_size + cells))  # reading and hidden state before every step
        hidden = Rows(saved.rows, 1, slice(reading_size, reading_size + cells))
        rows = joined, hidden, Rows(pulled.preactivations), Rows(pulled.emissions)
        d_weights = summed_over_steps(weights_gradient, rows, pulled.preactivations.shape[0], schedule.steps)
    # Cotangents of written memories have been passed on to the controller; the others belong to the initial memory.
    free = jnp.arange(memory.strengths.shape[1]) >= window.end
    d_memory = jax.tree.map(lambda d: jnp.where(free.reshape(-1, *[1] * (d.ndim - 2)), 0, d), pulled.memory)
    return d_weights, pulled.preactivations, pulled.start, d_memory, None, None


_recur.defvjp(_recur_forward, _recur_backward, symbolic_zeros=True)


def _is_of_hidden_states_alone(cotangent: Path) -> bool:
    """Whether only the hidden states of a path were used, as in training."""
    hidden = cotangent.states.controller.hidden
    return all(leaf is hidden or _is_zero(leaf) for leaf in jax.tree.leaves(cotangent, is_leaf=_is_zero))


def _is_zero(leaf: Any) -> bool:
    return isinstance(leaf, SymbolicZero)


def _instantiate(leaf: Any) -> Any:
    return jnp.zeros(leaf.shape, leaf.dtype) if _is_zero(leaf) else leaf
