"""What a page on a partition says of tables that are not the usual ones; see `tests/jobs/report/models` for these."""

import os
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from tests.fixtures.reports import reported
from tests.fixtures.tables import resolution as made
from tests.jobs.report.test_models import shown
from tiltmeter.jobs.report.html.elements import Page
from tiltmeter.jobs.resolution.figures import MAX_RECORDS
from tiltmeter.jobs.resolution.page import page as resolution_page

MODELS = Path(__file__).parent / "models"
PHASES = {"num_cliques": 12, "clustering_coefficient": 0.5125, "listing_seconds": 0.25, "packing_seconds": 1.0}


def resolved(**changed):
    """The usual tables, of which some are others, or not there (None)."""
    return {name: rows for name, rows in (made.resolved() | changed).items() if rows is not None}


def components(*rows):
    return {"components": made.table("components", *rows)}


def explained(*rows, usual=True):
    table = made.table("explanations", *rows)
    return {"explanations": made.resolved()["explanations"].vstack(table) if usual else table}


def many_components():
    """By size 0 to 7; by time 90 to 97; the largest gaps from 50 to 57, and one without a partition."""
    rows = [made.component(number, 200 - number, seconds=9.0 if 90 <= number < 98 else 0.1) for number in range(100)]
    for place in range(50, 60):
        rows[place] |= {"status": "feasible", "gap": 0.1 - place / 1000, "bound": 11.0}
    rows[70] |= {"status": "none", "objective": float("-inf"), "gap": float("inf"), "bound": 12.0}
    return components(*rows)


def without_bound():
    unsolved = made.component(1, 4, status="none", objective=float("-inf"), gap=float("inf"))
    return components(made.component(0, 5), unsolved)


NOT_PROVEN = [made.component(place, 5, seconds=float(place)) for place in range(3)]
NOT_PROVEN += [made.component(3, 4, status="feasible", gap=0.0125, seconds=60.0)]
NOT_PROVEN += [made.component(4, 4, status="feasible", gap=0.0105, seconds=60.0)]
ALONE = [made.component(place, 1, num_pairs=0, objective=0.0, bound=0.0) for place in range(3)]
NO_MISSES = explained(made.merge("a", 0, 1.0, 0.5), usual=False)
REASONS = [
    made.near_miss("r", 1, 0.8, 0.0, held=1.2),
    made.near_miss("s", 1, 0.8, -0.2, held=0.6),
    made.near_miss("t", 1, 0.8, -0.2, held=0.1),
    made.near_miss("u", 1, 2.0, -0.5, num_forbidden=2, tipping=[("b", None), ("c", None), ("d", -0.5)]),
    made.near_miss("v", 1, 1.0, 0.0, num_forbidden=1, tipping=[("b", None)]),
]
MANY = [made.near_miss(f"r{place:02}", 0, place / 10, 0.0) for place in range(40)]
MANY += [made.merge(f"r{place:02}", 0, 9.0, place / 10) for place in range(40)]
CONTRADICTED = [
    made.pair("false_merge", "a", "c", 1.0, cluster=0),
    made.pair("false_merge", "b", "c", -0.25, cluster=0),
    made.pair("false_split", "c", "d", 0.5),
]
ASKED = [
    made.asked("e", 0, 0.0, -0.75, held=1.5, tipping=[("a", -0.5), ("b", -0.25)]),
    made.asked("a", 0, 2.0, 0.0, held=2.0),
    made.pair("asked_pair", "e", "a", -0.5),
    made.pair("asked_pair", "e", "c", None),
    made.pair("asked_pair", "a", "b", 1.0, cluster=0),
]
ALIKE = [made.metric("f1", 1.0, name) for name in ("A all", "B all", "A T", "B T")]
FEW = {"metrics": made.table("metrics", made.metric("f1", 0.5) | {"num_records": 3})}
UNDEFINED = {"metrics": made.table("metrics", made.metric("f1", 1.0), made.metric("precision", float("nan")))}

