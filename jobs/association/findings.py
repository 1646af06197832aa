"""What the tables of the association tests say: in sentences, and as cells of their tables."""

from collections.abc import Callable

import polars as pl

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.findings import by_model, measured, on_side, split, why_nothing
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.wording import SIGNIFICANCE, estimate, number, p_equals, p_value, phrase, stars


def combinations(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by similarity and statistic, in the order of the table."""
    return split(rows, "similarity", "statistic", label=lambda *names: ", ".join(map(phrase, names)))


def preferred(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of each model by cosine and mean, as WEAT is defined, or else by its first combination."""
    models = [combinations(part) for part in by_model(rows).values()]
    return pl.concat([parts.get("cosine, mean", next(iter(parts.values()))) for parts in models] or [rows])


def with_effect(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows with an effect size."""
    return measured(rows).drop_nulls("effect_size")


# --- sentences ------------------------------------------------------------------------------------------------------


def association_findings(rows: pl.DataFrame, *, in_short: bool = False) -> list[str]:
    """The association tests of one model that point to one side, by interval, or by p-value where there is none.

    Args:
        in_short: whether one sentence has to do for all that go by interval.
    """
    found = with_effect(rows)
    if found.is_empty():
        return [why_nothing(rows, "association test")]
    with_interval = found.drop_nulls("effect_size_low")
    if with_interval.is_empty():
        return [_by_p_value(found)]
    return [_sides(with_interval)] if in_short else _each(with_interval)


def _sides(found: pl.DataFrame) -> str:
    above, below = (
        f"{rows.height} ({', '.join(rows['test'])})" if rows.height else "none"
        for rows in on_side(found, "effect_size", 0.0)
    )
    return f"Of {found.height} association tests, the interval of d lies above 0 in {above} and below 0 in {below}."


def _each(found: pl.DataFrame) -> list[str]:
    sentences = [_goes_with(row) for row in pl.concat(on_side(found, "effect_size", 0.0)).to_dicts()]
    rest = found.height - len(sentences)
    if rest:
        sentences.append(f"Association tests whose interval includes 0, and names no side: {rest} of {found.height}.")
    return sentences


def _goes_with(row: Row) -> str:
    first, second = ("attribute_a", "attribute_b") if row["effect_size_low"] > 0 else ("attribute_b", "attribute_a")
    return (
        f"Association test {row['test']}: {row['target_x']} go rather with {row[first]}, and {row['target_y']} with "
        f"{row[second]} (effect size d = {estimate(row, 'effect_size', 2)})."
    )


def _by_p_value(found: pl.DataFrame) -> str:
    significant = found.filter(pl.col("p_value") < SIGNIFICANCE).sort("effect_size", descending=True).to_dicts()
    tests = [f"{row['test']} (d = {number(row['effect_size'], 2)}, {p_equals(row['p_value'])})" for row in significant]
    return (
        f"{len(tests)} of {found.height} association tests have one-sided p < {SIGNIFICANCE}: the first targets go "
        "with the first attributes more than regrouping by chance explains"
        f"{', in ' if tests else ''}{', '.join(tests)}."
    )


# --- cells ----------------------------------------------------------------------------------------------------------


def p_cell(row: Row) -> str:
    """A p-value with its stars, and with what it is at least and at most where it is not exact.

    >>> p_cell({"p_value": 0.012, "p_low": 0.009, "p_high": 0.012, "p_method": "monte_carlo"})
    '0.012* [0.0090, 0.012]'
    """
    known = None in (row["p_value"], row["p_low"], row["p_high"]) or row["p_method"] == "exact"
    ends = "" if known else f" [{p_value(row['p_low'])}, {p_value(row['p_high'])}]"
    return f"{p_value(row['p_value'])}{stars(row['p_value'])}{ends}"


def _of_result(heading: str, written: Callable[[Row], str]) -> grids.Column:
    """A column that is empty where there is no result: two occupations would have r = 1."""
    return grids.cell(heading, lambda row: written(row) if row["status"] == "ok" else "", is_numeric=True)


CORRELATIONS = (
    _of_result("Pearson's r", lambda row: estimate(row, "pearson", 2)),
    _of_result("p of r", lambda row: p_value(row["pearson_p"])),
    _of_result("Spearman's ρ", lambda row: estimate(row, "spearman", 2)),
    _of_result("p of ρ", lambda row: p_value(row["spearman_p"])),
    grids.count("num_occupations"),
    grids.optional(grids.text("reason", "why there is none")),
)
"""Columns of rows of ``validation``."""
