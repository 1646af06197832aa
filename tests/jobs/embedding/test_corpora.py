"""Several corpora in one run, corpora that are broken, and pages that come twice."""

import bz2
import html
import json
import re
from pathlib import Path

import pytest
from gensim.test.utils import datapath

from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.runtime.config import ConfigError
from tiltmeter.storage.store.tables import key_columns

DUMP = datapath("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2")
TINY = [
    "job=bootstrap",
    "embedding.num_replicas=2",
    "embedding.min_count=2",
    "embedding.cooccurrence.tile_words=32",
    "embedding.trainer.dimensions=4",
    "embedding.trainer.epochs=2",
]
TABLES = ("vocabulary", "training", "embeddings")


def chosen(digests):
    return {name: digests[name] for name in TABLES}


def dump_of(documents):
    """A MediaWiki dump of them."""
    pages = (
        f"<page><title>T{document['id']}</title><ns>0</ns><id>{document['id']}</id><revision><id>1</id>"
        f"<text>{html.escape(document['text'], quote=False)}</text></revision></page>\n"
        for document in documents
    )
    return f"<mediawiki version='0.10'><siteinfo></siteinfo>\n{''.join(pages)}</mediawiki>\n"


@pytest.mark.slow
def test_each_of_several_corpora_gives_what_it_gives_alone(
    run_job, made_up, write_lines, one_corpus, several_corpora, tmp_path
):
    files = {code: write_lines(tmp_path / f"{code}.jsonl", made_up(code, 30)) for code in ("en", "de")}
    together = run_job(*several_corpora(files), *TINY, f"store={tmp_path}/together")
    assert [row["language"] for row in together.table("corpora").to_pylist()] == list(files)
    for code, path in files.items():
        alone = run_job(*one_corpus(code, path), f"corpus.name={code}", *TINY, f"store={tmp_path}/alone")
        for name in ("corpora", "vocabulary", "training"):
            rows = together.table(name).to_pylist()
            assert [row for row in rows if row["language"] == code] == alone.table(name).to_pylist()
        parts = alone.parts(code)
        assert list(parts) == [f"{code}_replica_{replica:04d}.parquet" for replica in range(3)]
        assert together.parts(code) == parts
    again = run_job(*several_corpora(files), *TINY, f"store={tmp_path}/alone")
    assert again.record["units"]["done"] == 0, "each corpus was done by its own run"
    assert again.digests == together.digests


def test_two_corpora_of_one_language_stand_in_one_run(run_here, made_up, write_lines, tmp_path):
    documents = made_up("en", 40)
    halves = {"a": documents[::2], "b": documents[1::2]}
    files = {name: write_lines(tmp_path / f"{name}.jsonl", half) for name, half in halves.items()}
    other = f"+corpus.other={{name: b, language: en, path: {files['b']}}}"
    first = ["corpus=file", "corpus.name=a", "corpus.language=en", f"corpus.path={files['a']}"]
    together = run_here(*first, other, *TINY, "job.export=[glove]", f"store={tmp_path}/store")
    assert [row["corpus"] for row in together.table("corpora").to_pylist()] == ["a", "b"]
    exported = {path.name for path in (together.path / "exports").iterdir()}
    assert exported == {f"{name}_replica_{number:04d}.txt" for name in halves for number in range(3)}
    for name, path in files.items():
        alone = run_here(*first, f"corpus.name={name}", f"corpus.path={path}", *TINY, f"store={tmp_path}/alone")
        for table in ("corpora", *TABLES):
            rows = alone.table(table)
            assert together.rows(table, corpus=name) == rows.to_pylist()
            keys = key_columns(rows.schema)
            assert keys[0] == "corpus"
            assert len(rows.group_by(keys).aggregate([])) == len(rows), "the key columns tell all rows apart"


def test_two_corpora_of_one_name_are_refused(configured):
    other = "+corpus.other={name: file, language: de, path: other.jsonl}"
    with pytest.raises(ConfigError, match=r"corpus: 2 corpora are called file, .*\(corpus.<key>.name=<name>\)"):
        configured("corpus=file", "corpus.language=en", "corpus.path=some.jsonl", other, "job=bootstrap")


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


