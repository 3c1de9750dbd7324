"""What a person sees while a machine learns a text."""

import numpy as np
from rich.console import Console
from rich.progress import TextColumn

from lantm.cli.output import Display
from lantm.language import LanguageExperiment, LanguageProgress


class LanguageDisplay(Display):
    """How far an epoch is, and a line an epoch that stays."""

    def __init__(self, console: Console, experiment: LanguageExperiment):
        """Nothing is shown before it is entered."""
        super().__init__(console, TextColumn("{task.fields[epoch]}"), epoch="")
        self._epochs = experiment.recipe.epochs
        self._headed = False

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
                self.say("Perplexities are the best seed's; training is that of the epoch as it went.")
                self.say(f"{'epoch':>6}{'time':>8}{'rate':>9}{'training':>10}{'validation':>12}{'words/s':>10}")
            self.say(epoch_line(progress))


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
