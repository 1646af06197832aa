"""CSV in the dialects that programs write: what is read, and what a bad line costs."""

import bz2
import gzip
from contextlib import suppress
from unicodedata import normalize

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.storage.bad_records import collected
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.records import look_through, read_records, record_columns
from tiltmeter.storage.records.cells import GIVEN, LABEL, NEEDED, NUMBER, TEXT, between, one_of


@pytest.fixture
def read(file):
    """The rows of a file, and what was left out: by reason, how many and the first place."""

    def of(content, name="rows.csv", **settings):
        path = file(content, name)
        with collected() as bad:
            look_through(path, record_columns(path), "data.path", **settings)
        rows = read_records(path, rules=settings.get("rules"))
        return rows.to_dict(as_series=False), {row["reason"]: (row["num"], row["first"]) for row in bad.rows()}

    return of


@pytest.mark.parametrize(("pack", "name"), [(gzip.compress, "rows.tsv.gz"), (bz2.compress, "rows.tab.bz2")])
def test_packed_tables_are_read_as_they_are(read, pack, name):
    rows, left_out = read(pack(b"text\tlabel\na\t1\nb, c\t0\n"), name)
    assert (rows, left_out) == ({"text": ["a", "b, c"], "label": ["1", "0"]}, {})


def test_a_space_after_each_separator_is_no_part_of_a_field_and_hides_no_quotes(read):
    rows, left_out = read('text, label\n"a, b", "c, d"\ne, f\n')
    assert (rows, left_out) == ({"text": ["a, b", "e"], "label": ["c, d", "f"]}, {})


def test_cells_that_break_a_rule_cost_their_row_and_name_line_column_and_cell(read):
    content = (
        "id,text,label,score,share\n1,a,pos,0.5,0.1\n2,,pos,1,0.2\n3,c,pos,x,7\n,d,pos,1,1\n5,e,bad,2,0\n6,f,,3,1.5\n"
    )
    rules = {"id": [NEEDED], "text": [TEXT], "label": [LABEL, one_of(["pos"])], "score": [NUMBER]}
    rows, left_out = read(content, rules=rules | {"share": [GIVEN, between(0, 1)]})
    assert rows["id"] == ["1"]
    assert left_out == {
        "no text": (1, "line 3, column 'text'"),
        "no number": (1, "line 4, column 'score': 'x'"),
        "nothing where something is needed": (1, "line 5, column 'id'"),
        "none of pos": (1, "line 6, column 'label': 'bad'"),
        "no label": (1, "line 7, column 'label'"),
    }


def test_an_id_that_comes_again_is_refused_with_both_lines(read):
    with pytest.raises(InputError, match=r"rows.csv: id 'x' comes again, in line 2 and line 4: give it one row"):
        read('id,name\nx,"a"\ny,b\nx,c\ny,d\n', once=["id"])
    with pytest.raises(InputError, match=r"id 'x' comes again with another name, in line 2 and line 4"):
        read("id,name\nx,a\nx,a\nx,c\n", once=["id", "name"])
    read("id,name\nx,a\nx,a\n", once=["id", "name"])


@given(
    st.lists(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0\r\x1f")), min_size=2, max_size=2)),
    st.sampled_from([",", ";", "|"]),
)
def test_what_polars_writes_is_read_as_polars_reads_it(tmp_path_factory, rows, separator):
    path = tmp_path_factory.mktemp("rows") / "rows.csv"
    pl.DataFrame(rows, schema=["a", "b"], orient="row").cast(pl.String).write_csv(
        path, separator=separator, quote_style="always"
    )
    assert read_records(str(path)).fill_null("").rows() == [
        tuple(normalize("NFC", cell) for cell in row) for row in rows
    ]


@given(st.binary(max_size=200), st.sampled_from(["rows.csv", "rows.tsv", "rows.jsonl", "rows.json", "rows.parquet"]))
def test_no_content_ends_in_another_error(tmp_path_factory, content, name):
    path = tmp_path_factory.mktemp("rows") / name
    path.write_bytes(content)
    with suppress(InputError):
        look_through(str(path), record_columns(str(path)), "data.path")
