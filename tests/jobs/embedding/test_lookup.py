"""From vectors of all embeddings of a corpus to numbers with intervals: of the original, a replica or a start; and what
draws of replicas are keyed by, which two runs have in common whose numbers are held against each other."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tests.fixtures.pages import trained_embedding
from tiltmeter.jobs.embedding.lookup import Lookup, Vectors, estimate
from tiltmeter.jobs.embedding.models import Model, _with_intervals, common_scheme
from tiltmeter.jobs.embedding.replicas import replica_scheme
from tiltmeter.jobs.embedding.vectors import Selection, SelectWords, vector_column
from tiltmeter.jobs.runtime.work import Done
from tiltmeter.operators.embedding import bootstrap
from tiltmeter.operators.embedding.bootstrap import Resampling
from tiltmeter.operators.statistics.intervals import LOGIT, IntervalSettings
from tiltmeter.operators.statistics.replicas import Replicated
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.store.ledger import TableRef, Unit

ORIGINAL = {"she": (1.0, 0.0), "he": (0.0, 2.0), "nurse": (3.0, 1.0), "nowhere": (0.0, 0.0)}
REPLICAS = [{"he": (0.0, 3.0), "she": (2.0, 0.0)}, {"nurse": (5.0, 1.0), "he": (0.0, 4.0), "she": (3.0, 0.0)}]
STARTS = [{"she": (7.0, 0.0), "he": (0.0, 8.0), "nurse": (9.0, 1.0), "nowhere": (1.0, 1.0)}]


def committed(store, name, table):
    return store.commit(Unit("made_up/1", name, {"name": name}), [("table", table)]).tables["table"]


def vectors_table(rows):
    columns = {"word": [*rows], "spelled": [word.upper() for word in rows], "count": [*range(7, 7 + len(rows))]}
    return pa.table(columns | {"vector": vector_column(np.array([*rows.values()], np.float32))})


@pytest.fixture
def lookup(store):
    tables = [
        committed(store, f"{number}", vectors_table(rows)) for number, rows in enumerate([ORIGINAL, *REPLICAS, *STARTS])
    ]
    return Lookup(store, Vectors("a", "en", tables[:3], tables[3:]).inputs)


def test_numbers_are_told_apart_by_what_they_are_of(lookup):
    """Words lie in another order in each embedding; one has none in a replica, another no direction in the original."""
    assert (lookup.num_replicas, lookup.num_embeddings) == (2, 4)
    assert lookup.counts == {"she": 7, "he": 8, "nurse": 9, "nowhere": 10}
    values = lookup(["he", "she", "nurse"])
    assert values[:, 0, 1].tolist() == [2.0, 3.0, 4.0, 8.0]
    assert values[:, 1, 0].tolist() == [1.0, 2.0, 3.0, 7.0]
    assert values[:, 2, 0].tolist() == pytest.approx([3.0, np.nan, 5.0, 9.0], nan_ok=True)
    original, replicas, starts = lookup.taken_apart(values[:, 1, 0])
    assert (original, replicas.tolist(), starts.tolist()) == (1.0, [2.0, 3.0], [1.0, 7.0])
    assert np.isnan(lookup(["nowhere", "absent"])[0]).all()
    assert lookup.missing(["nowhere", "she", "absent", "absent"]) == ["nowhere", "absent"]
    assert lookup.present(["he", "absent", "she"]) == ["he", "she"]
    assert lookup.shared(["he", "she"], ["she"]) == ["she"]


@pytest.mark.parametrize(
    ("values", "num", "status"),
    [
        ([1.0, 2.0, 3.0, 4.0], 2, "ok"),
        ([1.0, 2.0, np.nan, 4.0], 1, "too_few_replicas"),
        ([np.nan, 2.0, 3.0, 4.0], 2, "undefined"),
    ],
)
def test_a_number_rests_on_the_replicas_that_have_it(lookup, values, num, status):
    basis = lookup.basis(np.array(values))
    assert (basis["num_replicas"], basis["status"]) == (num, status)


def test_starts_stay_where_replicas_are_left_out_and_sampling_is_not_known_of_one_start():
    finished = ["original", "replica 1", "replica 2", "start 1", "start 2"]
    assert _with_intervals(Done(finished), 2, 0).pairs == ["original", "start 1", "start 2"]
    assert _with_intervals(Done(finished), 2, 2).pairs == finished
    values = Replicated(np.array(0.21), np.array([0.15, 0.3, 0.2]), np.array([0.21]))
    assert estimate("share", values, IntervalSettings(0.5, "centred"), LOGIT)["share_sd_sampling"] is None


def test_what_is_selected_keeps_the_counts_of_words_without_vectors(store):
    """The neighbours of a set are the words of its directions."""
    angles = {"she": 0, "her": 3, "queen": 7, "sister": 12, "he": 90, "him": 94, "king": 99, "far": 180}
    rows = {word: (np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))) for word, angle in angles.items()}
    embedding = committed(store, "embedding", vectors_table(rows).select(["word", "vector"]))
    counts = {"he": 40, "she": 30, "rare": 1, "queen": 6, "unlisted": 5}
    vocabulary = committed(store, "vocabulary", pa.table({"word": [*counts], "count": [*counts.values()]}))
    selection = Selection(("he", "queen", "rare", "she"), (("he",), ("she",)), 2)
    tables = dict(SelectWords(selection=selection, embedding=embedding, vocabulary=vocabulary).tables(store))
    table = {row["word"]: row for row in tables["vectors"].to_pylist()}
    assert {word: row["count"] for word, row in table.items()} == {"he": 40, "she": 30, "rare": 1, "queen": 6}
    assert table["rare"]["vector"] is None
    assert table["she"]["vector"] == pytest.approx(rows["she"])
    chosen = {number: set() for number in range(2)}
    for row in tables["neighbours"].to_pylist():
        chosen[row["set"]].add(round(np.rad2deg(np.arctan2(*row["vector"][::-1]))))
    assert chosen == {0: {90, 94, 99}, 1: {0, 3, 7}}


# --- schemes of draws -------------------------------------------------------------------------------------------------

OCCUPATIONS = {"source": "made up", "year": 2026, "percent_women": {"nurse": 90.0}}
WORDS = WordSets(language="en", cue_pairs=(("she", "he"),), occupations=OCCUPATIONS)


def vocabulary(num_words):
    return TableRef("vocabulary/0", "vocabulary", num_words, {"word": f"{num_words}"})


def model(scheme):
    return Model(Vectors("a", "en", (), scheme=scheme), WORDS)


def test_what_replicas_are_drawn_by_is_all_in_their_scheme():
    """Words that need more blocks train in another order."""
    made = replica_scheme(3, trained_embedding(), vocabulary(9), Resampling("document", "exponential"))
    known = {"paired_by": "replicas", "seed": 3, "unit": "document", "weights": "exponential"}
    assert made == known | {"operator": bootstrap.VERSION}
    for num_words, num_blocks in {1: 1, 2048: 1, 2049: 2, 4096: 2, 4097: 4}.items():
        rank, word = (
            replica_scheme(3, trained_embedding(keyed_by=by), vocabulary(num_words)) for by in ("rank", "word")
        )
        assert word == {**rank, "keyed_by": "word", "num_blocks": num_blocks}
        assert rank == replica_scheme(3, trained_embedding(), vocabulary(7))


def test_numbers_of_several_models_have_the_orders_of_all():
    by_word = trained_embedding(keyed_by="word")
    schemes = [replica_scheme(3, by_word, vocabulary(num_words)) for num_words in (9, 9000)]
    assert common_scheme([*map(model, schemes)]) == {**schemes[0], "num_blocks": [1, 8]}
    by_rank = replica_scheme(3, replace(by_word, keyed_by="rank"), vocabulary(9))
    assert common_scheme([model(by_rank), model(by_rank)]) == by_rank
    assert common_scheme([model(None)]) is None
