"""Pairs of records that share a blocking key, compared field by field and scored, by Splink on DuckDB.

All columns that Splink sees are called by number (``f0`` is the first field, ``b1_0`` the first key of the second
blocking rule), so that no name from a file or a config becomes part of its SQL; DuckDB runs in memory and reads no
files. It has one thread, and results are sorted: the same records give the same pairs to the last bit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tiltmeter.operators.resolution.records.columns import ID, WORDS, rules_of
from tiltmeter.operators.resolution.records.scorer import ComparedField

if TYPE_CHECKING:
    from splink import DuckDBAPI, Linker
    from splink.internals.comparison_creator import ComparisonCreator
    from splink.internals.comparison_level_creator import ComparisonLevelCreator

IDS = ["left", "right"]
DEGREES = "gamma_"
"""Of a pair, ``gamma_f0`` is the degree to which the first field agrees: 0 not at all, -1 a record has no value."""

BITS = "mw_"
"""Likewise, what that speaks for a match, in bits."""

_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
}

_SHARED = f"len(list_intersect({{0}}{WORDS}_l, {{0}}{WORDS}_r))"
_JACCARD = f"{_SHARED} / (len({{0}}{WORDS}_l) + len({{0}}{WORDS}_r) - {_SHARED})"


class Model(NamedTuple):
    """What scores a pair: P(match) of any that is proposed, and m and u of each field, from the highest degree down."""

    prior: float
    m: Sequence[Sequence[float]]
    u: Sequence[Sequence[float]]


def degree_names(field: ComparedField) -> list[str]:
    """What each degree of agreement means, from 0 up."""
    return ["different", *reversed([name for name, _ in _between(field, "f")]), "equal"]


def propose(prepared: pl.DataFrame, fields: Sequence[ComparedField]) -> pl.DataFrame:
    """Pairs that agree in all keys of a blocking rule: ``left, right``, sorted, each once."""
    linker = _linker(_database(), prepared, _comparisons(fields))
    pairs = linker.inference.compute_blocked_pairs_for_predict().as_duckdbpyrelation()
    return _sorted(pairs.pl().select(pl.col("join_key_l").alias(IDS[0]), pl.col("join_key_r").alias(IDS[1])))


def compare(prepared: pl.DataFrame, pairs: pl.DataFrame, fields: Sequence[ComparedField]) -> pl.DataFrame:
    """The degree to which each field agrees, of given pairs: ``left, right, gamma_f0, ...``."""
    return _given(prepared, pairs, _comparisons(fields), len(fields)).select(*IDS, f"^{DEGREES}.*$")


def score_given(
    prepared: pl.DataFrame, pairs: pl.DataFrame, fields: Sequence[ComparedField], model: Model
) -> pl.DataFrame:
    """``left, right, match_probability, gamma_f0, ..., mw_f0, ...`` of given pairs, as :func:`score` has them."""
    if pairs.is_empty():
        kinds = dict.fromkeys(IDS, pl.String) | {"match_probability": pl.Float64}
        return pl.DataFrame(schema=kinds)
    ends = pl.concat([pairs[end] for end in IDS]).unique()
    some = prepared.filter(pl.col(ID).is_in(ends.implode()))
    return _given(some, pairs, _learnt(fields, model), len(fields), model.prior)


def _given(
    prepared: pl.DataFrame,
    pairs: pl.DataFrame,
    comparisons: "Sequence[ComparisonCreator]",
    num_fields: int,
    prior: float = 0.5,
) -> pl.DataFrame:
    database = _database()
    linker = _linker(database, prepared, comparisons, prior, with_degrees=True)
    named = pairs.select(pl.col(IDS[0]).alias("join_key_l"), pl.col(IDS[1]).alias("join_key_r"))
    registered = database.register(named.with_columns(match_key=pl.lit("0")).to_arrow())
    linker.table_management.register_blocked_pairs_for_predict(registered)
    compared = linker.inference.predict(warning_mode="never").as_duckdbpyrelation().pl()
    degrees = [pl.col(f"{DEGREES}f{number}").cast(pl.Int64) for number in range(num_fields)]
    bits = [f"{BITS}f{number}" for number in range(num_fields)]
    return _sorted(compared.select(*_ends(), "match_probability", *degrees, *bits))


def score(
    prepared: pl.DataFrame, fields: Sequence[ComparedField], model: Model, part: int, num_parts: int
) -> pl.DataFrame:
    """``left, right, match_probability`` of the pairs of a part: those whose first record falls into it by its hash."""
    linker = _linker(_database(), prepared, _learnt(fields, model), model.prior)
    scored = linker.inference.predict_chunk(left_chunk=(part + 1, num_parts), warning_mode="never")
    return _sorted(scored.as_duckdbpyrelation().pl().select(*_ends(), "match_probability"))


def _between(field: ComparedField, column: str) -> "list[tuple[str, ComparisonLevelCreator]]":
    """Degrees of agreement between equal and different, from the highest down."""
    from splink import comparison_level_library as levels

    def letters(least: float) -> "tuple[str, ComparisonLevelCreator]":
        return f"Jaro-Winkler {least} or more", levels.JaroWinklerLevel(column, least)

    def words(least: float) -> "tuple[str, ComparisonLevelCreator]":
        condition = f"{_JACCARD.format(column)} >= {least}"
        return f"Jaccard of words {least} or more", levels.CustomLevel(condition, label_for_charts=str(least))

    match field.kind:
        case "string":
            return [letters(0.95), letters(0.9), words(0.6), letters(0.8), words(0.4), words(0.2), letters(0.7)]
        case "code":
            return [(f"up to {most} edits", levels.LevenshteinLevel(column, most)) for most in (1, 2, 4)]
        case _:
            return [(f"up to {most} apart", levels.AbsoluteDifferenceLevel(column, most)) for most in field.within]


def _comparisons(fields: Sequence[ComparedField]) -> "list[ComparisonCreator]":
    from splink import comparison_level_library as levels
    from splink import comparison_library

    comparisons: list[ComparisonCreator] = []
    for number, field in enumerate(fields):
        column = f"f{number}"
        between = [level for _, level in _between(field, column)]
        comparisons.append(
            comparison_library.CustomComparison(
                [levels.NullLevel(column), levels.ExactMatchLevel(column), *between, levels.ElseLevel()], column
            )
        )
    return comparisons


def _learnt(fields: Sequence[ComparedField], model: Model) -> "list[ComparisonCreator]":
    """The comparisons as a model weighs them."""
    comparisons = _comparisons(fields)
    for comparison, m, u in zip(comparisons, model.m, model.u, strict=True):
        comparison.configure(m_probabilities=list(m), u_probabilities=list(u))
    return comparisons


def _database() -> "DuckDBAPI":
    import duckdb
    from splink import DuckDBAPI

    return DuckDBAPI(duckdb.connect(":memory:", config=_OPTIONS))


def _linker(
    database: "DuckDBAPI",
    prepared: pl.DataFrame,
    comparisons: "Sequence[ComparisonCreator]",
    prior: float = 0.5,
    *,
    with_degrees: bool = False,
) -> "Linker":
    from splink import Linker, SettingsCreator, block_on

    settings = SettingsCreator(
        link_type="dedupe_only",
        comparisons=list(comparisons),
        blocking_rules_to_generate_predictions=[block_on(*keys) for keys in rules_of(prepared)],
        probability_two_random_records_match=prior,
        unique_id_column_name=ID,
        retain_matching_columns=with_degrees,
        retain_intermediate_calculation_columns=with_degrees,
    )
    return Linker(database.register(prepared.to_arrow()), settings, log_level=None)


def _ends() -> list[pl.Expr]:
    return [pl.col(f"{ID}_{side}").alias(end) for side, end in zip("lr", IDS, strict=True)]


def _sorted(pairs: pl.DataFrame) -> pl.DataFrame:
    """The lesser id to the left, as text."""
    low, high = pl.min_horizontal(IDS), pl.max_horizontal(IDS)
    return pairs.with_columns(low.alias(IDS[0]), high.alias(IDS[1])).sort(IDS)
