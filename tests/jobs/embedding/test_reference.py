"""A tiny corpus whose words, counts and vectors are computed again, line by line, for every replica and start."""

import json
from collections import Counter

import numpy as np
import pytest

from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import Resampling, line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import count_pairs
from tiltmeter.operators.embedding.fasttext import FastTextConfig, FastTextTraining
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.keyed_words import keyed_words, roomy_tiling
from tiltmeter.operators.embedding.tiles import Tiling, shuffled_in_tiles, tiled_pairs
from tiltmeter.operators.embedding.word2vec import Word2VecConfig, Word2VecTraining
from tiltmeter.operators.text import wikitext

SEED, MIN_COUNT, WINDOW, TILE_WORDS, NUM_REPLICAS, DIMENSIONS, EPOCHS = 5, 3, 4, 8, 3, 4, 2
LANGUAGE = "sw"
SETTINGS = [
    "job=bootstrap",
    f"seed={SEED}",
    f"embedding.min_count={MIN_COUNT}",
    f"embedding.num_replicas={NUM_REPLICAS}",
    f"embedding.trainer.dimensions={DIMENSIONS}",
    f"embedding.trainer.epochs={EPOCHS}",
    "reading.shard_megabytes=0.0005",
]
GLOVE = [f"embedding.cooccurrence.window={WINDOW}", f"embedding.cooccurrence.tile_words={TILE_WORDS}"]


@pytest.fixture(scope="module")
def documents():
    """Nine of one to seven lines, of words that are as unlike in number; one in a single line."""
    rng = np.random.default_rng(1)
    shares = 1 / np.arange(1, 41) ** 0.8
    words = [f"neno{chr(97 + rank % 26)}{chr(97 + rank // 26)}" for rank in range(40)]

    def line():
        return " ".join(rng.choice(words, rng.integers(2, 9), p=shares / shares.sum()))

    return {f"d{number}": [line() for _ in range(1 + number % 4 * 2)] for number in range(9)}


@pytest.fixture(scope="module")
def vocabulary(documents):
    """Words and their counts, the most frequent first."""
    counts = Counter(word for lines in documents.values() for line in lines for word in line.split())
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


