"""The page of `entity_resolution`: what was asked, what the tables say in sentences, and the sections that show it."""

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.html.elements import Block, Bullets, Paragraph
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.wording import duration, listed, percent, phrase, plural, quoted, verb
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.page import lineage, study
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.sections import sections
from tiltmeter.jobs.resolution.page.words import METRICS, gap, missing_name, signed, threshold_name, weight
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.files import Files
from tiltmeter.jobs.runtime.published import Frames
from tiltmeter.operators.resolution.solvers import linked_by
from tiltmeter.storage.files.redaction import redacted

_TITLE = "Which records are one entity"
_QUESTION = [
    Paragraph("Which records are the same entity?"),
    Paragraph(
        "A weight is a score for a pair: positive if it speaks for one entity, negative if against. Of all ways to put "
        "the records into clusters, the one is looked for whose pairs within clusters have the largest sum of weights, "
        "the objective. “Proven” means that none has more."
    ),
]
_NUM_METRICS = 3
_NO_LINKS = {
    "positive": "No pair is positive: no partition is better than to leave each record alone.",
    "scored": "No pair has a score, so that there is nothing to cluster.",
}


def page(run: Run[ResolutionRun, Files], frames: Frames) -> Body:
    """What the page of a run shows of its tables: one graph in detail, or many by their threshold.

    Tables with a row for each record, component or explanation may have millions of rows. They are left where they
    are: of their files, only the columns and rows are read that the page shows or sums up.
    """
    config = run.config
    scorer = config.records and replace(config.records, path=run.sources.files["records"].uri)
    extracts = Extracts(frames, scorer, linked_by(config.solver))
    if extracts.is_study:
        graphs = study.by_graph(extracts)
        title, findings, parts = (
            f"{_TITLE}: a study",
            study.findings(graphs, extracts),
            study.sections(graphs, extracts),
        )
    else:
        title, findings, parts = _TITLE, list(_findings(extracts)), sections(extracts, config.drawn, config.seed)
    doubts: list[Block] = [*_unsolved(extracts.totals["num_none"]), Bullets(list(_optimum(extracts)))]
    return Body(title, _facts(config, extracts.counts), Lead(_QUESTION, [Bullets(findings)], doubts), parts)


def _facts(config: ResolutionRun, counts: pl.DataFrame) -> dict[str, str]:
    other = config.records or config.mentions
    source = config.pairs or (other.path if other else "")
    thresholds = counts["threshold"].unique().sort(nulls_last=False)
    return {
        "job": config.job.name,
        "from": redacted(source).rsplit("/", 1)[-1],
        **({"graphs": f"{counts.height:,}"} if counts.height > 1 else {}),
        "records": f"{counts['num_records'].sum():,}",
        "pairs": f"{counts['num_pairs'].sum():,}",
        "pairs without a score": missing_name(config.missing, linked_by(config.solver)),
        "threshold" if thresholds.len() == 1 else "thresholds": ", ".join(map(threshold_name, thresholds)),
        "solver": phrase(config.solver),
        **({"engine": config.engine} if config.packing else {}),
        **({"parts of a maximal clique": f"{config.max_parts:,} at most"} if config.max_parts else {}),
        "time limit": f"{config.time_limit:g} s",
        "seed": str(config.seed),
    }


# --- what stands out in the partition of one graph ------------------------------------------------------------------


def _findings(extracts: Extracts) -> Iterator[str]:
    sizes = dict(extracts.sizes["clusters"].rows())
    single = sizes.get(1, 0)
    alone = (
        f"; {plural(single, 'record')} {'is alone in its' if single == 1 else 'are alone in their'} own"
        if single
        else ""
    )
    records, clusters = (plural(extracts.totals[f"num_{noun}s"], noun) for noun in ("record", "cluster"))
    yield f"{records} fall into {clusters}, the largest of {plural(max(sizes, default=0), 'record')}{alone}."
    if extracts.ledger_counts.height:
        yield lineage.finding(extracts.ledger_counts.drop("graph").sum().row(0, named=True))
    values = extracts.metrics.filter(extracts.metrics["value"].is_not_nan()).head(_NUM_METRICS).to_dicts()
    if values:
        measures = listed([f"{METRICS[row['metric']]} {percent(row['value'])}" for row in values])
        unseen = " and that the scorer did not learn from" if extracts.scorer and extracts.scorer.clusters else ""
        extent = f"the {values[0]['num_records']:,} of {records} that have one{unseen}"
        yield f"Against the gold clusters, over {extent}: {measures}."
    reason = "is forbidden" if extracts.constraints.height else "was never scored"
    yield _near_misses(reason, **extracts.kinds["near_miss"])
    yield _disagreement(extracts)


