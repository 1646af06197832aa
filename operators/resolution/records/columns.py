"""Records as the scorer reads them: an id, the fields, and the keys by which pairs are proposed."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import polars as pl

from tiltmeter.operators.resolution.ids import as_ids, as_text
from tiltmeter.operators.resolution.records.scorer import LISTS, ComparedField, Scorer

ID = "id"
FILE = "source_file"
"""Column of the records of two files: ``first`` or ``second``."""
ORIGIN = "origin"
"""Where there are two files: which a record is from."""

WORDS = "_words"
OTHER = "_other"
"""What ends the names of columns that a field has beside its own: of words, and of its other column."""

BLOCKING, SESSIONS, DETERMINISTIC = "b", "s", "d"
"""What begins the names of keys, by what their rules are for."""

_BRITISH = r"^([a-z]{1,2}[0-9][a-z0-9]?)([0-9][a-z]{2})$"
_DEGREES = (90.0, 180.0)
"""The most of a latitude and of a longitude."""


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
    columns = [pl.Series(ID, ids), *([records[FILE].alias(ORIGIN)] if FILE in records.columns else [])]
    for number, (name, field) in enumerate(config.fields.items()):
        own = _values(records[name], field, f"f{number}", ids)
        columns += own if field.other is None else _two(own, records[field.other], field, ids)
    columns += _keys(records, config.blocking, BLOCKING)
    if config.unlabelled is not None:
        columns += _keys(records, config.sessions, SESSIONS) + _keys(records, config.unlabelled.rules, DETERMINISTIC)
    return pl.DataFrame(columns).sort(ID)


def _keys(records: pl.DataFrame, rules: Sequence[Mapping[str, int | None]], letter: str) -> list[pl.Series]:
    return [
        _text(records[name]).str.head(length or 2**31).alias(f"{letter}{number}_{place}")
        for number, rule in enumerate(rules)
        for place, (name, length) in enumerate(rule.items())
    ]


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


def _values(column: pl.Series, field: ComparedField, name: str, ids: pl.Series) -> list[pl.Series]:
    if field.kind in LISTS:
        return [(_elements(column) if field.kind == "array" else _vectors(column, ids)).alias(name)]
    text = _text(column).alias(name)
    match field.kind:
        case "string":
            return [text, text.str.split(" ").list.unique(maintain_order=True).alias(f"{name}{WORDS}")]
        case "number":
            return [_all_read(text, _numbers(text), column.name, "a number", ids)]
        case "date" | "date_of_birth":
            days = text.str.head(10).str.to_date("%Y-%m-%d", strict=False)
            read = _all_read(text, days, column.name, "a date such as 2021-12-31", ids)
            return [read if field.kind == "date_of_birth" else read.to_physical().cast(pl.Float64)]
        case "postcode":
            return [text.str.replace_all(" ", "").str.replace(_BRITISH, "$1 $2")]
        case "distance":
            return [_angles(text, column.name, _DEGREES[0], ids)]
        case _:
            return [text]


def _two(own: list[pl.Series], column: pl.Series, field: ComparedField, ids: pl.Series) -> list[pl.Series]:
    """The values of a field with those of its other column."""
    name, text = f"{own[0].name}{OTHER}", _text(column)
    if field.kind == "distance":
        text = _angles(text, column.name, _DEGREES[1], ids)
    return [*own, text.alias(name)]


def _numbers(text: pl.Series) -> pl.Series:
    return text.cast(pl.Float64, strict=False).fill_nan(None)


def _angles(text: pl.Series, column: str, most: float, ids: pl.Series) -> pl.Series:
    degrees = _numbers(text)
    inside = degrees.set(degrees.abs() > most, None)
    return _all_read(text, inside, column, f"degrees from -{most:g} to {most:g}", ids)


def _elements(column: pl.Series) -> pl.Series:
    """Lists of different texts; of text, what stands between semicolons."""
    lists = column if column.dtype.is_nested() else as_text(column).str.split(";")
    rows = pl.DataFrame({"row": range(column.len()), "element": lists}).explode("element")
    by_row = rows.with_columns(_text(rows["element"])).group_by("row", maintain_order=True)
    found = by_row.agg(pl.col("element").drop_nulls().unique(maintain_order=True))["element"]
    return found.set(found.list.len() == 0, None)


def _vectors(column: pl.Series, ids: pl.Series) -> pl.Series:
    """Vectors of one length; what has no direction is none."""
    if column.dtype.is_nested():
        lists = column.cast(pl.List(pl.Float64), strict=False)
    else:
        parts = as_text(column).str.strip_chars("[] ").replace("", None).str.split(",")
        lists = parts.list.eval(pl.element().str.strip_chars().cast(pl.Float64, strict=False))
    sizes = lists.list.len().drop_nulls()
    size = int(sizes[0]) if sizes.len() else 1
    is_read = lists.list.eval(pl.element().is_finite().fill_null(value=False)).list.all() & (lists.list.len() == size)
    if (wrong := (~is_read).arg_true()).len():
        raise ValueError(
            f"record {ids[wrong[0]]!r}: {column.name}={str(column[wrong[0]])[:40]!r}: must be {size} finite numbers as "
            "of the first record that has any, or empty; set records.fields"
        )
    longest = lists.list.eval(pl.element().abs()).list.max()
    return lists.set(longest == 0.0, None).list.to_array(size)


def _all_read(text: pl.Series, values: pl.Series, column: str, wanted: str, ids: pl.Series) -> pl.Series:
    unread = (values.is_null() & text.is_not_null() & (text != "nan")).arg_true()
    if unread.len():
        raise ValueError(
            f"record {ids[unread[0]]!r}: {column}={text[unread[0]]!r}: must be {wanted}, or empty; set records.fields"
        )
    return values


def rules_of(prepared: pl.DataFrame, letter: str = BLOCKING) -> list[list[str]]:
    """The columns with the keys of each blocking rule, or of each rule of another letter."""
    keys = [name for name in prepared.columns if name.startswith(letter)]
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
