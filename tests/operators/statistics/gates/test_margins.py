"""Decisions at a margin: published sizes counted out, the score test by a search for its restricted chances."""

import numpy as np
import pytest
from scipy import optimize, stats

from tiltmeter.operators.statistics.gates.margins import margin_p, tango_p, too_few
from tiltmeter.operators.statistics.units import units_of

RNG = np.random.default_rng(7)


def size_at(num, lost, won, margin):
    """Chance of p <= 0.05 at these chances of a loss and a win, over all counts that matter."""
    b = np.arange(stats.binom.ppf(1e-12, num, lost), stats.binom.ppf(1 - 1e-12, num, lost) + 1)
    total = 0.0
    for losses in b:
        left, chance = int(num - losses), won / (1.0 - lost)
        wins = np.arange(stats.binom.ppf(1e-12, left, chance), stats.binom.ppf(1 - 1e-12, left, chance) + 1)
        is_shown = tango_p(np.full(wins.size, losses), wins, num, margin) <= 0.05
        total += stats.binom.pmf(losses, num, lost) * stats.binom.pmf(wins, left, chance)[is_shown].sum()
    return total


@pytest.mark.parametrize(
    ("num", "lost", "won", "margin", "size"),
    [
        (200, 0.01, 0.0, 0.01, 0.000),
        (500, 0.01, 0.0, 0.01, 0.039),
        (1000, 0.01, 0.0, 0.01, 0.029),
        (1000, 0.05, 0.04, 0.01, 0.050),
        (5000, 0.01, 0.005, 0.005, 0.048),
    ],
)
def test_the_size_at_the_margin_is_the_one_that_was_simulated(num, lost, won, margin, size):
    assert size_at(num, lost, won, margin) == pytest.approx(size, abs=0.0012)


@pytest.mark.parametrize(
    ("b", "c", "num", "margin"), [(10, 10, 1000, 0.01), (3, 0, 400, 0.02), (7, 30, 220, 0.1), (0, 4, 90, 0.05)]
)
def test_tango_is_the_score_test_at_the_most_likely_chances_on_the_border(b, c, num, margin):
    def unlikely(won):
        lost = won + margin
        return -(b * np.log(lost) + (c * np.log(won) if c else 0.0) + (num - b - c) * np.log1p(-lost - won))

    found = optimize.minimize_scalar(
        unlikely, bounds=(1e-12, (1 - margin) / 2 - 1e-9), method="bounded", options={"xatol": 1e-12}
    )
    won = found.x
    variance = num * (2 * won + margin - margin**2)
    z = (c - b + num * margin) / variance**0.5
    assert tango_p(np.array(b), np.array(c), num, margin) == pytest.approx(stats.norm.sf(z), rel=1e-3)


@pytest.mark.parametrize("num", [100, 298, 299, 1000])
def test_without_a_loss_or_win_the_upper_end_of_clopper_and_pearson_decides(num):
    end = stats.binomtest(0, num).proportion_ci(0.90).high
    assert (margin_p(np.zeros(num), np.ones(num, int), 0.01) <= 0.05) == (end <= 0.01)


def test_scores_and_clusters_go_by_students_t_from_the_margin():
    values = RNG.normal(0.0, 0.1, 50)
    known = stats.ttest_1samp(values, -0.02, alternative="greater").pvalue
    assert margin_p(values, np.ones(50, int), 0.02) == pytest.approx(known)
    units = units_of(np.repeat(np.arange(40), 5), "cluster")
    sums = units.sums(RNG.integers(-1, 2, 200))
    known = stats.ttest_1samp(sums / 5, -0.05, alternative="greater").pvalue
    assert margin_p(sums, units.sizes, 0.05) == pytest.approx(known)


@pytest.mark.parametrize(
    ("sums", "size", "reason"),
    [
        (np.zeros(20), 1, None),
        (np.full(29, 0.5), 1, "29 of the unit"),
        (np.array([0.5] * 9 + [0.0] * 30), 1, "9 of the unit"),
        (np.array([0.5] * 10 + [0.0] * 20), 1, None),
        (np.array([1.0] * 12 + [0.0] * 10), 3, "22 of the unit"),
    ],
)
def test_few_clusters_or_few_that_differ_decide_nothing(sums, size, reason):
    few = too_few(sums, np.full(sums.size, size))
    assert (few is None) if reason is None else (reason in few.reason)
