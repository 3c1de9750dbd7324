"""How well a machine does: scores and perplexities, the best seed by them, and what a machine did step by step."""

from lantm.evaluation.answer import Answer, Prediction, answer, predict
from lantm.evaluation.examiner import (
    Draw,
    Examiner,
    Hard,
    ProblemExaminer,
    TextExaminer,
    choosing,
    reporting,
    side_by_side,
)
from lantm.evaluation.interval import wilson
from lantm.evaluation.measured import SOLVED, Measured, Score, best_seed, merits, rounded
from lantm.evaluation.perplexity import Perplexity
from lantm.evaluation.recording import Approach, Heads, Memories, Recording, approach, record, stride
from lantm.evaluation.scores import Marks, Scores, mark

__all__ = [
    "SOLVED",
    "Answer",
    "Approach",
    "Draw",
    "Examiner",
    "Hard",
    "Heads",
    "Marks",
    "Measured",
    "Memories",
    "Perplexity",
    "Prediction",
    "ProblemExaminer",
    "Recording",
    "Score",
    "Scores",
    "TextExaminer",
    "answer",
    "approach",
    "best_seed",
    "choosing",
    "mark",
    "merits",
    "predict",
    "record",
    "reporting",
    "rounded",
    "side_by_side",
    "stride",
    "wilson",
]
