"""The machines of the paper a second time: float64 NumPy, one problem, one head, one memory at a time.

Written from the paper's equations, not from the library: sections 3 and 4, with the choices that
`LantmConfig` names as switches. The library's models are only asked for their numbers. Nothing here is fast.
"""

import dataclasses
import re
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import numpy as np

from lantm.batch import Batch
from lantm.machine import LantmConfig, LstmConfig, Model

Vector = np.ndarray
Parameters = Any  # a model with NumPy arrays in the place of JAX's


def numbers(model: Model) -> Parameters:
    """The model's parameters as NumPy arrays, under the same names."""
    return jax.tree.map(lambda leaf: np.array(leaf, dtype=np.float64), model)


def sigmoid(x: Vector) -> Vector:
    return 1 / (1 + np.exp(-x))


def stretched(x: Vector, overshoot: float) -> Vector:
    """A sigmoid from -overshoot to 1 + overshoot, of which 0 to 1 is left."""
    low, high = -overshoot, 1 + overshoot
    return np.clip(low + (high - low) * sigmoid(x), 0.0, 1.0)


def softplus(x: Vector) -> Vector:
    return np.log(1 + np.exp(x))


# The controller.


def lstm_cell(
    z: Vector,
    cell: Vector,
    bound: float | None = None,
    overshoot: float = 0.0,
    displacement: Callable[[Vector], Vector] | None = None,
) -> tuple[Vector, Vector]:
    """The hidden state and the cell after the gates' 4n numbers: input, forget, output, candidate.

    The displacement is that of cells that settle.
    """
    i, f, o, g = np.split(z, 4)
    cell = stretched(f, overshoot) * cell + stretched(i, overshoot) * np.tanh(g)
    if bound is not None:
        cell = np.clip(cell, -bound, bound)
    if displacement is not None:
        cell = cell + displacement(cell)
    return stretched(o, overshoot) * np.tanh(cell), cell


# The geometry: a head's key is moved by a group.


def as_complex(pair: Vector) -> complex:
    return complex(pair[0], pair[1])


def group_element(geometry: str, raw: Vector) -> Vector:
    """The action that is meant by the numbers `raw`."""
    if geometry == "rotation":
        return raw / np.sqrt(np.sum(raw**2))
    return raw


def act(geometry: str, action: Vector, key: Vector) -> Vector:
    """v . k: addition for translations, the product of complex numbers for the others."""
    if geometry.startswith("translation"):
        return key + action
    product = as_complex(action) * as_complex(key)
    return np.array([product.real, product.imag])


def unit_step(step: Vector) -> Vector:
    """A step of length approximately 1."""
    return step / np.sqrt(np.sum(step**2) + 1e-6)


# The memory: a list that grows.


@dataclasses.dataclass
class Slot:
    """One memory."""

    number: int  # how many were written before it
    address: Vector
    vector: Vector
    strength: float


def law_of_reading(config: LantmConfig) -> tuple[str, dict[str, Any]]:
    """The name of the weighting and its options: `invnorm[power=2]`."""
    name, _, options = config.weighting.rstrip("]").partition("[")
    return name, {field: option_value(value) for field, value in re.findall(r"(\w+)=([^,]+)", options)}


def option_value(text: str) -> float | bool:
    return text == "true" if text in ("true", "false") else float(text)


def invnorm(distances: Vector, power: float = 1.0, epsilon: float = 1e-9) -> Vector:
    return (distances + epsilon) ** -power


def softmax(distances: Vector, temperature: float) -> Vector:
    return np.exp(-(distances - distances.min()) / temperature)


def read_weights(config: LantmConfig, key: Vector, memory: list[Slot], temperature: float | None) -> list[float]:
    """How much of each memory is read: near ones more than far ones, strong ones more than weak ones."""
    if not memory:
        return []
    distances = np.array([np.sum((key - slot.address) ** 2) for slot in memory])
    law, options = law_of_reading(config)
    renormalise = options.pop("renormalise", False)
    nearness = invnorm(distances, **options) if law == "invnorm" else softmax(distances, temperature)
    strengths = np.array([slot.strength for slot in memory])
    share = nearness * strengths
    return list(share / np.sum(share if renormalise else nearness))


