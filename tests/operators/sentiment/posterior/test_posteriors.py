"""The classifier of vectors, and words against posteriors: distances, enumeration, groups and cues."""

import dataclasses
from itertools import combinations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.signal import lfilter
from sklearn.decomposition import PCA

from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.sentiment.posterior import cues, training
from tiltmeter.operators.sentiment.posterior.distances import mean_distances
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
from tiltmeter.operators.sentiment.posterior.made_up import NEGATIVE, POSITIVE, reviews
from tiltmeter.operators.sentiment.posterior.networks import Network, network_of, scores
from tiltmeter.operators.sentiment.posterior.plane import principal_plane
from tiltmeter.operators.sentiment.posterior.samplers.nuts import _score
from tiltmeter.operators.sentiment.posterior.seeds import largest_z, spread
from tiltmeter.operators.sentiment.posterior.training import (
    ClassifierConfig,
    area,
    cooled,
    temperature,
    trained,
)
from tiltmeter.operators.sentiment.posterior.words import word_posterior
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.means import influenced, mean
from tiltmeter.operators.statistics.resampling import resampled_counts
from tiltmeter.operators.statistics.units import each, kish, units_of


@pytest.fixture(scope="module")
def linear():
    """Labels by a known score, vectors far from standardised."""
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(2000, 4)) * [1, 5, 0.1, 2] + [3, -10, 0, 1]
    logits = (vectors - [3, -10, 0, 1]) @ [1.5, 0.2, -5, 0.5]
    return vectors, rng.random(2000) < 1 / (1 + np.exp(-logits)), logits


@pytest.mark.parametrize("hidden", [(), (8,)])
def test_a_known_score_is_learnt(linear, hidden):
    vectors, is_positive, logits = linear
    network = trained(vectors, is_positive, ClassifierConfig(hidden=hidden, learning_rate=0.02), 0, 0)
    assert np.corrcoef(scores(network, vectors), logits)[0, 1] > 0.97


@pytest.mark.parametrize("fixed", ["keyed_generator", "torch_random"])
def test_the_parts_and_the_start_of_a_training_follow_its_seed_and_number(linear, monkeypatch, fixed):
    """Each of both by itself, where the other is the same for all."""
    made = getattr(training, fixed)
    monkeypatch.setattr(training, fixed, lambda *_: made(0, Stream.CLASSIFIER_TRAINING, 0, 0))
    config = ClassifierConfig(hidden=(3,), max_epochs=2)
    one, same, *others = (trained(*linear[:2], config, *of).weights[0] for of in ((0, 1), (0, 1), (0, 2), (1, 1)))
    assert (one == same).all()
    assert all((one != other).any() for other in others)
    assert (others[0] != others[1]).any()


@pytest.mark.parametrize("activation", ["softplus", "relu"])
def test_scores_are_those_of_torch_and_nuts_has_the_same(activation):
    rng = np.random.default_rng(0)
    (first, last), (offset, bias) = parts = [
        [rng.normal(size=size) for size in of] for of in (((5, 4), (4, 1)), (4, 1))
    ]
    vectors, inner = rng.normal(size=(20, 5)), getattr(torch.nn.functional, activation)
    expected = inner(torch.from_numpy(vectors @ first + offset)).numpy() @ last[:, 0] + bias
    assert scores(Network(*parts, activation), vectors) == pytest.approx(expected)
    assert [float(_score(vector, *parts, activation)) for vector in vectors] == pytest.approx(expected, abs=1e-5)


def test_one_label_and_layers_that_do_not_follow_each_other_are_refused(linear):
    message = r"2000 texts to learn, all with the same label .* set data\.path .*classifier\.folds"
    with pytest.raises(ValueError, match=message):
        trained(linear[0], np.ones(2000, dtype=bool), ClassifierConfig(), 0, 0)
    with pytest.raises(ValueError, match="layers that follow each other"):
        network_of({"weights_0": np.ones((4, 3)), "biases_0": np.ones(3)}, "relu")
    with pytest.raises(ValueError, match="no biases_0"):
        network_of({"weights_0": np.ones((4, 1))}, "relu")


def test_temperature_is_what_logits_were_multiplied_by_and_cooling_divides_by_it(linear):
    vectors, is_positive, logits = linear
    assert temperature(3 * logits, is_positive) == pytest.approx(3, rel=0.1)
    network = trained(vectors, is_positive, ClassifierConfig(hidden=(3,), max_epochs=1, development=0.999), 0, 0)
    assert np.isfinite(scores(network, np.eye(4))).all(), "something is left to learn"
    assert scores(cooled(network, 2.5), vectors) == pytest.approx(scores(network, vectors) / 2.5)
    assert area(np.ones(4), np.array([True, True, False, False])) == 0.5


def test_made_up_words_speak_for_a_label_as_they_were_made_to():
    words = {"positive": [], "negative": []}
    for text in reviews(2000, 20, seed=0):
        words[text.label] += text.text.split()
    for chosen, odds in ((POSITIVE, 4), (NEGATIVE, 1 / 4)):
        positive, negative = (sum(word in {*chosen} for word in words[label]) for label in ("positive", "negative"))
        assert np.log(positive / negative) == pytest.approx(np.log(odds), abs=0.1)


