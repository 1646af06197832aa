"""Fields of documents: what a corpus can be cut by."""

import json
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq

from tests.fixtures.corpora import source
from tiltmeter.storage.corpora.corpora import Span, fields_of, read_pages

DUMP_OF_FIELDS = """<mediawiki version='0.10'><siteinfo><namespaces><namespace key='0'/>
<namespace key='1'>Talk</namespace><namespace key='14'>Kategorie</namespace></namespaces></siteinfo>
<page><title>A</title><ns>0</ns><id>1</id><revision><id>1</id><timestamp>2019-05-01T00:00:00Z</timestamp>
<text>x [[Kategorie:alte_Bücher|B]] [[category: Law]] [[:Category:Art]]</text></revision></page>
<page><title>Talk:A</title><ns>1</ns><id>2</id><revision><id>2</id><text>talk</text></revision></page>
<page><title>B</title><ns>0</ns><id>3</id><redirect title='A'/><revision><id>3</id><text>#R</text></revision></page>
</mediawiki>"""


def values(path, field):
    whole = source(path)
    pages = read_pages(whole, Span(0, whole.num_bytes), field=field)
    return [(page.id, page.kind, page.value) for page in pages]


def test_a_dump_has_namespaces_categories_and_the_moment_of_the_revision(tmp_path):
    path = tmp_path / "dump.xml"
    path.write_text(DUMP_OF_FIELDS)
    kinds = [("1", "article"), ("2", "other_namespace"), ("3", "redirect")]
    for field, found in (
        ("category", [["Alte Bücher", "Law"], [], []]),
        ("timestamp", ["2019-05-01T00:00:00Z", None, None]),
        ("born", [None] * 3),
    ):
        assert values(path, field) == [(*kind, value) for kind, value in zip(kinds, found, strict=True)]
    assert values(path, "namespace") == [("1", "article", "main"), ("2", "article", "Talk"), ("3", "redirect", "main")]


def test_documents_of_json_lines_and_parquet_have_their_own_fields(tmp_path):
    rows = [{"id": str(number), "text": "x", "year": year, "topics": ["a"]} for number, year in enumerate((1999, None))]
    lines, table = tmp_path / "a.jsonl", tmp_path / "a.parquet"
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows))
    dates = pa.array([datetime(1999, 5, 1), None], pa.timestamp("s"))
    pq.write_table(pa.Table.from_pylist(rows).append_column("day", dates), table)
    for path in (lines, table):
        assert [value for _, _, value in values(path, "year")] == [1999, None]
        assert [value for _, _, value in values(path, "topics")] == [["a"], ["a"]]
        assert [value for _, _, value in values(path, "born")] == [None, None]
        assert {"id", "year", "topics"} <= set(fields_of(source(path)))
    assert values(table, "day")[0][2] == "1999-05-01T00:00:00"
