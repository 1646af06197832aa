"""The e-detector against sums by hand, and its promise by counting every outcome."""

from itertools import product

import numpy as np
import pytest

from tiltmeter.operators.statistics.gates.e_detector import evidence, log_e_values, nights_to_alarm, stake

CHANCES = np.array([[0.9, 0.5], [0.2, 0.6], [0.7, 0.7], [0.5, 0.5]])
"""Of four items to be right in the first and the second system: one fell, one rose by as much."""


def outcomes(chances):
    """Each outcome of both systems on all items: its probability, and the differences."""
    for right in product((0, 1), repeat=chances.size):
        bits = np.array(right).reshape(chances.shape)
        yield np.prod(np.where(bits, chances, 1.0 - chances)), (bits[:, 1] - bits[:, 0]).astype(float)


@pytest.mark.parametrize(("allowance", "fall"), [(0.0, 0.0), (0.1, 0.1), (0.0, -0.05)])
def test_an_e_value_has_a_mean_of_one_at_most_unless_the_mean_of_items_falls(allowance, fall):
    chances = CHANCES - np.array([0.0, fall])
    for size in (0.05, 0.3, 0.5):
        parts = [weight * np.exp(log_e_values(d, size, allowance)) for weight, d in outcomes(chances)]
        expected = np.prod(1.0 - size * (chances[:, 1] - chances[:, 0] + allowance))
        assert sum(parts) == pytest.approx(expected)
        assert expected <= 1.0 + 1e-12
    fallen = chances - np.array([0.0, 0.1])
    assert sum(weight * np.exp(log_e_values(d, 0.05, allowance)) for weight, d in outcomes(fallen)) > 1.0


def test_of_right_and_wrong_answers_losses_and_wins_count():
    differences = np.array([-1.0] * 7 + [1.0] * 4 + [0.0] * 9)
    assert np.exp(log_e_values(differences, 0.2)) == pytest.approx(1.2**7 * 0.8**4)
    nights = np.stack([differences, -differences])
    assert log_e_values(nights, 0.2) == pytest.approx([float(log_e_values(night, 0.2)) for night in nights])


def test_evidence_by_hand_and_night_by_night():
    e = np.array([0.5, 3.0, 2.0])
    assert evidence(np.log(e)) == pytest.approx([0.5, 3.0 * 1.5, 2.0 * 5.5])
    last = 0.0
    for value, all_at_once in zip(e, evidence(np.log(e)), strict=True):
        last = float(evidence(np.log([value]), last)[0])
        assert last == pytest.approx(all_at_once)
    assert evidence(np.array([[1e5, 1e5], [-1e5, 0.0]]))[:, 1].tolist() == [
        1e150,
        1.0,
    ]  # neither overflows nor is undefined


def test_the_chance_of_an_alarm_within_the_nights_is_the_level_at_most():
    """Two fair items a night, counted out over five nights."""
    level, nights = 0.3, 5
    night = np.array([log_e_values(np.array(d), 0.5) for d in product((-1.0, 1.0), repeat=2)])
    years = np.array(list(product(night, repeat=nights)))
    share = (evidence(years) >= nights / level).any(axis=1).mean()
    assert 0.0 < share <= level


def test_the_stake_follows_earlier_nights_and_is_never_too_large():
    assert stake(0.02, 0.0, 0) == 0.02  # nothing is known, but that no square exceeds 1
    assert stake(0.02, 240.0, 1000) == pytest.approx(0.02 * 1001 / 241)
    assert stake(0.02, 0.0, 1000) == 0.5
    assert all(stake(0.9, 0.0, 9, allowance) * (1.0 + allowance) < 1.0 + 1e-12 for allowance in (0.0, 0.9, 1.5))


def test_the_nights_that_are_foretold_are_those_that_it_takes():
    rng = np.random.default_rng(1)
    b = rng.binomial(1000, 0.13, (400, 60))
    c = rng.binomial(1000, 0.11, (400, 60))
    size = 0.02 / 0.24
    taken = (evidence(b * np.log1p(size) + c * np.log1p(-size)) >= 7300).argmax(axis=1) + 1
    assert np.median(taken) == pytest.approx(nights_to_alarm(7300, 0.02, size, 0.24, 1000), rel=0.25)
    assert nights_to_alarm(7300, 0.02, size, 0.24, 1000, allowance=0.02) == np.inf
