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
        self._progress = Progress(
            TextColumn("epoch"),
            MofNCompleteColumn(),
            BarColumn(bar_width=20),
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
        self._console.print(f"warning: {warning}", highlight=False)

    def update(self, progress: TrainingProgress) -> None:
        """Shows an epoch."""
        loss = progress.report.loss
        finite = loss[np.isfinite(loss)]
        best, median = (finite.min(), np.median(finite)) if finite.size else (np.nan, np.nan)
        status = f"loss best {best:.4f} median {median:.4f} · rate {np.median(progress.report.rate):.2g}"
        if diverged := int(progress.report.diverged.sum()):
            status += f" · {diverged} diverged"
        self._progress.update(self._bar, completed=progress.epoch, status=status)
        if progress.tests and progress.epoch % self._experiment.recipe.test_every == 0:
            scores = " · ".join(
                f"{scale}x coarse {score.coarse.max():.1f}% fine {score.fine.max():.1f}%"
                f" ({(score.coarse >= SOLVED).sum()}/{len(score.coarse)} solve it)"
                for scale, score in progress.tests.items()
            )
            self._console.print(
                f"epoch {progress.epoch:>4}  {progress.seconds:>5.0f} s  {status} · {scores}", highlight=False
            )
