"""`Request`: which cells of a study to run, and how to train and score them (the flags of `lantm reproduce`)."""

import dataclasses
import pathlib

from lantm.training import Experiment


@dataclasses.dataclass(frozen=True)
class Request:
    """The options of a study."""

    recipe: str = "paper"
    """Recipe: paper (the paper's settings), robust and exact (ours), tuned (for the LSTM and peers), second and
    second-small (the second paper's), demo (short)."""
    only: tuple[str, ...] = ()
    """Only these tasks, or other labels of the table's rows, such as power-2."""
    models: tuple[str, ...] = ()
    """Only these models."""
    seeds: int | None = None
    """Seeds per cell; by default as in the table: 8, for language 4, for the LSTM on sequences 3, with exact 10."""
    epochs: int | None = None
    """Epochs per cell; by default the recipe's."""
    scales: tuple[int, ...] = ()
    """Scales to score at, as multiples of the training lengths, instead of the table's."""
    hard: bool = False
    """Score on hard problems too, such as long carries and repeated symbols."""
    problems: int = 3200
    """Fresh problems per score."""
    data: str | None = None
    """The folder of the text, for language and language-geometries."""
    bare: bool = False
    """Scores only: no recordings and no report page, which take about a minute per cell. Always on for all tables."""
    quick: bool = False
    """A small version that takes a few minutes on a CPU; its scores are not comparable with the paper's."""

    @property
    def folder(self) -> pathlib.Path | None:
        """The folder of the text."""
        return None if self.data is None else pathlib.Path(self.data)

    def applied_to(self, experiment: Experiment, seeds: int) -> Experiment:
        """The experiment with the requested seeds and epochs; by default with this many seeds, and its own epochs."""
        experiment = dataclasses.replace(experiment, seeds=seeds if self.seeds is None else self.seeds)
        return experiment if self.epochs is None else experiment.with_epochs(self.epochs)
