"""`Request`: which cells of a study to run, and how to train and score them (the flags of `lantm reproduce`)."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked of a study."""

    recipe: str = "paper"
    """How to train: paper (the paper's settings), robust and exact (ours), tuned (ours, for the LSTM), second and
    second-small (the second paper's), demo (short)."""
    only: tuple[str, ...] = ()
    """Only these tasks, or other labels of the table's rows: copy power-2."""
    models: tuple[str, ...] = ()
    """Only these models."""
    seeds: int | None = None
    """Seeds per cell; by default as many as the table has: 8, for language 4, of the LSTM on sequences 3."""
    epochs: int | None = None
    """Epochs per cell; by default the recipe's."""
    scales: tuple[int, ...] = ()
    """Multiples of the training lengths to score at, instead of the table's."""
    hard: bool = False
    """Score hard problems too, such as long carries and repeated symbols."""
    problems: int = 3200
    """Fresh problems for each figure."""
    data: str | None = None
    """The folder of the text, for language and language-geometries."""
    bare: bool = False
    """Figures alone: no recordings and no report page, which take a minute per cell where there is little to train. All
    tables at once are always made so."""
    quick: bool = False
    """A small version of a few minutes on a CPU, to see it work; its figures are not the paper's."""

    @property
    def folder(self) -> pathlib.Path | None:
        """The folder of the text."""
        return None if self.data is None else pathlib.Path(self.data)