def remember(config: LantmConfig, memory: list[Slot], slot: Slot) -> list[Slot]:
    """The memory with one more; a memory that is full then loses its oldest at once."""
    memory = [*memory, slot]
    if config.memory_limit is not None and len(memory) >= config.memory_limit:
        memory = memory[config.memory_drop :]
    return memory


def settles_on(key: Vector, memory: list[Slot]) -> Slot | None:
    """What a head that stands at `key` is put on: the one memory that it is three times nearer to than to others."""
    near = sorted(memory, key=lambda slot: np.linalg.norm(key - slot.address))
    if len(near) >= 2 and 3 * np.linalg.norm(key - near[0].address) < np.linalg.norm(key - near[1].address):
        return near[0]
    return None


def squash(config: LantmConfig) -> Callable[[Vector], Vector]:
    return np.tanh if config.squash_vectors == "tanh" else sigmoid


# The Lie access machine.


@dataclasses.dataclass
class State:
    """What one problem carries from step to step."""

    hidden: Vector
    cell: Vector
    reading: Vector
    keys: list[Vector]  # one a head, read heads first
    actions: list[Vector]
    memory: list[Slot]
    written: int  # memories so far, also those forgotten since


def lantm_start(parameters: Parameters, config: LantmConfig) -> State:
    start, controller = parameters.layer.start, parameters.layer.controller.start
    memory = []
    if config.initial_slot:
        key, vector, strength = start.slot.key, start.slot.vector, start.slot.strength
        memory = remember(config, [], Slot(0, key, squash(config)(vector), sigmoid(strength - 10)))
    return State(
        hidden=controller.hidden,
        cell=controller.cell,
        reading=np.tanh(start.reading),
        keys=list(start.keys),
        actions=[group_element(config.geometry, step) for step in start.steps],
        memory=memory,
        written=int(config.initial_slot),
    )


def emission(parameters: Parameters, config: LantmConfig, hidden: Vector) -> SimpleNamespace:
    """What the controller says to the heads, cut into its parts."""
    readers, writers = config.read_heads, config.write_heads
    heads = readers + writers
    heads_layer = parameters.layer.heads
    size = len(parameters.layer.start.keys[0])
    rest = hidden @ heads_layer.weight + heads_layer.bias

    def take(*shape: int) -> Vector:
        nonlocal rest
        count = int(np.prod(shape))
        taken, rest = rest[:count], rest[count:]
        return taken.reshape(shape)

    parts = SimpleNamespace(
        keys=take(heads, size),
        key_gates=take(heads),
        steps=take(heads, size),
        action_gates=take(heads),
        vectors=take(writers, config.memory_width),
        strengths=take(writers),
        temperatures=None,
    )
    law, options = law_of_reading(config)
    if law == "softmax" and "temperature" not in options:
        parts.temperatures = take(readers)
    assert rest.size == 0
    return parts


def gate(config: LantmConfig, raw: Vector) -> Vector:
    return stretched(raw, config.gate_overshoot)


def move(config: LantmConfig, head: int, said: SimpleNamespace, state: State) -> SimpleNamespace:
    """Where one head goes: v = h v~ + (1 - h) v, kbar = g k~ + (1 - g) k, k = v . kbar."""
    writes, tied = head >= config.read_heads, head < config.tied_read_heads
    key_gate = gate(config, said.key_gates[head] + (config.write_gate_bias if writes or tied else 0.0))
    action_gate = gate(config, said.action_gates[head] + (config.write_gate_bias if writes else 0.0))

    key, step = said.keys[head], said.steps[head]
    if config.normalise_steps:
        step = unit_step(step)
    action = group_element(config.geometry, step)

    if config.interpolate_actions and (writes or config.interpolate_read_actions):
        mixed = action_gate * action + (1 - action_gate) * state.actions[head]
        action = group_element(config.geometry, mixed)
    interpolated_key = key_gate * key + (1 - key_gate) * state.keys[head]
    key = act(config.geometry, action, interpolated_key)
    return SimpleNamespace(key=key, action=action, key_gate=key_gate, action_gate=action_gate)


