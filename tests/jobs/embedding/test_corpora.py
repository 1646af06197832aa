"""Corpora of every form, whole and in slices, from the web and broken; and embeddings in formats of other programs."""

import hashlib
import html
import json
import re
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from gensim.models import KeyedVectors
from gensim.test.utils import datapath
from huggingface_hub import ModelCard
from safetensors import safe_open

from tests.storage import conftest as storage
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.embedding.corpora import ReadCorpora
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.runs import read_run_table
from tiltmeter.storage.store.tables import key_columns
from tiltmeter.storage.vectors.files import EmbeddingFileError, read_embedding

DUMP = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
BOOTSTRAP = ["job=bootstrap", "embedding.num_replicas=2", "embedding.min_count=2", "embedding.trainer.dimensions=4"]
BOOTSTRAP += ["embedding.trainer.epochs=2"]
TINY = [*BOOTSTRAP, "embedding.cooccurrence.tile_words=32"]
TABLES = ("vocabulary", "training", "embeddings")


def keys_tell_all_rows_apart(table):
    return len(table.group_by(key_columns(table.schema)).aggregate([])) == len(table)


def dump_of(documents):
    """A MediaWiki dump of them."""
    pages = (
        f"<page><title>T{document['id']}</title><ns>0</ns><id>{document['id']}</id><revision><id>1</id>"
        f"<text>{html.escape(document['text'], quote=False)}</text></revision></page>\n"
        for document in documents
    )
    return f"<mediawiki version='0.10'><siteinfo></siteinfo>\n{''.join(pages)}</mediawiki>\n"


DATES = ["1999-02-03"] * 6 + ["1999-03-20"] * 8 + ["2000-02-10"] * 10
SLICES = {
    "jsonl": ("decade", {"1990s": (1990, 14), "2000s": (2000, 10)}),
    "parquet": (
        "month",
        {"1999-02": (1999 + 1 / 12, 6), "1999-03": (1999 + 2 / 12, 8), "2000-02": (2000 + 1 / 12, 10)},
    ),
    "arrow": ("quarter", {"1999-Q1": (1999, 14), "2000-Q1": (2000, 10)}),
}
"""By the form of a corpus: how it is cut, and the place and number of documents of each slice."""

NO_DATE = {"id": "no date", "date": "1999-02-29"}


@pytest.fixture(scope="module")
def documents(made_up):
    """Each month has more of them than the one before."""
    made = zip(made_up("en", len(DATES)), DATES, strict=True)
    return [document | {"title": f"T{number}", "date": date} for number, (document, date) in enumerate(made)]


@pytest.fixture(scope="module")
def forms(documents, tmp_path_factory):
    """Paths of one corpus by its form, of which neither the beginnings nor the names of most files tell it."""
    folder = tmp_path_factory.mktemp("forms")
    lines = [json.dumps(document) for document in documents]
    texts = {
        "text": "".join(document["text"].replace("\n", " ") + "\n" for document in documents),
        "json": f"[1,\n{','.join(lines)}]",
        "mediawiki": dump_of(documents),
        "wikiextractor": "</doc>\n"
        + "".join(f'<doc id="{d["id"]}" title="T">\nT\n\n{d["text"]}\n</doc>\n' for d in documents),
        "jsonl_1": "\n".join(["[1]", *lines[:9]]),
        "jsonl_2": "\n".join(lines[9:]),
    }
    for name, text in texts.items():
        (folder / f"{name}.dat").write_text(text)
    table = pa.Table.from_pylist(documents)
    pq.write_table(table.slice(0, 9), folder / "parquet_1.dat")
    pq.write_table(table.slice(9), folder / "parquet_2.dat")
    with pa.ipc.new_file(folder / "arrow.dat", table.schema) as file:
        file.write_table(pa.concat_tables([table, pa.Table.from_pylist([documents[0] | NO_DATE])]))
    several = {"jsonl": f"{folder}/jsonl_*.dat", "parquet": f"[{folder}/parquet_1.dat, {folder}/parquet_2.dat]"}
    whole = ("text", "json", "mediawiki", "wikiextractor", "arrow")
    return {name: f"{folder}/{name}.dat" for name in whole} | several


