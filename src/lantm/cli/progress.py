"""What a person sees while a machine learns."""

from types import TracebackType

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from lantm.evaluation import SOLVED
from lantm.training import Experiment
from lantm.training import Progress as TrainingProgress


class TrainingDisplay:
    """A live line on a terminal, and a line a test that stays; in a file or a pipe, only the latter."""

    def __init__(self, console: Console, experiment: Experiment):
        """Nothing is shown before it is entered."""
        self._console = console
        self._experiment = experiment
        self._headed = False
        self._progress = Progress(
            TextColumn("epoch"),
            MofNCompleteColumn(),
            BarColumn(bar_width=14),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._bar = self._progress.add_task("training", total=experiment.recipe.epochs, status="compiling")

    def __enter__(self) -> "TrainingDisplay":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def warn(self, warning: str) -> None:
        """Says what was wrong but could be mended."""
        self._say(f"warning: {warning}")

    def update(self, progress: TrainingProgress) -> None:
        """Shows an epoch."""
        losses = progress.report.loss[np.isfinite(progress.report.loss)]
        best, median = (losses.min(), np.median(losses)) if losses.size else (np.nan, np.nan)
        rate = np.median(progress.report.rate)
        diverged = int(progress.report.diverged.sum())
        trouble = f", {diverged} diverged" if diverged else ""
        self._progress.update(
            self._bar,
            completed=progress.epoch,
            status=f"loss {best:.4f} (median {median:.4f}), rate {rate:.2g}{trouble}",
        )
        if progress.tests and progress.epoch % self._experiment.recipe.test_every == 0:
            if not self._headed:
                self._headed = True
                self._say("Loss, coarse and fine are the best seed's.")
                heads = (f"{f'{scale}x coarse':>10}{'fine':>8}{'solved':>7}" for scale in progress.tests)
                self._say(f"{'epoch':>6}{'time':>8}{'loss':>8}{'rate':>8}{''.join(heads)}")
            scores = (
                f"{score.coarse.max():>9.1f}%{score.fine.max():>7.1f}%"
                f"{f'{(score.coarse >= SOLVED).sum()}/{len(score.coarse)}':>7}"
                for score in progress.tests.values()
            )
            line = f"{progress.epoch:>6}{progress.seconds:>6.0f} s{best:>8.4f}{rate:>8.2g}{''.join(scores)}"
            self._say(line + trouble)

    def _say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)
