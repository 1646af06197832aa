"""Means over pools of instances with resamples of them, and by how many models a decoy was adopted."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tiltmeter.jobs.classifiers.intervals import resampled_texts, with_interval
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.intervals import Scale
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.resampling import Estimate
from tiltmeter.operators.statistics.text_intervals import ResampleSettings
from tiltmeter.operators.statistics.units import each
from tiltmeter.storage.store.ledger import TableRef


class PoolResample:
    """Means over pools, and over resamples of them: the same for all methods, so that these are compared in pairs.

    Args:
        config: of the unit: ``intervals``, ``seed``, ``decoy`` and ``pools``, what tells each of them from others.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._num_pools = len(config["pools"])
        self._units = each(self._num_pools, "pool of instances")
        self._counts, self._scheme = resampled_texts(config["pools"], config["decoy"], config, self._units)
        self._intervals: ResampleSettings = config["intervals"]

    def mean(self, values: FloatArray) -> FloatArray:
        """Of ``[pools, ...]``."""
        return _rounded(values.sum(axis=0) / self._num_pools)

    def means(self, values: FloatArray) -> FloatArray:
        """``[resamples, ...]``."""
        return _rounded(self._counts @ values / self._num_pools)

    def with_interval(self, name: str, by_model: FloatArray, scale: Scale) -> Row:
        """The mean of ``[models, pools]`` and the ends of its interval, as columns.

        Models see the same pools, and others that are trained again would differ as they do; one alone says nothing of
        that.
        """
        values, seeds = by_model.mean(axis=0), by_model.mean(axis=1)
        estimate = Estimate(float(self.mean(values)), self.means(values), self._num_pools)
        result = mean(_rounded(values), self._units, level=self._intervals.level, scale=scale, seeds=_rounded(seeds))
        return with_interval(name, result, estimate, self._intervals, scale, self._scheme)


def pool_names(pools: Sequence[TableRef]) -> list[str]:
    """What tells each pool of instances from others: what these say."""
    return [pool.columns["text"] for pool in pools]


def _rounded(values: FloatArray) -> FloatArray:
    """So that last bits tell no two equal means apart."""
    return np.asarray(np.round(values, 12))


def adopted_by(answers: Sequence[bool | None]) -> dict[str, Any]:
    """The columns that say by how many models a decoy was adopted.

    Args:
        answers: of each model; None where it could not be tested.
    """
    num, adopted = len(answers), sum(answer is True for answer in answers)
    status = "ok" if adopted == num else "partly_adopted" if adopted else "not_adopted"
    reason = "" if adopted == num else f"{adopted} of {num} models have adopted the decoy"
    is_most = 2 * adopted > num
    return {"num_models": num, "num_adopted": adopted, "adopted": is_most, "status": status, "reason": reason}
