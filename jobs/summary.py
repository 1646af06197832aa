"""The last lines of a run: the counts, the most important numbers, and where everything is."""

import polars as pl
from rich.console import Console
from rich.table import Table

from storage.runs import RunDirectory, read_run_table

_NUM_OCCUPATIONS = 5


def print_outcome(console: Console, directory: RunDirectory) -> None:
    """Print what a run found, from the tables that it published."""
    _print_corpora(console, directory)
    if "psychometrics" in directory.tables:
        _print_occupations(console, directory)
        _print_associations(console, directory)
        _print_gender(console, directory)
    units = directory.record["units"]
    counts = f"{units['done']} units done, {units['reused']} reused, {units['failed']} failed"
    console.print(f"{counts} in {directory.record['seconds']:.1f} s", highlight=False)
    # One unbroken line, so that a script can take the path from it.
    console.print(f"run directory: {directory.path}", soft_wrap=True, highlight=False)


def _print_corpora(console: Console, directory: RunDirectory) -> None:
    for row in read_run_table(directory.path, "corpora").to_pylist():
        counts = f"{row['num_articles']:,} articles, {row['num_tokens']:,} tokens, {row['num_words']:,} words"
        console.print(f"\n{row['corpus']} ({row['language']}): {counts}", highlight=False)
        if row["warning"]:
            console.print(f"  warning: {row['warning']}", style="yellow", highlight=False, soft_wrap=True)


def _print_occupations(console: Console, directory: RunDirectory) -> None:
    rows = pl.DataFrame(read_run_table(directory.path, "psychometrics"))
    measured = (
        rows.filter(pl.col("status") == "ok")
        .group_by("word")
        .agg(pl.col("pse", "jnd").mean(), pl.col("percent_women").first(), pl.len().alias("num_pairs"))
    )
    ordered = measured.sort("pse", "word", descending=[True, False])
    table = Table(
        title="Occupations by mean PSE over cue pairs (above 0.5: leans to the female cue)", title_justify="left"
    )
    for heading in ("occupation", "PSE", "JND", "cue pairs", "women in it"):
        table.add_column(heading, justify="left" if heading == "occupation" else "right")
    shown = pl.concat([ordered.head(_NUM_OCCUPATIONS), ordered.tail(_NUM_OCCUPATIONS)]).unique(maintain_order=True)
    for row in shown.to_dicts():
        numbers = (f"{row['pse']:.3f}", f"{row['jnd']:.3f}", str(row["num_pairs"]), f"{row['percent_women']:.0f} %")
        table.add_row(row["word"], *numbers)
    console.print(table)
    num_ok, num_rows = (rows["status"] == "ok").sum(), rows.height
    console.print(
        f"{num_ok} of {num_rows} occupation and cue pair rows measured, the others say why not", highlight=False
    )


def _print_associations(console: Console, directory: RunDirectory) -> None:
    table = Table(title="Association tests", title_justify="left")
    for heading in ("test", "question", "d", "interval", "status"):
        table.add_column(heading, justify="right" if heading == "d" else "left")
    for row in read_run_table(directory.path, "associations").to_pylist():
        question = f"{row['target_x']} / {row['target_y']} with {row['attribute_a']} / {row['attribute_b']}"
        table.add_row(row["test"], question, *_with_interval(row, "effect_size"), row["status"])
    console.print(table)


def _print_gender(console: Console, directory: RunDirectory) -> None:
    for row in read_run_table(directory.path, "gender_languages").to_pylist():
        bias, interval = _with_interval(row, "direct_bias")
        console.print(f"direct bias of {row['num_professions']} professions: {bias} {interval}", highlight=False)


def _with_interval(row: dict[str, object], name: str) -> tuple[str, str]:
    point, low, high = row[name], row[f"{name}_low"], row[f"{name}_high"]
    return "" if point is None else f"{point:.3f}", "" if low is None else f"[{low:.3f}, {high:.3f}]"
