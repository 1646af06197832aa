"""Ratings: all systems against each other, and every round trip against the original texts."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import NUM_ITEMS
from tiltmeter.jobs.runtime.table import Estimate, tables_of
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.jobs.sentiment.rating.config import RatingRun
from tiltmeter.jobs.sentiment.rating.raw_scores import TESTED, RateSystem
from tiltmeter.jobs.sentiment.rating.scores import Rated
from tiltmeter.jobs.sentiment.rating.tables import (
    ORIGINAL,
    Comparisons,
    Effects,
    Ratings,
    RawScores,
    Resamples,
    Tests,
    infinite_table,
)
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.sentiment import ranking
from tiltmeter.operators.sentiment.ranking import Cut, complete_order, partial_order
from tiltmeter.operators.sentiment.rejection import largest_score
from tiltmeter.operators.statistics import resampling
from tiltmeter.operators.statistics.intervals import LINEAR, Method, Scale
from tiltmeter.operators.statistics.text_intervals import cut, resampled_interval
from tiltmeter.storage.store.ledger import Store, TableRef

_KEYS = ("variant", "group", "protected", "system", "measure")

Scored = Sequence[tuple[RawScores, Resamples]]
"""Raw scores, with what each is drawn from."""


def rate_systems(run: Run[RatingRun, Any], scores: Mapping[Rated, TableRef], texts: TableRef | None) -> None:
    """Publish tables ``tests``, ``effects``, ``raw_scores``, ``ratings`` and ``comparisons``.

    Args:
        texts: table of the number of each sentence, what it says and what it is made from; None if nobody knows.
    """
    config, seed = run.config.designed_rating, run.config.seed
    done = run.do(
        [
            RateSystem(
                label=f"{system} on {variant}",
                group=f"{system} on {variant}",
                scores=ref,
                texts=texts,
                variant=variant,
                system=system,
                config=config.of_raw_scores,
                decimals=config.rounding(run.config.kinds.get(system)),
                seed=seed,
            )
            for (variant, system), ref in scores.items()
        ],
        publish=False,
    )
    run.publish_all({"tests": done.refs(Tests), "effects": done.refs(Effects)})
    run.do(
        [
            OrderSystems(
                label="ratings",
                group="ratings",
                raw_scores=done.refs(RawScores),
                resampled=done.refs(Resamples),
                measure=config.measure,
                num_levels=config.num_levels,
                cut=config.cut,
                level=config.level,
                interval=config.interval,
                weights=config.rules.weights,
                seed=seed,
            )
        ],
        in_driver=True,
    )


class OrderSystems(Work, unit=f"order/{ranking.VERSION}", stage="order", makes=[RawScores, Ratings, Comparisons]):
    """Raw scores with their intervals, the systems in order by them, and what round trips change."""

    raw_scores: Sequence[TableRef]
    resampled: Sequence[TableRef]
    measure: Literal["auto", "wrs", "die"]
    num_levels: int
    cut: Cut
    level: float
    interval: Method
    weights: Sequence[float]
    seed: int

    def rows(self, store: Store) -> Iterator[RawScores | Ratings | Comparisons]:
        """Of all systems."""
        rows = [row for ref in self.raw_scores for row in RawScores.read(store, ref)]
        drawn = [row for ref in self.resampled for row in Resamples.read(store, ref)]
        yield from self.order(list(zip(rows, drawn, strict=True)))

    def tables(self, store: Store) -> Tables:
        """With infinite scores."""
        return tables_of(self.rows(store), self.makes, made=infinite_table)

    def order(self, scored: Scored) -> Iterator[RawScores | Ratings | Comparisons]:
        """Rows of all tables, of raw scores without intervals."""
        ratings = list(ordered([row for row, _ in scored], self.measure, self.num_levels, self.cut))
        yield from ratings
        yield from self._comparisons(scored, ratings)
        for row, drawn in scored:
            if row.status == "ok":
                row.raw_score = self._raw_score(row, drawn)
            yield row

    def _raw_score(self, row: RawScores, drawn: Resamples) -> Estimate:
        highest = largest_score(row.num_tests, self.weights) if row.measure == "wrs" else np.inf
        resamples = np.array(drawn.values, dtype=np.float64)
        items = {"keyed_by": "text"} if drawn.items is None else {"items": drawn.items}
        scheme = {"paired_by": "items", "seed": self.seed, NUM_ITEMS: drawn.num_items, **items}
        estimate = self._estimate(_value(row), resamples, cut(0.0, highest))
        return replace(estimate, resamples=resamples, scheme=scheme | {"operator": resampling.VERSION})

    def _estimate(self, value: float, resamples: FloatArray, scale: Scale) -> Estimate:
        interval = resampled_interval(resampling.Estimate(value, resamples), self.level, self.interval, scale)
        return Estimate(value, float(interval.low), float(interval.high))

    def _comparisons(self, scored: Scored, ratings: Sequence[Ratings]) -> Iterator[Comparisons]:
        """Every round trip against the original, by both measures."""
        rated = {_key(row): row.rating for row in ratings if row.decides}
        by_key = {_key(row): (row, drawn) for row, drawn in scored}
        for key, after in by_key.items():
            before = by_key.get((ORIGINAL, *key[1:]))
            if key[0] != ORIGINAL and before is not None:
                row = Comparisons(**_columns(key))
                row.original_rating, row.rating = rated.get((ORIGINAL, *key[1:])), rated.get(key)
                yield self._change(row, before, after)

    def _change(
        self, row: Comparisons, before: tuple[RawScores, Resamples], after: tuple[RawScores, Resamples]
    ) -> Comparisons:
        old, new = _value(before[0]), _value(after[0])
        row.original_score, row.raw_score = old, new
        if not np.isfinite([old, new]).all():
            return row.fail("undefined", "a raw score is undefined or infinite")
        with np.errstate(invalid="ignore"):
            differences = np.array(after[1].values, dtype=np.float64) - np.array(before[1].values, dtype=np.float64)
        row.change = self._estimate(new - old, differences, LINEAR)
        row.percent_change = 100.0 * (new - old) / old if old else np.nan
        return row


def _key(row: RawScores | Ratings) -> tuple[str, ...]:
    return tuple(getattr(row, name) for name in _KEYS)


def _columns(key: Sequence[str]) -> dict[str, Any]:
    return dict(zip(_KEYS, key, strict=True))


def _value(row: RawScores) -> float:
    return np.nan if row.raw_score is None else row.raw_score.value


def ordered(
    rows: Sequence[RawScores], measure: Literal["auto", "wrs", "die"], num_levels: int, cut: Cut
) -> Iterator[Ratings]:
    """The systems by group, variant and attribute, by the measure that decides; by both where only a test says which.

    It is the impact where a group is confounded for all of its systems.
    """
    independent = {(row.group, row.protected) for row in rows if not row.is_confounded}
    parts: dict[tuple[bool, str, str, str], list[RawScores]] = {}
    for row in rows:
        by_design = "wrs" if (row.group, row.protected) in independent else "die"
        decides = row.measure == (by_design if measure == "auto" else measure)
        if decides or (measure == "auto" and row.design == TESTED):
            parts.setdefault((decides, row.variant, row.group, row.protected), []).append(row)
    for (decides, *_), part in sorted(parts.items(), key=lambda item: not item[0][0]):
        raw = np.array([_value(row) for row in part])
        places = zip(part, partial_order(raw).tolist(), complete_order(raw, num_levels, cut).tolist(), strict=True)
        for row, rank, rating in sorted(places, key=lambda place: place[1] or len(part) + 1):
            yield Ratings(
                **_columns(_key(row)),
                raw_score=_value(row),
                rank=rank or None,
                rating=rating or None,
                num_levels=num_levels,
                decides=decides,
                status=row.status,
                reason=row.reason,
            )
