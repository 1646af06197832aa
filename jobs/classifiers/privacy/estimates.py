"""Numbers of a corpus with what resamples of its texts make of them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.privacy.config import Resamples
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import percentile_interval
from tiltmeter.operators.statistics.resampling import resampled_counts

Values = NDArray[np.float64]


class Estimate(NamedTuple):
    """Attributes:
    value: of the texts as they are.
    resamples: ``[resamples]``.
    """

    value: float
    resamples: Values


def mean_estimate(values: Values, sentences: NDArray[np.int64], corpus: str, config: Mapping[str, Any]) -> Estimate:
    """Mean over the sentences that have a value."""
    has = ~np.isnan(values)
    if not has.any():
        return Estimate(np.nan, np.full(config["intervals"].num_resamples, np.nan))
    counts = explained_counts(len(sentences), corpus, config)[:, has]
    with np.errstate(invalid="ignore"):
        return Estimate(float(values[has].mean()), (counts @ values[has]) / counts.sum(axis=1))


def explained_counts(num: int, corpus: str, config: Mapping[str, Any]) -> NDArray[np.int32]:
    """How often each resample has each of the explained sentences: ``[resamples, sentences]``."""
    return resamples(np.zeros(num, dtype=np.int64), f"{corpus} explained", config)


def resamples(strata: NDArray[np.int64], about: str, config: Mapping[str, Any]) -> NDArray[np.int32]:
    """How often each resample has each text: ``[resamples, texts]``."""
    blocks = resampled_counts(strata, config["seed"], document_key(about), config["intervals"].num_resamples)
    return np.concatenate(list(blocks))


def with_interval(name: str, estimate: Estimate, intervals: Resamples) -> dict[str, float | None]:
    """A column with the ends of its interval."""
    found = percentile_interval(estimate.resamples, intervals.level)
    values = {name: estimate.value, f"{name}_low": float(found.low), f"{name}_high": float(found.high)}
    return {key: None if np.isnan(value) else value for key, value in values.items()}
