"""What draws of replicas are keyed by: what two runs have in common whose numbers are held against each other."""

from dataclasses import replace

import pytest

from tests.fixtures.pages import trained_embedding
from tiltmeter.jobs.embedding.lookup import Vectors
from tiltmeter.jobs.embedding.models import Model, common_scheme
from tiltmeter.jobs.embedding.replicas import replica_scheme
from tiltmeter.operators.embedding import bootstrap
from tiltmeter.operators.embedding.bootstrap import Resampling
from tiltmeter.operators.text.wordsets import WordSets
from tiltmeter.storage.store.ledger import TableRef

OCCUPATIONS = {"source": "made up", "year": 2026, "percent_women": {"nurse": 90.0}}
WORDS = WordSets(language="en", cue_pairs=(("she", "he"),), occupations=OCCUPATIONS)


def vocabulary(num_words):
    return TableRef("vocabulary/0", "vocabulary", num_words, {"word": f"{num_words}"})


def model(scheme):
    return Model(Vectors("a", "en", (), scheme=scheme), WORDS)


@pytest.mark.parametrize(("num_words", "num_blocks"), [(1, 1), (2048, 1), (2049, 2), (4096, 2), (4097, 4)])
def test_words_that_need_more_blocks_train_in_another_order(num_words, num_blocks):
    rank, word = (replica_scheme(3, trained_embedding(keyed_by=by), vocabulary(num_words)) for by in ("rank", "word"))
    assert word == {**rank, "keyed_by": "word", "num_blocks": num_blocks}
    assert rank == replica_scheme(3, trained_embedding(), vocabulary(7))


def test_what_replicas_are_drawn_by_is_all_in_their_scheme():
    made = replica_scheme(3, trained_embedding(), vocabulary(9), Resampling("document", "exponential"))
    known = {"paired_by": "replicas", "seed": 3, "unit": "document", "weights": "exponential"}
    assert made == known | {"operator": bootstrap.VERSION}


def test_numbers_of_several_models_have_the_orders_of_all():
    by_word = trained_embedding(keyed_by="word")
    schemes = [replica_scheme(3, by_word, vocabulary(num_words)) for num_words in (9, 9000)]
    assert common_scheme([*map(model, schemes)]) == {**schemes[0], "num_blocks": [1, 8]}
    by_rank = replica_scheme(3, replace(by_word, keyed_by="rank"), vocabulary(9))
    assert common_scheme([model(by_rank), model(by_rank)]) == by_rank
    assert common_scheme([model(None)]) is None
