import numpy as np
import pytest

from tiltmeter.operators.psychophysics import psychometrics
from tiltmeter.operators.psychophysics.forced_choice import flip_points
from tiltmeter.operators.psychophysics.resamples import psychometrics_of


@pytest.fixture
def vectors():
    rng = np.random.default_rng(3)
    return rng.normal(size=(25, 4, 8)), rng.normal(size=(25, 8)), rng.normal(size=(25, 8))


def test_rows_are_those_of_the_flips_of_each_word(vectors):
    words, she, he = vectors
    words[2, 1] = np.nan
    flips = np.array([[flip_points(words[r, w], she[r], he[r]) for r in range(25)] for w in range(4)])
    expected = psychometrics_of(flips, seed=5, num_resamples=60, level=0.9)
    result = psychometrics(words, she, he, seed=5, num_resamples=60, level=0.9)
    for name, column in expected._asdict().items():
        assert getattr(result, name) == pytest.approx(column, nan_ok=True), name
    assert result.num_replicas.tolist() == [25, 24, 25, 25]


def test_shapes_that_do_not_fit_are_refused(vectors):
    words, she, he = vectors
    for wrong in ((words[0], she, he), (words, she[:, np.newaxis], he), (words, she, he[:5]), (words, she[0], he[0])):
        with pytest.raises(ValueError, match=r"must be \[replicas, words, dims\]"):
            psychometrics(*wrong)
