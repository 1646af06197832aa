"""The sections of a report on one graph: components, explanations, agreement with gold, and drawings on demand."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import polars as pl

from tiltmeter.jobs.report.html.elements import Block, Bullets, Chart, Details, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import number, phrase, plural
from tiltmeter.jobs.resolution.page import figures as resolution_figures
from tiltmeter.jobs.resolution.page.cluster_graphs import MAX_LINES, MAX_RECORDS, cluster_graph
from tiltmeter.jobs.resolution.page.extracts import LargeTables
from tiltmeter.jobs.resolution.page.words import (
    METRICS,
    MISSING,
    Row,
    cluster_names,
    gap,
    merge_text,
    near_miss_text,
    signed,
    threshold_name,
    weight,
)
from tiltmeter.jobs.runtime.published import Frames


def sections(frames: Frames, large: LargeTables, drawn: Sequence[int], seed: int) -> list[Section]:
    """What was found, and how it came about.

    Args:
        drawn: numbers of the components to draw.
        seed: of the drawings.
    """
    drawings = [_drawing(component, frames, large, seed) for component in drawn]
    asked = [
        Section("components", "Components", components(large, is_study=False)),
        *drawings,
        Section("near-misses", "Near misses", _near_misses(large)),
        Section("disagreements", "Pairs that disagree", _disagreements(large)),
        Section("merges", "What holds the clusters", _merges(large)),
        Section("gold", "Against the gold clusters", _agreement(frames)),
        Section("pairs", "The pairs", [_counts(frames["pair_counts"].row(0, named=True))]),
    ]
    return [section for section in asked if section.blocks]


# --- components -----------------------------------------------------------------------------------------------------


def components(large: LargeTables, *, is_study: bool) -> list[Block]:
    """How large components and clusters are, and which components were the hardest.

    Args:
        is_study: whether they are of many graphs.
    """
    text = (
        "A cluster of the best partition is connected by positive pairs, so that each component of them is a problem "
        "by itself. The gap is the distance from the objective to the bound, which no partition exceeds, in percent of "
        "the objective (or of 1, if that is more); it is 0 for a component that is proven."
    )
    chart = Chart(
        "Bar chart of the number of components and of clusters by their records.",
        "How many components and clusters there are, by the number of their records; each step of the axis is ten "
        "times the one before.",
        {"sizes": resolution_figures.sizes(large.sizes)},
    )
    return [Paragraph(text), *([chart] if large.sizes["components"].height else []), _hardest(large, is_study)]


def _hardest(large: LargeTables, is_study: bool) -> Grid:
    num, rows = large.totals["num_components"] + large.totals["num_single"], large.hardest.to_dicts()
    which = (
        "The largest, the slowest and those not proven with the largest gaps" if num > len(rows) else "All components"
    )
    rest = f" Shown: {len(rows)} of {num:,}; the others are in the table components." if num > len(rows) else ""
    shown = [_component(row) for row in rows]
    heads = [head for head in _COMPONENT if is_study or head != "graph"]
    heads = [head for head in heads if not (is_study and head in _WORK)]
    return Grid(
        f"{which}.{rest}",
        heads,
        [[cells[head] for head in heads] for cells in shown],
        numeric=[head for head in heads if head not in ("graph", "status", "solver")],
    )


_WORK = ("objective", "bound", "cuts", "branches")
_COMPONENT = (
    *("graph", "component", "records", "pairs", "clusters", "status", "objective", "bound", "gap", "seconds"),
    *("cuts", "branches", "solver"),
)


def _component(row: Row) -> dict[str, str]:
    counts = {name: f"{row[f'num_{name}']:,}" for name in ("records", "pairs", "clusters", "cuts", "branches")}
    sums = {name: weight(row[name]) for name in ("objective", "bound")}
    names = {"graph": row["graph"], "component": str(row["component"]), "solver": phrase(row["solver"])}
    return counts | sums | names | {"status": row["status"], "gap": gap(row), "seconds": number(row["seconds"], 2)}


def _drawing(number_: int, frames: Frames, large: LargeTables, seed: int) -> Section:
    blocks: list[Block] = [Paragraph(f"There is no component {number_}: leave it out of drawn.", "warning")]
    for row in large.component(number_).to_dicts():
        blocks = [*_graph(row, frames, large, seed), *_explanations(number_, large)]
    return Section(f"component-{number_}", f"Component {number_}", blocks)


def _graph(row: Row, frames: Frames, large: LargeTables, seed: int) -> Iterator[Block]:
    extent = f"{plural(row['num_records'], 'record')} in {plural(row['num_clusters'], 'cluster')}"
    status = "proven" if row["status"] == "proven" else f"not proven (gap {gap(row)})"
    yield Paragraph(f"{extent}, with an objective of {weight(row['objective'])}, {status}.")
    if row["num_records"] > MAX_RECORDS:
        yield Paragraph(f"Too many to be drawn: the limit is {MAX_RECORDS} records.")
        return
    if "drawn_pairs" not in frames:
        return
    pairs, clusters = frames["drawn_pairs"].filter(component=row["component"]), large.records(row["component"])
    yield Chart(
        f"Graph of the component: {extent}, with lines for the pairs between them.",
        "Dots of one colour and shape: a cluster; hollow ones are alone. Solid lines: positive pairs; dashed ones: "
        f"negative pairs. Of a kind with more than {MAX_LINES} pairs, those of most weight are drawn, and those that "
        "keep a cluster whole. The pointer shows records and weights.",
        {"graph": cluster_graph(pairs, clusters, seed)},
    )


def _explanations(component: int, large: LargeTables) -> Iterator[Block]:
    missed, merged = large.near_misses(component), large.merges(component)
    if missed.height:
        yield Details("Near misses that would bring most", [_told(near_miss_text, missed, large)])
    if merged.height:
        yield Details("What holds the clusters, the weakest first", [_told(merge_text, merged, large)])


# --- explanations ---------------------------------------------------------------------------------------------------


def _told(tell: Callable[[Row, Mapping[int, str]], str], rows: pl.DataFrame, large: LargeTables) -> Bullets:
    names = cluster_names(large.clusters, rows["cluster"])
    return Bullets([_capitalised(tell(row, names)) for row in rows.to_dicts()])


def _capitalised(text: str) -> str:
    return text[:1].upper() + text[1:]


def _near_misses(large: LargeTables) -> list[Block]:
    num, rows = large.disagreement["num_missed"], large.near_misses()
    if not num:
        return []
    text = (
        "A record with positive pairs into a cluster that it is not in. What it would bring is the sum of all its "
        f"weights with that cluster. {_shown('Those that would bring most', rows.height, num)}"
    )
    return [Paragraph(text), _told(near_miss_text, rows, large)]


def _shown(which: str, shown: int, num: int) -> str:
    return f"{which}; {num - shown:,} more are in the table explanations." if num > shown else f"{which} come first."


def _merges(large: LargeTables) -> list[Block]:
    rows = large.merges()
    if rows.is_empty():
        return []
    num = int(large.sizes["clusters"].filter(pl.col("size") > 1)["num"].sum())
    text = (
        "The sum of the weights within a cluster is what it adds to the objective. A record that is held by little "
        f"would be lost first, were the scores different. {_shown('Those that hold a record least', rows.height, num)}"
    )
    return [Paragraph(text), _told(merge_text, rows, large)]


def _disagreements(large: LargeTables) -> list[Block]:
    found = large.disagreement
    kinds = {"split_pair": "Positive pairs that are apart", "joined_pair": "Negative pairs that are together"}
    grids = [
        _pairs(large.disagreeing(kind), name, found[f"num_{kind}"])
        for kind, name in kinds.items()
        if found[f"num_{kind}"]
    ]
    text = "Each lowers the objective from what it would be if all scores agreed: by its weight, whatever the sign."
    return [Paragraph(text), *grids] if grids else []


def _pairs(rows: pl.DataFrame, name: str, num: int) -> Grid:
    return Grid(
        f"{name}, by weight. {_shown('The largest', rows.height, num)}",
        ["record", "other record", "weight", "component"],
        [[row["record"], row["other"], signed(row["weight"]), f"{row['component']:,}"] for row in rows.to_dicts()],
        numeric=["weight", "component"],
    )


# --- gold and pairs -------------------------------------------------------------------------------------------------


def _agreement(frames: Frames) -> list[Block]:
    if "metrics" not in frames or frames["metrics"].is_empty():
        return []
    rows = {row["metric"]: row for row in frames["metrics"].to_dicts()}
    ordered = [*(name for name in METRICS if name in rows), *(name for name in rows if name not in METRICS)]
    shown = [[METRICS.get(name, phrase(name)), number(rows[name]["value"], 4)] for name in ordered]
    records = plural(next(iter(rows.values()))["num_records"], "record")
    caption = (
        f"Agreement over the {records} that both partitions have. Precision: share of the pairs within clusters that "
        "are within gold clusters as well; recall: the reverse; F1: their harmonic mean. All are 1 if the two are the "
        "same."
    )
    return [Grid(caption, ["measure", "value"], shown, numeric=["value"])]


def _counts(row: Row) -> Grid:
    threshold = threshold_name(row["threshold"])
    names = {
        "num_records": "records",
        "num_pairs": "pairs that were kept",
        "num_self_pairs": "pairs of a record with itself, left out",
        "num_repeated": "pairs that came again with the same weight, left out",
        "num_contradicting": "pairs that came again with another weight, of which the mean was taken",
        "num_below_threshold": f"pairs below the threshold ({threshold}), which count as never scored",
    }
    return Grid(
        f"What was read. Pairs without a score {MISSING[row['missing']]} (missing={row['missing']}).",
        ["what", "how many"],
        [[name, f"{row[column]:,}"] for column, name in names.items()],
        numeric=["how many"],
    )
