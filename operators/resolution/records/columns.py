"""Records as the scorer reads them: an id, the fields, and the keys by which pairs are proposed."""

from itertools import groupby

import polars as pl

from tiltmeter.operators.resolution.ids import as_ids, as_text
from tiltmeter.operators.resolution.records.scorer import ComparedField, Scorer

ID = "id"
WORDS = "_words"


def prepare(records: pl.DataFrame, config: Scorer) -> pl.DataFrame:
    """The records as :mod:`.records.comparison` wants them: id, fields and blocking keys, by number."""
    if records.is_empty():
        raise ValueError("the table of records has no records, and must have at least one; set records.path")
    if missing := [name for name in config.columns if name not in records.columns]:
        raise ValueError(
            f"column {missing[0]!r} is not there: the columns are {', '.join(map(repr, records.columns[:20]))}; "
            "set records.id, records.fields and records.blocking"
        )
    ids = _ids(records[config.id])
    columns = [pl.Series(ID, ids)]
    for number, (name, field) in enumerate(config.fields.items()):
        columns += _values(records[name], field, f"f{number}")
    for number, rule in enumerate(config.blocking):
        keys = (_text(records[name]).str.head(length or 2**31) for name, length in rule.items())
        columns += [key.alias(f"b{number}_{place}") for place, key in enumerate(keys)]
    return pl.DataFrame(columns).sort(ID)


def _ids(column: pl.Series) -> pl.Series:
    ids = as_ids(column)
    if ids.has_nulls():
        raise ValueError(f"a record has no {column.name!r}: every record needs an id; set records.id")
    if not ids.is_unique().all():
        twice = ids.filter(ids.is_duplicated())[0]
        raise ValueError(f"{column.name}={twice!r} names several records: ids must be unique; set records.id")
    return ids


def _text(column: pl.Series) -> pl.Series:
    """Without case, invisible characters and kinds of apostrophes; İ is an i, which has two dots in small letters."""
    text = as_text(column).str.normalize("NFKC").str.to_lowercase().str.replace_all("i\u0307", "i", literal=True)
    text = text.str.replace_all(r"\p{Cf}+", "").str.replace_all("[’‘‛ʼ]", "'")
    return text.str.replace_all(r"\s+", " ").str.strip_chars().replace("", None)


def _values(column: pl.Series, field: ComparedField, name: str) -> list[pl.Series]:
    text = _text(column).alias(name)
    match field.kind:
        case "string":
            return [text, text.str.split(" ").list.unique(maintain_order=True).alias(f"{name}{WORDS}")]
        case "number":
            return [_all_read(text, text.cast(pl.Float64, strict=False).fill_nan(None), column.name, "a number")]
        case "date":
            days = text.str.head(10).str.to_date("%Y-%m-%d", strict=False).to_physical().cast(pl.Float64)
            return [_all_read(text, days, column.name, "a date such as 2021-12-31")]
        case _:
            return [text]


def _all_read(text: pl.Series, values: pl.Series, column: str, wanted: str) -> pl.Series:
    unread = text.filter(values.is_null() & text.is_not_null() & (text != "nan"))
    if unread.len():
        raise ValueError(f"{column}={unread[0]!r}: must be {wanted}, or empty; set records.fields")
    return values


def rules_of(prepared: pl.DataFrame) -> list[list[str]]:
    """The columns with the keys of each blocking rule."""
    keys = [name for name in prepared.columns if name.startswith("b")]
    return [list(of_rule) for _, of_rule in groupby(keys, lambda name: name.partition("_")[0])]


def check_blocks(prepared: pl.DataFrame, config: Scorer) -> None:
    """Refuse before pairs are made: a key that many records share makes their number squared."""
    for keys, rule in zip(rules_of(prepared), config.blocking, strict=True):
        sizes = prepared.drop_nulls(keys).group_by(keys).len()["len"].cast(pl.Int64)
        num_pairs = int((sizes * (sizes - 1) // 2).sum())
        if num_pairs > config.max_pairs:
            raise ValueError(
                f"blocking rule {dict(rule)} proposes {num_pairs} pairs: must be {config.max_pairs} or fewer; set "
                "records.blocking so that fewer records share a key, or records.max_pairs"
            )
