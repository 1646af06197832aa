"""What enters the identity of a unit: settings and the content of columns, to the last value."""

import dataclasses
import itertools
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.storage.store import identity
from tiltmeter.storage.store.identity import (
    TableDigest,
    UnstableValue,
    blocks,
    canonical,
    column_digests,
    digest,
    table_digest,
)


@dataclasses.dataclass(frozen=True)
class Setting:
    window: int
    words: tuple[str, ...]


def test_a_digest_is_the_same_wherever_it_is_made():
    value = {"b": {"c": "d"}, "a": [1, 2.5, None, True, "é"]}
    assert digest(value) == "1112d23f84f7837100589c728d84811c"


def test_every_part_of_a_config_counts():
    settings = [Setting(1, ("a",)), Setting(2, ("a",)), Setting(1, ("a", "b"))]
    values = [*settings, {"window": 1}, [1], 1, 1.5, "1", None, True]
    assert len({digest(value) for value in values}) == len(values)
    assert digest(Setting(1, ("a",))) == digest({"words": ["a"], "window": 1})


@pytest.mark.parametrize(
    ("value", "key"),
    [
        ({"a": {1, 2}}, "config.a"),
        ({"a": [object()]}, r"config.a\[0\]"),
        (float("nan"), "config=nan"),
        (float("inf"), "config=inf"),
        ({"a": np.float32(1)}, "config.a"),
        ({1: "a"}, "config="),
        (Path("a"), "config="),
        (Setting, "config="),
    ],
)
def test_unstable_values_are_refused_not_stringified(value, key):
    with pytest.raises(UnstableValue, match=key):
        canonical(value)


TABLE = pa.table(
    {
        "number": pa.array([1, None, 3]),
        "real": pa.array([0.5, -0.0, None], pa.float32()),
        "flag": [True, None, False],
        "text": ["a", "", None],
        "list": pa.array([["a"], [], None]),
        "vector": pa.array([[1.0, 2.0], None, [3.0, 4.0]], pa.list_(pa.float32(), 2)),
    }
)


@given(st.lists(st.integers(0, 3), max_size=3))
def test_chunks_do_not_enter_a_digest(cuts):
    borders = [0, *sorted(cuts), 3]
    pieces = [TABLE.slice(start, stop - start) for start, stop in itertools.pairwise(borders)]
    assert column_digests(pa.concat_tables(pieces)) == column_digests(TABLE)


MANY = pa.table({"n": range(20), "name": pa.array([str(n % 4) for n in range(20)]).dictionary_encode()})


@given(st.lists(st.integers(0, 20), max_size=8), st.integers(1, 25), st.integers(0, 3))
def test_the_digest_of_a_whole_table_does_not_depend_on_how_its_rows_come(cuts, block_rows, most_waiting):
    borders = [0, *sorted(cuts), 20]
    pieces = [MANY.slice(start, stop - start) for start, stop in itertools.pairwise(borders)]
    # Each piece brings a dictionary of its own, as those of different units do.
    pieces = [piece.set_column(1, "name", piece["name"].cast(pa.string()).dictionary_encode()) for piece in pieces]
    whole = TableDigest()
    with patch.multiple(identity, _BLOCK_ROWS=block_rows, _MOST_WAITING=most_waiting):
        found = list(blocks(pieces))
        for block in found:
            whole.add(block)
        assert whole.hexdigest() == table_digest(MANY)
    assert {block.num_rows for block in found[:-1]} <= {block_rows}
    assert 0 < found[-1].num_rows <= block_rows
    assert [row for block in found for row in block.to_pylist()] == MANY.to_pylist()


def test_a_table_without_rows_has_a_digest_of_its_columns():
    nothing = TABLE.slice(0, 0)
    assert [block.schema for block in blocks([nothing, nothing])] == [TABLE.schema]
    assert table_digest(nothing) != table_digest(nothing.select(["number"]))


def test_values_types_order_and_names_enter_a_digest():
    changed = [
        TABLE.set_column(0, "number", pa.array([1, None, 4])),
        TABLE.set_column(0, "number", pa.array([1, 0, 3])),
        TABLE.set_column(0, "number", pa.array([1, None, 3], pa.int32())),
        TABLE.rename_columns(["renamed", *TABLE.column_names[1:]]),
        TABLE.select(TABLE.column_names[::-1]),
        TABLE.take([1, 0, 2]),
        TABLE.set_column(3, "text", pa.array(["", "a", None])),
        TABLE.set_column(4, "list", pa.array([[], ["a"], None])),
    ]
    assert len({table_digest(table) for table in [TABLE, *changed]}) == 1 + len(changed)


@pytest.mark.parametrize(
    "columns",
    [
        [pa.array([1, None]), pa.array([None, 1])],
        [pa.array([1]), pa.array([1], pa.uint64()), pa.array([1], pa.timestamp("us"))],
        [pa.array([[1, 2], [3]]), pa.array([[1], [2, 3]])],
        [pa.array(["ab", "c"]), pa.array(["a", "bc"]), pa.array([b"ab", b"c"])],
        [pa.array([1, 1, 2]), pa.array([1, 2])],
    ],
    ids=["missing values", "types", "lists", "texts", "lengths"],
)
def test_columns_of_the_same_bytes_differ(columns):
    assert len({column_digests(pa.table({"a": column}))["a"] for column in columns}) == len(columns)


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_which_nan_it_is_does_not_enter_a_digest_and_the_sign_of_zero_does(kind):
    """Division of 0 by 0 gives a NaN with a sign on x86-64, and one without on AArch64."""
    nan = np.array([np.nan, 1.0], kind)
    made = [pa.table({"n": values}) for values in (nan, np.copysign(nan, np.array([-1.0, 1.0], kind)))]
    assert made[0]["n"].chunk(0).buffers()[1].to_pybytes() != made[1]["n"].chunk(0).buffers()[1].to_pybytes()
    assert len({table_digest(table) for table in made}) == 1
    zeros = [pa.table({"n": np.array([zero], kind)}) for zero in (0.0, -0.0)]
    assert len({table_digest(table) for table in zeros}) == 2


def test_a_column_without_a_digest_is_refused():
    with pytest.raises(UnstableValue, match="struct"):
        column_digests(pa.table({"a": [{"b": 1}]}))
