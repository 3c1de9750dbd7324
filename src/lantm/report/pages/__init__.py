"""Self-contained HTML pages: the viewer of machines at work, the report of a run, the summary of all tables."""

from lantm.report.pages.play import play_page
from lantm.report.pages.run_report import REPORT, try_report, write_report
from lantm.report.pages.summary import SUMMARY, CellResult, TableOfCells, summary_page

__all__ = [
    "REPORT",
    "SUMMARY",
    "CellResult",
    "TableOfCells",
    "play_page",
    "summary_page",
    "try_report",
    "write_report",
]
