import functools
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.covariance import GraphicalLasso, oas

from tiltmeter.operators.association import covariance
from tiltmeter.operators.association.covariance import enlarged, precision
from tiltmeter.operators.embedding.similarity import unit_vectors


def _vectors(seed, num=40, dims=6):
    """Correlated along few directions, as word vectors are, and spread over all."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(num, 3)) @ rng.normal(size=(3, dims)) + 2 * rng.normal(size=(num, dims))


def _neighbours(own, vocabulary, num):
    """By a sort of all cosines of each word."""
    unit = unit_vectors(vocabulary)
    found = set(own.tolist())
    for word in own:
        cosines = {at: float(unit[at] @ unit[word]) for at in range(len(unit)) if at != word}
        ordered = sorted(
            (at for at in cosines if np.isfinite(cosines[at])), key=lambda at: (-round(cosines[at], 12), at)
        )
        found.update(ordered[:num])
    return sorted(found)


@given(st.integers(0, 2**32 - 1), st.integers(2, 30), st.integers(1, 12))
def test_shrinkage_is_that_of_scikit_learn_and_positive_definite_for_any_size(seed, num, dims):
    vectors = _vectors(seed, num, dims)
    found = precision(vectors)
    np.testing.assert_allclose(found, np.linalg.inv(oas(vectors)[0]), rtol=1e-7, atol=1e-9)
    np.testing.assert_array_equal(found, found.T)
    assert np.linalg.eigvalsh(found).min() > 0


def test_many_vectors_have_the_precision_of_their_distribution():
    root = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.5], [0.0, 0.0, 1.0]])
    vectors = np.random.default_rng(0).normal(size=(20_000, 3)) @ root
    expected = np.linalg.inv(root.T @ root)
    np.testing.assert_allclose(precision(vectors), expected, atol=0.05)
    np.testing.assert_allclose(precision(vectors, "graphical_lasso"), expected, atol=0.05)


def test_graphical_lasso_chooses_the_penalty_by_three_folds():
    vectors = _vectors(2, num=12)
    folds = np.arange(12) % 3
    largest = np.abs(np.cov(vectors.T, bias=True)[~np.eye(6, dtype=bool)]).max()
    models = [GraphicalLasso(largest * 10 ** (-step / 4), enet_tol=1e-6) for step in range(9)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        likelihoods = [
            sum(model.fit(vectors[folds != fold]).score(vectors[folds == fold]) for fold in range(3))
            for model in models
        ]
    best = int(np.argmax(likelihoods))
    assert 0 < best < 8
    expected = models[best].fit(vectors).precision_
    np.testing.assert_allclose(precision(vectors, "graphical_lasso"), expected, rtol=1e-9)


@pytest.mark.parametrize("estimator", ["shrinkage", "graphical_lasso"])
@pytest.mark.parametrize("num", [6, 30])
def test_fewer_vectors_than_dims_have_a_precision(estimator, num):
    vectors = _vectors(3, num, dims=20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = precision(vectors.astype(np.float32), estimator)
    assert found.dtype == np.float64
    assert np.linalg.eigvalsh(found).min() > 0
    np.testing.assert_array_equal(precision(vectors.astype(np.float32), estimator), found)


def test_graphical_lasso_that_fails_is_refused(monkeypatch):
    vectors = _vectors(4)
    with pytest.raises(ArithmeticError, match=r"ill-conditioned.*before a penalty was found.*'shrinkage'"):
        precision(vectors * [1, 1, 0, 1, 1, 1], "graphical_lasso")
    # One direction that all dims share, and next to nothing else: the likelihood rises for as long as there is a fit.
    with pytest.raises(ArithmeticError, match=r"before a penalty was found.*'shrinkage'"):
        precision(vectors[:, :1] + 1e-7 * vectors, "graphical_lasso")
    monkeypatch.setattr("sklearn.covariance.GraphicalLasso", functools.partial(GraphicalLasso, max_iter=1))
    with pytest.raises(ArithmeticError, match=r"did not converge after 1 iteration.*'shrinkage'"):
        precision(vectors, "graphical_lasso")


@pytest.mark.parametrize(
    ("change", "estimator", "message"),
    [
        (lambda vectors: vectors, "sample", "estimator='sample': must be one of shrinkage, graphical_lasso"),
        (lambda vectors: vectors[:1], "shrinkage", r"shape \(1, 6\): shrinkage takes \[n, dims\] with n of 2 or more"),
        (
            lambda vectors: vectors[:2],
            "graphical_lasso",
            r"shape \(2, 6\): graphical_lasso takes .* with n of 3 or more",
        ),
        (lambda vectors: vectors[0], "shrinkage", r"vectors has shape \(6,\)"),
        (np.ones_like, "graphical_lasso", "all 40 are equal"),
        (lambda vectors: vectors * [1, 1, np.nan, 1, 1, 1], "shrinkage", "must be finite"),
    ],
)
def test_refused_vectors(change, estimator, message):
    with pytest.raises(ValueError, match=message):
        precision(change(_vectors(5)), estimator)


@given(st.integers(0, 2**32 - 1), st.integers(0, 30), st.sampled_from([1, 7, 8192]))
def test_neighbours_agree_with_a_sort_of_all(seed, num, at_once):
    rng = np.random.default_rng(seed)
    # Few whole numbers in few dims, so that many words are equally near; some have no vector, some length 0.
    vocabulary = rng.integers(-2, 3, (25, 3)).astype(np.float32)
    vocabulary[0] = 1.0
    vocabulary[rng.integers(1, 25, 3)] = np.nan
    present = np.flatnonzero(np.isfinite(unit_vectors(vocabulary)).all(axis=1))
    own = rng.choice(present, min(3, present.size), replace=False)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(covariance, "_WORDS_AT_ONCE", at_once)
        assert enlarged([own], vocabulary, num)[0].tolist() == _neighbours(own, vocabulary, num)


@pytest.mark.parametrize(
    ("own", "num", "message"),
    [
        ([0], -1, "num_neighbours=-1: must be 0 or more"),
        ([], 1, "one or more rows of the 40"),
        ([0, -1], 1, "one or more rows of the 40"),
        ([0, 40], 1, "one or more rows of the 40"),
        ([3, 4, 5], 1, r"rows \[3, 5\] of the vocabulary have no vector"),
    ],
)
def test_refused_sets(own, num, message):
    vocabulary = _vectors(7)
    vocabulary[3], vocabulary[5] = np.nan, 0.0
    with pytest.raises(ValueError, match=message):
        enlarged([np.array(own, dtype=np.int64)], vocabulary, num)
