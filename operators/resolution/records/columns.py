"""Records as the scorer reads them: an id, the fields, and the keys by which pairs are proposed."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain, combinations, groupby

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

_BLOCKS = {"rule": pl.String, "num_pairs": pl.Int64, "num_new": pl.Int64, "largest": pl.String, "num_records": pl.Int64}

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
    ids = _ids(records[config.id], "" if FILE not in records.columns else ", of one file or of both")
    text = cache(lambda name: _text(records[name]))
    columns = [pl.Series(ID, ids), *([records[FILE].alias(ORIGIN)] if FILE in records.columns else [])]
    for number, (name, field) in enumerate(config.fields.items()):
        values = _values(records[name], text, field, f"f{number}", ids)
        columns += values if field.other is None else _two(values, text(field.other), field, ids)
    columns += _keys(text, config.blocking, BLOCKING)
    if config.unlabelled is not None:
        columns += _keys(text, config.sessions, SESSIONS) + _keys(text, config.unlabelled.rules, DETERMINISTIC)
    return pl.DataFrame(columns).sort(ID)


def _keys(text: Callable[[str], pl.Series], rules: Sequence[Mapping[str, int | None]], letter: str) -> list[pl.Series]:
    return [
        text(name).str.head(length or 2**31).alias(f"{letter}{number}_{place}")
        for number, rule in enumerate(rules)
        for place, (name, length) in enumerate(rule.items())
    ]


def _ids(column: pl.Series, files: str) -> pl.Series:
    ids = as_ids(column)
    if ids.has_nulls():
        raise ValueError(f"a record has no {column.name!r}: every record needs an id; set records.id")
    if not ids.is_unique().all():
        twice = ids.filter(ids.is_duplicated())[0]
        raise ValueError(f"{column.name}={twice!r} names several records{files}: ids must be unique; set records.id")
    return ids


def _text(column: pl.Series) -> pl.Series:
    """Without case, invisible characters and kinds of apostrophes; İ is an i, which has two dots in small letters."""
    text = as_text(column).str.normalize("NFKC").str.to_lowercase().str.replace_all("i\u0307", "i", literal=True)
    text = text.str.replace_all(r"\p{Cf}+", "").str.replace_all("[’‘‛ʼ]", "'")
    return text.str.replace_all(r"\s+", " ").str.strip_chars().replace("", None)


def _values(
    column: pl.Series, read: Callable[[str], pl.Series], field: ComparedField, name: str, ids: pl.Series
) -> list[pl.Series]:
    if field.kind in LISTS:
        return [(_elements(column) if field.kind == "array" else _vectors(column, ids)).alias(name)]
    text = read(column.name).alias(name)
    match field.kind:
        case "string":
            return [text, text.str.split(" ").list.unique(maintain_order=True).alias(f"{name}{WORDS}")]
        case "number":
            return [_all_read(text, _numbers(text), column.name, "a number", ids)]
        case "date" | "date_of_birth":
            days = text.str.head(10).str.to_date("%Y-%m-%d", strict=False)
            known = _all_read(text, days, column.name, "a date such as 2021-12-31", ids)
            return [known if field.kind == "date_of_birth" else known.to_physical().cast(pl.Float64)]
        case "postcode":
            return [text.str.replace_all(" ", "").str.replace(_BRITISH, "$1 $2")]
        case "distance":
            return [_angles(text, column.name, _DEGREES[0], ids)]
        case _:
            return [text]


def _two(values: list[pl.Series], text: pl.Series, field: ComparedField, ids: pl.Series) -> list[pl.Series]:
    """The values of a field with those of its other column."""
    name = f"{values[0].name}{OTHER}"
    if field.kind == "distance":
        text = _angles(text, text.name, _DEGREES[1], ids)
    return [*values, text.alias(name)]


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
    by_row = rows.with_columns(_text(rows["element"])).drop_nulls().group_by("row", maintain_order=True)
    elements = by_row.agg(pl.col("element").unique(maintain_order=True))
    every = pl.DataFrame({"row": range(column.len())})
    return every.join(elements, on="row", how="left", maintain_order="left")["element"]


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


def count_blocks(prepared: pl.DataFrame, config: Scorer) -> pl.DataFrame:
    """How many pairs each blocking rule proposes, before any is made, by the sizes of its blocks.

    What a rule adds is counted by inclusion and exclusion: pairs that several rules propose share the keys of all.

    Returns:
        ``rule, num_pairs, num_new`` (that no rule before it proposes), ``largest, num_records``: the key of the block
        with the most pairs, and its records.

    Raises:
        ValueError: naming the largest blocks of a rule that proposes too many pairs.
    """
    rules, rows = rules_of(prepared), []
    for number, (keys, rule) in enumerate(zip(rules, config.blocking, strict=True)):
        blocks = _blocks(prepared, keys).sort("pairs", *keys, descending=[True, *[False] * len(keys)])
        num_pairs = int(blocks["pairs"].sum())
        named = [
            ", ".join(f"{name} {key!r}" for name, key in zip(rule, row, strict=True))
            for *row, _, _ in blocks.head(3).rows()
        ]
        if num_pairs > config.max_pairs:
            largest = "; ".join(f"{key} of {num} records" for key, num in zip(named, blocks["records"], strict=False))
            raise ValueError(
                f"blocking rule {dict(rule)} proposes {num_pairs} pairs: must be {config.max_pairs} or fewer; set "
                "records.blocking so that fewer records share a key, or records.max_pairs; the largest blocks are "
                f"{largest}"
            )
        before = [some for size in range(1, number + 1) for some in combinations(rules[:number], size)]
        shared = ((-1) ** len(some) * int(_blocks(prepared, [*keys, *chain(*some)])["pairs"].sum()) for some in before)
        first = {"largest": named[0], "num_records": blocks["records"][0]} if named else {}
        rows.append({"rule": rule_name(rule), "num_pairs": num_pairs, "num_new": num_pairs + sum(shared), **first})
    return pl.DataFrame(rows, schema=_BLOCKS)


def rule_name(rule: Mapping[str, int | None]) -> str:
    """The columns of a rule, with the number of characters that have to agree.

    >>> rule_name({"phone": None, "name": 4})
    'phone, name (4)'
    """
    return ", ".join(name if length is None else f"{name} ({length})" for name, length in rule.items())


def _blocks(prepared: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The keys, ``records, pairs`` of each block."""
    records = pl.len().cast(pl.Int64).alias("records")
    groups = prepared.drop_nulls(keys).group_by(keys)
    if ORIGIN not in prepared.columns:
        return groups.agg(records, pairs=records * (records - 1) // 2)
    first = (pl.col(ORIGIN) == prepared[ORIGIN][0]).sum().cast(pl.Int64)
    return groups.agg(records, pairs=first * (records - first))
