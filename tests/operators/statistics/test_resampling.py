"""Texts, clusters and keys drawn again, and embeddings told apart into replicas and starts."""

import numpy as np
import pytest

from tiltmeter.operators.statistics import resampling
from tiltmeter.operators.statistics.replicas import Replicated, spread, taken_apart
from tiltmeter.operators.statistics.resampling import effective_number, resampled_cluster_mean, resampled_counts


def drawn(strata, num_replicates=1000, seed=0, about=1, clusters=None, keys=None):
    blocks = resampled_counts(np.array(strata), seed, about, num_replicates, clusters, keys)
    return np.concatenate(list(blocks))


def some_keys(num, seed=0):
    return np.random.default_rng(seed).integers(0, 2**64, num, dtype=np.uint64)


KEYED = pytest.mark.parametrize("keyed", [False, True])


@KEYED
def test_every_replicate_has_as_many_texts_of_each_stratum(keyed):
    strata = np.array([5, 2, 2, 5, 9, 5, 5])
    counts = drawn(strata, keys=some_keys(7) if keyed else None)
    assert counts.shape == (1000, 7)
    assert counts.dtype == np.int32
    for stratum, size in ((2, 2), (5, 4), (9, 1)):
        assert (counts[:, strata == stratum].sum(axis=1) == size).all()


@pytest.mark.long
@KEYED
def test_counts_are_multinomial(keyed):
    # Each of n = 10 texts is drawn 10 x 1/10 times, with variance n p (1 - p) = 0.9 and covariance -n p^2 = -0.1.
    counts = drawn([0] * 10 + [1] * 5, num_replicates=20_000, keys=some_keys(15) if keyed else None)
    covariance = np.cov(counts[:, :10].T)
    assert counts[:, :10].mean(axis=0) == pytest.approx(np.ones(10), abs=0.03)
    assert np.diag(covariance) == pytest.approx(np.full(10, 0.9), abs=0.05)
    assert covariance[~np.eye(10, dtype=bool)] == pytest.approx(np.full(90, -0.1), abs=0.03)
    assert np.abs(np.cov(counts.T)[:10, 10:]).max() < 0.03


def test_keyed_units_are_drawn_alike_in_any_order():
    keys, order = some_keys(50), np.random.default_rng(1).permutation(50)
    strata = np.arange(50) % 3
    np.testing.assert_array_equal(drawn(strata, keys=keys)[:, order], drawn(strata[order], keys=keys[order]))


@pytest.mark.parametrize("num", [100, 400])
def test_two_sets_that_share_most_units_draw_these_alike(num):
    """Of n draws, about one takes the unit that is gone, one that which came instead, and one is that of another."""
    keys = some_keys(num + 1)
    before, after = (drawn([0] * num, num_replicates=500, keys=part) for part in (keys[:-1], keys[1:]))
    moved = np.abs(before[:, 1:] - after[:, :-1]).sum(axis=1) / 2
    assert moved.mean() < 3.2
    by_place = [drawn([0] * num, num_replicates=500, about=about) for about in (1, 2)]
    assert (np.abs(by_place[0] - by_place[1]).sum(axis=1) / 2).mean() > 0.4 * num


def test_two_units_of_one_key_are_refused():
    with pytest.raises(ValueError, match="key 7 is that of two units"):
        drawn([0, 0, 0], keys=np.array([7, 5, 7], dtype=np.uint64))


def test_texts_of_a_cluster_are_drawn_together():
    conversations = np.array([0, 0, 1, 2, 2, 2, 0])
    counts = drawn([0, 0, 0], clusters=conversations)
    units = drawn([0, 0, 0])
    np.testing.assert_array_equal(counts, units[:, conversations])
    assert (units.sum(axis=1) == 3).all()


def test_the_size_of_blocks_changes_nothing_and_is_that_of_the_texts_of_clusters(monkeypatch):
    whole = drawn(np.arange(30) % 3, num_replicates=50)
    monkeypatch.setattr(resampling, "_MAX_COUNTS", 210)
    blocks = list(resampled_counts(np.arange(30) % 3, 0, 1, 50))
    assert [len(block) for block in blocks] == [7] * 7 + [1]
    np.testing.assert_array_equal(np.concatenate(blocks), whole)
    monkeypatch.setattr(resampling, "_MAX_COUNTS", 100)
    blocks = resampled_counts(np.zeros(2, int), 0, 1, 5, np.array([0, 1] * 25))
    assert [block.shape for block in blocks] == [(2, 50), (2, 50), (1, 50)]


@KEYED
def test_a_replicate_depends_on_its_key_alone(keyed):
    strata, keys = np.arange(40) % 4, some_keys(40) if keyed else None
    few = drawn(strata, num_replicates=3, keys=keys)
    np.testing.assert_array_equal(few, drawn(strata, num_replicates=9, keys=keys)[:3])
    np.testing.assert_array_equal(few, drawn(strata + 17, num_replicates=3, keys=keys))
    assert (few != drawn(strata, num_replicates=3, seed=1, keys=keys)).any()
    assert (few != drawn(strata, num_replicates=3, about=2, keys=keys)).any()
    assert (few[0] != few[1]).any()


def test_keys_may_be_any_64_bits_and_there_may_be_no_texts_and_no_replicates():
    assert drawn([0, 0], num_replicates=1, seed=2**64 - 1, about=2**64 - 1).sum() == 2
    assert drawn([], num_replicates=2).shape == (2, 0)
    assert list(resampled_counts(np.zeros(3, int), 0, 1, 0)) == []


def test_a_mean_of_clusters_is_that_of_all_texts_of_those_that_are_drawn():
    rng = np.random.default_rng(0)
    clusters, values = rng.integers(0, 6, 40), rng.normal(size=40)
    [counts] = resampled_counts(np.zeros(6, int), 0, 1, 20)
    estimate = resampled_cluster_mean(values, clusters, counts)
    assert estimate.value == pytest.approx(values.mean())
    assert estimate.num_texts == pytest.approx(effective_number(np.bincount(clusters)))
    for drawn, mean in zip(counts, estimate.resamples, strict=True):
        assert mean == pytest.approx(np.repeat(values, drawn[clusters]).mean())


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
