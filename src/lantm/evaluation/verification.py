"""`Verification`: the result record of `exact_match`, with tallies by kind of problem and the first mistake."""

import dataclasses

from lantm.batch import Batch
from lantm.evaluation.interval import wilson


@dataclasses.dataclass(frozen=True)
class Tally:
    """The number of answers that are entirely right, including their end, and of all answers."""

    right: int = 0
    problems: int = 0

    @property
    def error_rate(self) -> tuple[float, float]:
        """Wilson's 95% interval of the fraction of wrong answers."""
        return wilson(self.problems - self.right, self.problems)


@dataclasses.dataclass(frozen=True)
class Part:
    """The results on random problems, or on hard ones."""

    kinds: dict[str, Tally]
    """The tallies by kind; random problems have one kind."""
    steps: int = 0
    """The time steps of all problems together."""
    seconds: float = 0.0
    """The time for drawing and running problems, without compilation."""

    @property
    def total(self) -> Tally:
        """All kinds together."""
        tallies = self.kinds.values()
        return Tally(sum(one.right for one in tallies), sum(one.problems for one in tallies))

    @property
    def steps_per_second(self) -> float:
        """The time steps of all problems per second, including parallel ones."""
        return self.steps / self.seconds if self.seconds else 0.0


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A problem with a wrong answer."""

    kind: str
    number: int
    """The index of the problem among the random ones, or among the hard ones, from 0."""
    problem: Batch = dataclasses.field(repr=False)
    """The problem as a batch of one, for `Trained.trace`."""
    inputs: list[int] = dataclasses.field(repr=False)
    """The symbols of the problem."""
    targets: list[int] = dataclasses.field(repr=False)
    """The expected answer, including its end symbol."""
    symbols: list[int] = dataclasses.field(repr=False)
    """The machine's answer."""

    @property
    def position(self) -> int:
        """The position of the first wrong symbol in the answer, from 0."""
        return next(at for at, (one, other) in enumerate(zip(self.symbols, self.targets, strict=True)) if one != other)

    @property
    def only_the_end(self) -> bool:
        """Whether only the end symbol is wrong: the answer does not end where it should."""
        return self.position == len(self.targets) - 1


@dataclasses.dataclass(frozen=True)
class Verification:
    """The number of problems of one length that a machine answers exactly."""

    length: int
    draw: int
    random: Part | None
    """None if only hard problems were requested."""
    hard: Part | None
    """None if only random problems were requested, or the task has no hard ones."""
    first_mistake: Mistake | None
    complete: bool
    """False if it was interrupted; the counts are then partial."""

    @property
    def parts(self) -> dict[str, Part]:
        """The requested parts, by name."""
        return {name: part for name, part in (("random", self.random), ("hard", self.hard)) if part is not None}

    @property
    def total(self) -> Tally:
        """Random and hard problems together."""
        return Part({name: part.total for name, part in self.parts.items()}).total

    @property
    def right(self) -> bool:
        """Whether all answers are right."""
        return self.first_mistake is None
