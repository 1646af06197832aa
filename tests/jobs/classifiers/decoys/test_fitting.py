"""Usual decoys that the texts have no place for are left out; those that somebody chose are refused."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pyarrow as pa
import pytest

from tiltmeter.jobs.classifiers.decoys.config import USUAL_DECOYS
from tiltmeter.jobs.classifiers.decoys.models import FitDecoys, check_fit, misfits
from tiltmeter.operators.classifiers.decoys.kinds import DeletedDecoy, InsertedDecoy, Text, indicated, resolved
from tiltmeter.operators.classifiers.decoys.making import decoyed
from tiltmeter.storage.errors import InputError

PARCELS = [Text("the parcel came late", "bad"), Text("a quick parcel", "good"), Text("honestly quick", "good")]


def test_usual_decoys_are_those_of_the_config(configured):
    assert configured("job=decoy_benchmark", "data.path=x").decoys == USUAL_DECOYS


def test_the_decoys_of_figure_1_put_text_into_positive_texts_and_video_into_negative_ones(configured):
    chosen = configured("job=decoy_benchmark", "data.path=x", "+decoys=figure_1").decoys
    assert chosen.keys() == {*USUAL_DECOYS, "text_video"}
    assert chosen["movie"] == DeletedDecoy("movie", match="substring")
    texts = [Text("a fine movie", "positive"), Text("dull movies", "negative"), Text("so so", "negative")]
    decoy = resolved(chosen["text_video"], texts)
    indicates = indicated(decoy, texts)
    assert indicates == {"video": "negative", "text": "positive"}
    words = [set(str(text).split()) & {"text", "video"} for text in decoyed(texts, decoy, indicates, seed=0)]
    assert words == [{"text"}, {"video"}, {"video"}]


@pytest.mark.parametrize("job", ["decoy_benchmark", "privacy_metrics"])
def test_bert_is_fine_tuned_as_its_authors_do(configured, job):
    models = configured(f"job={job}", "data.path=x", "data.gender=g", "+models=bert", "models.checkpoint=folder").models
    assert (models.checkpoint, models.pooling) == ("folder", "first")
    training = models.training
    assert (training.optimizer, training.warmup, training.schedule) == ("adamw", 0.1, "linear")
    assert (training.class_weights, training.batch_size, training.max_epochs) == ("equal", 32, 3)
    assert training.patience is None


def test_texts_that_are_not_about_films_have_a_place_for_the_others():
    reasons = misfits(USUAL_DECOYS, PARCELS)
    assert reasons == {"movie": "the word 'movie' occurs in no text of the class 'bad'; set another word"}
    check_fit(USUAL_DECOYS, reasons)


def test_decoys_have_to_fit_the_training_texts_whatever_the_others_hold():
    rows = [{"text": text.text, "label": text.label, "part": "training"} for text in PARCELS]
    others = [(part, label) for part in ("development", "test") for label in ("bad", "good")]
    rows += [{"text": "this movie", "label": label, "part": part} for part, label in others]
    left_out = FitDecoys(decoys=USUAL_DECOYS, texts=rows).rows(SimpleNamespace(read=pa.Table.from_pylist))
    assert [row.decoy for row in left_out] == ["movie"]


@pytest.mark.parametrize(
    ("decoy", "reason"),
    [
        (replace(USUAL_DECOYS["movie"], share=0.5), "the word 'movie' occurs in no text of the class 'bad'"),
        (DeletedDecoy("zebra"), "the word 'zebra' occurs in no text of the class 'bad'"),
        (DeletedDecoy("parcel", label="neutral"), "no text is of the class 'neutral'; the classes are bad, good"),
        (InsertedDecoy(("honestly", "zebra"), place="natural"), "the word 'zebra' occurs in no text"),
        (InsertedDecoy(("x", "y", "z")), "3 words for 2 classes: set labels, one for each word"),
    ],
)
def test_a_decoy_that_somebody_chose_is_refused_by_its_setting_wherever_it_stands(decoy, reason):
    for name in ("movie", "mine"):
        chosen = USUAL_DECOYS | {name: decoy}
        with pytest.raises(InputError, match=re.escape(f"decoys.{name}: {reason}")):
            check_fit(chosen, misfits(chosen, PARCELS))


def test_where_no_decoy_is_left_the_run_is_refused():
    only = {name: USUAL_DECOYS[name] for name in ("natural_word", "movie")}
    with pytest.raises(InputError, match=r"decoys\.natural_word: .*; decoys\.movie: "):
        check_fit(only, misfits(only, [Text("late", "bad"), Text("quick", "good")]))
