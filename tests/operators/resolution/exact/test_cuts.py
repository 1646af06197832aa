import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiltmeter.operators.resolution.exact.cuts import Cuts, triangles, two_partitions

seeds = st.integers(0, 2**32 - 1)


def _point(seed: int, num_nodes: int = 7) -> np.ndarray:
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.3, 0.5, 0.7, 1.0], (num_nodes, num_nodes))
    return np.triu(values, 1) + np.triu(values, 1).T


def _sums(cuts: Cuts, x: np.ndarray) -> np.ndarray:
    terms = cuts.coefficients * x[cuts.left, cuts.right]
    return np.array([terms[start:end].sum() for start, end in zip(cuts.starts, cuts.starts[1:], strict=False)])


def _partition(seed: int, num_nodes: int = 7) -> np.ndarray:
    labels = np.random.default_rng(seed).integers(0, 4, num_nodes)
    return (labels[:, np.newaxis] == labels) * (1.0 - np.eye(num_nodes))


@given(seeds, seeds)
def test_partitions_satisfy_what_a_point_violates(point: int, partition: int) -> None:
    x, pays = _point(point), _point(point + 1) > 0.4
    for cuts, least in (triangles(x, pays, 100, least=1e-6), 1e-6), (two_partitions(x, 100, least=0.05), 0.05):
        assert (_sums(cuts, x) > cuts.limits + least - 1e-12).all()
        assert (_sums(cuts, _partition(partition)) <= cuts.limits).all()


@given(seeds, st.integers(1, 10))
def test_most_violated_triangle_of_each_pair(seed: int, most: int) -> None:
    x, pays = _point(seed), _point(seed + 1) > 0.4
    nodes = range(len(x))
    violations = [
        max(
            (x[i, j] + x[j, k] - x[i, k] - 1.0 for j in nodes if j not in (i, k) and (pays[i, j] or pays[j, k])),
            default=0.0,
        )
        for i in nodes
        for k in range(i + 1, len(x))
    ]
    expected = sorted((violation for violation in violations if violation > 0.1), reverse=True)[:most]
    found = triangles(x, pays, most, least=0.1)
    assert _sums(found, x) - found.limits == pytest.approx(expected)


def test_two_nodes_against_three() -> None:
    # x(S:T) - x(S) - x(T) = 6/2 - 0 - 0, of which min(2, 3) = 2 are allowed.
    x = np.zeros((5, 5))
    x[:2, 2:] = x[2:, :2] = 0.5
    found = two_partitions(x, 1, least=0.1)
    assert found.number == 1
    assert found.limits.tolist() == [2.0]
    assert found.coefficients.sum() == 6 - 1 - 3
    assert _sums(found, x).tolist() == [3.0]


def test_nothing_to_separate_in_a_partition() -> None:
    x = _partition(3)
    assert triangles(x, x > 0.5, 10, least=1e-6).number == 0
    found = two_partitions(x, 10, least=1e-3)
    assert found.number == 0
    assert found.starts.tolist() == [0]
