"""Pairs of records that share a blocking key, compared field by field and scored, by Splink on DuckDB.

All columns that Splink sees are called by number (``f0`` is the first field, ``b1_0`` the first key of the second
blocking rule), so that no name from a file or a config becomes part of its SQL; DuckDB runs in memory and reads no
files. It has one thread, and results are sorted: the same records give the same pairs to the last bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from logging import ERROR
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import polars as pl

from tiltmeter.operators.resolution.records.columns import BLOCKING, ID, ORIGIN, rules_of
from tiltmeter.operators.resolution.records.levels import levels_of
from tiltmeter.operators.resolution.records.scorer import ComparedField

if TYPE_CHECKING:
    from splink import DuckDBAPI, Linker
    from splink.internals.comparison_creator import ComparisonCreator

IDS = ["left", "right"]
DEGREES = "gamma_"
"""Of a pair, ``gamma_f0`` is the degree to which the first field agrees: 0 not at all, -1 a record has no value."""

BITS = "mw_"
"""Likewise, what that speaks for a match, in bits."""

MAX_ITERATIONS = 200
"""Of an estimation by EM."""

_OPTIONS: dict[str, str | bool | int | float | list[str]] = {
    "threads": 1,
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
}

_JOINED = "-__-"
"""By which Splink puts the file and the id of a record into one key."""


class Model(NamedTuple):
    """What scores a pair: P(match) of any that is proposed, and m and u of each field, from the highest degree down.

    Attributes:
        frequencies: by the number of a field that has them ``value, share``, and a row without a value for all others.
    """

    prior: float
    m: Sequence[Sequence[float]]
    u: Sequence[Sequence[float]]
    frequencies: Mapping[int, pl.DataFrame] = MappingProxyType({})


def degree_names(field: ComparedField) -> list[str]:
    """What each degree of agreement means, from 0 up."""
    return levels_of(field, "f")[0][::-1]


def propose(prepared: pl.DataFrame, fields: Sequence[ComparedField]) -> pl.DataFrame:
    """Pairs that agree in all keys of a blocking rule: ``left, right``, sorted, each once."""
    linker = linker_of(database_of(), prepared, comparisons_of(fields))
    pairs = linker.inference.compute_blocked_pairs_for_predict().as_duckdbpyrelation().pl()
    keys = [pl.col(f"join_key_{side}").alias(end) for side, end in zip("lr", IDS, strict=True)]
    if ORIGIN in prepared.columns:
        keys = [key.str.replace(f"^[a-z]+{_JOINED}", "") for key in keys]
    return _sorted(pairs.select(keys))


def compare(prepared: pl.DataFrame, pairs: pl.DataFrame, fields: Sequence[ComparedField]) -> pl.DataFrame:
    """The degree to which each field agrees, of given pairs: ``left, right, gamma_f0, ...``."""
    database = database_of()
    prepared = prepared.drop(ORIGIN, strict=False)
    linker = linker_of(database, prepared, comparisons_of(fields), with_degrees=True)
    _register_pairs(database, linker, pairs)
    compared = linker.inference.predict(warning_mode="never").as_duckdbpyrelation().pl()
    degrees = [pl.col(f"{DEGREES}f{number}").cast(pl.Int64) for number in range(len(fields))]
    return _sorted(compared.select(*_ends(), *degrees))


def score(
    prepared: pl.DataFrame,
    fields: Sequence[ComparedField],
    model: Model,
    part: int = 0,
    num_parts: int = 1,
    pairs: pl.DataFrame | None = None,
    *,
    with_degrees: bool = False,
) -> pl.DataFrame:
    """``left, right, match_probability`` of the pairs of a part: those whose first record falls into it by its hash.

    Args:
        pairs: ``left, right``: those that are scored; None: all that the rules propose.
        with_degrees: whether to return ``gamma_f0, mw_f0, ...`` too, with what term frequencies add.
    """
    comparisons = comparisons_of(fields, with_frequencies=True)
    for comparison, m, u in zip(comparisons, model.m, model.u, strict=True):
        comparison.configure(m_probabilities=list(m), u_probabilities=list(u))
    database = database_of()
    if pairs is not None:
        prepared = prepared.drop(ORIGIN, strict=False)
    linker = linker_of(database, prepared, comparisons, model.prior, with_degrees=with_degrees)
    for number, shares in model.frequencies.items():
        known = shares.drop_nulls("value").rename({"value": f"f{number}", "share": f"tf_f{number}"})
        values = prepared.select(f"f{number}").drop_nulls().unique().sort(f"f{number}")
        lookup = values.join(known, on=f"f{number}", how="left", maintain_order="left")
        unseen = shares.filter(pl.col("value").is_null())["share"].item()
        lookup = lookup.with_columns(pl.col(f"tf_f{number}").fill_null(unseen))
        linker.table_management.register_term_frequency_lookup(database.register(lookup.to_arrow()), f"f{number}")
    if pairs is None:
        scored = linker.inference.predict_chunk(left_chunk=(part + 1, num_parts), warning_mode="never")
    else:
        _register_pairs(database, linker, pairs)
        scored = linker.inference.predict(warning_mode="never")
    more = []
    for number in range(len(fields) if with_degrees else 0):
        name = f"{BITS}f{number}"
        frequency = [pl.col(f"{BITS}tf_adj_f{number}")] if number in model.frequencies else []
        more += [pl.col(f"{DEGREES}f{number}").cast(pl.Int64), pl.sum_horizontal(name, *frequency).alias(name)]
    return _sorted(scored.as_duckdbpyrelation().pl().select(*_ends(), "match_probability", *more))


def _register_pairs(database: "DuckDBAPI", linker: "Linker", pairs: pl.DataFrame) -> None:
    named = pairs.select(pl.col(IDS[0]).alias("join_key_l"), pl.col(IDS[1]).alias("join_key_r"))
    registered = database.register(named.with_columns(match_key=pl.lit("0")).to_arrow())
    linker.table_management.register_blocked_pairs_for_predict(registered)


def comparisons_of(fields: Sequence[ComparedField], *, with_frequencies: bool = False) -> "list[ComparisonCreator]":
    """Of numbered columns; term frequencies of fields that have them only if asked for."""
    from splink import comparison_library

    known = [field if with_frequencies else replace(field, term_frequency=False) for field in fields]
    columns = {f"f{number}": field for number, field in enumerate(known)}
    return [comparison_library.CustomComparison([*levels_of(field, name)[1]], name) for name, field in columns.items()]


def database_of() -> "DuckDBAPI":
    """In memory, of one thread, which reads no files."""
    import duckdb
    from splink import DuckDBAPI

    return DuckDBAPI(duckdb.connect(":memory:", config=_OPTIONS))


def linker_of(
    database: "DuckDBAPI",
    prepared: pl.DataFrame,
    comparisons: "Sequence[ComparisonCreator]",
    prior: float = 0.5,
    *,
    rules: Sequence[Sequence[str]] | None = None,
    with_degrees: bool = False,
) -> "Linker":
    """A linker of all pairs, or, where records have an origin, of those of different ones.

    Args:
        rules: keys of rules that propose pairs; None: the blocking rules.
    """
    from splink import Linker, SettingsCreator, block_on

    rules = rules_of(prepared, BLOCKING) if rules is None else rules
    settings = SettingsCreator(
        link_type="link_only" if ORIGIN in prepared.columns else "dedupe_only",
        comparisons=list(comparisons),
        blocking_rules_to_generate_predictions=[block_on(*keys) for keys in rules],
        probability_two_random_records_match=prior,
        unique_id_column_name=ID,
        source_dataset_column_name=ORIGIN,
        max_iterations=MAX_ITERATIONS,
        retain_matching_columns=with_degrees,
        retain_intermediate_calculation_columns=with_degrees,
    )
    # Its columns are numbered here; what Splink would say of them it says in a log that nobody reads.
    return Linker(database.register(prepared.to_arrow()), settings, log_level=ERROR, validate_settings=False)


def _ends() -> list[pl.Expr]:
    return [pl.col(f"{ID}_{side}").alias(end) for side, end in zip("lr", IDS, strict=True)]


def _sorted(pairs: pl.DataFrame) -> pl.DataFrame:
    """The lesser id to the left, as text."""
    low, high = pl.min_horizontal(IDS), pl.max_horizontal(IDS)
    return pairs.with_columns(low.alias(IDS[0]), high.alias(IDS[1])).sort(IDS)
