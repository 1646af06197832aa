"""Draws that numbers of classifiers leave: which nights share them, and what they tell of a change."""

import json

import numpy as np
import pytest

from tiltmeter.jobs.changes.comparing import Comparison
from tiltmeter.jobs.changes.differences import corrected
from tiltmeter.jobs.classifiers.intervals import (
    MOST_DRAWS,
    TextEstimate,
    drawn_texts,
    mean_of_texts,
    text_estimate,
)
from tiltmeter.jobs.runtime.draws import DRAWS
from tiltmeter.jobs.runtime.table import Table, doc, key, tables_of
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import each

NUM = 400
TEXTS = [f"text {number}" for number in range(NUM)]
RIGHT = np.arange(NUM) % 10 < 7
"""A model that is right of 70 %."""


class Models(Table, name="models", has_status=False):
    model: str = key("the model")
    accuracy: TextEstimate = doc("share", interval="texts")


def night(history, *right, texts=TEXTS, seed=0, keyed_by="place"):
    """A run with a row for each model, by which texts each is right of."""
    of = texts, each(len(texts), "text"), KeyedResampleSettings(keyed_by=keyed_by), seed, LOGIT
    shares = (mean_of_texts("accuracy", these.astype(float), *of) for these in right)
    rows = [Models(model=str(number), accuracy=share) for number, share in enumerate(shares)]
    return history.run(dict(tables_of(rows, [Models])))


def judged(before, after):
    return corrected(Comparison(before, after).differences()).to_pylist()


def worse(num):
    """A model that is wrong of so many texts more, one of every ten."""
    right = RIGHT.copy()
    right[np.flatnonzero(RIGHT)[: 7 * num : 7]] = False
    return right


def test_the_same_texts_have_one_scheme_and_any_others_have_another():
    assert drawn_texts(TEXTS, 0, "accuracy") == drawn_texts(list(TEXTS), 0, "accuracy")
    others = [*TEXTS[:-1], "another text"], TEXTS[::-1], TEXTS[:-1], [[text, "a stratum"] for text in TEXTS]
    schemes = [drawn_texts(texts, 0, "accuracy") for texts in (TEXTS, *others)]
    schemes += [drawn_texts(TEXTS, 1, "accuracy"), drawn_texts(TEXTS, 0, "recall")]
    assert len({json.dumps(scheme, sort_keys=True) for scheme in schemes}) == len(schemes)


class Gains(Table, name="gains", has_status=False):
    gain: TextEstimate = doc("a gain", interval="pools")


def test_a_number_leaves_its_first_draws_spread_as_its_interval():
    resamples = np.random.default_rng(0).normal(size=MOST_DRAWS + 5)
    found = mean(np.arange(5.0), each(5, "pool"), level=0.95)
    estimate = Estimate(0.5, resamples, num_texts=5)
    gain = text_estimate(found, estimate, KeyedResampleSettings(), FISHER, {"paired_by": "items"})
    [(_, table), (name, draws)] = tables_of([Gains(gain=gain)], [Gains])
    [draw] = draws.to_pylist()
    assert (name, draws.schema, table.column_names) == ("draws", DRAWS, ["gain", "gain_low", "gain_high"])
    middle = resamples.mean()
    assert draw["values"] == pytest.approx(middle + (5 / 4) ** 0.5 * (resamples[:MOST_DRAWS] - middle))
    assert json.loads(draw["scheme"]) == {"paired_by": "items", "num_items": 5.0}


FEW = [(1, None, None), (4, 0.125, "stayed"), (12, 2.0**-11, "moved")]


@pytest.mark.parametrize(("num", "p", "verdict"), FEW)
def test_texts_that_all_change_are_judged_by_how_few_they_are(history, num, p, verdict):
    """One that is alone leaves no draws."""
    right = np.ones(num, dtype=bool)
    [row] = judged(*(night(history, these, texts=TEXTS[:num]) for these in (right, ~right)))
    paired_by = "items" if num > 1 else "none"
    assert (row["paired_by"], row["difference"], row["p"], row["verdict"]) == (paired_by, -1.0, p, verdict)


def test_nights_on_the_same_texts_are_paired_text_by_text(history):
    [row] = judged(night(history, RIGHT), night(history, worse(12)))
    # Twelve texts of 400 differ by 1, so that the difference has the standard error sqrt(0.03 * 0.97 / 400) = 0.0085,
    # and t some 11 degrees of freedom or more.
    assert (row["paired_by"], row["num_draws"], row["verdict"]) == ("items", MOST_DRAWS, "moved")
    assert row["difference"] == pytest.approx(-0.03)
    assert row["low"] == pytest.approx(-0.03 - 2.1 * 0.0085, abs=0.003)
    assert row["high"] == pytest.approx(-0.03 + 2.1 * 0.0085, abs=0.003)


@pytest.mark.long
def test_keyed_by_text_it_is_the_shared_texts_that_are_paired(history):
    """One text of 400 is another one, and all stand in another order; 20 more are wrong."""
    order = np.random.default_rng(0).permutation(NUM)
    texts = np.array([*TEXTS[:-1], "another text"])[order].tolist()
    by_text, by_place = (
        judged(
            night(history, RIGHT, RIGHT, keyed_by=keyed_by),
            night(history, worse(20)[order], RIGHT[order], texts=texts, keyed_by=keyed_by),
        )
        for keyed_by in ("text", "place")
    )
    assert [(row["paired_by"], row["verdict"]) for row in by_text] == [("items", "moved"), ("items", "stayed")]
    assert [(row["paired_by"], row["verdict"]) for row in by_place] == [("unpaired", "stayed")] * 2
    # Twenty texts of 400 differ by 1: the standard error is sqrt(0.05 * 0.95 / 400) = 0.011; unpaired it is 0.032.
    assert by_text[0]["high"] - by_text[0]["low"] == pytest.approx(2 * 2.1 * 0.011, rel=0.25)
    # Of the other model two draws of 400 differ.
    assert by_text[1]["high"] - by_text[1]["low"] < 4 * 2 / 400
