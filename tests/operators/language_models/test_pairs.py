"""Wins, level pairs, units that count once, and the numbers of StereoSet by hand."""

import numpy as np
import pytest

from tiltmeter.operators.language_models.pairs import LEVEL, by_unit, leanings, stereoset, wins
from tiltmeter.operators.statistics.units import units_of

S, A, U = np.array([[0.5, 0.2, 0.2, 0.6], [0.3, 0.4, 0.2, 0.1], [0.1, 0.3, 0.3, 0.2]])
TERMS = units_of(list("aaab"), "term")


@pytest.mark.parametrize(("ties", "expected"), [("published", (200 / 3, 50.0, 100 / 3)), ("half", (75.0, 50.0, 25.0))])
def test_the_example_of_stereoset_has_its_digits(ties, expected):
    won = np.stack([wins(one, other, ties, decimals=False) for one, other in ((S, A), (S, U), (A, U))])
    assert stereoset(won, TERMS) == pytest.approx(expected, abs=1e-9)
    # Over triples in place of terms it would be 50.
    assert 100 * wins(S, A, "published", decimals=False).mean() == 50.0


def test_resamples_of_terms_are_weighed_means_and_products_of_these():
    won = np.stack([wins(one, other, "half", decimals=False) for one, other in ((S, A), (S, U), (A, U))])
    made = stereoset(won, TERMS, np.array([[1, 1], [2, 0], [0, 2]]))
    assert made[:, 0] == pytest.approx(stereoset(won, TERMS))
    assert made[:, 1] == pytest.approx([50.0, 50.0, 50.0])
    assert made[:, 2] == pytest.approx([100.0, 50.0, 0.0])


def test_published_ties_are_lost_and_scores_rounded_only_where_they_are_in_the_code():
    first, second = np.array([-1.0004, -1.0, -1.0, np.nan]), np.array([-1.0, -1.0004, -2.0, -1.0])
    np.testing.assert_array_equal(wins(first, second, "published"), [0, 0, 1, np.nan])
    np.testing.assert_array_equal(wins(first, second, "published", decimals=False), [0, 1, 1, np.nan])
    np.testing.assert_array_equal(wins(first, second, "half"), [0, 1, 1, np.nan])
    np.testing.assert_array_equal(
        wins(first, first + np.array([LEVEL / 2, -LEVEL / 2, 2 * LEVEL, 0]), "half"), [0.5, 0.5, 0, np.nan]
    )


def test_level_pairs_lean_to_no_side():
    np.testing.assert_array_equal(leanings(np.array([LEVEL / 2, -LEVEL / 2, 1.0, -1.0, np.nan])), [0, 0, 1, -1, np.nan])


def test_a_unit_counts_once_by_the_mean_of_what_is_known_of_it():
    units = units_of(list("abab"), "template")
    np.testing.assert_array_equal(by_unit(np.array([1.0, np.nan, 3.0, 5.0]), units), [2, np.nan, np.nan, 5])
    assert np.isnan(by_unit(np.full(4, np.nan), units)).all()
