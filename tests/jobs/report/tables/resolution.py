"""Small tables of a partition made by hand."""

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.resolution import tables
from tiltmeter.jobs.resolution.page.extracts import LargeTables

TAGGED = "<b>&"
LARGE = ("clusters", "components", "explanations")


def component(number, num_records, *, graph="pairs", status="proven", gap=0.0, seconds=0.5, **more):
    """A row of ``components`` with an objective of 10, of a pair of records for each record."""
    row = {"graph": graph, "component": number, "num_records": num_records, "num_pairs": num_records}
    row |= {"num_clusters": 1, "solver": "cutting_plane", "missing": "forbid", "status": status, "objective": 10.0}
    row |= {"bound": 10.0 * (1.0 + gap), "gap": gap, "seconds": seconds, "num_cuts": 0, "num_branches": 0}
    return row | more


def near_miss(record, cluster, support, opposition, *, held=0.0, num_forbidden=0, tipping=(), component=0):
    row = {"graph": "pairs", "component": component, "kind": "near_miss", "cluster": cluster, "record": record}
    row |= {"weight": support + opposition, "held": held, "support": support, "opposition": opposition}
    names, weights = zip(*tipping, strict=True) if tipping else ([], [])
    return row | {"num_forbidden": num_forbidden, "tipping_records": list(names), "tipping_weights": list(weights)}


def merge(record, cluster, weight, held, *, component=0):
    row = {"graph": "pairs", "component": component, "kind": "merge", "cluster": cluster, "record": record}
    return row | {"weight": weight, "held": held}


def disagreeing(record, other, weight, *, component=0):
    kind = "split_pair" if weight > 0 else "joined_pair"
    return {"graph": "pairs", "component": component, "kind": kind, "record": record, "other": other, "weight": weight}


def counts(graph="pairs", *, num_pairs=10, threshold=None):
    row = {"graph": graph, "num_records": 7, "num_pairs": num_pairs, "num_self_pairs": 1, "num_repeated": 2}
    return row | {"num_contradicting": 3, "num_below_threshold": 4, "missing": "forbid", "threshold": threshold}


def metric(name, value, graph="pairs"):
    return {"graph": graph, "metric": name, "value": value, "num_records": 7, "status": "ok", "reason": ""}


def table(name, *rows):
    return pl.DataFrame(pa.Table.from_pylist(list(rows), getattr(tables, name.upper())))


def arrow(name, rows):
    """As the table is written."""
    return pa.Table.from_pylist(rows.to_dicts(), getattr(tables, name.upper()))


def clusters(**records):
    """Records by cluster, all of component 0 but ``alone``."""
    rows = [
        {"graph": "pairs", "record": record, "cluster": number, "component": int(name == "alone")}
        for number, (name, members) in enumerate(records.items())
        for record in members
    ]
    return table("clusters", *rows)


PAIRS = {("a", "b"): 1.0, ("a", "c"): 1.0, ("b", "c"): -0.25, ("d", "e"): 1.5, ("c", "d"): 0.5, ("a", "d"): -1.0}
PAIRS |= {("b", TAGGED): 0.75, ("a", TAGGED): -1.5}


def resolved():
    """Records a, b, c / d, e / one whose name looks like markup / and one without positive pairs, all proven."""
    weights = [{"graph": "pairs", "component": 0, "left": a, "right": b, "weight": w} for (a, b), w in PAIRS.items()]
    explanations = [
        merge("c", 0, 1.75, 0.75),
        merge("d", 1, 1.5, 1.5),
        near_miss("c", 1, 0.5, 0.0, held=0.75, num_forbidden=1, tipping=[("e", None)]),
        near_miss("d", 0, 0.5, -1.0, held=1.5, tipping=[("a", -1.0)]),
        near_miss(TAGGED, 0, 0.75, -1.5, num_forbidden=1, tipping=[("c", None), ("a", -1.5)]),
        disagreeing("c", "d", 0.5),
        disagreeing("b", TAGGED, 0.75),
        disagreeing("b", "c", -0.25),
    ]
    return {
        "pair_counts": table("pair_counts", counts()),
        "clusters": clusters(one="abc", two="de", three=[TAGGED], alone="z"),
        "components": table(
            "components",
            component(0, 6, num_pairs=8, num_clusters=3, objective=3.25, bound=3.25, seconds=1.25),
            component(1, 1, num_pairs=0, objective=0.0, bound=0.0, seconds=0.0, solver="all_positive"),
        ),
        "explanations": table("explanations", *explanations),
        "metrics": table("metrics", metric("precision", 1.0), metric("f1", 0.9571), metric("recall", 0.9177)),
        "drawn_pairs": table("drawn_pairs", *weights),
    }


def large(frames):
    return LargeTables(**{name: frames[name].lazy() for name in LARGE})


def small(frames):
    """What a page is given whole."""
    return {name: rows for name, rows in frames.items() if name not in LARGE}


def study():
    """Two graphs at each of two thresholds, of which one is not proven and another was not solved in time."""
    thresholds = {"A all": None, "B all": None, "A T": -0.3, "B T": -0.3}
    solved = [
        component(0, 5, graph="A all", seconds=2.0),
        component(1, 1, graph="A all", objective=0.0, bound=0.0, seconds=0.0),
        component(0, 6, graph="B all", status="feasible", gap=0.05, seconds=60.0),
        component(0, 5, graph="A T", seconds=1.0),
        component(0, 4, graph="B T", status="none", objective=float("-inf"), bound=9.0, gap=float("inf"), seconds=3.0),
    ]
    values = {"A all": 1.0, "B all": 0.9, "A T": 0.8, "B T": float("nan")}
    rows = resolved() | {
        "pair_counts": table("pair_counts", *(counts(name, threshold=value) for name, value in thresholds.items())),
        "components": table("components", *solved),
        "metrics": table("metrics", *(metric("f1", value, name) for name, value in values.items())),
    }
    return {name: frame for name, frame in rows.items() if name != "drawn_pairs"}
