"""The batch of the paper's recipe: 32 copies of 64 symbols, 130 steps, forward and backward, ours and theirs."""

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.timing import interleaved, singly
from lantm.batch import Batch
from lantm.evaluation import answer
from lantm.evaluation.answer import Answer
from lantm.machine import Backend, Lantm, LantmConfig, Model
from lantm.tasks import make_task
from lantm.training.loss import negative_log_likelihood

LENGTH = 64
BATCH = 32
PAPER = LantmConfig()
# What keeps machines exact at any length (docs/exact.md), one by one and together.
MECHANISMS: dict[str, dict[str, Any]] = {
    "settle_reads": {"settle_reads": True},
    "cell_bound": {"cell_bound": 1.0},
    "controller_overshoot": {"controller_overshoot": 0.1},
    "settle_cells": {"cell_bound": 1.0, "settle_cells": 0.02},
    "write_end": {"write_end": True},
}


def problems(length: int) -> Batch:
    """A batch of copy problems; as in training, all seeds that run in step have problems of one length."""
    return make_task("copy").sample(jax.random.key(1), BATCH, length, length)


def machines(seeds: int | None = None, config: LantmConfig = PAPER) -> Model:
    """A fresh machine, by default of the paper's sizes for copy, or several."""
    task = make_task("copy")

    def build(key: Any) -> Model:
        return config.build(task.vocabulary, key)

    key = jax.random.key(0)
    return build(key) if seeds is None else jax.vmap(build)(jax.random.split(key, seeds))


def loss_and_gradients(model: Model, batch: Batch, backend: Backend = "auto") -> tuple[Any, Any]:
    """What one step of training computes, before its optimiser."""
    return jax.value_and_grad(lambda model: negative_log_likelihood(answer(model, batch, backend)))(model)


def layer_under_vmap(model: Lantm, batch: Batch) -> tuple[Any, Any]:
    """The same step with the layer mapped over examples, as it is used inside another network."""
    writes, symbols = LENGTH + 1, batch.inputs.T  # examples first

    def loss(model: Lantm) -> Any:
        outputs, _ = jax.vmap(lambda xs: model.layer(xs, writes=writes))(model.embedding[symbols])
        answers = (model.readout(outputs[:, writes:]), batch.targets[writes:].T, batch.mask[writes:].T)
        return negative_log_likelihood(Answer(*answers))

    return jax.value_and_grad(loss)(model)


def compiled(
    length: int,
    seeds: int | None = None,
    backend: Backend = "auto",
    config: LantmConfig = PAPER,
) -> tuple[Any, Any, Any]:
    """The compiled step with its arguments."""
    step = partial(loss_and_gradients, backend=backend)
    step = step if seeds is None else jax.vmap(step, in_axes=(0, None))
    model, batch = machines(seeds, config), problems(length)
    return jax.jit(step).lower(model, batch).compile(), model, batch


def against_torch(repetitions: int) -> list[dict[str, Any]]:
    """Rows: ours, the layer mapped over, our loops, plain autodiff, PyTorch eager and compiled, and a bare LSTM."""
    import torch

    from benchmarks.torch_lantm import TorchLantm

    ours, model, batch = compiled(LENGTH)
    mapped = jax.jit(layer_under_vmap).lower(model, batch).compile()
    loops, _, _ = compiled(LENGTH, backend="loops")
    plain, _, _ = compiled(LENGTH, backend="scan")
    inputs = torch.from_numpy(np.array(batch.inputs, dtype=np.int64))
    targets = torch.from_numpy(np.array(batch.targets, dtype=np.int64))
    mask = torch.from_numpy(np.array(batch.mask))
    writes = int(batch.writes[0])
    eager, traced = TorchLantm(model), TorchLantm(model)
    traced.step = torch.compile(traced.plain_step, dynamic=True)

    def torch_step(module: Any, threads: int) -> Callable[[], Any]:
        def run() -> float:
            torch.set_num_threads(threads)
            module.zero_grad()
            logits = module(inputs, writes)
            loss = torch.nn.functional.cross_entropy(logits[mask], targets[mask])
            loss.backward()
            return loss.item()

        return run

    lstm = torch.nn.LSTM(27, 50)
    symbols = torch.randn(2 * LENGTH + 2, BATCH, 27)

    def bare_lstm(threads: int) -> Callable[[], Any]:
        def run() -> float:
            torch.set_num_threads(threads)
            lstm.zero_grad()
            total = lstm(symbols)[0].square().sum()
            total.backward()
            return total.item()

        return run

    _same_machine(ours(model, batch), eager, torch_step(eager, 1))
    rows = []
    # Thread settings are timed apart: PyTorch's second thread goes on spinning in everybody else's turn.
    for threads in (1, 2):
        contenders: dict[str, Callable[[], Any]] = {
            "lantm": lambda: ours(model, batch),
            "lantm.LieAccess under jax.vmap": lambda: mapped(model, batch),
            "lantm, loops": lambda: loops(model, batch),
            "lantm, plain scan autodiff": lambda: plain(model, batch),
            f"PyTorch, eager, threads {threads}": torch_step(eager, threads),
            f"PyTorch, compiled step, threads {threads}": torch_step(traced, threads),
            f"torch.nn.LSTM(50) alone, threads {threads}": bare_lstm(threads),
        }
        in_turns, alternating = interleaved(contenders, repetitions), singly(contenders, repetitions)
        rows += [
            {
                "name": name,
                "group": threads,
                "milliseconds": round(time, 3),
                "ratio": round(time / in_turns["lantm"], 3),
                "singly_milliseconds": round(alternating[name], 3),
                "singly_ratio": round(alternating[name] / alternating["lantm"], 3),
            }
            for name, time in in_turns.items()
        ]
    return rows


