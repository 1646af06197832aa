"""Corpora as data sets: every row by hand, the same files at any layout, and what `datasets` makes of them."""

import csv
import gzip
import hashlib
import json
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard

from tests.jobs.test_layouts import survive
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.operators.compute.keys import document_key, shard_starts
from tiltmeter.storage.corpora.cards import dump_date
from tiltmeter.storage.corpora.datasets import OtherSchema, write_dataset_file
from tiltmeter.storage.errors import InputError, StorageError

DOCUMENTS = [
    {"id": "a", "title": "Vela", "text": "Dr. Vela left. Why?\n\nShe\u2019s at home.", "year": 1990},
    {"id": "b", "title": "Nothing", "text": " \n", "year": 1990},
    {"id": "c", "title": "", "text": "Moras stayed in Apia.", "year": 1991},
    {"id": "c", "title": "", "text": "Moras stayed in Apia.", "year": 1991},
    {"id": "d", "title": "Later", "text": "\u2026", "year": 2000},
    {"id": "e", "title": "No year", "text": "It has none."},
]
"""A blank one, one that comes again, one without a word, and one without a year."""

ALL = "export.levels=[tokens,documents,sentences]"


@pytest.fixture(scope="module")
def corpus(write_lines, one_corpus, tmp_path_factory):
    path = write_lines(tmp_path_factory.mktemp("corpus") / "pages-20260501.jsonl", DOCUMENTS)
    return ["job=corpus_export", *one_corpus("pt-br", path)]


@pytest.fixture(scope="module")
def exported(run_here, corpus, tmp_path_factory):
    """All levels, with the slices of each document."""
    folder = tmp_path_factory.mktemp("exported")
    sliced = ["corpus.slices=year", "corpus.slice_by=decade"]
    taken = "exports.tables=[csv,markdown,latex]"
    return run_here(*corpus, ALL, *sliced, taken, f"store={folder}/store", f"run_dir={folder}/run")


@pytest.fixture
def opened(monkeypatch, tmp_path):
    """Opens a data set as its readers do, without a network."""
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    monkeypatch.setenv("HF_DATASETS_OFFLINE", "1")
    from datasets import load_dataset

    def rows(run, *names):
        made = load_dataset(str(run.path / "dataset"), *names, cache_dir=str(tmp_path / "cache"))
        assert [*made] == ["train"]
        return made["train"].to_list()

    return rows


def contents(folder):
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.once("corpus_export")
def test_every_row_of_every_level_by_hand(exported, opened):
    documents = opened(exported)
    same = {"language": "pt-BR", "dump_date": "20260501", "timestamp": None}
    assert documents == [
        {"id": row["id"], "title": row["title"], **same, "digest": sha256(row["text"]), "slices": slices, "text": text}
        for row, slices in zip(
            [DOCUMENTS[number] for number in (0, 2, 4, 5)], [["1990s"], ["1990s"], ["2000s"], []], strict=True
        )
        for text in [row["text"]]
    ]
    cut = [(row["id"], row["line"], row["sentence"], row["text"]) for row in opened(exported, "sentences")]
    assert cut == [
        ("a", 0, 0, "Dr. Vela left."),
        ("a", 0, 1, "Why?"),
        ("a", 2, 0, "She\u2019s at home."),
        ("c", 0, 0, "Moras stayed in Apia."),
        ("d", 0, 0, "\u2026"),
        ("e", 0, 0, "It has none."),
    ]
    words = [(row["id"], row["sentence"], row["tokens"], row["slices"]) for row in opened(exported, "tokens")]
    assert words == [
        ("a", 0, ["Dr", "Vela", "left"], ["1990s"]),
        ("a", 1, ["Why"], ["1990s"]),
        ("a", 0, ["She's", "at", "home"], ["1990s"]),
        ("c", 0, ["Moras", "stayed", "in", "Apia"], ["1990s"]),
        ("e", 0, ["It", "has", "none"], []),
    ]


