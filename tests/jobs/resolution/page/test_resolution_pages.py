"""What a page on a partition says of tables that are not the usual ones, and what its figures show of them.

See `tests/jobs/report/models` for the usual ones.
"""

import os
import re
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import polars as pl
import pytest

from tests.fixtures.figures import drawn
from tests.fixtures.reports import reported
from tests.fixtures.tables import resolution as made
from tests.jobs.report.test_models import shown
from tiltmeter.jobs.report.html.elements import Page
from tiltmeter.jobs.resolution.config import RecordScorer
from tiltmeter.jobs.resolution.figures import MAX_LINES, MAX_RECORDS, by_threshold, cluster_graph, sizes
from tiltmeter.jobs.resolution.page import page as resolution_page

MODELS = Path(__file__).parent / "models"
PHASES = {"num_cliques": 12, "clustering_coefficient": 0.5125, "listing_seconds": 0.25, "packing_seconds": 1.0}


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


@pytest.fixture
def messy(tmp_path):
    """The scorer of records whose file has the ids of the hand-made partition, in any order."""
    names = {"e": "Ed", "a": "Al", "b": "Bo", "c": "Cy", "d": "Di", made.TAGGED: "<i>", "z": "Zoe"}
    born = {"a": 1901, "b": 1902, "c": 1903, "e": 1905, made.TAGGED: 1906}
    rows = [(record, name, born.get(record), "not compared") for record, name in names.items()]
    pl.DataFrame(rows, ["id", "name", "born", "note"], orient="row").write_parquet(tmp_path / "records.parquet")
    fields = {"name": {"kind": "string"}, "born": {"kind": "number", "within": [1]}}
    return RecordScorer(path=f"{tmp_path}/records.parquet", fields=fields, blocking=[{"name": 1}], clusters="gold.csv")


PACKED = [made.component(0, 6, solver="set_packing", **PHASES), made.component(1, 2, solver="all_positive")]
CENTROIDS = {"solver": "centroid_linkage"}
LIMITS = {"solver": "quadratic_set_packing", "max_parts": 3, "time_limit": 30.0, "seed": 7}
UNSCORED = {"pair_counts": made.resolved()["pair_counts"].with_columns(missing=pl.lit("zero"))}


def pairs_counted(num_pairs):
    return {"pair_counts": made.table("pair_counts", made.counts(num_pairs=num_pairs))} | NO_MISSES


def learnt(is_labelled, share):
    """Tables of what a scorer learnt, from labels drawn half and half, or from sessions that are all doubtful."""
    u = {"name": (0.5, 0.5), "born": (0.2, 0.8)}
    agreements = [
        {
            "field": field,
            "degree": degree,
            "agreement": words,
            "m": m,
            "u": shares[degree],
            "match_weight": float(degree),
        }
        | {"prior": share, "num_matches": 5 if is_labelled else None, "num_distinct": 5 if is_labelled else None}
        for field, shares in u.items()
        for degree, (words, m) in enumerate({"different": 0.1, "equal": 0.9}.items())
    ]
    found = {("zip", 0.9): 900, ("born", 0.3): 5, ("day", 0.999): 2}
    sessions = [
        {"session": name, "field": "name", "degree": 1, "m": m, "num_pairs": num, "match_share": m}
        for (name, m), num in found.items()
    ]
    fit = {
        "session": "zip",
        "field": "name",
        "other": "born",
        "num_pairs": 900,
        "bits": 0.2,
        "observed": 0.5,
        "fitted": 0.1,
    }
    rule = {"rule": "name (1)", "num_pairs": 40, "num_new": 40, "largest": "name 'a'", "num_records": 9}
    ends = {"threshold": 0.5, "num_true": 3, "num_false": 1, "precision": 0.75, "recall": 1.0}
    tables = {"agreements": agreements, "blocking": [rule], "unlinkable": [{"threshold": 0.5, "share": 0.25}]}
    tables |= {"thresholds": [ends]} if is_labelled else {"sessions": sessions, "fits": [fit]}
    return {name: made.table(name, *rows) for name, rows in tables.items()}


CASES = {
    "labels half and half": (learnt(is_labelled=True, share=0.5), {"records": "labelled"}),
    "doubtful sessions": (learnt(is_labelled=False, share=0.01), {"records": "unlabelled"}),
    "no gold and no disagreement": ({"metrics": None} | NO_MISSES, {}),
    "measures that are undefined": (UNDEFINED, {}),
    "few gold records": (FEW, {}),
    "how good clusters are": (made.judged(), {}),
    "messy records": (FEW, {"records": "messy"}),
    "not proven": (components(*NOT_PROVEN), {}),
    "no time": (without_bound(), {}),
    "no pairs": (pairs_counted(0), {}),
    "one pair": (pairs_counted(1), {}),
    "no positive pair": (components(*ALONE), {}),
    "many components": (many_components(), {}),
    "packings": (components(*PACKED), {}),
    "centroids": ({}, CENTROIDS),
    "centroids of pairs without a score": (UNSCORED, CENTROIDS | {"missing": "zero"}),
    "reasons": (explained(*REASONS), {}),
    "many explanations": ({"clusters": made.clusters(one="abcdefg")} | explained(*MANY, usual=False), {}),
    "gold that contradicts": (explained(*CONTRADICTED), {}),
    "asked": (explained(*ASKED), {}),
    "drawn": ({}, {"drawn": [0, 7]}),
    "too large to be drawn": (components(made.component(0, MAX_RECORDS + 1)), {"drawn": [0]}),
    "drawn without pairs": ({"drawn_pairs": None}, {"drawn": [0]}),
    "other limits": ({}, LIMITS | {"pairs": "some/folder/scores.csv"}),
    "a study whose thresholds are alike": ({"metrics": made.table("metrics", *ALIKE)}, {}),
}
"""Tables that are others, or not there, and settings."""