def corpus_of(form, path):
    cut = f", slices: date, slice_by: {SLICES[form][0]}" if form in SLICES else ""
    return f"+corpus.{form}={{name: {form}, language: en, path: {path}, format: {form}{cut}}}"


def counted(documents):
    counts = Counter(word for document in documents for word in document["text"].split())
    return {word: count for word, count in counts.items() if count >= 2}


def test_corpora_of_every_form_and_their_slices_are_what_they_are_alone(
    run_here, documents, forms, write_lines, one_corpus, tmp_path
):
    asked = [corpus_of(form, path) for form, path in forms.items()]
    together = run_here(*asked, "~corpus", *TINY, "job.export=[glove]", f"store={tmp_path}/store")
    parts = {form: documents for form in forms if form not in SLICES}
    for form, (_, slices) in SLICES.items():
        rows = together.rows("corpus_slices", whole=form, status="ok")
        assert {row["value"]: (pytest.approx(row["place"]), row["num_documents"]) for row in rows} == slices
        numbers = iter(range(len(documents)))
        parts |= {
            f"{form}/{value}": [documents[next(numbers)] for _ in range(num)] for value, (_, num) in slices.items()
        }
    rows = {row["corpus"]: row for row in together.rows("corpora")}
    assert rows.keys() == parts.keys()
    for name, part in parts.items():
        words = together.rows("vocabulary", corpus=name, status="ok")
        assert {row["word"]: row["count"] for row in words} == counted(part)
        known = rows[name]["num_articles"], rows[name]["num_lines"], rows[name]["num_tokens"]
        assert known == (len(part), len(part) * (1 if name == "text" else 10), len(part) * 100)
    exported = {path.name for path in (together.path / "exports").iterdir()}
    assert exported - {"README.md"} == {
        f"{name.replace('/', '_')}_replica_{n:04d}.txt" for name in parts for n in range(3)
    }
    reasons = {(row["file"].rpartition("/")[2], row["reason"]) for row in together.record["left_out"]}
    left = {"json.dat": "no JSON object", "jsonl_1.dat": "no JSON object", "arrow.dat": "a date that does not exist"}
    assert reasons == {*left.items()}
    path = write_lines(tmp_path / "old.jsonl", documents[:14])
    alone = run_here(*one_corpus("en", path), *TINY, f"store={tmp_path}/alone")
    alike = {"jsonl/1990s": None, "arrow/1999-Q1": None, "json": "wikiextractor", "mediawiki": "wikiextractor"}
    for name in TABLES:
        table = together.table(name)
        assert keys_tell_all_rows_apart(table)
        for corpus, other in alike.items():
            expected = together.rows(name, corpus=other) if other else alone.rows(name)
            assert [row | {"corpus": expected[0]["corpus"]} for row in together.rows(name, corpus=corpus)] == expected


