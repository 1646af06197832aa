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


def test_by_hand() -> None:
    # 6 of 8 texts are about men. E[Y|x] = (3 + 0) / 4; E[Y|do(x)] = 6/8 x 1 + 2/8 x 0; the second: 4/4 and 1.
    found = deconfounding_impact(
        *texts_of((0, MALE, [1, 1]), (0, FEMALE, [0, 0]), (1, MALE, [0.5, 0.5, 0.5, 0.5])),
    )
    np.testing.assert_allclose(found.observed, [0.5, 0.5])
    np.testing.assert_allclose(found.adjusted, [0.75, 0.5])
    np.testing.assert_allclose(found.percent, [50, 0])
    # The largest is over emotions and data sets; here 3 of 4 are about men, 2/3 becomes 3/4.
    other = deconfounding_impact(*texts_of((0, MALE, [1, 1]), (0, FEMALE, [0]), (1, MALE, [0.5])))
    assert [largest_impact(sets) for sets in ([other], [other, found], [found, other])] == pytest.approx([12.5, 50, 50])


def test_replicates_are_those_of_repeated_texts() -> None:
    rng = np.random.default_rng(0)
    scores, emotions, protected = rng.uniform(-1, 1, 20), np.arange(20) % 2, rng.integers(0, 3, 20)
    counts = rng.integers(0, 3, (25, 20))
    counts[:, [0, 1]] = 1  # so that every emotion has texts
    for policy in ("renormalise", "undefined"):
        together = deconfounding_impact(scores, emotions, protected, counts, policy)
        for replicate, times in enumerate(counts):
            repeated = (np.repeat(part, times) for part in (scores, emotions, protected))
            alone = deconfounding_impact(*repeated, empty_cells=policy)
            np.testing.assert_allclose(together.percent[replicate], alone.percent, rtol=1e-9)
            np.testing.assert_array_equal(
                largest_impact([together])[replicate].round(6), largest_impact([alone]).round(6)
            )


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6), st.integers(1, 7), st.integers(1, 3))
def test_without_confounding_the_impact_is_exactly_zero(thirds: list[int], men: int, women: int) -> None:
    # Every value has the same emotions, each text as often as there are persons.
    cells = [
        (emotion, protected, [(third + offset) / 10 for third in thirds] * times)
        for emotion in (0, 1)
        for protected, offset, times in ((MALE, 0, men), (FEMALE, 1, women))
    ]
    found = deconfounding_impact(*texts_of(*cells))
    np.testing.assert_array_equal(found.percent, [0, 0])


def test_a_system_that_does_not_look_at_the_protected_value_has_no_impact() -> None:
    found = deconfounding_impact(
        *texts_of((0, MALE, [0.1] * 7), (0, FEMALE, [0.1] * 3), (1, MALE, [-0.7]), (1, FEMALE, [-0.7] * 24))
    )
    np.testing.assert_array_equal(found.percent, [0, 0])


def test_zero_over_zero_is_zero_and_anything_else_over_zero_infinite() -> None:
    assert 0.1 + 0.2 - 0.3 != 0
    found = deconfounding_impact(
        *texts_of((0, MALE, [0.1, 0.2]), (0, FEMALE, [-0.3]), (1, MALE, [1 / 3, -1 / 3]), (1, FEMALE, [0.0] * 3))
    )
    np.testing.assert_array_equal(found.observed, [0, 0])
    np.testing.assert_array_equal(found.percent, [np.inf, 0])
    assert largest_impact([found]) == np.inf


def test_published_scores() -> None:
    # AI4Society's causal-sas-rating: the GRU on E4 of the fourth group; texts about nobody, men and women.
    thirds = [
        (0, 0, [-1, -1, -1, -2]), (0, 1, [-1, -1, -1, -2, -2]), (0, 2, [-1, -1, -2, -2, -3, -3]),
        (1, 0, [-1, -1, -2, 1]), (1, 1, [-1, 1, 1]), (1, 2, [1, 1]),
    ]  # fmt: skip
    found = deconfounding_impact(*texts_of(*((*cell, np.array(scores) / 3) for *cell, scores in thirds)))
    np.testing.assert_allclose(found.observed, [-8 / 15, 0])
    np.testing.assert_allclose(found.adjusted, [-31 / 60, 7 / 108])
    np.testing.assert_allclose(found.percent, [3.125, np.inf])