def _near_misses(reason: str, num: int, num_outweighed: int, num_forbidden: int, **_: object) -> str:
    if not num:
        return "There are no near misses: no record has a positive pair with a cluster that it is not in."
    num_held = num - num_outweighed - num_forbidden
    reasons = {
        f"{verb(num_outweighed, 'be')} outweighed by negative pairs with it": num_outweighed,
        f"may not join, as some pair with it {reason}": num_forbidden,
        f"would bring something, but no more than to {'its' if num_held == 1 else 'their'} own cluster": num_held,
    }
    why = "; ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)
    return f"{plural(num, 'near miss')}: a record has positive pairs with a cluster, but is not in it. Of these, {why}."


def _disagreement(extracts: Extracts) -> str:
    counts = extracts.counts.row(0, named=True)
    kinds = {"positive but apart": "split_pair", "negative but together": "joined_pair"}
    rows = {text: extracts.kinds[kind] for text, kind in kinds.items() if extracts.kinds[kind]["num"]}
    if not counts["num_pairs"]:
        return "No pair has a score, so that each record is alone."
    if not rows:
        pairs = "The only pair agrees" if counts["num_pairs"] == 1 else f"All {counts['num_pairs']:,} pairs agree"
        return f"{pairs} with the clusters: positive ones are together, negative ones apart."
    num = sum(row["num"] for row in rows.values())
    which = listed([f"{row['num']:,} {text} ({signed(row['weight'])} in all)" for text, row in rows.items()])
    never = ", or pairs between were never scored" if counts["missing"] == "forbid" else ""
    share = f"{num:,} of {plural(counts['num_pairs'], 'pair')} ({percent(num / counts['num_pairs'])})"
    return (
        f"{share} {verb(num, 'disagree')} with the clusters: {which}. In a proven partition that is so where scores "
        f"contradict each other{never}."
    )


# --- how sure it is -------------------------------------------------------------------------------------------------


def _unsolved(num: int) -> list[Paragraph]:
    text = f"{plural(num, 'component')} {'was' if num == 1 else 'were'} not partitioned in time: each of their records"
    return [Paragraph(f"{text} is left alone. Set time_limit=<seconds> higher.", "warning")] if num else []


def _optimum(extracts: Extracts) -> Iterator[str]:
    """How many components are proven, how far the others may be from it, and which took longest."""
    total, num = extracts.totals, extracts.totals["num_components"]
    if not num:
        yield _NO_LINKS[extracts.linked]
        return
    besides = f", besides {plural(total['num_single'], 'record')} without any" if total["num_single"] else ""
    pairs = phrase(extracts.linked).capitalize()
    yield f"{pairs} pairs connect the records into {plural(num, 'component')}{besides}; {_proven(extracts)}"
    solved = extracts.hardest.drop_nulls("seconds").sort("seconds", descending=True, maintain_order=True)
    if solved.is_empty():
        yield "None had to be solved: all are taken over from the previous run."
        return
    row = solved.row(0, named=True)
    extent = f"{plural(row['num_records'], 'record')}, {plural(row['num_pairs'], 'pair')}"
    slowest = f"{_component(row, extracts)} ({extent}), took {duration(row['seconds'])}"
    yield f"Solving took {duration(total['seconds'])} in all; the slowest, {slowest}."


def _proven(extracts: Extracts) -> str:
    total, num = extracts.totals, extracts.totals["num_open"]
    is_one, reached = total["num_components"] == 1, f"the objective of {weight(total['objective'])}"
    if not num:
        return f"{'it is' if is_one else 'all are'} proven: no partition has more than {reached}."
    which = "it is" if is_one else f"{num:,} {verb(num, 'be')}"
    worst = extracts.hardest.filter(status="feasible").sort("gap", descending=True, maintain_order=True).head(1)
    gaps = [f", with a gap of up to {gap(row)} ({_component(row, extracts)})" for row in worst.to_dicts()]
    more = weight(max(0.0, total["bound"] - total["objective"]))
    best = f" No partition has more than {weight(total['bound'])}, which is {more} above {reached}."
    return f"{which} not proven{''.join(gaps)}.{'' if total['num_none'] else best}"


def _component(row: Row, extracts: Extracts) -> str:
    return f"component {row['component']}" + (f" of {quoted(row['graph'])}" if extracts.is_study else "")
