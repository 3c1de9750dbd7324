"""Self-contained HTML pages: the viewer of machines at work, the report of a run, the summary of all tables."""

from lantm.report.pages.play import Play, play_page
from lantm.report.pages.run_report import REPORT, report_page, try_report, write_report
from lantm.report.pages.summary import SUMMARY, CellResult, TableOfCells, summary_page
from lantm.report.pages.viewer import Machine, Problem, exhibit, viewer_page

__all__ = [
    "REPORT",
    "SUMMARY",
    "CellResult",
    "Machine",
    "Play",
    "Problem",
    "TableOfCells",
    "exhibit",
    "play_page",
    "report_page",
    "summary_page",
    "try_report",
    "viewer_page",
    "write_report",
]
