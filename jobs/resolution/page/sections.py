"""The sections of a report on one graph: components, explanations, agreement with gold, and drawings on demand."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from tiltmeter.jobs.report.grids import Column, Row, cell, count, grid, number, optional, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import phrase, plural, verb
from tiltmeter.jobs.resolution.page import words
from tiltmeter.jobs.resolution.page.cluster_graphs import MAX_LINES, MAX_RECORDS, cluster_graph
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.figures import sizes
from tiltmeter.jobs.resolution.page.lineage import ledger
from tiltmeter.jobs.resolution.page.rules import constraints
from tiltmeter.jobs.resolution.tables import PAIR_COUNTS


def sections(extracts: Extracts, drawn: Sequence[int], seed: int) -> list[Section]:
    """What was found, and how it came about; the components of the numbers ``drawn`` are drawn, from a seed."""
    parts: dict[str, tuple[str, Iterable[Block]]] = {
        "questions": ("Your questions", _asked(extracts)),
        "ledger": ("Since the previous run", ledger(extracts.ledger, extracts.ledger_counts, extracts.moved_records)),
        "components": ("Components", components(extracts)),
        **{f"component-{num}": (f"Component {num}", _drawing(num, extracts, seed)) for num in drawn},
        "near-misses": ("Near misses", _explained("near_miss", extracts)),
        "disagreements": ("Pairs that disagree", _disagreements(extracts)),
        "merges": ("What holds the clusters", _explained("merge", extracts)),
        "gold": ("Against the gold clusters", [*_agreement(extracts.metrics), *_false_pairs(extracts)]),
        "pairs": ("The pairs", [_counts(extracts), *constraints(extracts.constraints)]),
    }
    every = [Section(anchor, title, list(blocks)) for anchor, (title, blocks) in parts.items()]
    return [section for section in every if section.blocks]


def components(extracts: Extracts) -> Iterator[Block]:
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
        cell("gap", words.gap, is_numeric=True),
        number("seconds", digits=2),
        *([] if extracts.is_study or is_packed else map(count, ["num_cuts", "num_branches"])),
        text("solver", names=phrase),
        optional(count("num_cliques")),
        optional(number("clustering_coefficient", "clustering", 3)),
        optional(number("listing_seconds", "phase 1 (s)", 2)),
        optional(number("packing_seconds", "phase 2 (s)", 2)),
    )


_LINKS = {
    "positive": "A cluster of the best partition is connected by positive pairs, so that each component of them is a "
    "problem by itself.",
    "scored": "Centroid linkage is given each component of the scored pairs by itself: records that no chain of scores "
    "connects are at distance 1.",
}


def _weight(name: str) -> Column:
    return cell(name, lambda row: words.weight(row[name]), is_numeric=True)


def _drawing(component: int, extracts: Extracts, seed: int) -> Iterator[Block]:
    rows = extracts.components.filter(component=component).collect(engine="streaming")
    if rows.is_empty():
        yield Paragraph(f"There is no component {component}: leave it out of drawn.", "warning")
        return
    row = rows.row(0, named=True)
    extent = f"{plural(row['num_records'], 'record')} in {plural(row['num_clusters'], 'cluster')}"
    status = "proven" if row["status"] == "proven" else f"not proven (gap {words.gap(row)})"
    yield Paragraph(f"{extent}, with an objective of {words.weight(row['objective'])}, {status}.")
    if row["num_records"] > MAX_RECORDS:
        yield Paragraph(f"Too many to be drawn: the limit is {MAX_RECORDS} records.")
    elif extracts.drawn_pairs is not None:
        pairs = extracts.drawn_pairs.filter(component=component)
        yield Chart(
            f"Graph of the component: {extent}, with lines for the pairs between them.",
            "Dots of one colour and shape: a cluster; hollow ones are alone. Solid lines: positive pairs; dashed ones: "
            f"negative pairs. Of a kind with more than {MAX_LINES} pairs, those of most weight are drawn, and those "
            "that keep a cluster whole. The pointer shows records and weights.",
            {"graph": cluster_graph(pairs, extracts.labels(component), seed)},
        )
    kinds = {"near_miss": "Near misses that would bring most", "merge": "What holds the clusters, the weakest first"}
    for kind, title in kinds.items():
        if blocks := list(_sentences(extracts.explained(kind, component), extracts)):
            yield Details(title, blocks)


# --- explanations ---------------------------------------------------------------------------------------------------

_FIRST = {
    "near_miss": "Those that would bring most",
    "merge": "Those that hold a record least",
    "split_pair": "The largest",
    "joined_pair": "The largest",
    "false_merge": "The largest",
    "false_split": "The smallest",
    "asked": "Those that would bring most",
    "asked_pair": "The largest",
}
_MEANINGS = {
    "near_miss": "A record with positive pairs into a cluster that it is not in. What it would bring is the sum of all "
    "its weights with that cluster.",
    "merge": "The sum of the weights within a cluster is what it adds to the objective. A record that is held by "
    "little would be lost first, were the scores different.",
    "split_pair": "Positive pairs that are apart, by weight.",
    "joined_pair": "Negative pairs that are together, by weight.",
    "false_merge": "Scored pairs that are together, but in different gold clusters.",
    "false_split": "Scored pairs that are apart, but in one gold cluster.",
    "asked": "What a record would bring into a cluster, or brings into its own: the sum of all its weights with it.",
    "asked_pair": "The pairs that were asked about.",
}


def _explained(kind: str, extracts: Extracts) -> Iterator[Block]:
    rows = extracts.explained(kind)
    if rows.height:
        yield Paragraph(_caption(kind, rows, extracts))
        yield from _sentences(rows, extracts)


def _caption(kind: str, rows: pl.DataFrame, extracts: Extracts) -> str:
    rest = extracts.kinds[kind]["num"] - rows.height
    more = f"; {rest:,} more are in the table explanations." if rest else " come first."
    return f"{_MEANINGS[kind]} {_FIRST[kind]}{more}"


def _sentences(rows: pl.DataFrame, extracts: Extracts, homes: Mapping[str, int] | None = None) -> Iterator[Block]:
    """Why records are together or apart; messy records that were left out stand beside those of the cluster.

    Args:
        homes: clusters of the records, where a row may be about its own.
    """
    if rows.is_empty():
        return
    members = extracts.members(rows["cluster"])
    names = {number: words.cluster_name(number, *some) for number, some in members.items()}
    home = homes or {}
    yield Bullets(
        [
            words.explanation(
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
        yield grid(
            _caption(kind, rows, extracts),
            rows,
            "record",
            text("other", "other record"),
            cell("weight", lambda row: words.signed(row["weight"]), is_numeric=True),
            count("component"),
        )


def _asked(extracts: Extracts) -> Iterator[Block]:
    rows = extracts.explained("asked")
    if rows.is_empty():
        return
    homes = extracts.homes(rows["record"])
    yield Paragraph(_caption("asked", rows, extracts))
    yield from _sentences(rows, extracts, homes)
    if (pairs := extracts.explained("asked_pair")).height:
        yield grid(
            _caption("asked_pair", pairs, extracts),
            pairs,
            "record",
            text("other", "other record"),
            cell("weight", _score, is_numeric=True),
            cell("together", lambda row: "no" if row["cluster"] is None else "yes"),
        )


def _score(row: Row) -> str:
    return "never scored" if row["weight"] is None else words.signed(row["weight"])


# --- gold and pairs -------------------------------------------------------------------------------------------------


def _agreement(metrics: pl.DataFrame) -> Iterator[Block]:
    if metrics.height:
        yield grid(
            f"Agreement over the {plural(metrics['num_records'][0], 'record')} that both partitions have. Precision: "
            "share of the pairs within clusters that are within gold clusters as well; recall: the reverse; F1: their "
            "harmonic mean. All are 1 if the two are the same.",
            metrics,
            text("metric", "measure", words.METRICS),
            number("value", digits=4),
        )


def _false_pairs(extracts: Extracts) -> Iterator[Block]:
    """Scored pairs about which the clusters and gold disagree: whether the score or the others are to blame."""
    for kind, place in {"false_merge": "together", "false_split": "apart"}.items():
        rows, counts = extracts.explained(kind), extracts.kinds[kind]
        if rows.height:
            num, num_other = counts["num_positive"], counts["num"] - counts["num_positive"]
            shares = f"{num:,} {verb(num, 'be')} {place} with a positive score and {num_other:,} with none above 0"
            yield grid(
                f"{_caption(kind, rows, extracts)} All in all, {shares}. Pairs that were never scored are not listed.",
                rows,
                "record",
                text("other", "other record"),
                cell("weight", lambda row: words.signed(row["weight"]), is_numeric=True),
                count("component"),
            )


def _counts(extracts: Extracts) -> Grid:
    counts = extracts.counts.row(0, named=True)
    missing = words.missing_name(counts["missing"], extracts.linked)
    rows = [
        {"what": field.metadata[b"description"].decode(), "num": counts[field.name]}
        for field in PAIR_COUNTS
        if field.name.startswith("num_")
    ]
    return grid(
        f"What was read. Pairs without a score {missing} (missing={counts['missing']}); "
        f"threshold: {words.threshold_name(counts['threshold'])}.",
        rows,
        "what",
        count("num", "how many"),
    )
