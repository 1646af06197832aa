"""The last lines of a run: the counts, the most important numbers, and where everything is."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import polars as pl
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from tiltmeter.jobs.classifiers.decoys.findings import adoption, overall, soonest
from tiltmeter.jobs.resolution.page.words import METRICS, duration, several, weight
from tiltmeter.jobs.runtime.published import published_tables
from tiltmeter.jobs.sentiment.rating.page.findings import changes
from tiltmeter.jobs.sentiment.rating.page.names import amount, attribute, by_case, rated_comparisons, variants_of
from tiltmeter.jobs.upkeep.compare.summary import print_changes
from tiltmeter.jobs.upkeep.prune.page import outcome
from tiltmeter.storage.store.runs import RunDirectory

_NUM_OCCUPATIONS = 5
_SOLVED = ("proven", "feasible", "none")


def print_outcome(console: Console, directory: RunDirectory) -> None:
    """Print what a run found, from the tables that it published."""
    published = published_tables(directory)
    for name, show in _SHOWN.items():
        if name in published:
            rows = published[name].rows
            show(console, _SUMMED[name](rows) if name in _SUMMED else rows.collect())
    units = directory.record["units"]
    counts = f"{units['done']} units done, {units['reused']} reused, {units['failed']} failed"
    done = counts if directory.record.get("stages") else "done"
    console.print(f"{done} in {directory.record['seconds']:.1f} s", highlight=False)
    # One unbroken line, so that a script can take the path from it.
    console.print(f"run directory: {directory.path}", soft_wrap=True, highlight=False)


def _print_corpora(console: Console, rows: pl.DataFrame) -> None:
    for row in rows.to_dicts():
        counts = f"{row['num_articles']:,} articles, {row['num_tokens']:,} tokens, {row['num_words']:,} words"
        console.print(f"\n{row['corpus']} ({row['language']}): {counts}", highlight=False)
        if row["warning"]:
            console.print(f"  warning: {row['warning']}", style="yellow", highlight=False, soft_wrap=True)


def _print_occupations(console: Console, rows: pl.DataFrame) -> None:
    title = "Occupations by mean PSE over gender cue pairs (above 0.5: leans to the female cue)"
    table = _table(title, rows, ("occupation",), ("PSE", "JND", "cue pairs", "women in it"))
    of_gender = rows.filter("is_gender")
    for (model,), part in of_gender.filter(pl.col("status") == "ok").group_by("model", maintain_order=True):
        means = part.group_by("word").agg(pl.col("pse", "jnd").mean(), pl.col("percent_women").first(), pl.len())
        ordered = means.sort("pse", "word", descending=[True, False])
        ends = pl.concat([ordered.head(_NUM_OCCUPATIONS), ordered.tail(_NUM_OCCUPATIONS)]).unique(maintain_order=True)
        for row in ends.to_dicts():
            numbers = (f"{row['pse']:.3f}", f"{row['jnd']:.3f}", str(row["len"]), f"{row['percent_women']:.0f} %")
            table.add_row(*_model(rows, str(model)), row["word"], *numbers)
    console.print(table)
    num_ok = (of_gender["status"] == "ok").sum()
    console.print(f"{num_ok} of {of_gender.height} occupation and cue pair rows measured, the others say why not")


def _print_associations(console: Console, rows: pl.DataFrame) -> None:
    """The first measure of similarity and statistic that was asked for."""
    first = rows.filter(*(pl.col(name) == rows[name][0] for name in ("similarity", "statistic")))
    title = f"Association tests ({first['similarity'][0]}, {first['statistic'][0]})"
    table = _table(title, rows, ("test", "question"), ("d", "interval", "p"), ("status",))
    for row in first.to_dicts():
        question = f"{row['target_x']} / {row['target_y']} with {row['attribute_a']} / {row['attribute_b']}"
        p = "" if row["p_value"] is None else f"{row['p_value']:.2g}"
        table.add_row(
            *_model(rows, row["model"]), row["test"], question, *_with_interval(row, "effect_size"), p, row["status"]
        )
    console.print(table)


def _print_gender(console: Console, rows: pl.DataFrame) -> None:
    table = _table("Gender", rows, ("language",), ("direct bias", "interval", "professions", "pairs"), ("status",))
    for row in rows.to_dicts():
        counts = (str(row["num_professions"]), str(row["num_pairs"]))
        table.add_row(
            *_model(rows, row["model"]), row["language"], *_with_interval(row, "direct_bias"), *counts, row["status"]
        )
    console.print(table)


def _print_ratings(console: Console, rows: pl.DataFrame) -> None:
    """The systems of each case in their order on the first variant, a column for each variant."""
    variants = variants_of(rows)
    title = "Ratings (1: least biased) and raw scores, by group and attribute"
    table = Table("group, attribute", "system", title=title, title_justify="left")
    for variant in variants:
        table.add_column(variant, justify="right")
    for part in by_case(rows).values():
        group, protected = part.row(0, named=True)["group"], part.row(0, named=True)["protected"]
        found = {(row["system"], row["variant"]): row for row in part.to_dicts()}
        systems = part["system"].unique(maintain_order=True)
        cells = ["\n".join(_rating(found.get((system, variant))) for system in systems) for variant in variants]
        head = f"{group}\nby {attribute(protected)}"
        table.add_row(escape(head), escape("\n".join(systems)), *cells, end_section=True)
    console.print(table)


def _rating(row: Mapping[str, Any] | None) -> str:
    return (
        "–" if row is None or row["rating"] is None else f"{row['rating']} ({amount(row['raw_score'], row['measure'])})"
    )


def _print_changes(console: Console, rows: pl.DataFrame) -> None:
    for sentence in changes(rated_comparisons(rows)):
        console.print(sentence, highlight=False, markup=False)


def _sum_components(rows: pl.LazyFrame) -> pl.DataFrame:
    """Over all components; those of one record are no problem, and what was not partitioned has no objective."""
    status, several_records = pl.col("status"), pl.col("num_records") > 1
    sums = rows.select(
        pl.col("graph").n_unique().alias("num_graphs"),
        pl.col("num_records", "num_clusters", "seconds").sum(),
        pl.col("objective", "bound").filter(status != "none").sum(),
        *((several_records & (status == name)).sum().alias(name) for name in _SOLVED),
    )
    return sums.collect(engine="streaming")


def _print_components(console: Console, sums: pl.DataFrame) -> None:
    """How many clusters and components there are, and how far from proven; of several graphs, all together."""
    row = sums.row(0, named=True)
    graphs = f" of {row['num_graphs']:,} graphs" if row["num_graphs"] > 1 else ""
    extent = f"{several(row['num_records'], 'record')}{graphs} in {several(row['num_clusters'], 'cluster')}"
    console.print(f"\n{extent}", highlight=False)
    none = f", {row['none']:,} not partitioned in time" if row["none"] else ""
    proven = f"{row['proven']:,} proven, {row['feasible']:,} with a gap{none}"
    num = sum(row[name] for name in _SOLVED)
    console.print(f"{several(num, 'component')} of 2 records or more: {proven}", highlight=False, soft_wrap=True)
    gap = f", bound {weight(row['bound'])}" if row["feasible"] else ""
    solved = f"objective {weight(row['objective'])}{gap}; solved in {duration(row['seconds'])}"
    console.print(solved, highlight=False)


def _print_metrics(console: Console, rows: pl.DataFrame) -> None:
    """Agreement with gold clusters; of several graphs, the mean."""
    num = rows["graph"].n_unique()
    of = f", mean of {num:,} graphs" if num > 1 else ""
    table = Table("measure", title=f"Against the gold clusters{of}", title_justify="left")
    table.add_column("value", justify="right")
    means = dict(rows.group_by("metric").agg(pl.col("value").fill_nan(None).mean()).rows())
    for name, label in METRICS.items():
        if means.get(name) is not None:
            table.add_row(label, f"{means[name]:.4f}")
    console.print(table)


def _table(
    title: str, rows: pl.DataFrame, words: Sequence[str], numbers: Sequence[str], after: Sequence[str] = ()
) -> Table:
    table = Table(title=title, title_justify="left")
    for heading in (*_model(rows, "model"), *words, *numbers, *after):
        table.add_column(heading, justify="right" if heading in numbers else "left")
    return table


def _model(rows: pl.DataFrame, name: str) -> list[str]:
    """The cell that tells models apart, where there are several."""
    return [name] if rows["model"].n_unique() > 1 else []


def _with_interval(row: Mapping[str, Any], name: str) -> tuple[str, str]:
    point, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    return "" if point is None else f"{point:.3f}", "" if low is None else f"[{low:.3f}, {high:.3f}]"


def _print_private_models(console: Console, rows: pl.DataFrame) -> None:
    """What each model tells of valence and gender, over its seeds."""
    numbers = ("valence_uar", "gender_uar", "ep", "eg")
    table = Table("model", "corpus", title="Mean over the seeds, with intervals", title_justify="left")
    for name in numbers:
        table.add_column(name, justify="right")
    for row in rows.filter(pl.col("seed").is_null()).to_dicts():
        table.add_row(row["model"], row["corpus"], *(" ".join(_with_interval(row, name)) for name in numbers))
    console.print(table)


def _print_sentences(*tell: Callable[[pl.DataFrame], Iterable[str]]) -> Callable[[Console, pl.DataFrame], None]:
    """What functions say of a table, a line each."""

    def show(console: Console, rows: pl.DataFrame) -> None:
        for sentence in chain.from_iterable(part(rows) for part in tell):
            console.print(sentence, highlight=False, markup=False, soft_wrap=True)

    return show


_SHOWN: dict[str, Callable[[Console, pl.DataFrame], None]] = {
    "changes": print_changes,
    "corpora": _print_corpora,
    "psychometrics": _print_occupations,
    "associations": _print_associations,
    "gender_languages": _print_gender,
    "ratings": _print_ratings,
    "comparisons": _print_changes,
    "components": _print_components,
    "metrics": _print_metrics,
    "models": _print_private_models,
    "decoys": _print_sentences(adoption),
    "utility": _print_sentences(soonest, overall),
    "units": _print_sentences(lambda units: [outcome(units)]),
}

_SUMMED = {"components": _sum_components}
"""What is made of tables that grow with the data; the others are read whole."""
