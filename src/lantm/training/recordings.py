"""Records one problem per epoch for some seeds during training (`evaluation/recording.py` records a single problem).

The problem is a random one of the longest training length, or a random piece of the validation text. Recording is
cheap: after an epoch only a copy of the weights is kept, and all epochs since the last test are then run as one
program. A file in `recordings/` holds consecutive epochs and is never changed, so a crash leaves no partial file. A
resumed run deletes the files newer than its checkpoint and records those epochs again, with the same result.
"""

import contextlib
import pathlib
import re
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lantm import weight_files
from lantm.devices import compiled_once, device_mesh, over_seeds, place
from lantm.errors import LantmError
from lantm.evaluation.budget import model_shapes
from lantm.evaluation.recording import Heads, Recording, answer_span, memories
from lantm.machine import Model
from lantm.randomness import RECORD, seed_key
from lantm.tasks import Source, Task
from lantm.training.experiment import Experiment

# Maximum number of weights kept before they are run: 128 MiB.
_ROOM = 2**25
_WAITING = "waiting.safetensors"
_NAME = re.compile(r"epochs-(\d+)-(\d+)\.safetensors")


class Movements(NamedTuple):
    """What the heads did: gates and strengths in half precision; derived arrays are left out."""

    keys: Float[Array, "*runs time heads key"]
    key_gates: Float[Array, "*runs time heads"]
    action_gates: Float[Array, "*runs time heads"]
    addresses: Float[Array, "*runs slots key"]
    strengths: Float[Array, "*runs slots"]
    seen: Int[Array, "*runs time 2"]
    settled_on: Int[Array, "*runs time read_heads"] | None


class Stretch(NamedTuple):
    """The contents of a file: every field has a leading axis of epochs and one of seeds.

    Problems of one length may differ in size; arrays are padded. Each problem has its number of `steps`, writes in the
    first `writes` of them, and answers from step `answer_start` on.
    """

    inputs: Int[Array, "*runs time"]
    expected: Int[Array, "*runs time"]
    predicted: Int[Array, "*runs time"]
    writes: Int[Array, "*runs"]
    answer_start: Int[Array, "*runs"]
    steps: Int[Array, "*runs"]
    movements: Movements | None


def _run(source: Source, run: tuple[Model, Int[Array, ""], Int[Array, ""]]) -> Stretch:
    """Runs a machine on the random problem of its seed and epoch."""
    model, seed, epoch = run
    longest = source.train_lengths.largest
    batch = source.sample(seed_key(seed, RECORD, epoch), 1, longest, longest)
    output = model.trace(batch)
    symbols = jnp.int16 if source.vocabulary < 2**15 else jnp.int32
    movements = None
    if (trace := output.trace) is not None:
        movements = Movements(
            keys=trace.keys[:, 0],
            key_gates=trace.key_gates[:, 0].astype(jnp.float16),
            action_gates=trace.action_gates[:, 0].astype(jnp.float16),
            addresses=trace.memory.addresses[0],
            strengths=trace.memory.strengths[0].astype(jnp.float16),
            seen=jnp.stack(trace.windows, axis=-1).astype(jnp.int32),
            settled_on=None if trace.settled_on is None else trace.settled_on[:, 0],
        )
    return Stretch(
        batch.inputs[:, 0].astype(symbols),
        batch.targets[:, 0].astype(symbols),
        jnp.argmax(output.logits[:, 0], axis=-1).astype(symbols),
        batch.writes[0] if trace is None else trace.writes[0],
        *answer_span(batch.mask[:, 0]),
        movements,
    )


@jax.jit
def _copy(models: Model, places: Int[Array, " seeds"]) -> Model:
    """A copy of the models at these indices; training donates the arrays that it is given."""
    copies: Model = jax.tree.map(lambda leaf: jnp.copy(leaf[places]), models)
    return copies


