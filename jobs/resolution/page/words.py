"""Numbers, clusters and explanations of `entity_resolution` as the report writes them."""

from collections.abc import Sequence

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.wording import listed, number, percent, plural, quoted, verb
from tiltmeter.operators.resolution.components import Linked
from tiltmeter.operators.resolution.problem import TOLERANCE, Missing

MISSING = {"forbid": "may not share a cluster", "zero": "weigh 0"}
"""What holds for pairs without a score."""

DISTANT = "are at distance 1, as if their probability were 0"
"""The same under missing=zero, for centroid linkage."""

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

_LARGE, _HUGE = 100.0, 1e15
"""From the first on whole numbers are written as such; from the second on no digit after the point is known."""


def weight(value: float | None) -> str:
    """A weight, or a sum of weights.

    >>> weight(-0.125), weight(47999.25), weight(47999.0), weight(-1e300), weight(None)
    ('−0.12', '47,999.25', '47,999', '−1e+300', '–')
    """
    if value is not None and _HUGE <= abs(value) < float("inf"):
        return f"{value:.3g}".replace("-", "−")
    is_whole = value is not None and abs(value) >= _LARGE and value.is_integer()
    return number(value, 0 if is_whole else 2)


def signed(value: float) -> str:
    """A weight that is added to others."""
    text = weight(value)
    return text if text.startswith("−") else f"+{text}"


def gap(row: Row) -> str:
    """Of a component, 0 if it is proven."""
    return "0" if row["status"] == "proven" else percent(row["gap"], 3)


def missing_name(missing: Missing, linked: Linked) -> str:
    """What holds for pairs without a score, where components are linked so."""
    return DISTANT if (missing, linked) == ("zero", "scored") else MISSING[missing]


def threshold_name(threshold: float | None) -> str:
    """The threshold as a figure names it."""
    return "none" if threshold is None else f"{threshold:g}".replace("-", "−")


def cluster_name(cluster: int, records: Sequence[str], num: int) -> str:
    """The number of a cluster with some of its ``num`` records.

    >>> cluster_name(3, ["a", "b"], 5)
    '3 (“a”, “b” and 3 more)'
    """
    rest = num - len(records)
    return f"{cluster} ({listed([*map(quoted, records), *([f'{rest:,} more'] if rest else [])])})"


def explanation(row: Row, cluster: str, *, is_in: bool = False, barred: str = "no score") -> str:
    """What holds the cluster of this name together, why a record was left out of it, or what it brings if it is in.

    Args:
        barred: what pairs have that may not share a cluster.
    """
    record = quoted(row["record"])
    if row["kind"] == "merge":
        held = f"{record} is held least, by {signed(row['held'])}"
        return f"Cluster {cluster}: its pairs add up to {signed(row['weight'])}; {held}."
    pairs = zip(row["tipping_records"] or [], row["tipping_weights"] or [], strict=True)
    against = [f"{quoted(other)} {barred if score is None else signed(score)}" for other, score in pairs]
    sum_ = f" {signed(row['opposition']).replace('−', '− ', 1)} = {signed(row['weight'])}" if row["opposition"] else ""
    amount = f"{signed(row['support'])}{sum_}"
    place, bring = (
        (f"{record} is in cluster {cluster}", f"it brings {amount}.")
        if is_in
        else (f"{record} was left out of cluster {cluster}", f"it would bring {amount}{_reason(row, barred)}.")
    )
    return f"{place}: {bring}" + (f" Against it: {', '.join(against)}." if against else "")


def _reason(row: Row, barred: str) -> str:
    forbidden, change = row["num_forbidden"], row["weight"] - row["held"]
    if forbidden:
        return f", but may not: {plural(forbidden, 'pair')} between them {verb(forbidden, 'have')} {barred}"
    if change > TOLERANCE:
        return f"; moved there, it would raise the objective by {weight(change)}, so this partition is not the best one"
    return f", no more than the {signed(row['held'])} that hold it where it is" if row["weight"] > 0 else ""