@pytest.fixture
def broken(tmp_path, made_up, write_lines):
    """A corpus that is whole, and others that are wrong each in its way, four of them though they begin well."""
    whole = Path(DUMP).read_bytes()
    (tmp_path / "truncated.xml.bz2").write_bytes(whole[: len(whole) // 2])
    cut = dump_of(made_up("fr")).encode()
    (tmp_path / "cut.xml").write_bytes(cut[: len(cut) // 2])
    spanish = made_up("es")
    write_lines(tmp_path / "twice.jsonl", [*spanish, spanish[7] | {"text": "otra cosa"}])
    (tmp_path / "blank.txt").write_text("\n \n\n")
    sound = write_lines(tmp_path / "whole.jsonl", [*made_up("en"), {"id": "a", "title": None, "text": None}])
    sound.write_text("{\n" * 3 + sound.read_text())
    bad = write_lines(tmp_path / "bad.jsonl", made_up("it")[:30])
    bad.write_text("{\n" * 20 + bad.read_text())
    (tmp_path / "damaged.txt.gz").write_bytes(b"\x1f\x8b" + bytes(range(100)))
    return {
        "ur": tmp_path / "damaged.txt.gz",
        "en": sound,
        "wo": tmp_path / "blank.txt",
        "de": tmp_path / "truncated.xml.bz2",
        "fr": tmp_path / "cut.xml",
        "es": tmp_path / "twice.jsonl",
        "it": bad,
    }


WRONG = {
    "de": r"truncated.xml.bz2 from 0: InputError: \S*truncated.xml.bz2: cannot be read on from byte [\d,]+ of the",
    "fr": r"cut.xml from 0: InputError: \S*cut.xml: the XML breaks off or is damaged near byte [\d,]+",
    "ur": r"damaged.txt.gz from 0: InputError: \S*damaged.txt.gz: cannot be read on from byte 0 of the compressed",
    "wo": r"inventory 0: InputError: its files hold no article, only blank lines, redirects, bad records or nothing",
    "it": (
        r"bad.jsonl from 0: InputError: \S*bad.jsonl: 20 of 50 records are bad \(40%\), more than "
        r"reading.max_bad_share=0.01 allows: no JSON object \(20, first at line 1, column 2\)"
    ),
    "es": r"inventory 0: InputError: 1 ids come again with another text, such as \['7'\]",
}


def test_what_is_broken_fails_alone_with_file_and_place(
    broken, run_here, one_corpus, several_corpora, outcome_of, tmp_path
):
    with pytest.raises(UnitsFailed) as failures:
        run_here(*several_corpora(broken), *TINY, f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    said = str(failures.value)
    assert "6 units failed:" in said
    for language, message in WRONG.items():
        assert re.search(rf"{language}:? {message}", said), said
    run = outcome_of(tmp_path / "run")
    assert run.record["status"] == "failed"
    assert {re.split("[: ]", failure["unit"])[0] for failure in run.record["failures"]} == WRONG.keys()
    rows = [(row["num"], row["reason"], row["kind"]) for row in run.record["left_out"] if "whole" in row["file"]]
    assert rows == [(3, "no JSON object", "bad"), (1, "no title", "kept"), (1, "no text", "empty")]
    alone = run_here(*one_corpus("en", broken["en"]), "corpus.name=en", *TINY, f"store={tmp_path}/alone")
    assert {name: table["digest"] for name, table in run.record["tables"].items() if table} == alone.digests
    assert not list(tmp_path.rglob("*partial*"))


@pytest.mark.slow
def test_a_broken_span_leaves_the_others_done_and_mending_it_does_only_what_is_missing(
    run_here, made_up, write_lines, one_corpus, outcome_of, tmp_path
):
    first, second = made_up("en", 60)[:20], made_up("en", 60)[20:]
    path, dump = tmp_path / "second.xml", dump_of(second)
    write_lines(tmp_path / "first.jsonl", first)
    start = dump.index("<text>", dump.index("<id>35</id>")) + len("<text>")
    path.write_text(dump[:start] + "<a>" * 70 + dump[start + 210 :])
    settings = [
        *one_corpus("en", f"[{tmp_path}/first.jsonl,{path}]"),
        *TINY,
        "reading.span_megabytes=0.004",
        f"store={tmp_path}/store",
        f"run_dir={tmp_path}/run",
    ]
    with pytest.raises(
        UnitsFailed, match=r"1 unit failed:\n  file: second.xml from [\d,]+: InputError: .*has a nest of more than 64"
    ):
        run_here(*settings)
    stopped = outcome_of(tmp_path / "run")
    num_spans = stopped.num_done("read") + 1
    assert stopped.stage("read")["num_failed"] == 1
    assert num_spans > 6
    assert stopped.num_done("documents") == stopped.num_done("tokens") == num_spans - 1
    path.write_text(dump)
    repaired = run_here(*settings)
    # The file of another size has to be read again; all that did not change in it is known.
    assert repaired.stage("read")["num_reused"] == -(-(tmp_path / "first.jsonl").stat().st_size // 4000)
    for name in ("documents", "tokens"):
        assert (repaired.num_done(name), repaired.stage(name)["num_reused"]) == (1, num_spans - 1)
    whole = run_here(
        *one_corpus("en", write_lines(tmp_path / "whole.jsonl", made_up("en", 60))), *TINY, f"store={tmp_path}/whole"
    )
    assert [whole.digests[name] for name in TABLES] == [repaired.digests[name] for name in TABLES]


# --- slices -----------------------------------------------------------------------------------------------------------

BY_YEAR = ["corpus.slices=date", "corpus.slice_by=year", "reading.shard_megabytes=0.01", *BOOTSTRAP]
YEARS = ("1999", "2000", "2001")


def dated(documents):
    """Each document with a date in one of three years; a tenth with none; one alone in its year, with rare words."""
    made = [
        document | ({"date": f"{YEARS[number % 3]}-05-01"} if number % 10 else {})
        for number, document in enumerate(documents)
    ]
    return [*made, {"id": "alone", "text": "rare words", "date": "May 2020"}]


@pytest.fixture(scope="module")
def dated_documents(made_up):
    return dated(made_up("en", 60))


@pytest.fixture(scope="module")
def sliced(run_here, dated_documents, write_lines, one_corpus, tmp_path_factory):
    """A run on the slices, and the settings that it was asked with."""
    folder = tmp_path_factory.mktemp("slices")
    settings = [*one_corpus("en", write_lines(folder / "dated.jsonl", dated_documents)), "corpus.name=all", *BY_YEAR]
    return run_here(*settings, f"store={folder}/store"), settings, folder


def test_every_slice_has_a_row_and_documents_in_none_are_counted(sliced):
    run, _, _ = sliced
    rows = {(row["corpus"], row["value"], row["status"]): row for row in run.table("corpus_slices").to_pylist()}
    years = [(f"all/{year}", year, "ok") for year in YEARS]
    assert list(rows) == [*years, ("all/2020", "2020", "too_small"), ("all", None, "in_no_slice")]
    assert [rows[key]["num_documents"] for key in rows] == [18, 18, 18, 1, 6]
    assert [rows[key]["place"] for key in years] == [1999, 2000, 2001]
    assert "embedding.min_count=2" in rows["all/2020", "2020", "too_small"]["reason"]
    assert {row["corpus"] for row in run.table("corpora").to_pylist()} == {name for name, _, _ in years}
    assert all(keys_tell_all_rows_apart(run.table(name)) for name in ("corpora", "corpus_slices", *TABLES))


def test_other_spans_give_the_same_shards_and_other_shards_the_same_tables(sliced, run_here, tmp_path):
    run, settings, folder = sliced
    again = run_here(*settings, "reading.span_megabytes=0.005", f"store={folder}/store")
    assert again.num_done("read") > 3
    assert [again.num_done(stage) for stage in ("inventory", "documents", "tokens", "train")] == [0, 0, 0, 0]
    assert run.num_done("documents") > len(YEARS) + 1
    other = run_here(*settings, "reading.shard_megabytes=1", f"store={tmp_path}/store")
    assert again.digests == other.digests == run.digests


def test_what_changed_in_one_slice_leaves_the_units_of_the_others(sliced, dated_documents, run_here, write_lines):
    _, settings, folder = sliced
    dates = [document.get("date", "") for document in dated_documents]
    changed = next(number for number, date in enumerate(dates) if date.startswith("1999"))
    anew = dated_documents[changed] | {"text": "a text of another length\n" * 5}
    path = write_lines(folder / "tonight.jsonl", [*dated_documents[:changed], anew, *dated_documents[changed + 1 :]])
    night = run_here(*settings, f"corpus.path={path}", f"store={folder}/store")
    assert night.num_done("train") == 3
    assert night.num_done("documents") <= 2
    assert night.num_done("vocabulary") == 1


def test_a_field_that_no_document_has_is_refused_with_the_fields_there_are(sliced, run_here):
    _, settings, folder = sliced
    for change, message in {
        "corpus.slices=born": r"=born: none of the 61 documents of all has a value .* fields date, id$",
        "corpus.slice_values=[1066]": r"=date: none of the 61 .*corpus.slice_values=\['1066'\]",
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


# --- files of other programs, and of the web --------------------------------------------------------------------------

SUFFIXES = {
    "word2vec_text": "vec",
    "word2vec_binary": "bin",
    "glove": "txt",
    "keyedvectors": "kv",
    "parquet": "parquet",
}


def test_every_format_has_the_vectors_of_the_table_and_the_next_run_removes_it(
    run_here, made_up, write_lines, one_corpus, tmp_path
):
    documents = [*made_up("wo"), {"id": "more", "text": "Doom ju jigéen\nDoom ju jigéen\nrarity rarity"}]
    corpus = one_corpus("wo", write_lines(tmp_path / "wo.jsonl", documents))
    settings = [*corpus, *BOOTSTRAP, f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    run = run_here(*settings, f"job.export=[{','.join(SUFFIXES)},safetensors]")
    folder = run.path / "exports"
    assert sorted(path.name for path in folder.iterdir()) == sorted(run.record["exports"])
    num_absent = 0
    for name, table in run.parts("wo").items():
        rows = {row["word"]: row["vector"] for row in table.to_pylist() if row["vector"]}
        num_absent += table.num_rows - len(rows)
        for form, suffix in SUFFIXES.items():
            words, vectors = read_embedding(str(folder / name.replace("parquet", suffix)), allow_pickle=True)
            expected = rows if form == "parquet" else {w.replace(" ", "_"): rows[w] for w in rows}
            assert words == list(expected)
            assert np.array_equal(vectors, np.array(list(expected.values()), np.float32))
    assert num_absent, "every replica has every word"
    with safe_open(folder / "wo.safetensors", "numpy") as file:
        assert {*file.keys()} == {name.removeprefix("wo_").removesuffix(".parquet") for name in run.parts("wo")}
        for name, table in run.parts("wo").items():
            assert json.loads(file.metadata()["words"]) == table["word"].to_pylist()
            rows = [[np.nan] * 4 if row is None else row for row in table["vector"].to_pylist()]
            tensor = file.get_tensor(name.removeprefix("wo_").removesuffix(".parquet"))
            assert np.array_equal(tensor, np.array(rows, np.float32), equal_nan=True)
    counts = {row["word"].replace(" ", "_"): row["count"] for row in run.table("vocabulary").to_pylist()}
    for replica in range(3):  # counts are those of the corpus, also where a replica lacks a word
        loaded = KeyedVectors.load(str(folder / f"wo_replica_{replica:04d}.kv"))
        assert all(loaded.get_vecattr(word, "count") == counts[word] for word in loaded.index_to_key)
    with pytest.raises(EmbeddingFileError, match="allow_pickle=true"):
        read_embedding(str(folder / "wo_replica_0000.kv"))
    again = run_here(*settings, "job.export=[glove]")
    glove = [f"wo_replica_{replica:04d}.txt" for replica in range(3)]
    assert sorted(path.name for path in folder.iterdir()) == ["README.md", *glove]
    assert again.record["units"]["done"] == 0
    assert again.digests == run.digests


def test_the_card_says_what_the_tables_measured_and_loses_nothing_when_it_is_read(
    run_here, made_up, write_lines, tmp_path
):
    files = {name: write_lines(tmp_path / f"{name}.jsonl", made_up("en")) for name in ("a-20260501", "b")}
    files["few"] = write_lines(tmp_path / "few.jsonl", made_up("en")[:5])
    corpora = [f"+corpus.{name[:1]}={{name: {name[:1]}, language: en, path: {path}}}" for name, path in files.items()]
    formats = f"job.export=[{','.join([*SUFFIXES, 'safetensors'])}]"
    settings = [*BOOTSTRAP, formats, f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    run = run_here("~corpus", *corpora, *settings)
    text = (run.path / "exports/README.md").read_text()
    card = ModelCard(text)
    keys = yaml.safe_load(text.split("---\n")[1])
    again = yaml.safe_load(card.data.to_yaml())
    assert again == keys
    assert (keys["language"], keys["license"], keys["license_name"]) == (["en"], "other", "that-of-the-texts")
    [index] = keys["model-index"]
    assert [result["dataset"]["name"] for result in index["results"]] == ["a", "b", "f"]
    assert [result["dataset"].get("revision") for result in index["results"]] == ["2026-05-01", None, None]
    for result, path in zip(index["results"], files.values(), strict=True):
        name, content = result["dataset"]["name"], path.read_bytes()
        digest = {"name": path.name, "sha256": hashlib.sha256(content).hexdigest()}
        assert result["dataset"]["args"] == {"files": [digest]}
        losses = {row["replica"]: row["loss"] for row in run.rows("training", corpus=name) if row["epoch"] == 2}
        places = sorted((run.path / f"embeddings/corpus={name}").iterdir())
        words = [read_run_table(place.parent, place.stem)["vector"].drop_null().length() for place in places]
        for metric, (value, *others) in zip(result["metrics"], ([*losses.values()], words), strict=True):
            assert metric["value"] == value
            ends = np.quantile(others, [0.025, 0.975])
            expected = {"interval": pytest.approx(ends), "level": 0.95, "n": 2} if name != "f" else None
            assert metric.get("args") == expected
    assert card.data.eval_results == ModelCard(f"---\n{card.data.to_yaml()}\n---\n").data.eval_results
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 6
    for block in blocks:
        names = {}
        exec(
            block.replace('("', f'("{run.path}/exports/').replace(f'get_tensor("{run.path}/exports/', 'get_tensor("'),
            names,
        )
        assert len(names["table"] if "table" in names else names["vectors"]) > 2


web_server = storage.web_server


def test_a_dump_is_downloaded_once_and_read_from_the_store(run_here, web_server, tmp_path):
    name, requests = "enwiki-table-markup.xml.bz2", web_server.ranges
    shutil.copy(datapath(name), web_server.folder)
    arguments = ["corpus=wikipedia", "corpus.language=en", *BOOTSTRAP, f"store={tmp_path}/store"]
    first = run_here(*arguments, f"corpus.path={web_server.url('ranges', name)}")
    [copy] = (tmp_path / "store/downloads").rglob("*.bz2")
    assert copy.read_bytes() == Path(datapath(name)).read_bytes()
    assert [row["corpus"] for row in first.table("corpora").to_pylist()] == ["enwiki"]
    assert requests == ["bytes=0-0", ""], "the state of the file, then all of it once"
    requests.clear()
    second = run_here(*arguments, f"corpus.path={web_server.url('ranges', name)}")
    assert requests == ["bytes=0-0"], "whether it is still the same file"
    assert second.record["units"]["done"] == 0
    assert second.digests == first.digests
    plain = run_here(*arguments, f"corpus.path={datapath(name)}", "corpus.download=false", f"store={tmp_path}/plain")
    assert plain.digests == first.digests


@pytest.mark.slow
def test_memory_keeps_to_its_setting_until_training(run_job, new_workers, tmp_path):
    run = run_job(
        "job=bootstrap",
        "cluster.worker_megabytes=600",
        "cluster.num_cpus=2",
        "embedding.trainer.dimensions=4",
        "embedding.trainer.epochs=1",
        f"store={tmp_path}",
    )
    stages = [stage for stage in run.record["stages"] if stage["name"] != "train"]
    assert stages[-1]["name"] == "merge"
    assert stages[-1]["num_done"] > 1, "it would not fit at once"
    peaks = {stage["name"]: stage["peak_worker_memory_bytes"] // 10**6 for stage in stages}
    assert max(peaks.values()) < 600, json.dumps(peaks)
