"""The page of a study: many graphs, which differ in their threshold, their seed or what they are about."""

from collections.abc import Iterator

import polars as pl

from tiltmeter.jobs.report.grids import cell, count, grid, number, optional
from tiltmeter.jobs.report.grids import percent as share
from tiltmeter.jobs.report.html.elements import Block, Chart, Paragraph, Section
from tiltmeter.jobs.report.wording import percent, plural
from tiltmeter.jobs.resolution.extracts import NAMED_METRICS, Extracts, threshold_name
from tiltmeter.jobs.resolution.figures import by_threshold
from tiltmeter.jobs.resolution.tables import METRICS

_NUM_GRAPHS = 30
_COUNTS = ["num_records", "num_pairs", "num_components", "num_clusters"]


def study_findings(extracts: Extracts) -> Iterator[str]:
    """What stands out in the partitions of many graphs."""
    graphs = extracts.by_graph
    num_thresholds = graphs["threshold"].n_unique()
    thresholds = f" at {num_thresholds} thresholds" if num_thresholds > 1 else ""
    records, clusters = (plural(extracts.totals[f"num_{noun}s"], noun) for noun in ("record", "cluster"))
    what = f"{plural(graphs.height, 'graph')}{thresholds} were partitioned"
    yield f"{what}: {records}, counted in each, fall into {clusters}."
    solved = graphs.drop_nulls("f1")
    means = solved.group_by("threshold").agg(pl.col("f1").mean()).sort("f1", "threshold").to_dicts()
    if means:
        low, high = (_mean_f1(**row) for row in (means[0], means[-1]))
        differ = f"highest {high} and lowest {low}" if means[0]["f1"] < means[-1]["f1"] else ""
        num = extracts.metrics.filter(metric="f1").join(solved, on="graph", how="semi")["num_records"].sum()
        mean = differ or f"{percent(means[0]['f1'])}{' at each threshold' if len(means) > 1 else ''}"
        extent = f"{num:,} of the {records}, counted in each graph"
        yield f"F1 against the gold clusters is on average {mean}; it rests on {extent}."


def _mean_f1(threshold: float | None, f1: float) -> str:
    place = "without a threshold" if threshold is None else f"at the threshold {threshold_name(threshold)}"
    return f"{place} ({percent(f1)})"


def study_sections(extracts: Extracts) -> list[Section]:
    """What the threshold does, and which of the graphs were the hardest."""
    slowest = extracts.by_graph.sort("gap", "seconds", descending=True, nulls_last=False, maintain_order=True)
    hardest = grid(
        "Those with the largest gaps first, then the slowest.",
        slowest,
        "graph",
        *map(count, _COUNTS),
        count("num_open", "not proven"),
        share("gap", digits=3),
        number("seconds", digits=2),
        share("f1", "F1"),
        most=_NUM_GRAPHS,
    )
    return [
        Section("thresholds", "What the threshold does", list(_thresholds(extracts.by_graph))),
        Section("graphs", "Graphs", [hardest]),
    ]


def _thresholds(graphs: pl.DataFrame) -> Iterator[Block]:
    yield Paragraph(
        "Pairs of less weight than the threshold count as never scored. A higher threshold leaves fewer pairs, so that "
        "less has to be computed; whether it costs agreement with the gold clusters is the question."
    )
    measures = {
        "F1": by_threshold(graphs, "f1", "F1 (%)", 100.0),
        "seconds": by_threshold(graphs, "seconds", "seconds").with_layout(yaxis={"type": "log"}),
        "gap": by_threshold(graphs, "gap", "gap (%)", 100.0),
    }
    if figures := {name: figure for name, figure in measures.items() if len(figure.data[0]["x"])}:
        yield Chart(
            "Box plots of F1, seconds and gap of all graphs, by threshold.",
            "Boxes: the middle half of the graphs, with median (line) and mean (dashed); whiskers: all graphs.",
            figures,
            "Measure",
        )
    largest = pl.col("gap")
    groups = graphs.group_by("threshold").agg(
        pl.len().alias("num_graphs"),
        pl.col(*_COUNTS, "num_open", "seconds").sum(),
        pl.when(largest.null_count() == 0).then(largest.max()).alias("gap"),
        pl.col(NAMED_METRICS).mean(),
    )
    yield grid(
        "Sums over the graphs; measures of agreement with the gold clusters: means of the graphs.",
        groups.sort("threshold", nulls_last=False),
        cell("threshold", lambda row: threshold_name(row["threshold"]), is_numeric=True),
        count("num_graphs"),
        *map(count, _COUNTS),
        count("num_open", "not proven"),
        share("gap", "largest gap", 3),
        number("seconds", digits=1),
        *(optional(share(name, METRICS[name])) for name in NAMED_METRICS),
    )
