"""Which rows of a run's tables have no result, and why."""

from collections.abc import Mapping

from tiltmeter.jobs.changes.wording import several
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Grid, Paragraph, Section
from tiltmeter.jobs.runtime.published import PublishedTable


def missing_results(published: Mapping[str, PublishedTable]) -> list[Section]:
    """A section with the rows of each table by their status; none where no table has one."""
    tables = {name: table for name, table in published.items() if "reason" in table.schema.names}
    counts = {name: table.by_status() for name, table in tables.items()}
    if not counts:
        return []
    statuses = sorted({status for numbers in counts.values() for status in numbers} | {"ok"}, key=_ok_first)
    grid = Grid(
        "Rows by status.",
        ["table", "rows", *statuses],
        [
            [name, f"{sum(numbers.values()):,}", *(f"{numbers.get(status, 0):,}" for status in statuses)]
            for name, numbers in counts.items()
        ],
        numeric=["rows", *statuses],
    )
    text = "Rows without a result stay in the tables with their reason."
    return [Section("missing", "What is missing", [Paragraph(text), grid, *_reasons(tables)])]


def _reasons(tables: Mapping[str, PublishedTable]) -> list[Block]:
    """Of each status, the reason that most rows give."""
    sentences = [
        f"{name}, {status}: {reason} ({several(num, 'row')} of {total:,})"
        for name, table in tables.items()
        for status, reason, num, total in table.commonest_reasons()
    ]
    return [Details("The reason that most of them give", [Bullets(sentences)])] if sentences else []


def _ok_first(status: str) -> tuple[bool, str]:
    return status != "ok", status
