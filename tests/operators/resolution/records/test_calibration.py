"""Calibration against other implementations, loops, hand calculations and scores of which the truth is known."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.special import expit, logit
from scipy.stats import beta, norm
from sklearn.linear_model import LogisticRegression

from tiltmeter.operators.resolution.lineage import moves
from tiltmeter.operators.resolution.records.calibration import (
    CLIP,
    Labels,
    calibrated,
    fit_calibration,
    losses,
    reliability,
)
from tiltmeter.operators.resolution.records.labelled_pairs import divided_clusters, divided_labels, training_clusters
from tiltmeter.operators.resolution.records.scorer import Scorer

D = 1.337
"""Half of the distance of matches and others in scores of sd 1, by which 17 % of what half-and-half labels call
matches are true ones where 2 % of all pairs are."""


def drawn(num_matches, num_distinct, seed):
    """Scores with too high a prior and too small a slope, labels and true probabilities where 2 % match."""
    is_match = np.arange(num_matches + num_distinct) < num_matches
    z = np.random.default_rng(seed).normal(np.where(is_match, D, -D), 1.0)
    return expit(1.2 * D * z - 1.1), is_match, expit(2 * D * z + logit(0.02))


def labels(scores, is_match, **others):
    size = scores.size
    usual = {"weights": np.ones(size), "units": np.arange(2 * size).reshape(size, 2)}
    return Labels(scores, is_match, **(usual | others))


@pytest.mark.parametrize("method", ["platt", "beta"])
def test_parameters_are_those_of_weighted_logistic_regression(method):
    scores, is_match, _ = drawn(900, 2100, 0)
    weights = np.where(is_match, 3.0, 1.0)
    columns = [logit(scores)] if method == "platt" else [np.log(scores), -np.log1p(-scores)]
    model = LogisticRegression(C=1e6, tol=1e-9, max_iter=1000).fit(np.stack(columns, 1), is_match, weights)
    fit = fit_calibration(labels(scores, is_match, weights=weights), method)
    assert fit.parameters == pytest.approx([*model.intercept_, *model.coef_[0]], abs=0.02)
    unweighted = fit_calibration(labels(scores, is_match), method)
    assert abs(unweighted.parameters[0] - fit.parameters[0]) > 0.1


def test_isotonic_steps_pool_what_falls_and_keep_off_0_and_1():
    """Of 4 x 300 labels, 0, 2/3, 1/3 and all match: the middle two are pooled to 1/2, by weights to 2/5."""
    scores = np.repeat([0.1, 0.2, 0.4, 0.8], 300)
    is_match = np.concatenate([np.arange(300) < num for num in (0, 200, 100, 300)])
    fit = fit_calibration(labels(scores, is_match), "isotonic")
    assert calibrated(np.array([0.0, 0.2, 0.3, 0.4, 0.6, 1.0]), fit) == pytest.approx(
        [CLIP, 0.5, 0.5, 0.5, 0.75, 1 - CLIP]
    )
    weights = np.where(scores == 0.4, 4.0, 1.0)
    fit = fit_calibration(labels(scores, is_match, weights=weights), "isotonic")
    assert calibrated(np.array([0.2]), fit) == pytest.approx([2 / 5])


@pytest.mark.parametrize("method", ["platt", "beta", "isotonic"])
def test_probabilities_rise_with_scores_and_are_finite_even_where_scores_tell_all(method):
    scores, _, _ = drawn(600, 600, 1)
    for is_match in (scores > 0.4, scores < 0.4, np.arange(1200) % 2 == 0):
        q = calibrated(np.linspace(0, 1, 99), fit_calibration(labels(scores, is_match, prior=0.01), method))
        assert (np.diff(q) >= 0).all()
        assert CLIP <= q.min() <= q.max() <= 1 - CLIP


def test_labels_drawn_half_and_half_need_the_shift():
    """As in the methods' simulated case: 2 % of all pairs match, and 400 of each kind are labelled."""
    all_scores, truth, right = drawn(4000, 196_000, 2)
    everything = labels(all_scores, truth)
    scores, is_match, _ = drawn(400, 400, 3)
    raw = losses(all_scores, everything)
    half, shifted = (
        losses(calibrated(all_scores, fit_calibration(labels(scores, is_match, prior=prior), "platt")), everything)
        for prior in (None, 0.02)
    )
    best = losses(right, everything)
    assert raw.ece == pytest.approx(0.075, abs=0.02)
    assert half.ece == pytest.approx(0.125, abs=0.01)
    assert shifted.ece < 0.002
    assert half.true_share == pytest.approx(0.02 * norm.cdf(D) / (0.02 * norm.cdf(D) + 0.98 * norm.cdf(-D)), abs=0.03)
    assert (half.true_share, shifted.true_share) == pytest.approx((0.17, 0.77), abs=0.05)
    assert best.log_loss <= shifted.log_loss < best.log_loss + 0.001 < raw.log_loss < half.log_loss


