"""Rejections, orders of systems and ratings: by hand, by the rule as it reads, and as published."""

from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.special import stdtr

from tiltmeter.operators.sentiment import complete_order, partial_order, rate
from tiltmeter.operators.sentiment.deconfounding import deconfounding_impact, largest_impact
from tiltmeter.operators.sentiment.mean_tests import Origins, mean_tests
from tiltmeter.operators.sentiment.rejection import comparable_scores, largest_score, weighted_rejections
from tiltmeter.operators.statistics.two_samples import DEFINITION, PUBLISHED, coded, moments, pairwise_tests

# --- tests of means -------------------------------------------------------------------------------------------------


def compared_means(num):
    scores, cells = np.random.default_rng(7).normal(size=num), (np.arange(num) % 3 == 0).astype(np.int64)
    [test] = mean_tests(scores, cells, 2, Origins(), seed=1, about=2)
    assert (test.kind, test.num_units, test.too_few) == ("text", num, None)
    return test.p, scores[cells == 1], scores[cells == 0]


@pytest.mark.parametrize(("num", "are_few"), [(60, True), (500, True), (501, False), (2_000, False)])
def test_of_more_units_fewer_deals_are_drawn(num, are_few):
    p, *_ = compared_means(num)
    rank = p * (10_000 if are_few else 2_000)
    assert rank == pytest.approx(round(rank))
    assert (round(10_000 * p) % 5 == 0) is not are_few, "2,000 ranks are a fifth of 10,000"


def test_beyond_two_thousand_units_the_test_is_welchs_of_their_means():
    p, *sides = compared_means(2_001)
    assert p == pytest.approx(stats.ttest_ind(*sides, equal_var=False).pvalue)


# --- rejections -----------------------------------------------------------------------------------------------


def p_values(t, df):
    return 2 * stdtr(np.array(df), -np.abs(t))


UNIBOT = [394, 411, 469]
PUBLISHED_T = {
    "GRU, users to ALLURE": ([0.1428082149098934, 3.252143528658525, 1.3250772156864308], [298, 523, 259], 2.9),
    "GRU, Unibot": ([3.520703790422274, 1.512213757124962, 5.887959438528571], UNIBOT, 5.9),
    "68 % less after Danish, as in the abstract": ([-0.741, 1.9145184187892326, 1.3803358080042363], UNIBOT, 1.9),
    "TextBlob, users to Unibot": ([-1.6930464145431832, -2.3124544180231967, -3.828187025163109], UNIBOT, 5.9),
}
"""Of AI4Society's causal-sas-rating, systems on conversations."""


@pytest.mark.parametrize(("t", "df", "score"), PUBLISHED_T.values(), ids=PUBLISHED_T)
def test_scores_of_published_t_values(t, df, score):
    assert weighted_rejections(p_values(t, df), PUBLISHED).score == score


BY_HAND = {
    "a p-value of alpha does not reject": ([0.05, 0.30, 0.40], DEFINITION, [0, 1, 2], 0, 2.0),
    "pairs without a test": ([np.nan, 0.0, np.nan], DEFINITION, [1, 1, 1], 2, 2.4),
    "nothing": ([], DEFINITION, [0, 0, 0], 0, 0.0),
    "one of three values in five data sets": ([0.0, 0.0, 1.0] * 5, DEFINITION, [10] * 3, 0, 24.0),
    "that as published": ([0.0, 0.0, 1.0] * 5, PUBLISHED, [10] * 3, 0, 23.0),
}


@pytest.mark.parametrize(("p", "convention", "by_level", "num_untested", "score"), BY_HAND.values(), ids=BY_HAND)
def test_rejections_by_hand(p, convention, by_level, num_untested, score):
    found = weighted_rejections(np.array(p), convention)
    assert (found.by_level.tolist(), found.num_untested, found.score) == (by_level, num_untested, score)


def test_replicates_are_scored_each():
    p = np.random.default_rng(0).uniform(size=(50, 15))
    p[p > 0.9] = np.nan
    together = weighted_rejections(p)
    for replicate, row in enumerate(p):
        alone = weighted_rejections(row)
        assert together.by_level[replicate].tolist() == alone.by_level.tolist()
        assert (together.num_untested[replicate], together.score[replicate]) == (alone.num_untested, alone.score)


