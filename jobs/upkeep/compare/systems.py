"""The table of `compare` of two systems on the same items."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from tiltmeter.jobs.runtime.table import Estimate, Table, doc, key, table_from
from tiltmeter.jobs.upkeep.compare.pairs import Pair
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg
from tiltmeter.operators.statistics.paired_items import paired_items
from tiltmeter.operators.statistics.units import each, units_of


class Systems(Table, name="systems"):
    task: str = key("that the items are of, by the names of files of lm-evaluation-harness; or items")
    score: str = key("column of the scores")
    num_items: int = doc("that both systems have a score for", "items")
    num_clusters: int = doc("clusters of them, which are the units; items, where they have none", "clusters")
    first: float = doc("mean score of the first system")
    second: float = doc("mean score of the second system")
    difference: Estimate = doc(
        "second less first", interval="the interval of difference, paired by item, over clusters"
    )
    p: float = doc(
        "two-sided, by signs of clusters: either system is as likely to be ahead in each; null if under 6 differ"
    )
    q: float = doc("p adjusted for the number of scores, by Benjamini and Hochberg")
    first_only: int | None = doc(
        "items that the first system alone gets right; null unless all scores are 0 or 1", "items"
    )
    second_only: int | None = doc("items that the second system alone gets right", "items")
    mcnemar_p: float | None = doc(
        "p, which is that of McNemar's exact test where all scores are 0 or 1; null elsewhere"
    )


def systems_table(pairs: Sequence[Pair], unit: str | None, level: float) -> pa.Table:
    """The table ``systems``: a row for each pair.

    Args:
        pairs: what is compared.
        unit: what the clusters of items are; None: items are the units.
        level: coverage of the intervals.
    """
    rows = [_row(pair, unit, level) for pair in pairs]
    for row, q in zip(rows, benjamini_hochberg(np.array([row.p for row in rows], dtype=np.float64)), strict=True):
        row.q = float(q)
    return table_from(rows, Systems)


def _row(pair: Pair, unit: str | None, level: float) -> Systems:
    items = pair.items
    units = units_of(items["cluster"].to_list(), f"value of {unit}") if unit else each(items.height, "item")
    first, second = items["first"].to_numpy(), items["second"].to_numpy()
    comparison = paired_items(first, second, units, level)
    difference = comparison.difference
    row = Systems(
        task=pair.task,
        score=pair.score,
        num_items=first.size,
        num_clusters=units.num,
        first=float(first.mean()),
        second=float(second.mean()),
        difference=Estimate(difference.value, difference.low, difference.high),
        p=difference.p,
        first_only=comparison.first_only,
        second_only=comparison.second_only,
        mcnemar_p=comparison.mcnemar_p,
    )
    return row.fail("too_few_units", difference.reason) if difference.too_few else row
