"""`Trained`: all seeds of a run, or the single machine of a file or the zoo, with scores, solve, verify, trace and
save.

machine = lantm.load("addition")          # the zoo, a file, or a run folder
machine.solve("423 + 94").answer
machine.scores(scales=(1, 2, 4))["2x"].coarse
machine.trace("423 + 94").heads.keys
machine.best.save("addition.safetensors")
"""

import dataclasses
import pathlib
from collections.abc import Sequence
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Float, Int

from lantm import weight_files
from lantm.batch import Batch
from lantm.errors import LantmError
from lantm.evaluation import (
    RANDOM,
    Examiner,
    Measured,
    ProblemExaminer,
    Recording,
    TextExaminer,
    Verification,
    Watch,
    from_best,
    record,
    reporting,
    verify,
)
from lantm.evaluation.budget import Share, at_once, check_fits, run_size
from lantm.evaluation.examiner import BATCH, check_draw, check_problems
from lantm.files import file_name
from lantm.geometry import Geometry
from lantm.machine import LantmConfig, Model, parameter_count
from lantm.randomness import RECORD, seed_key
from lantm.tasks import Source, Task, Text
from lantm.trained.scored_at import lengths_or_parts
from lantm.trained.solution import Solution, encoded, solve
from lantm.training import Experiment, History, Learner, Result, RunFolder, seed_and_start
from lantm.training.origin import finite_weights

Which = Literal["best", "last"]