@pytest.mark.parametrize("convention", [DEFINITION, PUBLISHED])
def test_equal_scores_tie(convention):
    # 3 x 0.8 + 3 x 0.6 is 7 x 0.6, though not in floating point.
    weights = [Fraction(str(weight)) for weight in convention.weights]
    cases = np.array(list(combinations_with_replacement(range(13), 3)))
    alphas = [0.0, *convention.alphas, 1.0]
    between = [(low + high) / 2 for low, high in pairwise(alphas)]
    p = np.array([np.repeat(between, [a, b - a, c - b, 13 - c]) for a, b, c in cases])
    scores = weighted_rejections(p, convention).score.tolist()
    exact = [sum(w * int(num) for w, num in zip(weights, case, strict=True)) for case in cases]
    assert scores == pytest.approx([float(score) for score in exact])
    assert weighted_rejections(p, convention).by_level.tolist() == cases.tolist()
    assert largest_score(12, convention.weights) == max(scores)
    assert len(set(scores)) == len(set(exact)) == len(set(zip(scores, exact, strict=True)))


def test_resamples_that_were_tested_less_have_no_score():
    p = np.array([[0.01, np.nan, 0.9], [np.nan, np.nan, 0.01], [0.9, np.nan, 0.9]])
    scores = comparable_scores(p)
    # The second pair is tested nowhere, which is no reason to drop a resample.
    assert scores[[0, 2]].tolist() == [pytest.approx(2.4), 0.0]
    assert np.isnan(scores[1])


# --- orders ----------------------------------------------------------------------------------------------------

SCORES = st.lists(st.sampled_from([0.0, 0.6, 1.8, 5.8, 23.0, np.inf, np.nan]), max_size=12)
LEVELS = st.integers(1, 6)


PRINTED = {
    "0 0 0 0.6 1.9 23": "111123", "42.85 71.43 76 83 84 128.5": "112233", "0 0 0 0 7.2 23": "111123",
    "0 0 0 0 7.5 23": "111123", "0 0 0 0 16.1 69": "111123", "28.57 45 78 80 80 105.4": "112223",
    "0 0 0 1.8 4.5 23": "111123", "11.11 33.33 83 84 128.5 400": "112233", "0 0 0 3.6 4.9 23": "111123",
    "0 0 0 4.2 4.9 23": "111123", "0 0 0 3.9 11.4 69": "111123", "0 80 80 100 105.4 160": "111223",
    "0 0 1.3 2.6 5.8 23": "111223", "28.57 77 78 116.66 122.22 128.5": "112233", "0 62.5 80 80 105.4 inf": "112223",
    "0 0 0 0 0 2.4": "111113", "0 0 0.6 2.4 2.4 2.4": "112333", "0 0 1.3 4.6 4.6 5.9": "111223",
    "0 1.3 4.6 4.6 5.9 5.9": "112233", "0 0 0 0 1.4 2.4": "111123", "0 0 0 0.6 2.4 2.4": "111233",
    "0 0 1.3 1.9 3.6 4.6": "111223", "0 0 4.6 4.6 4.6 5.9": "112223", "0 0 0 0 4.6 4.9": "111123",
    "0 0 0 2.9 4.2 4.6": "111123", "0 0 1.3 2.6 4.6 4.6": "111233", "0 0 4.6 4.6 4.6 5.89": "112223",
}  # fmt: skip
"""Raw scores and ratings of tables XIX and XX, in ascending order; the three rows of SD_S in group 3 repeat those of
SD_D. Printed under the wrong system: the 1 and a 2 of SD_S in group 1, and a 2 of HD1_S, chatbot; not printed: the 2 of
S_g in HD2_D, user. An undefined score ("X") counts as the largest."""


def by_the_rule(scores, num_levels, cut):
    """As the definition reads: the first part that holds the score."""
    known = [score for score in scores if score == score]
    parts = np.array_split(sorted(known if cut == "repeated" else set(known)), num_levels)
    return [next((level for level, part in enumerate(parts, 1) if score in part.tolist()), 0) for score in scores]


def test_ties_share_a_rank_and_the_next_one_is_left_out():
    assert partial_order(np.array([1.8, 0.0, 23.0, 0.0, np.inf])).tolist() == [3, 1, 4, 1, 5]


def test_printed_ratings_follow_from_the_distinct_raw_scores_beside_them_but_for_one_row():
    """That row has two distinct scores and rates them 1 and 3."""
    others = {
        scores: ratings
        for scores, ratings in PRINTED.items()
        if "".join(map(str, complete_order(np.array(scores.split(), dtype=float), 3))) != ratings
    }
    assert others == {"0 0 0 0 0 2.4": "111113"}


@given(SCORES, LEVELS, st.sampled_from(["distinct", "repeated"]))
def test_agrees_with_the_rule_as_it_reads(scores, num_levels, cut):
    assert complete_order(np.array(scores), num_levels, cut).tolist() == by_the_rule(scores, num_levels, cut)


@given(SCORES)
def test_ranks_count_the_systems_that_are_less_biased(scores):
    expected = [1 + sum(other < score for other in scores) if score == score else 0 for score in scores]
    assert partial_order(np.array(scores)).tolist() == expected


