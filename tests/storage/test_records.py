"""Tables that users bring along: columns of every type, CSV as programs write it, one form of Unicode."""

import bz2
import gzip
import uuid
from decimal import Decimal
from functools import partial
from unicodedata import normalize

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.fixtures.corpora import parquet
from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import check_columns, labels, look_through, one_spelling, read_records, record_columns
from tiltmeter.storage.records.cells import GIVEN, LABEL, NEEDED, NUMBER, TEXT, between, one_of

ROWS = {"text": ["a", "b, c", None], "score": [0.5, -1.0, 2.0]}
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0\r\x1f"))
WRITERS = {
    **{
        f"{mark}.csv": partial(pl.DataFrame.write_csv, separator=mark, quote_style="always") for mark in (",", ";", "|")
    },
    "a.jsonl": pl.DataFrame.write_ndjson,
    "a.parquet": pl.DataFrame.write_parquet,
    "a.arrow": pl.DataFrame.write_ipc,
}


@pytest.mark.long
@pytest.mark.parametrize("name", WRITERS)
@settings(max_examples=30)
@given(rows=st.lists(st.tuples(TEXTS, TEXTS)))
@example(rows=[("re\u0301", "un cafe\u0301")])
def test_what_polars_writes_is_read_as_polars_reads_it_with_composed_cells_and_names(tmp_path_factory, name, rows):
    path = str(tmp_path_factory.getbasetemp() / name)
    WRITERS[name](pl.DataFrame(rows, ["cafe\u0301", "b"], orient="row").cast(pl.String), path)
    expected = [tuple(normalize("NFC", cell) for cell in row) for row in rows]
    assert read_records(path).fill_null("").rows() == expected
    if name == "a.jsonl" and not rows:
        return  # which has no columns
    assert record_columns(path) == ["caf\u00e9", "b"]
    for asked in ("caf\u00e9", "cafe\u0301"):
        check_columns(path, [asked], "data.text")
        assert read_records(path, [asked]).fill_null("").to_dict(as_series=False) == {
            asked: [row[0] for row in expected]
        }


@pytest.mark.parametrize("name", ["a.parquet", "a.arrow"])
def test_columns_that_would_be_called_alike_keep_their_names(name, tmp_path):
    WRITERS[name](pl.DataFrame({"cafe\u0301": ["one"], "caf\u00e9": ["other"]}), tmp_path / name)
    assert record_columns(str(tmp_path / name)) == ["cafe\u0301", "caf\u00e9"]


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "rows.tsv.gz"), (bz2.compress, "rows.tab.bz2")])
def test_packed_tables_are_read_as_they_are(file, pack, name):
    path = file(pack(b"text\tlabel\na\t1\nb, c\t0\n"), name)
    assert read_records(path).to_dict(as_series=False) == {"text": ["a", "b, c"], "label": ["1", "0"]}


def test_cells_that_break_a_rule_cost_their_row_and_name_line_column_and_cell(file):
    path = file(
        "id,text,label,score,share\n1,a,pos,0.5,0.1\n2,,pos,1,0.2\n3,c,pos,x,7\n,d,pos,1,1\n5,e,bad,2,0\n6,f,,3,1.5\n",
        "rows.csv",
    )
    rules = {"id": [NEEDED], "text": [TEXT], "label": [LABEL, one_of(["pos"])], "score": [NUMBER]}
    rules |= {"share": [GIVEN, between(0, 1)]}
    with collected() as bad:
        look_through(path, record_columns(path), "data.path", rules=rules)
    assert read_records(path, rules=rules)["id"].to_list() == ["1"]
    assert {row["reason"]: (row["num"], row["first"]) for row in bad.rows()} == {
        "no text": (1, "line 3, column 'text'"),
        "no number": (1, "line 4, column 'score': 'x'"),
        "nothing where something is needed": (1, "line 5, column 'id'"),
        "none of pos": (1, "line 6, column 'label': 'bad'"),
        "no label": (1, "line 7, column 'label'"),
    }


def test_an_id_that_comes_again_is_refused_with_both_lines(file):
    def look(content, once):
        path = file(content, "rows.csv")
        look_through(path, record_columns(path), "data.path", once=once)

    with pytest.raises(InputError, match=r"rows.csv: id 'x' comes again, in line 2 and line 4: give it one row"):
        look('id,name\nx,"a"\ny,b\nx,c\ny,d\n', ["id"])
    with pytest.raises(InputError, match=r"id 'x' comes again with another name, in line 2 and line 4"):
        look("id,name\nx,a\nx,a\nx,c\n", ["id", "name"])
    look("id,name\nx,a\nx,a\n", ["id", "name"])


def test_parquet_is_told_by_its_content_and_keeps_its_types(file):
    path = file(parquet(ROWS), "rows.data")
    assert read_records(path).to_dict(as_series=False) == ROWS
    assert read_records(path, ["score"]).columns == ["score"]


def test_the_columns_of_a_large_file_are_told_by_its_beginning(file):
    rows = "".join(f'"a ""quoted"" text\nof two lines, {number}",{number}\n' for number in range(40_000))
    path = file(name="rows.csv", content=f"text,score\n{rows}")
    assert record_columns(path) == ["text", "score"]
    assert len(record_columns(path, header=False)) == 2


def test_the_columns_of_parquet_are_told_by_its_footer(file):
    content = parquet({"n": range(1000)})
    assert record_columns(file(content[:4] + bytes(len(content) - 1004) + content[-1000:], "rows.parquet")) == ["n"]


def test_a_missing_column_is_named_beside_those_that_there_are_or_of_very_many_those_like_it(file):
    message = r"sentences.columns: .*rows.csv has no column 'text'; its columns are 'texts'"
    with pytest.raises(InputError, match=message):
        check_columns(file("texts,score\na,1\n", "rows.csv"), ["text", "score"], "sentences.columns")
    path = file(",".join(f"column {number}" for number in range(2_000)) + "\n", "rows.csv")
    message = r"has no column 'colum 77'; its columns are 'column 77'.* and 1,\d+ others"
    with pytest.raises(InputError, match=message) as told:
        check_columns(path, ["colum 77"], "data.path")
    assert len(str(told.value)) < 1000


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


def test_labels_of_two_forms_are_one_class():
    assert labels(pl.Series(["cafe\u0301 ", "café"])).n_unique() == 1


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