def test_a_prior_or_the_share_of_clusters_gives_back_what_all_pairs_have():
    """Of 1,000 pairs of each score, bands and kinds are sampled; weights and shift undo both."""
    scores = np.repeat([0.1, 0.6], [30, 50])
    is_match = np.concatenate([np.arange(30) < 10, np.arange(50) < 30])
    weights = np.where(scores == 0.1, 5.0, 1.0)
    sample = labels(scores, is_match, weights=weights, prior=0.25)
    odds = (5 * 10 + 30) / (5 * 20 + 20)
    assert sample.shift == pytest.approx(np.log((1 / 3) / odds))
    assert sample.shares[is_match].sum() == pytest.approx(0.25)
    low, high = reliability(scores, sample, kind="pair", level=0.95)
    assert [low.mean, high.mean] == pytest.approx([0.1, 0.6])
    assert low.share.value == pytest.approx(expit(logit(1 / 3) + sample.shift))
    assert high.share.value == pytest.approx(expit(logit(3 / 5) + sample.shift))
    ends = beta.ppf([0.025, 0.975], [30, 31], [21, 20])
    assert [high.share.low, high.share.high] == pytest.approx(expit(logit(ends) + sample.shift))
    assert labels(scores, is_match, kept=0.25).shift == pytest.approx(np.log(0.25))
    assert labels(scores, is_match | True, prior=0.25).shift == 0.0
    q = np.where(scores == 0.1, 0.2, 0.7)
    found = losses(q, sample)
    gaps = [
        part.sum() * (mean - one.share.value)
        for mean, one, part in zip(
            (0.2, 0.7), (low, high), (sample.shares[scores == 0.1], sample.shares[scores == 0.6]), strict=True
        )
    ]
    assert found.ece == pytest.approx(np.abs(gaps).sum())
    assert found.brier == pytest.approx(
        sum(w * (p - y) ** 2 for w, p, y in zip(sample.shares, q, is_match, strict=True))
    )
    assert found.log_loss == pytest.approx(
        -sum(w * np.log(p if y else 1 - p) for w, p, y in zip(sample.shares, q, is_match, strict=True))
    )
    assert found.true_share == pytest.approx(high.share.value)


def test_pairs_count_for_the_unit_that_more_of_them_have():
    """A hub of pairs is one of their ends, in either column; those of a hub are all matches, or none is."""
    hubs, others = np.arange(400) % 20, np.arange(400) + 100
    scores, is_match = np.random.default_rng(4).random(400), hubs % 2 == 0
    apart = reliability(scores, labels(scores, is_match), kind="c", level=0.95)
    for units in ([hubs, others], [others, hubs]):
        near = labels(scores, is_match, units=np.stack(units, axis=1))
        for one, other in zip(apart, reliability(scores, near, kind="c", level=0.95), strict=True):
            assert (one.num_pairs, one.share.num_units, one.share.value) == (40, 40, other.share.value)
            assert other.share.num_units <= 20
            assert other.share.high - other.share.low > 1.2 * (one.share.high - one.share.low)


@pytest.mark.parametrize(("matches", "method"), [(0, "platt"), (50, "beta"), (20, "isotonic")])
def test_labels_that_do_not_suffice_are_refused(matches, method):
    with pytest.raises(
        ValueError, match=f"records.calibration={method}: {matches} of 50 labelled pairs that calibrate"
    ):
        fit_calibration(labels(np.linspace(0, 1, 50), np.arange(50) < matches), method)


CONFIG = Scorer(fields={"name": {"kind": "string"}}, blocking=[{"name": 1}], train_share=0.4, calibration="platt")


def test_clusters_that_learn_calibrate_and_judge_are_not_the_same():
    gold = pl.DataFrame({"record": range(90), "cluster": [number // 3 for number in range(90)]})
    parts = divided_clusters(gold, CONFIG, 1)
    counts = dict(parts.unique("cluster")["part"].value_counts().iter_rows())
    assert counts == {"training": 12, "calibration": 8, "judging": 10}
    assert parts.n_unique(["cluster", "part"]) == 30
    without = Scorer(**{**vars(CONFIG), "calibration": None})
    assert training_clusters(gold, without, 1).equals(training_clusters(gold, CONFIG, 1))
    assert {*divided_clusters(gold, without, 1)["part"]} == {"training", "judging"}


def test_labelled_pairs_that_share_records_are_for_the_same():
    ends = [(f"r{3 * number}", f"r{3 * number + place}") for number in range(20) for place in (1, 2)]
    parts = divided_labels(pl.DataFrame(ends, ["left", "right"], orient="row"), CONFIG, 2)
    part = dict(zip(parts["record"], parts["part"], strict=True))
    assert all(part[left] == part[right] for left, right in ends)
    assert [*parts["part"].value_counts().sort("part")["count"]] == [15, 21, 24]


def test_what_moves_between_two_partitions_is_counted_pair_by_pair():
    rng = np.random.default_rng(5)
    before, after = (np.unique(rng.integers(0, 8, 30), return_inverse=True)[1] for _ in range(2))
    pairs = [(before[i] == before[j], after[i] == after[j]) for i, j in combinations(range(30), 2)]
    both, moved = sum(one and other for one, other in pairs), sum(one != other for one, other in pairs)
    found = moves(before, after)
    assert found.num_pairs_moved == moved
    assert found.f1 == pytest.approx(2 * both / sum(int(one) + int(other) for one, other in pairs))
    assert found.num_splits == sum(len({*after[before == one]}) > 1 for one in {*before})
    assert found.num_merges == sum(len({*before[after == one]}) > 1 for one in {*after})
    assert np.isnan(moves(np.arange(3), np.arange(3)).f1)
