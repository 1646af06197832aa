"""The page of `compare` of two systems on the same items."""

import polars as pl

from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import Row, count, estimate, grid, number, optional, p_value, text
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import p_equals, plural
from tiltmeter.jobs.upkeep.compare.logs import Logs

_ALPHA = 0.05


def page_of_systems(logs: Logs, systems: pl.DataFrame) -> Body:
    """How far the second system is from the first.

    Args:
        logs: as they were asked for.
        systems: the table.
    """
    table = grid(
        "Scores of both systems; the difference with its interval over clusters.",
        systems,
        *(["task"] if systems["task"].n_unique() > 1 else []),
        "score",
        count("num_items", "items"),
        count("num_clusters", "clusters"),
        number("first"),
        number("second"),
        estimate("difference"),
        p_value("p"),
        p_value("q"),
        count("first_only", "first alone right"),
        count("second_only", "second alone right"),
        optional(text("reason")),
    )
    unit = f"All items with one {logs.cluster} are one unit" if logs.cluster else "Every item is a unit"
    sure = (
        f"{unit}. p draws the signs of units, as if in each either system were as likely to be ahead; of scores that "
        "are 0 or 1 that is McNemar's exact test. None is given where fewer than 6 units differ, as it could not reach "
        "0.05. A system is said to be higher or lower where its interval excludes 0 and q, p "
        f"corrected for {plural(systems.height, 'score')} after Benjamini and Hochberg, is at most 0.05."
    )
    return Body(
        "Two systems on the same items",
        {"job": "compare", "items": f"{systems.unique('task')['num_items'].sum():,}"},
        Lead(
            [Paragraph("Which of two systems scores higher on the same items, and could that be chance?")],
            [Bullets([_finding(row, has_tasks=systems["task"].n_unique() > 1) for row in systems.to_dicts()])],
            [Paragraph(sure)],
        ),
        [Section("systems", "Scores", [table])],
    )


def _finding(row: Row, *, has_tasks: bool) -> str:
    low, high = row["difference_low"], row["difference_high"]
    is_known = low is not None and (low > 0.0 or high < 0.0) and row["q"] is not None and row["q"] <= _ALPHA
    verdict = ("higher" if row["difference"] > 0.0 else "lower") if is_known else "neither clearly higher nor lower"
    means = f"{wording.number(row['second'], 3)} against {wording.number(row['first'], 3)}"
    clusters = f" in {plural(row['num_clusters'], 'cluster')}" if row["num_clusters"] < row["num_items"] else ""
    tested = p_equals(row["p"]) if row["p"] is not None else f"no p-value: {row['reason']}"
    score = f"{row['task']}, {row['score']}" if has_tasks else row["score"]
    return (
        f"{score}: the second system is {verdict}, {means} on {plural(row['num_items'], 'item')}{clusters}: "
        f"difference {wording.estimate(row, 'difference')}, {tested}."
    )
