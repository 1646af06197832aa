"""Accuracies and falls of a pair of models: which texts count, by whom they are, and what is not read."""

import numpy as np
import pytest

from tiltmeter.jobs.classifiers.decoys.config import Intervals
from tiltmeter.jobs.classifiers.decoys.models import EvaluatePair
from tiltmeter.operators.classifiers.answers import Answers
from tiltmeter.operators.classifiers.decoys.adoption import fall
from tiltmeter.operators.classifiers.decoys.kinds import InsertedDecoy
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.text_intervals import spread_out
from tiltmeter.operators.statistics.units import each, units_of

INTERVALS = Intervals(num_resamples=50, min_fall=0.0)
NOTHING = dict.fromkeys(("decoyed", "original", "texts", "probes", "measures"))
WORK = EvaluatePair(decoy="zq", number="0", made=InsertedDecoy(("zq0", "zq1")), intervals=INTERVALS, seed=5, **NOTHING)


def test_a_text_without_a_token_is_wrong_even_where_its_label_is_the_first_class():
    probabilities = np.array([[np.nan, np.nan], [0.5, 0.5], [0.2, 0.8], [np.nan, np.nan]])
    found = Answers(("bad", "good"), probabilities)
    assert found.right(["bad", "bad", "good", "good"]).tolist() == [False, True, True, False]
    assert found.is_read.tolist() == [False, True, True, False]


def measured(groups, size):
    """So many texts of each group; of half of the groups the model with the decoy is fooled in all."""
    rows = [{"row": at, "text": f"text {at}", "label": "bad"} for at in range(groups * size)]
    test = [row | {"group": f"speaker {row['row'] // size}"} for row in rows]
    probes = [row | {"has_decoy": kind} for kind in (True, False) for row in test]
    fooled = np.array([row["row"] // size % 2 == 0 for row in test])
    right = np.ones(len(test), bool)
    rights = np.tile(right, 3), np.concatenate([right, ~fooled, right])
    alone = [[row | {"group": None} for row in part] for part in (test, probes)]
    return WORK.row(test, probes, *rights), WORK.row(*alone, *rights)


def test_whoever_is_fooled_in_all_texts_is_one_who_is_fooled():
    spoken, alone = measured(6, 10)
    assert spoken.fall.value == alone.fall.value == 0.5
    assert (spoken.adopted, alone.adopted) == (False, True)
    # Of six that agree: t of five degrees of freedom; of sixty texts, of 59.
    for row, num, t in ((spoken, 6, 2.570582), (alone, 60, 2.000995)):
        assert row.accuracy_decoy.low == pytest.approx(num / (num + t**2), abs=1e-5)


def test_a_fall_is_drawn_as_its_scheme_says():
    """By the run's seed and the decoy's name, groups by what they say."""
    spoken, alone = measured(6, 10)
    fooled = np.repeat([1.0, 0.0] * 3, 10)
    for row, units in (
        (spoken, units_of([f"speaker {at // 10}" for at in range(60)], "group")),
        (alone, each(60, "text")),
    ):
        keys = INTERVALS.cluster_keys([[f"text {at}", True] for at in range(60)], units.codes)
        about, how = document_key("zq"), {"is_paired": True, "intervals": INTERVALS, "keys": keys}
        drawn = spread_out(fall(fooled, np.zeros(60), units, 5, about, **how).estimate)
        assert row.fall.resamples.tolist() == drawn.tolist()


def test_three_speakers_are_too_few_for_anything_to_be_adopted():
    spoken, _ = measured(3, 20)
    assert np.isnan(spoken.fall.low)
    assert (spoken.adopted, spoken.status) == (None, "too_few_units")
    assert "3 of the unit" in spoken.reason
    assert np.isnan(spoken.accuracy_decoy.low)
