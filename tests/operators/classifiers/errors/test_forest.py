"""What is made of errors: a forest, splits over groups, baselines, a model of words, rankings, rounds, promises."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import t as student

from tiltmeter.operators.classifiers.errors.forest import (
    IMPORTANCE,
    ForestConfig,
    correlated_parts,
    folds_of_others,
    forest_without,
    permutation_importance,
    train_forest,
)
from tiltmeter.operators.classifiers.errors.guarantees import (
    flagged,
    holds_most_errors,
    leaves_few_errors,
    most_unflagged,
)
from tiltmeter.operators.classifiers.errors.ranking import at_prevalence, aurc, auroc, first_weights, risk_coverage
from tiltmeter.operators.classifiers.errors.rounds import STRATEGIES, Domain, RoundsConfig, play
from tiltmeter.operators.classifiers.errors.splits import balanced_rows, draws_of_mean, folds_of, is_tested, mean_of
from tiltmeter.operators.classifiers.errors.trees import reasons, trees_of
from tiltmeter.operators.classifiers.errors.uncertainty import checked_probabilities, class_rates, rated
from tiltmeter.operators.classifiers.errors.word_model import disagreement, out_of_fold_probabilities, train_word_model
from tiltmeter.operators.compute.generators import keyed_generator
from tiltmeter.operators.compute.philox import Stream
from tiltmeter.operators.statistics.differences import paired_difference
from tiltmeter.operators.statistics.intervals import FISHER, LOGIT
from tiltmeter.operators.statistics.units import each, units_of

SMALL = ForestConfig(num_trees=30, leaf_sizes=(1, 5), num_folds=3, num_search_trees=10)


@pytest.fixture(scope="module")
def wrong():
    """Features of which the first tells errors, the second repeats it, and the third is noise."""
    rng = np.random.default_rng(0)
    first = rng.random(400)
    features = np.stack([first, 2 * first + 0.01 * rng.random(400), rng.random(400)], axis=1)
    return features, rng.random(400) < 0.9 * first, [str(row // 2) for row in range(400)]


@pytest.fixture(scope="module")
def forest(wrong):
    return train_forest(*(part[:300] for part in wrong), SMALL, seed=3)


@pytest.mark.long
def test_a_forest_tells_errors_of_texts_that_it_has_not_seen_and_needs_errors_and_others(wrong, forest):
    features, errors, groups = wrong
    assert auroc(forest.scores(features[300:]), errors[300:]) > 0.7
    assert forest.leaf_size in SMALL.leaf_sizes
    known = features[:300], errors[:300], groups[:300], SMALL
    again, *others = (train_forest(*known, seed, about) for seed, about in ((3, 0), (4, 0), (3, 1)))
    assert (again.scores(features) == forest.scores(features)).all()
    assert all((other.scores(features) != forest.scores(features)).any() for other in others)
    with pytest.raises(ValueError, match="0 of 400 texts are errors: a forest needs both kinds"):
        train_forest(features, np.zeros(400, dtype=bool), groups, SMALL, seed=3)


def test_features_that_stand_in_for_each_other_are_shuffled_together(wrong, forest):
    features, errors, _ = wrong
    parts = correlated_parts(features, ["first", "again", "noise"])
    assert parts == {"first": [0, 1], "noise": [2]}
    falls = permutation_importance(forest, features[300:], errors[300:], parts | {"alone": [0]}, seed=3, num_repeats=30)
    assert falls["first"].shape == (30,)
    assert falls["first"].mean() > max(0.15, falls["alone"].mean() + 0.04)
    assert abs(falls["noise"].mean()) < 0.1
    assert (trees_of(forest.model).judged(features)[0] == forest.scores(features)).all()
    shuffled = features[300:].copy()
    first = keyed_generator(3, Stream.ERROR_CHARACTERISATION, IMPORTANCE, 0).permutation(100)
    shuffled[:, :2] = features[300:][first][:, :2]
    before, after = (auroc(forest.scores(part), errors[300:]) for part in (features[300:], shuffled))
    [fall] = permutation_importance(forest, features[300:], errors[300:], {"first": parts["first"]}, seed=3)["first"]
    assert fall == before - after


@pytest.mark.long
def test_scores_of_a_fold_come_from_the_others(wrong):
    features, errors, groups = wrong
    parts = [forest_without(features, errors, groups, SMALL, seed=3, fold=fold) for fold in range(3)]
    assert sorted(np.concatenate([rows for rows, _ in parts]).tolist()) == list(range(400))
    assert {groups[row] for row in parts[0][0]}.isdisjoint({groups[row] for row in parts[1][0]})


@given(st.lists(st.sampled_from("abcdefgh"), min_size=12, max_size=40).filter(lambda names: len(set(names)) >= 3))
def test_no_group_is_in_two_parts(groups):
    folds, tested = folds_of(groups, 3, seed=1, about=2), is_tested(groups, 0.3, seed=1, about=2)
    for name in set(groups):
        rows = [row for row, group in enumerate(groups) if group == name]
        assert len({(folds[row], tested[row]) for row in rows}) == 1
    assert set(folds) == {0, 1, 2}
    assert 0 < len({name for name, out in zip(groups, tested, strict=True) if out}) < len(set(groups))
    with pytest.raises(ValueError, match="2 groups of texts: must be at least 3"):
        folds_of(["a", "b"], 3, seed=3, about=0)


def test_balance_takes_as_many_of_both_kinds():
    errors = np.arange(100) < 30
    rows = balanced_rows(errors, seed=3, about=1)
    assert (errors[rows].sum(), len(rows)) == (30, 60)
    assert rows.tolist() != balanced_rows(errors, seed=3, about=2).tolist()
    assert (~errors[balanced_rows(~errors, seed=3, about=1)]).sum() == 30
    assert rows.tolist() != balanced_rows(errors, seed=4, about=1).tolist()
    names = [str(row) for row in range(100)]
    for drawn in (lambda *key: folds_of(names, 3, *key), lambda *key: is_tested(names, 0.3, *key)):
        assert len({drawn(*key).tobytes() for key in ((3, 1), (4, 1), (3, 2))}) == 3


def test_texts_without_a_label_are_in_the_fold_of_their_group(wrong):
    _, _, groups = wrong
    folds = dict(zip(groups, folds_of(groups, 3, seed=3, about=IMPORTANCE).tolist(), strict=True))
    others = [*(str(row) for row in range(100)), *(f"new {row}" for row in range(300))]
    found = folds_of_others(groups, others, 3, seed=3)
    assert found[:100].tolist() == [folds[group] for group in others[:100]]
    assert np.bincount(found[100:], minlength=3).min() > 60


def test_trees_as_arrays_say_what_the_forest_says_and_why(wrong, forest):
    features = wrong[0]
    trees = trees_of(forest.model)
    scores, added = trees.judged(features)
    assert scores == pytest.approx(forest.scores(features), abs=1e-12)
    roots = trees.share[trees.starts].mean()
    assert roots + added.sum(axis=1) == pytest.approx(scores)
    # The first two columns say the same, and the third is noise.
    assert np.abs(added[:, :2]).sum(axis=1).mean() > 2 * np.abs(added[:, 2]).mean()
    assert reasons(["first", "again", "noise"], features, added)[scores.argmax()][0].split()[0] in ("first", "again")


def share_of(values, test_share, units):
    return mean_of(np.array(values), test_share, units, 0.95, LOGIT, is_share=True)


def difference_of(values, test_share, units):
    return mean_of(np.array(values), test_share, units, 0.95, FISHER, is_share=False)


def test_the_mean_of_splits_by_hand():
    """The score interval, with the variance of Nadeau and Bengio; the band has (1 + 1 / J) s^2 of logits."""
    result = share_of([0.6, 0.8], 0.25, 1000.0)
    weight = 12.7062**2 * 0.02 * (1 / 2 + 1 / 3) / 0.21  # t of one degree of freedom
    middle, half = 0.7 + weight / 2, np.sqrt(weight * 0.21 + weight**2 / 4)
    expected = [(middle - half) / (1 + weight), (middle + half) / (1 + weight)]
    assert (result.low, result.high) == pytest.approx(expected, rel=1e-4)
    logits = np.log([0.6 / 0.4, 0.8 / 0.2])
    reach = 12.7062 * logits.std(ddof=1) * np.sqrt(1.5)
    band = [1 / (1 + np.exp(-(np.log(0.7 / 0.3) + side * reach))) for side in (-1, 1)]
    assert (result.band_low, result.band_high) == pytest.approx(band, rel=1e-4)
    assert np.isnan(share_of([0.6], 0.5, 10.0).low)


def test_splits_that_agree_or_nearly_do_are_as_sure_as_there_are_units():
    few, many = (share_of([0.99, 1.0, 1.0, 1.0, 1.0], 0.2, units) for units in (20.0, 2000.0))
    assert few.low < many.low < 0.998 < many.high < few.high < 1.0
    few, many = (share_of([1.0] * 5, 0.2, units) for units in (20.0, 2000.0))
    assert (few.mean, few.high, few.band_high) == (1.0, 1.0, 1.0)
    assert few.band_low < few.low < many.low < 1.0
    in_all = 100 * (1 - 0.8**5)
    assert few.low == pytest.approx(in_all / (in_all + student.ppf(0.975, 4) ** 2))
    level = difference_of([0.0] * 5, 0.2, 20.0)
    assert level.low < 0.0 == level.mean < level.high


def test_differences_of_what_mostly_agrees_are_as_wide_as_they_spread():
    """The variance of Nadeau and Bengio, by the score between -1 and 1; that of a share of 600 units is far larger."""
    values = np.array([0.02, 0.03, 0.04, 0.03, 0.03])
    found = difference_of(values, 0.3, 180.0)
    reach = student.ppf(0.975, 4) * np.sqrt((1 / 5 + 3 / 7) * values.var(ddof=1))
    assert (found.low, found.high) == pytest.approx((0.03 - reach, 0.03 + reach), abs=2e-4)


def test_the_band_of_splits_without_an_error_in_most_of_them_holds_none_and_few_units_have_no_band():
    band = share_of([0.05, 0.0, 0.0, 0.05, 0.0, 0.0, 0.1, 0.0], 0.2, 20.0)
    assert (band.band_low, band.band_high > 0.1) == (0.0, True)
    auroc = mean_of(np.array([0.6, 0.9, 0.8]), 0.2, 4.0, 0.95, LOGIT, is_share=False)
    assert auroc.low < auroc.mean < auroc.high
    assert np.isnan([auroc.band_low, auroc.band_high]).all()


@given(st.lists(st.floats(0, 1), min_size=2, max_size=6), st.sampled_from([0.1, 0.2, 0.5]))
def test_no_interval_of_a_share_or_of_a_difference_of_shares_leaves_its_range(values, test_share):
    share = share_of(values, test_share, 50.0)
    assert 0 <= share.low <= share.mean <= share.high <= 1
    assert 0 <= share.band_low <= share.mean <= share.band_high <= 1
    result = difference_of([2 * value - 1 for value in values], test_share, 30.0)
    assert -1 <= result.low <= result.mean <= result.high <= 1
    assert -1 <= result.band_low <= result.band_high <= 1


def test_rates_of_classes_are_those_of_training_texts():
    rates = class_rates(["a"] * 8 + ["b"] * 3, np.array([True] * 2 + [False] * 9))
    assert rates == {"a": 0.3, "b": 0.2}
    assert rated(["b", "a", "c"], rates).tolist() == [0.2, 0.3, 0.5]


def test_what_are_no_probabilities_and_no_scores_is_refused():
    with pytest.raises(ValueError, match="row 1: probabilities"):
        checked_probabilities(np.array([[0.5, 0.5], [0.5, 0.6]]))
    with pytest.raises(ValueError, match="scores hold NaN"):
        first_weights(np.array([np.nan]), 1)
    assert checked_probabilities(np.array([[0.3333, 0.3333, 0.3333]])).sum() == pytest.approx(1.0)


TEXTS = ["good flight", "lovely good crew", "late bad bag", "bad late gate"] * 5
LABELS = ["positive", "positive", "negative", "negative"] * 5


def test_words_tell_classes_and_disagree_with_what_is_wrong_and_those_of_a_fold_are_judged_by_the_others():
    model = train_word_model(TEXTS, LABELS)
    probabilities = model.probabilities(["good crew", "late bag"], ("negative", "neutral", "positive"))
    assert probabilities.argmax(axis=1).tolist() == [2, 0]
    assert probabilities[:, 1].tolist() == [0.0, 0.0]
    scores = disagreement(probabilities, ["positive", "positive"], ("negative", "neutral", "positive"))
    assert scores[0] < 0.5 < scores[1]
    groups = [str(row % 5) for row in range(20)]
    values = out_of_fold_probabilities(TEXTS, LABELS, groups, ("negative", "positive"), 4, seed=3)
    folds = folds_of(groups, 4, seed=3, about=0)
    for fold in range(4):
        others = train_word_model(*([part[row] for row in np.flatnonzero(folds != fold)] for part in (TEXTS, LABELS)))
        inside = np.flatnonzero(folds == fold)
        known = others.probabilities([TEXTS[row] for row in inside], ("negative", "positive"))
        np.testing.assert_allclose(values[inside], known)
    with pytest.raises(ValueError, match="all 2 texts are 'a'"):
        train_word_model(["x", "y"], ["a", "a"])


def test_the_draws_of_two_means_judge_their_difference_as_nadeau_and_bengio_do():
    first, second = np.array([0.70, 0.75, 0.80, 0.78, np.nan]), np.array([0.72, 0.78, 0.81, 0.80, np.nan])
    differences = (second - first)[:4]
    draws = draws_of_mean(first, 0.25), draws_of_mean(second, 0.25)
    judged = paired_difference(differences.mean(), *draws, centre="centred")
    error = ((1 / 4 + 0.25 / 0.75) * differences.var(ddof=1)) ** 0.5
    reach = student.ppf(0.975, df=3) * error
    assert (judged.low, judged.high) == pytest.approx((differences.mean() - reach, differences.mean() + reach))
    assert judged.p == pytest.approx(2 * student.sf(differences.mean() / error, df=3))
    assert np.isnan(draws_of_mean(np.array([0.5, np.nan]), 0.25)).all()
    assert np.isfinite(draws_of_mean(np.array([0.5, 0.7]), 0.25)).all()


# --- rankings: by brute force over orders ----------------------------------------------------------------------------

SCORED = st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=6)


def orders(scores):
    """All orders that the scores allow, as rows."""
    rows = range(len(scores))
    return [order for order in permutations(rows) if all(scores[a] >= scores[b] for a, b in pairwise(order))]


@given(SCORED, st.integers(1, 6))
def test_precision_is_the_mean_over_all_orders_of_equal_scores(scored, size):
    scores, errors = np.array([score for score, _ in scored]), np.array([error for _, error in scored])
    precision = first_weights(scores, size) @ errors / size
    if size <= len(scored):
        expected = np.mean([errors[list(order[:size])].mean() for order in orders(scores)])
        assert precision == pytest.approx(expected)


@pytest.mark.long
@given(SCORED)
def test_auroc_and_risk_are_those_of_pairs_and_orders(scored):
    scores, errors = np.array([score for score, _ in scored]), np.array([error for _, error in scored])
    pairs = [(a > b) + (a == b) / 2 for a in scores[errors] for b in scores[~errors]]
    assert auroc(scores, errors) == pytest.approx(np.mean(pairs) if pairs else np.nan, nan_ok=True)
    by_order = [
        [errors[list(order[::-1][: size + 1])].mean() for size in range(len(scored))] for order in orders(scores)
    ]
    assert risk_coverage(scores, errors) == pytest.approx(np.mean(by_order, axis=0))
    assert aurc(scores, errors) == pytest.approx(np.mean(by_order))


def test_precision_at_another_prevalence_by_counts():
    # Balanced: of 100 errors 80 are among the first, of 100 others 20. With 50 errors, 40 and 20.
    assert at_prevalence(80 / 100, 0.5, 50 / 150) == pytest.approx(40 / 60)
    assert at_prevalence(1.0, 0.5, 0.1) == 1.0


# --- rounds of labelling ---------------------------------------------------------------------------------------------

FOREST = ForestConfig(num_trees=10, leaf_sizes=(2,))
CONFIG = RoundsConfig(number=2, size=15, start=30, num_seeds=1, test=0.3, num_folds=2)


def domain(num, seed, shifted):
    """Texts of two classes; in the new domain, a word that the old one has never seen turns the class."""
    rng = np.random.default_rng(seed)
    turned = rng.random(num) < 0.4 if shifted else np.zeros(num, dtype=bool)
    good = rng.random(num) < 0.5
    words = [f"{'fine lovely' if is_good else 'dull awful'} flight w{rng.integers(9)}" for is_good in good]
    texts = [f"{text} {'not anymore' if turn else 'today now'}" for text, turn in zip(words, turned, strict=True)]
    labels = ["good" if is_good != turn else "bad" for is_good, turn in zip(good, turned, strict=True)]
    return Domain(texts, labels, [str(row) for row in range(num)], turned[:, np.newaxis].astype(float))


def test_strategies_have_as_many_labels_and_one_start_and_a_forest_that_sees_the_cause_finds_more_errors():
    old, new = domain(80, 0, shifted=False), domain(160, 1, shifted=True)
    played = {strategy: play(strategy, old, new, CONFIG, FOREST, seed=0) for strategy in STRATEGIES}
    for rounds in played.values():
        assert [(step.round, step.num_labels) for step in rounds] == [(0, 30), (1, 45), (2, 60)]
    assert len({rounds[0].accuracy for rounds in played.values()}) == 1
    assert np.isnan(played["errors"][0].errors_found)
    assert played["errors"][1].errors_found > played["random"][1].errors_found


def test_surely_right_texts_cost_no_label_and_too_few_texts_are_refused():
    old, new = domain(40, 2, shifted=False), domain(120, 3, shifted=True)
    config = RoundsConfig(number=1, size=10, start=20, num_seeds=1, surely_right=10, num_folds=2)
    rounds, others = (play("errors", old, new, config, FOREST, seed) for seed in (1, 2))
    assert [step.num_labels for step in rounds] == [20, 30]
    assert [step.accuracy for step in rounds] != [step.accuracy for step in others]
    with pytest.raises(ValueError, match="42 texts can be labelled: must be at least 60"):
        play("random", old, domain(60, 3, shifted=True), CONFIG, FOREST, seed=0)


# --- promises: by the definition of each test and by drawing many calibrations ---------------------------------------


def held(scores, errors, alpha, delta, joint=1, units=None):
    texts = units or each(len(scores), "text")
    return holds_most_errors(scores, errors, texts, alpha=alpha, delta=delta, joint=joint, seed=0)


def left(scores, errors, rate, delta, joint=1, units=None):
    texts = units or each(len(scores), "text")
    return leaves_few_errors(scores, errors, texts, rate=rate, delta=delta, joint=joint, seed=0)


def test_the_threshold_is_the_last_that_passes_and_promises_made_together_share_delta():
    scores = np.random.default_rng(0).random(500)
    errors = np.random.default_rng(1).random(500) < scores
    promise = held(scores, errors, alpha=0.2, delta=0.05)
    num, below = errors.sum(), (errors & (scores < promise.threshold)).sum()
    assert binom.cdf(below, num, 0.2) <= 0.05 < binom.cdf(below + 1, num, 0.2)
    assert promise.achieved_delta == pytest.approx(binom.cdf(below, num, 0.2))
    made = flagged(promise.threshold, scores, errors)
    assert (made.flags, made.missed) == ("some", below / num)
    assert made.share == (scores >= promise.threshold).mean()
    alone, together = (held(scores, errors, 0.2, 0.1, joint) for joint in (1, 5))
    assert together.achieved_delta <= 0.02 < alone.achieved_delta <= 0.1
    assert together.threshold == held(scores, errors, 0.2, 0.02).threshold < alone.threshold
    assert left(scores, errors, 0.3, 0.1, 5) == left(scores, errors, 0.3, 0.02) <= left(scores, errors, 0.3, 0.1)


def test_few_errors_promise_nothing_but_all_texts():
    scores = np.arange(10) / 10
    promise = held(scores, scores > 0.7, alpha=0.1, delta=0.1)
    assert (promise.threshold, promise.num, promise.allowed) == (-np.inf, 2, -1)
    made = flagged(promise.threshold, scores, scores > 0.7)
    assert (made.flags, made.share, made.missed) == ("all", 1.0, 0.0)
    assert np.isnan(made.unflagged_rate)
    assert left(scores, scores > 0.7, rate=0.1, delta=0.1) == -np.inf


def test_all_and_none_are_told_apart():
    scores = np.random.default_rng(0).random(2000)
    errors = np.random.default_rng(1).random(2000) < 0.02
    assert flagged(left(scores, errors, rate=0.1, delta=0.1), scores, errors).flags == "none"
    assert flagged(left(scores, errors, rate=0.001, delta=0.1), scores, errors).flags == "all"


def test_one_text_of_each_group_is_counted():
    """Thirty texts of each of 40 groups say what 40 texts do."""
    rng = np.random.default_rng(0)
    groups = units_of(np.repeat(np.arange(40), 30), "group")
    scores = np.repeat(rng.random(40), 30)
    errors = np.ones(1200, dtype=bool)
    promise = held(scores, errors, alpha=0.2, delta=0.1, units=groups)
    assert promise == held(np.unique(scores), np.ones(40, dtype=bool), alpha=0.2, delta=0.1)
    assert held(scores, errors, alpha=0.2, delta=0.1).threshold > promise.threshold
    few, mixed = rng.random(1200) < 0.01, rng.random(1200)
    settings = {"delta": 0.1, "joint": 1}
    made = [holds_most_errors(mixed, errors, groups, alpha=0.2, seed=seed, **settings).threshold for seed in (0, 1)]
    made += [leaves_few_errors(mixed, mixed > 0.7, groups, rate=0.2, seed=seed, **settings) for seed in (0, 1)]
    made += [most_unflagged(0.5, mixed, mixed < 0.2, groups, level=0.9, seed=seed) for seed in (0, 1)]
    assert len({*made}) == 6, "another seed draws other texts"
    assert left(scores, few, rate=0.05, delta=0.1) > left(scores, few, rate=0.05, delta=0.1, units=groups)
    most = most_unflagged(2.0, scores, errors & False, groups, level=0.9, seed=0)
    assert most == pytest.approx(1 - 0.1 ** (1 / 40))


@pytest.mark.parametrize("kind", ["errors", "others"])
def test_promises_are_kept_as_often_as_they_say(kind):
    rng, broken = np.random.default_rng(2), 0
    for _ in range(400):
        scores = rng.random(600)
        errors = rng.random(600) < scores**2
        if kind == "errors":  # P(score < x | error) = x^3
            broken += max(held(scores, errors, 0.15, 0.1).threshold, 0.0) ** 3 > 0.15
        else:  # P(error | score < x) = x^2 / 3
            broken += min(max(left(scores, errors, 0.1, 0.1), 0.0), 1.0) ** 2 / 3 > 0.1
    assert broken <= 400 * 0.1 + 3 * np.sqrt(400 * 0.09)
