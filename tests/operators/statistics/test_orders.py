"""Orders of numbers with replicas: by hand, by plain loops, and how often equal ones are told apart."""

import numpy as np
import pytest
from scipy.stats import t as student

from tiltmeter.operators.statistics.orders import Orders, orders


def _orders(values: list[float], replicas: np.ndarray, level: float = 0.95) -> Orders:
    return orders(np.array(values), replicas, level, np.random.default_rng(0))


def _noise(models: int, replicas: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(models, replicas))


def test_two_models_are_judged_by_students_t() -> None:
    replicas = _noise(2, 8)
    spread = (replicas[0] - replicas[1]).std(ddof=1)
    made = _orders([2.0, 0.0], replicas)
    assert made.p_max_t[0, 1] == pytest.approx(2 * student.sf(2.0 / spread, 7), abs=0.01)
    reach = student.ppf(0.975, 7) * spread
    assert (made.low[0, 1], made.high[0, 1]) == pytest.approx((2.0 - reach, 2.0 + reach), rel=0.05)
    assert made.low[1, 0] == pytest.approx(-made.high[0, 1])


def test_shares_count_replicas_pair_by_pair_and_ties_half() -> None:
    replicas = np.array([[1.0, 2.0, 3.0, np.nan], [1.0, 3.0, 2.0, 0.0]])
    made = _orders([1.0, 2.0], replicas)
    assert made.first[0, 1] == made.first[1, 0] == pytest.approx(0.5)
    made = _orders([1.0, 2.0], np.array([[1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 4.0, 5.0]]))
    assert (made.first[0, 1], made.first[1, 0], made.num_replicas) == (0.875, 0.125, 4)


def test_models_that_move_together_are_told_apart_by_their_difference() -> None:
    common, own = _noise(1, 16) * 10, _noise(2, 16, seed=1) * 0.1
    assert _orders([0.0, 1.0], common + own).rank_low.tolist() == [1, 2]
    assert _orders([0.0, 1.0], _noise(2, 16) * 10).rank_low.tolist() == [1, 1]


def test_ranks_and_tiers_follow_from_who_is_told_apart() -> None:
    # Neighbours half a standard error apart, and the last far away: 1-2 of three, and 4.
    replicas = _noise(4, 32) * np.array([[1.0], [1.0], [1.0], [0.01]])
    made = _orders([50.0, 0.0, 0.2, 0.1], replicas)
    assert made.rank.tolist() == [4, 1, 3, 2]
    assert list(zip(made.rank_low, made.rank_high, strict=True)) == [(4, 4), (1, 3), (1, 3), (1, 3)]
    assert list(zip(made.tier_low, made.tier_high, strict=True)) == [(4, 4), (1, 3), (1, 3), (1, 3)]


def test_a_model_that_nobody_is_told_apart_from_keeps_others_in_its_tier() -> None:
    """The first and the last of three differ; the one between, which is noisy, joins them: tiers are transitive."""
    replicas = _noise(3, 32) * np.array([[0.1], [10.0], [0.1]])
    made = _orders([0.0, 1.0, 2.0], replicas)
    assert made.p_max_t[0, 2] < 0.01 < 0.5 < made.p_max_t[0, 1]
    assert (made.rank_low.tolist(), made.rank_high.tolist()) == ([1, 1, 2], [2, 3, 3])
    assert (made.tier_low.tolist(), made.tier_high.tolist()) == ([1, 1, 1], [3, 3, 3])


@pytest.mark.parametrize("replicas", [np.empty((3, 0)), np.ones((3, 1)), np.full((3, 8), np.nan)])
def test_without_replicas_nothing_is_told_apart(replicas: np.ndarray) -> None:
    made = _orders([3.0, 1.0, 2.0], replicas)
    assert (made.rank.tolist(), made.rank_low.tolist(), made.tier_high.tolist()) == ([3, 1, 2], [1] * 3, [3] * 3)
    assert np.isnan(made.p_max_t).all()
    assert np.isnan(made.first).all()


def test_equal_numbers_are_not_told_apart_and_other_units_change_nothing() -> None:
    one = _noise(1, 8)
    made = _orders([1.0, 1.0, 5.0], np.concatenate([one, one, _noise(1, 8, seed=2)]))
    assert made.p_max_t[0, 1] == 1.0
    replicas = _noise(3, 8)
    few, many = _orders([0.0, 1.0, 4.0], replicas), _orders([0.0, 1e6, 4e6], replicas * 1e6)
    assert few.p_max_t == pytest.approx(many.p_max_t)


@pytest.mark.long
@pytest.mark.parametrize(("num_replicas", "num"), [(8, 60), pytest.param(32, 400, marks=pytest.mark.slow)])
def test_equal_models_are_told_apart_in_one_run_of_twenty_and_a_planted_order_is_found(
    num_replicas: int, num: int
) -> None:
    rng, wrong, right = np.random.default_rng(7), 0, 0
    sds = np.array([1.0, 2.0, 1.0, 0.5])
    for _ in range(num):
        replicas, values = rng.normal(size=(4, num_replicas)) * sds[:, np.newaxis], rng.normal(size=4) * sds
        wrong += bool((orders(values, replicas, 0.95, rng).rank_low > 1).any())
        planted = orders(values + np.array([0.0, 20.0, 40.0, 60.0]), replicas, 0.95, rng)
        right += planted.tier_low.tolist() == planted.tier_high.tolist() == [1, 2, 3, 4]
    assert wrong / num <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / num)
    assert right / num > 0.9
