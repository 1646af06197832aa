"""Measures of other packages on files of vectors: what they are given, and what becomes of what they give."""

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.association import measures
from tiltmeter.jobs.association.config import AssociationConfig
from tiltmeter.jobs.association.measures import MeasureBias
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.operators.association.measures import BiasMeasure
from tiltmeter.operators.text.wordsets import Association, NamedWords
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.ledger import Unit

WORDS = ("rose", "tulip", "ant", "wasp", "love", "joy", "war", "pain")
SIDES = {"target_x": "rose tulip absent", "target_y": "ant wasp", "attribute_a": "love joy", "attribute_b": "war pain"}
TEST = Association("made up", **{name: NamedWords(name, tuple(words.split())) for name, words in SIDES.items()})
NUM_EMBEDDINGS = 6
VECTORS = np.random.default_rng(1).normal(size=(NUM_EMBEDDINGS, len(WORDS), 3)).astype(np.float32)


@pytest.fixture
def measured(store, monkeypatch):
    """The row of a measure on an original and five replicas."""
    refs = []
    for number, vectors in enumerate(VECTORS):
        words = pa.array(WORDS)
        columns = [words, words, pa.array([1] * len(WORDS)), pa.array(vectors.tolist(), pa.list_(pa.float32(), 3))]
        table = pa.table(columns, ["word", "spelled", "count", "vector"])
        refs.append(store.commit(Unit("made/1", "made", {"number": number}), [("vectors", table)]).tables["vectors"])

    def measure(brought, version="", **settings):
        monkeypatch.setattr(measures.extensions, "_imported", lambda *_: brought)
        monkeypatch.setattr(measures.extensions, "entry_points", lambda **_: [_Point()])
        model, version = Vectors("small", "en", refs), version or brought.version
        how = {"query": "plants", "test": TEST, "settings": AssociationConfig(**settings)}
        [row] = MeasureBias(label="ours", model=model, measure="ours", version=version, **how).rows(store)
        return row

    return measure


class _Point:
    name, value = "ours", "ours:MEASURE"


def _first_coordinate(groups):
    return groups.x[:, :, 0].sum(axis=1) - 2 * groups.y[:, :, 0].sum(axis=1) + groups.a[:, 1, 2] * groups.b[:, 0, 1]


def test_a_measure_gets_the_vectors_of_every_replica_and_each_number_is_its_own(measured):
    row = measured(BiasMeasure("ours/1", "it leans", _first_coordinate, neutral=None))
    by_hand = [
        float(v[0, 0] + v[1, 0] - 2 * (v[2, 0] + v[3, 0]) + v[5, 2] * v[6, 1]) for v in VECTORS.astype(np.float64)
    ]
    cells = row.value.cells(next(column for column in row.columns if column.name == "value"))
    assert cells["value"] == pytest.approx(by_hand[0])
    assert row.value.resamples == pytest.approx(np.array(by_hand[1:]))
    assert (row.num_replicas, row.num_words, row.missing_words, row.neutral) == (5, 8, ["absent"], None)
    assert (row.status, row.larger) == ("ok", "it leans")


def test_words_that_are_too_few_have_no_number(measured):
    row = measured(BiasMeasure("ours/1", "it leans", _first_coordinate), min_share=0.9)
    assert (row.status, row.value, row.num_replicas) == ("too_few_words", None, 0)
    assert row.reason == "target_x (target_x) has 2 of its 3 words left, and needs 3"


def test_a_measure_without_a_number_for_the_original_says_so(measured):
    row = measured(BiasMeasure("ours/1", "it leans", lambda _: np.full(NUM_EMBEDDINGS, np.nan)))
    assert (row.status, row.num_replicas) == ("undefined", 0)


def test_one_number_for_all_embeddings_is_refused(measured):
    with pytest.raises(ValueError, match=r"measures=ours: gives numbers of shape \[\] for 6 embeddings, and must give"):
        measured(BiasMeasure("ours/1", "it leans", lambda groups: groups.x.mean()))


def test_a_measure_of_another_version_than_where_the_run_began_is_refused(measured):
    with pytest.raises(InputError, match="measures=ours: is ours/1 here, and ours/2 where the run began"):
        measured(BiasMeasure("ours/1", "it leans", _first_coordinate), version="ours/2")