def in_lines(body):
    return shown(Page(body.title, body.facts, body.lead.parts, body.sections))


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_a_page_says_of_other_tables_what_it_said(case, messy):
    changes, config = CASES[case]
    tables = made.study() if "study" in case else made.resolved()
    changed = {name: rows for name, rows in (tables | changes).items() if rows is not None}
    strict = {"rules": [{"born": None}], "recall": 0.8, "sessions": [{"zip": None}]}
    scorers = {"messy": messy, "labelled": replace(messy, clusters=None, labelled="labels.csv")}
    scorers["unlabelled"] = replace(messy, clusters=None, unlabelled=strict)
    body = made.body(changed, **config | ({"records": scorers[config["records"]]} if "records" in config else {}))
    usual = {*in_lines(made.body(tables))}
    text = "\n".join(line for line in in_lines(body) if line not in usual or line.startswith("\n#")) + "\n"
    model = MODELS / f"{case.replace(' ', '_')}.txt"
    if os.environ.get("TILTMETER_MODELS") == "write":
        model.write_text(text)
    assert text.splitlines() == model.read_text().splitlines()


def test_every_name_is_escaped_and_no_number_is_nan(html_of, figures_of):
    page = Page("", {}, [], made.body(made.judged(), drawn=[0]).sections)
    html = html_of(page)
    assert made.TAGGED not in html
    assert "&lt;b&gt;&amp;" in html
    assert not re.search("NaN|Infinity|None|null,", html + re.sub(r'"[xyz]":\[.*?\]', "", figures_of(page)))


def test_the_columns_of_large_tables_are_listed(configured):
    config = configured("job=entity_resolution", "pairs=pairs.csv")
    published = {name: made.arrow(name, rows) for name, rows in made.resolved().items()}
    page = reported(partial(resolution_page, SimpleNamespace(config=config)), published)
    assert {details.summary for details in page.sections[-1].blocks[-1].blocks} == set(made.resolved())


# --- figures --------------------------------------------------------------------------------------------------------


def graph_of(weights, clusters, seed=0):
    pairs = [(*pair, weight) for pair, weight in weights.items()]
    return drawn(cluster_graph(pl.DataFrame(pairs, ["left", "right", "weight"], orient="row"), clusters, seed))


def test_records_of_a_cluster_are_drawn_near_each_other_and_alike_by_the_same_seed():
    clusters = {"a": 0, "b": 0, "c": 0, "d": 1, "e": 1, made.TAGGED: 2}
    graph, again, other = (graph_of(made.PAIRS, clusters, seed) for seed in (0, 0, 1))
    x, y = (list(values) for values in (graph.data[-1].x, graph.data[-1].y))
    distance = {(a, b): (x[a] - x[b]) ** 2 + (y[a] - y[b]) ** 2 for a in range(5) for b in range(5)}
    assert max(distance[0, 1], distance[0, 2], distance[1, 2], distance[3, 4]) < min(distance[2, 3], distance[0, 4])
    assert again.to_json() == graph.to_json() != other.to_json()


def test_of_many_pairs_those_of_most_weight_are_drawn_and_those_that_keep_a_cluster_whole():
    # Twenty records in one cluster; the last is held by its lightest pairs alone.
    names = [f"{at:02}" for at in range(20)]
    weights = {(a, b): 1.0 + int(b) / 100 for a in names for b in names if a < b < "19"}
    weights |= {(a, "19"): 0.01 for a in names[:19]}
    figure, name = graph_of(weights, dict.fromkeys(names, 0)), f"positive, together ({MAX_LINES} of {len(weights)})"
    [at] = [at for at, trace in enumerate(figure.data) if trace.name == name]
    shown = list(figure.data[at + 1].customdata)  # the dots at the middles of the lines follow them
    assert len(shown) == MAX_LINES
    assert sum("– 19" in text for text in shown) == 1


def test_sizes_are_counted_by_powers_of_two():
    components = pl.DataFrame({"size": [1, 2, 3, 4, 9], "num": [5, 1, 2, 3, 1]})
    figure = drawn(sizes({"components": components, "clusters": pl.DataFrame({"size": [1], "num": [20]})}))
    first, second = figure.data
    assert list(first.x) == ["1", "2", "3–4", "5–8", "9–16"]
    assert (list(first.y), list(second.y)) == ([5, 1, 5, 0, 1], [20, 0, 0, 0, 0])


def test_thresholds_have_quartiles_ends_and_mean_and_none_comes_first():
    values = {None: [1.0, 0.5, 0.0], -0.3: [0.75, None], 0.2: [0.25]}
    rows = [(threshold, value) for threshold, of in values.items() for value in of]
    (box,) = drawn(by_threshold(pl.DataFrame(rows, ["threshold", "f1"], orient="row"), "f1", "F1 (%)", 100.0)).data
    assert list(box.x) == ["none", "−0.3", "0.2"]
    ends = zip(box.lowerfence, box.q1, box.median, box.q3, box.upperfence, box.mean, strict=True)
    assert list(ends) == [(0.0, 25.0, 50.0, 75.0, 100.0, 50.0), (75.0,) * 6, (25.0,) * 6]
