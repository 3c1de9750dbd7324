"""What is asked of a study."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked of a study."""

    recipe: str = "paper"
    only: tuple[str, ...] = ()
    """Tasks, and whatever else the cells are labelled with; all unless given."""
    models: tuple[str, ...] = ()
    """Models; all unless given."""
    seeds: int | None = None
    """How many seeds instead of the study's."""
    epochs: int | None = None
    """How many epochs instead of the recipe's."""
    scales: tuple[int, ...] = ()
    """Multiples of the training lengths instead of the study's."""
    problems: int = 3200
    """Fresh problems for each figure."""
    data: str | None = None
    """The folder of a text, where a study needs one."""
    bare: bool = False
    """Nothing but figures: no recordings, no report page."""
    quick: bool = False
    """A small version of everything, for a laptop: to see it work, not to compare with the paper."""

    command: str = ""
    """The command that asked for it, as results name it."""

    @property
    def folder(self) -> pathlib.Path | None:
        """The folder of the text."""
        return None if self.data is None else pathlib.Path(self.data)
