"""The page of `compare` of two systems on the same items, or of several in pairs."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report import wording
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Bullets, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.views import Dots, Show, View
from tiltmeter.jobs.report.wording import number, p_equals, percent, plural
from tiltmeter.jobs.upkeep.compare.systems import Inference, Systems

_ALPHA = 0.05
_MOST = 12
"""Sentences about rows; the others are in the grid."""

_OF_TASKS = pl.col("task").str.starts_with("mean of ")
_COLUMNS = (
    "num_items num_clusters first second difference p q p_family? smallest_detectable? noise_share? "
    "first_only=first_alone_right? second_only=second_alone_right? reason?"
)
_SIGNS = (
    "p draws the signs of units, as if in each either system were as likely to be ahead; of scores that are 0 or 1 "
    "that is McNemar's exact test{mid}. None is given where fewer than 6 units differ, as it could not reach 0.05."
)
_REPEATS = (
    "Only repeats of these items vary, each as if drawn by itself; nothing is said of other items. p is by Student's "
    "t, as if repeats without end gave both systems the same mean."
)
_WEIGHTS = {"equal": "every task counts alike", "items": "every task counts by its items"}


def page_of_systems(logs: Inference, systems: pl.DataFrame) -> Body:
    """How far the second system is from the first.

    Args:
        logs: as they were asked for.
        systems: the table.
    """
    names = ("task", "score", "first_system", "second_system")
    shown = [name for name in names if name == "score" or systems[name].n_unique() > 1]
    interval = f"{percent(logs.level, 0)} interval over {'units' if logs.question == 'items' else 'repeats'}"
    caption = f"Scores of both systems; the difference with its {interval}.{_means(logs, systems)}"
    label, alt = pl.concat_str(shown, separator=", "), "Differences of systems, with their intervals."
    dots = Dots(Systems, "difference", label, "second less first", alt, f"Second less first, with its {interval}.")
    unscored = "num_unscored" if systems["num_unscored"].sum() else ""
    views: list[View] = [
        Show(Systems, caption, f"{' '.join(shown)} {_COLUMNS} {unscored}"),
        *([dots] if systems.height > 1 else []),
    ]
    blocks = [block for view in views for block in view.blocks({"systems": systems})]
    rows = sorted(systems.to_dicts(), key=lambda row: (not row["task"].startswith("mean of "), not _is_known(row)))
    findings = [_finding(row, has_tasks="task" in shown) for row in rows[:_MOST]]
    if more := [_is_known(row) for row in rows[_MOST:]]:
        findings.append(f"{plural(len(more), 'other row')} below: {sum(more):,} with a system that is higher or lower.")
    return Body(
        "Two systems on the same items",
        {"job": "compare", "items": f"{systems.filter(~_OF_TASKS).unique('task')['num_items'].sum():,}"},
        Lead(
            [Paragraph("Which of two systems scores higher on the same items, and could that be chance?")],
            [Bullets(findings)],
            [Paragraph(_doubts(logs, systems))],
        ),
        [Section("systems", "Scores", blocks)],
    )


def _means(logs: Inference, systems: pl.DataFrame) -> str:
    """How tasks are weighted, if there is a mean."""
    if systems.filter(_OF_TASKS).is_empty():
        return ""
    given = {} if isinstance(logs.weights, str) else logs.weights
    weights = ", ".join(f"{task} counts {weight:g}" for task, weight in given.items()) or _WEIGHTS[str(logs.weights)]
    return f" In the mean of tasks {weights}; items of one name, that is no number, are one unit."


def _doubts(logs: Inference, systems: pl.DataFrame) -> str:
    unit = f"All items with one {logs.cluster} are one unit" if logs.cluster else "Every item is a unit"
    mid = ", of whose p what is as far out as the data counts half" if logs.mid_p else ""
    null = f"{unit}. {_SIGNS.format(mid=mid)}" if logs.question == "items" else _REPEATS
    means = systems.filter(_OF_TASKS).height
    apart = f", or for {plural(means, 'mean')} of tasks," if means else ""
    pairs = " p family is p corrected for the pairs of systems on one task." if systems["p_family"].count() else ""
    return (
        f"{null} A system is said to be higher or lower where its interval excludes 0 and q, p corrected for "
        f"{plural(systems.height - means, 'score')}{apart} after Benjamini and Hochberg, is at most 0.05.{pairs} The "
        "smallest detectable difference is the true one for which the interval of this comparison alone leaves out 0 "
        "in 4 of 5 cases, if scores spread as here."
    )


def _is_known(row: Row) -> bool:
    low, high = row["difference_low"], row["difference_high"]
    return low is not None and (low > 0.0 or high < 0.0) and row["q"] is not None and row["q"] <= _ALPHA


def _finding(row: Row, *, has_tasks: bool) -> str:
    verdict = (
        ("higher" if row["difference"] > 0.0 else "lower") if _is_known(row) else "neither clearly higher nor lower"
    )
    means = f"{number(row['second'], 3)} against {number(row['first'], 3)}"
    clusters = f" in {plural(row['num_clusters'], 'cluster')}" if row["num_clusters"] < row["num_items"] else ""
    tested = p_equals(row["p"]) if row["p"] is not None else f"no p-value: {row['reason']}"
    family = f" ({p_equals(row['p_family'])} over the pairs of systems)" if row["p_family"] is not None else ""
    score = f"{row['task']}, {row['score']}" if has_tasks else row["score"]
    second, first = (_system(row[f"{side}_system"], side) for side in ("second", "first"))
    against = "" if first == "the first system" else f" than {first}"
    sentence = (
        f"{score}: {second} is {verdict}{against}, {means} on {plural(row['num_items'], 'item')}{clusters}: "
        f"difference {wording.estimate(row, 'difference')}, {tested}{family}."
    )
    return " ".join([sentence, *_remarks(row)])


def _system(name: str, side: str) -> str:
    return f"the {side} system" if name == side else wording.isolated(name)


def _remarks(row: Row) -> Iterator[str]:
    """What the row could have shown, and what is noise of sampling."""
    if not _is_known(row) and row["smallest_detectable"] is not None:
        yield f"A true difference of {number(row['smallest_detectable'], 3)} would be found in 4 of 5 cases."
    if row["noise_share"] is not None:
        rest = ", the rest with more items" if row["noise_share"] < 1.0 else ""
        yield f"{percent(row['noise_share'], 0)} of the variance goes away with more repeats{rest}."
