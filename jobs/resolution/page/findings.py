"""What the tables of `entity_resolution` say, in sentences."""

from collections.abc import Iterator, Sequence

import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.wording import duration, listed, percent, plural, quoted
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.words import METRICS, gap, signed, weight

_NUM_METRICS = 3

_ASKED = [
    Paragraph("Which records are the same entity?"),
    Paragraph(
        "A weight is a score for a pair: positive if it speaks for one entity, negative if against. Of all ways to put "
        "the records into clusters, the one is looked for whose pairs within clusters have the largest sum of weights, "
        "the objective. “Proven” means that none has more."
    ),
]


def lead(extracts: Extracts, findings: Sequence[str]) -> Lead:
    """What was asked, what stands out, and what is proven of it."""
    return Lead(_ASKED, [Bullets(findings)], [*_doubts(extracts), Bullets(list(_optimum(extracts)))])


def findings(extracts: Extracts) -> list[str]:
    """What stands out in the partition of one graph."""
    return [_extent(extracts), *_agreement(extracts.metrics), _near_misses(extracts), _disagreement(extracts)]


def _extent(extracts: Extracts) -> str:
    total, clusters = extracts.totals, extracts.sizes["clusters"]
    single = int(clusters.filter(size=1)["num"].sum())
    alone = f"; {plural(single, 'record')} {'is' if single == 1 else 'are'} alone in theirs" if single else ""
    largest = f"the largest of {plural(max(clusters['size'].to_list(), default=0), 'record')}"
    into = plural(total["num_clusters"], "cluster")
    return f"{plural(total['num_records'], 'record')} fall into {into}, {largest}{alone}."


def _agreement(metrics: pl.DataFrame) -> Iterator[str]:
    """How far the clusters are the true ones, F1 first."""
    known = metrics.filter(pl.col("value").is_not_nan()).head(_NUM_METRICS).to_dicts()
    if known:
        named = listed([f"{METRICS[row['metric']]} {percent(row['value'])}" for row in known])
        yield f"Against the gold clusters of {plural(known[0]['num_records'], 'record')}: {named}."


def _near_misses(extracts: Extracts) -> str:
    totals = extracts.disagreement
    num, forbidden, outweighed = totals["num_near_miss"], totals["num_forbidden"], totals["num_outweighed"]
    if not num:
        return "There are no near misses: no record has a positive pair with a cluster that it is not in."
    reasons = {
        "negative pairs with it outweigh them": outweighed,
        "some pair with it was never scored, so it may not join": forbidden,
        "it would bring something, but no more than to its own cluster": num - outweighed - forbidden,
    }
    why = "; ".join(f"in {count:,} {reason}" for reason, count in reasons.items() if count)
    return f"{plural(num, 'near miss')}: a record has positive pairs with a cluster, but is not in it. Of these, {why}."


def _disagreement(extracts: Extracts) -> str:
    totals, num_pairs = extracts.disagreement, extracts.counts["num_pairs"][0]
    split, joined = totals["num_split_pair"], totals["num_joined_pair"]
    if not split + joined:
        return f"All {num_pairs:,} pairs agree with the clusters: positive ones are together, negative ones apart."
    kinds = {
        f"{split:,} positive but apart ({signed(totals['weight_split_pair'])} in all)": split,
        f"{joined:,} negative but together ({signed(totals['weight_joined_pair'])} in all)": joined,
    }
    never = ", or pairs between were never scored" if extracts.counts["missing"][0] == "forbid" else ""
    return (
        f"{split + joined:,} of {plural(num_pairs, 'pair')} ({percent((split + joined) / num_pairs)}) disagree with "
        f"the clusters: {listed([text for text, num in kinds.items() if num])}. In a proven partition that is so where "
        f"scores contradict each other{never}."
    )


def _doubts(extracts: Extracts) -> Iterator[Block]:
    if num := extracts.totals["num_none"]:
        was = "was" if num == 1 else "were"
        text = f"{plural(num, 'component')} {was} not partitioned in time: each of their records is left alone."
        yield Paragraph(f"{text} Set time_limit=<seconds> higher.", "warning")


def _optimum(extracts: Extracts) -> Iterator[str]:
    """How many components are proven, how far the others may be from it, and which took longest."""
    num, single = extracts.totals["num_components"], extracts.totals["num_single"]
    besides = f", besides {plural(single, 'record')} without any" if single else ""
    yield f"Positive pairs connect the records into {plural(num, 'component')}{besides}; {_proven(extracts)}"
    if num:
        yield _slowest(extracts)


def _proven(extracts: Extracts) -> str:
    total = extracts.totals
    num_open, is_one = total["num_open"], total["num_components"] == 1
    reached = f"the objective of {weight(total['objective'])}"
    if not num_open:
        return f"{'it is' if is_one else 'all are'} proven: no partition has more than {reached}."
    which = "it is" if is_one else f"{num_open:,} {'is' if num_open == 1 else 'are'}"
    more = max(0.0, total["bound"] - total["objective"])
    best = f" No partition has more than {weight(total['bound'])}, which is {weight(more)} above {reached}."
    return f"{which} not proven{_largest_gap(extracts)}.{'' if total['num_none'] else best}"


def _largest_gap(extracts: Extracts) -> str:
    rows = extracts.hardest.filter(status="feasible").sort("gap", descending=True, maintain_order=True).head(1)
    return "".join(f", with a gap of up to {gap(row)} ({_component(row, extracts)})" for row in rows.to_dicts())


def _slowest(extracts: Extracts) -> str:
    row = extracts.hardest.sort("seconds", descending=True, maintain_order=True).row(0, named=True)
    extent = f"{plural(row['num_records'], 'record')}, {plural(row['num_pairs'], 'pair')}"
    took = f"{_component(row, extracts)} ({extent}), took {duration(row['seconds'])}"
    return f"Solving took {duration(extracts.totals['seconds'])} in all; the slowest, {took}."


def _component(row: Row, extracts: Extracts) -> str:
    return f"component {row['component']}" + (f" of {quoted(row['graph'])}" if extracts.is_study else "")