def test_the_account_says_what_became_of_each_page(exported):
    numbers = {row["what"]: row["num_pages"] for row in exported.rows("account")}
    assert numbers == {"exported": 4, "repeated": 1, "redirect": 0, "in another namespace": 0}
    # A text that is blank is no page for the reader, which counts it.
    assert [row["num"] for row in exported.record["left_out"]] == [1]
    assert exported.rows("omitted") == [
        {"corpus": "file", "language": "pt-br", "id": "c", "title": "", "why": "repeated", "problem": ""}
    ]
    levels = {row["level"]: row for row in exported.rows("levels")}
    sizes = [len(row["text"]) for row in (DOCUMENTS[number] for number in (0, 2, 4, 5))]
    documents, tokens = levels["documents"], levels["tokens"]
    assert (documents["num_rows"], documents["total"], documents["largest"]) == (4, sum(sizes), max(sizes))
    assert documents["median"] == sum(sorted(sizes)[1:3]) / 2
    assert (tokens["num_rows"], tokens["total"], tokens["median"], tokens["ninth_decile"]) == (5, 14, 3, 3.6)
    slices = {row["slice"]: row["num_documents"] for row in exported.rows("document_slices")}
    assert slices == {"1990s": 2, "2000s": 1}
    assert exported.rows("samples", id="a")[0]["first_line"] == "Dr. Vela left. Why?"


def test_the_card_and_the_json_beside_it_say_the_same(exported, corpus):
    folder = exported.path / "dataset"
    facts = json.loads((folder / "provenance.json").read_text())
    card = DatasetCard.load(folder / "README.md")
    data = card.data.to_dict()
    assert (data["language"], data["license"], data["size_categories"]) == (["pt-BR"], ["unknown"], ["n<1K"])
    assert [one["config_name"] for one in data["configs"]] == ["default", "sentences", "tokens"]
    again = DatasetCard(f"---\n{card.data.to_yaml()}\n---\n{card.text}").data.to_dict()
    assert again == data
    assert "export.license" in card.text
    path = Path(corpus[-1].partition("=")[2])
    content = path.read_bytes()
    assert facts["sources"] == [
        {
            "name": path.name,
            "bytes": len(content),
            "sha256": hashlib.sha256(content).hexdigest(),
            "sha1": hashlib.sha1(content).hexdigest(),
        }
    ]
    assert facts["rows"] == {"documents": 4, "sentences": 6, "tokens": 5}
    for one in facts["files"]:
        assert one["sha256"] == hashlib.sha256((folder / one["file"]).read_bytes()).hexdigest()
        assert exported.rows("shards", file=one["file"])[0]["digest"] == one["digest"]
    assert facts["sources"][0]["sha256"] in card.text


@pytest.mark.parametrize(("form", "unpacked"), [("jsonl", open), ("jsonl.gz", gzip.open)])
def test_json_lines_have_the_same_rows_and_the_slices_asked_for(form, unpacked, corpus, run_here, opened, tmp_path):
    chosen = ["corpus.slices=year", "corpus.slice_values=[1990,1991]", "export.license=[cc-by-4.0]"]
    run = run_here(*corpus, *chosen, f"export.format={form}", "export.dump_date=2026-06-02", f"store={tmp_path}")
    with unpacked(run.path / f"dataset/data/train-00000-of-00001.{form}", "rt") as file:
        rows = [json.loads(line) for line in file]
    assert rows == opened(run)
    assert [(row["id"], row["slices"], row["dump_date"]) for row in rows] == [
        ("a", ["1990"], "20260602"),
        ("c", ["1991"], "20260602"),
    ]
    assert [row["why"] for row in run.rows("omitted")] == ["repeated", "in no slice", "in no slice"]
    assert [row["num_pages"] for row in run.rows("account", what="in no slice")] == [2]
    assert "cc-by-4.0" in (run.path / "dataset/README.md").read_text()


