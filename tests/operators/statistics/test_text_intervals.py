"""Intervals over resamples of texts: the formulas by hand, borders, infinite numbers, and what they cover."""

from typing import get_args

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.compute.keys import cluster_keys, text_keys
from tiltmeter.operators.statistics.intervals import (
    FISHER,
    HOLDS_ITS_ESTIMATE,
    LINEAR,
    LOGIT,
    Method,
    bootstrap_interval,
    empirical_interval,
    percentile_interval,
)
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts, resampled_mean
from tiltmeter.operators.statistics.text_intervals import (
    KeyedResampleSettings,
    ResampleSettings,
    between,
    cut,
    resampled_interval,
    score_interval,
)


def drawn(values, num_resamples=400, num_texts=None):
    """The mean of texts with its resamples."""
    values = np.asarray(values, float)
    counts = np.concatenate(list(resampled_counts(np.zeros(len(values), int), 0, 1, num_resamples)))
    return resampled_mean(values, counts, num_texts)


def test_the_spread_is_that_of_the_resamples_for_so_many_texts():
    estimate = Estimate(2.0, np.array([1.0, 2.0, 3.0, np.nan]), 10)
    reach = scipy.stats.t(df=9).ppf(0.975) * np.sqrt(10 / 9)
    assert resampled_interval(estimate)[:2] == pytest.approx((2 - reach, 2 + reach))
    moved = estimate._replace(value=2.5)
    assert resampled_interval(moved)[:2] == pytest.approx((2.5 - reach, 2.5 + reach))
    assert resampled_interval(moved, method="averaged")[:2] == pytest.approx((2 - reach, 2 + reach))
    many = scipy.stats.t(df=2).ppf(0.975)
    assert resampled_interval(moved._replace(num_texts=None))[:2] == pytest.approx((2.5 - many, 2.5 + many))


def test_the_interval_of_a_share_is_that_of_the_score_test():
    num = 60
    moved = drawn(np.repeat([1.0, 0.0], [45, 15]))._replace(value=0.8)
    # Of m texts that would spread as these, s^2 = u (1 - u) / m.
    for method, share in (("centred", 0.8), ("averaged", moved.resamples.mean())):
        effective = share * (1 - share) / (moved.resamples.var(ddof=1) * num / (num - 1))
        for end in resampled_interval(moved, 0.95, method, LOGIT)[:2]:
            expected = scipy.stats.t(df=num - 1).ppf(0.975) ** 2 * end * (1 - end) / effective
            assert (share - end) ** 2 == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_where_all_texts_agree_on_a_border_their_number_says_how_sure_that_is(value):
    low, high, _ = resampled_interval(drawn(np.full(50, value)), scale=LOGIT)
    weight = scipy.stats.t(df=49).ppf(0.975) ** 2 / 50
    assert (low, high) == pytest.approx((1 / (1 + weight), 1.0) if value else (0.0, weight / (1 + weight)))
    few = resampled_interval(drawn(np.full(50, value), num_texts=10.0), scale=LOGIT)
    assert few.high - few.low > high - low
    exact = percentile_interval(np.full(50, value))
    assert resampled_interval(drawn(np.full(50, value)), 0.95, "percentile", LOGIT)[:2] == exact[:2] == (value, value)


def test_texts_that_agree_between_the_borders_leave_room_for_others_on_them():
    way = scipy.stats.t(df=8).ppf(0.975) ** 2
    way /= 9 + way
    low, high, _ = resampled_interval(drawn(np.full(9, 0.25)), scale=LOGIT)
    assert (low, high) == pytest.approx((0.25 - 0.25 * way, 0.25 + 0.75 * way))
    assert resampled_interval(drawn(np.zeros(9)), scale=FISHER)[:2] == pytest.approx((-way, way))


