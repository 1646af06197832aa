"""Canonical rows against loops over the records, whatever their order."""

import math
from datetime import date

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from tiltmeter.operators.resolution.records.canonical import Canonical, Newest, Trusted, canonical_rows, described

TIES = Trusted(("web", "crm"), "origin")
RULES = {
    "most": "most_frequent",
    "long": "longest",
    "new": Newest("updated"),
    "mail": Trusted(("crm", "web"), "origin"),
    "size": "most_frequent",
}
CELLS = {
    "most": [None, "a", "b", "", "\u200b "],
    "long": [None, "aa", "bb", "c"],
    "new": [None, date(2020, 1, 2), date(2019, 1, 2)],
    "mail": ["x", "y", None],
    "size": [math.nan, 1.5, -math.inf, 2.0],
    "updated": ["2021-01-01", "2021-01-01T10:00+02:00", "2021-01-01 09:00Z", "31.12.2022", None],
    "origin": ["crm", "web", "fair", None],
}
MOMENTS = {"2021-01-01": 0, "2021-01-01T10:00+02:00": 8, "2021-01-01 09:00Z": 9}
ROWS = st.lists(st.tuples(st.integers(0, 2), *map(st.sampled_from, CELLS.values())), min_size=1, max_size=8)


def place(source, order):
    return order.index(source) if source in order else len(order)


def chosen(rows, name, ties):
    """The cell of a cluster: value, record, how many agree, and of how many."""
    kept = [row for row in rows if not (row[name] in (None, "", "\u200b ") or row[name] != row[name])]
    number = {row[name]: sum(other[name] == row[name] for other in kept) for row in kept}
    merits = {
        "most": lambda row: -number[row["most"]],
        "size": lambda row: -number[row["size"]],
        "long": lambda row: -len(row["long"]),
        "new": lambda row: -MOMENTS.get(row["updated"], -1),
        "mail": lambda row: place(row["origin"], ["crm", "web"]),
    }
    tied = ["web", "crm"] if ties else []
    order = sorted(
        kept, key=lambda row: (merits[name](row), place(row["origin"], tied) if tied else 0, row[name], row["id"])
    )
    return [(row[name], row["id"], number[row[name]], len(kept)) for row in order[:1]]


@pytest.mark.long
@pytest.mark.parametrize("ties", [TIES, None])
@settings(max_examples=40)
@given(rows=ROWS, random=st.randoms(use_true_random=False))
def test_each_cell_is_that_of_its_rule_in_whatever_order_records_come(ties, rows, random):
    kinds = {"new": pl.Date, "size": pl.Float64}
    schema = {"cluster": pl.Int64, **{name: kinds.get(name, pl.String) for name in CELLS}}
    records = pl.DataFrame(rows, schema, orient="row").with_row_index("id").with_columns(pl.col("id") + 7)
    config = Canonical(columns=RULES, ties=ties)
    wide, cells = canonical_rows(records, records["id"], records["cluster"], config)
    assert wide.schema == {"cluster_id": pl.Int64} | {name: schema[name] for name in RULES}
    expected = {
        (cluster, name): cell
        for cluster in set(records["cluster"])
        for name in RULES
        for cell in chosen(
            [row | {"id": str(row["id"])} for row in records.filter(cluster=cluster).to_dicts()], name, ties
        )
    }
    for row in wide.to_dicts():
        for name in RULES:
            assert row[name] == expected.get((row["cluster_id"], name), [None])[0]
    columns = ("value", "record", "num_agreeing", "num_values")
    texts = {(row["id"], row["field"]): tuple(row[name] for name in columns) for row in cells.to_dicts()}
    assert texts == {key: (str(cell[0]), *cell[1:]) for key, cell in expected.items()}
    assert {(row["field"], row["rule"]) for row in cells.to_dicts()} <= {(n, described(r)) for n, r in RULES.items()}
    mixed = records[random.sample(range(records.height), records.height)]
    for frame, other in zip(canonical_rows(mixed, mixed["id"], mixed["cluster"], config), (wide, cells), strict=True):
        assert_frame_equal(frame, other)
