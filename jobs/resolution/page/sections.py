"""The sections of a report on one graph: components, explanations, agreement with gold, and drawings on demand."""

from collections.abc import Iterator, Sequence

import polars as pl

from tiltmeter.jobs.report.grids import Column, Row, cell, count, grid, number, text
from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import phrase, plural
from tiltmeter.jobs.resolution.page import words
from tiltmeter.jobs.resolution.page.cluster_graphs import MAX_LINES, MAX_RECORDS, cluster_graph
from tiltmeter.jobs.resolution.page.extracts import Extracts
from tiltmeter.jobs.resolution.page.figures import sizes


def sections(extracts: Extracts, drawn: Sequence[int], seed: int) -> list[Section]:
    """What was found, and how it came about.

    Args:
        drawn: numbers of the components to draw.
        seed: of the drawings.
    """
    asked = [
        Section("components", "Components", list(components(extracts))),
        *(_drawing(component, extracts, seed) for component in drawn),
        Section("near-misses", "Near misses", _explained("near_miss", _NEAR_MISSES, extracts)),
        Section("disagreements", "Pairs that disagree", _disagreements(extracts)),
        Section("merges", "What holds the clusters", _explained("merge", _MERGES, extracts)),
        Section("gold", "Against the gold clusters", list(_agreement(extracts.metrics))),
        Section("pairs", "The pairs", [_counts(extracts.counts.row(0, named=True))]),
    ]
    return [section for section in asked if section.blocks]


# --- components -----------------------------------------------------------------------------------------------------


def components(extracts: Extracts) -> Iterator[Block]:
    """How large components and clusters are, and which components were the hardest."""
    yield Paragraph(
        "A cluster of the best partition is connected by positive pairs, so that each component of them is a problem "
        "by itself. The gap is the distance from the objective to the bound, which no partition exceeds, in percent of "
        "the objective (or of 1, if that is more); it is 0 for a component that is proven."
    )
    if extracts.sizes["components"].height:
        yield Chart(
            "Bar chart of the number of components and of clusters by their records.",
            "How many components and clusters there are, by the number of their records; each step of the axis is ten "
            "times the one before.",
            {"sizes": sizes(extracts.sizes)},
        )
    yield _hardest(extracts)


def _hardest(extracts: Extracts) -> Grid:
    num, num_shown = extracts.totals["num_components"] + extracts.totals["num_single"], extracts.hardest.height
    cut = (
        "The largest, the slowest and those not proven with the largest gaps. "
        f"Shown: {num_shown} of {num:,}; the others are in the table components."
    )
    return grid(
        cut if num > num_shown else "All components.",
        extracts.hardest,
        *(["graph"] if extracts.is_study else []),
        text("component", is_numeric=True),
        *map(count, ["num_records", "num_pairs", "num_clusters"]),
        "status",
        *([] if extracts.is_study else [_weight("objective"), _weight("bound")]),
        cell("gap", words.gap, is_numeric=True),
        number("seconds", digits=2),
        *([] if extracts.is_study else [count("num_cuts"), count("num_branches")]),
        text("solver", names=phrase),
    )


def _weight(name: str) -> Column:
    return cell(name, lambda row: words.weight(row[name]), is_numeric=True)


def _drawing(component: int, extracts: Extracts, seed: int) -> Section:
    blocks: list[Block] = [Paragraph(f"There is no component {component}: leave it out of drawn.", "warning")]
    for row in extracts.components.filter(component=component).collect(engine="streaming").to_dicts():
        blocks = list(_component(row, extracts, seed))
    return Section(f"component-{component}", f"Component {component}", blocks)


