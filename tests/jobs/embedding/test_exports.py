"""Embeddings in the formats of other programs, and corpora that are downloaded."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors
from gensim.test.utils import datapath

from tests.jobs.embedding.tiny import BOOTSTRAP
from tests.storage import conftest as storage
from tiltmeter.storage.vectors.files import EmbeddingFileError, read_embedding

TINY = [*BOOTSTRAP, "cluster.num_cpus=1", "embedding.trainer.epochs=1"]
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
    settings = [*corpus, *TINY, f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    run = run_here(*settings, f"job.export=[{','.join(SUFFIXES)}]")
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
    counts = {row["word"].replace(" ", "_"): row["count"] for row in run.table("vocabulary").to_pylist()}
    for replica in range(3):  # counts are those of the corpus, also where a replica lacks a word
        loaded = KeyedVectors.load(str(folder / f"wo_replica_{replica:04d}.kv"))
        assert all(loaded.get_vecattr(word, "count") == counts[word] for word in loaded.index_to_key)
    with pytest.raises(EmbeddingFileError, match="allow_pickle=true"):
        read_embedding(str(folder / "wo_replica_0000.kv"))
    again = run_here(*settings, "job.export=[glove]")
    assert sorted(path.name for path in folder.iterdir()) == [f"wo_replica_{replica:04d}.txt" for replica in range(3)]
    assert again.record["units"]["done"] == 0
    assert again.digests == run.digests


web_server = storage.web_server


def test_a_dump_is_downloaded_once_and_read_from_the_store(run_here, web_server, tmp_path):
    name, requests = "enwiki-table-markup.xml.bz2", web_server.ranges
    shutil.copy(datapath(name), web_server.folder)
    arguments = ["corpus=wikipedia", "corpus.language=en", *TINY, f"store={tmp_path}/store"]
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
