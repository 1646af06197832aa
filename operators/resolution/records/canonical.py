"""Canonical rows: of the records of a cluster one, whose cells are chosen column by column, by stated rules."""

from typing import Annotated, Literal, Self

import polars as pl
import pydantic
from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from tiltmeter.operators.resolution.ids import as_ids, as_text

VERSION = "canonical_rows/1"
CLUSTER_ID = "cluster_id"
_SEEN = r"[^\s\p{Default_Ignorable_Code_Point}]"
_MOMENT = r"^(\d{4}-\d{2}-\d{2})(?:[T ](\d{2}:\d{2})(:\d{2}(?:\.\d+)?)?([+-]\d{2}:?\d{2})?Z?)?$"
_EXAMPLE = {"name": "most_frequent", "phone": {"newest": "updated"}, "email": {"trusted": ["crm"], "source": "origin"}}
_Name = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Newest:
    """The value of the record with the latest moment in a column, which has numbers, or times as of ISO 8601."""

    newest: _Name


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class Trusted:
    """The value of the record whose source, which a column names, comes first in a list; others come last."""

    trusted: Annotated[tuple[_Name, ...], Field(min_length=1)]
    source: _Name


Rule = Literal["most_frequent", "longest"] | Newest | Trusted


@dataclass(frozen=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Canonical:
    """The rule of each column, and an order of sources that breaks ties of all of them."""

    columns: Annotated[dict[_Name, Rule], Field(min_length=1, examples=[_EXAMPLE])]
    ties: Trusted | None = None

    @pydantic.model_validator(mode="after")
    def _names_are_free(self) -> Self:
        if CLUSTER_ID in self.columns:
            raise ValueError(f"canonical: {CLUSTER_ID!r} is what ids of clusters are called; leave it out")
        return self

    @property
    def names(self) -> list[str]:
        """Columns that are chosen from, and those by which records are ordered."""
        rules = [rule for rule in (*self.columns.values(), self.ties) if isinstance(rule, Newest | Trusted)]
        orders = (rule.newest if isinstance(rule, Newest) else rule.source for rule in rules)
        return list(dict.fromkeys([*self.columns, *orders]))


def canonical_rows(
    records: pl.DataFrame, ids: pl.Series, cluster: pl.Series, config: Canonical
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The canonical row of each cluster, which the order of the records does not change.

    Of records with a value (not null, NaN, or a text in which nothing is seen) the one is taken that the rule puts
    first; ties go to the earlier source, then to the lesser value, then to the lesser id.

    Args:
        records: the columns, a row for each record.
        ids, cluster: ``[records]``, of the records, each once, and of the cluster of each.

    Returns:
        ``cluster_id`` and the columns with the types that they have, null where no record has a value; and of each cell
        with a value ``id, field, value, record, rule, num_agreeing, num_values``: the value as text, the record that it
        comes from, and how many records of the cluster have it, and how many any.
    """
    base = pl.DataFrame([cluster.alias("id"), as_ids(ids).alias("record"), _order(records, config.ties, "source")])
    rows = base.select(pl.col("id").unique().sort())
    columns, cells = [rows["id"].alias(CLUSTER_ID)], []
    for name, rule in config.columns.items():
        value = given(records[name]).alias("value")
        best = _first(base.with_columns(value, _order(records, rule, "order")).drop_nulls("value"), rule)
        columns.append(rows.join(best, on="id", how="left", maintain_order="left")["value"].alias(name))
        texts = best.with_columns(as_text(best["value"]), field=pl.lit(name), rule=pl.lit(described(rule)))
        cells.append(texts.select("id", "field", "value", "record", "rule", "num_agreeing", "num_values"))
    return pl.DataFrame(columns), pl.concat(cells).sort("id", maintain_order=True)


def described(rule: Rule) -> str:
    """A rule in words.

    >>> described("most_frequent"), described(Newest("updated")), described(Trusted(("crm", "web"), "origin"))
    ('most frequent', 'newest by updated', 'origin: crm, web')
    """
    if isinstance(rule, Trusted):
        return f"{rule.source}: {', '.join(rule.trusted)}"
    return f"newest by {rule.newest}" if isinstance(rule, Newest) else rule.replace("_", " ")


def given(column: pl.Series) -> pl.Series:
    """The values, null where there is none.

    >>> given(pl.Series(["a", " ", "\\u200b", None])).to_list()
    ['a', None, None, None]
    """
    column = column.fill_nan(None) if column.dtype.is_float() else column
    return column.set(~column.str.contains(_SEEN), None) if column.dtype == pl.String else column


def moments(column: pl.Series) -> pl.Series:
    """The values in the order of time; null for text that is no time, in a column of which not all are numbers.

    A time without an offset is one of UTC.

    >>> moments(pl.Series(["2021-12-31", "2022-01-01 10:00+02:00", "31.12.2021"])).dt.to_string("iso").to_list()
    ['2021-12-31 00:00:00.000000+00:00', '2022-01-01 08:00:00.000000+00:00', None]
    """
    column = given(column)
    if column.dtype != pl.String:
        return column
    text = column.str.strip_chars()
    if (numbers := text.cast(pl.Float64, strict=False)).null_count() == text.null_count():
        return numbers
    usual = {2: "00:00", 3: ":00", 4: "+0000"}
    minute, second, offset = (text.str.extract(_MOMENT, part).fill_null(value) for part, value in usual.items())
    whole = text.str.extract(_MOMENT) + "T" + minute + second + offset
    return whole.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%z", time_unit="us", strict=False)


def _order(records: pl.DataFrame, rule: Rule | None, name: str) -> pl.Series:
    """``[records]``, their moments, the places of their sources, or one place for all."""
    if isinstance(rule, Newest):
        return moments(records[rule.newest]).alias(name)
    if not isinstance(rule, Trusted):
        return pl.repeat(0, records.height, eager=True).alias(name)
    places = {source: place for place, source in enumerate(rule.trusted)}
    sources = as_text(records[rule.source]).str.strip_chars()
    return sources.replace_strict(places, default=len(places), return_dtype=pl.Int64).alias(name)


def _first(rows: pl.DataFrame, rule: Rule) -> pl.DataFrame:
    """Of each cluster the row that a rule puts first."""
    sizes = {"num_agreeing": pl.len().over("id", "value"), "num_values": pl.len().over("id")}
    rows = rows.with_columns(**{name: size.cast(pl.Int64) for name, size in sizes.items()})
    lengths = {"most_frequent": pl.col("num_agreeing"), "longest": pl.col("value").cast(pl.String).str.len_chars()}
    merit = lengths[rule] if isinstance(rule, str) else pl.col("order")
    falls = [False, not isinstance(rule, Trusted), False, False, False]
    ordered = rows.sort("id", merit, "source", "value", "record", descending=falls, nulls_last=True)
    return ordered.unique("id", keep="first", maintain_order=True)