def _component(row: Row, extracts: Extracts, seed: int) -> Iterator[Block]:
    extent = f"{plural(row['num_records'], 'record')} in {plural(row['num_clusters'], 'cluster')}"
    status = "proven" if row["status"] == "proven" else f"not proven (gap {words.gap(row)})"
    yield Paragraph(f"{extent}, with an objective of {words.weight(row['objective'])}, {status}.")
    if row["num_records"] > MAX_RECORDS:
        yield Paragraph(f"Too many to be drawn: the limit is {MAX_RECORDS} records.")
    elif extracts.drawn_pairs is not None:
        pairs = extracts.drawn_pairs.filter(component=row["component"])
        yield Chart(
            f"Graph of the component: {extent}, with lines for the pairs between them.",
            "Dots of one colour and shape: a cluster; hollow ones are alone. Solid lines: positive pairs; dashed ones: "
            f"negative pairs. Of a kind with more than {MAX_LINES} pairs, those of most weight are drawn, and those "
            "that keep a cluster whole. The pointer shows records and weights.",
            {"graph": cluster_graph(pairs, extracts.records(row["component"]), seed)},
        )
    kinds = {"near_miss": "Near misses that would bring most", "merge": "What holds the clusters, the weakest first"}
    for kind, title in kinds.items():
        rows = extracts.explained(kind, row["component"])
        if rows.height:
            yield Details(title, [_sentences(rows, extracts)])


# --- explanations ---------------------------------------------------------------------------------------------------

_FIRST = {
    "near_miss": "Those that would bring most",
    "merge": "Those that hold a record least",
    "split_pair": "The largest",
    "joined_pair": "The largest",
}
_NEAR_MISSES = (
    "A record with positive pairs into a cluster that it is not in. What it would bring is the sum of all its weights "
    "with that cluster."
)
_MERGES = (
    "The sum of the weights within a cluster is what it adds to the objective. A record that is held by little would "
    "be lost first, were the scores different."
)


def _explained(kind: str, text: str, extracts: Extracts) -> list[Block]:
    rows = extracts.explained(kind)
    return [Paragraph(f"{text} {_shown(rows, extracts)}"), _sentences(rows, extracts)] if rows.height else []


def _sentences(rows: pl.DataFrame, extracts: Extracts) -> Bullets:
    names = extracts.cluster_names(rows["cluster"])
    return Bullets([words.explanation(row, names[row["cluster"]]) for row in rows.to_dicts()])


def _disagreements(extracts: Extracts) -> list[Block]:
    effect = "Each lowers the objective from what it would be if all scores agreed: by its weight, whatever the sign."
    kinds = {"split_pair": "Positive pairs that are apart", "joined_pair": "Negative pairs that are together"}
    grids = [
        grid(
            f"{title}, by weight. {_shown(rows, extracts)}",
            rows,
            "record",
            text("other", "other record"),
            cell("weight", lambda row: words.signed(row["weight"]), is_numeric=True),
            count("component"),
        )
        for kind, title in kinds.items()
        if (rows := extracts.explained(kind)).height
    ]
    return [Paragraph(effect), *grids] if grids else []


def _shown(rows: pl.DataFrame, extracts: Extracts) -> str:
    kind = rows["kind"][0]
    rest = extracts.disagreement[f"num_{kind}"] - rows.height
    return f"{_FIRST[kind]}; {rest:,} more are in the table explanations." if rest else f"{_FIRST[kind]} come first."


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


def _counts(row: Row) -> Grid:
    below = f"pairs below the threshold ({words.threshold_name(row['threshold'])}), which count as never scored"
    names = {
        "num_records": "records",
        "num_pairs": "pairs that were kept",
        "num_self_pairs": "pairs of a record with itself, left out",
        "num_repeated": "pairs that came again with the same weight, left out",
        "num_contradicting": "pairs that came again with another weight, of which the mean was taken",
        "num_below_threshold": below,
    }
    return grid(
        f"What was read. Pairs without a score {words.MISSING[row['missing']]} (missing={row['missing']}).",
        [{"what": name, "num": row[column]} for column, name in names.items()],
        "what",
        count("num", "how many"),
    )
