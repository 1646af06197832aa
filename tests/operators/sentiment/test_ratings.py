import numpy as np
import pytest

from tiltmeter.operators.sentiment import complete_order, partial_order, rate
from tiltmeter.operators.sentiment.deconfounding import deconfounding_impact, largest_impact
from tiltmeter.operators.sentiment.rejection import weighted_rejections
from tiltmeter.operators.statistics.two_samples import DEFINITION, PUBLISHED, coded, moments, pairwise_tests

GENDERS = ["female", "female", "female", "male", "male", "male", "female", "male"]
BALANCED = ["joy", "fear", "joy", "joy", "fear", "joy", "fear", "fear"]
CONFOUNDED = ["joy", "joy", "joy", "fear", "fear", "joy", "joy", "fear"]


@pytest.fixture
def scores():
    return np.random.default_rng(1).uniform(-1, 1, size=(5, 8))


def test_rejections_are_those_of_the_tests(scores):
    genders = coded(GENDERS)
    expected = [
        weighted_rejections(pairwise_tests(moments(row, genders.codes, 2), PUBLISHED).p, PUBLISHED).score
        for row in scores
    ]
    ratings = rate(scores, GENDERS, convention=PUBLISHED, num_levels=2)
    assert ratings.measure == "wrs"
    assert ratings.raw_scores.tolist() == expected
    assert np.array_equal(ratings.ranks, partial_order(ratings.raw_scores))
    assert np.array_equal(ratings.levels, complete_order(ratings.raw_scores, 2))


def test_where_emotions_depend_on_the_attribute_it_is_the_impact(scores):
    genders, emotions = coded(GENDERS).codes, coded(CONFOUNDED).codes
    expected = [float(largest_impact([deconfounding_impact(row, emotions, genders)])) for row in scores]
    assert rate(scores, GENDERS, CONFOUNDED, design="confounded").measure == "die"
    assert rate(scores, GENDERS, CONFOUNDED, design="confounded").raw_scores.tolist() == expected
    assert rate(scores, GENDERS, CONFOUNDED, design="independent").measure == "wrs"
    assert rate(scores, GENDERS, BALANCED).measure == "wrs"
    assert rate(scores, GENDERS, BALANCED, measure="die").measure == "die"
    with pytest.raises(ValueError, match="without emotions"):
        rate(scores, GENDERS, measure="die")


def test_texts_without_a_score_are_left_out_for_that_system_alone(scores):
    scores[2, [0, 3]] = np.nan
    kept = [1, 2, 4, 5, 6, 7]
    alone = rate(scores[2:3, kept], [GENDERS[text] for text in kept])
    assert rate(scores, GENDERS).raw_scores[2] == alone.raw_scores[0]
    scores[2, :7] = np.nan
    ratings = rate(scores, GENDERS)
    assert np.isnan(ratings.raw_scores[2])
    assert ratings.ranks[2] == ratings.levels[2] == 0


def test_labels_of_other_texts_are_refused(scores):
    for labels in ((GENDERS[:3], None), (GENDERS, BALANCED[:3])):
        with pytest.raises(ValueError, match="for each text"):
            rate(scores, *labels)


def test_without_a_design_a_test_over_texts_says_whether_emotions_depend_on_the_attribute():
    """8 texts are too few for one; of 40 that depend wholly it finds it, and not of 40 that are nearly balanced."""
    scores = np.random.default_rng(1).uniform(-1, 1, size=(2, 40))
    assert rate(scores[:, :8], GENDERS, CONFOUNDED).measure == "wrs"
    assert rate(scores, ["f", "m"] * 20, ["joy", "fear"] * 20).measure == "die"
    angry = ["anger", "fear", "anger", "joy", "fear", "fear", "joy", "joy"]  # the first emotion alone is of one gender
    assert rate(scores, ["f", "m"] * 20, angry * 5).measure == "die"
    scores[1, 0] = np.nan
    assert (
        rate(scores, ["f", "m"] * 20, ["joy", "joy", "fear", "fear"] * 9 + ["joy", "fear", "joy", "joy"]).measure
        == "wrs"
    )


def test_a_convention_of_ones_own_is_that_of_the_tests():
    """Scores 0.12 and 0.13 do not vary: t is infinite. They are taken as they are."""
    scores, genders = [[0.12, 0.12, 0.13, 0.13]], ["female", "female", "male", "male"]
    own = DEFINITION._replace(weights=(3.0, 2.0, 0.5))
    assert rate(scores, genders, convention=own).raw_scores.tolist() == [5.5]
    assert rate(scores, genders, convention=own._replace(decimals=1)).raw_scores.tolist() == [5.5]
    assert rate(scores, genders, convention=own._replace(alphas=(0.0, 0.0, 0.1))).raw_scores.tolist() == [0.5]
