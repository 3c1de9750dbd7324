"""How well a machine does: fine and coarse scores at any length, where its first error falls, and what it did."""

from lantm.evaluation.answer import Answer, answer
from lantm.evaluation.interval import wilson
from lantm.evaluation.recording import Approach, Heads, Memories, Recording, approach, record, stride
from lantm.evaluation.scores import SOLVED, Examiner, Marks, Score, Scores, mark

__all__ = [
    "SOLVED",
    "Answer",
    "Approach",
    "Examiner",
    "Heads",
    "Marks",
    "Memories",
    "Recording",
    "Score",
    "Scores",
    "answer",
    "approach",
    "mark",
    "record",
    "stride",
    "wilson",
]
