"""Tables that users bring along."""

import uuid
from decimal import Decimal

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.fixtures.corpora import parquet
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import check_columns, labels, one_spelling, read_records, record_columns

ROWS = {"text": ["a", "b, c", None], "score": [0.5, -1.0, 2.0]}


def test_parquet_is_told_by_its_content_and_keeps_its_types(file):
    path = file(parquet(ROWS), "rows.data")
    assert read_records(path).to_dict(as_series=False) == ROWS
    assert read_records(path, ["score"]).columns == ["score"]


def test_columns_without_a_header_have_numbers(file):
    assert record_columns(file("a\t1\nb\t0\n", "rows.tsv"), header=False) == ["column_1", "column_2"]


def test_the_columns_of_a_large_file_are_told_by_its_beginning(file):
    rows = "".join(f'"a ""quoted"" text\nof two lines, {number}",{number}\n' for number in range(40_000))
    path = file(name="rows.csv", content=f"text,score\n{rows}")
    assert record_columns(path) == ["text", "score"]
    assert len(record_columns(path, header=False)) == 2


def test_the_columns_of_parquet_are_told_by_its_footer(file):
    content = parquet({"n": range(1000)})
    assert record_columns(file(content[:4] + bytes(len(content) - 1004) + content[-1000:], "rows.parquet")) == ["n"]


def test_a_missing_column_is_named_beside_those_that_there_are(file):
    message = r"sentences.columns: .*rows.csv has no column 'text'; its columns are 'texts'"
    with pytest.raises(InputError, match=message):
        check_columns(file("texts,score\na,1\n", "rows.csv"), ["text", "score"], "sentences.columns")


def spelled_alike(*columns):
    return [column.to_list() for column in one_spelling(*(labels(pl.Series(column)) for column in columns))]


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ([0.0, 1.0, None], ["0", "1", None]),
        (["0.0", "1.00", ""], ["0", "1", None]),
        ([False, True, None], ["0", "1", None]),
        (["False", "TRUE", None], ["0", "1", None]),
        (["0", "true", None], ["0", "true", None]),  # which of both 1 is, nothing tells
        (["0", "yes", "+1"], ["0", "yes", "+1"]),
    ],
)
def test_labels_of_one_class_are_written_as_the_first_file_writes_them(other, expected):
    first = ["0", "1"]
    assert spelled_alike(first, other) == [first, expected]
    assert spelled_alike(other)[0] == labels(pl.Series(other)).to_list(), "one file alone stays as it is"


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (pa.array(["a", "b"]).dictionary_encode(), ["a", "b"]),
        (pa.array(["a", None], pa.string_view()), ["a", None]),
        (pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
        (pa.array([b"a", b"\xc3\xa9"]), ["a", "é"]),
        (pa.array([uuid.UUID(int=255).bytes] * 2, pa.uuid()), [f"{uuid.UUID(int=255)}"] * 2),
        (pa.array([Decimal("1.50"), None]), [1.5, None]),
        (pa.array([Decimal(12), None]), ["12", None]),
        (pa.nulls(2), [None, None]),
        (pa.array([1, 0], pa.bool8()), [1, 0]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_columns_of_every_type_that_is_text_or_numbers_are_read(tmp_path, column, expected):
    table = pa.table({"a": column})
    pq.write_table(table, tmp_path / "rows.parquet")
    with pa.ipc.new_file(tmp_path / "rows.arrow", table.schema) as sink:
        sink.write_table(table)
    for name in ("rows.parquet", "rows.arrow"):
        assert read_records(str(tmp_path / name))["a"].to_list() == expected
        assert record_columns(str(tmp_path / name)) == ["a"]


def test_bytes_that_are_no_text_are_refused_with_their_column(file):
    with pytest.raises(InputError, match=r"rows.parquet: column 'id' has bytes that are no text in UTF-8"):
        read_records(file(parquet({"id": [b"\xff\xfe"]}), "rows.parquet"))


def test_of_very_many_columns_those_are_listed_that_are_like_the_missing_one(file):
    path = file(",".join(f"column {number}" for number in range(2_000)) + "\n", "rows.csv")
    message = r"has no column 'colum 77'; its columns are 'column 77'.* and 1,\d+ others"
    with pytest.raises(InputError, match=message) as told:
        check_columns(path, ["colum 77"], "data.path")
    assert len(str(told.value)) < 1000
