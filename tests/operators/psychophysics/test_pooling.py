import numpy as np
import pytest
from scipy.stats import t

from tiltmeter.operators.psychophysics.forced_choice import JND_PER_SD, moments
from tiltmeter.operators.psychophysics.pooling import Pooled, over_combinations, pooled

PENICILLIN = np.loadtxt(
    [
        "27 23 26 23 23 21 27 23 26 23 23 21 25 21 25 24 24 20 26 23 25 23 23 20 25 22 26 22 23 20 24 22 25 23 22 19",
        "24 20 23 21 22 19 26 22 26 24 24 21 24 21 24 22 22 20 24 21 24 23 22 19 26 23 26 24 24 21 25 22 26 24 24 20",
        "26 24 26 24 25 22 26 23 26 23 23 20 26 23 25 24 24 22 25 22 25 23 23 20 25 21 24 23 23 20 25 22 24 23 23 19",
        "24 21 23 21 21 19 26 23 26 24 24 21 25 21 24 22 22 18 25 22 25 22 22 20 24 21 24 22 24 19 24 21 24 22 21 18",
    ]
).reshape(24, 6)
"""Growth inhibition in mm of 6 samples of penicillin on 24 plates: Davies and Goldsmith 1972, *Statistical Methods in
Research and Production*, section 6.6."""


def _simulated(seed, sds, tables=1, pairs=8, replicas=32):
    """Flips of the model with mean 0.6 and the standard deviations of pairs, replicas and rest."""
    rng = np.random.default_rng(seed)
    shapes = ((tables, pairs, 1), (tables, 1, replicas), (tables, pairs, replicas))
    return np.asarray(0.6 + sum(sd * rng.normal(size=shape) for sd, shape in zip(sds, shapes, strict=True)))


def _assert_same(found, expected):
    for name, column, other in zip(Pooled._fields, found, expected, strict=True):
        np.testing.assert_allclose(column, other, rtol=1e-9, atol=1e-7, err_msg=name)


def _variances(found):
    return np.stack([found.sd_pairs, found.sd_replicas, found.sd_rest]) ** 2


def test_published_estimates_of_crossed_random_effects():
    found = pooled(PENICILLIN.T[np.newaxis])
    # As lme4 gives them by REML: variances of samples, plates and rest, the mean and its standard error.
    np.testing.assert_allclose(_variances(found)[:, 0], [3.73092, 0.716908, 0.302415], rtol=2e-6)
    assert found.pse[0] == pytest.approx(22.972222)
    samples, plates, rest = _variances(found)[:, 0]
    error = np.sqrt(samples / 6 + plates / 24 + rest / 144)
    assert error == pytest.approx(0.808573, rel=1e-6)
    mean_squares = np.array([24 * samples + rest, 6 * plates + rest, rest])
    freedom = (144 * error**2) ** 2 / (mean_squares**2 / [5, 23, 115]).sum()
    assert found.pse_cues_high[0] - found.pse[0] == pytest.approx(t.ppf(0.975, freedom) * error)


@pytest.mark.parametrize("level", [0.95, 0.8])
@pytest.mark.parametrize("sds", [(1.0, 0.5, 0.7), (0.1, 0.1, 1.0), (0.0, 1.0, 1.0), (1.0, 0.0, 1.0), (0.0, 0.0, 1.0)])
def test_sums_done_one_by_one(sds, level):
    tables = _simulated(1, sds, tables=8, pairs=5, replicas=7)
    found = pooled(tables, level)
    for row, table in enumerate(tables):
        mean = table.sum() / 35
        pairs = sum(7 * (table[p].mean() - mean) ** 2 for p in range(5))
        replicas = sum(5 * (table[:, r].mean() - mean) ** 2 for r in range(7))
        total = sum((table[p, r] - mean) ** 2 for p in range(5) for r in range(7))
        squares, freedom = [pairs, replicas], [4, 6]
        rest, rest_freedom = total - pairs - replicas, 24
        # Thompson's rule: the smallest violator joins the rest first.
        for effect in sorted((0, 1), key=lambda effect: squares[effect] / freedom[effect]):
            if squares[effect] / freedom[effect] < rest / rest_freedom:
                rest, rest_freedom = rest + squares[effect], rest_freedom + freedom[effect]
        error = rest / rest_freedom
        expected = [max(pairs / 4 - error, 0) / 7, max(replicas / 6 - error, 0) / 5, error]
        np.testing.assert_allclose(_variances(found)[:, row], expected, rtol=1e-9, atol=1e-12)
        assert found.pse[row] == pytest.approx(mean)
        variances = [np.var(table[p], ddof=1) for p in range(5)]
        assert found.jnd[row] == pytest.approx(JND_PER_SD * np.sqrt(np.mean(variances)))
        # A corpus drawn again has an effect like a replica's, so the mean square of replicas counts 7 + 1 times.
        for name, times in (("pse_cues", 1), ("pse", 8)):
            means = [max(pairs / 4, error), times * max(replicas / 6, error), error]
            whole = means[0] + means[1] - error
            degrees = whole**2 / sum(part**2 / of for part, of in zip(means, (4, 6, 24), strict=True))
            half = t.ppf((1 + level) / 2, degrees) * np.sqrt(whole / 35)
            ends = [getattr(found, f"{name}_{end}")[row] for end in ("low", "high")]
            np.testing.assert_allclose(ends, [mean - half, mean + half])
        assert (found.num_pairs[row], found.num_replicas[row]) == (5, 7)


