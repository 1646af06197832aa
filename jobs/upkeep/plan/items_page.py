"""The page of a plan of a comparison: what items and repeats would show."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.html.elements import Bullets, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.views import Show
from tiltmeter.jobs.report.wording import number, percent, plural
from tiltmeter.jobs.upkeep.plan.tables import PlanItems

_MOST = 3
"""Tasks or correlations with sentences, the last, as the mean of tasks is; the others are in the grid."""

_NIGHTLY = 0.95
"""Of equal systems, that a gate of every nightly run has to pass."""

_KEYS = ["task", "score", "first_system", "second_system", "correlation"]
_COLUMNS = "num_items num_repeats sd smallest_detectable power? items_wanted? pass_rate? cluster_correlation? reason?"
_DOUBTS = (
    "Estimates from earlier logs are as good as the systems to be compared are like those. The smallest difference is "
    "that of one comparison, whose interval leaves 0 out in 4 of 5 cases; a test by signs of few units finds less."
)


def page_of_items(plan: pl.DataFrame) -> Body:
    """What so many items would show, by the table `plan_items`."""
    names = " ".join(name for name in _KEYS if plan[name].n_unique() > 1)
    groups = plan.filter(pl.col("is_planned").fill_null(True)).partition_by(_KEYS, maintain_order=True)
    table = Show(PlanItems, "As many items as are planned, and others.", f"{names} {_COLUMNS}", most=200)
    findings = Bullets([sentence for group in groups[-_MOST:] for sentence in _findings(group)])
    bases = [f"Standard errors come from {basis}." for basis in plan["basis"].drop_nulls().unique(maintain_order=True)]
    question = Paragraph("Which difference of two systems would so many items and repeats show?")
    return Body(
        "What a comparison of two systems would show",
        {"job": "plan", "of": "compare"},
        Lead([question], [findings], [Paragraph(" ".join([*bases, _DOUBTS]))]),
        [Section("items", "Items and repeats", table.blocks({"plan_items": plan}))],
    )


def _findings(rows: pl.DataFrame) -> Iterator[str]:
    """Of the planned number of items, with fewest and most repeats."""
    few, many = (rows.sort("num_repeats").row(place, named=True) for place in (0, -1))
    taken = "" if few["correlation"] is None else f" at a correlation of {few['correlation']:g}"
    start = f"{few['task']}, {few['score']}{taken}"
    if few["sd"] is None:
        yield f"{start}: {few['reason']}."
        return
    smallest = " and ".join(
        f"{number(row['smallest_detectable'], 3)} with {plural(row['num_repeats'], 'repeat')}"
        for row in ([few, many] if rows.height > 1 else [few])
    )
    yield f"{start}: {plural(few['num_items'], 'item')} find a difference of {smallest} in 4 of 5 cases."
    if (rate := many["pass_rate"]) is not None:
        wanted, repeats = number(many["wanted"], 3), plural(many["num_repeats"], "repeat")
        needed = f"{plural(many['items_wanted'], 'item')} find it in 4 of 5 cases"
        chance = percent(many["power"], 0)
        yield f"{start}: with {repeats} a difference of {wanted} is found with a chance of {chance}; {needed}."
        nightly = "" if rate >= _NIGHTLY else ", under 95%: a gate of every nightly run would fail by itself"
        yield (
            f"{start}: with {wanted} as the margin, equal systems pass a test of non-inferiority in "
            f"{percent(rate, 0)} of runs{nightly}."
        )
