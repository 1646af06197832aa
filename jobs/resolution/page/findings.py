"""What the tables of `entity_resolution` say, in sentences."""

from collections.abc import Iterator

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph
from tiltmeter.jobs.report.wording import duration, listed, percent, plural, quoted
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.words import METRICS, gap, signed, weight

_NUM_METRICS = 3


def findings(extracts: Extracts) -> list[str]:
    """What stands out in the partition of one graph."""
    return [_extent(extracts), *_agreement(extracts), _near_misses(extracts), _disagreement(extracts)]


def _extent(extracts: Extracts) -> str:
    sizes = dict(extracts.sizes["clusters"].rows())
    single = sizes.get(1, 0)
    alone = f"; {plural(single, 'record')} {'is' if single == 1 else 'are'} alone in theirs" if single else ""
    records, clusters = (plural(extracts.totals[f"num_{noun}s"], noun) for noun in ("record", "cluster"))
    return f"{records} fall into {clusters}, the largest of {plural(max(sizes, default=0), 'record')}{alone}."


def _agreement(extracts: Extracts) -> Iterator[str]:
    """How far the clusters are the true ones, F1 first, and over how many records."""
    known = extracts.metrics.filter(extracts.metrics["value"].is_not_nan()).head(_NUM_METRICS).to_dicts()
    if known:
        values = listed([f"{METRICS[row['metric']]} {percent(row['value'])}" for row in known])
        unseen = " and that the scorer did not learn from" if extracts.scorer and extracts.scorer.clusters else ""
        num, every = known[0]["num_records"], plural(extracts.totals["num_records"], "record")
        yield f"Against the gold clusters, over the {num:,} of {every} that have one{unseen}: {values}."


def _near_misses(extracts: Extracts) -> str:
    row = extracts.kinds["near_miss"]
    if not row["num"]:
        return "There are no near misses: no record has a positive pair with a cluster that it is not in."
    reasons = {
        "negative pairs with it outweigh them": row["num_outweighed"],
        "some pair with it was never scored, so it may not join": row["num_forbidden"],
        "it would bring something, but no more than to its own cluster": (
            row["num"] - row["num_outweighed"] - row["num_forbidden"]
        ),
    }
    why = "; ".join(f"in {num:,} {reason}" for reason, num in reasons.items() if num)
    misses = plural(row["num"], "near miss")
    return f"{misses}: a record has positive pairs with a cluster, but is not in it. Of these, {why}."


def _disagreement(extracts: Extracts) -> str:
    counts = extracts.counts.row(0, named=True)
    kinds = {"positive but apart": "split_pair", "negative but together": "joined_pair"}
    rows = {text: extracts.kinds[kind] for text, kind in kinds.items() if extracts.kinds[kind]["num"]}
    if not rows:
        pairs = f"All {counts['num_pairs']:,} pairs"
        return f"{pairs} agree with the clusters: positive ones are together, negative ones apart."
    num = sum(row["num"] for row in rows.values())
    which = listed([f"{row['num']:,} {text} ({signed(row['weight'])} in all)" for text, row in rows.items()])
    never = ", or pairs between were never scored" if counts["missing"] == "forbid" else ""
    share = f"{num:,} of {plural(counts['num_pairs'], 'pair')} ({percent(num / counts['num_pairs'])})"
    so = f"In a proven partition that is so where scores contradict each other{never}."
    return f"{share} disagree with the clusters: {which}. {so}"


def doubts(extracts: Extracts) -> list[Block]:
    """How many components are proven, how far the others may be from it, and which took longest."""
    total = extracts.totals
    single = f", besides {plural(total['num_single'], 'record')} without any" if total["num_single"] else ""
    extent = f"Positive pairs connect the records into {plural(total['num_components'], 'component')}{single}"
    took = [_slowest(extracts)] if total["num_components"] else []
    sure = Bullets([f"{extent}; {_proven(extracts)}", *took])
    if not (num := total["num_none"]):
        return [sure]
    text = f"{plural(num, 'component')} {'was' if num == 1 else 'were'} not partitioned in time"
    return [
        Paragraph(f"{text}: each of their records is left alone. Set time_limit=<seconds> higher.", "warning"),
        sure,
    ]


def _proven(extracts: Extracts) -> str:
    total = extracts.totals
    num, is_one = total["num_open"], total["num_components"] == 1
    reached = f"the objective of {weight(total['objective'])}"
    if not num:
        return f"{'it is' if is_one else 'all are'} proven: no partition has more than {reached}."
    which = "it is" if is_one else f"{num:,} {'is' if num == 1 else 'are'}"
    worst = extracts.hardest.filter(status="feasible").sort("gap", descending=True, maintain_order=True).head(1)
    gaps = [f", with a gap of up to {gap(row)} ({_component(row, extracts)})" for row in worst.to_dicts()]
    more = weight(max(0.0, total["bound"] - total["objective"]))
    best = f" No partition has more than {weight(total['bound'])}, which is {more} above {reached}."
    return f"{which} not proven{''.join(gaps)}.{'' if total['num_none'] else best}"


def _slowest(extracts: Extracts) -> str:
    row = extracts.hardest.sort("seconds", descending=True, maintain_order=True).row(0, named=True)
    extent = f"{plural(row['num_records'], 'record')}, {plural(row['num_pairs'], 'pair')}"
    took = f"{_component(row, extracts)} ({extent}), took {duration(row['seconds'])}"
    return f"Solving took {duration(extracts.totals['seconds'])} in all; the slowest, {took}."


def _component(row: Row, extracts: Extracts) -> str:
    return f"component {row['component']}" + (f" of {quoted(row['graph'])}" if extracts.is_study else "")
