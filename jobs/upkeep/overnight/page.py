"""The page of `overnight`."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.changes.sections import changes_of, judgements, move_of, moves_in_texts
from tiltmeter.jobs.changes.wording import half_widths_text
from tiltmeter.jobs.report.grids import Row, cell, count, grid, number
from tiltmeter.jobs.report.html.elements import Block, Bullets, Grid, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import listed, plural
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.published import Frames


def page(_: Run[Any, Any], frames: Frames) -> Body:
    """What moved since each job last succeeded, and how each ended."""
    jobs, changes = frames["jobs"], frames["changes"].partition_by("name", maintain_order=True, as_dict=True)
    by_name = {str(name): rows for (name,), rows in changes.items()}
    sentence = judgements(frames["differences"])
    judged = [Paragraph(sentence)] if sentence else []
    return Body(
        "What the night brought",
        {"job": "overnight", "jobs": f"{jobs.height}"},
        Lead([Paragraph(_ASKED)], [*_failed_gates(frames["gates"]), *_moves(jobs, by_name), *judged, _outcome(jobs)]),
        [
            Section("jobs", "The jobs", [_by_job(jobs), *_reasons(jobs)]),
            *_gates(frames["gates"]),
            *(changes_of(name, rows) for name, rows in by_name.items()),
            *moves_in_texts(frames["differences"]),
        ],
    )


_ASKED = "What moved since each job of the list last succeeded, and did all succeed this time?"


_CHANCE = "About one in six would by chance."


def _moves(jobs: pl.DataFrame, changes: Mapping[str, pl.DataFrame]) -> Iterator[Block]:
    """The judged number of each job that moved most, the jobs of which none did, numbers that nothing judges, and jobs
    without an earlier run."""
    compared = jobs.filter(pl.col("compared_with").is_not_null())
    moved = compared.filter(pl.col("num_moved") > 0).sort("num_moved", descending=True, maintain_order=True)
    if moved.height:
        yield Bullets([move_of(row["name"], row["num_judged"], changes[row["name"]]) for row in moved.to_dicts()])
    if quiet := [_changed(row) for row in compared.filter(num_moved=0).to_dicts()]:
        yield Paragraph(f"No judged number moved in {listed(quiet)}.")
    unjudged = compared.filter(pl.col("num_beyond") > pl.col("num_moved")).to_dicts()
    if named := [f"{row['name']} ({row['num_beyond'] - row['num_moved']:,})" for row in unjudged]:
        yield Paragraph(
            f"Numbers without draws to judge them by left their earlier interval in {listed(named)}. {_CHANCE}"
        )
    # A job without units, such as prune, is compared with none.
    did = pl.sum_horizontal("num_done", "num_reused") > 0
    if first := jobs.filter(pl.col("compared_with").is_null(), did, status="ok")["name"].to_list():
        yield Paragraph(f"There is no earlier run to compare {listed(first)} with.")


def _changed(row: Row) -> str:
    changes = plural(row["num_changes"], "other change") if row["num_changes"] else "nothing changed"
    return (
        f"{row['name']} ({plural(row['num_judged'], 'number')} judged, {changes})"
        if row["num_judged"]
        else f"{row['name']} ({changes})"
    )


def _outcome(jobs: pl.DataFrame) -> Paragraph:
    failed = [f"{row['name']} ({row['status']})" for row in jobs.filter(pl.col("status") != "ok").to_dicts()]
    succeeded = f"{jobs.height - len(failed)} of {plural(jobs.height, 'job')} succeeded"
    return Paragraph(f"{succeeded}; {listed(failed)} did not.", "warning") if failed else Paragraph(f"{succeeded}.")


def _by_job(jobs: pl.DataFrame) -> Grid:
    return grid(
        "In the order of the list; each has a report of its own in runs/<name>.",
        jobs,
        "name",
        "job",
        "status",
        count("num_done", "units done"),
        count("num_reused"),
        count("num_failed"),
        number("seconds", "minutes", 1, scale=1 / 60),
        "compared_with",
        count("num_changes"),
        count("num_judged", "numbers judged"),
        count("num_moved", "of these moved"),
        count("num_beyond", "moved, judged or not"),
    )


def _reasons(jobs: pl.DataFrame) -> list[Block]:
    failed = jobs.filter(pl.col("status") != "ok")
    left_out = [f"{row['name']}: {line}" for row in jobs.to_dicts() for line in row["left_out"].splitlines()]
    reasons = [Paragraph(f"{row['name']}: {row['reason']}", "warning") for row in failed.to_dicts()]
    return [*reasons, *([Bullets(left_out)] if left_out else [])]


def _failed_gates(gates: pl.DataFrame) -> Iterator[Block]:
    for row in gates.filter(verdict="failed").to_dicts():
        yield Paragraph(f"A gate failed in {row['name']}: {row['sentence']}", "warning")


def _gates(gates: pl.DataFrame) -> Iterator[Section]:
    """What each gate says, those first that failed."""
    if gates.is_empty():
        return
    ordered = gates.sort(
        pl.col("verdict").replace_strict({"failed": 0, "passed": 1, "not_compared": 2}), maintain_order=True
    )
    table = grid(
        "From fail_if, against each job's last success.",
        ordered,
        "name",
        "table",
        "column",
        "fails_if",
        "verdict",
        count("num_failed", "numbers that moved so"),
        count("num_compared", "numbers judged"),
        "row",
        number("before"),
        number("after"),
        cell("half-widths", _half_widths, is_numeric=True),
    )
    yield Section("gates", "Gates", [table])


def _half_widths(row: Row) -> str:
    return "" if row["half_widths"] is None else half_widths_text(row)
