import numpy as np
import pytest

from tiltmeter.operators.association import weat
from tiltmeter.operators.association.covariance import precision
from tiltmeter.operators.association.scores import associations, effect_size, weat_score
from tiltmeter.operators.embedding.similarity import pairwise
from tiltmeter.operators.statistics.partitions.permutation import permutation_p_value


@pytest.fixture
def sets():
    """X, Y, A and B, ``[replicas, words, dims]``."""
    rng = np.random.default_rng(0)
    return [rng.normal(size=(3, num, 6)) for num in (5, 4, 3, 7)]


@pytest.mark.parametrize(
    ("similarity", "statistic"), [("cosine", "mean"), ("manhattan", "median"), ("euclidean", "min")]
)
def test_all_is_what_the_functions_give_one_by_one(sets, similarity, statistic):
    x, y, a, b = sets
    targets = np.concatenate([x, y], axis=1)
    scores = associations(pairwise(targets, a, similarity), pairwise(targets, b, similarity), statistic, similarity)
    test = weat(x, y, a, b, similarity, statistic, ddof=0)
    assert np.array_equal(test.scores, scores)
    assert np.array_equal(test.effect_size, effect_size(scores, 5, 0))
    assert np.array_equal(test.score, weat_score(scores, 5))
    for row, value, low in zip(scores, test.p_value, test.p_low, strict=True):
        p = permutation_p_value(row[:5], row[5:], 0.005)
        assert (value, low) == (p.value, p.low)


def test_vectors_without_replicas_give_numbers_and_a_replica_that_lacks_a_word_none(sets):
    whole, alone = weat(*sets), weat(*(vectors[1] for vectors in sets))
    sets[0][1, 0] = np.nan
    lacking = weat(*sets)
    assert np.isnan([lacking.effect_size[1], lacking.p_value[1], lacking.p_low[1], lacking.score[1]]).all()
    assert np.isfinite([lacking.effect_size[0], lacking.p_value[2]]).all()
    assert alone.scores.shape == (9,)
    assert [float(value) for value in alone[:4]] == [float(value[1]) for value in whole[:4]]


def test_mahalanobis_takes_a_matrix_for_each_attribute_set(sets):
    x, y, a, b = sets
    matrices = [np.stack([precision(replica) for replica in vectors]) for vectors in (a, b)]
    test = weat(x, y, a, b, "mahalanobis", precisions=tuple(matrices))
    targets = np.concatenate([x, y], axis=1)
    near = [pairwise(targets, vectors, "mahalanobis", p) for vectors, p in zip((a, b), matrices, strict=True)]
    assert np.array_equal(test.scores, associations(*near, "mean", "mahalanobis"))
    alone = weat(x[0], y[0], a[0], b[0], "mahalanobis", precisions=(matrices[0][0], matrices[1][0]))
    assert alone.effect_size == test.effect_size[0]
    with pytest.raises(ValueError, match="precision"):
        weat(x, y, a, b, "mahalanobis")


def test_bounds_of_p_are_as_near_to_each_other_as_is_asked_for():
    rng = np.random.default_rng(1)
    test = weat(*(rng.normal(size=(num, 6)) for num in (24, 20, 3, 7)), relative_width=0.002)
    p = permutation_p_value(test.scores[:24], test.scores[24:], 0.002)
    assert (test.p_value, test.p_low) == (p.value, p.low)
    assert test.p_low < test.p_value < test.p_low * 1.00201
