"""What is shown to people: tables of scores, and problems worked out."""

from lantm.report.comparison import comparison_table
from lantm.report.tables import perplexity_table, plain_table, score_table
from lantm.report.worked import first_mistake, shorten, worked_problem

__all__ = [
    "comparison_table",
    "first_mistake",
    "perplexity_table",
    "plain_table",
    "score_table",
    "shorten",
    "worked_problem",
]
