"""Presentation of results: tables, worked problems, diagnoses, plots and HTML pages."""

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