CASES = {
    "no gold and no disagreement": lambda: made.body(resolved(metrics=None, **NO_MISSES)),
    "measures that are undefined": lambda: made.body(resolved(**UNDEFINED)),
    "few gold records": lambda: made.body(resolved(**FEW)),
    "messy records": lambda messy: made.body(resolved(**FEW), records=messy),
    "not proven": lambda: made.body(resolved(**components(*NOT_PROVEN))),
    "no time": lambda: made.body(resolved(**without_bound())),
    "no pairs": lambda: made.body(
        resolved(pair_counts=made.table("pair_counts", made.counts(num_pairs=0)), **NO_MISSES)
    ),
    "one pair": lambda: made.body(
        resolved(pair_counts=made.table("pair_counts", made.counts(num_pairs=1)), **NO_MISSES)
    ),
    "no positive pair": lambda: made.body(resolved(**components(*ALONE))),
    "many components": lambda: made.body(resolved(**many_components())),
    "packings": lambda: made.body(
        resolved(
            **components(
                made.component(0, 6, solver="set_packing", **PHASES), made.component(1, 2, solver="all_positive")
            )
        )
    ),
    "centroids": lambda: made.body(resolved(), solver="centroid_linkage"),
    "centroids of pairs without a score": lambda: made.body(
        resolved(pair_counts=made.resolved()["pair_counts"].with_columns(missing=pl.lit("zero"))),
        solver="centroid_linkage",
        missing="zero",
    ),
    "reasons": lambda: made.body(resolved(**explained(*REASONS))),
    "many explanations": lambda: made.body(
        resolved(clusters=made.clusters(one="abcdefg"), **explained(*MANY, usual=False))
    ),
    "gold that contradicts": lambda: made.body(resolved(**explained(*CONTRADICTED))),
    "asked": lambda: made.body(resolved(**explained(*ASKED))),
    "drawn": lambda: made.body(resolved(), drawn=[0, 7]),
    "too large to be drawn": lambda: made.body(resolved(**components(made.component(0, MAX_RECORDS + 1))), drawn=[0]),
    "drawn without pairs": lambda: made.body(resolved(drawn_pairs=None), drawn=[0]),
    "other limits": lambda: made.body(
        resolved(), pairs="some/folder/scores.csv", solver="quadratic_set_packing", max_parts=3, time_limit=30.0, seed=7
    ),
    "a study whose thresholds are alike": lambda: made.body(made.study() | {"metrics": made.table("metrics", *ALIKE)}),
}


def in_lines(body):
    return shown(Page(body.title, body.facts, body.lead.parts, body.sections))


@pytest.mark.parametrize("case", CASES)
def test_a_page_says_of_other_tables_what_it_said(case, request):
    body = CASES[case](request.getfixturevalue("messy")) if case == "messy records" else CASES[case]()
    usual = {*in_lines(made.body(made.study() if "study" in case else made.resolved()))}
    text = "\n".join(line for line in in_lines(body) if line not in usual or line.startswith("\n#")) + "\n"
    model = MODELS / f"{case.replace(' ', '_')}.txt"
    if os.environ.get("TILTMETER_MODELS") == "write":
        model.parent.mkdir(exist_ok=True)
        model.write_text(text)
    assert text.splitlines() == model.read_text().splitlines()


def test_every_name_is_escaped_and_no_number_is_nan(html_of, figures_of):
    page = Page("", {}, [], made.body(made.resolved(), drawn=[0]).sections)
    html = html_of(page)
    assert made.TAGGED not in html
    assert "&lt;b&gt;&amp;" in html
    assert not re.search("NaN|Infinity|None|null,", html + re.sub(r'"[xyz]":\[.*?\]', "", figures_of(page)))


def test_the_columns_of_large_tables_are_listed(configured):
    config = configured("job=entity_resolution", "pairs=pairs.csv")
    published = {name: made.arrow(name, rows) for name, rows in made.resolved().items()}
    page = reported(partial(resolution_page, SimpleNamespace(config=config)), published)
    assert {details.summary for details in page.sections[-1].blocks[-1].blocks} == set(made.resolved())
