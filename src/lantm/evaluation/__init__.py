"""How well a machine does: fine and coarse scores at any length, and where its first error falls."""

from lantm.evaluation.answer import Answer, answer
from lantm.evaluation.scores import SOLVED, Examiner, Marks, Scores, mark

__all__ = ["SOLVED", "Answer", "Examiner", "Marks", "Scores", "answer", "mark"]
