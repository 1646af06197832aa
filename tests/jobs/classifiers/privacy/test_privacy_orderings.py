"""How models are compared: differences, paired tests and their adjustment, from numbers of a few texts."""

import numpy as np
import pytest
from scipy.stats import t as student
from scipy.stats import ttest_rel

from tiltmeter.jobs.classifiers.privacy import tables
from tiltmeter.jobs.classifiers.privacy.comparing import CONTROL, EXPECTED, PRIVATE, adjusted, comparisons
from tiltmeter.jobs.classifiers.privacy.config import ValenceLexicon
from tiltmeter.jobs.classifiers.privacy.estimates import DIFFERENCE_SCALES, SCALES, TextValues
from tiltmeter.jobs.classifiers.privacy.measuring import GENERAL, RESEEDED
from tiltmeter.operators.statistics.resampling import resampled_mean
from tiltmeter.operators.statistics.text_intervals import ResampleSettings

COUNTS = np.random.default_rng(0).multinomial(4, [0.25] * 4, size=50).astype(np.int32)
CONFIG = {"model": "PrivAdv", "intervals": ResampleSettings(0.9)}
NAN = float("nan")


def measured(**values):
    """A model of which all measures but these are 0 for each of four texts."""
    return {
        (None, name): TextValues(np.array(values.get(name, [0.0] * 4)), COUNTS) for name in (*tables.MEASURES, *values)
    }


PRIVATE_MODEL = measured(ep=[0.3, 0.1, NAN, 0.2], ep_random=[0.1, 0.1, NAN, NAN], eg=[0.9, 0.8, 1.0, 0.7])
OTHERS = {
    GENERAL: measured(eg=[1.0, 0.9, 1.0, 1.0]),
    CONTROL: measured(ep=[-0.1, 0.0, NAN, 0.1]),
    RESEEDED: measured(ep=[0.1, 0.0, NAN, 0.0]),
}


def rows_of(model=PRIVATE_MODEL, others=OTHERS, **config):
    rows = comparisons(CONFIG | config, "within", model, others)
    return {(row["against"], row["measure"]): row for row in rows}


def test_ep_against_general_is_ep_itself_as_general_differs_from_itself_by_nothing():
    row = rows_of()[GENERAL, "ep"]
    assert row["difference"] == pytest.approx(0.2)
    assert (row["df"], row["expected"], row["found"]) == (2.0, "higher", False)
    assert row["difference_low"] < 0.0 < 0.2 < row["difference_high"]


def test_the_interval_of_a_difference_is_made_as_the_settings_say():
    """Of 0.1, 0.2 and 0.3: percentiles of three values are none of what lies beyond them, Student's t is."""
    resamples = resampled_mean(np.array([0.3, 0.1, NAN, 0.2]), COUNTS).resamples
    by_percentile = rows_of(intervals=ResampleSettings(0.9, "percentile"))[GENERAL, "ep"]
    ends = (by_percentile["difference_low"], by_percentile["difference_high"])
    assert ends == pytest.approx(tuple(np.nanquantile(resamples, [0.05, 0.95])))
    assert by_percentile["found"] is True
    centred = rows_of()[GENERAL, "ep"]
    reach = student.ppf(0.95, df=2) * np.sqrt(3 / 2) * np.nanstd(resamples, ddof=1)
    assert (centred["difference_low"], centred["difference_high"]) == pytest.approx((0.2 - reach, 0.2 + reach))


def test_the_intervals_of_shares_and_of_their_differences_stay_between_their_borders():
    shares = np.array([1.0, 1.0, 1.0, 0.0])
    assert set(SCALES) == set(DIFFERENCE_SCALES) == set(tables.MEASURES)
    found = ResampleSettings().over(TextValues(shares, COUNTS).estimate, SCALES["gender_uar"])
    assert 0.0 < found.low < 0.75 < found.high < 1.0
    eg = ResampleSettings().over(TextValues(np.array([0.9, 1.0, 0.8, 0.99]), COUNTS).estimate, SCALES["eg"])
    assert eg.low < 0.9225 < eg.high <= 1.0
    other = measured(listed_share=[0.9, 1.0, 1.0, 0.9])
    row = rows_of(measured(listed_share=[0.0, 0.1, 0.0, 0.0]), OTHERS | {GENERAL: other})[GENERAL, "listed_share"]
    assert -1.0 <= row["difference_low"] < row["difference"] == pytest.approx(-0.925)


def test_tests_are_paired_by_text_and_texts_without_a_side_left_out():
    rows = rows_of()
    eg = rows[GENERAL, "eg"]
    expected = ttest_rel([0.9, 0.8, 1.0, 0.7], [1.0, 0.9, 1.0, 1.0])
    assert (eg["t"], eg["p"]) == (pytest.approx(expected.statistic), pytest.approx(expected.pvalue))
    assert rows[CONTROL, "ep"]["difference"] == pytest.approx((0.4 + 0.1 + 0.1) / 3)
    assert rows[RESEEDED, "ep"]["difference"] == pytest.approx((0.2 + 0.1 + 0.2) / 3)
    assert rows[tables.RANDOM_LISTS, "ep"]["difference"] == pytest.approx((0.2 + 0.0) / 2)
    assert rows[tables.RANDOM_LISTS, "ep"]["df"] == 1.0


def test_a_measure_without_a_value_has_a_row_that_says_so():
    row = rows_of(measured(eg=[NAN] * 4))[GENERAL, "eg"]
    assert (row["difference"], row["found"], row["status"]) == (None, None, "no_value")


def test_general_and_its_next_seed_are_compared_with_nothing_nor_others_without_general():
    assert rows_of(model=PRIVATE_MODEL, others={CONTROL: OTHERS[CONTROL]}) == {}
    for name in (GENERAL, RESEEDED):
        assert not list(comparisons(CONFIG | {"model": name}, "within", PRIVATE_MODEL, OTHERS))


def test_p_values_are_adjusted_over_the_tests_of_a_corpus_and_measure():
    rows = [
        {"corpus": corpus, "measure": measure, "p": p}
        for corpus, measure, p in [
            *(("within", "ep", 0.01), ("within", "eg", 0.04), ("within", "ep", 0.04)),
            *(("across", "ep", 0.04), ("within", "ep", None), ("within", "ep", 0.03)),
        ]
    ]
    results = adjusted(rows)
    assert [row["p_holm"] for row in results] == pytest.approx([0.03, 0.04, 0.06, 0.04, NAN, 0.06], nan_ok=True)
    by_rate = [row["p_benjamini_hochberg"] for row in results]
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
    assert ValenceLexicon().upper_ends(3) == pytest.approx((1 / 3, 2 / 3))
    assert ValenceLexicon(low=1.0, high=5.0, bins=(2.75, 3.25)).upper_ends(3) == (2.75, 3.25)