def lantm_step(
    parameters: Parameters,
    config: LantmConfig,
    state: State,
    symbol: int,
    may_write: bool,
    like: SimpleNamespace | None = None,
) -> tuple[State, SimpleNamespace]:
    """One time step of one problem: what is carried on, and what there is to be looked at."""
    state, seen = layer_step(parameters, config, state, parameters.embedding[symbol], may_write, like)
    seen.logits = state.hidden @ parameters.readout.weight + parameters.readout.bias
    return state, seen


def layer_step(
    parameters: Parameters,
    config: LantmConfig,
    state: State,
    x: Vector,
    may_write: bool,
    like: SimpleNamespace | None = None,
) -> tuple[State, SimpleNamespace]:
    """The same of the layer inside, which is given vectors.

    Read heads that settle are displaced to a memory, and cells towards -bound, 0 or bound; or both as in the step
    `like`, if given, wherever that leads: the gradient that goes straight through is that of a machine whose
    displacements are constants.
    """
    controller = parameters.layer.controller
    z = x @ controller.inputs.weight + controller.inputs.bias
    z = z + np.concatenate([state.reading, state.hidden]) @ controller.recurrent
    cell_displacements: Vector | None = None if like is None else like.cell_displacements

    def displacement(cell: Vector) -> Vector:
        nonlocal cell_displacements
        if cell_displacements is None:
            missing = config.cell_bound * np.round(cell / config.cell_bound) - cell
            cell_displacements = np.clip(missing, -config.settle_cells, config.settle_cells)
        return cell_displacements

    hidden, cell = lstm_cell(
        z,
        state.cell,
        config.cell_bound,
        config.controller_overshoot,
        displacement if config.settle_cells else None,
    )

    said = emission(parameters, config, hidden)
    readers, writers = config.read_heads, config.write_heads
    moved = [move(config, head, said, state) for head in range(readers + writers)]
    strengths = sigmoid(said.strengths)
    vectors = squash(config)(said.vectors)

    new = []
    remembered = state.memory
    if may_write:
        for writer in range(writers):
            address = moved[readers + writer].key
            new.append(Slot(state.written + writer, address, vectors[writer], float(strengths[writer])))
            remembered = remember(config, remembered, new[-1])
    memory = remembered if config.read_sees_write else state.memory

    temperatures: list[float | None] = [law_of_reading(config)[1].get("temperature")] * readers
    if said.temperatures is not None:
        temperatures = list(softplus(said.temperatures))
    readings, weights = [], []
    for reader in range(readers):
        share = read_weights(config, moved[reader].key, memory, temperatures[reader])
        reading = np.zeros(config.memory_width)
        for weight, slot in zip(share, memory, strict=True):
            reading = reading + weight * slot.vector
        readings.append(reading)
        weights.append({slot.number: weight for weight, slot in zip(share, memory, strict=True)})

    reading = np.concatenate(readings)
    keys, actions = [head.key for head in moved], [head.action for head in moved]
    settled = [settles_on(key, remembered) for key in keys[:readers]] if config.settle_reads else []
    displacements: list[Vector] | None = None if like is None else like.displacements
    if displacements is None:
        displacements = [np.zeros_like(key) for key in keys]
        for head, slot in enumerate(settled):
            if slot is not None:
                displacements[head] = slot.address - keys[head]
    ends = [key + displacement for key, displacement in zip(keys, displacements, strict=True)]
    seen = SimpleNamespace(
        keys=np.array(keys),
        actions=np.array(actions),
        key_gates=np.array([head.key_gate for head in moved]),
        action_gates=np.array([head.action_gate for head in moved]),
        strengths=strengths,
        temperatures=None if said.temperatures is None else np.array(temperatures),
        readings=reading,
        read_weights=weights,  # for each read head, by the number of the memory
        written=new,
        displacements=displacements,
        cell_displacements=cell_displacements,
        settled_on=[-1 if slot is None else slot.number for slot in settled] if config.settle_reads else None,
    )
    return State(hidden, cell, reading, ends, actions, remembered, state.written + len(new)), seen