def test_what_is_broken_fails_alone_with_file_and_place(
    tiltmeter, joining, broken, run_here, one_corpus, several_corpora, outcome_of, tmp_path
):
    where = [f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    process = tiltmeter(*joining, *several_corpora(broken), *TINY, *where)
    output, said = process.communicate(timeout=200)
    said += output
    assert process.returncode == 1, said
    assert "tiltmeter: 6 units failed:" in said
    for message in (
        r"de: truncated.xml.bz2 from 0: InputError: \S*truncated.xml.bz2: cannot be read on from byte [\d,]+ of the",
        r"fr: cut.xml from 0: InputError: \S*cut.xml: the XML breaks off or is damaged near byte [\d,]+",
        r"ur: damaged.txt.gz from 0: InputError: \S*damaged.txt.gz: cannot be read on from byte 0 of the compressed",
        r"wo inventory 0: InputError: its files hold no article, only blank lines, redirects, bad records or nothing",
        (
            r"it: bad.jsonl from 0: InputError: \S*bad.jsonl: 20 of 50 records are bad \(40%\), more than "
            r"reading.max_bad_share=0.01 allows: no JSON object \(20, first at line 1, column 2\)"
        ),
        r"3 records left out: no JSON object; first in \S*whole.jsonl, line 1, column 2",
        r"es inventory 0: InputError: 1 ids come again with another text, such as \['7'\]",
    ):
        assert re.search(message, said), said
    assert "Traceback" not in said
    run = outcome_of(tmp_path / "run")
    assert run.record["status"] == "failed"
    assert {failure["unit"].split(":")[0].split(" ")[0] for failure in run.record["failures"]} == {
        "de",
        "fr",
        "es",
        "ur",
        "wo",
        "it",
    }
    rows = [(row["num"], row["reason"], row["kind"]) for row in run.record["left_out"] if "whole" in row["file"]]
    assert rows == [(3, "no JSON object", "bad"), (1, "no title", "kept"), (1, "no text", "empty")]
    alone = run_here(*one_corpus("en", broken["en"]), "corpus.name=en", *TINY, f"store={tmp_path}/alone")
    assert {name: table["digest"] for name, table in run.record["tables"].items() if table} == alone.digests
    assert not list(tmp_path.rglob("*partial*"))


@pytest.mark.slow
def test_a_broken_span_leaves_the_others_done_and_mending_it_does_only_what_is_missing(
    run_job, made_up, write_lines, one_corpus, outcome_of, tmp_path
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
        run_job(*settings)
    stopped = outcome_of(tmp_path / "run")
    num_spans = stopped.num_done("read") + 1
    assert stopped.stage("read")["num_failed"] == 1
    assert num_spans > 6
    assert stopped.num_done("documents") == stopped.num_done("tokens") == num_spans - 1
    path.write_text(dump)
    repaired = run_job(*settings)
    # The file of another size has to be read again; all that did not change in it is known.
    assert repaired.stage("read")["num_reused"] == -(-(tmp_path / "first.jsonl").stat().st_size // 4000)
    for name in ("documents", "tokens"):
        assert (repaired.num_done(name), repaired.stage(name)["num_reused"]) == (1, num_spans - 1)
    whole = write_lines(tmp_path / "whole.jsonl", made_up("en", 60))
    assert chosen(run_job(*one_corpus("en", whole), *TINY, f"store={tmp_path}/whole").digests) == chosen(
        repaired.digests
    )


@pytest.mark.parametrize("shard_megabytes", [pytest.param(0.002, marks=pytest.mark.slow), 1])
def test_pages_that_come_twice_word_by_word_are_left_out_and_counted(
    run_here, made_up, write_lines, one_corpus, tmp_path, shard_megabytes
):
    documents = made_up("en")
    twice = [*documents[:15], documents[3], *documents[15:], *documents[10:20], documents[3]]
    paths = [write_lines(tmp_path / f"{len(pages)}.jsonl", pages) for pages in (documents, twice)]
    once, again = (
        run_here(*one_corpus("en", path), *TINY, f"store={tmp_path}", f"reading.shard_megabytes={shard_megabytes}")
        for path in paths
    )
    [row], [expected] = again.table("corpora").to_pylist(), once.table("corpora").to_pylist()
    assert row == expected | {"num_repeated": 12}
    assert row["num_articles"] == 40
    assert chosen(again.digests) == chosen(once.digests)


@pytest.fixture(scope="module")
def forms(made_up, write_lines, tmp_path_factory):
    """One corpus in many forms, each a value of ``corpus.path``."""
    folder = tmp_path_factory.mktemp("forms")
    documents = made_up("en")
    content = dump_of(documents).encode()
    (folder / "dump.xml").write_bytes(content)
    starts = [found.start() for found in re.finditer(b"<page>", content)][::5]
    ends = [*starts[1:], content.rindex(b"</mediawiki>"), len(content)]
    streams = [bz2.compress(content[start:end]) for start, end in zip([0, *starts], [starts[0], *ends], strict=False)]
    (folder / "multistream.xml.bz2").write_bytes(b"".join(streams) + bz2.compress(content[ends[-2] :]))
    for number in range(3):
        write_lines(folder / f"part-{number}.jsonl", documents[number * 14 : (number + 1) * 14])
    return {
        "lines": write_lines(folder / "lines.jsonl", documents),
        "dump": folder / "dump.xml",
        "multistream": folder / "multistream.xml.bz2",
        "parts": f"[{','.join(str(folder / f'part-{number}.jsonl') for number in range(3))}]",
        "glob": f"{folder}/part-*.jsonl",
    }


@pytest.fixture(scope="module")
def usual(run_here, one_corpus, forms, tmp_path_factory):
    run = run_here(*one_corpus("en", forms["lines"]), *TINY, f"store={tmp_path_factory.mktemp('usual')}")
    assert run.num_done("read") == 1
    return chosen(run.digests)


@pytest.mark.parametrize(
    ("form", "num_spans", "layout"),
    [
        pytest.param(
            "lines",
            4,
            ["reading.span_megabytes=0.006", "reading.shard_megabytes=0.001", "cluster.worker_megabytes=500"],
            marks=pytest.mark.slow,
        ),
        pytest.param("dump", 1, ["cluster.num_cpus=4"], marks=pytest.mark.slow),
        pytest.param(
            "multistream",
            3,
            ["reading.span_megabytes=0.002", "reading.shard_megabytes=0.004", "cluster.num_cpus=2"],
            marks=pytest.mark.slow,
        ),
        pytest.param("parts", 3, ["reading.shard_megabytes=0.003"], marks=pytest.mark.slow),
        pytest.param("glob", 6, ["reading.span_megabytes=0.005"], marks=pytest.mark.slow),
    ],
)
def test_neither_form_nor_layout_changes_what_is_learnt(
    run_job, one_corpus, forms, usual, tmp_path, form, num_spans, layout
):
    run = run_job(*one_corpus("en", forms[form]), *TINY, f"store={tmp_path}", *layout)
    assert run.num_done("read") == num_spans
    assert chosen(run.digests) == usual


@pytest.mark.slow
def test_rounds_of_combining_and_ranges_of_tiles_change_no_sum(
    run_job, one_corpus, forms, usual, tmp_path, monkeypatch
):
    monkeypatch.setattr("tiltmeter.jobs.embedding.corpus.counting._MOST_PARTS", 2)
    monkeypatch.setattr("tiltmeter.jobs.embedding.corpus.counting._COPIES_OF_PAIRS", 30_000)
    run = run_job(*one_corpus("en", forms["lines"]), *TINY, f"store={tmp_path}", "reading.shard_megabytes=0.003")
    sizes = [run.num_done("co-occurrence")]
    while sizes[-1] > 2:
        sizes.append(-(-sizes[-1] // 2))
    assert len(sizes) == 3
    rounds = [stage for stage in run.record["stages"] if stage["name"] == "combine"]
    assert len(rounds) == len(sizes) - 1
    assert all(stage["num_done"] > size for stage, size in zip(rounds, sizes[1:], strict=True)), "ranges of tiles"
    assert run.num_done("merge") > 1
    assert chosen(run.digests) == usual


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
