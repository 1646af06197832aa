"""Translators and classifiers of transformers, and the real Apertium, through the whole job."""

import io
import json
import shutil
from contextlib import suppress

import numpy as np
import psutil
import pyarrow as pa
import pytest
import sentencepiece
import torch
from transformers import MarianConfig, MarianMTModel

from tiltmeter.jobs.sentiment.translation.apertium import TranslationError
from tiltmeter.jobs.sentiment.translation.translation import _round_trip, _trace, _Translating
from tiltmeter.jobs.sentiment.translation.translators import ApertiumTranslator, find_round_trip
from tiltmeter.operators.sentiment.seq2seq import Seq2SeqConfig, translate_texts
from tiltmeter.operators.sentiment.transformer_scores import ClassifierConfig, score_texts
from tiltmeter.storage.models.load import load_classifier, load_translator
from tiltmeter.storage.store.ledger import Store, Unit

WORDS = ["this", "man", "woman", "girl", "boy", "feels", "grim", "happy", "they", "feel", ".", "me", "made"]
FEW = [
    *(
        "~sentences.groups.gender_race",
        "~sentences.groups.gender_race_confounded",
        "~sentences.groups.gender_confounded",
    ),
    *("sentences.groups.gender.datasets=[E3]", "rating.num_resamples=0"),
]


@pytest.fixture(scope="module")
def classifier(write_bert, tmp_path_factory):
    """A BERT with random weights and the labels of sentiment."""
    settings = {"id2label": {0: "NEGATIVE", 1: "POSITIVE"}, "initializer_range": 1.0}
    folder = tmp_path_factory.mktemp("classifier") / "tiny"
    return write_bert(folder, WORDS, "BertForSequenceClassification", **settings)


def write_marian(folder, seed):
    """A translator with random weights, which says something else of each text."""
    spm = io.BytesIO()
    sentences = iter([" ".join(WORDS), " ".join(reversed(WORDS))] * 3)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=sentences, model_writer=spm, vocab_size=60, hard_vocab_limit=False, minloglevel=2
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=spm.getvalue())
    pieces = [processor.IdToPiece(number) for number in range(3, processor.GetPieceSize())]
    vocabulary = ["</s>", "<unk>", *pieces, "<pad>"]
    padding = len(vocabulary) - 1
    special = {"pad_token_id": padding, "decoder_start_token_id": padding, "eos_token_id": 0, "forced_eos_token_id": 0}
    layers = {
        f"{side}_{name}": size
        for side in ("encoder", "decoder")
        for name, size in (("layers", 1), ("attention_heads", 2), ("ffn_dim", 16))
    }
    torch.manual_seed(seed)
    model = MarianMTModel(MarianConfig(vocab_size=len(vocabulary), d_model=16, init_std=0.6, **special, **layers))
    model.generation_config.update(num_beams=1, bad_words_ids=[[padding]], no_repeat_ngram_size=1)
    model.save_pretrained(folder)
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(spm.getvalue())
    (folder / "vocab.json").write_text(json.dumps({piece: number for number, piece in enumerate(vocabulary)}))
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))
    return folder


def test_models_translate_and_score_as_they_do_alone(run_here, classifier, tmp_path):
    folders = [write_marian(tmp_path / name, seed) for seed, name in enumerate(("there", "back"), start=1)]
    outcome = run_here(
        *("job=sentiment_rating", *FEW, "translator=marian", f"translator.es.there={folders[0]}"),
        *(f"translator.es.back={folders[1]}", "+translator.es.generation_there={max_new_tokens: 8}"),
        *("+translator.es.generation_back={max_new_tokens: 5}", "sentiment=transformer"),
        *("sentiment.transformer.classifier.score=confidence", f"sentiment.transformer.model={classifier}"),
        *(f"store={tmp_path}/store", f"run_dir={tmp_path}/run"),
    )
    rows = outcome.rows("translations")
    there, back = (load_translator(str(folder), "cpu", "translator") for folder in folders)
    texts = translate_texts(*there, [row["text"] for row in rows], Seq2SeqConfig(max_new_tokens=8))
    assert [row["intermediate"] for row in rows] == texts
    assert len(set(texts)) > 10
    assert [row["round_trip"] for row in rows] == translate_texts(*back, texts, Seq2SeqConfig(max_new_tokens=5))
    found = {(row["variant"], row["sentence"]): row["sentiment"] for row in outcome.rows("scores")}
    model = load_classifier(str(classifier), "cpu", "sentiment")
    for variant, column in (("original", "text"), ("es", "round_trip")):
        alone, _ = score_texts(*model, [row[column] for row in rows], ClassifierConfig(score="confidence"))
        assert np.ptp(alone) > 0.1
        assert [found[variant, row["sentence"]] for row in rows] == pytest.approx(alone.tolist(), abs=1e-6)


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
    inputs = {"sentences": [refs["sentences"]], "texts": [refs["texts"]]}
    rows = dict(_trace(store, Unit("trace/1", "", {"variant": "es"}, inputs)))["translations"].to_pylist()
    assert [(row["status"], row["survived"]) for row in rows] == [("too_long", None), ("too_long", None), ("ok", True)]


@pytest.fixture
def spanish():
    if shutil.which("apertium") is None:
        pytest.skip("needs Debian's apertium and apertium-eng-spa")
    return find_round_trip("es", ApertiumTranslator("apertium", "es"), "en")


def test_the_real_apertium_makes_round_trips(run_job, spanish, tmp_path):
    outcome = run_job(
        *("job=sentiment_rating", *FEW, "sentiment=[vader]", f"store={tmp_path}/store", f"run_dir={tmp_path}/run")
    )
    row = outcome.rows("translations", text="This woman feels happy.")[0]
    assert (row["intermediate"], row["round_trip"]) == ("Esta mujer siente feliz.", "This woman feels happy.")
    assert {row["variant"] for row in outcome.rows("ratings")} == {"original", "es"}


def test_an_engine_that_dies_fails_its_unit_and_no_other(spanish, tmp_path):
    store = Store(str(tmp_path))
    texts = {
        name: pa.table({"text": [text]}) for name, text in (("a", "The man."), ("b", "The boy."), ("c", "The girl."))
    }
    refs = store.commit(Unit("texts/1", "", {}), texts.items()).tables
    translating = _Translating(spanish, "cpu")

    def round_trip(name):
        [(_, tables)] = translating(store, [Unit("round_trip/1", name, {"name": name}, {"texts": [refs[name]]})])
        return dict(tables)["texts"]["round_trip"].to_pylist()

    assert round_trip("a") == ["The man."]
    engines = [process for process in psutil.Process().children(recursive=True) if process.name().startswith("lt-proc")]
    assert engines
    for process in engines:
        # A part of a pipe that has lost another one ends by itself.
        with suppress(psutil.NoSuchProcess):
            process.kill()
    with pytest.raises(TranslationError, match=r"eng-spa .*SIGKILL.*The boy"):
        round_trip("b")
    assert round_trip("c") == ["The girl."]
