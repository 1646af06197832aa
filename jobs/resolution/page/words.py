"""Numbers, clusters and explanations of `entity_resolution` as the report writes them."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.wording import duration as duration
from tiltmeter.jobs.report.wording import listed, number, percent, plural, quoted
from tiltmeter.operators.resolution.problem import TOLERANCE

Row = Mapping[str, Any]

MISSING = {"forbid": "may not share a cluster", "zero": "weigh 0"}
"""What holds for pairs without a score."""

METRICS = {
    "f1": "pairwise F1",
    "precision": "precision",
    "recall": "recall",
    "homogeneity": "homogeneity",
    "completeness": "completeness",
    "v_measure": "V-measure",
    "adjusted_rand": "adjusted Rand index",
    "fowlkes_mallows": "Fowlkes–Mallows index",
}
"""Of agreement with gold clusters, the most important first."""

_NUM_MEMBERS = 4
_LARGE = 100.0
"""From here on whole numbers are written as such."""

several = plural


def weight(value: float | None) -> str:
    """A weight, or a sum of weights.

    >>> weight(-0.125), weight(47999.25), weight(47999.0), weight(None)
    ('−0.12', '47,999.25', '47,999', '–')
    """
    is_whole = value is not None and abs(value) >= _LARGE and value.is_integer()
    return number(value, 0 if is_whole else 2)


def signed(value: float) -> str:
    """A weight that is added to others.

    >>> signed(0.5), signed(-0.5)
    ('+0.50', '−0.50')
    """
    text = weight(value)
    return text if text.startswith("−") else f"+{text}"


def gap(row: Row) -> str:
    """The gap of a component.

    >>> gap({"status": "proven", "gap": 2e-9}), gap({"status": "feasible", "gap": 0.0125})
    ('0', '1.250%')
    """
    return "0" if row["status"] == "proven" else percent(row["gap"], 3)


def threshold_name(threshold: float | None) -> str:
    """The threshold as a figure names it.

    >>> threshold_name(-0.3), threshold_name(None)
    ('−0.3', 'none')
    """
    return "none" if threshold is None else f"{threshold:g}".replace("-", "−")


# --- clusters and records -------------------------------------------------------------------------------------------


def cluster_names(clusters: pl.LazyFrame, wanted: pl.Series) -> dict[int, str]:
    """Clusters by their number, each with the first of its records.

    Args:
        clusters: the table, of which only the records of these clusters are kept.
        wanted: the numbers.
    """
    records = pl.col("record").sort()
    found = clusters.filter(pl.col("cluster").is_in(wanted.unique().to_list())).group_by("cluster")
    rows = found.agg(records.head(_NUM_MEMBERS), pl.len()).collect(engine="streaming").rows()
    return {cluster: f"cluster {cluster} ({_members(records, num)})" for cluster, records, num in rows}


def _members(records: list[str], num: int) -> str:
    rest = num - len(records)
    return listed([*map(quoted, records), *([f"{rest:,} more"] if rest else [])])


# --- explanations ---------------------------------------------------------------------------------------------------


def merge_text(row: Row, names: Mapping[int, str]) -> str:
    """What holds a cluster.

    >>> merge_text({"cluster": 3, "weight": 2.25, "record": "a", "held": 0.5}, {3: "cluster 3 (“a” and “b”)"})
    'cluster 3 (“a” and “b”): its pairs add up to +2.25; “a” is held least, by +0.50.'
    """
    held = f"{quoted(row['record'])} is held least, by {signed(row['held'])}"
    return f"{names[row['cluster']]}: its pairs add up to {signed(row['weight'])}; {held}."


def near_miss_text(row: Row, names: Mapping[int, str]) -> str:
    """Why a record was left out of a cluster.

    >>> row = {"record": "r", "cluster": 3, "support": 0.8, "opposition": -1.4, "weight": -0.6, "num_forbidden": 0}
    >>> row |= {"held": 0.0, "tipping_records": ["a"], "tipping_weights": [-1.4]}
    >>> near_miss_text(row, {3: "cluster 3 (“a” and “b”)"})
    '“r” was left out of cluster 3 (“a” and “b”): it would bring +0.80 − 1.40 = −0.60. Against it: “a” −1.40.'
    """
    sum_ = f" {signed(row['opposition']).replace('−', '− ')} = {signed(row['weight'])}" if row["opposition"] else ""
    bring = f"it would bring {signed(row['support'])}{sum_}{_reason(row)}."
    return f"{quoted(row['record'])} was left out of {names[row['cluster']]}: {bring}{_tipping(row)}"


def _reason(row: Row) -> str:
    if row["num_forbidden"]:
        return f", but may not: {plural(row['num_forbidden'], 'pair')} between them {_has(row)} no score"
    change = row["weight"] - row["held"]
    if row["weight"] > 0 and change <= TOLERANCE:
        return f", no more than the {signed(row['held'])} that hold it where it is"
    if change > TOLERANCE:
        return f"; moved there, it would raise the objective by {weight(change)}, so this partition is not the best one"
    return ""


def _has(row: Row) -> str:
    return "has" if row["num_forbidden"] == 1 else "have"


def _tipping(row: Row) -> str:
    pairs = zip(row["tipping_records"] or [], row["tipping_weights"] or [], strict=True)
    texts = [f"{quoted(record)} {'no score' if weight is None else signed(weight)}" for record, weight in pairs]
    return f" Against it: {', '.join(texts)}." if texts else ""


IS_FORBIDDEN = pl.col("num_forbidden") > 0
IS_OUTWEIGHED = ~IS_FORBIDDEN & (pl.col("weight") <= 0)
"""Of near misses; the others are held by their own cluster."""