@dataclasses.dataclass
class Run:
    """What happened in one problem."""

    steps: list[SimpleNamespace]
    written: list[Slot]  # all that was ever in the memory
    state: State | None


def run_lantm_problem(
    parameters: Parameters, config: LantmConfig, symbols: list[int], writes: int, like: Run | None = None
) -> Run:
    """One problem; nothing is written from step `writes` on, which is its first end-of-input symbol, or after it.

    Heads and cells that settle are displaced as in the run `like`, if that is given.
    """
    writes += config.write_end
    state = lantm_start(parameters, config)
    steps, written = [], list(state.memory)
    for time, symbol in enumerate(symbols):
        step = None if like is None else like.steps[time]
        state, seen = lantm_step(parameters, config, state, symbol, time < writes, step)
        steps.append(seen)
        written.extend(seen.written)
    return Run(steps, written, state)


# The LSTM baseline.


def lstm_step(layers: list[Any], states: list[tuple[Vector, Vector]], x: Vector) -> list[tuple[Vector, Vector]]:
    """One time step of a stack of layers, each with its hidden state and its cell."""
    after = []
    for layer, (hidden, cell) in zip(layers, states, strict=True):
        z = x @ layer.inputs.weight + layer.inputs.bias + hidden @ layer.recurrent
        after.append(lstm_cell(z, cell))
        x = after[-1][0]
    return after


def run_lstm_problem(
    parameters: Parameters, config: LstmConfig, symbols: list[int], writes: int, like: Run | None = None
) -> Run:
    """One problem: the input, and the answer while it is shown end-of-input symbols."""
    states = list(zip(parameters.start.hidden, parameters.start.cell, strict=True))
    steps = []
    for symbol in symbols:
        states = lstm_step(parameters.layers, states, parameters.embedding[symbol])
        hidden = states[-1][0]
        steps.append(SimpleNamespace(logits=hidden @ parameters.readout.weight + parameters.readout.bias))
    return Run(steps, written=[], state=None)


# A batch of problems, one after the other.


def run_problems(
    model: Model, config: LantmConfig | LstmConfig, batch: Batch, like: list[Run] | None = None
) -> list[Run]:
    """Every problem of the batch, for as many steps as its longest one takes."""
    parameters = numbers(model)
    run_problem = run_lstm_problem if isinstance(config, LstmConfig) else run_lantm_problem
    inputs = np.asarray(batch.inputs)[: int(batch.steps)]
    return [
        run_problem(parameters, config, symbols, writes, one)
        for symbols, writes, one in zip(
            inputs.T.tolist(), np.asarray(batch.writes).tolist(), like or [None] * inputs.shape[1], strict=True
        )
    ]


def stacked(runs: list[Run], name: str) -> np.ndarray:
    """Something seen at every step of every problem, as an array that starts with time and batch."""
    return np.stack([[getattr(step, name) for step in run.steps] for run in runs], axis=1)


def loss(model: Model, config: LantmConfig | LstmConfig, batch: Batch, like: list[Run] | None = None) -> float:
    """The negative log likelihood of an answer symbol, on average over all symbols of all answers."""
    targets, mask = np.asarray(batch.targets), np.asarray(batch.mask)
    losses = []
    for problem, run in enumerate(run_problems(model, config, batch, like)):
        for time, step in enumerate(run.steps):
            if mask[time, problem]:
                exponentials = np.exp(step.logits)
                losses.append(-np.log(exponentials[targets[time, problem]] / exponentials.sum()))
    return float(np.mean(losses))