@pytest.fixture(scope="module")
def run(run_here, documents, write_lines, one_corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("reference")
    path = write_lines(folder / "a.jsonl", [{"id": id, "text": "\n".join(lines)} for id, lines in documents.items()])
    corpus = [*one_corpus(LANGUAGE, path), *SETTINGS, f"store={folder}/store"]
    return lambda name, *more: run_here(*corpus, *more, f"run_dir={folder}/{name}")


class Corpus:
    """Lines as numbers of words, and how often each counts in each replica."""

    def __init__(self, documents, words, resampling):
        rows = {word: row for row, word in enumerate(words)}
        places = [(id, number) for id, lines in documents.items() for number in range(len(lines))]
        texts = [[rows[word] for word in documents[id][n].split() if word in rows] for id, n in places]
        self.lines = [np.array(text, np.int32) for text in texts]
        keys = np.array([document_key(f"{LANGUAGE}:{id}") for id, _ in places], np.uint64)
        numbers = np.array([number for _, number in places], np.int32)
        self.units = resampling.units_per_line
        self.times = line_multiplicities(SEED, keys, numbers, NUM_REPLICAS, resampling)

    def column(self, replica):
        return self.times[:, max(replica, 0)]

    def glove(self, words, replica, by_word):
        tiling = (roomy_tiling if by_word else Tiling)(len(words), TILE_WORDS)
        keyed = keyed_words(words, tiling) if by_word else None
        tokens = np.concatenate(self.lines)
        offsets = np.append(0, np.cumsum([line.size for line in self.lines]))
        tokens = keyed.slots[tokens] if by_word else tokens
        pairs = count_pairs(tokens, offsets, self.times, tiling, WINDOW)
        order = shuffled_in_tiles(pairs.names, tiling, SEED, keyed.slot_keys(tiling) if by_word else None)
        counts = pairs.counts[max(replica, 0)][order] / self.units
        config = GloveConfig(dimensions=DIMENSIONS, epochs=EPOCHS)
        return GloveTraining(
            tiled_pairs(pairs.names[order], tiling), [counts], tiling, replica, SEED, config, words=keyed
        )

    def by_lines(self, trainer, config, words, replica):
        drawn = [line for line, num in zip(self.lines, self.column(replica), strict=True) for _ in range(num)]
        counts = np.bincount(np.concatenate(drawn), minlength=len(words))
        return trainer(words, counts, lambda: iter([line for line in drawn if line.size]), replica, SEED, config)


CHOICES = {
    "lines": (["embedding.resampling.unit=line"], Resampling("line")),
    "documents": (["embedding.num_starts=3"], Resampling("document")),
    "exponential": (["embedding.resampling.weights=exponential"], Resampling("document", "exponential")),
    "by word": (["embedding.keyed_by=word", "embedding.num_starts=2"], Resampling("document")),
    "word2vec": (["embedding=word2vec", "embedding.num_starts=2"], Resampling("document")),
    "fasttext": (
        ["embedding=fasttext", "embedding.trainer.num_buckets=500", "embedding.resampling.unit=line"],
        Resampling("line"),
    ),
}


@pytest.mark.parametrize("name", CHOICES)
def test_vectors_and_losses_are_those_of_each_replica_trained_by_itself(run, documents, vocabulary, name):
    settings, resampling = CHOICES[name]
    is_glove = name not in ("word2vec", "fasttext")
    outcome = run(name, *settings, *(GLOVE if is_glove else []))
    words = [word for word, count in vocabulary if count >= MIN_COUNT]
    corpus = Corpus(documents, words, resampling)
    starts = {"documents": [-1, -2], "by word": [-1], "word2vec": [-1]}.get(name, [])
    parts = outcome.parts(LANGUAGE)
    labels = {
        f"{LANGUAGE}_{'replica' if number >= 0 else 'start'}_{abs(number):04d}.parquet": number
        for number in (*range(1 + NUM_REPLICAS), *starts)
    }
    assert parts.keys() == labels.keys()
    for label, replica in labels.items():
        if not is_glove:
            kinds = {"word2vec": (Word2VecTraining, Word2VecConfig), "fasttext": (FastTextTraining, FastTextConfig)}
            trainer, config = kinds[name]
            more = {"num_buckets": 500} if name == "fasttext" else {}
            training = corpus.by_lines(trainer, config(dimensions=DIMENSIONS, epochs=EPOCHS, **more), words, replica)
        else:
            training = corpus.glove(words, replica, name == "by word")
        for _ in range(EPOCHS):
            training.advance()
        expected = training.result()
        rows = parts[label].to_pylist()
        assert [row["word"] for row in rows] == words
        assert {(row["language"], row["replica"]) for row in rows} == {(LANGUAGE, replica)}
        vectors = [row["vector"] or [np.nan] * DIMENSIONS for row in rows]
        assert np.array(vectors) == pytest.approx(expected.vectors, rel=1e-4, abs=1e-6, nan_ok=True)
        losses = outcome.rows("training", replica=replica)
        assert [row["epoch"] for row in losses] == [1, 2]
        known = [np.nan if row["loss"] is None else row["loss"] for row in losses]
        assert known == pytest.approx(list(expected.losses), nan_ok=True)
    assert len(outcome.rows("training")) == EPOCHS * len(labels)
    if name == "documents":
        assert any(part["vector"].null_count for part in parts.values()), "no replica lacks a word"


def test_words_and_lines_are_counted(run, documents, vocabulary):
    outcome = run("counted", "embedding.resampling.unit=line")
    rows = [row for row in outcome.rows("vocabulary") if row["status"] != "absent"]
    frequent = [item for item in vocabulary if item[1] >= MIN_COUNT]
    assert [(row["word"], row["count"], row["status"]) for row in rows] == [(*item, "ok") for item in frequent]
    [row] = outcome.rows("corpora")
    lines = [line for lines in documents.values() for line in lines]
    expected = {"num_articles": len(documents), "num_lines": len(lines), "num_words": len(frequent)}
    expected |= {"num_tokens": sum(len(line.split()) for line in lines), "num_repeated": 0, "language": LANGUAGE}
    assert {name: row[name] for name in expected} == expected


def test_what_is_left_out_of_a_dump_and_of_lines_is_counted_by_kind(run_here, one_corpus, tmp_path, monkeypatch):
    """Seven articles of a dump, of which one can't be read, two redirects, three talks; six texts, four of them the
    same three times over, and five bytes that are no UTF-8."""
    read = wikitext.plain_lines

    def fails_at_a_mark(text, prefixes):
        if "unreadable" in text:
            raise ValueError("a mark")
        return read(text, prefixes)

    monkeypatch.setattr(wikitext, "plain_lines", fails_at_a_mark)
    redirect = '<redirect title="A"/>'
    kinds = [*[(0, "", "moja")] * 6, (0, "", "unreadable"), *[(0, redirect, "moja")] * 2, *[(1, "", "moja")] * 3]
    pages = [
        f"<page><title>T{id}</title><ns>{space}</ns><id>{id}</id>{more}<revision><id>1</id><text>{text} {id}x</text>"
        "</revision></page>"
        for id, (space, more, text) in enumerate(kinds)
    ]
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts/a.xml").write_text(
        f"<mediawiki version='0.10'><siteinfo></siteinfo>{''.join(pages)}</mediawiki>"
    )
    lines = [json.dumps({"id": f"l{number}", "text": f"moja mbili nne {number}\nmoja"}) for number in range(6)]
    content = "\n".join([*lines, *lines[:4], *lines[:4]]).encode().replace(b"nne 5", b"nne \xff\xff\xff\xff\xff")
    (tmp_path / "texts/b.jsonl").write_bytes(content)
    where = [f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    more = ["embedding.min_count=2", "embedding.resampling.unit=line"]
    [row] = run_here(*one_corpus(LANGUAGE, tmp_path / "texts"), *SETTINGS, *more, *where).rows("corpora")
    expected = {"num_articles": 12, "num_unreadable": 1, "num_repeated": 8, "num_redirects": 2}
    expected |= {"num_other_namespaces": 3, "num_replaced": 5, "num_lines": 6 + 12}
    assert {name: row[name] for name in expected} == expected
    warnings = ["only ", "only 18 lines", "5 bytes or characters", "1 pages can't be read, such as 6 (ValueError"]
    assert [part[: len(start)] for part, start in zip(row["warning"].split("; "), warnings, strict=True)] == warnings
