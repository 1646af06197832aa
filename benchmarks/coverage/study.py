"""Values of all corpora and variants, and what becomes of them under an interval and a target."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from benchmarks.coverage import arithmetic
from benchmarks.coverage.arithmetic import Method, Share
from benchmarks.coverage.quantities import Values, arrays
from benchmarks.coverage.training import WHOLE
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.gender.direction import scale
from tiltmeter.operators.statistics.intervals import DEFAULT_METHOD, LINEAR, Interval, fisher

KINDS = {
    "pse": "PSE of an occupation",
    "weat": "effect size of an association test",
    "bias": "bias of a profession",
    "direct_bias": "direct bias",
}
"""Of quantities; the JND, which is itself a spread of replicas, has its own intervals."""

_NUM_COMPARED = 32

SCALES = {"pse": LINEAR, "bias": scale("bias"), "direct_bias": scale("direct_bias")}
"""That their intervals are made on; that of an effect size depends on the sizes of its sets."""


class Recipe(NamedTuple):
    """How an interval is made.

    Attributes:
        variant: of resampling.
        method: from replicas to an interval.
        num_replicas: the first ones.
        averages_starts: whether the estimate is the mean over all starts.
        factor: how many times as wide on both sides.
    """

    variant: str
    method: Method
    num_replicas: int
    averages_starts: bool = False
    factor: float = 1.0


class Case(NamedTuple):
    """One kind of quantity in one corpus: intervals, and the values that they are held against.

    Attributes:
        interval: ``[samples, quantities]``.
        estimates: ``[samples, quantities]``.
        whole: ``[quantities]`` of all samples together; NaN where that was not measured.
    """

    interval: Interval
    estimates: FloatArray
    whole: FloatArray


TARGETS: Mapping[str, Callable[[Case], FloatArray]] = {
    "expected value": lambda case: arithmetic.holds_expected_value(case.interval, case.estimates),
    "mean of the others": lambda case: arithmetic.holds(case.interval, arithmetic.mean_of_others(case.estimates)),
    "another sample": lambda case: arithmetic.holds_others(case.interval, case.estimates),
    "all samples together": lambda case: arithmetic.holds(case.interval, case.whole),
    "its own estimate": lambda case: arithmetic.holds(case.interval, case.estimates),
}


@dataclass(frozen=True)
class Study:
    """Values by corpus and variant.

    Attributes:
        rows: ``corpus``, ``variant``, and the columns of :func:`.quantities.table`.
    """

    rows: pl.DataFrame

    @cached_property
    def corpora(self) -> list[str]:
        """In the order of the rows."""
        return self.rows["corpus"].unique(maintain_order=True).to_list()

    @cached_property
    def _parts(self) -> dict[tuple[Any, ...], Values]:
        of_samples = self.rows.filter(pl.col("sample") != WHOLE)
        keys = ("corpus", "variant", "kind")
        return {key: arrays(rows) for key, rows in of_samples.partition_by(keys, as_dict=True).items()}

    def values(self, corpus: str, variant: str, kind: str) -> Values | None:
        """Of the samples; None where there are none of the kind."""
        return self._parts.get((corpus, variant, kind))

    def whole(self, corpus: str, kind: str, names: Sequence[str]) -> FloatArray:
        """``[quantities]`` of all samples together."""
        of_whole = (pl.col("sample") == WHOLE) & (pl.col("replica") == 0)
        found = self.rows.filter(pl.col("corpus") == corpus, pl.col("kind") == kind, of_whole)
        by_name = dict(zip(found["name"], found["value"], strict=True))
        return np.array([by_name.get(name, np.nan) for name in names])

    def case(self, corpus: str, kind: str, recipe: Recipe) -> Case | None:
        """None where the corpus has no such quantity, or fewer replicas."""
        values = self.values(corpus, recipe.variant, kind)
        if values is None or values.replicas.shape[-1] < recipe.num_replicas:
            return None
        if recipe.averages_starts and len(values.starts) == 1:
            return None
        estimates = arithmetic.mean(values.starts, axis=0) if recipe.averages_starts else values.estimates
        interval = interval_of(kind, recipe.method, estimates, values.first(recipe.num_replicas))
        interval = arithmetic.widened(interval, recipe.factor)
        return Case(interval, estimates, self.whole(corpus, kind, values.names))

    def cases(self, corpora: Sequence[str], kinds: Sequence[str], recipe: Recipe) -> Iterator[Case]:
        """Those that there are."""
        cases = (self.case(corpus, kind, recipe) for corpus in corpora for kind in kinds)
        return (case for case in cases if case)

    def coverage(self, corpora: Sequence[str], kinds: Sequence[str], recipe: Recipe, target: str) -> Share:
        """How many intervals hold their target."""
        held = [[TARGETS[target](case) for case in self.cases([corpus], kinds, recipe)] for corpus in corpora]
        return arithmetic.share([np.concatenate(parts, axis=1) for parts in held if parts])

    def needed_factor(self, corpora: Sequence[str], kinds: Sequence[str], recipe: Recipe) -> float:
        """How many times as wide the intervals must be to hold 95 % of the expected values."""
        cases = list(self.cases(corpora, kinds, recipe))
        if not cases:
            return np.nan
        intervals = [arithmetic.widened(case.interval, arithmetic.noise_of_others(case.estimates)) for case in cases]
        low, high = (np.concatenate([each[end].ravel() for each in intervals]) for end in (0, 1))
        targets = np.concatenate([arithmetic.mean_of_others(case.estimates).ravel() for case in cases])
        return arithmetic.needed_factor(Interval(low, high, np.array([])), targets)

    def jnds(self, corpus: str, variant: str, num_replicas: int) -> Case | None:
        """JNDs, less a constant, and their intervals by chi-square, on a logarithmic scale."""
        values = self.values(corpus, variant, "pse")
        if values is None or values.replicas.shape[-1] < num_replicas:
            return None
        replicas = values.replicas[..., :num_replicas]
        low, high, num = arithmetic.spread_interval(replicas)
        estimates = np.log(arithmetic.standard_deviation(replicas))
        return Case(Interval(np.log(low), np.log(high), num), estimates, np.full(len(values.names), np.nan))

    def proportions(self, corpus: str, variant: str, kind: str, like: str) -> list[float] | None:
        """What should not depend on the size of vectors, in the quantities that both variants have.

        Returns:
            The spread of samples over that of replicas; the shares of the product's intervals that hold the mean of
            the other samples, and another sample. None where a variant is missing.
        """
        one, other = self.values(corpus, variant, kind), self.values(corpus, like, kind)
        if one is None or other is None:
            return None
        values = one.narrowed([name for name in one.names if name in other.names]).first(_NUM_COMPARED)
        estimates = values.estimates
        ratios = arithmetic.ratios(arithmetic.sample_spread(estimates), arithmetic.replica_spread(values.replicas))
        case = Case(interval_of(kind, DEFAULT_METHOD, estimates, values), estimates, np.array(np.nan))
        shares = [arithmetic.share([TARGETS[name](case)]) for name in ("mean of the others", "another sample")]
        return [ratios.mean, *(share.value for share in shares)]


def interval_of(kind: str, method: Method, estimates: FloatArray, values: Values) -> Interval:
    """``[samples, quantities]`` intervals by the replicas of values, on the scale that the product makes them on."""
    if kind in SCALES:
        return arithmetic.interval(method, estimates, values.replicas, values.errors, SCALES[kind])
    low, high = np.full((2, *estimates.shape), np.nan)
    for limit in np.unique(values.limits[np.isfinite(values.limits)]):
        part = arithmetic.interval(method, estimates, values.replicas, values.errors, fisher(limit))
        low, high = (np.where(values.limits == limit, *ends) for ends in ((part.low, low), (part.high, high)))
    return Interval(low, high, np.isfinite(values.replicas).sum(axis=-1))
