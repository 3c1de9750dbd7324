"""Tasks and texts: generated problems, and texts read piece by piece; registered in `__init__.py`.

>>> import jax
>>> task = make_task("copy")
>>> batch = task.sample(jax.random.key(0), batch_size=32, length=10, capacity_length=64)
>>> batch.inputs.shape, int(batch.steps)
((130, 32), 22)
"""

from lantm.batch import Batch
from lantm.registry import Registry
from lantm.tasks.arithmetic import Addition, Double, NumberTask
from lantm.tasks.base import NOTHING, Count, Task
from lantm.tasks.corpus import Corpus, read_corpus
from lantm.tasks.lengths import Lengths
from lantm.tasks.marked import PrioritySort, RepeatCopy
from lantm.tasks.permutation import BigramFlip, Copy, OddFirst, Reverse, SequenceTask
from lantm.tasks.programs import Programs
from lantm.tasks.sized import HardDraw, SizedTask, keep
from lantm.tasks.text import Source, Text

TASKS: Registry[Task] = Registry(
    "task",
    Task,  # type: ignore[type-abstract]
    "a SequenceTask needs name, train_lengths, output and expected, and output_size if answers are longer than inputs",
)
for _task in (Copy, Reverse, BigramFlip, Double, Addition, OddFirst, RepeatCopy, PrioritySort, Programs):
    TASKS.add(_task.name, _task)


def make_task(name: str) -> Task:
    """The task of that name: one of `TASKS`, or `module:Name` for your own.

    >>> make_task("addition").train_lengths
    Lengths(smallest=2, largest=16, stride=1)
    """
    return TASKS.make(name)


__all__ = [
    "NOTHING",
    "TASKS",
    "Addition",
    "Batch",
    "BigramFlip",
    "Copy",
    "Corpus",
    "Count",
    "Double",
    "HardDraw",
    "Lengths",
    "NumberTask",
    "OddFirst",
    "PrioritySort",
    "Programs",
    "RepeatCopy",
    "Reverse",
    "SequenceTask",
    "SizedTask",
    "Source",
    "Task",
    "Text",
    "keep",
    "make_task",
    "read_corpus",
]
