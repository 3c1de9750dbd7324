"""Malformed inputs, drawn by hypothesis: problems for `solve`, answers, sweep files, weight files."""

import contextlib
import io
import json
import pathlib
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.errors import HypothesisWarning

from benchmarks.reliability.trials import Count
from lantm import weight_files
from lantm.cli import main
from lantm.errors import LantmError
from lantm.grids import read_sweep
from lantm.paper import preset, settings_of
from lantm.randomness import INITIALISE, seed_key
from lantm.tasks import TASKS, make_task
from lantm.trained import load, zoo
from lantm.training import Experiment

LIMIT = 20  # seconds for one input
_EXECUTION = ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "subprocess.Popen", "socket.connect", "os.fork")
_watching = False
_executed: list[str] = []


def _hook(event: str, arguments: Any) -> None:
    if _watching and event in _EXECUTION:
        _executed.append(event)


# Problems: text of all kinds, and text that is nearly right.
_CHARACTERS = st.text(st.characters(), max_size=40)
_NEARLY = st.text("0123456789+-*() print=;for:xabcdef\n\t\0'\"", max_size=60)
_PROBLEMS = st.one_of(
    _CHARACTERS, _NEARLY, st.sampled_from(["__import__('os').abort()", "9" * 5000, "1+" * 5000, "print((" * 999])
)

# Sweep files: the right words with any values, and any bytes.
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | _CHARACTERS | st.sampled_from(["copy", "disk", "lstm"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_CHARACTERS, inner, max_size=3),
    max_leaves=6,
)
_WORDS = st.sampled_from(["seeds", "scales", "problems", "pack", "experiment", "grid", "other"])


def _named_settings() -> list[str]:
    return [*settings_of(preset("copy", "lantm-invnorm")), "seeds", "layers", "data", "vocabulary", "__class__"]


