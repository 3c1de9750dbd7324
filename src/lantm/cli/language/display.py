"""What a person sees while a machine learns a text."""

from types import TracebackType

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from lantm.language import LanguageExperiment, LanguageProgress


class LanguageDisplay:
    """A live line on a terminal, and a line an epoch that stays; in a file or a pipe, only the latter."""

    def __init__(self, console: Console, experiment: LanguageExperiment):
        """Nothing is shown before it is entered."""
        self._console = console
        self._epochs = experiment.recipe.epochs
        self._progress = Progress(
            TextColumn("{task.fields[epoch]}"),
            BarColumn(bar_width=14),
            TextColumn("{task.fields[status]}"),
            TimeRemainingColumn(compact=True),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._bar = self._progress.add_task("training", total=None, epoch="", status="compiling")
        self._headed = False

    def __enter__(self) -> "LanguageDisplay":
        self._progress.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._progress.stop()

    def warn(self, warning: str) -> None:
        """Says what was wrong but could be mended."""
        self._say(f"warning: {warning}")

    def update(self, progress: LanguageProgress) -> None:
        """Shows how far an epoch is, and how it ended."""
        self._progress.update(
            self._bar,
            total=self._epochs * progress.pieces,
            completed=(progress.epoch - 1) * progress.pieces + progress.piece,
            epoch=f"epoch {progress.epoch}/{self._epochs}",
            status=f"perplexity {_best(progress.perplexity):.1f}, {progress.words_per_second:,.0f} words/s",
        )
        if progress.validation is not None:
            if not self._headed:
                self._headed = True
                self._say("Perplexities are the best seed's; training is that of the epoch as it went.")
                self._say(f"{'epoch':>6}{'time':>8}{'rate':>9}{'training':>10}{'validation':>12}{'words/s':>10}")
            self._say(epoch_line(progress))

    def _say(self, line: str) -> None:
        self._console.print(line, highlight=False, markup=False, soft_wrap=True)


def epoch_line(progress: LanguageProgress) -> str:
    """An epoch that has ended, in columns."""
    assert progress.validation is not None
    return (
        f"{progress.epoch:>6}{progress.seconds:>6.0f} s{np.median(progress.rate):>9.2g}"
        f"{_best(progress.perplexity):>10.1f}{_best(progress.validation.values):>12.1f}"
        f"{progress.words_per_second:>10,.0f}"
    )


def _best(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.min()) if finite.size else float("nan")
