"""How models are compared: differences, paired tests and their adjustment, from numbers of a few texts."""

import numpy as np
import pytest

from tiltmeter.jobs.classifiers.intervals import resampled_texts
from tiltmeter.jobs.classifiers.privacy.comparisons import EXPECTED, PRIVATE, adjusted, comparisons
from tiltmeter.jobs.classifiers.privacy.config import ValenceLexicon
from tiltmeter.jobs.classifiers.privacy.estimates import TextValues
from tiltmeter.jobs.classifiers.privacy.tables import CONTROL, GENERAL, MEASURES, RANDOM_LISTS, RESEEDED, Orderings
from tiltmeter.jobs.runtime.table import cells_of
from tiltmeter.operators.classifiers.privacy.spoken import Spoken, mean_of_seeds
from tiltmeter.operators.statistics.resampling import resampled_mean
from tiltmeter.operators.statistics.text_intervals import KeyedResampleSettings
from tiltmeter.operators.statistics.units import each, units_of

TEXTS = list(range(24))
"""Of eight speakers, with three texts each."""

SPEAKERS = units_of(np.array(TEXTS) // 3, "speaker")
INTERVALS = KeyedResampleSettings(0.9, num_resamples=50)
NAN = float("nan")


def spoken(by_seed, units=SPEAKERS, intervals=INTERVALS):
    drawn = resampled_texts(TEXTS, "within", INTERVALS, 0, units)
    return TextValues(Spoken.means(np.array(by_seed, dtype=float), units), drawn, intervals)


def measured(units=SPEAKERS, intervals=INTERVALS, **values):
    """A model of which all measures but these are 0 for each text by each of two seeds."""
    zeros = np.zeros((2, 24))
    return {(None, name): spoken(values.get(name, zeros), units, intervals) for name in (*MEASURES, *values)}


DRAWS = np.random.default_rng(0)
EP = np.repeat(DRAWS.normal(0.5, 0.2, 8), 3) + DRAWS.normal(0.0, 0.02, (2, 24))
EP[:, 4] = EP[0, 7] = NAN
RANDOM_EP = np.where(np.arange(24) < 21, 0.1, NAN) + np.zeros((2, 24))
EG = 1.0 - DRAWS.uniform(0.1, 0.3, (2, 24))
PRIVATE_MODEL = {"ep": EP, "ep_random": RANDOM_EP, "eg": EG}
OTHER_EPS = {CONTROL: EP - 0.3, RESEEDED: EP * 0.5}


def rows_of(units=SPEAKERS, others=None, intervals=INTERVALS, **values):
    others = {GENERAL: {"eg": EG + 0.1}} | {name: {"ep": ep} for name, ep in OTHER_EPS.items()} | (others or {})
    models = {name: measured(units, **these) for name, these in others.items()}
    rows = comparisons("PrivAdv", "within", measured(units, intervals, **(PRIVATE_MODEL | values)), models)
    return {(row.against, row.measure): cells_of(row) for row in rows}


def test_p_is_the_larger_of_that_by_the_signs_of_speakers_and_that_over_seeds():
    rows = rows_of()
    sums = np.bincount(SPEAKERS.codes, weights=np.nan_to_num(mean_of_seeds(EP)))
    assert (sums > 0).all()
    assert (rows[GENERAL, "ep"]["expected"], rows[GENERAL, "ep"]["found"]) == ("higher", True)
    assert rows[GENERAL, "ep"]["p"] == pytest.approx(2 ** (1 - 8))  # the least that eight speakers can show
    signs = 1 - 2 * (np.arange(256)[:, None] >> np.arange(8) & 1)
    eg = np.bincount(SPEAKERS.codes, weights=(EG - EG.mean()).mean(axis=0))
    [row] = [rows_of(others={GENERAL: {"eg": np.full((2, 24), EG.mean())}})[GENERAL, "eg"]]
    assert row["p"] >= (np.abs(signs @ eg) >= np.abs(eg.sum()) - 1e-12).mean() > 0.5
    seeds = rows_of(ep=EP + np.array([[0.5], [-0.4]]))[GENERAL, "ep"]
    assert seeds["difference"] == pytest.approx(rows[GENERAL, "ep"]["difference"], abs=0.05)
    assert seeds["p"] > 0.2, "trained again, the model might lie on the other side"
    assert seeds["found"] is False
    one = rows_of(ep=EP[:1] + 0.5, others={GENERAL: {"eg": EG}})[GENERAL, "ep"]
    assert (one["p"], one["sd_training"] != one["sd_training"]) == (pytest.approx(2 ** (1 - 8)), True)


def test_differences_are_paired_by_text_and_texts_without_a_side_left_out():
    rows = rows_of()
    mean = mean_of_seeds(EP)
    assert rows[CONTROL, "ep"]["difference"] == pytest.approx(0.3)
    assert rows[RESEEDED, "ep"]["difference"] == pytest.approx(np.nanmean(mean / 2))
    assert rows[RANDOM_LISTS, "ep"]["difference"] == pytest.approx(np.nanmean(mean[:21]) - 0.1)
    assert rows[RANDOM_LISTS, "ep"]["num_units"] == 7
    assert rows[GENERAL, "eg"]["difference"] == pytest.approx(-0.1)


@pytest.mark.parametrize(("num", "has_interval"), [(2, False), (3, False), (5, True)])
def test_of_few_speakers_there_is_no_p_and_of_fewer_no_interval(num, has_interval):
    few = units_of(np.array(TEXTS) % num, "speaker")
    row = rows_of(few)[GENERAL, "ep"]
    assert np.isnan(row["p"])
    assert (not np.isnan(row["difference_low"]), row["found"] is not None) == (has_interval, has_interval)
    need = 'speaker that differs", and 6' if has_interval else 'speaker", and 4'
    assert (row["status"], row["reason"]) == (
        "too_few_units",
        f'there is too little to go by: {num} of the unit "{need} are needed' if has_interval else row["reason"],
    )
    assert "needed" in row["reason"]


def test_percentiles_are_of_resamples_alone():
    """Of texts: of speakers they are refused."""
    texts = each(24, "text")
    row = rows_of(texts, intervals=KeyedResampleSettings(0.9, "percentile", num_resamples=50))[GENERAL, "ep"]
    counts = resampled_texts(TEXTS, "within", INTERVALS, 0, texts).counts
    resamples = resampled_mean(mean_of_seeds(EP), counts).resamples
    assert (row["difference_low"], row["difference_high"]) == pytest.approx(tuple(np.quantile(resamples, [0.05, 0.95])))


def test_a_measure_without_a_value_has_a_row_that_says_so():
    row = rows_of(eg=np.full((2, 24), NAN))[GENERAL, "eg"]
    assert np.isnan(row["difference"])
    assert (row["found"], row["status"]) == (None, "no_value")


def test_general_and_its_next_seed_are_compared_with_nothing_nor_others_without_general():
    private = measured(**PRIVATE_MODEL)
    assert not list(comparisons("PrivAdv", "within", private, {CONTROL: measured(ep=EP)}))
    for name in (GENERAL, RESEEDED):
        assert not list(comparisons(name, "within", private, {GENERAL: measured()}))


def test_p_values_are_adjusted_over_the_tests_of_a_corpus_and_measure():
    rows = [
        Orderings(model="PrivAdv", against=GENERAL, corpus=corpus, measure=measure, p=p)
        for corpus, measure, p in [
            *(("within", "ep", 0.01), ("within", "eg", 0.04), ("within", "ep", 0.04)),
            *(("across", "ep", 0.04), ("within", "ep", None), ("within", "ep", 0.03)),
        ]
    ]
    results = adjusted(rows)
    assert [row.p_holm for row in results] == pytest.approx([0.03, 0.04, 0.06, 0.04, NAN, 0.06], nan_ok=True)
    by_rate = [row.p_benjamini_hochberg for row in results]
    assert by_rate == pytest.approx([0.03, 0.04, 0.04, 0.04, NAN, 0.04], nan_ok=True)


def test_the_expected_orders_are_those_of_the_printed_figures():
    printed = {  # table 1 of the paper: UAR of gender, EP, EG
        "General": (0.711, 0.0, 0.65),
        "PrivAdv": (0.562, 0.653, 0.62),
        "PrivAug": (0.551, 0.680, 0.68),
        "PrivBias": (0.621, 0.563, 0.60),
        "GenderCtrl": (0.820, -0.210, 0.59),
    }
    for (model, against, measure), side in EXPECTED.items():
        if model in printed:
            place = ("gender_uar", "ep", "eg").index(measure)
            assert (printed[model][place] > printed[against][place]) == (side == "higher")
    assert {model for model, against, measure in EXPECTED if (against, measure) == (CONTROL, "ep")} == set(PRIVATE)


def test_bins_of_a_lexicon_are_equal_parts_unless_they_are_given():
    about = {"path": None, "header": True, "word": "Word", "valence": "Valence", "least": 0.25}
    assert ValenceLexicon(low=0.0, high=1.0, bins=None, **about).upper_ends(3) == pytest.approx((1 / 3, 2 / 3))
    assert ValenceLexicon(low=1.0, high=5.0, bins=(2.75, 3.25), **about).upper_ends(3) == (2.75, 3.25)
