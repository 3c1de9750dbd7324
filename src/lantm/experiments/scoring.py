"""Scores on problems that nothing was trained on or chosen by.

Problems are drawn by number: `CHOOSING` ones decide which seed is the best, `REPORTING` ones give the figures
that are reported. Periodic tests, which choose the weights of a seed, draw others again.
"""

from jaxtyping import Array, Int

from lantm.evaluation import Examiner, Scores
from lantm.machine import Model
from lantm.seeds import EVALUATE
from lantm.tasks import Lengths, Task

CHOOSING, REPORTING = 0, 1
"""Which problems: the reported ones are those that `lantm eval` draws unless told otherwise."""

BATCH = 32  # problems of one length
CHOOSING_PROBLEMS = 3200


class Scorer:
    """Scores machines of a task at several lengths by one compiled program."""

    def __init__(self, task: Task, lengths: dict[str, Lengths], seeds: int):
        """`lengths` by the label that each is shown under."""
        self._lengths = lengths
        self._examiner = Examiner(task, max(one.largest for one in lengths.values()), seeds, BATCH)

    def __call__(self, models: Model, seeds: Int[Array, " seeds"], problems: int, draw: int) -> dict[str, Scores]:
        """The scores of every seed, by label; problems are rounded up to whole batches."""
        batches = -(-problems // BATCH)
        return {
            label: self._examiner(models, seeds, lengths, batches, EVALUATE, draw)
            for label, lengths in self._lengths.items()
        }
