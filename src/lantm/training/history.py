"""`History`: the metrics of a training as arrays over epochs."""

import dataclasses
import math
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from lantm.evaluation import Measured, finite
from lantm.records import LARGEST
from lantm.training.experiment import Experiment
from lantm.training.learner import EpochReport
from lantm.training.rows import Row

FIGURES: tuple[str, ...] = ("coarse", "fine", "perplexity")
"""The scores that tests report, as named in the metrics."""


@dataclasses.dataclass(frozen=True)
class Curves:
    """The periodic tests at one scale, or on one part of a text."""

    epochs: Int[np.ndarray, " tests"]
    figures: dict[str, Float[np.ndarray, "tests seeds"]]
    """By name: coarse and fine, or perplexity."""


@dataclasses.dataclass(frozen=True, repr=False)
class History:
    """The metrics of a training over epochs; non-finite values are nan."""

    epochs: Int[np.ndarray, " epochs"]
    loss: Float[np.ndarray, "epochs seeds"]
    gradient_norm: Float[np.ndarray, "epochs seeds"]
    rate: Float[np.ndarray, "epochs seeds"]
    skipped: Float[np.ndarray, "epochs seeds"]
    """Number of optimiser steps skipped so far because of a non-finite gradient."""
    longest: Float[np.ndarray, "epochs seeds"]
    """The current maximum length of an adaptive curriculum; nan without one."""
    diverged: Bool[np.ndarray, " seeds"]
    """Whether the most recent steps of a seed all had non-finite gradients."""
    tests: dict[str, Curves]
    """The tests, by scale (1x, 2x) or `validation`."""

    def __repr__(self) -> str:
        """One line; the arrays may have thousands of numbers."""
        seeds = self.loss.shape[1]
        loss = f", best loss {np.nanmin(self.loss[-1]):.4f}" if np.isfinite(self.loss[-1:]).any() else ""
        names = ", ".join(field.name for field in dataclasses.fields(self))
        return f"<History of {len(self.epochs):,} epochs, seeds: {seeds}{loss}; arrays {names}>"

    @classmethod
    def from_rows(cls, rows: Iterable[Row], seeds: Sequence[int]) -> "History":
        """The history of these seeds from rows of metrics; rows of other seeds are skipped."""
        place = {seed: at for at, seed in enumerate(seeds)}
        trained: dict[int, list[Row | None]] = {}
        tested: dict[str, dict[int, list[Row | None]]] = {}
        for row in rows:
            at = place.get(row.get("seed", -1))
            if at is not None and ("test" in row or "loss" in row):
                by_epoch = tested.setdefault(str(row["test"]), {}) if "test" in row else trained
                by_epoch.setdefault(row["epoch"], [None] * len(seeds))[at] = row

        def table(by_epoch: dict[int, list[Row | None]], name: str) -> Float[np.ndarray, "epochs seeds"]:
            found = [[_number(row, name) for row in by_epoch[epoch]] for epoch in sorted(by_epoch)]
            return np.array(found, float).reshape(-1, len(seeds))

        tests = {}
        for label, by_epoch in tested.items():
            known = {name for of_seeds in by_epoch.values() for row in of_seeds if row for name in row}
            figures = {name: table(by_epoch, name) for name in FIGURES if name in known}
            tests[label] = Curves(np.array(sorted(by_epoch), int), figures)
        return cls(
            epochs=np.array(sorted(trained), int),
            loss=table(trained, "loss"),
            gradient_norm=table(trained, "gradient_norm"),
            rate=table(trained, "rate"),
            skipped=table(trained, "skipped"),
            longest=table(trained, "longest"),
            diverged=np.nan_to_num(table(trained, "diverged")[-1:]).any(axis=0),
            tests=tests,
        )


def is_metrics(row: object) -> bool:
    """Whether a JSON value is a row that training writes: an epoch, a seed, and numbers, strings or null."""
    return (
        isinstance(row, dict)
        and all(_is_number(row.get(name)) and isinstance(row[name], int) for name in ("epoch", "seed"))
        and isinstance(row.get("test", ""), str)
        and all(value is None or isinstance(value, bool | str) or _is_number(value) for value in row.values())
    )


def _is_number(value: object) -> bool:
    """Whether it is a finite number that fits into 8 bytes."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return abs(value) <= LARGEST if isinstance(value, int) else math.isfinite(value)


def _number(row: Row | None, name: str) -> float:
    value = None if row is None else row.get(name)
    return float(value) if isinstance(value, int | float) else np.nan


def epoch_rows(experiment: Experiment, epoch: int, report: EpochReport) -> list[Row]:
    """A row per seed after an epoch."""
    return [
        {
            "epoch": epoch,
            "seed": seed,
            "loss": finite(report.loss[index]),
            "gradient_norm": finite(report.gradient_norm[index]),
            "rate": finite(report.rate[index]),
            "skipped": int(report.skipped[index]),
            "diverged": bool(report.diverged[index]),
            **({} if report.longest is None else {"longest": int(report.longest[index])}),
        }
        for index, seed in enumerate(experiment.seed_numbers)
    ]


def rows_of_tests(experiment: Experiment, epoch: int, tests: dict[str, Measured]) -> list[Row]:
    """A row per test and seed."""
    return [
        {"epoch": epoch, "seed": seed, "test": label, **measured.by_seed(index)}
        for label, measured in tests.items()
        for index, seed in enumerate(experiment.seed_numbers)
    ]