class Recorder:
    """Keeps copies of the weights after every epoch, and writes recordings of them on request."""

    def __init__(self, experiment: Experiment, source: Source, folder: pathlib.Path):
        """`folder` is where the files go."""
        self._folder = folder
        self._numbers = np.array(experiment.recorded, np.int32)
        self._seeds = len(self._numbers)
        self._waiting: dict[int, Model] = {}  # by epoch
        self._written: dict[int, Model] = {}
        self.compiled = False  # whether `write` has compiled its program
        self._model = model = model_shapes(experiment.machine, source.vocabulary)
        size = sum(leaf.size for leaf in jax.tree.leaves(model))
        recipe = experiment.recipe
        self._epochs = max(1, min(recipe.test_every, recipe.epochs, _ROOM // (size * max(1, self._seeds))))
        self._mesh = mesh = device_mesh(max(1, self._seeds * self._epochs))
        # The program of a text contains the text, so it is not cached.
        if isinstance(source, Task):
            self._run = compiled_once(_run, mesh, source)
        else:
            self._run = over_seeds(partial(_run, source), mesh)

    def add(self, epoch: int, models: Model, places: Int[np.ndarray, " seeds"]) -> None:
        """Keeps the weights of an epoch; `places` are the indices of the seeds in the leading axis of `models`."""
        if self._seeds:
            self._waiting[epoch] = _copy(models, places[: self._seeds])
            if len(self._waiting) == self._epochs:
                self._written = self._waiting
                self.write()

    def let_go(self) -> None:
        """Drops what was written: it belongs to epochs that a resumed training does not repeat."""
        self._written = {}

    def set_aside(self, last: int | None = None) -> None:
        """Saves the kept weights themselves, which needs no compilation; a resumed training records them.

        Only epochs up to `last` are saved, by default all.
        """
        # Files that extend beyond the epoch of the checkpoint are deleted on resume.
        kept = self._written | self._waiting
        if epochs := [epoch for epoch in kept if last is None or epoch <= last]:
            models = jax.device_get([kept[epoch] for epoch in epochs])
            together = jax.tree.map(lambda *leaves: np.stack(leaves), *models)
            weight_files.save(self._folder / _WAITING, together, {"epochs": epochs})

    def resume(self, epoch: int) -> None:
        """Loads the weights saved by `set_aside`, for epochs up to the one that training resumes from."""
        path = self._folder / _WAITING
        with contextlib.suppress(LantmError, LookupError, TypeError):  # losing a few recordings does no harm
            epochs = [int(number) for number in weight_files.read_notes(path)["epochs"]]
            shape = (len(epochs), self._seeds)
            like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((*shape, *leaf.shape), leaf.dtype), self._model)
            together, _ = weight_files.load(path, like)
            written = {number for first, last, _ in files(self._folder) for number in range(first, last + 1)}
            self._waiting = {
                number: jax.tree.map(lambda leaf, at=at: leaf[at], together)
                for at, number in enumerate(epochs)
                if number <= epoch and number not in written
            }

    def write(self) -> None:
        """Runs the kept machines and writes their recordings to a file."""
        if not self._waiting:
            return
        epochs, models = list(self._waiting), jax.device_get(list(self._waiting.values()))
        # Padded to a fixed number of epochs, so that there is only one program: the last machine is repeated.
        missing = self._epochs - len(epochs)
        together = jax.tree.map(lambda *leaves: np.concatenate(leaves), *models, *[models[-1]] * missing)
        seeds = np.tile(self._numbers, self._epochs)
        numbers = np.repeat(np.array([*epochs, *[epochs[-1]] * missing], np.int32), self._seeds)
        ran = jax.device_get(self._run(place((together, seeds, numbers), self._mesh)))
        shape = (self._epochs, self._seeds)
        kept = jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:])[: len(epochs)], ran)
        if kept.movements is not None:
            # Until their own writing ends, all problems see the same slots at each step: the longest one has them all.
            longest = np.unravel_index(np.argmax(kept.writes), kept.writes.shape)
            kept = kept._replace(movements=kept.movements._replace(seen=kept.movements.seen[longest]))
        notes = {"first_epoch": epochs[0], "last_epoch": epochs[-1]}
        name = f"epochs-{epochs[0]:06d}-{epochs[-1]:06d}.safetensors"
        weight_files.save(self._folder / name, kept, notes)
        (self._folder / _WAITING).unlink(missing_ok=True)
        self._waiting, self.compiled = {}, True


