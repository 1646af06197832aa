"""What the tables of the association tests say: in sentences, and as cells of their tables."""

from collections.abc import Callable

import polars as pl

from tiltmeter.jobs.report import grids
from tiltmeter.jobs.report.findings import by_model, measured, split, why_nothing
from tiltmeter.jobs.report.grids import Row
from tiltmeter.jobs.report.sides import Lean, contradictory, on_sides
from tiltmeter.jobs.report.wording import (
    SIGNIFICANCE,
    estimate,
    number,
    p_equals,
    p_value,
    phrase,
    plural,
    some,
    stars,
    verb,
)
from tiltmeter.operators.association.scores import UNDIRECTED


def has_direction(row: Row) -> bool:
    """Whether a row of ``associations`` says which attributes words go with, and not only how far from balance."""
    return row["statistic"] not in UNDIRECTED


EFFECT = Lean("effect_size", others=("score",), has_direction=has_direction)
"""Of rows of ``associations``. For target sets of unequal size the score, a sum, may have another sign than d."""

_MORE = "more than regrouping by chance explains"
_DIRECTED = {
    "greater": f"the first targets go with the first attributes {_MORE}",
    "less": f"the first targets go with the second attributes {_MORE}",
    "two-sided": f"the targets differ in which attributes they go with by {_MORE}",
}
_UNDIRECTED = {
    "greater": f"the first targets are further from balance between the attributes by {_MORE}",
    "less": f"the second targets are further from balance between the attributes by {_MORE}",
    "two-sided": f"the targets differ in how far from balance they are by {_MORE}",
}
"""What a small p-value says, by the alternative that it speaks for."""


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


def directed(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of which a side may be named."""
    return rows.filter(~pl.col("statistic").is_in(UNDIRECTED))


# --- sentences ------------------------------------------------------------------------------------------------------


def association_findings(rows: pl.DataFrame, *, in_short: bool = False) -> list[str]:
    """The association tests of one model that lean to a side, or go by their p-values where there are no intervals.

    Args:
        in_short: whether one sentence has to do for all that have an interval.
    """
    results = with_effect(rows)
    if results.is_empty():
        return [why_nothing(rows, "association test")]
    if not has_direction(results.row(0, named=True)):
        return [_without_direction(results)]
    with_interval = results.drop_nulls("effect_size_low")
    if with_interval.is_empty():
        return [_by_p_value(results)]
    return [_in_short(with_interval)] if in_short else _each(with_interval)


def _in_short(results: pl.DataFrame) -> str:
    above, below, _, doubtful, _ = (rows["test"].to_list() for rows in on_sides(results, EFFECT))
    leaning = [f"{len(tests)} ({', '.join(tests)})" if tests else "none" for tests in (above, below)]
    return (
        f"Of {plural(results.height, 'association test')}, d and its interval lie above 0 in {leaning[0]} and below 0 "
        f"in {leaning[1]}{contradictory('in', len(doubtful))}."
    )


def _each(results: pl.DataFrame) -> list[str]:
    sides, tests = on_sides(results, EFFECT), plural(results.height, "association test")
    sentences = [_puts(row) for row in sides.leaning.to_dicts()]
    if num := sides.neither.height:
        sentences.append(f"{num} of {tests} {verb(num, 'name')} no side: the interval of d includes 0.")
    if num := sides.contradictory.height:
        named = some([f"{row['test']} ({_numbers(row)})" for row in sides.contradictory.to_dicts()])
        sentences.append(
            f"{num} of {tests} {verb(num, 'name')} no side, because the numbers contradict each other: {named}."
        )
    return sentences


def _puts(row: Row) -> str:
    first, second = ("attribute_a", "attribute_b") if row["effect_size"] > 0 else ("attribute_b", "attribute_a")
    return (
        f"Association test {row['test']} puts {row['target_x']} rather with {row[first]}, and {row['target_y']} with "
        f"{row[second]} (effect size {_numbers(row)})."
    )


def _numbers(row: Row) -> str:
    """The effect size, and the score where it has another sign."""
    score = f", score {number(row['score'], 2)}" if EFFECT.is_disputed(row) else ""
    return f"d = {estimate(row, 'effect_size', 2)}{score}"


def _without_direction(results: pl.DataFrame) -> str:
    (combination,) = combinations(results)
    return (
        f"By {combination}, association tests name no side: it says how far words are from balance between the "
        f"attributes, and not which they go with. {_by_p_value(results)}"
    )


def _by_p_value(results: pl.DataFrame) -> str:
    significant = results.filter(pl.col("p_value") < SIGNIFICANCE).sort("effect_size", descending=True).to_dicts()
    tests: dict[bool, list[str]] = {False: [], True: []}
    for row in significant:
        tests[EFFECT.is_disputed(row)].append(f"{row['test']} ({_numbers(row)}, {p_equals(row['p_value'])})")
    named, disputed = tests[False], tests[True]
    num = len(disputed)
    has = verb(1 if results.height == 1 else len(named), "have")
    more = f" {num} more {verb(num, 'name')} no side, as score and d have different signs: {some(disputed)}."
    first = results.row(0, named=True)
    says = (_DIRECTED if has_direction(first) else _UNDIRECTED)[first["alternative"]]
    return (
        f"{len(named)} of {plural(results.height, 'association test')} {has} {sidedness(first)} p < {SIGNIFICANCE}: "
        f"{says}{', in ' if named else ''}{', '.join(named)}.{more if disputed else ''}"
    )


def sidedness(row: Row) -> str:
    """Whether the p-value of a row speaks for one direction or for both.

    >>> sidedness({"alternative": "less"}), sidedness({"alternative": "two-sided"})
    ('one-sided', 'two-sided')
    """
    return "two-sided" if row["alternative"] == "two-sided" else "one-sided"


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