def test_a_scale_between_other_borders_is_that_of_shares_in_other_units():
    share, steps = drawn([0.0, 0.5, 0.25, 1.0, 0.0]), drawn([1.0, 11.0, 6.0, 21.0, 1.0])
    for method in get_args(Method):
        ends = [
            np.array(resampled_interval(number, 0.9, method, scale)[:2])
            for number, scale in ((share, LOGIT), (steps, between(1.0, 21.0)))
        ]
        np.testing.assert_allclose(1.0 + 20.0 * ends[0], ends[1])


def test_numbers_that_are_no_means_are_cut_at_their_border():
    estimate = Estimate(0.5, np.array([0.0, 0.5, 2.0, 4.0]))
    plain = bootstrap_interval(0.5, estimate.resamples, 0.95, "centred")
    assert plain.low < 0 < plain.high
    assert resampled_interval(estimate, scale=cut(0.0, np.inf))[:2] == (0.0, plain.high)
    assert resampled_interval(estimate, scale=cut(0.0, 3.0))[:2] == (0.0, 3.0)


@pytest.mark.parametrize("method", ["reflected", "bias_corrected", "percentile"])
def test_the_other_methods_are_those_over_replicas(method):
    estimate = drawn([0.1, 0.7, 0.4, 0.9, 0.3])
    expected = bootstrap_interval(estimate.value, estimate.resamples, 0.8, method, LOGIT)
    assert resampled_interval(estimate, 0.8, method, LOGIT) == expected


INF = np.inf
RESAMPLES = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, INF, INF])


def test_an_end_is_infinite_where_more_resamples_are_than_it_leaves_out():
    finite = resampled_interval(Estimate(4.0, RESAMPLES[:8]), 0.5)
    assert resampled_interval(Estimate(4.0, RESAMPLES), 0.9)[1] == INF
    # Two of ten are infinite, and an interval of 50 % leaves out a quarter on either side.
    assert resampled_interval(Estimate(4.0, RESAMPLES), 0.5)[:2] == finite[:2]
    assert resampled_interval(Estimate(4.0, RESAMPLES), 0.9, "percentile") == empirical_interval(RESAMPLES, 0.9)
    assert resampled_interval(Estimate(-4.0, -RESAMPLES), 0.9)[0] == -INF


def test_an_infinite_number_has_the_percentiles_of_its_resamples_and_itself():
    low, high, num = resampled_interval(Estimate(INF, RESAMPLES[:9]), 0.5)
    assert (low, high, num) == (3.0, INF, 9)
    assert resampled_interval(Estimate(INF, RESAMPLES[:8]), 0.5)[:2] == (2.0, INF)
    assert resampled_interval(Estimate(INF, np.full(5, INF)))[:2] == (INF, INF)


@pytest.mark.parametrize("method", get_args(Method))
@pytest.mark.parametrize("scale", [LINEAR, LOGIT])
def test_nothing_is_said_of_one_text_or_of_none(method, scale):
    numbers = [(1.0, np.ones(20), 1), (np.nan, np.full(20, np.nan), 0), (1.0, np.ones(1))]
    assert np.isnan([resampled_interval(Estimate(*one), 0.95, method, scale)[:2] for one in numbers]).all()


@pytest.mark.long
@pytest.mark.parametrize("method", sorted(HOLDS_ITS_ESTIMATE))
@given(
    st.lists(st.sampled_from([0.0, 1e-12, 0.3, 1.0]) | st.floats(0, 1), min_size=2, max_size=12),
    st.sampled_from([LINEAR, LOGIT, FISHER, between(-3.0, 3.0), cut(0.0, 1.0)]),
    st.floats(0.01, 0.99),
)
def test_an_interval_over_resamples_holds_its_mean_and_stays_in_range(method, values, scale, level):
    estimate = drawn(values, 40)
    low, high, _ = resampled_interval(estimate, level, method, scale)
    assert scale.low <= low <= estimate.value <= high <= scale.high


