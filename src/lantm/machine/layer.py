"""`LieAccess`: the machine as a layer from vectors to vectors, with a state that can be carried over between calls."""

from typing import Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray, PyTree, Real

from lantm.errors import LantmError
from lantm.geometry import Geometry, Translation
from lantm.machine.access import Access, Position, normalised
from lantm.machine.backend import Backend, check_backend, cpu_kernels
from lantm.machine.controller import CellKind, CellState, Controller, LstmController
from lantm.machine.given import as_inputs, check_state
from lantm.machine.linear import Linear
from lantm.machine.memory import DropOldest, Grow, Memory, Policy, Window, append, compact
from lantm.machine.recurrence import recur
from lantm.machine.reference import recur_with_controller
from lantm.machine.state import Carried, Path, Schedule, State, Weights
from lantm.machine.step_sums import Noise, linear
from lantm.machine.weighting import InvNorm, Weighting

Part = Literal["embedding", "controller", "heads", "output"]
_INITIAL_STRENGTH_BIAS = -10.0  # the initial memory starts with a small strength


class Slot(eqx.Module):
    """The learnable initial memory."""

    key: Float[Array, " raw_key"]
    vector: Float[Array, " width"]
    strength: Float[Array, ""]


class Start(eqx.Module):
    """The learnable initial state of the heads (section 4.1 of the paper: "first fed a learnable initial state")."""

    reading: Float[Array, " reading"]
    keys: Float[Array, "heads raw_key"]
    steps: Float[Array, "heads raw_action"]
    slot: Slot | None


class LieAccessState(NamedTuple):
    """The state that a layer carries from one sequence to the next."""

    controller: PyTree
    reading: Float[Array, " reading"]
    heads: Position
    memory: Memory  # without an axis for the batch
    remembered: Int[Array, ""] | None  # with a memory limit: the number of slots in use


