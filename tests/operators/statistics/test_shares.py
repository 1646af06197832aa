import numpy as np
import pytest
from scipy import stats

from tiltmeter.operators.statistics.shares import clopper_pearson


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_ends_are_those_of_scipy(level):
    hits = np.arange(21)
    shares = clopper_pearson(hits, np.full(21, 20), level)
    for count in hits:
        interval = stats.binomtest(int(count), 20).proportion_ci(level, "exact")
        assert (shares.low[count], shares.high[count]) == pytest.approx(tuple(interval))


def test_nothing_is_known_of_a_share_of_nothing():
    share = clopper_pearson(0, 0)
    assert np.isnan([share.rate, share.low, share.high]).all()
