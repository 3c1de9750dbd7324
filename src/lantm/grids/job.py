"""`Job`: one training of a grid and the records made from it; the same on every engine."""

import abc
from collections.abc import Callable
from typing import Any

from lantm.grids.folder import GridFolder, Record
from lantm.report.pages import REPORT, try_report
from lantm.trained import Trained
from lantm.training import Experiment, Learner, Progress, compile_ahead, train

_PATIENCE = 60.0  # seconds to wait for a worker that is ending to release the run's lock


class Job(abc.ABC):
    """Machines that are trained in parallel as one program: several points of a sweep, or a cell of a study."""

    experiment: Experiment
    """The experiment to train."""

    @property
    @abc.abstractmethod
    def run_name(self) -> str:
        """The name of its run folder. Jobs with the same training share it."""

    @property
    def key(self) -> str:
        """A name that is unique in the grid."""
        return self.run_name

    @property
    def for_people(self) -> bool:
        """Whether recordings and a report page are made, besides scores."""
        return False

    @property
    def problems(self) -> int:
        """The number of training problems, as an estimate of the time."""
        recipe = self.experiment.recipe
        return recipe.epochs * recipe.batches * recipe.batch_size * self.experiment.machines

    @abc.abstractmethod
    def records(self, trained: Trained, start_merits: list[list[float | None]]) -> dict[str, Record]:
        """The records of a complete training, by name; `start_merits` are the best tests of every seed's starts."""

    def compile(self) -> Learner:
        """Compiles the job's programs without running them; returns the shapes of its machines."""
        return compile_ahead(self.experiment, self.experiment.source())

    @abc.abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The job as JSON values, to be sent to another computer."""


def work(
    job: Job,
    folder: GridFolder,
    watch: Callable[[Progress], None],
    stop: Callable[[], bool],
    warn: Callable[[str], None],
) -> bool:
    """Runs a job from its current state until it is complete or `stop` returns True; returns whether it is complete."""
    with folder.run(job.run_name).locked(timeout=_PATIENCE):
        folder.note_failure(job.run_name, None)
        run, begun = folder.run_folder(job.run_name, job.experiment, job.for_people)
        experiment = run.experiment()
        # A training that was already completed for another grid and is only scored here has its report page.
        reported = run.last_epoch() >= experiment.recipe.epochs and (run.path / REPORT).is_file()
        result = train(experiment, run, job.experiment.source(), begun, watch, stop, warn)
        if not result.complete or stop():
            return False
        trained = Trained.of_result(result, run)
        if job.for_people and not reported:
            try_report(trained, warn)
        for name, record in job.records(trained, result.start_merits).items():
            folder.write_record(name, record)
    return True
