"""Inference on very long inputs: keeps predictions only, and reads with sublinear cost through the memory index.

Training keeps all steps. Inference keeps, for every step, only the prediction and a bound on the error of its reads,
and one memory.
"""

from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.machine.access import Access, Position
from lantm.machine.by_loops import Step, take_step
from lantm.machine.controller import LstmController
from lantm.machine.index import Index, Reading, check_geometry, check_weighting, has_index, read, read_all
from lantm.machine.index.blocks import Slots, Store, close, empty, seal, write
from lantm.machine.index.expansion import Query
from lantm.machine.lantm import Lantm
from lantm.machine.loops import get_row, loop, put_row
from lantm.machine.memory import Grow
from lantm.machine.model import Model
from lantm.machine.settling import neighbours, settle
from lantm.machine.state import Machinery, Schedule, State, Weights


class Inference(NamedTuple):
    """The predictions of a machine, and error bounds of its reads."""

    predictions: Int[Array, "time batch"]  # the most likely symbol at every step; zero from `steps` on
    bounds: Float[Array, "time batch read_heads"]  # of the error of any component of the reading; 0 for full reads
    full_reads: Int[Array, ""]  # steps in which all memories were read
    state: State  # the final state, without the memory


def can_infer(model: Model) -> bool:
    """Whether `infer` supports a model: a machine with unlimited memory, in a geometry that the index supports."""
    if not isinstance(model, Lantm) or not isinstance(model.config.policy, Grow):
        return False
    access = model.config.access
    return has_index(access.geometry) and access.weighting.convex


@partial(jax.jit, static_argnames="index")
def infer(model: Lantm, batch: Batch, index: Index | None = Index()) -> Inference:  # noqa: B008 (it is frozen)
    """Runs a machine forward, reading through `index`, or in full if it is None.

    Memory is allocated for the batch's capacity; the number of steps is given at run time.
    """
    access, controller = model.layer.access, model.layer.controller
    assert isinstance(controller, LstmController)
    if not isinstance(model.layer.policy, Grow):
        raise LantmError("long inputs need an unlimited memory: leave out memory_limit")
    check_geometry(access.geometry)
    if index is not None:
        check_weighting(access.weighting)
    time, problems = batch.inputs.shape
    state, initial, _ = model.layer.begin_batch(problems, slots=0)
    schedule = model.layer.writing(Schedule(batch.steps, batch.writes))
    machinery = Machinery(access, model.layer.policy, controller.kind)
    weights = Weights(controller.recurrent, model.layer.heads.weight, model.layer.heads.bias)
    symbols = controller.inputs(model.embedding)

    # The first write is at a multiple of the number of write heads, so that no step writes to two blocks.
    before = initial.strengths.shape[1]
    shift = -before % access.write_heads
    first_slot = shift + before
    slots = first_slot + access.write_heads * (batch.write_capacity + model.layer.write_end)
    size = (index or Index()).block_size(slots, access.write_heads)
    store = empty(problems, access.geometry.key_size, access.memory_width, -(-slots // size), size)
    if before:
        everyone = jnp.ones(problems, bool)
        store = store._replace(open=write(store.open, initial, shift, everyone, access.weighting))

    def take(t: Array, state: State) -> Step:
        return take_step(machinery, weights, symbols[get_row(batch.inputs, t)], state)

    def finish(t: Array, step: Step, store: Store, so_far: Inference) -> Inference:
        """Reads, and stores the results of the step."""
        found = _read(access, store, step, t < schedule.writes, index)
        prediction = jnp.argmax(model.readout(step.controller.hidden), axis=-1)
        return Inference(
            put_row(so_far.predictions, prediction.astype(jnp.int32), t),
            put_row(so_far.bounds, found.bounds, t),
            so_far.full_reads + found.full,
            State(found.vectors.reshape(problems, -1), step.controller, _settled(access, step.position, found)),
        )

    # Closed blocks are constants of the loop that writes the open one; otherwise XLA would copy them at every step.
    turn = jnp.minimum(schedule.turn, batch.steps)

    def input_block(block: Array, carry: tuple[Inference, Store]) -> tuple[Inference, Store]:
        so_far, store = carry

        def input_step(t: Array, carry: tuple[Inference, Slots]) -> tuple[Inference, Slots]:
            so_far, before = carry
            step = take(t, so_far.state)
            at = first_slot + access.write_heads * t - block * size
            after = write(before, step.written, at, t < schedule.writes, access.weighting)
            seen = store._replace(open=after if access.read_sees_write else before)
            return finish(t, step, seen, so_far), after

        # Blocks and the first slot start at multiples of the number of write heads.
        begin, end = ((edge * size - first_slot) // access.write_heads for edge in (block, block + 1))
        steps = jnp.maximum(begin, 0), jnp.minimum(end, turn)
        so_far, written = loop(*steps, input_step, (so_far, store.open))
        return so_far, close(store._replace(open=written), block)

    so_far = Inference(
        jnp.zeros((time, problems), jnp.int32),
        jnp.zeros((time, problems, access.read_heads)),
        jnp.zeros((), jnp.int32),
        state,
    )
    blocks = -(-(first_slot + access.write_heads * turn) // size)
    so_far, store = loop(0, blocks, input_block, (so_far, store))
    store = seal(store)
    return loop(turn, batch.steps, lambda t, so_far: finish(t, take(t, so_far.state), store, so_far), so_far)


def _read(access: Access, store: Store, step: Step, writing: Bool[Array, " batch"], index: Index | None) -> Reading:
    keys, beside = step.position.keys[:, : access.read_heads], None
    if access.settle_reads:
        # With `read_sees_write`, the store contains what the step has written.
        new = writing[:, None, None] & (not access.read_sees_write)
        addresses = [step.written.addresses[:, None, :, d] for d in range(keys.shape[-1])]
        beside = neighbours(access.distances(keys, step.written.addresses), addresses, new)
    query = Query(keys, step.temperatures, beside)
    if index is None:
        return read_all(access.weighting, store, query)
    return read(access.weighting, store, query, index)


def _settled(access: Access, position: Position, found: Reading) -> Position:
    if found.neighbours is None:
        return position
    keys = settle(position.keys[:, : access.read_heads], found.neighbours)
    return Position(jnp.concatenate([keys, position.keys[:, access.read_heads :]], axis=1), position.actions)