@pytest.mark.parametrize(("policy", "adjusted", "percent"), [("renormalise", 0.75, 0.0), ("undefined", np.nan, np.nan)])
def test_empty_cells_are_told_and_left_out_of_the_sum_or_leave_the_impact_undefined(policy, adjusted, percent) -> None:
    without_happy_women = texts_of((0, MALE, [1, 0.5]), (1, MALE, [0.2]), (1, FEMALE, [0.4, 0.4, 0.4]))
    found = deconfounding_impact(*without_happy_women, empty_cells=policy)
    assert found.is_empty.tolist() == [[False, True], [False, False]]
    np.testing.assert_allclose(found.adjusted, [adjusted, (3 * 0.2 + 3 * 0.4) / 6])
    np.testing.assert_allclose(found.percent, [percent, 100 * 0.05 / 0.35])
    np.testing.assert_allclose(largest_impact([found]), np.nan if policy == "undefined" else 100 * 0.05 / 0.35)


def test_values_and_emotions_without_texts_are_no_empty_cells() -> None:
    # The replicate has no text of emotion 1 and none of value 1.
    scores, emotions, protected = texts_of((0, 0, [0.5]), (0, 1, [0.1]), (1, 0, [0.9]), (1, 1, [0.7]))
    found = deconfounding_impact(scores, emotions, protected, np.array([[4, 0, 0, 0]]), "undefined")
    assert not found.is_empty.any()
    np.testing.assert_array_equal(found.percent, [[0, np.nan]])
    np.testing.assert_array_equal(largest_impact([found]), [0])
    none = deconfounding_impact(scores, emotions, protected, np.zeros((1, 4), int))
    assert np.isnan(largest_impact([none])).all()


@pytest.mark.parametrize(
    ("emotions", "protected", "expected"),
    [
        ([0, 1, 0, 1], [0, 0, 1, 1], True),
        ([0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 1, 1], True),
        ([0, 1, 1, 0, 1, 1], [0, 0, 0, 1, 1, 1], True),
        ([0, 1, 0, 0], [0, 0, 1, 1], False),
        ([0, 1, 0, 1, 1], [0, 0, 1, 1, 1], False),
        ([0, 0, 0], [0, 1, 2], True),
        ([0, 1, 2], [0, 0, 0], True),
    ],
)
def test_balance_is_told_by_the_frequencies(emotions, protected, expected) -> None:
    assert is_balanced(np.array(emotions), np.array(protected)) is expected


def p_of(emotions, protected, units):
    return dependence(np.asarray(emotions), np.asarray(protected), units, seed=0, about=0)[0]


@pytest.mark.parametrize("num", [20, 200])
def test_the_test_of_dependence_has_its_size_over_texts(num: int) -> None:
    rng = np.random.default_rng(num)
    p = [p_of(rng.integers(0, 3, num), rng.integers(0, 2, num), each(num, "text")) for _ in range(300)]
    assert 0.01 < np.mean(np.array(p) <= 0.05) < 0.09


def test_the_test_of_dependence_agrees_with_fisher_on_four_cells() -> None:
    """Of two by two cells chi-square orders tables as their margins allow; 1 + draws in 2,000 is near the exact p."""
    emotions, protected = np.repeat([0, 0, 1, 1], [9, 3, 4, 9]), np.repeat([0, 1, 0, 1], [9, 3, 4, 9])
    exact = stats.fisher_exact([[9, 3], [4, 9]]).pvalue
    assert p_of(emotions, protected, each(25, "text")) == pytest.approx(exact, abs=0.02)
    p, too_few = dependence(emotions[3:22], protected[3:22], each(19, "text"), seed=0, about=0)
    assert np.isnan(p)
    assert (too_few.have, too_few.need) == (19, 20)


def test_units_of_several_texts_are_dealt_whole() -> None:
    rng = np.random.default_rng(1)
    conversations = np.repeat(np.arange(24), 8)
    rejected = []
    for _ in range(150):
        emotions, protected = (rng.integers(0, 2, 24)[conversations] for _ in range(2))
        units = units_of(conversations, "conversation")
        rejected.append(
            (p_of(emotions, protected, units) <= 0.05, p_of(emotions, protected, each(192, "text")) <= 0.05)
        )
    whole, texts = np.mean(rejected, axis=0)
    assert whole < 0.1
    assert texts > 0.4


def test_in_units_of_several_values_these_are_dealt_to_their_texts() -> None:
    """Conversations have moods of their own, which each of their two speakers shares: no dependence on the speaker."""
    moods, speakers = np.repeat(np.arange(20) % 2, 6), np.tile([0, 1], 60)
    units = units_of(np.repeat(np.arange(20), 6), "conversation")
    assert p_of(moods, speakers, units) == 1.0
    assert p_of(speakers, speakers, units) == 0.0005


def test_another_policy_is_refused() -> None:
    with pytest.raises(ValueError, match=r"empty_cells='drop': must be one of renormalise, undefined"):
        deconfounding_impact(np.ones(1), np.zeros(1, int), np.zeros(1, int), empty_cells="drop")
