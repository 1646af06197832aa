"""Sentences that models of several kinds explain word by word: rows, targets, methods and units."""

import pickle
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.attributions import NamedModel, explanations
from tiltmeter.jobs.classifiers.models import TrainedSource, find_source, model_table
from tiltmeter.jobs.classifiers.tables import ATTRIBUTIONS, SENTENCES, Attributed
from tiltmeter.jobs.runtime.work import do
from tiltmeter.operators.classifiers.attribution.attribute import attribute
from tiltmeter.operators.classifiers.attribution.records import AttributionConfig
from tiltmeter.operators.classifiers.networks import small_network, text_classifier
from tiltmeter.operators.classifiers.records import Head
from tiltmeter.operators.classifiers.small import SmallEncoderConfig, Vocabulary
from tiltmeter.operators.classifiers.trained import SmallModel, weights_of
from tiltmeter.storage.store.ledger import Store, Unit
from tiltmeter.storage.store.tables import key_columns

HEADS = {"label": Head(("bad", "good"))}
CONFIG = SmallEncoderConfig(dimensions=4, hidden=4, max_words=4)
VOCABULARY = Vocabulary(["good", "bad", "film", "."], CONFIG)
ROWS = [
    {"sentence": 7, "text": "Good film.", "gold": "good"},
    {"sentence": 8, "text": "", "gold": "bad"},
    {"sentence": 9, "text": "bad film film . bad unheard", "gold": None},
    {"sentence": 10, "text": "Good film.", "gold": "bad"},
]
"""One text has both classes for gold: whatever a model predicts, once it is not the gold one."""

METHOD = AttributionConfig(num_steps=16)


