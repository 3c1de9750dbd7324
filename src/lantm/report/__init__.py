"""What is shown to people: tables of scores."""

from lantm.report.tables import score_row, score_table, summary_rows

__all__ = ["score_row", "score_table", "summary_rows"]