@pytest.fixture(scope="module")
def many(made_up, write_lines, one_corpus, tmp_path_factory):
    """Enough documents for several files and several units, of 3 kB each."""
    path = write_lines(tmp_path_factory.mktemp("many") / "many.jsonl", made_up("en", 60))
    return ["job=corpus_export", *one_corpus("en", path), "export.shard_megabytes=0.01", "export.levels=[sentences]"]


def test_files_are_the_same_at_any_layout_and_shards_begin_where_keys_say(many, made_up, run_here, tmp_path):
    layouts = [[], ["reading.shard_megabytes=0.006", "reading.span_megabytes=0.02"], ["reading.shard_megabytes=0.001"]]
    runs = [run_here(*many, *layout, f"store={tmp_path}/{number}") for number, layout in enumerate(layouts)]
    assert [run.num_done("sentences") > 1 for run in runs] == [False, True, True]
    first, *others = [contents(run.path / "dataset") for run in runs]
    assert others == [first, first]
    assert [run.digests for run in runs[1:]] == [runs[0].digests] * 2
    texts = {row["id"]: row["text"] for row in made_up("en", 60)}
    sizes = [len(text.encode()) for text in texts.values()]
    starts = shard_starts([document_key(name) for name in texts], sizes, 10_000)
    assert len(starts) > 2
    files = sorted((runs[0].path / "dataset/sentences").iterdir())
    by_file = [[*dict.fromkeys(pq.read_table(file)["id"].to_pylist())] for file in files]
    names = [*texts]
    assert by_file == [names[start:stop] for start, stop in zip(starts, [*starts[1:], None], strict=True)]
    assert files[0].name == f"train-00000-of-{len(starts):05d}.parquet"


@pytest.mark.slow
def test_workers_change_no_file(many, run_job, tmp_path):
    runs = [
        run_job(*many, "reading.shard_megabytes=0.006", f"store={tmp_path}/{num}", f"cluster.num_cpus={num}")
        for num in (1, 2, 4)
    ]
    assert [contents(run.path / "dataset") for run in runs[1:]] == [contents(runs[0].path / "dataset")] * 2
    assert [run.digests for run in runs[1:]] == [runs[0].digests] * 2


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["driver", "worker"])
def test_a_kill_changes_no_file(many, run_job, tiltmeter, outcome_of, tmp_path, victim):
    settings = [*many, "reading.shard_megabytes=0.006", "reading.span_megabytes=0.02"]
    undisturbed = run_job(*settings, f"store={tmp_path}/other", f"run_dir={tmp_path}/undisturbed")
    (tmp_path / "struck").mkdir()
    survive(tiltmeter, outcome_of, tmp_path / "struck", settings, victim, undisturbed)
    assert contents(tmp_path / "struck/run/dataset") == contents(undisturbed.path / "dataset")


