"""Progress display of a single training: a live line, and one line per test."""

import numpy as np
from rich.console import Console
from rich.progress import TextColumn

from lantm.cli.output import Display
from lantm.evaluation import Perplexity, Scores
from lantm.training import Experiment, Progress


class TrainingDisplay(Display):
    """A progress bar, and a permanent line per test."""

    def __init__(self, console: Console, experiment: Experiment):
        """Displays nothing before it is entered."""
        super().__init__(console, TextColumn("{task.fields[epoch]}"), epoch="")
        self._lines = TestLines(experiment)
        self._epochs = experiment.recipe.epochs
        self.closed = False

    def update(self, progress: Progress) -> None:
        """Shows the progress of an epoch, and its result."""
        self._progress.update(
            self._bar,
            total=progress.epochs * progress.batches,
            completed=(progress.epoch - 1) * progress.batches + progress.batch,
            epoch=f"epoch {progress.epoch}/{progress.epochs}",
            status=self._lines.status(progress),
        )
        try:
            for line in self._lines.of(progress):
                self.say(line)
        except (BrokenPipeError, SystemExit):  # the output was closed; training has to be saved first
            self.closed = True

    def announce(self, epoch: int, what: str) -> None:
        """Shows what is done after an epoch, besides training."""
        self._progress.update(self._bar, epoch=f"epoch {epoch}/{self._epochs}", status=what)


class TestLines:
    """Text lines for a training: a heading before the first test, and a line per test."""

    __test__ = False  # not a pytest class

    def __init__(self, experiment: Experiment):
        self._text = experiment.reads_text
        self._headed = False

    def status(self, progress: Progress) -> str:
        """A short description of the current epoch."""
        best, median = (function(_finite(progress.loss)) for function in (np.min, np.median))
        if self._text:
            return f"perplexity {np.exp(best):.1f}, {progress.per_second:,.0f} words/s"
        rate = np.median(progress.rate)
        return f"loss {best:.4f} (median {median:.4f}), rate {rate:.2g}{_reached(progress)}{_trouble(progress)}"

    def of(self, progress: Progress) -> list[str]:
        """The lines to print now."""
        if not progress.tested:
            return []
        lines = [] if self._headed else self._heading(progress)
        self._headed = True
        loss, rate = float(np.min(_finite(progress.loss))), np.median(progress.rate)
        line = f"{progress.epoch:>6}{progress.seconds:>6.0f} s"
        line += f"{rate:>9.2g}{np.exp(loss):>10.1f}" if self._text else f"{loss:>8.4f}{rate:>8.2g}"
        for label, test in progress.tests.items():
            if isinstance(test, Scores):
                solved = f"{test.solved.sum()}/{len(test.coarse)}"
                line += f"{test.coarse.max():>{_width(label) - 1}.1f}%{test.fine.max():>7.1f}%{solved:>7}"
            elif isinstance(test, Perplexity):
                line += f"{np.min(_finite(test.values)):>12.1f}{progress.per_second:>10,.0f}"
        return [*lines, line + _reached(progress) + _trouble(progress)]

    def _heading(self, progress: Progress) -> list[str]:
        start = f"{'epoch':>6}{'trained':>8}"
        if self._text:
            return [
                "Perplexities are the best seed's; in training, the mean over the epoch.",
                f"{start}{'rate':>9}{'training':>10}{'validation':>12}{'words/s':>10}",
            ]
        heads = (f"{f'{label} coarse':>{_width(label)}}{'fine':>8}{'solved':>7}" for label in progress.tests)
        return [
            "Best seed's loss; percent of whole answers (coarse) and of symbols (fine) right.",
            f"{start}{'loss':>8}{'rate':>8}{''.join(heads)}",
        ]


def _width(label: str) -> int:
    """The width of a column of coarse scores."""
    return max(10, len(f" {label} coarse"))


def _finite(values: np.ndarray) -> np.ndarray:
    found = values[np.isfinite(values)]
    return found if found.size else np.array([np.nan])


def _reached(progress: Progress) -> str:
    """The current maximum lengths of adaptive curricula."""
    longest = None if progress.report is None else progress.report.longest
    return "" if longest is None else f", lengths to {np.max(longest)} (median {np.median(longest):g})"


def _trouble(progress: Progress) -> str:
    diverged = 0 if progress.report is None else int(progress.report.diverged.sum())
    return f", {diverged} diverged" if diverged else ""