REFUSED = [(0, "distinct", r"num_levels=0: must be 1 or more.*rating\.num_levels")]
REFUSED += [(3, "all", r"cut='all': must be one of distinct, repeated; set rating\.cut")]


@pytest.mark.parametrize(("num_levels", "cut", "message"), REFUSED)
def test_fewer_than_one_level_and_unknown_cuts_are_refused(num_levels, cut, message):
    with pytest.raises(ValueError, match=message):
        complete_order(np.zeros(3), num_levels, cut)


# --- ratings ----------------------------------------------------------------------------------------------------

GENDERS = ["female", "female", "female", "male", "male", "male", "female", "male"]
BALANCED = ["joy", "fear", "joy", "joy", "fear", "joy", "fear", "fear"]
CONFOUNDED = ["joy", "joy", "joy", "fear", "fear", "joy", "joy", "fear"]


@pytest.fixture
def scores():
    return np.random.default_rng(1).uniform(-1, 1, size=(5, 8))


def test_rejections_are_those_of_the_tests(scores):
    genders = coded(GENDERS)
    expected = [
        weighted_rejections(pairwise_tests(moments(row, genders.codes, 2), PUBLISHED).p, PUBLISHED).score
        for row in scores
    ]
    ratings = rate(scores, GENDERS, convention=PUBLISHED, num_levels=2)
    assert ratings.measure == "wrs"
    assert ratings.raw_scores.tolist() == expected
    assert np.array_equal(ratings.ranks, partial_order(ratings.raw_scores))
    assert np.array_equal(ratings.levels, complete_order(ratings.raw_scores, 2))


def test_where_emotions_depend_on_the_attribute_it_is_the_impact(scores):
    genders, emotions = coded(GENDERS).codes, coded(CONFOUNDED).codes
    expected = [float(largest_impact([deconfounding_impact(row, emotions, genders)])) for row in scores]
    assert rate(scores, GENDERS, CONFOUNDED, design="confounded").measure == "die"
    assert rate(scores, GENDERS, CONFOUNDED, design="confounded").raw_scores.tolist() == expected
    assert rate(scores, GENDERS, CONFOUNDED, design="independent").measure == "wrs"
    assert rate(scores, GENDERS, BALANCED).measure == "wrs"
    assert rate(scores, GENDERS, BALANCED, measure="die").measure == "die"
    with pytest.raises(ValueError, match="without emotions"):
        rate(scores, GENDERS, measure="die")


def test_texts_without_a_score_are_left_out_for_that_system_alone(scores):
    scores[2, [0, 3]] = np.nan
    kept = [1, 2, 4, 5, 6, 7]
    alone = rate(scores[2:3, kept], [GENDERS[text] for text in kept])
    assert rate(scores, GENDERS).raw_scores[2] == alone.raw_scores[0]
    scores[2, :7] = np.nan
    ratings = rate(scores, GENDERS)
    assert np.isnan(ratings.raw_scores[2])
    assert ratings.ranks[2] == ratings.levels[2] == 0


def test_labels_of_other_texts_are_refused(scores):
    for labels in ((GENDERS[:3], None), (GENDERS, BALANCED[:3])):
        with pytest.raises(ValueError, match="for each text"):
            rate(scores, *labels)


def test_without_a_design_a_test_over_texts_says_whether_emotions_depend_on_the_attribute():
    """8 texts are too few for one; of 40 that depend wholly it finds it, and not of 40 that are nearly balanced."""
    scores, genders = np.random.default_rng(1).uniform(-1, 1, size=(2, 40)), ["f", "m"] * 20
    angry = ["anger", "fear", "anger", "joy", "fear", "fear", "joy", "joy"]  # the first emotion alone is of one gender
    nearly = ["joy", "joy", "fear", "fear"] * 9 + ["joy", "fear", "joy", "joy"]
    assert rate(scores[:, :8], GENDERS, CONFOUNDED).measure == "wrs"
    assert rate(scores, genders, ["joy", "fear"] * 20).measure == "die"
    assert rate(scores, genders, angry * 5).measure == "die"
    scores[1, 0] = np.nan
    assert rate(scores, genders, nearly).measure == "wrs"


@pytest.mark.parametrize(("more", "score"), [({}, 5.5), ({"decimals": 1}, 5.5), ({"alphas": (0.0, 0.0, 0.1)}, 0.5)])
def test_a_convention_of_ones_own_is_that_of_the_tests(more, score):
    """Scores 0.12 and 0.13 do not vary: t is infinite. They are taken as they are."""
    own = DEFINITION._replace(weights=(3.0, 2.0, 0.5), **more)
    assert rate([[0.12, 0.12, 0.13, 0.13]], ["f", "f", "m", "m"], convention=own).raw_scores.tolist() == [score]
