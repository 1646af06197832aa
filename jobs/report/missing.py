"""Which rows of a run's tables have no result, and why."""

from collections.abc import Mapping

from tiltmeter.jobs.report.grids import count, grid
from tiltmeter.jobs.report.html.elements import Block, Bullets, Details, Paragraph, Section
from tiltmeter.jobs.report.wording import plural
from tiltmeter.jobs.runtime.published import PublishedTable


def missing_results(published: Mapping[str, PublishedTable]) -> list[Section]:
    """A section with the rows of each table by their status; none where no table has one."""
    tables = {name: table for name, table in published.items() if "reason" in table.schema.names}
    counts = {name: table.by_status() for name, table in tables.items()}
    if not counts:
        return []
    statuses = ["ok", *sorted({status for numbers in counts.values() for status in numbers} - {"ok"})]
    rows = [
        {"table": name, "rows": sum(numbers.values())} | dict.fromkeys(statuses, 0) | numbers
        for name, numbers in counts.items()
    ]
    by_status = grid("Rows by status.", rows, "table", count("rows"), *(count(status, status) for status in statuses))
    text = "Rows without a result stay in the tables with their reason."
    return [Section("missing", "What is missing", [Paragraph(text), by_status, *_reasons(tables)])]


def _reasons(tables: Mapping[str, PublishedTable]) -> list[Block]:
    """Of each status, the reason that most rows give."""
    sentences = [
        f"{name}, {status}: {reason} ({plural(num, 'row')} of {total:,})"
        for name, table in tables.items()
        for status, reason, num, total in table.commonest_reasons()
    ]
    return [Details("The reason that most of them give", [Bullets(sentences)])] if sentences else []
