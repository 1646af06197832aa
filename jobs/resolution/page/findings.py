"""What the tables of `entity_resolution` say, in sentences."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.wording import duration, listed, percent, plural, quoted
from tiltmeter.jobs.resolution.page.extracts import LargeTables
from tiltmeter.jobs.resolution.page.words import (
    METRICS,
    Row,
    gap,
    signed,
    threshold_name,
    weight,
)
from tiltmeter.jobs.runtime.published import Frames


def findings(frames: Frames, large: LargeTables) -> Lead:
    """What was asked of one graph, what stands out, and what is proven of it."""
    counts = frames["pair_counts"].row(0, named=True)
    sentences = [
        *_extent(large),
        *(agreement(frames["metrics"]) if "metrics" in frames else []),
        *_near_misses(large),
        *_disagreement(large, counts),
    ]
    return Lead(_ASKED, [Bullets(sentences)], [*doubts(large), Bullets(list(optimum(large)))])


_NUM_METRICS = 3

_ASKED = [
    Paragraph("Which records are the same entity?"),
    Paragraph(
        "A weight is a score for a pair: positive if it speaks for one entity, negative if against. Of all ways to put "
        "the records into clusters, the one is looked for whose pairs within clusters have the largest sum of weights, "
        "the objective. “Proven” means that none has more."
    ),
]


def _extent(large: LargeTables) -> Iterator[str]:
    total, clusters = large.totals, large.sizes["clusters"]
    single = int(clusters.filter(pl.col("size") == 1)["num"].sum())
    alone = f"; {plural(single, 'record')} {'is' if single == 1 else 'are'} alone in theirs" if single else ""
    largest = f"the largest of {plural(max(clusters['size'].to_list(), default=0), 'record')}"
    into = plural(total["num_clusters"], "cluster")
    yield f"{plural(total['num_records'], 'record')} fall into {into}, {largest}{alone}."


# --- what is proven -------------------------------------------------------------------------------------------------


def optimum(large: LargeTables, *, is_study: bool = False) -> Iterator[str]:
    """How many components are proven, how far the others may be from it, and which took longest.

    Args:
        is_study: whether components are of many graphs.
    """
    total = large.totals
    num, single = total["num_components"], total["num_single"]
    besides = f", besides {plural(single, 'record')} without any" if single else ""
    yield f"Positive pairs connect the records into {plural(num, 'component')}{besides}; {_proven(large, is_study)}"
    if num:
        yield _slowest(large, is_study)


def _proven(large: LargeTables, is_study: bool) -> str:
    total = large.totals
    num_open, is_one = total["num_feasible"] + total["num_none"], total["num_components"] == 1
    reached = f"the objective of {weight(total['objective'])}"
    if not num_open:
        return f"{'it is' if is_one else 'all are'} proven: no partition has more than {reached}."
    how_many = "it is" if is_one else f"{num_open:,} {'is' if num_open == 1 else 'are'}"
    more = max(0.0, total["bound"] - total["objective"])
    best = f" No partition has more than {weight(total['bound'])}, which is {weight(more)} above {reached}."
    return f"{how_many} not proven{_largest_gap(large, is_study)}.{'' if total['num_none'] else best}"


def _largest_gap(large: LargeTables, is_study: bool) -> str:
    found = large.hardest.filter(status="feasible").sort("gap", descending=True, maintain_order=True).head(1).to_dicts()
    return "".join(f", with a gap of up to {gap(row)} ({_component(row, is_study)})" for row in found)


def _slowest(large: LargeTables, is_study: bool) -> str:
    row = large.hardest.sort("seconds", descending=True, maintain_order=True).row(0, named=True)
    extent = f"{plural(row['num_records'], 'record')}, {plural(row['num_pairs'], 'pair')}"
    took = f"{_component(row, is_study)} ({extent}), took {duration(row['seconds'])}"
    return f"Solving took {duration(large.totals['seconds'])} in all; the slowest, {took}."


def _component(row: Row, is_study: bool) -> str:
    return f"component {row['component']}" + (f" of {quoted(row['graph'])}" if is_study else "")


def doubts(large: LargeTables) -> Iterator[Block]:
    """What a reader should not take for more than it is."""
    if num := large.totals["num_none"]:
        was = "was" if num == 1 else "were"
        text = f"{plural(num, 'component')} {was} not partitioned in time: each of their records is left alone."
        yield Paragraph(f"{text} Set time_limit=<seconds> higher.", "warning")


# --- against gold ---------------------------------------------------------------------------------------------------


def agreement(metrics: pl.DataFrame) -> Iterator[str]:
    """How far the clusters are the true ones, F1 first."""
    known = {row["metric"]: row for row in metrics.filter(pl.col("value").is_not_nan()).to_dicts()}
    named = [f"{METRICS[name]} {percent(known[name]['value'])}" for name in METRICS if name in known][:_NUM_METRICS]
    if named:
        records = plural(next(iter(known.values()))["num_records"], "record")
        yield f"Against the gold clusters of {records}: {listed(named)}."


# --- what speaks against it -----------------------------------------------------------------------------------------


def _near_misses(large: LargeTables) -> Iterator[str]:
    found = large.disagreement
    num, forbidden, outweighed = (found[f"num_{name}"] for name in ("missed", "forbidden", "outweighed"))
    if not num:
        yield "There are no near misses: no record has a positive pair with a cluster that it is not in."
        return
    reasons = {
        "negative pairs with it outweigh them": outweighed,
        "some pair with it was never scored, so it may not join": forbidden,
        "it would bring something, but no more than to its own cluster": num - outweighed - forbidden,
    }
    why = "; ".join(f"in {count:,} {reason}" for reason, count in reasons.items() if count)
    yield f"{plural(num, 'near miss')}: a record has positive pairs with a cluster, but is not in it. Of these, {why}."


def _disagreement(large: LargeTables, counts: Row) -> Iterator[str]:
    found, num_pairs = large.disagreement, counts["num_pairs"]
    split, joined = found["num_split_pair"], found["num_joined_pair"]
    if not split + joined:
        yield f"All {num_pairs:,} pairs agree with the clusters: positive ones are together, negative ones apart."
        return
    share = percent((split + joined) / num_pairs)
    kinds = {
        f"{split:,} positive but apart ({signed(found['weight_split_pair'])} in all)": split,
        f"{joined:,} negative but together ({signed(-found['weight_joined_pair'])} in all)": joined,
    }
    never = ", or pairs between were never scored" if counts["missing"] == "forbid" else ""
    yield (
        f"{split + joined:,} of {plural(num_pairs, 'pair')} ({share}) disagree with the clusters: "
        f"{listed([text for text, num in kinds.items() if num])}. In a proven partition that is so where scores "
        f"contradict each other{never}."
    )


# --- a study --------------------------------------------------------------------------------------------------------


def study_findings(graphs: pl.DataFrame, large: LargeTables) -> Lead:
    """What was asked of many graphs, what stands out, and what is proven of it.

    Args:
        graphs: as of :func:`.study_sections.by_graph`.
    """
    total = large.totals
    num_thresholds = graphs["threshold"].n_unique()
    at = f" at {num_thresholds} thresholds" if num_thresholds > 1 else ""
    extent = (
        f"{plural(graphs.height, 'graph')}{at} were partitioned: {plural(total['num_records'], 'record')}, counted "
        f"in each, fall into {plural(total['num_clusters'], 'cluster')}."
    )
    sure = Bullets(list(optimum(large, is_study=True)))
    return Lead(_ASKED, [Bullets([extent, *_best_thresholds(graphs)])], [*doubts(large), sure])


def _best_thresholds(graphs: pl.DataFrame) -> Iterator[str]:
    means = graphs.drop_nulls("f1").group_by("threshold").agg(pl.col("f1").mean()).sort("f1", "threshold").to_dicts()
    if not means:
        return
    low, high = (f"{_at(row['threshold'])} ({percent(row['f1'])})" for row in (means[0], means[-1]))
    spread = f"highest {high} and lowest {low}" if len(means) > 1 else percent(means[0]["f1"])
    yield f"F1 against the gold clusters is on average {spread}."


def _at(threshold: float | None) -> str:
    return "without a threshold" if threshold is None else f"at the threshold {threshold_name(threshold)}"
