"""Deconfounding impacts against loops over texts and as published; the test of dependence, its size and its units."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tiltmeter.operators.sentiment.deconfounding import deconfounding_impact, dependence, is_balanced, largest_impact
from tiltmeter.operators.statistics.units import each, units_of

pytestmark = pytest.mark.filterwarnings("error")

MALE, FEMALE = 0, 1


def texts_of(*cells):
    """Scores, emotions and protected values of texts given as (emotion, protected, scores)."""
    repeated = [(emotion, protected, score) for emotion, protected, scores in cells for score in scores]
    emotions, protected, scores = np.array(repeated).T
    return scores, emotions.astype(int), protected.astype(int)


TEXTS = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12)


def by_loops(texts, is_undefined):
    """Of tenths, emotions and values: by emotion, the numbers, and the values with which it never comes."""
    values, rows = sorted({value for *_, value in texts}), []
    for emotion in range(3):
        felt = [(tenths, value) for tenths, other, value in texts if other == emotion]
        cells = {value: [tenths for tenths, other in felt if other == value] for value in values}
        seen = [value for value in values if cells[value]]
        shares = {value: sum(other == value for *_, other in texts) for value in seen}
        if not felt or (is_undefined and len(seen) < len(values)):
            rows.append((Fraction(sum(t for t, _ in felt), 10 * len(felt)) if felt else np.nan, np.nan, np.nan))
        else:
            given = Fraction(sum(tenths for tenths, _ in felt), 10 * len(felt))
            means = {value: Fraction(sum(cells[value]), 10 * len(cells[value])) for value in seen}
            do = sum(shares[value] * means[value] for value in seen) / sum(shares.values())
            rows.append((given, do, 100 * abs(do - given) / abs(given) if given else np.inf if do else 0))
        rows[-1] += ([bool(felt) and value in values and not cells[value] for value in range(3)],)
    return rows


@pytest.mark.long
@given(TEXTS, st.sampled_from(["renormalise", "undefined"]), st.integers(0, 2**32 - 1))
def test_impacts_are_those_of_loops_over_texts_and_resamples(texts, policy, seed):
    texts = [*texts, (0, 0, 0), (1, 1, 1), (2, 2, 2)]
    counts = np.random.default_rng(seed).integers(0, 3, (6, len(texts)))
    tenths, emotions, protected = np.array(texts).T
    alone = deconfounding_impact(tenths / 10, emotions, protected, empty_cells=policy)
    drawn = deconfounding_impact(tenths / 10, emotions, protected, counts, policy)
    largest = largest_impact([alone]), *largest_impact([drawn])
    turned = deconfounding_impact(tenths / 10, emotions, protected, counts[::-1], policy)
    for place, times in enumerate([np.ones(len(texts), int), *counts]):
        found = alone if place == 0 else type(drawn)(*(part[place - 1] for part in drawn))
        rows = by_loops(
            [text for text, num in zip(texts, times, strict=True) for _ in range(num)], policy != "renormalise"
        )
        expected = [np.array([float(row[at]) for row in rows]) for at in range(3)]
        for part, column in zip((found.observed, found.adjusted, found.percent), expected, strict=True):
            np.testing.assert_allclose(part, column, atol=1e-12, rtol=1e-9)
        assert found.is_empty.tolist() == [row[3] for row in rows]
        has_texts = np.isfinite(expected[0])
        np.testing.assert_allclose(largest[place], expected[2][has_texts].max() if has_texts.any() else np.nan)
    has_both = np.isfinite(drawn.observed).any(axis=1) & np.isfinite(turned.observed).any(axis=1)
    both = np.maximum(largest[1:], largest[:0:-1])
    np.testing.assert_array_equal(largest_impact([drawn, turned])[has_both], both[has_both])


@pytest.mark.long
@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6), st.integers(1, 7), st.integers(1, 3))
def test_without_confounding_or_where_the_protected_value_does_not_matter_the_impact_is_exactly_zero(
    thirds, men, women
):
    """Every value has the same emotions, each text as often as there are persons; or unlike ones, alike for all."""
    cells = [
        (emotion, protected, [(third + protected) / 10 for third in thirds] * (men, women)[protected])
        for emotion, protected in ((0, MALE), (0, FEMALE), (1, MALE), (1, FEMALE))
    ]
    alike = [(0, MALE, [0.1] * 7), (0, FEMALE, [0.1] * women), (1, MALE, [-0.7]), (1, FEMALE, [-0.7] * 8 * men)]
    for texts in (cells, alike):
        np.testing.assert_array_equal(deconfounding_impact(*texts_of(*texts)).percent, [0, 0])


def test_published_scores():
    # AI4Society's causal-sas-rating: the GRU on E4 of the fourth group; texts about nobody, men and women.
    thirds = [
        (0, 0, [-1, -1, -1, -2]), (0, 1, [-1, -1, -1, -2, -2]), (0, 2, [-1, -1, -2, -2, -3, -3]),
        (1, 0, [-1, -1, -2, 1]), (1, 1, [-1, 1, 1]), (1, 2, [1, 1]),
    ]  # fmt: skip
    found = deconfounding_impact(*texts_of(*((*cell, np.array(scores) / 3) for *cell, scores in thirds)))
    np.testing.assert_allclose(found.observed, [-8 / 15, 0])
    np.testing.assert_allclose(found.adjusted, [-31 / 60, 7 / 108])
    np.testing.assert_allclose(found.percent, [3.125, np.inf])


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=8))
def test_balance_is_told_by_the_frequencies(texts):
    """An emotion is as frequent with every value; a few texts more or less than that are not balanced."""
    for pairs in (texts, [*texts, *((1 - emotion, value) for emotion, value in texts)]):
        emotions, protected = zip(*pairs, strict=True)
        shares = {
            (emotion, value): pairs.count((emotion, value)) * len(pairs)
            == emotions.count(emotion) * protected.count(value)
            for emotion in set(emotions)
            for value in set(protected)
        }
        assert is_balanced(np.array(emotions), np.array(protected)) is all(shares.values())


def p_of(emotions, protected, units):
    return dependence(np.asarray(emotions), np.asarray(protected), units, seed=0, about=0)[0]


@pytest.mark.long
@pytest.mark.parametrize("num", [20, 200])
def test_the_test_of_dependence_has_its_size_over_texts(num):
    rng = np.random.default_rng(num)
    p = [p_of(rng.integers(0, 3, num), rng.integers(0, 2, num), each(num, "text")) for _ in range(300)]
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.09


def test_the_test_of_dependence_agrees_with_fisher_on_four_cells():
    """Of two by two cells chi-square orders tables as their margins allow; 1 + draws in 2,000 is near the exact p."""
    emotions, protected = np.repeat([0, 0, 1, 1], [9, 3, 4, 9]), np.repeat([0, 1, 0, 1], [9, 3, 4, 9])
    exact = stats.fisher_exact([[9, 3], [4, 9]]).pvalue
    assert p_of(emotions, protected, each(25, "text")) == pytest.approx(exact, abs=0.02)
    p, too_few = dependence(emotions[3:22], protected[3:22], each(19, "text"), seed=0, about=0)
    assert np.isnan(p)
    assert (too_few.have, too_few.need) == (19, 20)


def test_units_of_several_texts_are_dealt_whole():
    rng = np.random.default_rng(1)
    conversations, rejected = np.repeat(np.arange(24), 8), []
    both = units_of(conversations, "conversation"), each(192, "text")
    for _ in range(150):
        emotions, protected = (rng.integers(0, 2, 24)[conversations] for _ in range(2))
        rejected.append([p_of(emotions, protected, units) <= 0.05 for units in both])
    whole, texts = np.mean(rejected, axis=0)
    assert whole < 0.1
    assert texts > 0.4


def test_in_units_of_several_values_these_are_dealt_to_their_texts():
    """Conversations have moods of their own, which each of their two speakers shares: no dependence on the speaker."""
    moods, speakers = np.repeat(np.arange(20) % 2, 6), np.tile([0, 1], 60)
    units = units_of(np.repeat(np.arange(20), 6), "conversation")
    assert p_of(moods, speakers, units) == 1.0
    assert p_of(speakers, speakers, units) == 0.0005


def test_another_policy_is_refused():
    with pytest.raises(ValueError, match=r"empty_cells='drop': must be one of renormalise, undefined"):
        deconfounding_impact(np.ones(1), np.zeros(1, int), np.zeros(1, int), empty_cells="drop")
