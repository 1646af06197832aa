"""Numbers of slices of one corpus against each other, by the draws that the run's own tables leave of them."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tiltmeter.jobs.embedding.slice_differences.tables import SliceDifferences, SliceTrends
from tiltmeter.jobs.embedding.tables import CorpusSlices
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import ORDER, row_key
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.designs.contrasts import against_others, contrasts, slope
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.tables import key_columns

_MOST_IN_PAIRS = 6
"""Slices that are held against each other two by two; of more, each is held against the others and has its trend."""

_LEAST_FOR_TREND = 3
_Row = SliceDifferences | SliceTrends


class _Number(NamedTuple):
    """What a number is of, but for the slice: its corpus, table, column and other key columns."""

    whole: str
    table: str
    column: str
    key: str


class _Known(NamedTuple):
    """A number in one slice."""

    slice: CorpusSlices
    value: float
    draws: Sequence[float]
    scheme: str | None


class CompareSlices(Work, unit="slice_differences/1", stage="compare slices", makes=[SliceDifferences, SliceTrends]):
    """Every number with draws: slices two by two, each against the mean of the others, and the slope over all.

    Attributes:
        names: of the tables that ``numbers`` are, one by one.
    """

    names: Sequence[str]
    slices: Sequence[TableRef]
    numbers: Sequence[TableRef]
    draws: Sequence[TableRef]

    def rows(self, store: Store) -> Iterator[_Row]:
        made = [row for number, known in self._numbers(store).items() for row in _rows(number, known)]
        for kind in self.makes:
            rows = [row for row in made if isinstance(row, kind) and np.isfinite(row.p)]
            for row, q in zip(rows, benjamini_hochberg(np.array([row.p for row in rows])), strict=True):
                row.q = q
                yield row

    def _numbers(self, store: Store) -> dict[_Number, list[_Known]]:
        """Numbers of slices that have draws, slices in their order."""
        slices = [row for ref in self.slices for row in CorpusSlices.read(store, ref) if row.value is not None]
        by_name = {row.corpus: row for row in slices}
        values = self._values(store)
        numbers: dict[_Number, list[_Known]] = defaultdict(list)
        for draw in (row for ref in self.draws for row in store.read(ref).to_pylist()):
            key = json.loads(draw["key"])
            cut = by_name.get(key.pop("model", None))
            value = values.get((draw["table"], draw["key"]), {}).get(draw["column"])
            if cut is not None and value is not None:
                number = _Number(cut.whole, draw["table"], draw["column"], row_key(key))
                numbers[number].append(_Known(cut, value, draw["values"], draw["scheme"]))
        order = list(by_name)
        return {name: sorted(known, key=lambda one: order.index(one.slice.corpus)) for name, known in numbers.items()}

    def _values(self, store: Store) -> dict[tuple[str, str], dict[str, Any]]:
        """Rows by the name of their table and their key."""
        values: dict[tuple[str, str], dict[str, Any]] = {}
        for name, ref in zip(self.names, self.numbers, strict=True):
            table = store.read(ref)
            keys = key_columns(table.schema)
            rows = table.select(
                [one.name for one in table.schema if one.name in keys or pa.types.is_floating(one.type)]
            )
            values |= {(name, row_key({key: row[key] for key in keys})): row for row in rows.to_pylist()}
        return values


def _rows(number: _Number, known: Sequence[_Known]) -> Iterator[_Row]:
    """Of one number, but for ``q``."""
    if len(known) < 2:
        return
    in_words = [f"{name} {value}" for name, value in json.loads(number.key).items() if value and name != "language"]
    same = number._asdict() | {"row": ", ".join(in_words), "paired_by": _paired_by(known)}
    values = np.array([one.value for one in known])
    num_draws = min(len(one.draws) for one in known)
    draws = np.array([one.draws[:num_draws] for one in known], dtype=np.float64)
    names, places = [one.slice.corpus for one in known], [one.slice.place for one in known]
    sides, weights = zip(*_comparisons(len(known)), strict=True)
    for (first, second), judged in zip(sides, _judged(values, draws, np.array(weights)), strict=True):
        row = SliceDifferences(**same, first=None if first is None else names[first], second=names[second])
        row.difference, row.p, row.num_draws = judged
        row.second_value = values[second]
        row.first_value = row.second_value - row.difference.value
        yield row
    if None not in places and len({*places}) >= _LEAST_FOR_TREND:
        trend = SliceTrends(**same, first=names[0], last=names[-1], num_slices=len(names))
        [(trend.slope, trend.p, trend.num_draws)] = _judged(values, draws, slope(np.array(places))[np.newaxis])
        yield trend


def _comparisons(num: int) -> Iterator[tuple[tuple[int | None, int], FloatArray]]:
    """First slice and second one, with weights; None for the mean of the others, where they are several."""
    if num <= _MOST_IN_PAIRS:
        yield from (((one, other), np.eye(num)[other] - np.eye(num)[one]) for one, other in combinations(range(num), 2))
    if num > 2:
        yield from (((None, place), weights) for place, weights in enumerate(against_others(num)))


def _judged(values: FloatArray, draws: FloatArray, weights: FloatArray) -> Iterator[tuple[Estimate, float, int]]:
    value, judged = contrasts(values, draws, weights)
    yield from zip(map(Estimate, value, judged.low, judged.high), judged.p, judged.num, strict=True)


def _paired_by(known: Sequence[_Known]) -> str:
    """What the draws share, whatever the order of training."""
    first, *others = ({**json.loads(one.scheme or "{}"), ORDER: None} for one in known)
    is_shared = len(first) > 1 and all(one == first for one in others)
    return str(first["paired_by"]) if is_shared else "unpaired"


def compare_slices(run: Run[Any, Any], left_out: Collection[str] = ()) -> None:
    """Publish what differs between slices of a corpus, if the run has any, by the tables that it has published.

    Args:
        left_out: tables whose numbers are about several models, such as ranks.
    """
    slices = run.published.get(CorpusSlices.table_name, [])
    known = [(name, ref) for name, refs in run.published.items() for ref in refs if name not in left_out]
    numbers = [(name, ref) for name, ref in known if "model" in ref.columns]
    if slices and numbers:
        names, refs = zip(*numbers, strict=True)
        draws = list(run.runner.draws.values())
        work = CompareSlices(group="slice differences", names=names, slices=slices, numbers=refs, draws=draws)
        run.do([work], in_driver=True, complete=False)
