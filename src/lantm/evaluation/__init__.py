"""Evaluation: scores and perplexities, selection of the best seed, and recordings of single problems."""

from lantm.evaluation.answer import Answer, Prediction, answer, predict
from lantm.evaluation.exact_match import RANDOM, Watch, verify
from lantm.evaluation.examiner import (
    Draw,
    Examiner,
    Hard,
    ProblemExaminer,
    TextExaminer,
    choosing,
    random_and_hard,
    reporting,
)
from lantm.evaluation.interval import clustered, wilson
from lantm.evaluation.measured import SOLVED, Measured, Score, best_seed, finite, from_best, merits, rounded
from lantm.evaluation.perplexity import Perplexity
from lantm.evaluation.recording import Heads, Memories, Recording, approach, record, stride
from lantm.evaluation.scores import Marks, Scores, mark
from lantm.evaluation.verification import Mistake, Part, Tally, Verification

__all__ = [
    "RANDOM",
    "SOLVED",
    "Answer",
    "Draw",
    "Examiner",
    "Hard",
    "Heads",
    "Marks",
    "Measured",
    "Memories",
    "Mistake",
    "Part",
    "Perplexity",
    "Prediction",
    "ProblemExaminer",
    "Recording",
    "Score",
    "Scores",
    "Tally",
    "TextExaminer",
    "Verification",
    "Watch",
    "answer",
    "approach",
    "best_seed",
    "choosing",
    "clustered",
    "finite",
    "from_best",
    "mark",
    "merits",
    "predict",
    "random_and_hard",
    "record",
    "reporting",
    "rounded",
    "stride",
    "verify",
    "wilson",
]
