"""Words against posteriors: distances, the law of total expectation, enumeration, and groups."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from sklearn.decomposition import PCA

from tiltmeter.operators.sentiment.posterior import cues
from tiltmeter.operators.sentiment.posterior.distances import Means, identity, mean_distances
from tiltmeter.operators.sentiment.posterior.groups import (
    group_difference,
    least_p,
    lemma_units,
    lexicon_agreement,
    resampled_agreement,
    resampled_difference,
    unit_means,
    without_frequency,
)
from tiltmeter.operators.sentiment.posterior.networks import Network, scores
from tiltmeter.operators.sentiment.posterior.plane import principal_plane
from tiltmeter.operators.sentiment.posterior.priors import of_bags, of_words, share_beyond, standard
from tiltmeter.operators.sentiment.posterior.seeds import largest_z, spread
from tiltmeter.operators.sentiment.posterior.words import context_scores, word_posterior
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import influenced, mean
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import each, kish, units_of


def network(inputs=5, hidden=4, seed=0):
    rng = np.random.default_rng(seed)
    shapes = ((inputs, hidden), (hidden, 1))
    return Network(tuple(rng.normal(size=shape) for shape in shapes), (rng.normal(size=hidden), rng.normal(size=1)))


def test_mean_distances_are_those_of_each_pair():
    rng = np.random.default_rng(0)
    draws, words = rng.normal(size=(2, 300, 5)), rng.normal(size=(4, 5))
    flat = draws.reshape(-1, 5)
    cosines = (flat @ words.T) / np.linalg.norm(flat, axis=1)[:, None] / np.linalg.norm(words, axis=1)
    assert mean_distances(draws, words).mean == pytest.approx((np.arccos(cosines) / np.pi).mean(axis=0), abs=1e-12)
    half = mean_distances(draws, words, "half_cosine")
    assert half.mean == pytest.approx(((1 - cosines) / 2).mean(axis=0), abs=1e-12)


def test_errors_of_distances_are_how_far_means_are_from_each_other():
    """Of chains that depend on what they were before, too."""
    words, means, errors = np.eye(3), [], []
    for seed in range(300):
        rng = np.random.default_rng(seed)
        steps = rng.normal(size=(1, 2000, 3))
        for place in range(1, 2000):
            steps[:, place] = 0.5 * steps[:, place - 1] + steps[:, place]
        measured = mean_distances(steps, words)
        means.append(measured.mean)
        errors.append(measured.standard_error)
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.12)


def test_the_error_of_the_identity_has_all_its_parts():
    positive, negative, prior = (
        Means(np.array([mean]), np.array([se])) for mean, se in ((0.4, 0.03), (0.7, 0.02), (0.5, 0.01))
    )
    held = identity(positive, negative, prior, 0.8, 0.1)
    assert held.gap[0] == pytest.approx(0.8 * 0.4 + 0.2 * 0.7 - 0.5)
    assert held.standard_error[0] ** 2 == pytest.approx(0.024**2 + 0.004**2 + 0.01**2 + 0.03**2)


@pytest.mark.parametrize("power", [1.0, 3.0])
def test_the_posterior_of_words_is_bayes_rule(power):
    """By enumeration of p(y | s)^power, and where probabilities are 1 as far as digits go."""
    classifier, words, counts = network(), np.random.default_rng(0).normal(size=(6, 5)), np.arange(1, 7)
    posterior = word_posterior(classifier, words, counts, power)
    likelihood = 1 / (1 + np.exp(-scores(classifier, words)))
    positive, negative = likelihood**power * counts / 21, (1 - likelihood) ** power * counts / 21
    assert posterior.evidence == pytest.approx(positive.sum())
    assert posterior.counter_evidence == pytest.approx(negative.sum())
    assert posterior.positive == pytest.approx(positive / positive.sum())
    assert posterior.log_odds == pytest.approx(np.log((positive / positive.sum()) / (negative / negative.sum())))
    sure = Network((np.array([[100.0]]),), (np.zeros(1),))
    assert np.isfinite(word_posterior(sure, np.array([[1.0], [2.0]]), np.ones(2), power).log_odds).all()


def test_a_word_in_context_takes_the_place_of_one():
    classifier, rng = network(), np.random.default_rng(1)
    words, text = rng.normal(size=(3, 5)), rng.normal(size=5)
    replaced = [scores(classifier, ((9 * text + word) / 10)[np.newaxis])[0] for word in words]
    expected = np.array(replaced) - scores(classifier, text[np.newaxis])[0]
    assert context_scores(classifier, words, text, 10) == pytest.approx(expected)


def test_the_plane_of_a_picture_is_that_of_principal_components():
    vectors = np.random.default_rng(3).normal(size=(40, 6)) @ np.diag([5.0, 4.0, 3.0, 2.0, 1.0, 0.5]) + 7.0
    plane = principal_plane(vectors)
    axes = PCA(2).fit(vectors).components_
    assert np.allclose(np.abs((plane.axes * axes).sum(axis=1)), 1.0)
    assert (plane.axes[np.arange(2), np.abs(plane.axes).argmax(axis=1)] > 0).all()
    assert np.allclose(plane.places(vectors).mean(axis=0), 0.0)
    assert np.allclose(plane.places(vectors + 1.0) - plane.places(vectors), plane.axes.sum(axis=1))


def test_classifiers_that_differ_have_a_spread_and_one_has_none():
    assert spread(np.array([[1.0, 2.0], [2.0, 2.0], [6.0, np.nan]]))[0] == pytest.approx(7.0**0.5)
    assert np.isnan(spread(np.array([[1.0], [np.nan]]))).all()
    assert np.isnan(spread(np.array([[1.0, 2.0]]))).all()
    assert largest_z(np.array([[0.1], [-0.4]]), np.array([[0.1], [0.1]]))[0] == pytest.approx(4.0)


def test_moments_of_words_are_those_of_their_occurrences():
    rng = np.random.default_rng(0)
    words, counts, texts = rng.normal(size=(40, 3)), rng.integers(1, 9, 40), rng.normal(size=(100, 3)) / 5
    occurrences, prior, bag = np.repeat(words, counts, axis=0), of_words(words, counts), of_bags(words, counts, texts)
    assert prior.mean == pytest.approx(occurrences.mean(axis=0))
    assert prior.factor @ prior.factor.T == pytest.approx(np.cov(occurrences.T, bias=True), abs=1e-7)
    assert np.trace(bag.factor @ bag.factor.T) == pytest.approx(texts.var(axis=0).sum(), rel=1e-6)


def test_texts_are_within_their_support_and_a_sphere_is_not():
    texts = np.random.default_rng(0).normal(size=(2000, 10)) * 0.1 + 2.0
    assert share_beyond(texts, texts) == pytest.approx(0.001, abs=0.0005)
    assert share_beyond(standard(10).draws(np.random.default_rng(1), 500), texts) == 1.0


# --- groups -----------------------------------------------------------------------------------------------------------


def test_p_of_groups_is_that_of_all_deals():
    first, second = np.array([1.0, 2.5, 3.0, 2.2]), np.array([0.2, 0.9, 1.1, 2.0, 1.4])
    every = np.concatenate([first, second])
    t = [
        abs(stats.ttest_ind(every[list(rows)], np.delete(every, list(rows)), equal_var=False).statistic)
        for rows in combinations(range(9), 4)
    ]
    row, welch = group_difference(first, second, level=0.8), stats.ttest_ind(first, second, equal_var=False)
    assert row.p == pytest.approx(np.mean(np.array(t) >= abs(welch.statistic) - 1e-12))
    assert (row.value, row.low, row.high) == pytest.approx(
        (first.mean() - second.mean(), *welch.confidence_interval(0.8))
    )


KEYS = ((0, 0), (1, 0), (0, 1))


@pytest.mark.parametrize(("first", "second"), [(4, 4), (4, 5), (12, 13)])
def test_the_least_p_of_groups_is_that_of_groups_that_lie_apart(first, second):
    found = group_difference(np.arange(first) / 9, 50 + np.arange(second) / 7)
    assert found.p == pytest.approx(least_p(first, second))
    near = [group_difference(np.arange(12.0) / 9, np.arange(13.0) / 7, seed=seed, about=about) for seed, about in KEYS]
    assert len({row.p for row in near}) == 3


def test_words_without_a_value_are_left_out_of_groups():
    row = group_difference(np.array([1.0, np.nan, 2.0, 3.0, 1.5]), np.array([0.0, 1.0, 0.5, 0.2]))
    assert (row.num_units, row.too_few) == (8, None)
    few = group_difference(np.array([1.0, np.nan, 2.0, 3.0]), np.array([0.0, 1.0, 0.5, 0.2]))
    assert np.isnan([few.p, few.low]).all()
    assert few.value == pytest.approx(2.0 - 0.425)
    assert few.too_few is not None
    assert (few.too_few.have, few.too_few.need) == (3, 4)


def test_forms_of_a_lemma_are_one_unit():
    words = ["girl", "girls", "aunt", "women", "woman"]
    units = lemma_units(words, {"women": "woman"})
    assert units.codes.tolist() == [0, 0, 1, 2, 2]
    assert lemma_units(words, {}).num == 4
    assert unit_means(np.array([1.0, 3.0, np.nan, 4.0, 8.0]), units) == pytest.approx([2.0, np.nan, 6.0], nan_ok=True)


def test_the_interval_of_a_lexicon_goes_by_lemmas_and_by_what_each_word_adds_to_the_correlation():
    """Every word twice: the correlation stays, and so does its interval where the two are forms of one."""
    rng = np.random.default_rng(0)
    is_positive = np.arange(60) % 3 == 0
    for shift in (1, 4):
        values = rng.normal(size=60) + shift * is_positive
        once = lexicon_agreement(values, is_positive, each(60, "word"), 0.8)
        units = units_of(np.tile(np.arange(60), 2), "lemma")
        twice = lexicon_agreement(np.tile(values, 2), np.tile(is_positive, 2), units, 0.8)
        assert (twice.pearson, twice.low, twice.high) == pytest.approx((once.pearson, once.low, once.high))

        def transformed(weights, values=values):
            covariance = np.cov(values, is_positive, aweights=weights, bias=True)
            return np.arctanh(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))

        influence = [60 * (transformed(1 + 1e-6 * row) - transformed(np.ones(60))) / 1e-6 for row in np.eye(60)]
        known = influenced(transformed(np.ones(60)), np.array(influence), each(60, "word"), level=0.8)
        assert np.arctanh([once.low, once.high]) == pytest.approx([known.low, known.high], rel=1e-4)


@given(st.lists(st.booleans(), min_size=5, max_size=30), st.integers(0, 2**32 - 1))
def test_agreement_with_a_lexicon_turns_with_its_sign(sides, seed):
    is_positive = np.array([True, False, *sides])
    values = np.random.default_rng(seed).normal(size=len(is_positive))
    units = each(len(values), "word")
    one, other = (lexicon_agreement(sign * values, is_positive, units) for sign in (1, -1))
    assert one.pearson == pytest.approx(-other.pearson)
    assert one.auc == pytest.approx(1 - other.auc)
    assert one.low <= one.pearson <= one.high or abs(one.pearson) > 0.999999


def test_frequency_is_taken_out():
    rng = np.random.default_rng(0)
    counts = rng.integers(1, 10_000, 300).astype(float)
    noise = rng.normal(size=300)
    left = without_frequency(3 + 2 * np.log(counts) - np.log(counts) ** 2 + noise, counts)
    assert abs(np.corrcoef(left, np.log(counts))[0, 1]) < 1e-6
    assert np.corrcoef(left, noise)[0, 1] > 0.98


# --- cues -------------------------------------------------------------------------------------------------------------


def test_texts_flip_where_the_score_is_zero():
    linear, rng = Network((np.array([[1.0], [0.5]]),), (np.array([0.1]),)), np.random.default_rng(0)
    texts, first, second = rng.normal(size=(20, 2)), np.array([-2.0, 1.0]), np.array([3.0, 0.0])
    response = cues.cue_responses(linear, texts, np.full(20, 4), first, second)
    mixtures = (1 - response.flips)[:, None] * first + response.flips[:, None] * second
    assert scores(linear, (4 * texts + mixtures) / 5) == pytest.approx(np.zeros(20), abs=1e-9)


def test_classifiers_with_the_same_texts_near_their_borders_are_no_further_texts():
    """Whatever is drawn of five that agree is drawn of one, five times."""
    one = np.random.default_rng(0).normal(size=(40, 1))
    alone, together = (
        np.concatenate(list(cues.resampled_flips(flips, np.random.default_rng(1), 120)))
        for flips in (one, np.repeat(one, 5, axis=1))
    )
    assert together.shape == (120, 200)
    assert (np.sort(together, axis=1)[:, ::5] == np.sort(alone, axis=1)).all()


def responding(steps, flips, texts=None):
    """Of one classifier, texts whose verdict changes at some mixture, after a step of some sign."""
    steps, flips = np.asarray(steps, dtype=float), np.asarray(flips, dtype=float)
    first = np.where(steps > 0, flips > 0, flips < 0)
    return cues.CueResponses(flips, steps, first, np.where(steps > 0, flips > 1, flips < 1))


def test_texts_that_move_the_other_way_have_no_part_in_the_middle():
    one = responding([1.0] * 39 + [-1.0], [0.3] * 39 + [0.9])
    other = responding([1.0] * 40, [0.7] * 40)
    assert (one.towards_first, other.towards_first) == (0.975, 1.0)
    first, second = cues.one_way([one, other])
    assert np.isnan(first[-1])
    assert np.isfinite(first[:-1]).all()
    assert np.isfinite(second).all()
    backwards = [response._replace(steps=-response.steps) for response in (one, other)]
    assert np.isnan(cues.one_way(backwards)[0][-1])


@pytest.mark.parametrize("shares", [(0.975, 0.295, 0.0), (1.0, 0.0), (0.94, 0.99)])
def test_classifiers_that_move_texts_to_different_sides_have_no_common_middle(shares):
    responses = [responding(np.where(np.arange(200) < share * 200, 1.0, -1.0), np.full(200, 0.4)) for share in shares]
    assert cues.one_way(responses) is None


def test_the_effect_is_over_texts_and_classifiers():
    rng = np.random.default_rng(0)
    responses = [responding(np.ones(60 - at), rng.normal(0.2 + 0.6 * at, 1.0, 60 - at)) for at in range(3)]
    rows = [np.arange(60 - at) for at in range(3)]
    moves = [response.first.astype(float) - response.second for response in responses]
    for num in (3, 1):
        found = cues.effect(responses[:num], rows[:num], 0.8)
        shares = np.array([part.mean() for part in moves[:num]])
        units = units_of(np.concatenate(rows[:num]), "text")
        known = mean(np.concatenate(moves[:num]), units, level=0.8, scale=FISHER, seeds=shares)
        assert found == known
        assert found.num_units == 60
    whole = cues.effect([responding(np.ones(9), np.full(9, 0.4))], [np.arange(9)], 0.95)
    assert (whole.value, whole.p) == (1.0, 2**-8)


def test_the_interval_of_the_middle_is_that_of_the_share_of_flips_below_it():
    rng = np.random.default_rng(1)
    alike = rng.normal(0.5, 0.3, (80, 1)) + rng.normal(0, 0.01, (80, 3))
    alike[:20, 1] = alike[60:, 2] = alike[7] = np.nan
    for flips in (alike, alike + np.array([-0.3, 0.0, 0.4]), alike[:, :1]):
        texts, columns = np.nonzero(np.isfinite(flips))
        values, found = flips[texts, columns], cues.middle(flips, 0.8)
        below = (values <= found.value).astype(float)
        shares = np.array([below[columns == at].mean() for at in range(flips.shape[1])])
        known = mean(below, units_of(texts, "text"), level=0.8, scale=LOGIT, seeds=shares)
        quantiles = np.quantile(values, [0.5, known.low, known.high], method="inverted_cdf")
        assert [found.value, found.low, found.high] == pytest.approx(quantiles)
    few = cues.middle(alike[:3, :1], 0.95)
    assert np.isnan([few.low, few.high]).all()
    assert few.too_few is not None


def test_texts_near_the_border_are_of_both_sides():
    linear = Network((np.array([[1.0]]),), (np.zeros(1),))
    texts = np.array([[0.1], [5.0], [-0.2], [0.3], [-7.0], [-0.4]])
    assert cues.border_texts(linear, texts, 4).tolist() == [0, 2, 3, 5]


# --- resamples of words ---------------------------------------------------------------------------------------------


def spread_out(draws, num):
    """As far from their mean as those of so many units are."""
    return np.mean(draws) + np.sqrt(num / (num - 1)) * (np.array(draws) - np.mean(draws))


@pytest.mark.parametrize("units", [each(12, "word"), units_of(np.arange(12) % 8, "lemma")])
def test_correlations_of_resamples_are_those_of_the_words_drawn(units):
    values, is_positive = np.random.default_rng(0).normal(size=12), np.arange(12) % 3 == 0
    [drawn] = resampled_counts(np.zeros(units.num, int), seed=0, about=1, num_replicates=30)
    counts = np.vstack([drawn[:, units.codes], np.where(is_positive, 4, 0)])
    brute = [
        np.corrcoef(np.repeat(values, row), np.repeat(is_positive.astype(float), row))[0, 1] for row in counts[:-1]
    ]
    made = resampled_agreement(values, is_positive, counts, units)
    assert np.isnan(made[-1])
    assert made[:-1] == pytest.approx(spread_out(brute, kish(units.sizes)), abs=1e-9)


def test_differences_of_resamples_are_those_of_the_words_drawn():
    rng = np.random.default_rng(2)
    groups = rng.normal(size=8), 3.0 + 2.0 * rng.normal(size=15)
    [counts] = resampled_counts(np.repeat([0, 1], [8, 15]), seed=0, about=1, num_replicates=30)
    one, other = (
        spread_out([np.repeat(group, row).mean() for row in drawn], len(group))
        for group, drawn in zip(groups, np.split(counts, [8], axis=1), strict=True)
    )
    assert resampled_difference(*groups, counts) == pytest.approx(one - other)
