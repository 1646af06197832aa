"""Resamples of the texts of a corpus, and intervals over them."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tiltmeter.jobs.classifiers.privacy.config import Resamples
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics.intervals import percentile_interval
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts


def explained_counts(num: int, corpus: str, config: Mapping[str, Any]) -> NDArray[np.int32]:
    """How often each resample has each of the explained sentences: ``[resamples, sentences]``."""
    return resamples(np.zeros(num, dtype=np.int64), f"{corpus} explained", config)


def resamples(strata: NDArray[np.int64], about: str, config: Mapping[str, Any]) -> NDArray[np.int32]:
    """How often each resample has each text: ``[resamples, texts]``."""
    blocks = resampled_counts(strata, config["seed"], document_key(about), config["intervals"].num_resamples)
    return np.concatenate(list(blocks))


def with_interval(name: str, estimate: Estimate, intervals: Resamples) -> dict[str, float | None]:
    """A column with the ends of its interval."""
    interval = percentile_interval(estimate.resamples, intervals.level)
    values = {name: estimate.value, f"{name}_low": float(interval.low), f"{name}_high": float(interval.high)}
    return {key: None if np.isnan(value) else value for key, value in values.items()}
