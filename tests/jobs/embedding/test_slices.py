"""A corpus that is cut by a field of its documents: each slice is the corpus of its documents."""

from dataclasses import replace

import pytest

from tests.jobs.embedding.tiny import BOOTSTRAP
from tiltmeter.jobs.embedding.corpora import ReadCorpora
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.tables import key_columns

TINY = [*BOOTSTRAP, "embedding.trainer.epochs=2", "reading.shard_megabytes=0.02"]
BY_YEAR = ["corpus.slices=date", "corpus.slice_by=year"]
YEARS = ("1999", "2000", "2001")
TABLES = ("corpora", "vocabulary", "training", "embeddings")


def dated(documents):
    """Each document with a date in one of three years; a tenth with none; one alone in its year, with rare words."""
    made = [
        document | ({"date": f"{YEARS[number % 3]}-05-01"} if number % 10 else {})
        for number, document in enumerate(documents)
    ]
    return [*made, {"id": "alone", "text": "rare words", "date": "May 2020"}]


@pytest.fixture(scope="module")
def documents(made_up):
    return dated(made_up("en", 120))


@pytest.fixture(scope="module")
def sliced(run_here, documents, write_lines, one_corpus, tmp_path_factory):
    """A run on the slices, and the settings that it was asked with."""
    folder = tmp_path_factory.mktemp("slices")
    settings = [*one_corpus("en", write_lines(folder / "dated.jsonl", documents)), "corpus.name=all", *BY_YEAR, *TINY]
    return run_here(*settings, f"store={folder}/store"), settings, folder


def test_every_slice_has_a_row_and_documents_in_none_are_counted(sliced):
    run, _, _ = sliced
    rows = {(row["corpus"], row["value"], row["status"]): row for row in run.table("corpus_slices").to_pylist()}
    years = [(f"all/{year}", year, "ok") for year in YEARS]
    assert list(rows) == [*years, ("all/2020", "2020", "too_small"), ("all", None, "in_no_slice")]
    assert [rows[key]["num_documents"] for key in rows] == [36, 36, 36, 1, 12]
    assert [rows[key]["place"] for key in years] == [1999, 2000, 2001]
    assert "embedding.min_count=2" in rows["all/2020", "2020", "too_small"]["reason"]
    assert {row["corpus"] for row in run.table("corpora").to_pylist()} == {name for name, _, _ in years}
    for name in (*TABLES, "corpus_slices"):
        table = run.table(name)
        assert len(table.group_by(key_columns(table.schema)).aggregate([])) == len(table)


def test_other_spans_give_the_same_shards_and_other_shards_the_same_tables(sliced, run_here, tmp_path):
    run, settings, folder = sliced
    again = run_here(*settings, "reading.span_megabytes=0.01", f"store={folder}/store")
    assert again.num_done("read") > 3
    assert [again.num_done(stage) for stage in ("inventory", "documents", "tokens", "train")] == [0, 0, 0, 0]
    assert run.num_done("documents") > len(YEARS) + 1
    other = run_here(*settings, "reading.shard_megabytes=1", f"store={tmp_path}/store")
    assert again.digests == other.digests == run.digests


def test_what_changed_in_one_slice_leaves_the_units_of_the_others(sliced, documents, run_here, write_lines):
    _, settings, folder = sliced
    dates = [document.get("date", "") for document in documents]
    changed = next(number for number, date in enumerate(dates) if date.startswith("1999"))
    anew = documents[changed] | {"text": "a text of another length\n" * 5}
    path = write_lines(folder / "tonight.jsonl", [*documents[:changed], anew, *documents[changed + 1 :]])
    night = run_here(*settings, f"corpus.path={path}", f"store={folder}/store")
    assert night.num_done("train") == 3
    assert night.num_done("documents") <= 2
    assert night.num_done("vocabulary") == 1


def test_a_field_that_no_document_has_is_refused_with_the_fields_there_are(sliced, run_here):
    _, settings, folder = sliced
    for change, message in {
        "corpus.slices=born": r"=born: none of the 121 documents of all has a value .* fields date, id$",
        "corpus.slice_values=[1066]": r"=date: none of the 121 .*corpus.slice_values=\['1066'\]",
        "corpus.slice_values=[2020]": r": all/2020 has 0 different words that occur embedding.min_count=2 times",
    }.items():
        with pytest.raises(InputError, match=message):
            run_here(*settings, change, f"store={folder}/store")


def test_what_is_too_small_is_noted_and_the_rest_goes_on_but_for_all_it_is_refused():
    read = ReadCorpora({"en": None, "de": None}, [], {}, {"fr": "is small"})
    large = read.without({"de": "has no words"})
    assert (list(large.corpora), large.small) == (["en"], {"fr": "is small", "de": "has no words"})
    with pytest.raises(InputError, match="corpus: all 2 corpora and slices are too small; en, as the first, is empty"):
        read.without({"en": "is empty", "de": "has no words"})
    with pytest.raises(InputError, match="corpus: en is empty"):
        replace(read, corpora={"en": None}).without({"en": "is empty"})
