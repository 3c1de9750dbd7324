"""What is shown to people: tables of scores, and problems worked out."""

from lantm.report.comparison import comparison_table
from lantm.report.perplexities import perplexity_rows, perplexity_table
from lantm.report.tables import score_row, score_table, summary_rows
from lantm.report.worked import worked_problem

__all__ = [
    "comparison_table",
    "perplexity_rows",
    "perplexity_table",
    "score_row",
    "score_table",
    "summary_rows",
    "worked_problem",
]
