"""The page of `entity_resolution`: what was found in sentences, and sections on one graph, or on many of a study."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain

import polars as pl

from tiltmeter.jobs.report.grids import Column, Row, cell, count, grid, number, optional, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Paragraph, Section
from tiltmeter.jobs.report.lead import Lead
from tiltmeter.jobs.report.page import Body
from tiltmeter.jobs.report.views import Show, shown
from tiltmeter.jobs.report.wording import duration, listed, percent, phrase, plural, quoted, verb
from tiltmeter.jobs.resolution.canonical import canonical_section
from tiltmeter.jobs.resolution.config import ResolutionRun
from tiltmeter.jobs.resolution.exports import export_section
from tiltmeter.jobs.resolution.extracts import (
    Extracts,
    cluster_name,
    explanation,
    gap,
    missing_name,
    signed,
    threshold_name,
    weight,
)
from tiltmeter.jobs.resolution.figures import MAX_LINES, MAX_RECORDS, cluster_graph, sizes
from tiltmeter.jobs.resolution.quality import sections
from tiltmeter.jobs.resolution.records import probabilities
from tiltmeter.jobs.resolution.records.sections import record_parts, since_previous, sums
from tiltmeter.jobs.resolution.study import study_findings, study_sections
from tiltmeter.jobs.resolution.tables import METRICS, ConstraintCounts, Metrics, PairCounts
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
_LINKS = {
    "positive": "A cluster of the best partition is connected by positive pairs, so that each component of them is a "
    "problem by itself.",
    "scored": "Centroid linkage is given each component of the scored pairs by itself: records that no chain of scores "
    "connects are at distance 1.",
}


def page(run: Run[ResolutionRun, Files], frames: Frames) -> Body:
    """What the page of a run shows of its tables: one graph in detail, or many by their threshold.

    Tables with a row for each record, component or explanation may have millions of rows. They are left where they
    are: of their files, only the columns and rows are read that the page shows or sums up.
    """
    config = run.config
    scorer = config.records and replace(config.records, path=run.sources.files["records"].uri)
    if scorer and scorer.second:
        scorer = replace(scorer, second=run.sources.files["second"].uri)
    extracts = Extracts(frames, scorer, linked_by(config.solver))
    if extracts.is_study:
        title, findings = f"{_TITLE}: a study", study_findings(extracts)
        parts = [*study_sections(extracts), Section("components", "Components", [*_components(extracts)])]
    else:
        title, findings = _TITLE, chain(_findings(extracts), probabilities.findings(frames))
        parts = [
            *_sections(extracts, config.drawn, config.seed),
            *sections(frames),
            *shown(probabilities.SECTIONS, frames),
            Section("databases", "Databases", [*export_section(run)]),
        ]
    doubts: list[Block] = [*_unsolved(extracts.totals["num_none"]), Bullets(list(_optimum(extracts)))]
    lead = Lead(_QUESTION, [Bullets(list(findings))], doubts)
    return Body(title, _facts(config, extracts.counts), lead, [section for section in parts if section.blocks])


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
    num_by_size = dict(extracts.sizes["clusters"].rows())
    single = num_by_size.get(1, 0)
    alone = (
        f"; {plural(single, 'record')} {'is alone in its' if single == 1 else 'are alone in their'} own"
        if single
        else ""
    )
    records, clusters = (plural(extracts.totals[f"num_{noun}s"], noun) for noun in ("record", "cluster"))
    yield f"{records} fall into {clusters}, the largest of {plural(max(num_by_size, default=0), 'record')}{alone}."
    if extracts.ledger_counts.height:
        yield _kept(**extracts.ledger_counts.drop("graph", "next_id").sum().row(0, named=True))
    values = extracts.metrics.filter(extracts.metrics["value"].is_not_nan()).head(_NUM_METRICS).to_dicts()
    if values:
        measures = listed([f"{METRICS[row['metric']]} {percent(row['value'])}" for row in values])
        learner = "nothing learnt" if extracts.scorer and extracts.scorer.calibration else "the scorer did not learn"
        unseen = f" and that {learner} from" if extracts.scorer and extracts.scorer.clusters else ""
        extent = f"the {values[0]['num_records']:,} of {records} that have one{unseen}"
        yield f"Against the gold clusters, over {extent}: {measures}."
    reason = "is forbidden" if extracts.constraints.height else "was never scored"
    yield _near_misses(reason, **extracts.kinds["near_miss"])
    yield _disagreement(extracts)


def _kept(num_kept: int, num_unchanged: int, num_solved: int, num_reused: int, **events: int) -> str:
    """How many clusters kept their ids, and how many components had to be solved."""
    others = ", ".join(f"{num:,} {name.removeprefix('num_')}" for name, num in events.items())
    return (
        f"Since the previous run {plural(num_kept, 'cluster')} kept {'its id' if num_kept == 1 else 'their ids'}, "
        f"{num_unchanged:,} of them with the same records; {others}. {plural(num_solved, 'component')} "
        f"{'was' if num_solved == 1 else 'were'} solved, {num_reused:,} taken over."
    )


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
    extent = f"{num:,} of {plural(counts['num_pairs'], 'pair')} ({percent(num / counts['num_pairs'])})"
    return (
        f"{extent} {verb(num, 'disagree')} with the clusters: {which}. In a proven partition that is so where scores "
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


# --- sections on one graph ------------------------------------------------------------------------------------------


def _sections(extracts: Extracts, drawn: Sequence[int], seed: int) -> list[Section]:
    """What was found, and how it came about; the components of the numbers ``drawn`` are drawn, from a seed."""
    parts: dict[str, tuple[str, Iterable[Block]]] = {
        "questions": ("Your questions", _asked(extracts)),
        "ledger": ("Since the previous run", since_previous(extracts)),
        "components": ("Components", _components(extracts)),
        **{f"component-{num}": (f"Component {num}", _drawing(num, extracts, seed)) for num in drawn},
        "near-misses": ("Near misses", _explained("near_miss", extracts)),
        "disagreements": ("Pairs that disagree", _disagreements(extracts)),
        "merges": ("What holds the clusters", _explained("merge", extracts)),
        "canonical": ("Canonical rows", canonical_section(extracts.frames)),
        "gold": ("Against the gold clusters", [*_agreement(extracts), *_false_pairs(extracts)]),
        **record_parts(extracts),
        "pairs": ("The pairs", _pairs(extracts)),
    }
    return [Section(anchor, title, list(blocks)) for anchor, (title, blocks) in parts.items()]


def _weight(name: str, heading: str | None = None, *, is_signed: bool = False) -> Column:
    written = signed if is_signed else weight
    return cell(name if heading is None else heading, lambda row: written(row[name]), is_numeric=True)


def _components(extracts: Extracts) -> Iterator[Block]:
    """How large components and clusters are, and which components were the hardest."""
    yield Paragraph(
        f"{_LINKS[extracts.linked]} The gap is the distance from the objective to the bound, which no partition "
        "exceeds, in percent of the objective (or of 1, if that is more); it is 0 for a component that is proven."
    )
    if extracts.sizes["components"].height:
        yield Chart(
            "Bar chart of the number of components and of clusters by their records.",
            "How many components and clusters there are, by the number of their records; each step of the axis is ten "
            "times the one before.",
            {"sizes": sizes(extracts.sizes)},
        )
    num, num_shown = extracts.totals["num_components"] + extracts.totals["num_single"], extracts.hardest.height
    cut = (
        "The largest, the slowest and those not proven with the largest gaps. "
        f"Shown: {num_shown} of {num:,}; the others are in the table components."
    )
    is_packed = extracts.hardest["num_cliques"].is_not_null().any()
    yield grid(
        cut if num > num_shown else "All components.",
        extracts.hardest,
        *(["graph"] if extracts.is_study else []),
        text("component", is_numeric=True),
        *map(count, ["num_records", "num_pairs", "num_clusters"]),
        "status",
        *([] if extracts.is_study else map(_weight, ["objective", "bound"])),
        cell("gap", gap, is_numeric=True),
        number("seconds", digits=2),
        *([] if extracts.is_study or is_packed else map(count, ["num_cuts", "num_branches"])),
        text("solver", names=phrase),
        optional(count("num_cliques")),
        optional(number("clustering_coefficient", "clustering", 3)),
        optional(number("listing_seconds", "phase 1 (s)", 2)),
        optional(number("packing_seconds", "phase 2 (s)", 2)),
    )


def _drawing(component: int, extracts: Extracts, seed: int) -> Iterator[Block]:
    rows = extracts.components.filter(component=component).collect(engine="streaming")
    if rows.is_empty():
        yield Paragraph(f"There is no component {component}: leave it out of drawn.", "warning")
        return
    row = rows.row(0, named=True)
    extent = f"{plural(row['num_records'], 'record')} in {plural(row['num_clusters'], 'cluster')}"
    status = "proven" if row["status"] == "proven" else f"not proven (gap {gap(row)})"
    yield Paragraph(f"{extent}, with an objective of {weight(row['objective'])}, {status}.")
    if row["num_records"] > MAX_RECORDS:
        yield Paragraph(f"Too many to be drawn: the limit is {MAX_RECORDS} records.")
    elif extracts.drawn_pairs is not None:
        pairs = extracts.drawn_pairs.filter(component=component)
        yield Chart(
            f"Graph of the component: {extent}, with lines for the pairs between them.",
            "Dots of one colour and shape: a cluster; hollow ones are alone. Solid lines: positive pairs; dashed ones: "
            f"negative pairs. Of a kind with more than {MAX_LINES} pairs, those of most weight are drawn, and those "
            "that keep a cluster whole. The pointer shows records and weights.",
            {"graph": cluster_graph(pairs, extracts.labels(pl.col("component") == component), seed)},
        )
    kinds = {"near_miss": "Near misses that would bring most", "merge": "What holds the clusters, the weakest first"}
    for kind, title in kinds.items():
        if blocks := list(_sentences(extracts.explained(kind, component), extracts)):
            yield Details(title, blocks)


def _agreement(extracts: Extracts) -> Iterator[Block]:
    if (metrics := extracts.metrics).height:
        caption = (
            f"Agreement over the {plural(metrics['num_records'][0], 'record')} that both partitions have. Precision: "
            "share of the pairs within clusters that are within gold clusters as well; recall: the reverse; F1: their "
            "harmonic mean. All are 1 if the two are the same, but for rates of names. Most pairs are apart in both, "
            "which BLANC counts as agreement."
        )
        yield Show(Metrics, caption, "metric value").grid(metrics)


def _pairs(extracts: Extracts) -> Iterator[Block]:
    """What was read, and what clusters had to obey beside the scores."""
    counts = extracts.counts.row(0, named=True)
    missing = missing_name(counts["missing"], extracts.linked)
    caption = f"What was read. Pairs without a score {missing} (missing={counts['missing']}); threshold: "
    yield sums(PairCounts, f"{caption}{threshold_name(counts['threshold'])}.", counts)
    if extracts.constraints.height:
        yield Show(
            ConstraintCounts,
            "What the clusters obey, whatever the scores say. A pair is overruled if its weight says the reverse.",
            [
                *("constraint", "num_given", "num_unknown", "num_scored", "num_against"),
                _weight("weight_against", "weight overruled"),
            ],
        ).grid(extracts.constraints)


# --- explanations ---------------------------------------------------------------------------------------------------

_OTHER = text("other", "other record")
_PAIR: Sequence[Column | str] = ("record", _OTHER, _weight("weight", is_signed=True), count("component"))


def _explained(kind: str, extracts: Extracts, homes: Mapping[str, int] | None = None) -> Iterator[Block]:
    rows = extracts.explained(kind)
    if rows.height:
        yield Paragraph(extracts.caption(kind, rows))
        yield from _sentences(rows, extracts, homes)


def _sentences(rows: pl.DataFrame, extracts: Extracts, homes: Mapping[str, int] | None = None) -> Iterator[Block]:
    """Why records are together or apart; messy records that were left out stand beside those of the cluster.

    Args:
        homes: clusters of the records, where a row may be about its own.
    """
    if rows.is_empty():
        return
    members = extracts.members(rows["cluster"])
    names = {number: cluster_name(number, *some) for number, some in members.items()}
    home = homes or {}
    yield Bullets(
        [
            explanation(
                row, names[row["cluster"]], is_in=home.get(row["record"]) == row["cluster"], barred=extracts.barred
            )
            for row in rows.to_dicts()
        ]
    )
    lines = [
        {"record": record, "place": f"{place} {row['cluster']}"}
        for row in rows.filter(kind="near_miss").to_dicts()
        for place, records in {
            "left out of": [row["record"]],
            "in": dict.fromkeys([*members[row["cluster"]][0], *row["tipping_records"]]),
        }.items()
        for record in records
    ]
    if values := extracts.values({line["record"] for line in lines}):
        yield grid(
            "The fields of each record that was left out, before those of the cluster that it was left out of.",
            [line | {"values": values[line["record"]]} for line in lines],
            "record",
            text("place", "cluster"),
            *map(_field, next(iter(values.values()))),
        )


def _field(name: str) -> Column:
    return cell(name, lambda row: row["values"][name] or "")


def _disagreements(extracts: Extracts) -> Iterator[Block]:
    kinds = {kind: rows for kind in ("split_pair", "joined_pair") if (rows := extracts.explained(kind)).height}
    if kinds:
        yield Paragraph(
            "Each lowers the objective from what it would be if all scores agreed: by its weight, whatever the sign."
        )
    for kind, rows in kinds.items():
        yield grid(extracts.caption(kind, rows), rows, *_PAIR)


def _false_pairs(extracts: Extracts) -> Iterator[Block]:
    """Scored pairs about which the clusters and gold disagree: whether the score or the others are to blame."""
    for kind, place in {"false_merge": "together", "false_split": "apart"}.items():
        rows, counts = extracts.explained(kind), extracts.kinds[kind]
        if rows.height:
            num, num_other = counts["num_positive"], counts["num"] - counts["num_positive"]
            shares = f"{num:,} {verb(num, 'be')} {place} with a positive score and {num_other:,} with none above 0"
            caption = (
                f"{extracts.caption(kind, rows)} All in all, {shares}. Pairs that were never scored are not listed."
            )
            yield grid(caption, rows, *_PAIR)


def _asked(extracts: Extracts) -> Iterator[Block]:
    rows = extracts.explained("asked")
    if rows.is_empty():
        return
    yield from _explained("asked", extracts, extracts.labels(pl.col("record").is_in(rows["record"].unique().implode())))
    if (pairs := extracts.explained("asked_pair")).height:
        yield grid(
            extracts.caption("asked_pair", pairs),
            pairs,
            "record",
            _OTHER,
            cell(
                "weight",
                lambda row: "never scored" if row["weight"] is None else signed(row["weight"]),
                is_numeric=True,
            ),
            cell("together", lambda row: "no" if row["cluster"] is None else "yes"),
        )
