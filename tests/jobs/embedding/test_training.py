"""Replicas as a worker trains them, one by one."""

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.embedding.corpus.counting import count_column
from tiltmeter.jobs.embedding.training import PairTraining
from tiltmeter.operators.embedding.cooccurrence import count_pairs
from tiltmeter.operators.embedding.glove import GloveConfig
from tiltmeter.operators.embedding.tiles import Tiling, shuffled_in_tiles
from tiltmeter.storage.store.ledger import Store, Unit

NUM_WORDS, NUM_REPLICAS = 20, 3
TILING = Tiling(NUM_WORDS, 4)


class ListeningStore(Store):
    """Notes which columns are read."""

    def __init__(self, root):
        super().__init__(root)
        self.reads = []

    def read(self, ref):
        self.reads += ref.columns
        return super().read(ref)


@pytest.fixture
def store(tmp_path):
    return ListeningStore(str(tmp_path))


def replicas(store, language, seed):
    """Units that train on a made-up corpus."""
    rng = np.random.default_rng(seed)
    tokens, offsets = rng.integers(0, NUM_WORDS, 300, dtype=np.int32), np.arange(0, 301, 10)
    pairs = count_pairs(tokens, offsets, rng.integers(1, 3, (30, NUM_REPLICAS), dtype=np.uint8), TILING, 5)
    order = shuffled_in_tiles(pairs.names, TILING, 0)
    counts = {count_column(replica): count[order] for replica, count in enumerate(pairs.counts)}
    made = store.commit(
        Unit("made_up/1", language, {"seed": seed}),
        [
            ("pairs", pa.table({"name": pairs.names[order]} | counts)),
            ("words", pa.table({"word": [f"{language}{number}" for number in range(NUM_WORDS)]})),
        ],
    )
    return [
        Unit(
            "glove/4",
            f"{language} replica {replica}",
            {
                "language": language,
                "replica": replica,
                "seed": 0,
                "tiling": list(TILING),
                "training": GloveConfig(dimensions=4, epochs=2),
            },
            {
                "vocabulary": [made.tables["words"]],
                "pairs": [made.tables["pairs"].select("name", count_column(replica))],
            },
        )
        for replica in range(NUM_REPLICAS)
    ]


@pytest.mark.parametrize("memory_bytes", [10**9, 0])
def test_what_replicas_of_a_corpus_share_is_prepared_once(store, tmp_path, memory_bytes):
    train = PairTraining(60.0, memory_bytes, str(tmp_path))
    first, second = replicas(store, "aa", 1), replicas(store, "bb", 2)
    tables = {unit.name: dict(train(store, unit)) for unit in [*first, *second]}
    assert (store.reads.count("name"), store.reads.count("word")) == (2, 2)
    assert [store.reads.count(count_column(replica)) for replica in range(NUM_REPLICAS)] == [2, 2, 2]
    again = dict(train(store, first[2]))
    assert store.reads.count("name") == 3
    assert again == tables["aa replica 2"]
    assert again["embedding"]["word"][0].as_py() == "aa0"
