"""Tables that users bring along."""

import polars as pl
import pytest

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import check_columns, read_records, record_columns

ROWS = {"text": ["a", "b, c", None], "score": [0.5, -1.0, 2.0]}


@pytest.fixture
def file(tmp_path):
    def write(name: str, content: bytes | str):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


def test_parquet_is_told_by_its_content_and_keeps_its_types(tmp_path):
    path = tmp_path / "rows.data"
    pl.DataFrame(ROWS).write_parquet(path)
    assert read_records(str(path)).to_dict(as_series=False) == ROWS
    assert read_records(str(path), ["score"]).columns == ["score"]


def test_cells_of_csv_are_text_and_empty_ones_are_null(file):
    path = file("rows.csv", 'text,score\na,0.50\n"b, c",-1\n,2\n')
    assert read_records(path).to_dict(as_series=False) == {"text": ["a", "b, c", None], "score": ["0.50", "-1", "2"]}


def test_tsv_has_no_quotes_and_may_have_no_header(file):
    path = file("rows.tsv", '" a quote\t1\nb\t0\n')
    read = read_records(path, header=False)
    assert read.to_dict(as_series=False) == {"column_1": ['" a quote', "b"], "column_2": ["1", "0"]}
    assert record_columns(path, header=False) == ["column_1", "column_2"]


def test_the_columns_of_a_large_file_are_told_by_its_beginning(file):
    rows = "".join(f'"a ""quoted"" text\nof two lines, {number}",{number}\n' for number in range(40_000))
    path = file("rows.csv", f"text,score\n{rows}")
    assert record_columns(path) == ["text", "score"]
    assert len(record_columns(path, header=False)) == 2


def test_the_columns_of_parquet_are_told_by_its_footer(tmp_path):
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"n": range(1000)}).write_parquet(path)
    content = path.read_bytes()
    path.write_bytes(content[:4] + bytes(len(content) - 1004) + content[-1000:])
    assert record_columns(str(path)) == ["n"]


def test_a_missing_column_is_named_beside_those_that_there_are(file):
    path = file("rows.csv", "texts,score\na,1\n")
    with pytest.raises(
        InputError, match=r"sentences.columns: .*rows.csv has no column 'text'; its columns are 'texts'"
    ):
        check_columns(path, ["text", "score"], "sentences.columns")


@pytest.mark.parametrize(
    ("name", "content"),
    [("cut.parquet", b"PAR1 and then nothing of the sort"), ("empty.csv", "")],
)
def test_a_damaged_file_is_named(file, name, content):
    with pytest.raises(InputError, match=name):
        read_records(file(name, content))
