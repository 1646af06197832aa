"""Numbers of texts with their intervals, as columns.

Whoever asks says what was drawn independently: texts, or whoever wrote or said several of them. Intervals are those of
:mod:`.statistics.means`; resamples are there for later runs, which pair theirs with them, and for other methods.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.jobs.runtime import table
from tiltmeter.jobs.runtime.draws import NUM_ITEMS, Scheme
from tiltmeter.operators.classifiers.influence.all_correct import Agreement
from tiltmeter.operators.classifiers.influence.clusters import Rate, SampledClusters
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.compute.keys import document_key
from tiltmeter.operators.statistics import resampling
from tiltmeter.operators.statistics.intervals import HOLDS_ITS_ESTIMATE, Method, Scale
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.resampling import Estimate, resampled_counts, resampled_mean
from tiltmeter.operators.statistics.text_intervals import (
    KeyedBy,
    KeyedResampleSettings,
    ResampleSettings,
    spread_out,
)
from tiltmeter.operators.statistics.units import Inferred, Units, kish
from tiltmeter.storage.store.identity import digest

MOST_DRAWS = 200
"""That a number leaves of its resamples: so many tell their spread to 5 %, and a curve has thousands of numbers."""

_MIN_ITEMS = 2


class TextEstimate(table.Estimate):
    """A number of texts, or of pools of them; ``interval`` of its column names what its units are."""

    @classmethod
    def fields(cls, about: table.Column) -> Iterable[pa.Field]:
        """The number, and the ends of its interval."""
        interval = f"the interval of {about.name} over {about.interval}, by intervals.interval; null of too few"
        return super().fields(replace(about, interval=interval))


class Resampled(NamedTuple):
    """Texts that are drawn.

    Attributes:
        counts: ``[resamples, texts]``, how often each resample has each.
        scheme: what the draws are keyed by.
    """

    counts: NDArray[np.int32]
    scheme: Scheme


def check_method(interval: Method, *, has_groups: bool) -> None:
    """Refuse intervals of resamples alone where whole groups are drawn: of ten, percentiles miss 12 % in place of 5.

    Raises:
        ValueError: with the setting to change.
    """
    if has_groups and interval not in HOLDS_ITS_ESTIMATE:
        raise ValueError(
            f"intervals.interval={interval}: must be {' or '.join(sorted(HOLDS_ITS_ESTIMATE))} with data.group: "
            "of few groups, resamples spread too little; set it so, or data.group to null"
        )


def resampled_texts(
    texts: Sequence[Any],
    about: str,
    intervals: KeyedResampleSettings,
    seed: int,
    units: Units,
    strata: NDArray[np.integer] | None = None,
) -> Resampled:
    """Resamples of texts or of groups of them, as many of every stratum as it has.

    Args:
        texts: as for :func:`drawn_texts`.
        about: what the draws are keyed by.
        intervals: how many, and what tells texts apart.
        seed: of the run.
        units: of the texts; all texts of one are drawn together.
        strata: ``[texts]``, which one each is in, if texts are the units; None: all in one.
    """
    draws = seed, document_key(about), intervals.num_resamples
    if units.num == len(texts):
        strata = np.zeros(len(texts), dtype=np.int64) if strata is None else strata
        blocks = resampled_counts(strata, *draws, keys=intervals.keys(texts))
    else:
        keys = intervals.cluster_keys(texts, units.codes)
        blocks = resampled_counts(np.zeros(units.num, dtype=np.int64), *draws, units.codes, keys)
        texts = [[text, unit] for text, unit in zip(texts, units.codes.tolist(), strict=True)]
    scheme = drawn_texts(texts, seed, about, intervals.keyed_by)
    return Resampled(np.concatenate(list(blocks)), scheme)


def resampled_by(values: FloatArray, drawn: Resampled, units: Units, num: float | None = None) -> Estimate:
    """Mean over the texts that have a value, which counts for as many units of one size as would spread as much.

    Args:
        values: ``[texts]``; NaN where a text has none.
        drawn: of these texts.
        units: of the texts.
        num: that it counts for, where texts do not weigh alike.
    """
    return resampled_mean(values, drawn.counts, kish(units.part(~np.isnan(values)).sizes) if num is None else num)


def drawn_texts(texts: Sequence[Any], seed: int, about: str, keyed_by: KeyedBy = "place") -> Scheme:
    """What tells resamples of texts from others: two runs with the same scheme draw the same texts alike.

    Args:
        texts: what tells each of them from others, such as what it says, with the stratum in which it is drawn if there
            are several; in the order in which they are drawn.
        seed: of the run.
        about: what the draws are keyed by.
        keyed_by: beside that; by ``text``, it does not matter which others there are.
    """
    keys = {"seed": seed, "about": about, "operator": resampling.VERSION}
    items = {"items": digest(list(texts))} if keyed_by == "place" else {"keyed_by": keyed_by}
    return {"paired_by": "items", **items, **keys}


def mean_of_texts(
    name: str,
    values: FloatArray,
    texts: Sequence[Any],
    units: Units,
    intervals: KeyedResampleSettings,
    seed: int,
    scale: Scale,
    seeds: FloatArray | None = None,
) -> TextEstimate:
    """A mean over texts with its interval, and draws that are keyed by its name.

    Args:
        name: of the mean.
        values: ``[texts]``, at least one.
        texts: as for :func:`drawn_texts`.
        units: of the texts.
        seed: of the run.
        scale: of the mean.
        seeds: ``[models]``, the mean by each of several that differ in their random numbers; None: of one model.
    """
    drawn = resampled_texts(texts, name, intervals, seed, units)
    result = mean(values, units, level=intervals.level, scale=scale, seeds=seeds)
    return text_estimate(result, resampled_by(values, drawn, units), intervals, scale, drawn.scheme)


def text_estimate(
    result: Inferred, estimate: Estimate, intervals: ResampleSettings, scale: Scale, scheme: Scheme | None
) -> TextEstimate:
    """A number with its interval and its draws.

    Args:
        result: its interval by units.
        estimate: over the texts, or pools of them.
        intervals: how they are made; by ``percentile`` and the like, of the resamples alone.
        scale: of the number.
        scheme: of the resamples; None where nobody knows.
    """
    low, high = result.low, result.high
    if intervals.interval not in HOLDS_ITS_ESTIMATE:
        low, high = (float(end) for end in intervals.over(estimate, scale)[:2])
    value, num_items = float(estimate.value), estimate.num_texts
    # What is too few for an interval spreads by too little to judge a difference.
    if math.isnan(low) or (num_items is not None and num_items < _MIN_ITEMS):
        return TextEstimate(value, low, high)
    return TextEstimate(value, low, high, spread_out(estimate)[:MOST_DRAWS], _numbered(scheme, num_items))


def _numbered(scheme: Scheme | None, num_items: float | None) -> Scheme | None:
    """With how many items a number rests on, where anybody knows."""
    return scheme if scheme is None or num_items is None else {**scheme, NUM_ITEMS: float(num_items)}


def estimate_of(
    value: float, low: float, high: float, resamples: FloatArray, scheme: Scheme | None, num_items: float | None
) -> table.Estimate:
    """A number with its interval and its draws, for a column of a :class:`.table.Table`.

    Args:
        low, high: NaN where there is no interval.
        resamples: which spread as the number does; the first of them are kept, none where there are too few texts.
        scheme: of the resamples; None where nobody knows.
        num_items: texts, or groups of them, that the number rests on; None where nobody knows. One that is alone is in
            every resample, which then tell nothing of a difference, and leaves none.
    """
    if num_items is not None and num_items < _MIN_ITEMS:
        return table.Estimate(value, low, high)
    return table.Estimate(value, low, high, resamples[:MOST_DRAWS], _numbered(scheme, num_items))


@dataclass(frozen=True)
class ResampledClusters:
    """Clusters of texts that are drawn, for rates over the texts.

    Attributes:
        sampled: the resamples.
        scheme: what they are keyed by.
        num: clusters.
    """

    sampled: SampledClusters
    scheme: Scheme
    num: int

    @classmethod
    def of(
        cls,
        texts: Sequence[Any],
        units: Units,
        about: str,
        intervals: KeyedResampleSettings,
        seed: int,
        items: Sequence[Any] | None = None,
    ) -> Self:
        """Resamples.

        Args:
            texts: what tells each from others.
            units: of the texts; all texts of one are drawn together.
            about: what the draws are keyed by.
            intervals: how many, and what tells texts apart.
            seed: of the run.
            items: as for :func:`drawn_texts`; None: the texts and their units.
        """
        keys = intervals.cluster_keys(texts, units.codes)
        sampled = SampledClusters(units.num, intervals, seed, document_key(about), units.kind, keys)
        items = [texts, units.codes.tolist()] if items is None else items
        return cls(sampled, drawn_texts(items, seed, about, intervals.keyed_by), units.num)

    def estimate(self, rate: Rate | Agreement) -> table.Estimate:
        """A rate with its interval and resamples, none where it is over one cluster."""
        num = rate.num_clusters if isinstance(rate, Agreement) else self.num
        return estimate_of(rate.value, rate.low, rate.high, rate.resamples, self.scheme, num)

    def drawn(self, estimate: table.Estimate, rate: Rate) -> table.Estimate:
        """A number whose interval is by other means, with the resamples of a rate."""
        return estimate_of(estimate.value, estimate.low, estimate.high, rate.resamples, self.scheme, self.num)