def malformed(inputs: int, scratch: pathlib.Path) -> Iterator[Count]:
    """So many inputs in all, shared out; each is refused in one line or taken, and never anything else."""
    sys.addaudithook(_hook)
    share = inputs // 4
    few = min(share // 2, 200)  # the whole command takes a moment for each
    yield _problems(share - few)
    yield _solve(few)
    yield _answers(share)
    yield _sweep_files(share, scratch)
    yield _weight_files(inputs - 3 * share, scratch)


def _drawn(what: str, inputs: int, strategies: dict[str, Any], check: Callable[..., None]) -> Count:
    """Runs a check on so many inputs; what it raises, however it ends, is a problem."""
    problems: list[str] = []
    tried = 0

    @seed(8)
    @settings(
        max_examples=inputs,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(**strategies)
    def run(**drawn: Any) -> None:
        nonlocal tried
        global _watching
        tried += 1
        signal.alarm(LIMIT)
        _watching = True
        try:
            check(**drawn)
        except LantmError as error:
            if "\n" in str(error).strip():
                problems.append(f"more than one line: {drawn!r}"[:300])
        except BaseException as error:
            problems.append(f"{type(error).__name__}: {error}: {drawn!r}"[:400])
        finally:
            _watching = False
            signal.alarm(0)
            if _executed:
                problems.append(f"{_executed.pop()}: {drawn!r}"[:300])

    def too_long(number: int, frame: Any) -> None:
        raise TimeoutError(f"no answer in {LIMIT} s")

    before = signal.signal(signal.SIGALRM, too_long)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HypothesisWarning)
            # Hypothesis ends early where it has drawn everything there is: the rest is drawn anew.
            while tried < inputs:
                run()
    finally:
        signal.signal(signal.SIGALRM, before)
    means = f"a line that says what is wrong, or an answer; nothing else is raised, executed, or takes {LIMIT} s"
    return Count(f"malformed: {what}", tried, tried - len(problems), means, problems[:20])


def _problems(inputs: int) -> Count:
    tasks = [make_task(name) for name in TASKS]

    def check(task: Any, text: str) -> None:
        task.encode(text)
        task.expected(text)

    strategies = {"task": st.sampled_from(tasks), "text": _PROBLEMS}
    return _drawn("problems of every task", inputs, strategies, check)


def _solve(inputs: int) -> Count:
    """The whole command, on what its task refuses; what it takes would be worked on for seconds."""
    names = [name for name in zoo.names() if not name.startswith("programs")]

    def check(name: str, text: str, flags: list[str]) -> None:
        with contextlib.suppress(LantmError):
            load(name).source.encode(text)
            text = ""
        with contextlib.redirect_stderr(io.StringIO()) as said, contextlib.redirect_stdout(io.StringIO()):
            status = main(["solve", name, text, *flags])
        assert status in (0, 2), status
        assert "Traceback" not in said.getvalue()
        assert said.getvalue().count("\n") == (1 if status else 0), said.getvalue()

    flags = st.lists(st.sampled_from(["--json", "--seed", "-1", "--weights", "\0"]), max_size=2)
    strategies = {"name": st.sampled_from(names), "text": _PROBLEMS, "flags": flags}
    return _drawn("lantm solve, the whole command", inputs, strategies, check)


def _answers(inputs: int) -> Count:
    tasks = [make_task(name) for name in TASKS]

    def check(task: Any, symbols: list[int]) -> None:
        text = task.decode_answer([symbol % task.vocabulary for symbol in symbols])
        assert isinstance(text, str)

    strategies = {"task": st.sampled_from(tasks), "symbols": st.lists(st.integers(0, 10**6), max_size=30)}
    return _drawn("answers to be decoded, of any symbols", inputs, strategies, check)


def _sweep_files(inputs: int, scratch: pathlib.Path) -> Count:
    names = st.sampled_from(_named_settings())
    choices = st.lists(_VALUES, max_size=3) | _VALUES
    grid = st.dictionaries(names, choices, max_size=3)
    contents = st.fixed_dictionaries(
        {"experiment": st.dictionaries(names, _VALUES, max_size=3), "grid": grid | st.lists(grid, max_size=2)},
        optional={"seeds": _VALUES, "scales": _VALUES, "problems": _VALUES, "pack": _VALUES},
    )
    likely = st.builds(lambda values: {**values, "experiment": {"task": "copy", **values["experiment"]}}, contents)
    file = st.one_of(
        st.builds(lambda values: (".json", json.dumps(values).encode()), likely | st.dictionaries(_WORDS, _VALUES)),
        st.tuples(st.sampled_from([".json", ".toml"]), st.binary(max_size=80)),
        st.tuples(st.just(".toml"), _NEARLY.map(str.encode)),
    )

    def check(file: tuple[str, bytes]) -> None:
        path = scratch / f"sweep{file[0]}"
        path.write_bytes(file[1])
        read_sweep(path).points()

    return _drawn("sweep files", inputs, {"file": file}, check)


def _weight_files(inputs: int, scratch: pathlib.Path) -> Count:
    name = zoo.names()[0]
    whole = (zoo.SHELF / f"{name}.safetensors").read_bytes()
    header = int.from_bytes(whole[:8], "little")
    path = scratch / "weights.safetensors"
    path.write_bytes(whole)
    experiment = Experiment.from_json(weight_files.read_notes(path).get("experiment"))
    vocabulary = experiment.build_task().vocabulary
    like = jax.eval_shape(lambda: experiment.machine.build(vocabulary, seed_key(0, INITIALISE)))

    def changed() -> Iterator[Any]:
        place = st.one_of(st.integers(0, 8 + header), st.integers(0, len(whole) - 1))
        yield st.builds(
            lambda at, size, new: whole[:at] + new + whole[at + size :],
            place,
            st.integers(0, 64),
            st.binary(max_size=64),
        )
        yield place.map(lambda at: whole[:at])
        yield st.binary(max_size=200)

    def check(data: bytes) -> None:
        if data == whole:
            return
        path.write_bytes(data)
        with contextlib.suppress(LantmError):
            Experiment.from_json(weight_files.read_notes(path).get("experiment"))
        weight_files.load(path, like)
        raise AssertionError("it was taken")

    return _drawn("weight files", inputs, {"data": st.one_of(*changed())}, check)
