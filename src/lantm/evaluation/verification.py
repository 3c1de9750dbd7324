"""`Verification`: the result record of `exact_match`, with tallies by kind of problem and the first mistake."""

import dataclasses

from lantm.batch import Batch
from lantm.evaluation.interval import wilson


@dataclasses.dataclass(frozen=True)
class Tally:
    """How many answers are right as a whole, including where they end."""

    right: int = 0
    problems: int = 0

    @property
    def error_rate(self) -> tuple[float, float]:
        """Wilson's 95% interval of the fraction of problems that are answered wrongly."""
        return wilson(self.problems - self.right, self.problems)


@dataclasses.dataclass(frozen=True)
class Part:
    """The random problems, or the hard ones."""

    kinds: dict[str, Tally]
    """By kind; of random problems there is one kind."""
    steps: int = 0
    """The time steps of all problems together."""
    seconds: float = 0.0
    """Drawing problems and running the machine; without compiling."""

    @property
    def total(self) -> Tally:
        """All kinds together."""
        tallies = self.kinds.values()
        return Tally(sum(one.right for one in tallies), sum(one.problems for one in tallies))

    @property
    def steps_per_second(self) -> float:
        """The time steps of all problems, those that run side by side included, per second."""
        return self.steps / self.seconds if self.seconds else 0.0


@dataclasses.dataclass(frozen=True)
class Mistake:
    """A problem that was answered wrongly."""

    kind: str
    number: int
    """The number of the problem among the random ones, or among the hard ones, from 0."""
    problem: Batch
    """The problem alone: `Trained.trace` shows what the machine does with it."""
    inputs: list[int]
    """The symbols of the problem."""
    targets: list[int]
    """The right answer, its end symbol included."""
    symbols: list[int]
    """What the machine answered."""

    @property
    def position(self) -> int:
        """The position in the answer of the first symbol that is wrong, from 0."""
        return next(at for at, (one, other) in enumerate(zip(self.symbols, self.targets, strict=True)) if one != other)

    @property
    def only_the_end(self) -> bool:
        """Whether all is right but the end symbol: the machine does not end its answer where it should."""
        return self.position == len(self.targets) - 1


@dataclasses.dataclass(frozen=True)
class Verification:
    """How many problems of one length a machine answers exactly."""

    length: int
    draw: int
    random: Part | None
    """None if only hard problems were asked for."""
    hard: Part | None
    """None if only random problems were asked for, or the task has no hard ones."""
    first_mistake: Mistake | None
    complete: bool
    """False if it was interrupted: then it holds what was counted until then."""

    @property
    def parts(self) -> dict[str, Part]:
        """The parts that were asked for, by name."""
        return {name: part for name, part in (("random", self.random), ("hard", self.hard)) if part is not None}

    @property
    def total(self) -> Tally:
        """Random and hard problems together."""
        return Part({name: part.total for name, part in self.parts.items()}).total

    @property
    def right(self) -> bool:
        """Whether all answers are right."""
        return self.first_mistake is None