def files(folder: pathlib.Path) -> list[tuple[int, int, pathlib.Path]]:
    """The recording files with their first and last epochs, in order."""
    found = []
    for path in folder.glob("epochs-*.safetensors"):
        if match := _NAME.fullmatch(path.name):
            found.append((int(match[1]), int(match[2]), path))
    return sorted(found)


def forget_after(folder: pathlib.Path, epoch: int) -> None:
    """Deletes the recordings of later epochs."""
    for _, last, path in files(folder):
        if last > epoch:
            path.unlink(missing_ok=True)


def load_recordings(
    folder: pathlib.Path, experiment: Experiment, source: Source, seed: int
) -> Iterator[tuple[int, Recording]]:
    """The recordings of a seed with their epochs, in the order of training."""
    recorded = experiment.recorded
    if seed not in recorded:
        known = f"seeds {recorded.start} to {recorded.stop - 1}" if recorded else "no seeds"
        raise LantmError(
            f"there are recordings of {known} only, not of seed {seed}: train with a larger --recorded-seeds"
        )
    for first, last, path in files(folder):
        stretch, _ = weight_files.load(path, _like(experiment, source, last - first + 1, len(recorded)))
        _check(stretch, source, path)
        for epoch in range(first, last + 1):
            yield epoch, _recording(experiment, stretch, (epoch - first, recorded.index(seed)))


def _like(experiment: Experiment, source: Source, epochs: int, seeds: int) -> Any:
    """The shapes of a file's contents."""

    def one() -> Stretch:
        model = experiment.machine.build(source.vocabulary, jax.random.key(0))
        return _run(source, (model, jnp.asarray(0), jnp.asarray(0)))

    shapes = jax.eval_shape(one)
    like = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct((epochs, seeds, *leaf.shape), leaf.dtype), shapes)
    if shapes.movements is not None:
        like = like._replace(movements=like.movements._replace(seen=shapes.movements.seen))
    return like


def _check(stretch: Any, source: Source, path: pathlib.Path) -> None:
    """Raises a `LantmError` if a file contains indices or counts out of range."""
    time = stretch.inputs.shape[-1]
    within = [(stretch.answer_start, stretch.steps), (stretch.writes, time), (stretch.steps, time)]
    within += [(symbols, source.vocabulary - 1) for symbols in stretch[:3]]
    if (moved := stretch.movements) is not None:
        slots = moved.strengths.shape[-1]
        within += [(moved.seen, slots)]
        within += [] if moved.settled_on is None else [(moved.settled_on + 1, slots)]
    for found, most in within:
        if not np.all((np.asarray(found) >= 0) & (np.asarray(found) <= np.asarray(most))):
            raise LantmError(f"{path} is damaged: it contains numbers out of range; delete it")


def _recording(experiment: Experiment, stretch: Any, at: tuple[int, int]) -> Recording:
    def take(leaf: Array) -> Any:
        taken = np.asarray(leaf)[at]
        return taken.astype(np.float32) if taken.dtype == np.float16 else taken

    inputs, expected, predicted = (take(field).astype(int) for field in stretch[:3])
    writes, start, steps = (int(take(field)) for field in (stretch.writes, stretch.answer_start, stretch.steps))
    heads = None
    if (moved := stretch.movements) is not None:
        machine: Any = experiment.machine
        slots = int(machine.initial_slot) + machine.write_heads * writes
        own = memories(take(moved.addresses)[:slots], take(moved.strengths)[:slots], machine.write_heads, writes)
        last_change = writes - int(machine.read_sees_write)
        heads = Heads(
            read_heads=machine.read_heads,
            keys=take(moved.keys)[:steps],
            key_gates=take(moved.key_gates)[:steps],
            action_gates=take(moved.action_gates)[:steps],
            memories=own,
            seen=np.asarray(moved.seen)[np.minimum(np.arange(steps), last_change)],
            settled_on=None if moved.settled_on is None else take(moved.settled_on)[:steps],
        )
    return Recording(inputs[:steps], expected[start:steps], predicted[start:steps], heads)