@pytest.mark.long
def test_noise_is_not_learnt_by_heart():
    """The part that tells when to stop has other texts than the rest, and the weights are those before it got worse."""
    rng = np.random.default_rng(1)
    vectors, labels = rng.normal(size=(120, 20)), rng.random(120) < 0.6
    config = ClassifierConfig((30,), learning_rate=0.02, batch=20, max_epochs=60, patience=60, development=0.4)
    networks = [trained(vectors, labels, config, 0, number) for number in range(3)]
    assert max(np.abs(scores(network, vectors)).mean() for network in networks) < 2  # and 7 of what is learnt by heart


OTHERS = {"learning_rate": 0.01, "weight_decay": 9.0, "batch": 20, "max_epochs": 3, "development": 0.5}


@pytest.mark.parametrize(("name", "value"), [*OTHERS.items(), ("activation", "relu")])
def test_every_setting_of_a_training_changes_it(linear, name, value):
    vectors, is_positive = linear[0][:200], linear[1][:200]
    usual = ClassifierConfig(hidden=(3,), max_epochs=2)
    other = dataclasses.replace(usual, **{name: value})
    one, another = (trained(vectors, is_positive, config, 0, 0) for config in (usual, other))
    assert np.abs(scores(one, vectors) - scores(another, vectors)).max() > 1e-4


# --- words -----------------------------------------------------------------------------------------------------------


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


@pytest.mark.long
def test_errors_of_distances_are_how_far_means_are_from_each_other():
    """Of chains that depend on what they were before, too."""
    chains = lfilter([1.0], [1.0, -0.5], np.random.default_rng(0).normal(size=(300, 2000, 3)), axis=1)
    found = [mean_distances(chain[np.newaxis], np.eye(3)) for chain in chains]
    errors, means = ([getattr(measured, name) for measured in found] for name in ("standard_error", "mean"))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.12)


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
    for alone in ([[1.0], [np.nan]], [[1.0, 2.0]]):
        assert np.isnan(spread(np.array(alone))).all()
    assert largest_z(np.array([[0.1], [-0.4]]), np.array([[0.1], [0.1]]))[0] == pytest.approx(4.0)


# --- groups -----------------------------------------------------------------------------------------------------------


def test_p_of_groups_is_that_of_all_deals():
    first, second = np.array([1.0, 2.5, 3.0, 2.2]), np.array([0.2, 0.9, 1.1, 2.0, 1.4])
    every = np.concatenate([first, second])
    deals = [(every[list(rows)], np.delete(every, list(rows))) for rows in combinations(range(9), 4)]
    t = np.array([stats.ttest_ind(*deal, equal_var=False).statistic for deal in deals])
    row, welch = group_difference(first, second, level=0.8), stats.ttest_ind(first, second, equal_var=False)
    assert row.p == pytest.approx(np.mean(np.abs(t) >= abs(welch.statistic) - 1e-12))
    expected = first.mean() - second.mean(), *welch.confidence_interval(0.8)
    assert (row.value, row.low, row.high) == pytest.approx(expected)


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


@pytest.mark.long
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


def responding(steps, flips):
    """Of one classifier, texts whose verdict changes at some mixture, after a step of some sign."""
    steps, flips = np.asarray(steps, dtype=float), np.asarray(flips, dtype=float)
    first = np.where(steps > 0, flips > 0, flips < 0)
    return cues.CueResponses(flips, steps, first, np.where(steps > 0, flips > 1, flips < 1))


def test_texts_that_move_the_other_way_have_no_part_in_the_middle():
    one, other = responding([1.0] * 39 + [-1.0], [0.3] * 39 + [0.9]), responding([1.0] * 40, [0.7] * 40)
    assert (one.towards_first, other.towards_first) == (0.975, 1.0)
    backwards = [response._replace(steps=-response.steps) for response in (one, other)]
    for responses in ([one, other], backwards):
        first, second = cues.one_way(responses)
        assert np.isfinite(first).tolist() == [True] * 39 + [False]
        assert np.isfinite(second).all()


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
    words = [(np.repeat(values, row), np.repeat(is_positive.astype(float), row)) for row in counts[:-1]]
    made = resampled_agreement(values, is_positive, counts, units)
    assert np.isnan(made[-1])
    expected = spread_out([np.corrcoef(*pair)[0, 1] for pair in words], kish(units.sizes))
    assert made[:-1] == pytest.approx(expected, abs=1e-9)


def test_differences_of_resamples_are_those_of_the_words_drawn():
    rng = np.random.default_rng(2)
    groups = rng.normal(size=8), 3.0 + 2.0 * rng.normal(size=15)
    [counts] = resampled_counts(np.repeat([0, 1], [8, 15]), seed=0, about=1, num_replicates=30)
    one, other = (
        spread_out([np.repeat(group, row).mean() for row in drawn], len(group))
        for group, drawn in zip(groups, np.split(counts, [8], axis=1), strict=True)
    )
    assert resampled_difference(*groups, counts) == pytest.approx(one - other)