class LieAccess(eqx.Module):
    """A controller with a memory, and heads that move through the key space by a Lie group's actions.

    A layer for a single example; `jax.vmap` over examples runs them as one batch.

        layer = LieAccess(inputs=8, cells=50, key=key)
        outputs, state = layer(xs)           # xs: time x 8, outputs: time x 50
        outputs, state = layer(more, state)  # continues

    The switches are those of `LantmConfig`, with the same names.
    """

    access: Access = eqx.field(static=True)
    policy: Policy = eqx.field(static=True)
    write_end: bool = eqx.field(static=True)
    controller: Controller
    heads: Linear  # maps the controller's output to the emission
    start: Start

    def __init__(
        self,
        inputs: int,
        cells: int = 50,
        geometry: Geometry = Translation(),  # noqa: B008 (immutable, as is the weighting)
        weighting: Weighting = InvNorm(),  # noqa: B008
        *,
        key: PRNGKeyArray,
        controller: Controller | None = None,
        memory_width: int = 20,
        read_heads: int = 1,
        write_heads: int = 1,
        read_sees_write: bool = False,
        settle_reads: bool = False,
        cell_bound: float | None = None,
        controller_overshoot: float = 0.0,
        settle_cells: float = 0.0,
        write_end: bool = False,
        initial_slot: bool = True,
        squash_vectors: Literal["tanh", "sigmoid"] = "tanh",
        normalise_steps: bool = True,
        initial_step: float | None = None,
        write_gate_bias: float = -10.0,
        tied_read_heads: int = 0,
        gate_overshoot: float = 0.0,
        interpolate_actions: bool = True,
        interpolate_read_actions: bool = True,
        memory_limit: int | None = None,
        memory_drop: int = 60,
        weight_range: float | None = None,
        weight_range_of: tuple[Part, ...] = ("embedding", "controller", "heads", "output"),
        forget_bias: float | None = None,
        state_range: float = 1.0,
    ):
        """`inputs` is the size of an input vector, `cells` that of the LSTM and of an output vector.

        `key` draws the initial weights. A `controller` of your own replaces the LSTM.
        """
        for name, size in (("inputs", inputs), ("cells", cells), ("memory_width", memory_width)):
            if size < 1:
                raise LantmError(f"{name} is {size}: give a whole number of at least 1")
        if not (isinstance(geometry, Geometry) and isinstance(weighting, Weighting)):
            objects = "give objects, such as lantm.Translation(2) and lantm.InvNorm()"
            raise LantmError(f"geometry is {geometry!r} and weighting {weighting!r}: {objects}")
        self.access = Access(
            geometry=geometry,
            weighting=weighting,
            memory_width=memory_width,
            read_heads=read_heads,
            write_heads=write_heads,
            write_gate_bias=write_gate_bias,
            tied_read_heads=tied_read_heads,
            gate_overshoot=gate_overshoot,
            normalise_steps=normalise_steps,
            interpolate_actions=interpolate_actions,
            interpolate_read_actions=interpolate_read_actions,
            squash_vectors=squash_vectors,
            read_sees_write=read_sees_write,
            settle_reads=settle_reads,
        )
        self.policy, self.write_end = forgetting(memory_limit, memory_drop), write_end
        kind = CellKind(cell_bound, controller_overshoot, settle_cells)
        if controller is not None and kind != CellKind():
            raise LantmError(
                "cell_bound, controller_overshoot and settle_cells apply to the LSTM: "
                "implement them in the step of your own controller"
            )
        # The first and the fourth key are used by `Lantm` for its embedding and its readout.
        _, controller_key, heads_key, _, start_key = jax.random.split(key, 5)
        keys = iter(jax.random.split(start_key, 8))

        def uniform(*shape: int, bound: float = state_range) -> Array:
            return jax.random.uniform(next(keys), shape, minval=-bound, maxval=bound)

        range_of = {part: weight_range if part in weight_range_of else None for part in ("controller", "heads")}
        reading = read_heads * memory_width
        start = CellState(uniform(cells), uniform(cells))
        self.controller = controller or LstmController(
            inputs, reading, cells, controller_key, start, range_of["controller"], forget_bias, kind
        )
        self.heads = Linear(self.controller.size, self.access.emission_size, heads_key, range_of["heads"])
        first_reading, head_keys = uniform(reading), uniform(self.access.heads, geometry.raw_key_size)
        steps = uniform(self.access.heads, geometry.raw_action_size, bound=1.0)
        if initial_step is not None:
            steps = normalised(steps) * initial_step
        tied = slice(tied_read_heads)
        head_keys, steps = head_keys.at[tied].set(head_keys[-1]), steps.at[tied].set(steps[-1])
        slot = None
        if initial_slot:
            slot = Slot(uniform(geometry.raw_key_size), uniform(memory_width, bound=1.0), uniform(bound=1.0))
        self.start = Start(first_reading, head_keys, steps, slot)

    def __call__(
        self,
        xs: Real[Array, "time inputs"] | Bool[Array, "time inputs"],
        state: LieAccessState | None = None,
        *,
        writes: int | None = None,
        backend: Backend = "auto",
    ) -> tuple[Float[Array, "time size"], LieAccessState]:
        """The controller's output at every step, and the new state, which a next call continues from.

        Without a `state` it begins with the learnable initial one. Every step writes to the memory, or only the first
        `writes` steps (with `write_end` one more). Without a `memory_limit` the memory in the state grows by what was
        written. With one, the state keeps its shape, as `lax.scan` requires. `backend` chooses how it is computed:
        "auto" the fastest way, "scan" one whose gradient can be differentiated again. Inputs of another type, such as
        truth values or half precision, are converted to the type of the weights.
        """
        lstm = self.controller if isinstance(self.controller, LstmController) else None
        weights = (lstm, self.heads, self.start)  # a controller of one's own may compute in any type
        xs = as_inputs(xs, weights, None if lstm is None else lstm.inputs.weight.shape[0])
        if state is not None:
            check_state(state, jax.eval_shape(self.begin))
        time = xs.shape[0]
        writes = time if writes is None else writes
        if not 0 <= writes <= time:
            raise LantmError(f"writes is {writes}: give a number from 0 to the number of steps, {time}")
        before = self.begin() if state is None else state
        slots = before.memory.strengths.shape[0]
        written = min(writes + self.write_end, time) * self.access.write_heads
        zero = jnp.zeros((), jnp.int32)
        used = zero + slots if before.remembered is None else before.remembered
        # Room for at least one step, since the loop body is compiled even for zero steps.
        memory = _more_slots(before.memory, max(written, self.access.write_heads))
        small = State(before.reading, before.controller, before.heads)
        small, memory = jax.tree.map(lambda leaf: leaf[None], (small, memory))
        schedule = Schedule(zero + time, (zero + writes)[None], zero + writes)
        outputs, path = self.run_batch(xs[:, None], schedule, Carried(small, memory, Window(zero, used)), backend)
        memory, window = compact(path.memory, path.window)
        limited = before.remembered is not None
        small, memory = jax.tree.map(lambda leaf: leaf[0], (path.state, memory))
        memory = jax.tree.map(lambda field: field[: slots if limited else slots + written], memory)
        return outputs[:, 0], LieAccessState(
            small.controller, small.reading, small.position, memory, window.end if limited else None
        )

    def begin(self) -> LieAccessState:
        """The learnable initial state of a single example."""
        state, memory, window = jax.tree.map(lambda leaf: leaf[0] if leaf.ndim else leaf, self.begin_batch(1, 0))
        remembered = None
        if isinstance(self.policy, DropOldest):
            memory = _more_slots(memory, self.policy.limit - memory.strengths.shape[0])
            remembered = window.end
        return LieAccessState(state.controller, state.reading, state.position, memory, remembered)

    def begin_batch(self, batch_size: int, slots: int) -> Carried:
        """The initial state of a batch, with memory for at most `slots` steps of writing."""
        access, start = self.access, self.start

        def repeat(x: Array) -> Array:
            return jnp.broadcast_to(x, (batch_size, *x.shape))

        position = Position(repeat(access.geometry.key(start.keys)), repeat(access.geometry.action(start.steps)))
        state = State(repeat(jnp.tanh(start.reading)), jax.tree.map(repeat, self.controller.begin()), position)
        room = int(start.slot is not None) + slots * access.write_heads
        own = self.heads.weight.dtype  # JAX's default differs if the layer was made before double precision was set
        memory = Memory(
            jnp.zeros((batch_size, room, access.geometry.key_size), own),
            jnp.zeros((batch_size, room, access.memory_width), own),
            jnp.zeros((batch_size, room), own),
        )
        zero = jnp.zeros((), jnp.int32)
        if start.slot is None:
            return Carried(state, memory, Window(zero, zero))
        slot = Memory(
            repeat(access.geometry.key(start.slot.key))[:, None],
            repeat(access.squash(start.slot.vector))[:, None],
            repeat(jax.nn.sigmoid(start.slot.strength + _INITIAL_STRENGTH_BIAS))[:, None],
        )
        return Carried(state, append(memory, slot, zero), Window(zero, zero + 1))

    def writing(self, schedule: Schedule) -> Schedule:
        """The schedule with the steps in which this layer writes, including the end of the input with `write_end`."""
        if not self.write_end:
            return schedule
        turn_at = None if schedule.turn_at is None else schedule.turn_at + 1
        return Schedule(schedule.steps, schedule.writes + 1, turn_at)

    def run_batch(
        self,
        inputs: Float[Array, "time batch inputs"],
        schedule: Schedule,
        carried: Carried,
        backend: Backend = "auto",
    ) -> tuple[Float[Array, "time batch size"], Path]:
        """The controller's output at every step of a batch, and the path."""
        if not isinstance(self.controller, LstmController):
            check_backend(backend)
            if backend == "kernel":
                raise LantmError("the kernels support only the LSTM controller: use the backend 'auto' or 'loops'")
            schedule = self.writing(schedule)
            return recur_with_controller(
                self.access, self.policy, self.controller, self.heads, inputs, *carried, schedule
            )
        own = self.controller.inputs
        compiled = cpu_kernels() and backend != "scan"
        given = linear(own.weight, own.bias, inputs, schedule.steps) if compiled else own(inputs)
        return self.run_given(given, schedule, carried, backend)

    def run_given(
        self,
        given: Float[Array, "time batch four_cells"],
        schedule: Schedule,
        carried: Carried,
        backend: Backend = "auto",
        noise: Noise | None = None,
    ) -> tuple[Float[Array, "time batch cells"], Path]:
        """`run_batch` of an LSTM, given the inputs' contribution to the preactivations."""
        assert isinstance(self.controller, LstmController)
        schedule = self.writing(schedule)
        weights = Weights(self.controller.recurrent, self.heads.weight, self.heads.bias)
        if noise is not None:
            given = noise.added(given, schedule.steps, plain=backend == "scan")  # that reads all rows
        kind = self.controller.kind
        path = recur(self.access, self.policy, weights, given, *carried, schedule, backend, kind)
        return path.states.controller.hidden, path


def forgetting(memory_limit: int | None, memory_drop: int) -> Policy:
    """The policy for this memory limit; None means no limit."""
    return Grow() if memory_limit is None else DropOldest(memory_limit, memory_drop)


def _more_slots(memory: Memory, room: int) -> Memory:
    """The memory of one example with `room` more free slots at the end."""
    return Memory(*(jnp.concatenate([field, jnp.zeros((room, *field.shape[1:]), field.dtype)]) for field in memory))
