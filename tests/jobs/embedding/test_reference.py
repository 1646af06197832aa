"""A tiny corpus whose words, counts and vectors are computed again, line by line, for every replica and start."""

import json
import time
from collections import Counter
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from tiltmeter.cluster.config import ClusterError
from tiltmeter.cluster.stages import UnitsFailed
from tiltmeter.jobs.embedding.replicas import TrainOnPairs
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.embedding.bootstrap import Resampling, line_multiplicities
from tiltmeter.operators.embedding.cooccurrence import count_pairs
from tiltmeter.operators.embedding.fasttext import FastTextConfig, FastTextTraining
from tiltmeter.operators.embedding.glove import GloveConfig, GloveTraining
from tiltmeter.operators.embedding.keyed_words import keyed_words, roomy_tiling
from tiltmeter.operators.embedding.tiles import Tiling, shuffled_in_tiles, tiled_pairs
from tiltmeter.operators.embedding.word2vec import Word2VecConfig, Word2VecTraining
from tiltmeter.operators.text import wikitext
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Store

SEED, MIN_COUNT, WINDOW, TILE_WORDS, NUM_REPLICAS, DIMENSIONS, EPOCHS = 5, 3, 4, 8, 3, 4, 2
LANGUAGE = "sw"
SETTINGS = [
    *("job=bootstrap", f"seed={SEED}", f"embedding.min_count={MIN_COUNT}", f"embedding.num_replicas={NUM_REPLICAS}"),
    *(f"embedding.trainer.dimensions={DIMENSIONS}", f"embedding.trainer.epochs={EPOCHS}"),
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
def flat(documents):
    """Each line as a document."""
    return {f"{id}.{number}": [line] for id, lines in documents.items() for number, line in enumerate(lines)}


@pytest.fixture(scope="module")
def vocabulary(documents):
    """Words and their counts, the most frequent first."""
    counts = Counter(word for lines in documents.values() for line in lines for word in line.split())
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


@pytest.fixture(scope="module")
def asked(documents, flat, write_lines, one_corpus, tmp_path_factory):
    """Settings of a run by its name, all with one store."""
    folder = tmp_path_factory.mktemp("reference")
    paths = {
        is_flat: write_lines(folder / f"{is_flat}.jsonl", [{"id": id, "text": "\n".join(of[id])} for id in of])
        for is_flat, of in {False: documents, True: flat}.items()
    }
    where = [*SETTINGS, f"store={folder}/store"]
    return lambda name, *more, is_flat=False: [
        *(*one_corpus(LANGUAGE, paths[is_flat]), *where, *more, f"run_dir={folder}/{name}")
    ]


@pytest.fixture(scope="module")
def run(run_here, asked):
    """Each run once."""
    return cache(lambda *name_and_settings, **more: run_here(*asked(*name_and_settings, **more)))


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

    def glove(self, words, replica, by_word, adagrad):
        tiling = (roomy_tiling if by_word else Tiling)(len(words), TILE_WORDS)
        keyed = keyed_words(words, tiling) if by_word else None
        tokens = np.concatenate(self.lines)
        offsets = np.append(0, np.cumsum([line.size for line in self.lines]))
        tokens = keyed.slots[tokens] if by_word else tokens
        pairs = count_pairs(tokens, offsets, self.times, tiling, WINDOW)
        order = shuffled_in_tiles(pairs.names, tiling, SEED, keyed.slot_keys(tiling) if by_word else None)
        counts = pairs.counts[max(replica, 0)][order] / self.units
        config = GloveConfig(dimensions=DIMENSIONS, epochs=EPOCHS, adagrad=adagrad)
        return GloveTraining(
            tiled_pairs(pairs.names[order], tiling), [counts], tiling, replica, SEED, config, words=keyed
        )

    def by_lines(self, trainer, config, words, replica):
        drawn = [line for line, num in zip(self.lines, self.column(replica), strict=True) for _ in range(num)]
        counts = np.bincount(np.concatenate(drawn), minlength=len(words))
        return trainer(words, counts, lambda: iter([line for line in drawn if line.size]), replica, SEED, config)


def on_disk(**fields):
    """GloVe whose pairs have no room in memory."""
    return TrainOnPairs(**fields | {"memory_bytes": 0})


class Choice(NamedTuple):
    """Attributes:
    settings: of the run.
    resampling: that they mean.
    starts: further ones, by their number.
    kind: of a trainer that reads lines, and its config.
    is_flat: whether a document has one line.
    """

    settings: list[str]
    resampling: Resampling
    starts: tuple[int, ...] = ()
    kind: tuple = ()
    is_flat: bool = False


CHOICES = {
    "lines": Choice([*GLOVE, "embedding.resampling.unit=line", "embedding.device=cpu"], Resampling("line")),
    "documents": Choice([*GLOVE, "embedding.num_starts=3"], Resampling("document"), (-1, -2)),
    "exponential": Choice(
        [*GLOVE, "embedding.resampling={unit: document, weights: exponential}"], Resampling("document", "exponential")
    ),
    "by word": Choice([*GLOVE, "embedding.keyed_by=word", "embedding.num_starts=2"], Resampling("document"), (-1,)),
    "by row": Choice([*GLOVE, "embedding.trainer.adagrad=row"], Resampling("document")),
    "word2vec": Choice(
        ["embedding=word2vec", "embedding.num_starts=2"],
        Resampling("document"),
        (-1,),
        (Word2VecTraining, Word2VecConfig(dimensions=DIMENSIONS, epochs=EPOCHS)),
    ),
    "fasttext": Choice(
        ["embedding=fasttext", "embedding.trainer.num_buckets=500", "embedding.trainer.skip_gram=false"],
        Resampling("line"),
        (),
        (FastTextTraining, FastTextConfig(dimensions=DIMENSIONS, epochs=EPOCHS, num_buckets=500, skip_gram=False)),
        is_flat=True,
    ),
}
"""Where nothing is said, documents of several lines are drawn, and lines where each has one."""


@pytest.mark.parametrize("name", CHOICES)
def test_vectors_and_losses_are_those_of_each_replica_trained_by_itself(
    run, documents, flat, vocabulary, name, monkeypatch, tmp_path
):
    choice, more, reads, read = CHOICES[name], [], Counter(), Store.read
    monkeypatch.setattr(Store, "read", lambda store, ref: reads.update([tuple(ref.columns)]) or read(store, ref))
    if name == "lines":  # parts are combined in rounds, and ranges of tiles are merged
        monkeypatch.setattr("tiltmeter.jobs.embedding.pairs._MOST_PARTS", 2)
        monkeypatch.setattr("tiltmeter.jobs.embedding.pairs._COPIES_OF_PAIRS", 500_000)
    if name == "exponential":
        monkeypatch.setattr("tiltmeter.jobs.embedding.replicas.TrainOnPairs", on_disk)
        more = [f"cluster.scratch={tmp_path}"]
    outcome = run(name, *choice.settings, *more, is_flat=choice.is_flat)
    words = [word for word, count in vocabulary if count >= MIN_COUNT]
    corpus = Corpus(flat if choice.is_flat else documents, words, choice.resampling)
    parts = outcome.parts(LANGUAGE)
    labels = {
        f"{LANGUAGE}_{'replica' if number >= 0 else 'start'}_{abs(number):04d}.parquet": number
        for number in (*range(1 + NUM_REPLICAS), *choice.starts)
    }
    assert parts.keys() == labels.keys()
    for label, replica in labels.items():
        if choice.kind:
            trained = corpus.by_lines(*choice.kind, words, replica)
        else:
            trained = corpus.glove(words, replica, name == "by word", "row" if name == "by row" else "element")
        for _ in range(EPOCHS):
            trained.advance()
        expected = trained.result()
        rows = parts[label].to_pylist()
        assert [row["word"] for row in rows] == words
        assert {(row["language"], row["replica"]) for row in rows} == {(LANGUAGE, replica)}
        vectors = [row["vector"] or [np.nan] * DIMENSIONS for row in rows]
        assert np.array(vectors) == pytest.approx(expected.vectors, rel=1e-4, abs=1e-6, nan_ok=True)
        losses = outcome.rows("training", replica=replica)
        assert [row["epoch"] for row in losses] == [1, 2]
        known = [np.nan if row["loss"] is None else row["loss"] for row in losses]
        assert known == pytest.approx(list(expected.losses), nan_ok=True)
    assert outcome.table("training")["replica"].unique().to_pylist() == [*labels.values()]
    if name == "documents":
        assert any(part["vector"].null_count for part in parts.values()), "no replica lacks a word"
        # What replicas of a corpus share is read once, and the counts of each by itself.
        assert reads["name",] == outcome.num_done("merge") == 1
        assert {reads[f"count_{replica:04d}",] for replica in range(1, 1 + NUM_REPLICAS)} == {1}
        listed = [row for row in outcome.rows("vocabulary") if row["status"] != "absent"]
        assert [(row["word"], row["count"], row["status"]) for row in listed] == [
            (*item, "ok") for item in vocabulary[: len(words)]
        ]
        [row] = outcome.rows("corpora")
        lines = [line for lines in documents.values() for line in lines]
        expected = {"num_articles": len(documents), "num_lines": len(lines), "num_words": len(words)}
        expected |= {"num_tokens": sum(len(line.split()) for line in lines), "num_repeated": 0, "language": LANGUAGE}
        assert {name: row[name] for name in expected} == expected
    if name == "lines":
        sizes = [outcome.num_done("co-occurrence")]
        while sizes[-1] > 2:
            sizes.append(-(-sizes[-1] // 2))
        rounds = [stage["num_done"] for stage in outcome.record["stages"] if stage["name"] == "combine"]
        assert len(rounds) == len(sizes) - 1 > 0
        assert all(num > size for num, size in zip(rounds, sizes[1:], strict=True)), "ranges of tiles"
        assert outcome.num_done("merge") > 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "more"), [("documents", "embedding.num_starts=4"), ("word2vec", "embedding.num_replicas=4")]
)
def test_further_starts_and_replicas_are_trained_alone(run, name, more):
    settings = CHOICES[name].settings
    run(name, *settings)
    outcome = run(f"more {name}", *settings, more)
    assert outcome.num_done("train") == outcome.record["units"]["done"] == 1
    assert outcome.stage("train")["num_reused"] == 1 + NUM_REPLICAS + len(CHOICES[name].starts)


def test_a_disk_and_a_gpu_that_are_not_there_and_one_document_are_refused(
    run, monkeypatch, run_here, write_lines, one_corpus, tmp_path
):
    settings = CHOICES["documents"].settings
    with pytest.raises(ClusterError, match=r"embedding.device=cuda: the cluster has no free GPU.*embedding.device=cpu"):
        run("cuda", *settings, "embedding.device=cuda")
    monkeypatch.setattr("tiltmeter.jobs.embedding.replicas.TrainOnPairs", on_disk)
    with pytest.raises(UnitsFailed, match=r"replica 0: StorageError: .*/nowhere: No such file.*cluster.scratch=<path>"):
        run("nowhere", *settings, "embedding.trainer.alpha=0.7", "cluster.scratch=/nowhere")
    path = write_lines(tmp_path / "one.jsonl", [{"id": "1", "text": "\n".join(["one two three four"] * 30)}])
    where = [*one_corpus("en", path), f"store={tmp_path}/store", "embedding.resampling.unit=document"]
    with pytest.raises(
        InputError, match=r"corpus: \S+ is one document.* embedding\.resampling\.unit=document: set it to line"
    ):
        run_here(*where, *SETTINGS)


@pytest.mark.slow
@pytest.mark.parametrize("name", CHOICES)
def test_two_workers_and_other_shards_give_the_same_tables(run, run_job, asked, tmp_path, name):
    choice = CHOICES[name]
    other = ["cluster.num_cpus=2", "reading.shard_megabytes=0.004", f"store={tmp_path}"]
    again = run_job(*asked(f"other {name}", *choice.settings, *other, is_flat=choice.is_flat))
    assert again.digests == run(name, *choice.settings, is_flat=choice.is_flat).digests


@pytest.mark.parametrize("name", ["documents", "word2vec", "fasttext"])
def test_training_that_broke_off_goes_on_from_the_saved_state_with_the_same_bits(run, name, monkeypatch, tmp_path):
    choice, saves, save = CHOICES[name], [], Store.save_state
    where = ["embedding.checkpoint_seconds=0", "reading.shard_megabytes=0.004", f"store={tmp_path}/store"]

    def breaks_once(store, unit, state):
        save(store, unit, state)
        saves.append((unit.place, state["losses"].size))
        if len(saves) == 3:
            raise OSError("it breaks off")

    monkeypatch.setattr(Store, "save_state", breaks_once)
    with pytest.raises(UnitsFailed, match="it breaks off"):
        run(f"broken {name}", *choice.settings, *where, is_flat=choice.is_flat)
    again = run(f"again {name}", *choice.settings, *where, is_flat=choice.is_flat)
    assert again.digests == run(name, *choice.settings, is_flat=choice.is_flat).digests
    epochs = {unit: [num_epochs for place, num_epochs in saves if place == unit] for unit, _ in saves}
    # Each once: from the beginning again, the first of the second replica would come twice.
    assert list(epochs.values()) == [[*range(1, EPOCHS + 1)]] * (1 + NUM_REPLICAS + len(choice.starts))
    assert not [path for path in (tmp_path / "store/states").rglob("*") if path.is_file()]


@pytest.mark.slow
def test_a_kill_in_the_middle_of_training_goes_on_from_the_saved_state(run, asked, tiltmeter, outcome_of, tmp_path):
    many = [*CHOICES["documents"].settings, "embedding.trainer.epochs=3000", "embedding.checkpoint_seconds=0"]
    command = [*asked("killed", *many), f"store={tmp_path}/store", f"run_dir={tmp_path}/run"]
    process = tiltmeter(*command)
    while not [path for path in (tmp_path / "store/states").rglob("*") if path.is_file()]:
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    process.kill()
    process.communicate()
    _, errors = tiltmeter(*command).communicate(timeout=600)
    assert outcome_of(tmp_path / "run").digests == run("many epochs", *many).digests, errors


def test_numbers_of_a_few_documents_have_no_intervals(run_here, made_up, write_lines, word_lists, word_sets, tmp_path):
    sides = {"target_x": ["enaa", "enca"], "target_y": ["enba", "enda"], "attribute_a": ["enea"]}
    lists = word_lists("en", associations={"made_up": word_sets(**sides, attribute_b=["enfa"])}, wefats=None)
    quick = ["job=association", "job.similarities=[cosine]", "job.statistics=[mean]", "job.min_words=1", *lists]
    files = {num: write_lines(tmp_path / f"{num}.jsonl", made_up("en")[:num]) for num in (5, 6)}
    one, other = (f"{{name: few{num}, language: en, path: {path}}}" for num, path in files.items())
    quick += ["~corpus", f"+corpus.few5={one}", f"+corpus.few6={other}", f"store={tmp_path}/store"]
    rows = {}
    for unit in ("auto", "line"):
        run = run_here(*SETTINGS, *quick, f"run_dir={tmp_path}/{unit}", f"embedding.resampling.unit={unit}")
        rows |= {(row["model"], unit): row for row in run.rows("associations")}
        page = (run.path / "report.html").read_text()
        assert ("Numbers have no intervals in few5" in page) == (unit == "auto")
        assert ("(6 documents of 10.0 lines on average); from 20 on" in page) == (unit == "auto")
    assert {row["status"] for row in rows.values()} == {"ok"}
    drawn = {key: row["num_replicas"] for key, row in rows.items()}
    assert drawn == dict.fromkeys(rows, NUM_REPLICAS) | {("few5", "auto"): 0}
    assert rows["few5", "auto"]["score_low"] is None
    assert rows["few5", "auto"]["score"] == rows["few5", "line"]["score"]


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
