"""What a person sees while a machine learns."""

import numpy as np
from rich.console import Console
from rich.progress import MofNCompleteColumn, TextColumn

from lantm.cli.output import Display
from lantm.evaluation import SOLVED
from lantm.training import Experiment, Progress


class TrainingDisplay(Display):
    """Epochs, and a line a test that stays."""

    def __init__(self, console: Console, experiment: Experiment):
        """Nothing is shown before it is entered."""
        super().__init__(console, TextColumn("epoch"), MofNCompleteColumn(), total=experiment.recipe.epochs)
        self._experiment = experiment
        self._headed = False

    def update(self, progress: Progress) -> None:
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
                self.say("Loss, coarse and fine are the best seed's.")
                heads = (f"{f'{scale}x coarse':>10}{'fine':>8}{'solved':>7}" for scale in progress.tests)
                self.say(f"{'epoch':>6}{'time':>8}{'loss':>8}{'rate':>8}{''.join(heads)}")
            scores = (
                f"{score.coarse.max():>9.1f}%{score.fine.max():>7.1f}%"
                f"{f'{(score.coarse >= SOLVED).sum()}/{len(score.coarse)}':>7}"
                for score in progress.tests.values()
            )
            line = f"{progress.epoch:>6}{progress.seconds:>6.0f} s{best:>8.4f}{rate:>8.2g}{''.join(scores)}"
            self.say(line + trouble)