DUMP = """<mediawiki version="0.11"><siteinfo><base>https://en.wikipedia.org/wiki/Main_Page</base></siteinfo>
<page><title>Apia</title><ns>0</ns><id>7</id><revision><timestamp>2026-04-30T10:11:12Z</timestamp>
<text>'''Apia''' is a [[city|town]].&lt;ref&gt;x&lt;/ref&gt;\n{{box}}\n== Sea ==</text></revision></page>
<page><title>Box</title><ns>0</ns><id>8</id><revision><text>{{box|1}}</text></revision></page>
<page><title>Old</title><ns>0</ns><id>9</id><redirect title="Apia"/><revision><text>x</text></revision></page>
<page><title>Talk:Apia</title><ns>1</ns><id>10</id><revision><text>y</text></revision></page>
</mediawiki>"""


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_dump_of_a_wikipedia_names_both_licenses_and_the_revisions(form, run_here, opened, one_corpus, tmp_path):
    (tmp_path / "enwiki-20260501.xml").write_text(DUMP)
    file = one_corpus("en", tmp_path / "enwiki-20260501.xml")
    run = run_here("job=corpus_export", *file, f"export.format={form}", f"store={tmp_path}")
    [row] = opened(run)
    assert row["text"] == "Apia is a town.\nSea"
    assert (row["id"], row["timestamp"], row["dump_date"]) == ("7", "20260430101112", "20260501")
    card = DatasetCard.load(run.path / "dataset/README.md")
    assert card.data.license == ["cc-by-sa-4.0", "gfdl"]
    assert "CC BY-SA 4.0" in card.text
    assert "GFDL" in card.text
    numbers = {row["what"]: row["num_pages"] for row in run.rows("account")}
    assert numbers == {"exported": 1, "empty": 1, "redirect": 1, "in another namespace": 1}
    assert [(row["id"], row["why"]) for row in run.rows("omitted")] == [("8", "empty")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{{box|1}}", "all pages are empty without their markup, unreadable, or in none of corpus.slice_values"),
        ("\u2026", "no document has a word: leave tokens out of export.levels"),
    ],
)
def test_a_data_set_without_rows_is_refused_as_nobody_could_open_it(text, reason, run_here, one_corpus, tmp_path):
    page = f"<page><title>A</title><ns>0</ns><id>7</id><revision><text>{text}</text></revision></page>"
    (tmp_path / "a.xml").write_text(f"<mediawiki>{page}</mediawiki>")
    settings = [*one_corpus("en", tmp_path / "a.xml"), ALL, f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    with pytest.raises(InputError) as refusal:
        run_here("job=corpus_export", *settings)
    assert str(refusal.value) == f"file: there is nothing to export, as {reason}"
    assert not (tmp_path / "run/dataset").exists()


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_file_in_which_no_sentence_has_a_word_stops_no_reader(
    form, run_here, write_lines, one_corpus, opened, tmp_path
):
    texts = ["One two three. Four five six.", *["\u2026 \u2026 \u2026 \u2026"] * 8, "Seven."]
    path = write_lines(tmp_path / "a.jsonl", [{"id": str(num), "text": text} for num, text in enumerate(texts)])
    cut = ["export.levels=[tokens]", f"export.format={form}", "export.shard_megabytes=2e-5", f"store={tmp_path}/store"]
    run = run_here("job=corpus_export", *one_corpus("en", path), *cut)
    assert 0 in [row["num_rows"] for row in run.rows("shards")]
    words = [row["tokens"] for row in opened(run, "tokens")]
    assert words == [["One", "two", "three"], ["Four", "five", "six"], ["Seven"]]


def test_a_corpus_of_which_a_file_is_damaged_leaves_no_data_set(many, run_here, tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": "1", "text": "Whole."}\n')
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress(b'{"id": "2", "text": "Half."}\n' * 500)[:40])
    with pytest.raises(UnitsFailed, match=r"b\.jsonl\.gz"):
        run_here(
            "job=corpus_export",
            "corpus=file",
            "corpus.language=en",
            f"corpus.path=[{tmp_path}/a.jsonl,{tmp_path}/b.jsonl.gz]",
            f"store={tmp_path}/store",
            f"run_dir={tmp_path}/run",
        )
    assert not (tmp_path / "run/dataset").exists()


def test_another_run_removes_what_it_finds_of_its_like_and_nothing_else(corpus, run_here, tmp_path):
    settings = [*corpus, f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    first = contents(run_here(*settings).path / "dataset")
    (tmp_path / "run/dataset.partial").mkdir()
    (tmp_path / "run/dataset.partial/half").touch()
    assert contents(run_here(*settings).path / "dataset") == first
    assert not (tmp_path / "run/dataset.partial").exists()
    (tmp_path / "run/dataset/mine.txt").touch()
    with pytest.raises(StorageError, match="its dataset is not one of ours"):
        run_here(*settings)
    assert contents(tmp_path / "run/dataset").keys() == {*first, "mine.txt"}


SCHEMA = pa.schema([("n", pa.int32()), ("text", pa.string())])


@pytest.mark.long
def test_groups_end_by_rows_and_bytes_and_nulls_keep_their_type(tmp_path):
    rows = pa.table({"n": pa.nulls(12_000, pa.int32()), "text": ["x"] * 12_000}, SCHEMA)
    books = pa.table({"n": [1, 2, 3], "text": ["y" * 2**26, "y", "z"]}, SCHEMA)
    cut = [rows.slice(0, 1), rows.slice(1, 7000), rows.slice(7001)]
    for pieces, sizes in ((cut, [5000, 5000, 2000]), ([rows], [5000, 5000, 2000]), ([books], [1, 2])):
        made = write_dataset_file(tmp_path / "a.parquet", SCHEMA, partial(iter, pieces), "parquet", setting="")
        metadata = pq.read_metadata(tmp_path / "a.parquet")
        assert [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)] == sizes
        assert made.num_rows == sum(sizes)
        assert pq.read_schema(tmp_path / "a.parquet").equals(SCHEMA)


@pytest.mark.parametrize(
    "other", [SCHEMA.append(pa.field("more", pa.string())), SCHEMA.set(0, pa.field("n", pa.int64()))]
)
@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_a_shard_of_another_schema_is_refused_and_leaves_no_file(other, form, tmp_path):
    pieces = [SCHEMA.empty_table(), other.empty_table()]
    with pytest.raises(OtherSchema, match=r"is not of the data set's n \(int32\), text \(string\)"):
        write_dataset_file(tmp_path / "a", SCHEMA, lambda: pieces, form, setting="")
    assert not [*tmp_path.iterdir()]


def test_shards_have_about_the_size_that_is_asked_and_a_new_document_moves_few_of_them():
    keys = [document_key(str(number)) for number in range(20_000)]
    sizes = [1000 + key % 1000 for key in keys]
    starts = shard_starts(keys, sizes, 1e6)
    lengths = [sum(sizes[start:stop]) for start, stop in zip(starts, [*starts[1:], None], strict=True)]
    assert all(5e5 <= length <= 2.01e6 for length in lengths[:-1])
    assert 0.8e6 < sum(lengths[:-1]) / len(lengths[:-1]) < 1.2e6
    later = shard_starts([7, *keys], [1500, *sizes], 1e6)
    assert len({start - 1 for start in later} & {*starts}) > 0.8 * len(starts)


@pytest.mark.parametrize(
    ("name", "date"),
    [
        ("dumps/20260501/enwiki.xml", "2026-05-01"),
        ("enwiki-20261345-20260230-pages.xml", None),
        ("p000000010p000030302-shortened.bz2", None),
        ("2026-05-01.jsonl", "2026-05-01"),
    ],
)
def test_a_date_is_told_from_other_numbers(name, date):
    assert dump_date([name]) == date


def test_each_table_of_the_page_is_a_file_of_each_format(exported):
    names = {path.name for path in (exported.path / "exports").iterdir()}
    stems = {name.rpartition(".")[0] for name in names}
    assert names == {f"{stem}.{ending}" for stem in stems for ending in ("csv", "md", "tex")}
    assert stems == {f"table-{section}-1" for section in ("levels", "pages", "slices", "samples", "omitted", "files")}
    page = (exported.path / "report.html").read_text()
    [headings, *rows] = csv.reader((exported.path / "exports/table-levels-1.csv").read_text().splitlines()[1:])
    assert len(rows) == 3
    assert all(cell in page for row in [headings, *rows] for cell in row)
    latex = (exported.path / "exports/table-levels-1.tex").read_text()
    assert (latex.count(r" \\"), latex.count(r"\midrule")) == (4, 1)
