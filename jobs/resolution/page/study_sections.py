"""The sections of a report on many graphs, which differ in their threshold, their seed or what they are about."""

import polars as pl

from tiltmeter.jobs.report.html.elements import Block, Chart, Grid, Paragraph, Section
from tiltmeter.jobs.report.wording import number, percent
from tiltmeter.jobs.resolution.page.extracts import LargeTables
from tiltmeter.jobs.resolution.page.figures import Measure, by_threshold
from tiltmeter.jobs.resolution.page.sections import components
from tiltmeter.jobs.resolution.page.words import METRICS, Row, threshold_name
from tiltmeter.jobs.runtime.published import Frames

_NUM_GRAPHS = 30
_NAMED = ["f1", "precision", "recall", "v_measure", "adjusted_rand"]


def by_graph(frames: Frames, large: LargeTables) -> pl.DataFrame:
    """A row for each graph, with its threshold, what came of its components, and its metrics.

    The gap is null where a component has no partition.
    """
    rows = frames["pair_counts"].join(_solved(large), on="graph", how="left", maintain_order="left")
    if "metrics" not in frames:
        return rows.with_columns(*(pl.lit(None, pl.Float64).alias(name) for name in _NAMED))
    values = (pl.col("value").filter(metric=name).first().fill_nan(None).alias(name) for name in _NAMED)
    return rows.join(frames["metrics"].group_by("graph").agg(*values), on="graph", how="left", maintain_order="left")


def _solved(large: LargeTables) -> pl.DataFrame:
    """What came of each graph's components; its gap is that of all together."""
    is_found, is_open = pl.col("status") != "none", pl.col("status") != "proven"
    sums = large.components.group_by("graph").agg(
        (pl.col("num_records") > 1).sum().alias("num_components"),
        pl.col("num_clusters", "seconds").sum(),
        is_open.sum().alias("num_open"),
        (~is_found).sum().alias("num_none"),
        pl.col("objective", "bound").filter(is_found).sum(),
    )
    missing = (pl.col("bound") - pl.col("objective")).clip(0.0)
    gap = pl.when(pl.col("num_none") == 0).then(missing / pl.max_horizontal(pl.col("objective").abs(), 1.0))
    return sums.with_columns(gap.alias("gap")).collect(engine="streaming")


def study_sections(graphs: pl.DataFrame, large: LargeTables) -> list[Section]:
    """What the threshold does, which graphs were the hardest, and their components.

    Args:
        graphs: of :func:`by_graph`.
    """
    return [
        Section("thresholds", "What the threshold does", _thresholds(graphs)),
        Section("graphs", "Graphs", [_hardest(graphs)]),
        Section("components", "Components", components(large, is_study=True)),
    ]


# --- thresholds -----------------------------------------------------------------------------------------------------


_MEASURES = {
    "F1": Measure("f1", "F1 (%)", 100.0),
    "seconds": Measure("seconds", "seconds", is_logarithmic=True),
    "gap": Measure("gap", "gap (%)", 100.0),
}


def _thresholds(graphs: pl.DataFrame) -> list[Block]:
    text = (
        "Pairs of less weight than the threshold count as never scored. A higher threshold leaves fewer pairs, so that "
        "less has to be computed; whether it costs agreement with the gold clusters is the question."
    )
    figures = {
        label: by_threshold(graphs, measure) for label, measure in _MEASURES.items() if graphs[measure.column].count()
    }
    chart = Chart(
        "Box plots of F1, seconds and gap of all graphs, by threshold.",
        "Boxes: the middle half of the graphs, with median (line) and mean (dashed); whiskers: all graphs.",
        figures,
        "Measure",
    )
    return [Paragraph(text), *([chart] if figures else []), _by_threshold(graphs)]


def _by_threshold(graphs: pl.DataFrame) -> Grid:
    sums = ("num_records", "num_pairs", "num_components", "num_clusters", "num_open", "seconds")
    gap = pl.col("gap")
    groups = graphs.group_by("threshold").agg(
        pl.len().alias("num_graphs"),
        pl.col(sums).sum(),
        pl.when(gap.null_count() == 0).then(gap.max()).alias("gap"),
        pl.col(_NAMED).mean(),
    )
    heads = ["graphs", "records", "pairs", "components", "clusters", "not proven", "largest gap", "seconds"]
    named = [name for name in _NAMED if graphs[name].count()]
    metrics = [METRICS[name] for name in named]
    return Grid(
        "Sums over the graphs; measures of agreement with the gold clusters: means of the graphs.",
        ["threshold", *heads, *metrics],
        [_threshold(row, named) for row in groups.sort("threshold", nulls_last=False).to_dicts()],
        numeric=["threshold", *heads, *metrics],
    )


def _threshold(row: Row, named: list[str]) -> list[str]:
    counts = [f"{row[f'num_{name}']:,}" for name in ("graphs", "records", "pairs", "components", "clusters", "open")]
    effort = [percent(row["gap"], 3), number(row["seconds"], 1)]
    return [threshold_name(row["threshold"]), *counts, *effort, *(percent(row[name]) for name in named)]


def _hardest(graphs: pl.DataFrame) -> Grid:
    """The graphs with the largest gaps, and of those without any the slowest."""
    rows = graphs.sort("gap", "seconds", descending=True, nulls_last=False, maintain_order=True).head(_NUM_GRAPHS)
    cut = f" Shown: {_NUM_GRAPHS} of {graphs.height:,}." if graphs.height > _NUM_GRAPHS else ""
    heads = ["records", "pairs", "components", "clusters", "not proven", "gap", "seconds", "F1"]
    return Grid(
        f"Those with the largest gaps first, then the slowest.{cut}",
        ["graph", *heads],
        [_graph(row) for row in rows.to_dicts()],
        numeric=heads,
    )


def _graph(row: Row) -> list[str]:
    counts = [_count(row[f"num_{name}"]) for name in ("records", "pairs", "components", "clusters", "open")]
    return [row["graph"], *counts, percent(row["gap"], 3), number(row["seconds"], 2), percent(row["f1"])]


def _count(num: int | None) -> str:
    return "–" if num is None else f"{num:,}"
