"""Which rows are about the same thing, and what is said of the others: cases, whose changes are a text beside."""

import math

import pyarrow as pa
import pytest

from tests.fixtures.history import rows
from tiltmeter.jobs.changes.comparing import compare
from tiltmeter.storage.store.tables import column


def bare(table):
    return table.cast(pa.schema([field.remove_metadata() for field in table.schema]))


def made(columns, *kinds, keys=1, unit=""):
    """A table of other columns, of which the first are keys."""
    fields = [
        column(name, kind, name, unit if name == "cluster" else "", key=at < keys)
        for at, (name, kind) in enumerate(zip(columns, kinds, strict=True))
    ]
    return pa.table(columns, schema=pa.schema(fields))


def epochs(kind, *losses):
    return made({"epoch": [1, 2], "loss": [*losses]}, kind, pa.float64())


def alphas(alpha, share):
    return made({"alpha": alpha, "share": share}, pa.float64(), pa.float64())


def vectors(*values):
    return made({"word": list("abcd"), "vector": [*values]}, pa.string(), pa.list_(pa.float32(), 2))


def clusters(*numbers):
    columns = {"graph": [*"fffffgg"], "record": list("abcdeab"), "cluster": [*numbers]}
    return made(columns, pa.string(), pa.string(), pa.int64(), keys=2, unit="label")


ONE, TWO = rows({"a": {}}), rows({"a": {}, "b": {}})
FORMER = {word: {"model": "x/1990s", "d": number} for word, number in (("a", 1.0), ("b", 2.0))}
LATTER = {word: {"model": "x/2000s", "d": row["d"] + 3.0} for word, row in FORMER.items()}
COUNTED = {"a": {"count": 1}, "b": {"count": 2}, "c": {"count": 3}}
TWICE = {"status": "too_rare", "reason": "it occurs twice"}
RARE = TWICE | {"d": None, "d_low": None, "d_high": None}
LISTS = [{"a": {"missing": None}, "b": {"missing": []}, "c": {"missing": ["x", None]}, "e": {}}]
LISTS += [{"a": {"missing": []}, "b": {"missing": []}, "c": {"missing": ["x"]}, "e": {"missing": ["y"]}}]
MOVED = vectors([0.0, 1.0], [1.0, 1.0], None, [math.nan, 5.0]), vectors([0.5, -1], [1, 1.25], [1, 1], [math.nan, 5])

CASES = {
    "the order of rows is no change": (rows(COUNTED), rows(dict(reversed(COUNTED.items())))),
    "slices have no row in common, which is said with what would hold them together": (rows(FORMER), rows(LATTER)),
    "held together they have some": (rows(FORMER), rows(LATTER), {"aliases": {"x/1990s": "x/2000s"}}),
    "names that a command line would not read are quoted": (rows({"a": {"model": "New York, NY"}}), ONE),
    "rows come and go": (TWO, rows({"b": {}, "c": {"model": "de"}})),
    "a row comes twice in the later run": (TWO, pa.concat_tables([TWO, ONE])),
    "rows come twice in the earlier run": (pa.concat_tables([TWO, *[TWO.slice(1)] * 2]), TWO),
    "no column is a key": (bare(TWO), bare(ONE)),
    "a key column is lacking": (TWO.drop_columns("word"), TWO),
    "a key column has another type": (TWO.set_column(1, "word", pa.array([1, 2])), TWO),
    "an earlier table takes the key columns of the later": (bare(TWO), rows({"a": {"count": 2}, "b": {}})),
    "a later table takes those of the earlier": (TWO, bare(rows({"a": {"count": 2}, "b": {}}))),
    "a key column that the earlier lacks is left out where the others suffice": (
        *(rows({"a": {"count": 1}, "b": {}}).drop_columns("model"), rows({"a": {"count": 2}, "b": {}})),
    ),
    "whole numbers of other widths are the same keys": (epochs(pa.int16(), 1.0, 2.0), epochs(pa.int64(), 1.0, 3.0)),
    "null, zero and undefined keys match themselves": (
        *(alphas([None, math.nan, 0.0, 1.0], [1.0, 2, 3, 4]), alphas([1.0, -0.0, None, math.nan], [4, 3.5, 1.5, 2.5])),
    ),
    "columns that come, go or turn into text are not compared": (
        ONE.append_column("old", pa.array([1])),
        rows({"a": {"count": 8}}).set_column(5, "count", pa.array(["eight"])).append_column("new", pa.array([1])),
    ),
    "an interval that only one run has judges nothing": (ONE, rows({"a": {"d": 9.0}}).drop_columns("d_low")),
    "a table has its rows before and after": (
        rows({word: {} for word in "abcde"}),
        rows({"a": {"d": 9.0, "d_low": 8.0, "d_high": 10.0}, "b": {"d": 1.5, "d_low": 2.0}, "x": {}}),
    ),
    "tables come and go": ({"old": ONE}, {"new": TWO}),
    "the reason stands by rows of another status, whose numbers are no news": (
        rows({"a": {}, "b": RARE, "c": {}, "d": RARE, "e": RARE}),
        rows(
            {"a": RARE | {"count": 2}, "b": {}, "c": {}, "d": RARE | {"reason": "it occurs once"}}
            | {"e": RARE | {"status": "absent", "reason": "it does not occur"}}
        ),
    ),
    "many rows of another status are one row for each kind": (
        rows({f"word{at}": TWICE if at > 8 else {} for at in range(12)}),
        rows({f"word{at}": {} if at > 8 else TWICE for at in range(12)}),
    ),
    "lists are others": tuple(map(rows, LISTS)),
    "many are one row": (*map(rows, LISTS), {"max_listed": 2}),
    "vectors say how far they moved": MOVED,
    "and in one row": (*MOVED, {"max_listed": 0}),
    "a label is another only if other rows share it": (clusters(0, 0, 1, 1, 2, 0, 0), clusters(5, 5, 3, 3, 4, 9, 9)),
    "so that three are": (clusters(0, 0, 1, 1, 2, 0, 0), clusters(5, 5, 3, 4, 4, 5, 5)),
    "a change of all kinds": (
        rows({f"word{at}": {"count": at, "missing": ["x"] if at == 1 else []} for at in range(30)}),
        rows({f"word{at}": {"d": at / 2, "count": 2 * at} for at in range(20, -5, -1)}),
        {"max_listed": 3},
    ),
}


def test_rows_are_matched_and_what_came_of_them_is_told(check_cases):
    check_cases("rows", CASES)


def test_tables_of_one_digest_are_not_read_nor_are_large_ones_which_is_said(history):
    runs = [history.run({"tests": history.table({"a": {}})}) for _ in range(2)]
    others = [history.run({"tests": history.table({"a": {"count": count}})}) for count in (1, 2)]
    for run in (*runs, *others):
        run.record["tables"]["tests"]["bytes"] = 65_000_000
        object.__setattr__(run, "read", pytest.fail)
    assert compare(*runs).num_rows == 0
    [row] = compare(*others).to_pylist()
    assert row["sentence"] == (
        "table tests differs (1 row as before): it has 65 MB, more than the 64 up to which rows are compared."
    )