def _same_machine(ours: tuple[Any, Any], module: Any, run: Callable[[], Any]) -> None:
    """Refuses to time two different machines: losses and gradients must agree."""
    loss, gradients = ours
    assert abs(run() - float(loss)) < 1e-4, "the PyTorch machine computes another loss"
    theirs = module.heads.weight.grad.numpy().T
    difference = np.abs(theirs - np.asarray(gradients.layer.heads.weight)).max()
    assert difference < 1e-3 * max(1.0, np.abs(theirs).max()), f"another gradient, by {difference}"


def against_length(lengths: tuple[int, ...], repetitions: int, plain_up_to: int) -> list[dict[str, Any]]:
    """Rows: time and peak memory of a step, ours and by plain autodiff."""
    rows = []
    for length in lengths:
        ours, model, batch = compiled(length)
        plain, _, _ = compiled(length, backend="scan")
        contenders: dict[str, Callable[[], Any]] = {"ours": lambda ours=ours, a=(model, batch): ours(*a)}
        if length <= plain_up_to:
            contenders["plain"] = lambda plain=plain, a=(model, batch): plain(*a)
        times = interleaved(contenders, max(3, repetitions * 64 // length), warm_up=1)
        rows.append(
            {
                "length": length,
                "steps": 2 * length + 2,
                "milliseconds": round(times["ours"], 2),
                "plain_milliseconds": round(times["plain"], 2) if "plain" in times else None,
                "peak_megabytes": _peak(ours),
                "plain_peak_megabytes": _peak(plain),
            }
        )
    return rows


def _peak(step: Any) -> float:
    """What the compiler sets aside for the step's intermediate results."""
    return round(step.memory_analysis().temp_size_in_bytes / 1e6, 2)


def against_seeds(counts: tuple[int, ...], repetitions: int) -> list[dict[str, Any]]:
    """Rows: time of a step of so many runs at once, on a GPU also without the kernels of `lantm.machine.kernel`.

    On a CPU, runs are taken one after the other.
    """
    rows = []
    for count in counts:
        if jax.default_backend() == "cpu":
            model, batch = machines(count), problems(LENGTH)
            programs = {"milliseconds": jax.jit(_one_by_one).lower(model, batch).compile()}
        else:
            programs = {}
            for name, backend in (("milliseconds", "auto"), ("without_kernels", "loops")):
                programs[name], model, batch = compiled(LENGTH, count, backend=backend)
        contenders = {name: lambda run=run, a=(model, batch): run(*a) for name, run in programs.items()}
        times = interleaved(contenders, max(3, repetitions))
        rows.append({"seeds": count} | {name: round(time, 3) for name, time in times.items()})
    for row in rows:
        row["times_one"] = round(row["milliseconds"] / rows[0]["milliseconds"], 3)
    return rows


def against_mechanisms(seeds: tuple[int, ...], repetitions: int) -> list[dict[str, Any]]:
    """Rows: the step of the paper's machine with each mechanism and with all of them, for so many runs at once."""
    together = {name: value for switches in MECHANISMS.values() for name, value in switches.items()}
    rows = []
    for count in seeds:
        contenders: dict[str, Callable[[], Any]] = {}
        for name, switches in {"none": {}, **MECHANISMS, "all": together}.items():
            program, model, batch = compiled(LENGTH, count, config=dataclasses.replace(PAPER, **switches))
            contenders[name] = lambda run=program, a=(model, batch): run(*a)
        times = interleaved(contenders, repetitions)
        rows += [
            {"name": name, "seeds": count, "milliseconds": round(time, 3), "ratio": round(time / times["none"], 3)}
            for name, time in times.items()
        ]
    return rows


def _one_by_one(models: Model, batch: Batch) -> Any:
    return jax.lax.map(lambda model: loss_and_gradients(model, batch), models)


def against_exact_length(lengths: tuple[int, ...], repetitions: int) -> list[dict[str, Any]]:
    """Rows: one program, arrays of length 64, run at shorter lengths given at run time."""
    task = make_task("copy")
    model = machines()
    step = jax.jit(
        lambda model, length: loss_and_gradients(model, task.sample(jax.random.key(1), BATCH, length, LENGTH))
    )
    program = step.lower(model, jnp.int32(LENGTH)).compile()
    contenders = {f"{length}": lambda length=length: program(model, jnp.int32(length)) for length in lengths}
    times = interleaved(contenders, repetitions)
    return [{"length": int(name), "milliseconds": round(time, 3)} for name, time in times.items()]
