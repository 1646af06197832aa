import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fixtures.problems import entropy_shares, pair_shares
from tiltmeter.operators.resolution.metrics import partition_metrics

labels = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 4)), min_size=1, max_size=12).map(
    lambda rows: np.array(rows).T
)


@given(labels)
def test_shares_of_pairs_and_of_entropies(both: np.ndarray) -> None:
    metrics = partition_metrics(*both)
    rows = [*zip(*both.tolist(), strict=True)]
    expected = pair_shares(rows)
    for name in ("precision", "recall", "f1"):
        assert getattr(metrics, name) == pytest.approx(math.nan if (e := expected[name]) is None else e, nan_ok=True)
    if min(len({*side}) for side in zip(*rows, strict=True)) > 1:
        entropies = entropy_shares(rows)
        assert metrics[3:6] == pytest.approx(tuple(entropies.values()), abs=1e-9)


@given(labels)
def test_roles_and_names(both: np.ndarray) -> None:
    found, gold = both
    metrics, swapped = partition_metrics(found, gold), partition_metrics(gold * 7 - 3, found)
    expected = [swapped[place] for place in (1, 0, 2, 4, 3, 5, 6, 7)]
    assert list(metrics) == pytest.approx(expected, nan_ok=True)
    assert metrics.fowlkes_mallows == pytest.approx(np.nan_to_num(math.sqrt(metrics.precision * metrics.recall)))


def test_published_example() -> None:
    assert set(partition_metrics(np.array([4, 4, 1, 1, 2]), np.array([0, 0, 1, 1, 2]))) == {1.0}
    halves = partition_metrics(np.zeros(100_000, dtype=np.int32), np.repeat([0, 1], 50_000))  # pairs beyond int32
    assert halves.precision == pytest.approx(2 * 50_000 * 49_999 / (100_000 * 99_999))
    # Manning, Raghavan and Schuetze 2008, Introduction to Information Retrieval, figure 16.4: of 17 points
    # in clusters xxxxxo, xoooov and xxvvv, TP = 20, FP = 20 and FN = 24.
    gold = np.array([*"xxxxxo", *"xoooov", *"xxvvv"])
    classes = np.unique(gold, return_inverse=True)[1]
    metrics = partition_metrics(np.repeat([0, 1, 2], [6, 6, 5]), classes)
    assert metrics.precision == 20 / 40
    assert metrics.recall == 20 / 44
    assert metrics.f1 == pytest.approx(0.476, abs=5e-4)


def test_refusals() -> None:
    with pytest.raises(ValueError, match=r"clusters of shape \(2,\) and gold of shape \(3,\): must be \[records\]"):
        partition_metrics(np.zeros(2, dtype=np.int64), np.zeros(3, dtype=np.int64))
    with pytest.raises(ValueError, match="at least one; leave out records without a gold cluster"):
        partition_metrics(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