@dataclasses.dataclass(frozen=True, repr=False)
class Trained:
    """The trained machines of one or more seeds. Methods that need one machine use the best seed by default."""

    name: str
    """The name of the run folder, the file, or the machine of the zoo."""
    experiment: Experiment
    source: Source
    """The task or text it was trained on."""
    epoch: int
    """The epoch that training reached."""
    start_seeds: Int[np.ndarray, " seeds"]
    """The seed of every machine's initial weights; with several starts per seed, that of the selected start."""
    best_weights: Model
    """The weights with the best periodic test, with a leading axis of seeds."""
    last_weights: Model | None
    """The weights of the last epoch; None for a machine's file, which stores only the best."""
    merits: Float[np.ndarray, " seeds"]
    """The best test of every seed, by the recipe's `select_by`."""
    best_epochs: Int[np.ndarray, " seeds"]
    """The epoch of the best weights of every seed."""
    trained: dict[str, Any]
    """The provenance of the training."""
    notes: dict[str, Any] = dataclasses.field(default_factory=dict)
    """Further notes of a machine's file, such as its scores on fresh problems and their provenance."""
    folder: RunFolder | None = None
    """The run folder, if any."""
    history: History | None = None
    """The metrics of the training; None for a single machine."""
    complete: bool = True
    """Whether training is complete."""

    @classmethod
    def of_learners(
        cls, name: str, experiment: Experiment, source: Source, epoch: int, learners: Learner, **more: Any
    ) -> "Trained":
        """The machines of a training, one learner per seed."""
        return cls(
            name=name,
            experiment=experiment,
            source=source,
            epoch=epoch,
            start_seeds=np.asarray(learners.seed),
            best_weights=learners.best_model,
            last_weights=learners.model,
            merits=np.asarray(learners.best_score),
            best_epochs=np.asarray(learners.best_epoch),
            **more,
        )

    @classmethod
    def of_result(
        cls, result: Result, folder: RunFolder | None = None, trained: dict[str, Any] | None = None
    ) -> "Trained":
        """The machines of a training that has just ended."""
        name = usual_name(result.experiment) if folder is None else str(folder.path)
        return cls.of_learners(
            name,
            result.experiment,
            result.source,
            result.epoch,
            result.learners,
            trained=(trained or {}) if folder is None else folder.provenance(),
            folder=folder,
            history=result.history,
            complete=result.complete,
        )

    def __repr__(self) -> str:
        """One line, for notebooks."""
        made, last = self.experiment, self.seeds[-1]
        seeds = seed_and_start(last) if made.seeds == 1 else f"seeds {self.seeds[0]} to {last}"
        return f"<{self.name}: {made.model} on {made.task}, recipe {made.recipe_name}, {seeds}, epoch {self.epoch}>"

    # Selecting machines.

    @property
    def seeds(self) -> range:
        """The seeds."""
        return self.experiment.seed_numbers

    @property
    def ranked(self) -> list[int]:
        """The indices of the seeds, from the one with the best periodic test to the one with the worst."""
        return from_best(self.merits)

    def index(self, seed: int | None = None) -> int:
        """The index of a seed; by default of the one with the best periodic test, wherever one machine is shown."""
        return self.ranked[0] if seed is None else self.experiment.seed_index(seed)

    @property
    def best(self) -> "Trained":
        """The best seed alone."""
        return self.seed(self.seeds[self.index()])

    def seed(self, seed: int) -> "Trained":
        """One seed alone, as in a machine's file."""
        index = self.index(seed)
        start = int(self.start_seeds[index])
        recipe = dataclasses.replace(self.experiment.recipe, starts=1)
        if members := self.experiment.members:
            recipe = dataclasses.replace(recipe, learning_rate=members[index].learning_rate)
        alone = dataclasses.replace(self.experiment, seeds=1, first_seed=start, members=(), recipe=recipe)
        one = slice(index, index + 1)
        return dataclasses.replace(
            self,
            experiment=alone,
            start_seeds=self.start_seeds[one],
            best_weights=jax.tree.map(lambda leaf: leaf[one], self.best_weights),
            last_weights=jax.tree.map(lambda leaf: leaf[one], self.last_weights),
            merits=self.merits[one],
            best_epochs=self.best_epochs[one],
            folder=None,
            history=None,
        )

    def weights(self, which: Which = "best") -> Model:
        """The best or the last weights of all seeds."""
        if which == "best":
            return self.best_weights
        if self.last_weights is None:
            raise LantmError(f"{self.name} is a single machine, of which only the best weights are stored")
        return self.last_weights

    def model(self, seed: int | None = None, which: Which = "best") -> Model:
        """The model of one seed: the given one, or the best."""
        index = self.index(seed)
        # NumPy needs no compilation.
        model: Model = jax.tree.map(lambda leaf: np.asarray(leaf)[index], self.weights(which))
        return model

    @property
    def geometry(self) -> Geometry | None:
        """The geometry; None for other models."""
        machine = self.experiment.machine
        return machine.access.geometry if isinstance(machine, LantmConfig) else None

    @property
    def parameters(self) -> int:
        """The number of parameters of a machine."""
        return parameter_count(self.model())

    # Running machines.

    def solve(self, problem: str, seed: int | None = None) -> Solution:
        """A machine's answer to a problem given as text."""
        return solve(self.model(seed), self.source, problem)

    def problem(self, length: int | None = None, draw: int = 0) -> Batch:
        """A random problem of a length, by default the longest training length; each `draw` gives a different one."""
        length = self.source.train_lengths.largest if length is None else length
        self.source.check_length(length)
        check_draw(draw)
        return self.source.sample(seed_key(draw, RECORD), 1, length, length)

    def trace(
        self,
        problem: str | Batch | None = None,
        seed: int | None = None,
        which: Which = "best",
        read_weights: bool = False,
    ) -> Recording:
        """Records what a machine does on a problem, step by step: heads, gates, memories and its answer.

        The problem is given as text or as a batch; by default it is random.
        """
        drawn = self.problem() if problem is None else problem
        batch = drawn if isinstance(drawn, Batch) else encoded(self.source, drawn)
        return record(self.model(seed, which), batch, 0, read_weights)

    def scores(
        self,
        scales: Sequence[int] = (),
        lengths: Sequence[int] = (),
        problems: int = 3200,
        batch_size: int | None = None,
        which: Which = "best",
        draw: int = 1,
        task: Source | None = None,
        hard: bool = False,
    ) -> dict[str, Measured]:
        """Scores every seed on fresh problems; returns the scores by label.

        For a task, the labels are multiples of the training lengths (1x, 2x), also for exact `lengths` (0.5x is half of
        the longest training length). For a text, these are perplexities of the validation and test part. Each `draw`
        gives different problems. `task` scores on another task with the same symbols. `hard` adds tests on hard
        problems (1x hard, 2x hard), whose scores have `kinds`.
        """
        source = task or self.source
        examiner = self.examiner(source, lengths_or_parts(source, scales, lengths, hard), batch_size)
        return examiner(self.weights(which), self.start_seeds, reporting(problems, draw))

    def verify(
        self,
        length: int,
        problems: int = 100,
        random: bool = True,
        hard: bool = True,
        draw: int = 1,
        seed: int | None = None,
        which: Which = "best",
        watch: Watch | None = None,
    ) -> Verification:
        """Counts how many of `problems` random and of as many hard problems of a length a machine answers exactly.

        Problems are drawn and run in batches, so memory does not grow with their number. Hard problems take turns over
        all kinds of the task. Each `draw` gives different problems. `watch` is called with the counts so far; after
        Ctrl-C they are returned, with `complete` false.
        """
        if not isinstance(self.source, Task):
            raise LantmError("a text has no answers to verify: lantm eval computes the perplexity of a language model")
        check_problems(problems)
        check_draw(draw)
        self.source.check_length(length)
        parts = {"random": (RANDOM,) if random else (), "hard": self.source.hard_kinds if hard else ()}
        asked = {part: kinds for part, kinds in parts.items() if kinds}
        if not asked:
            if not hard:
                raise LantmError("there is nothing to verify: ask for random problems, hard ones or both")
            raise LantmError(f"{self.source.name} has no hard problems: ask for random ones")
        return verify(self.model(seed, which), self.source, length, problems, asked, draw, watch)

    def examiner(self, source: Source, tests: dict[str, Any], batch_size: int | None = None) -> Examiner:
        """An examiner of these machines, for tests by label: lengths of a task, or parts of a text."""
        seeds = self.experiment.seeds
        if isinstance(source, Text):
            return TextExaminer(source, tests, seeds, batch_size or self.experiment.recipe.batch_size)
        assert isinstance(source, Task)
        batch_size = batch_size or BATCH
        longest = max(getattr(test, "lengths", test).largest for test in tests.values())
        running = run_size(self.model(), batch_size, source.steps(longest)) * at_once(seeds)
        what = f"{batch_size:,} problems of length {longest:,}"
        check_fits(f"answering {what}", {what: Share(running, "the batch size or the lengths")})
        return ProblemExaminer(source, tests, seeds, batch_size)

    # Files.

    def save(self, path: str | pathlib.Path, seed: int | None = None, **notes: Any) -> pathlib.Path:
        """Writes the machine of one seed to a safetensors file that `lantm.load` and all commands accept.

        Its notes contain the experiment, the epoch of the weights, and the provenance.
        """
        path = pathlib.Path(path)
        if path.suffix != weight_files.SUFFIX:
            raise LantmError(f"{path} cannot be a machine's file: its name has to end in {weight_files.SUFFIX}")
        alone = self.best if seed is None else self.seed(seed)
        if not finite_weights(alone.best_weights).all():
            raise LantmError(f"the weights of seed {alone.start_seeds[0]} are not finite: save another seed")
        written = {
            "seed": int(alone.start_seeds[0]),
            "epoch": int(alone.best_epochs[0]),
            "trained": self.trained,
            **notes,
            "experiment": alone.experiment.published(),
        }
        if isinstance(self.source, Text):
            written["words"] = list(self.source.corpus.words)
        weight_files.save(path, alone.model(), written)
        return path


def usual_name(experiment: Experiment) -> str:
    """The default name of machines: their task and their model."""
    return file_name(f"{experiment.task}-{experiment.model}")
