"""What the tables of the association tests say: in sentences, and as cells of their tables."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tiltmeter.jobs.report.findings import by_model, measured, on_side, why_nothing
from tiltmeter.jobs.report.wording import SIGNIFICANCE, estimate, number, p_equals, p_value, phrase, stars

_USUAL = {"similarity": "cosine", "statistic": "mean"}


def combinations(rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Rows by similarity and statistic, in the order of the table."""
    parts = rows.partition_by("similarity", "statistic", maintain_order=True, as_dict=True)
    return {f"{similarity}, {phrase(statistic)}": part for (similarity, statistic), part in parts.items()}


def preferred(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of each model by cosine and mean, as WEAT is defined, or else by its first combination."""
    parts = by_model(rows).values()
    return pl.concat([_usual(part) for part in parts]) if parts else rows


def _usual(rows: pl.DataFrame) -> pl.DataFrame:
    usual = rows.filter(**_USUAL)
    return next(iter(combinations(rows).values())) if usual.is_empty() else usual


def association_findings(rows: pl.DataFrame) -> list[str]:
    """The association tests of one model that point to one side, by interval, or by p-value where there is none."""
    found = measured(rows).drop_nulls("effect_size")
    if found.is_empty():
        return [why_nothing(rows, "association test")]
    with_interval = found.drop_nulls("effect_size_low")
    return _by_p_value(found) if with_interval.is_empty() else _by_interval(with_interval)


def association_finding_in_short(rows: pl.DataFrame) -> list[str]:
    """The same in one sentence, for reports on several models."""
    found = measured(rows).drop_nulls("effect_size")
    if found.is_empty():
        return [why_nothing(rows, "association test")]
    with_interval = found.drop_nulls("effect_size_low")
    if with_interval.is_empty():
        return _by_p_value(found)
    above, below = on_side(with_interval, "effect_size", 0.0)
    sides = f"above 0 in {_listed(above)} and below 0 in {_listed(below)}"
    return [f"Of {with_interval.height} association tests, the interval of d lies {sides}."]


def _listed(rows: pl.DataFrame) -> str:
    return f"{rows.height} ({', '.join(rows['test'])})" if rows.height else "none"


def _by_interval(found: pl.DataFrame) -> list[str]:
    above, below = on_side(found, "effect_size", 0.0)
    sentences = [_goes_with(row) for row in pl.concat([above, below]).to_dicts()]
    rest = found.height - len(sentences)
    if rest:
        sentences.append(f"Association tests whose interval includes 0, and names no side: {rest} of {found.height}.")
    return sentences


def _goes_with(row: Mapping[str, Any]) -> str:
    first, second = ("attribute_a", "attribute_b") if row["effect_size_low"] > 0 else ("attribute_b", "attribute_a")
    return (
        f"Association test {row['test']}: {row['target_x']} go rather with {row[first]}, and {row['target_y']} with "
        f"{row[second]} (effect size d = {estimate(row, 'effect_size', 2)})."
    )


def _by_p_value(found: pl.DataFrame) -> list[str]:
    if found.is_empty():
        return []
    significant = found.filter(pl.col("p_value") < SIGNIFICANCE).sort("effect_size", descending=True).to_dicts()
    tests = [f"{row['test']} (d = {number(row['effect_size'], 2)}, {p_equals(row['p_value'])})" for row in significant]
    listed = f", in {', '.join(tests)}" if tests else ""
    what = f"{len(tests)} of {found.height} association tests have one-sided p < {SIGNIFICANCE}"
    return [f"{what}: the first targets go with the first attributes more than regrouping by chance explains{listed}."]


def p_cell(row: Mapping[str, Any]) -> str:
    """A p-value with its stars, and with what it is at least and at most where it is not exact.

    >>> p_cell({"p_value": 0.012, "p_low": 0.009, "p_high": 0.012, "p_method": "monte_carlo"})
    '0.012* [0.0090, 0.012]'
    """
    known = None in (row["p_value"], row["p_low"], row["p_high"]) or row["p_method"] == "exact"
    ends = "" if known else f" [{p_value(row['p_low'])}, {p_value(row['p_high'])}]"
    return f"{p_value(row['p_value'])}{stars(row['p_value'])}{ends}"
