"""The report."""

from jobs.context import Run


def write_report(run: Run) -> None:
    run.directory.write_text("report.html", "<html></html>")