class Here:
    """Runs units in this process, as a pool of workers would."""

    def __init__(self, folder):
        self.store = Store(str(folder))
        self.pool = SimpleNamespace(num_gpus=0)

    def run(self, stage):
        work = pickle.loads(pickle.dumps(stage.work))

        def done(unit, tables):
            return self.store.find(unit) or self.store.commit(unit, tables)

        return {group: [done(*made) for made in work(self.store, units)] for group, units in stage.units.items()}

    def table(self, name, table):
        """A reference to a table of the store."""
        return self.store.commit(Unit("made/1", name, {"name": name}), [(name, table)]).tables[name]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return Here(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def sentences(here):
    """Two parts of one table, which has a column more."""
    schema = SENTENCES.append(pa.field("speaker", pa.string()))
    parts = ([row | {"speaker": "x"} for row in part] for part in (ROWS[:2], ROWS[2:]))
    return [here.table(f"part_{at}", pa.Table.from_pylist(part, schema)) for at, part in enumerate(parts)]


NETWORK = small_network(VOCABULARY, CONFIG, HEADS, 1)


def alone(method=METHOD, **how):
    """What the operator says of the texts."""
    classifier = text_classifier(NETWORK, VOCABULARY.tokenise, HEADS)
    return attribute(classifier, [row["text"] for row in ROWS], method, **how)


def shown(found):
    """Of texts in full, and of one up to what the model takes."""
    return [*found[0].values, *found[2].values[:4], *found[3].values]


@pytest.fixture(scope="module")
def trained(here):
    table = model_table(SmallModel(CONFIG, VOCABULARY.words, HEADS), weights_of(NETWORK))
    return NamedModel(TrainedSource(), on_gpu=False, made=here.table("model", table))


def explain(here, models, sentences, config=METHOD, seed=0, explained="predicted"):
    """Tables of attributions, by model."""
    works = explanations(models, sentences, config, seed, explained)
    groups = do(here, works, stage="explain", complete=False, batch_size=None).groups
    return {name: done.refs(Attributed) for name, done in groups.items()}


def rows_of(here, models, sentences, **how):
    refs = explain(here, models, sentences, **how)
    return {name: pa.concat_tables(here.store.read(ref) for ref in found).to_pylist() for name, found in refs.items()}


def test_every_word_of_every_sentence_has_a_row(here, trained, sentences):
    rows = rows_of(here, {"small": trained}, sentences)["small"]
    assert [(row["sentence"], row["position"], row["word"], row["status"]) for row in rows] == [
        *((7, place, word, "ok") for place, word in enumerate(["Good", "film", "."])),
        (8, 0, "", "no_word"),
        *((9, place, word, "ok") for place, word in enumerate(["bad", "film", "film", "."])),
        *((9, place, word, "beyond_limit") for place, word in enumerate(["bad", "unheard"], start=4)),
        *((10, place, word, "ok") for place, word in enumerate(["Good", "film", "."])),
    ]
    found = alone()
    values = [row["attribution"] for row in rows if row["status"] == "ok"]
    np.testing.assert_allclose(values, shown(found), atol=1e-6)
    assert [row["delta"] is None for row in rows] == [row["sentence"] == 8 for row in rows]
    assert rows[0]["delta"] == pytest.approx(found[0].delta, abs=1e-6)
    assert {row["sentence"]: row["gold"] for row in rows} == {7: "good", 8: "bad", 9: None, 10: "bad"}
    predicted = [HEADS["label"].classes[one.predicted] if one.words else None for one in found]
    assert {row["sentence"]: row["predicted"] for row in rows} == dict(zip((7, 8, 9, 10), predicted, strict=True))
    assert key_columns(ATTRIBUTIONS) == ["model", "sentence", "position"]
    [reason] = {row["reason"] for row in rows if row["status"] == "beyond_limit"}
    assert reason == "the sentence is longer than the model takes, and was read up to there"


def test_the_gold_class_is_explained_where_there_is_one(here, trained, sentences):
    predicted = rows_of(here, {"small": trained}, sentences)["small"]
    gold = rows_of(here, {"small": trained}, sentences, explained="gold")["small"]
    for one, other in zip(predicted, gold, strict=True):
        if one["attribution"] is not None:
            sign = 1 if one["gold"] in (None, one["predicted"]) else -1
            assert other["attribution"] == pytest.approx(sign * one["attribution"], abs=1e-6)
    good, none, _, bad = alone(targets=[1, 0, None, 0])
    assert len(none.words) == 0
    for sentence, of_gold in ((7, good), (10, bad)):
        values = [row["attribution"] for row in gold if row["sentence"] == sentence]
        assert values == pytest.approx(of_gold.values, abs=1e-6)
    assert np.abs(good.values).max() > 1e-3


def test_a_gold_class_that_the_model_lacks_is_refused(here, trained):
    row = {"sentence": 0, "text": "good", "gold": "neutral"}
    ref = here.table("strange", pa.Table.from_pylist([row], SENTENCES))
    with pytest.raises(ValueError, match="gold class 'neutral': the model's classes are bad, good"):
        explain(here, {"small": trained}, [ref], explained="gold")


def test_checkpoints_are_explained_by_the_same_stage(here, trained, sentences, write_bert, tmp_path):
    pieces, labels = ["good", "bad", "fil", "##m", "."], {0: "bad", 1: "good"}
    write_bert(tmp_path, pieces, "BertForSequenceClassification", id2label=labels)
    models = {"bert": NamedModel(find_source(str(tmp_path), None, "model"), on_gpu=False), "small": trained}
    found = rows_of(here, models, sentences)
    assert [row["word"] for row in found["bert"]] == [row["word"] for row in found["small"]]
    assert {row["status"] for row in found["bert"]} == {"ok", "no_word"}
    assert {row["predicted"] for row in found["bert"]} <= {"bad", "good"}


def test_methods_are_those_that_are_asked_for(here, trained, sentences):
    lime = AttributionConfig(method="lime", num_samples=12)
    rows = rows_of(here, {"small": trained}, sentences, config=lime, seed=3)["small"]
    values = [row["attribution"] for row in rows if row["status"] == "ok"]
    np.testing.assert_allclose(values, shown(alone(lime, seed=3)), atol=1e-5)


def test_units_are_found_again_and_another_method_is_another_unit(here, trained, sentences):
    def places(**how):
        return {ref.unit for ref in explain(here, {"small": trained}, sentences, **how)["small"]}

    assert places() == places()
    for other in ({"config": AttributionConfig(method="occlusion")}, {"seed": 1}):
        assert not places(**other) & places()
