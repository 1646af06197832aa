import numpy as np
import pytest

from tiltmeter.operators.statistics.replicas import Replicated, spread, taken_apart


def test_embeddings_are_told_apart_along_any_axis():
    values = np.arange(24).reshape(2, 6, 2)
    original, replicas, starts = taken_apart(values, num_replicas=3, axis=1)
    assert original.tolist() == values[:, 0].tolist()
    assert replicas.tolist() == values[:, 1:4].tolist()
    assert starts.tolist() == values[:, [0, 4, 5]].tolist()
    alone = taken_apart(values, num_replicas=5, axis=1)
    assert (alone.replicas.shape[1], alone.starts.shape[1]) == (5, 1)


def test_what_training_adds_is_taken_off_what_replicas_spread():
    rng = np.random.default_rng(0)
    starts, replicas = rng.normal(0.0, 3.0, 4000), rng.normal(0.0, 5.0, 4000)
    found = spread(Replicated(starts[0], replicas, starts))
    assert (found.training, found.sampling) == pytest.approx((3.0, 4.0), rel=0.05)
    assert spread(Replicated(replicas[0], starts, replicas)).sampling == 0.0


def test_one_start_tells_nothing_of_training_and_missing_values_are_left_out():
    nan = np.nan
    assert np.isnan(spread(Replicated(np.array(1.0), np.array([1.0, 2.0]), np.array([1.0])))).all()
    found = spread(Replicated(np.array(1.0), np.array([1.0, nan, 3.0]), np.array([1.0, np.inf, 1.0])))
    assert (found.training, found.sampling) == pytest.approx((0.0, 2.0**0.5))
