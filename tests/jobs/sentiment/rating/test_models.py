"""Translators and classifiers of transformers, and the real Apertium, through the whole job."""

import json
import shutil
from contextlib import suppress
from dataclasses import asdict

import numpy as np
import psutil
import pyarrow as pa
import pytest

from tests.fixtures.translators import write_translator
from tiltmeter.jobs.sentiment.translation.apertium import TranslationError
from tiltmeter.jobs.sentiment.translation.round_trips import (
    ApertiumTranslator,
    TraceWords,
    TranslateTexts,
    _round_trip,
    find_round_trip,
)
from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig, translate_texts
from tiltmeter.operators.sentiment.transformer_scores import ClassifierConfig, score_texts
from tiltmeter.storage.models.load import load_classifier, load_translator
from tiltmeter.storage.store.ledger import Store, Unit

WORDS = ["this", "man", "woman", "girl", "boy", "feels", "grim", "happy", "they", "feel", ".", "me", "made"]
FEW = [f"~sentences.groups.{name}" for name in ("gender_race", "gender_race_confounded", "gender_confounded")]
FEW += ["sentences.groups.gender.datasets=[E3]", "rating.num_resamples=0"]
SAID = (" ".join(WORDS), " ".join(reversed(WORDS)))

LABELS = {"NEGATIVE": -0.5, "POSITIVE": 0.25}
CLASSIFIERS = {
    "transformer": ClassifierConfig(score="confidence"),
    "expected": ClassifierConfig(score="expected", labels=LABELS),
    "top": ClassifierConfig(score="top"),
}
TRIPS = {
    "es": (Seq2SeqConfig(num_beams=3, max_new_tokens=8), Seq2SeqConfig("es", "en", max_new_tokens=5)),
    "da": (Seq2SeqConfig("en", "da", max_new_tokens=8), Seq2SeqConfig(max_new_tokens=2)),
}


def shown(settings):
    return json.dumps(settings).replace('"', "")


def test_models_translate_and_score_as_they_do_alone(run_here, hub, write_bert, tmp_path):
    """Two tags of one repository, of which the second knows languages by codes; and folders, on what there is."""
    there, back, bert = hub("both", "first"), hub("both", "second"), hub("bert", "tagged")
    write_translator(there, "Marian", SAID, forced_eos_token_id=0)
    write_translator(back, "M2M100", SAID)
    named = {"id2label": {0: "NEGATIVE", 1: "POSITIVE"}, "initializer_range": 1.0}
    write_bert(bert, WORDS, "BertForSequenceClassification", **named)
    models = {"there": "we/both", "back": "we/both", "revision_there": "first", "revision_back": "second"}
    trips = {"es": models | {"device": "cpu"}, "da": {"there": str(back), "back": str(there)}}
    for name, configs in TRIPS.items():
        ways = ("generation_there", "generation_back")
        trips[name] |= dict(zip(ways, map(asdict, configs), strict=True)) | {"kind": "marian", "language": name}
    of_hub, of_folder = {"model": "we/bert", "revision": "tagged", "device": "cpu"}, {"model": str(bert)}
    systems = {
        name: {"kind": "transformer", "classifier": asdict(config)} | (of_folder if name == "top" else of_hub)
        for name, config in CLASSIFIERS.items()
    }
    outcome = run_here(
        *("job=sentiment_rating", *FEW, "sentences.neutral=null", "translator=[]", "sentiment=[]"),
        *(f"+translator={shown(trips)}", f"+sentiment={shown(systems)}"),
        *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    folders, texts = {"es": (there, back), "da": (back, there)}, {}
    for name, configs in TRIPS.items():
        rows = outcome.rows("translations", variant=name)
        ahead, home = (load_translator(str(folder), "cpu", "translator") for folder in folders[name])
        intermediate = translate_texts(*ahead, [row["text"] for row in rows], configs[0])
        assert [row["intermediate"] for row in rows] == intermediate
        assert len(set(intermediate)) > 10
        texts[name] = translate_texts(*home, intermediate, configs[1])
        assert [row["round_trip"] for row in rows] == texts[name]
    model = load_classifier(str(bert), "cpu", "sentiment")
    for name, config in CLASSIFIERS.items():
        for variant, these in (texts | {"original": [row["text"] for row in rows]}).items():
            alone, _ = score_texts(*model, these, config)
            found = [row["sentiment"] for row in outcome.rows("scores", system=name, variant=variant)]
            assert found == pytest.approx(alone.tolist(), abs=1e-6)
            assert np.ptp(alone) > 0.1 or variant == "da"


def test_a_text_too_long_for_a_model_has_no_round_trip(tmp_path):
    texts = ["long", "lost on the way back", "kept"]
    there = {"long": None, "lost on the way back": "far", "kept": "near"}
    trip = _round_trip(
        texts, lambda of: list(map(there.get, of)), lambda of: [None if one == "far" else "here" for one in of]
    )
    assert trip["round_trip"].to_pylist() == [None, None, "here"]
    sentences = pa.table({name: [""] * 3 for name in ("group", "dataset")} | {"sentence": [0, 1, 2], "text": texts})
    sentences = sentences.append_column("protected_words", pa.array([["here"]] * 3))
    store = Store(str(tmp_path))
    refs = store.commit(Unit("made/1", "", {}), [("sentences", sentences), ("texts", trip)]).tables
    work = TraceWords(sentences=refs["sentences"], texts=[refs["texts"]], variant="es")
    rows = dict(work.tables(store))["translations"].to_pylist()
    assert [(row["status"], row["survived"]) for row in rows] == [("too_long", None), ("too_long", None), ("ok", True)]


@pytest.fixture
def spanish():
    if shutil.which("apertium") is None:
        pytest.skip("needs Debian's apertium and apertium-eng-spa")
    return find_round_trip("es", ApertiumTranslator(kind="apertium", language="es"), "en")


def test_the_real_apertium_makes_round_trips(run_here, spanish, tmp_path):
    needed = "+translator.needed={kind: apertium, language: es, if_missing: refuse}"
    place = (f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    outcome = run_here("job=sentiment_rating", *FEW, needed, "sentiment=[vader]", *place)
    for row in outcome.rows("translations", text="This woman feels happy."):
        assert (row["intermediate"], row["round_trip"]) == ("Esta mujer siente feliz.", "This woman feels happy.")
    assert {row["variant"] for row in outcome.rows("ratings")} == {"original", "es", "needed"}


@pytest.mark.long
def test_an_engine_that_dies_fails_its_unit_and_no_other(spanish, tmp_path):
    store = Store(str(tmp_path))
    texts = {
        name: pa.table({"text": [text]}) for name, text in (("a", "The man."), ("b", "The boy."), ("c", "The girl."))
    }
    refs = store.commit(Unit("texts/1", "", {}), texts.items()).tables

    def round_trip(name):
        tables = TranslateTexts(trip=spanish, texts=refs[name]).tables(store)
        return dict(tables)["texts"]["round_trip"].to_pylist()

    assert round_trip("a") == ["The man."]
    engines = [process for process in psutil.Process().children(recursive=True) if process.name().startswith("lt-proc")]
    assert engines
    for process in engines:
        with suppress(psutil.NoSuchProcess):  # a part of a pipe that has lost another one ends by itself
            process.kill()
    with pytest.raises(TranslationError, match=r"eng-spa .*SIGKILL.*The boy"):
        round_trip("b")
    assert round_trip("c") == ["The girl."]
