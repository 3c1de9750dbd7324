"""Tests a task against the contract `lantm.tasks.Task`: the layout of its batches, and `output` against `expected`."""

import collections
import itertools
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PRNGKeyArray

from lantm.batch import Batch
from lantm.checking.finding import Finding
from lantm.errors import LantmError
from lantm.tasks import SizedTask, Task

_PROBLEMS, _QUICK = 1000, 128
_LAYOUT = "layout: <s>, the input, </s> until the answer has ended"
_SYMBOLS = "symbols: within the vocabulary, a distinct character for each"
_EXPECTED = "output is what expected says"
_ROOM = "a problem does not depend on the room in its arrays"


def check_task(task: Task, thorough: bool = True) -> list[Finding]:
    """Tests random and, if `thorough`, hard problems of all lengths up to twice the longest training length."""
    trained = task.train_lengths
    longest = min(2 * trained.largest, max(trained.largest, task.longest_length))
    every = np.arange(trained.smallest, longest + 1, trained.stride)
    found = {_LAYOUT: Finding(_LAYOUT, 0), _EXPECTED: Finding(_EXPECTED, 0)}
    unreadable = ""
    kinds = {"random": task.sample}
    if thorough and task.hard_kinds:  # slow to compile
        kinds["hard"] = task.sample_hard
    number = (_PROBLEMS if thorough else _QUICK) // len(kinds)
    lengths = np.resize(every, number) if number > len(every) else every[:: len(every) // number][:number]
    for at, (kind, sample) in enumerate(kinds.items()):
        draw = jax.jit(partial(_drawn, sample, longest))
        batch = jax.device_get(draw(jax.random.key(at), jnp.asarray(lengths, "int32")))
        for column, law in itertools.product(range(number), found):
            if found[law].broken:
                continue
            wrong, text = (_laid_out if law == _LAYOUT else _answered)(task, batch, column)
            if wrong is None and text is not None:  # could not be tested
                unreadable = unreadable or text
                continue
            problem = f"a {kind} problem of length {lengths[column]}"
            found[law] = Finding(law, found[law].cases + 1, None if wrong is None else f"{problem}: {wrong}")
    if not found[_EXPECTED].cases:
        why = f"no problem could be written as text and read again ({unreadable}): define `written`"
        found[_EXPECTED] = Finding(_EXPECTED, 0, why)
    room = [_same_in_any_room(task, int(every[len(every) // 3]), longest)] if thorough else []
    return [_symbols(task), *found.values(), *room]


def _drawn(sample: Callable[..., Batch], longest: int, key: PRNGKeyArray, lengths: Int[Array, " problems"]) -> Batch:
    return sample(key, lengths.size, lengths, longest)


def _symbols(task: Task) -> Finding:
    names = [task.symbol_name(symbol) for symbol in range(min(task.vocabulary, 10_000))]
    twice = next((name for name, count in collections.Counter(names).items() if count > 1), None)
    if task.data_symbols < 1 or task.unused_symbols < 0:
        return Finding(_SYMBOLS, 1, f"there are {task.data_symbols} data symbols and {task.unused_symbols} unused ones")
    return Finding(_SYMBOLS, len(names), None if twice is None else f"two symbols are shown as {twice!r}")


def _laid_out(task: Task, batch: Batch, column: int) -> tuple[str | None, str | None]:
    """Errors in the layout of a problem over time."""
    inputs, targets, mask = (np.asarray(rows)[:, column] for rows in (batch.inputs, batch.targets, batch.mask))
    writes, asked = int(np.asarray(batch.writes)[column]), np.flatnonzero(mask)
    if inputs[0] != task.start:
        return f"it begins with {task.symbol_name(int(inputs[0]))}, not with <s>", None
    if not ((inputs >= 0) & (inputs < task.vocabulary) & (targets >= 0) & (targets < task.vocabulary)).all():
        return f"a symbol is not among the {task.vocabulary} of the vocabulary", None
    if not len(asked) or asked[-1] >= int(batch.steps) or len(asked) != asked[-1] - asked[0] + 1:
        return f"the steps in which an answer is expected are {asked.tolist()[:8]}, of {int(batch.steps)} steps", None
    if not writes <= asked[0] or (inputs[asked] != task.end_of_input).any():
        return f"the input has {writes - 1} symbols, and the answer begins at step {asked[0]}", None
    if targets[asked[-1]] != task.end_of_output:
        return f"the answer ends with {task.symbol_name(int(targets[asked[-1]]))}, not with <e>", None
    return None, None


def _answered(task: Task, batch: Batch, column: int) -> tuple[str | None, str | None]:
    """Errors in the answer to a problem; or a text that is read as a different problem."""
    inputs, targets, mask = (np.asarray(rows)[:, column] for rows in (batch.inputs, batch.targets, batch.mask))
    symbols = inputs[1 : int(np.asarray(batch.writes)[column])].tolist()
    try:
        text = task.written([task.symbol_name(symbol) for symbol in symbols])
        if isinstance(task, SizedTask) and task.read(text) != symbols:
            return None, f"{text!r} is read as another problem"
        expected = task.expected(text)
    except (LantmError, LookupError, ValueError) as error:
        return None, " ".join(str(error).split())
    output = task.decode_answer(targets[mask].tolist())
    if output == expected:
        return None, None
    return f"for {text!r} the output is {output!r}, and expected returns {expected!r}", None


def _same_in_any_room(task: Task, length: int, longest: int) -> Finding:
    key = jax.random.key(1)
    tight, roomy = (jax.device_get(task.sample(key, 4, length, room)) for room in (length, longest))
    steps = int(tight.steps)
    same = int(roomy.steps) == steps and (tight.inputs[:steps] == roomy.inputs[:steps]).all()
    same = same and (tight.targets[:steps] == roomy.targets[:steps]).all()
    differ = f"length {length} in arrays for {length} and for {longest} differ"
    if isinstance(task, SizedTask):  # other tasks lay out their problems themselves
        differ += f": only the first {task.input_size(length)} of `symbols` are their input"
    return Finding(_ROOM, 4, None if same else differ)
