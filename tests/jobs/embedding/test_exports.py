"""Embeddings in the formats of other programs, and corpora that are downloaded."""

import asyncio
import threading
from pathlib import Path

import numpy as np
import pytest
from aiohttp import web
from gensim.models import KeyedVectors
from gensim.test.utils import datapath

from tiltmeter.storage.vectors.files import EmbeddingFileError, read_embedding

TINY = [
    "job=bootstrap",
    "cluster.num_cpus=1",
    "embedding.num_replicas=2",
    "embedding.min_count=2",
    "embedding.trainer.dimensions=4",
    "embedding.trainer.epochs=1",
]
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


class Server(threading.Thread):
    """Serves the dumps of a folder on this machine, as dumps.wikimedia.org does; ``sent`` are the ranges asked for."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.sent: list[str] = []
        self._folder, self._loop = folder, asyncio.new_event_loop()
        application = web.Application()
        application.router.add_get("/{wiki}/latest/{name}", self._answer)
        self._runner = web.AppRunner(application, shutdown_timeout=0.1)
        self._loop.run_until_complete(self._runner.setup())
        self._loop.run_until_complete(web.TCPSite(self._runner, "127.0.0.1", 0).start())
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        self.sent.append(request.headers.get("Range", "all"))
        return web.FileResponse(self._folder / request.match_info["name"])

    def run(self) -> None:
        self._loop.run_forever()

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._runner.cleanup(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self.join()
        self._loop.close()


@pytest.fixture
def server():
    """A web server with the dumps among gensim's test data."""
    server = Server(Path(datapath("")))
    server.start()
    yield server
    server.stop()


def test_a_dump_is_downloaded_once_and_read_from_the_store(run_here, server, tmp_path):
    name = "enwiki-table-markup.xml.bz2"
    arguments = ["corpus=wikipedia", "corpus.language=en", *TINY, f"store={tmp_path}/store"]
    first = run_here(*arguments, f"corpus.path={server.url}/enwiki/latest/{name}")
    [copy] = (tmp_path / "store/downloads").rglob("*.bz2")
    assert copy.read_bytes() == Path(datapath(name)).read_bytes()
    assert [row["corpus"] for row in first.table("corpora").to_pylist()] == ["enwiki"]
    assert server.sent == ["bytes=0-0", "all"], "the state of the file, then all of it once"
    server.sent.clear()
    second = run_here(*arguments, f"corpus.path={server.url}/enwiki/latest/{name}")
    assert server.sent == ["bytes=0-0"], "whether it is still the same file"
    assert second.record["units"]["done"] == 0
    assert second.digests == first.digests
    plain = run_here(*arguments, f"corpus.path={datapath(name)}", "corpus.download=false", f"store={tmp_path}/plain")
    assert plain.digests == first.digests
