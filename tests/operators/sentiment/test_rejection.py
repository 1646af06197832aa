from fractions import Fraction
from itertools import combinations_with_replacement, pairwise

import numpy as np
import pytest
from scipy.special import stdtr

from tiltmeter.operators.sentiment.rejection import comparable_scores, largest_score, weighted_rejections
from tiltmeter.operators.statistics.two_samples import DEFINITION, PUBLISHED


def p_values(t, df):
    return 2 * stdtr(np.array(df), -np.abs(t))


def test_a_p_value_of_alpha_does_not_reject() -> None:
    assert weighted_rejections(np.array([0.05, 0.30, 0.40])).by_level.tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("t", "df", "score"),
    [
        # AI4Society's causal-sas-rating, the GRU on conversations: what users say to ALLURE, ...
        ([0.1428082149098934, 3.252143528658525, 1.3250772156864308], [298, 523, 259], 2.9),
        # ... what the chatbot of Unibot says, ...
        ([3.520703790422274, 1.512213757124962, 5.887959438528571], [394, 411, 469], 5.9),
        # ... and that after the round trip through Danish: 68 % less, as the paper's abstract has it.
        ([-0.741, 1.9145184187892326, 1.3803358080042363], [394, 411, 469], 1.9),
        # TextBlob on what users say to Unibot.
        ([-1.6930464145431832, -2.3124544180231967, -3.828187025163109], [394, 411, 469], 5.9),
    ],
)
def test_scores_of_published_t_values(t, df, score) -> None:
    assert weighted_rejections(p_values(t, df), PUBLISHED).score == score


def test_a_system_biased_for_one_of_three_values_in_five_data_sets() -> None:
    # Two of the three pairs of each data set differ, the third does not.
    p = np.tile([0.0, 0.0, 1.0], 5)
    assert weighted_rejections(p, PUBLISHED).score == 23.0
    assert weighted_rejections(p, DEFINITION).score == 24.0


def test_pairs_without_a_test_are_counted_apart() -> None:
    found = weighted_rejections(np.array([np.nan, 0.0, np.nan]))
    assert found.by_level.tolist() == [1, 1, 1]
    assert found.num_untested == 2
    assert weighted_rejections(np.array([])).score == 0


def test_replicates_are_scored_each() -> None:
    p = np.random.default_rng(0).uniform(size=(50, 15))
    p[p > 0.9] = np.nan
    together = weighted_rejections(p)
    for replicate, row in enumerate(p):
        alone = weighted_rejections(row)
        assert together.by_level[replicate].tolist() == alone.by_level.tolist()
        assert (together.num_untested[replicate], together.score[replicate]) == (alone.num_untested, alone.score)


@pytest.mark.parametrize("convention", [DEFINITION, PUBLISHED])
def test_equal_scores_tie(convention) -> None:
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


def test_resamples_that_were_tested_less_have_no_score() -> None:
    p = np.array([[0.01, np.nan, 0.9], [np.nan, np.nan, 0.01], [0.9, np.nan, 0.9]])
    scores = comparable_scores(p)
    # The second pair is tested nowhere, which is no reason to drop a resample.
    assert scores[[0, 2]].tolist() == [pytest.approx(2.4), 0.0]
    assert np.isnan(scores[1])
