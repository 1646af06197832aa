"""Means, shares, ratios and F1 of items in units: by hand, by other programs, and p-values by signs of units."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import norm

from tiltmeter.operators.statistics import means
from tiltmeter.operators.statistics.flips import flip_p, flips
from tiltmeter.operators.statistics.intervals import FISHER, LINEAR, LOGIT
from tiltmeter.operators.statistics.items.paired_items import paired_items
from tiltmeter.operators.statistics.means import Counts, paired
from tiltmeter.operators.statistics.shares import clopper_pearson
from tiltmeter.operators.statistics.text_intervals import score_interval
from tiltmeter.operators.statistics.units import Units, each, kish, units_of

SPEAKERS = units_of(np.repeat(np.arange(6), [1, 2, 3, 4, 2, 3]), "speaker")


def test_items_that_are_units_have_students_interval():
    values = np.array([0.3, 1.2, -0.4, 0.8, 2.0])
    found = means.mean(values, each(5, "text"), level=0.9)
    expected = stats.ttest_1samp(values, 0.0)
    assert (found.value, found.df) == (pytest.approx(values.mean()), 4.0)
    assert [found.low, found.high] == pytest.approx(list(expected.confidence_interval(0.9)))
    wide = np.concatenate([values - 0.5] * 3)
    assert means.mean(wide, each(15, "text"), level=0.9).p == pytest.approx(stats.ttest_1samp(wide, 0.0).pvalue)


def test_values_that_are_missing_are_left_out_with_their_units():
    values = np.array([1.0, np.nan, 3.0, 2.0, np.nan, 5.0])
    found = means.mean(values, each(6, "text"), level=0.95)
    assert found == means.mean(values[[0, 2, 3, 5]], each(4, "text"), level=0.95)


def test_too_few_units_have_a_reason_and_no_interval():
    found = means.mean(np.arange(30.0), units_of(np.arange(30) // 10, "speaker"), level=0.95)
    assert found.value == 14.5
    assert np.isnan([found.low, found.high, found.p]).all()
    assert (found.status, found.too_few.need) == ("too_few_units", 4)
    assert "3 of the unit" in found.reason


def test_units_that_agree_have_neither_width_nor_p_of_0():
    same = means.mean(np.ones(12), each(12, "text"), level=0.95)
    assert np.isnan([same.low, same.high, same.p]).all()
    bounded = means.mean(np.ones(12), each(12, "text"), level=0.95, scale=LOGIT)
    t = stats.t.ppf(0.975, 11)
    assert (bounded.low, bounded.high) == (pytest.approx(12 / (12 + t**2)), 1.0)
    grouped = means.mean(np.ones(60), units_of(np.arange(60) // 5, "speaker"), level=0.95, scale=LOGIT)
    assert grouped.low == pytest.approx(bounded.low)


def test_paired_p_is_by_signs_of_units():
    first, second = np.ones(15), np.zeros(15)
    assert means.paired(first, second, SPEAKERS, level=0.95, scale=FISHER).p == 2.0**-5
    assert means.paired(first, second, each(15, "text"), level=0.95, scale=FISHER).p == 2.0**-14
    assert means.paired(second, first, SPEAKERS, level=0.95, scale=FISHER).value == -1.0
    mixed = np.arange(15) % 4 / 3
    bounded = means.paired(mixed, second, SPEAKERS, level=0.8, scale=FISHER)
    assert bounded[:6] == means.mean(mixed, SPEAKERS, level=0.8, scale=FISHER)[:6]


def test_seeds_add_their_spread():
    values = np.array([0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 0.0, 1.0])
    fixed, drawn = (
        means.mean(values, each(8, "text"), level=0.95, seeds=seeds) for seeds in (None, np.array([0.5, 0.7, 0.675]))
    )
    training = np.var([0.5, 0.7, 0.675], ddof=1) / 3
    assert drawn.variance == pytest.approx(fixed.variance + training)
    assert drawn.df == pytest.approx(drawn.variance**2 / (fixed.variance**2 / 7 + training**2 / 2))
    assert means.mean(values, each(8, "text"), level=0.95, seeds=np.array([0.5])) == fixed


@given(st.integers(0, 30), st.integers(1, 30))
def test_a_share_of_independent_things_is_clopper_and_pearsons(hits, others):
    num = hits + others
    found = means.share(np.arange(num) < hits, each(num, "text"), level=0.95)
    if num >= 2:
        exact = clopper_pearson(hits, num)
        assert [found.low, found.high] == pytest.approx([float(exact.low), float(exact.high)], abs=1e-9)


def test_a_share_of_clusters_that_agree_is_one_of_clusters():
    hits = np.repeat([True, False] * 6, 10)
    found = means.share(hits, units_of(np.repeat(np.arange(12), 10), "speaker"), level=0.95)
    num = 120 / ((119 * found.variance) / 0.25) * (stats.t.ppf(0.975, 119) / stats.t.ppf(0.975, 11)) ** 2
    assert found.low == pytest.approx(stats.beta.ppf(0.025, num / 2, num / 2 + 1))
    assert num < 12


def test_few_units_with_a_hit_count_as_units():
    hits = np.zeros(200, dtype=bool)
    hits[:40:10] = True
    speakers = units_of(np.arange(200) // 10, "speaker")
    few = means.share(hits, speakers, level=0.95)
    expected = stats.beta.ppf([0.025, 0.975], [0.4, 1.4], [20.6, 19.6])
    assert [few.low, few.high] == pytest.approx(expected)
    none = means.share(np.zeros(200, dtype=bool), speakers, level=0.95)
    assert (none.low, none.high) == (0.0, pytest.approx(1 - 0.025 ** (1 / 20)))
    assert means.share_of_counts(np.array([4, 3]), np.array([5, 0]), level=0.95, kind="speaker").status != "ok"


def _by_hand(value, influence, weights, seeds=(), level=0.8):
    """Interval, variance and degrees of freedom of a number of speakers by the influences of items, and its p."""
    in_unit = [np.flatnonzero(SPEAKERS.codes == code) for code in range(SPEAKERS.num)]
    sums, sizes = (np.array([part[items].sum() for items in in_unit]) for part in (influence, weights))
    variance = (sums**2 / (1 - sizes / sizes.sum())).sum() / influence.size**2
    df = sizes.sum() ** 2 / (sizes**2).sum() - 1
    for trainings in seeds:
        more = np.var(trainings, ddof=1) / len(trainings)
        df = (variance + more) ** 2 / (variance**2 / df + more**2 / (len(trainings) - 1))
        variance += more
    reach = stats.t.ppf((1 + level) / 2, df) * variance**0.5
    p = 2 * stats.t.sf(abs(value) / variance**0.5, df)
    return [value, value - reach, value + reach, variance, df, SPEAKERS.num, max(p, 2.0**-5)]


def test_ratios_weigh_speakers_by_what_they_divide_and_seeds_add_their_spread():
    rng = np.random.default_rng(4)
    above, below, seeds = rng.poisson(4, 15) + 0.0, rng.poisson(3, 15) + 1.0, np.array([1.1, 1.4, 1.0])
    value = above.sum() / below.sum()
    influence = 15 * (above - value * below) / below.sum()
    found = means.ratio(above, below, SPEAKERS, level=0.8, seeds=seeds)
    assert [*found[:6], max(found.p, 2.0**-5)] == pytest.approx(_by_hand(value, influence, below, [seeds]))
    assert found[:5] != pytest.approx(means.ratio(above, below, SPEAKERS, level=0.8)[:5])


def test_shares_of_things_that_items_stand_for():
    hits, sizes = np.array([1, 0, 4, 2, 0, 5, 1, 3, 2, 0, 1, 2, 6, 1, 0]), np.arange(15) % 4 + 6
    found = means.share(hits, SPEAKERS, level=0.8, sizes=sizes)
    by_unit = [[part[SPEAKERS.codes == code].sum() for code in range(6)] for part in (hits, sizes)]
    assert found == means.share_of_counts(*map(np.array, by_unit), level=0.8, kind="speaker")
    assert found.value == pytest.approx(hits.sum() / sizes.sum())


def _sentences(seed, num, recall, precision):
    rng = np.random.default_rng(seed)
    gold = 1 + rng.poisson(2, num)
    hits = rng.binomial(gold, recall)
    return Counts(hits, hits + rng.poisson(gold * recall * (1 / precision - 1)), gold)


def _trained(num_seeds, start, recall):
    """Counts of models that were trained again, on texts whose numbers of pairs are unlike."""
    parts = [_sentences(1, 15, recall + 0.07 * seed, 0.6) for seed in range(start, start + num_seeds)]
    return Counts(*(np.stack(part) for part in zip(*parts, strict=True)))


def _f1_parts(counts):
    """F1 of each training; influences and weights of texts, averaged over these."""
    sums = counts.predicted + counts.gold
    values = 2 * counts.hits.sum(axis=1) / sums.sum(axis=1)
    influence = 15 * (2 * counts.hits - values[:, np.newaxis] * sums) / sums.sum(axis=1, keepdims=True)
    return values, influence.mean(axis=0), sums.mean(axis=0)


def test_f1_weighs_units_by_their_pairs_and_holds_its_trainings():
    counts = _trained(3, 0, 0.5)
    values, influence, weights = _f1_parts(counts)
    _, _, _, variance, df, *_ = _by_hand(values.mean(), influence, weights, [values])
    found = means.f1(counts, SPEAKERS, level=0.8, least=6)
    assert [found.value, found.variance, found.df] == pytest.approx([values.mean(), variance, df])
    sizes = np.bincount(SPEAKERS.codes, weights)
    effective = sizes.sum() ** 2 / (sizes**2).sum()
    ends = score_interval(found.value, variance, effective, 0.8, LOGIT, df)
    assert [found.low, found.high] == pytest.approx(list(ends))
    lacking = means.f1(counts, SPEAKERS, level=0.8, least=7)
    assert (lacking.status, lacking.too_few.have, lacking.too_few.need) == ("too_few_units", 6, 7)


def test_f1_differences_hold_both_sides_trainings():
    first, second = _trained(3, 2, 0.5), _trained(2, 0, 0.3)
    (one, u_one, w_one), (other, u_other, w_other) = _f1_parts(first), _f1_parts(second)
    found = means.f1_difference(first, second, SPEAKERS, level=0.8, least=6)
    expected = _by_hand(one.mean() - other.mean(), u_one - u_other, w_one + w_other, [one, other])
    assert [*found[:6], max(found.p, 2.0**-5)] == pytest.approx(expected)
    lacking = means.f1_difference(first, second, SPEAKERS, level=0.95, least=7)
    assert (lacking.status, lacking.too_few.need) == ("too_few_units", 7)


def test_a_sample_of_speakers_is_in_two_phases():
    """The student's errors count for what was not judged, the teacher's spread for what was."""
    rng = np.random.default_rng(6)
    student, rows = rng.normal(1.0, 1.0, 60), np.sort(rng.choice(60, 15, replace=False))
    codes = np.full(60, 6)
    codes[rows] = SPEAKERS.codes
    units = units_of(codes, "speaker")
    truth = 0.8 * student[rows] + rng.normal(0.3, 0.5, 15)
    f, y = (np.bincount(SPEAKERS.codes, part - part.mean()) for part in (student[rows], truth))
    weight = np.clip(f @ y / (f @ f), 0, 1)
    rest = truth - weight * student[rows]
    value = weight * student.mean() + rest.mean()
    residual, whole = (_by_hand(0, part - part.mean(), np.ones(15)) for part in (rest, truth))
    variance = 0.75 * residual[3] + 0.25 * whole[3]
    found = means.judged_sample(student, rows, truth, units, level=0.8)
    reach = stats.t.ppf(0.9, residual[4]) * variance**0.5
    assert 0 < weight < 1
    assert found[:5] == pytest.approx((value, value - reach, value + reach, variance, residual[4]))


def test_a_sample_that_is_all_is_a_pair_of_words():
    teacher = np.array([1, 1, 0, 1, 1, -1, 1, 1, 1, 0, 1, 0, 1, 1, 1])
    student = np.zeros(15)
    whole = means.judged_sample(student, np.arange(15), teacher, SPEAKERS, level=0.95, scale=FISHER)
    assert whole == means.paired(teacher, student, SPEAKERS, level=0.95, scale=FISHER)


def test_a_sample_with_few_units_that_differ_has_no_p():
    student, truth = np.zeros(300), np.zeros(100)
    truth[:3] = 1.0
    found = means.judged_sample(student, np.arange(100), truth, each(300, "sentence"), level=0.95, scale=FISHER)
    assert np.isnan(found.p)
    assert (found.too_few.have, found.too_few.need) == (3, 6)
    assert found.reason.endswith('3 of the unit "sentence that differs", and 6 are needed')
    assert found.low < found.value < found.high
    alike = means.judged_sample(
        np.ones(300), np.arange(100), np.ones(100), each(300, "sentence"), level=0.95, scale=FISHER
    )
    assert (alike.value, alike.p) == (1.0, 2.0**-99), "neither a p of 0 nor an interval of no width"
    assert 0.9 < alike.low < 1.0


def test_linear_ends_are_cut_at_borders_and_levels_are_checked():
    cut = LINEAR._replace(high=1.0)
    assert means.mean(np.array([0.0, 1.0, 1.0, 1.0]), each(4, "text"), level=0.99, scale=cut).high == 1.0
    with pytest.raises(ValueError, match="level=1"):
        means.mean(np.arange(5.0), each(5, "text"), level=1.0)


@pytest.mark.parametrize(("only", "other"), [(6, 0), (3, 3), (7, 2), (1, 9)])
def test_mcnemar_counts_all_ways_in_which_coins_could_have_fallen(only, other):
    first = np.array([1.0] * only + [0.0] * other + [1.0, 0.0])
    second = np.array([0.0] * only + [1.0] * other + [1.0, 0.0])
    found = paired_items(first, second, each(first.size, "item"))
    assert (found.first_only, found.second_only) == (only, other)
    ways = [abs(2 * sum(way) - (only + other)) for way in product((0, 1), repeat=only + other)]
    assert found.mcnemar_p == pytest.approx(np.mean([way >= abs(only - other) for way in ways]))


def test_the_difference_of_clusters_of_one_size_is_that_of_their_means():
    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(30), 5)
    first, second = rng.normal(size=(2, 150)) + np.stack([np.zeros(150), rng.normal(size=30)[clusters]])
    found = paired_items(first, second, units_of(clusters, "template"))
    means = (second - first).reshape(30, 5).mean(axis=1)
    expected = stats.ttest_1samp(means, 0.0)
    assert (found.mcnemar_p, found.first_only) == (None, None)
    assert found.difference.p == pytest.approx(expected.pvalue, abs=0.02)
    assert found.difference[1:3] == pytest.approx(tuple(expected.confidence_interval()))


@pytest.mark.parametrize(("factor", "scale"), [(1.0, FISHER), (0.5, LINEAR)])
def test_shares_lie_between_borders_and_other_scores_anywhere(factor, scale):
    first, second = factor * (np.arange(24) % 3 < 1), factor * (np.arange(24) % 8 > 0)
    templates = units_of(np.arange(24) // 3, "template")
    found = paired_items(first, second, templates, 0.8)
    assert found.difference == paired(second, first, templates, level=0.8, scale=scale)
    assert found.mcnemar_p == (found.difference.p if factor == 1.0 else None)


@pytest.mark.long
@settings(max_examples=50)
@given(st.lists(st.integers(-30, 30), min_size=1, max_size=9), st.sampled_from([1, 7]))
def test_signs_of_sums_are_enumerated(sums, parts):
    """Of whole sums, and of those that floats do not hold."""
    exact = [Fraction(value, parts) for value in sums if value]
    ways = [
        abs(sum(sign * value for sign, value in zip(signs, exact, strict=True))) >= abs(sum(exact))
        for signs in product((1, -1), repeat=len(exact))
    ]
    assert flip_p(np.array([float(value) for value in exact or [0]])) == pytest.approx(np.mean(ways))


def test_texts_of_one_speaker_flip_together():
    texts = np.ones(60)
    assert flips(texts, each(60, "text"))[0] == 2.0**-59
    assert flips(texts, units_of(np.arange(60) // 10, "speaker")) == (2.0**-5, None)
    p, too_few = flips(texts, units_of(np.arange(60) // 12, "speaker"))
    assert np.isnan(p)
    assert (too_few.have, too_few.need, too_few.kind) == (5, 6, "speaker that differs")


def test_no_p_lies_below_what_signs_can_show():
    assert flip_p(np.tile([3, 1, 7, 2], 25)) == 2.0**-99
    # By FFT, chances as small as these are rounding alone.
    assert flip_p(np.tile(np.arange(1, 101) * 100, 3)) >= 2.0**-299


def test_drawn_signs_agree_with_exact_ones():
    sums = np.random.default_rng(1).integers(-9, 12, 60)
    drawn = flip_p(sums + np.where(np.arange(60) % 2, 1e-7, -1e-7) * 3)
    assert drawn == pytest.approx(flip_p(sums), abs=0.02)
    many = np.random.default_rng(1).normal(0.02, 1.0, 5000)
    assert flip_p(many) == pytest.approx(2 * norm.sf(abs(many.sum()) / np.sqrt((many**2).sum())))


def test_items_without_a_name_are_units_of_their_own_whatever_others_are_called():
    units = units_of([None, "item", None, 0, "item", 2], "speaker")
    assert units.codes.tolist() == [0, 1, 2, 3, 1, 4]
    assert (units.num, units.kind) == (5, "speaker")


def test_a_part_keeps_who_belongs_together():
    units = units_of(["a", "b", "a", "c", "b"], "speaker")
    part = units.part(np.array([4, 0, 1]))
    assert part.codes.tolist() == [1, 0, 1]
    assert part.num == 2
    assert units.part(np.zeros(5, dtype=bool)).num == 0


def test_sums_of_several_series():
    units = units_of(np.array([7, 7, 3]), "document")
    assert units.sums(np.array([[1.0, 2.0, 4.0], [0.0, 1.0, 1.0]])).tolist() == [[4.0, 3.0], [1.0, 1.0]]
    assert units.sizes.tolist() == [1, 2]


@pytest.mark.parametrize(("sizes", "effective"), [([5, 5, 5], 3.0), ([3, 1], 1.6), ([], 0.0)])
def test_kish(sizes, effective):
    assert kish(np.array(sizes)) == pytest.approx(effective)


def test_each_says_it_aloud():
    assert each(3, "text") == Units(pytest.approx(np.arange(3)), 3, "text")
    with pytest.raises(TypeError):
        each(3)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_ends_are_those_of_scipy(level):
    hits = np.arange(21)
    shares = clopper_pearson(hits, np.full(21, 20), level)
    for count in hits:
        interval = stats.binomtest(int(count), 20).proportion_ci(level, "exact")
        assert (shares.low[count], shares.high[count]) == pytest.approx(tuple(interval))


def test_nothing_is_known_of_a_share_of_nothing():
    share = clopper_pearson(0, 0)
    assert np.isnan([share.rate, share.low, share.high]).all()


def test_a_contrast_of_items_is_welchs_and_that_of_units_with_both_is_paired():
    rng = np.random.default_rng(5)
    first, second = rng.normal(0.5, 1.0, 12), rng.normal(0.0, 2.0, 8)
    values, side = np.concatenate([first, second]), np.arange(20) < 12
    found = means.contrast(values, side, each(20, "text"), level=0.9)
    expected = stats.ttest_ind(first, second, equal_var=False)
    assert (found.value, found.p) == (pytest.approx(first.mean() - second.mean()), pytest.approx(expected.pvalue))
    assert [found.low, found.high] == pytest.approx(list(expected.confidence_interval(0.9)))
    assert found.df == pytest.approx(expected.df)
    more, templates = rng.normal(0.3, 1.0, 12), units_of(np.tile(np.arange(12), 2), "template")
    both = means.contrast(np.concatenate([first + more, first]), np.arange(24) < 12, templates, level=0.9)
    expected = stats.ttest_1samp(more, 0.0)
    assert (both.df, both.p) == (pytest.approx(11.0), pytest.approx(expected.pvalue))
    assert [both.low, both.high] == pytest.approx(list(expected.confidence_interval(0.9)))
    few = means.contrast(values, side, units_of(np.arange(20) // 6, "text"), level=0.9)
    assert np.isnan([few.low, few.high, few.p]).all()
    assert few.too_few.need == 4