def test_equal_flips_do_not_vary():
    found = pooled(np.full((1, 3, 7), 0.1))
    assert [float(column[0]) for column in found] == [0.1, 0.1, 0.1, 0.1, 0.1, 0, 0, 0, 0, 3, 7]


def test_pair_without_flips_is_left_out_and_then_replicas_with_a_hole():
    flips = _simulated(8, (0.1, 0.03, 0.05), tables=2, pairs=4, replicas=6)
    holes = flips.copy()
    holes[0, 1] = np.nan
    holes[0, 2, 3] = np.inf
    holes[0, 0, 5] = np.nan
    found = pooled(holes)
    assert found.num_pairs.tolist() == [3, 4]
    assert found.num_replicas.tolist() == [4, 6]
    without = pooled(flips[:1, [0, 2, 3]][:, :, [0, 1, 2, 4]])
    _assert_same(found, [np.concatenate(columns) for columns in zip(without, pooled(flips[1:]), strict=True)])


def test_one_pair_has_a_pse_and_a_jnd_alone():
    flips = _simulated(9, (0.1, 0.03, 0.05), pairs=1)
    found, alone = pooled(flips), moments(flips[0])
    np.testing.assert_allclose([found.pse, found.jnd], alone)
    assert np.isnan([found.pse_cues_low, found.pse_cues_high, found.sd_pairs, found.sd_replicas, found.sd_rest]).all()
    assert (found.num_pairs[0], found.num_replicas[0]) == (1, 32)


@pytest.mark.parametrize("flips", [[[0.5], [0.6]], [[0.5, np.nan], [0.6, np.nan]], [[0.5, np.nan], [np.nan, 0.5]]])
def test_fewer_than_two_replicas_tell_nothing(flips):
    found = pooled(np.array([flips]))
    assert np.isnan([column[0] for column in found[:9]]).all()
    assert found.num_replicas[0] < 2


@pytest.mark.parametrize("shape", [(0, 8, 32), (2, 0, 32), (2, 8, 0), (0, 0, 0)])
def test_nothing_to_pool(shape):
    found = pooled(np.empty(shape))
    assert all(column.shape == shape[:1] for column in found)
    assert np.isnan(found.pse).all()
    assert (found.num_pairs == 0).all()


@pytest.mark.parametrize("sds", [(0.3, 0.3, 0.1), (0.5, 0.0, 0.1), (0.0, 0.0, 0.3)])
def test_intervals_over_all_combinations_of_cues_cover_the_mean(sds):
    rng, (num_words, num_cues, num_replicas) = np.random.default_rng(4), (400, 4, 8)
    of_female = sds[0] * rng.normal(size=(num_words, num_cues, 1, 1))
    of_male = sds[1] * rng.normal(size=(num_words, 1, num_cues, 1))
    of_both = sds[2] * rng.normal(size=(num_words, num_cues, num_cues, 1))
    flips = of_female + of_male + of_both + 0.1 * rng.normal(size=(num_words, num_cues, num_cues, num_replicas))
    diagonal = np.eye(num_cues, dtype=bool)
    pairs, others = flips[:, diagonal], flips[:, ~diagonal]
    means = over_combinations(pooled(pairs), pooled(np.concatenate([pairs, others], axis=1)))
    np.testing.assert_allclose(means.pse, flips.mean(axis=(1, 2, 3)))
    covered = np.mean((means.pse_cues_low <= 0.0) & (means.pse_cues_high >= 0.0))
    assert covered > 0.93
    alone = pooled(flips.reshape(num_words, -1, num_replicas))
    if sds[0]:
        assert np.mean((alone.pse_cues_low <= 0.0) & (alone.pse_cues_high >= 0.0)) < 0.9


def test_refusals():
    with pytest.raises(ValueError, match=r"flips has shape \(8, 32\): must be \[occupations, pairs, replicas\]"):
        pooled(np.zeros((8, 32)))
    with pytest.raises(ValueError, match=r"level=95: must lie strictly between 0 and 1"):
        pooled(np.zeros((1, 8, 32)), level=95)