def test_arrays_have_the_interval_of_each_number():
    rows = [drawn(values) for values in ([0.0, 1.0, 1.0, 1.0], [0.2, 0.4, 0.4, 0.9], [1.0, 1.0, 1.0, 1.0])]
    together = Estimate(np.array([row.value for row in rows]), np.stack([row.resamples for row in rows]), 4)
    found = resampled_interval(together, 0.9, scale=LOGIT)
    for row, low, high in zip(rows, found.low, found.high, strict=True):
        assert resampled_interval(row, 0.9, scale=LOGIT)[:2] == (low, high)


def test_settings_name_the_default_and_what_there_is():
    assert ResampleSettings().interval == "centred"
    estimate = drawn([0.0, 1.0, 1.0, 0.5])
    assert ResampleSettings(0.8, "percentile").over(estimate) == percentile_interval(estimate.resamples, 0.8)
    assert ResampleSettings(0.8).over(estimate, LOGIT) == resampled_interval(estimate, 0.8, scale=LOGIT)
    texts, clusters = ["a", "b", "c"], np.array([0, 1, 1])
    keyed, placed = (KeyedResampleSettings(keyed_by=keyed_by) for keyed_by in ("text", "place"))
    assert keyed.keys(texts).tolist() == text_keys(texts).tolist()
    assert keyed.cluster_keys(texts, clusters).tolist() == cluster_keys(texts, clusters).tolist()
    assert (placed.keys(texts), placed.cluster_keys(texts, clusters)) == (None, None)
    for settings in ({"interval": "student"}, {"level": 1.0}, {"num_resamples": 1}):
        with pytest.raises(ValueError, match=next(iter(settings))):
            ResampleSettings(**settings)


# --- what they cover ------------------------------------------------------------------------------------------------

PUBLISHED = {  # percent of intervals, centred and percentile, in docs/how_sure.md
    (15, 0.5): (96, 91),
    (15, 0.9): (98, 77),
    (15, 0.97): (93, 35),
    (50, 0.5): (95, 95),
    (50, 0.9): (96, 95),
    (50, 0.97): (95, 76),
    (300, 0.5): (95, 95),
    (300, 0.9): (94, 95),
    (300, 0.97): (94, 93),
}


@pytest.mark.parametrize(("num_texts", "share"), PUBLISHED)
def test_intervals_of_shares_hold_what_the_docs_say(num_texts, share):
    """How many hold a share of which binomial samples, and their resamples, are drawn."""
    rng = np.random.default_rng(5)
    values = rng.binomial(num_texts, share, 2000) / num_texts
    drawn = Estimate(values, rng.binomial(num_texts, values[:, np.newaxis], (2000, 400)) / num_texts, num_texts)
    for method, percent in zip(("centred", "percentile"), PUBLISHED[num_texts, share], strict=True):
        low, high, _ = resampled_interval(drawn, 0.95, method, LOGIT)
        held = ((low <= share + 1e-9) & (share - 1e-9 <= high)).mean()
        assert 100 * held == pytest.approx(percent, abs=1.5), method


# --- a variance that is known -----------------------------------------------------------------------------------------


@given(st.floats(0.02, 0.98), st.integers(3, 500), st.sampled_from([0.8, 0.95]), st.sampled_from([None, 2.0, 9.0]))
def test_the_score_of_a_known_variance_is_wilsons_interval(share, num, level, df):
    low, high = score_interval(share, share * (1 - share) / num, num, level, LOGIT, df)
    t = scipy.stats.t.ppf((1 + level) / 2, df or num - 1)
    for end in (low, high):
        assert abs(end - share) == pytest.approx(t * np.sqrt(end * (1 - end) / num), rel=1e-6)


def test_the_score_of_a_difference_lies_between_its_borders():
    shares = score_interval(0.6, 0.01, 30, 0.95, LOGIT)
    # a mean between -1 and 1 is twice a share less 1, and its variance four times as large
    assert score_interval(0.2, 0.04, 30, 0.95, FISHER) == pytest.approx([2 * end - 1 for end in shares])
    assert score_interval(0.99, 0.5, 9, 0.95, FISHER)[1] <= 1.0
