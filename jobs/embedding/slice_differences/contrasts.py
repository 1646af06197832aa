"""Numbers of slices of one corpus against each other, by the draws that the run's own tables leave of them."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from tiltmeter.cluster.work import Tables
from tiltmeter.jobs.embedding.slice_differences.tables import OfSlices, SliceDifferences, SliceTrends
from tiltmeter.jobs.embedding.tables import CorpusSlices
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.draws import ORDER, row_key
from tiltmeter.jobs.runtime.work import Work
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.contrasts import against_others, contrast, slope
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.tables import key_columns

_MODEL = "model"
_MOST_IN_PAIRS = 8
"""Slices that are held against each other two by two; of more, each is held against the others and has its trend."""

_LEAST_FOR_TREND = 3

Places = Mapping[str, float | None]
"""The slices of a corpus in their order, and where each lies in it; None where they have none."""


class _Number(NamedTuple):
    """What a number is of, but for the slice."""

    whole: str
    table: str
    column: str
    key: str


class _Known(NamedTuple):
    """A number in one slice, and its draws."""

    value: float
    draws: Sequence[float]
    scheme: str | None


class _Family(NamedTuple):
    """Numbers that the same slices have, by draws of one kind."""

    whole: str
    slices: tuple[str, ...]
    num_draws: int
    paired_by: str


class CompareSlices(Work, unit="slice_differences/1", stage="compare slices", makes=[SliceDifferences, SliceTrends]):
    """Every number with draws: slices two by two, each against the mean of the others, and the slope over all.

    Attributes:
        names: of the tables that ``numbers`` are, one by one.
    """

    names: Sequence[str]
    slices: Sequence[TableRef]
    numbers: Sequence[TableRef]
    draws: Sequence[TableRef]

    def tables(self, store: Store) -> Tables:
        wholes: dict[str, dict[str, float | None]] = defaultdict(dict)
        for row in (row for ref in self.slices for row in CorpusSlices.read(store, ref) if row.value is not None):
            wholes[row.whole][row.corpus] = row.place
        numbers = self._numbers(store, {name: whole for whole, places in wholes.items() for name in places})
        parts: dict[type[OfSlices], list[pl.DataFrame]] = {SliceDifferences: [], SliceTrends: []}
        for family, members in _families(numbers, wholes).items():
            for kind, frame in _judged(family, members, wholes[family.whole]):
                parts[kind].append(frame)
        yield from ((kind.table_name, _corrected(frames, kind)) for kind, frames in parts.items())

    def _numbers(self, store: Store, whole_of: Mapping[str, str]) -> dict[_Number, dict[str, _Known]]:
        """Numbers of slices that have draws, by the slice."""
        values: dict[tuple[str, str], dict[str, Any]] = {}
        for name, ref in zip(self.names, self.numbers, strict=True):
            table = store.read(ref)
            keys = key_columns(table.schema)
            rows = table.select([f.name for f in table.schema if f.name in keys or pa.types.is_floating(f.type)])
            values |= {(name, row_key({key: row[key] for key in keys})): row for row in rows.to_pylist()}
        numbers: dict[_Number, dict[str, _Known]] = defaultdict(dict)
        for draw in (row for ref in self.draws for row in store.read(ref).to_pylist()):
            key = json.loads(draw["key"])
            model = key.pop(_MODEL, None)
            value = values.get((draw["table"], draw["key"]), {}).get(draw["column"])
            # A number of two slices is none of either.
            if model in whole_of and value is not None and whole_of.keys().isdisjoint(map(str, key.values())):
                number = _Number(whole_of[model], draw["table"], draw["column"], row_key(key))
                numbers[number][model] = _Known(value, draw["values"], draw["scheme"])
        return numbers


def _families(
    numbers: Mapping[_Number, Mapping[str, _Known]], wholes: Mapping[str, Places]
) -> dict[_Family, list[tuple[_Number, list[_Known]]]]:
    """Numbers that at least two slices have, slices in their order."""
    families: dict[_Family, list[tuple[_Number, list[_Known]]]] = defaultdict(list)
    for number, by_slice in numbers.items():
        slices = tuple(name for name in wholes[number.whole] if name in by_slice)
        known = [by_slice[name] for name in slices]
        if len(known) > 1:
            num_draws, schemes = min(len(one.draws) for one in known), [one.scheme for one in known]
            families[_Family(number.whole, slices, num_draws, _paired_by(schemes))].append((number, known))
    return families


def _paired_by(schemes: Iterable[str | None]) -> str:
    """What draws share, whatever the order of training."""
    parsed = [json.loads(scheme or "{}") for scheme in schemes]
    alike = [{name: value for name, value in scheme.items() if name != ORDER} for scheme in parsed]
    return str(alike[0]["paired_by"]) if alike[0] and all(one == alike[0] for one in alike) else "unpaired"


def _judged(
    family: _Family, members: Sequence[tuple[_Number, Sequence[_Known]]], places: Places
) -> Iterator[tuple[type[OfSlices], pl.DataFrame]]:
    """Rows of both tables, but for ``q``."""
    values = np.array([[one.value for one in known] for _, known in members])
    draws = np.array([[one.draws[: family.num_draws] for one in known] for _, known in members], dtype=np.float64)
    rows = pl.DataFrame([number for number, _ in members], schema=_Number._fields, orient="row")
    rows = rows.with_columns(row=rows["key"].map_elements(_in_words, pl.String), paired_by=pl.lit(family.paired_by))
    for first, second, weights in _comparisons(len(family.slices)):
        judged = _columns("difference", values, draws, weights)
        sides = {"second_value": values[:, second], "first_value": values[:, second] - judged["difference"]}
        names = {"first": None if first is None else family.slices[first], "second": family.slices[second]}
        yield SliceDifferences, rows.with_columns(**judged, **sides, **_same(names))
    known = [place for name in family.slices if (place := places[name]) is not None]
    if len(known) == len(family.slices) and len({*known}) >= _LEAST_FOR_TREND:
        names = {"first": family.slices[0], "last": family.slices[-1]}
        judged = _columns("slope", values, draws, slope(np.array(known)))
        yield SliceTrends, rows.with_columns(num_slices=pl.lit(len(known)), **judged, **_same(names))


def _comparisons(num: int) -> Iterator[tuple[int | None, int, FloatArray]]:
    """First slice, second one and weights; the mean of the others is a first one, too, unless the other is alone."""
    if num <= _MOST_IN_PAIRS:
        yield from ((one, other, np.eye(num)[other] - np.eye(num)[one]) for one, other in combinations(range(num), 2))
    if num > 2:
        yield from ((None, place, weights) for place, weights in enumerate(against_others(num)))


def _columns(name: str, values: FloatArray, draws: FloatArray, weights: FloatArray) -> dict[str, NDArray[np.generic]]:
    value, judged = contrast(values, draws, weights)
    ends = {f"{name}_low": judged.low, f"{name}_high": judged.high}
    return {name: value, **ends, "p": judged.p, "num_draws": judged.num}


def _same(names: Mapping[str, str | None]) -> dict[str, pl.Expr]:
    return {column: pl.lit(name, pl.String) for column, name in names.items()}


def _in_words(key: str) -> str:
    named = json.loads(key).items()
    return ", ".join(f"{name} {value}" for name, value in named if value is not None and name != "language")


def _corrected(frames: Sequence[pl.DataFrame], kind: type[OfSlices]) -> pa.Table:
    """The table, without numbers of fewer than two finite draws, with ``q``."""
    if not frames:
        return kind.schema().empty_table()
    rows = pl.concat(frames).filter(pl.col("p").is_finite())
    q = benjamini_hochberg(rows["p"].to_numpy())
    return rows.with_columns(q=q).select(kind.schema().names).to_arrow().cast(kind.schema())


def compare_slices(run: Run[Any, Any]) -> None:
    """Publish what differs between slices of a corpus, if the run has any, by the tables that it has published."""
    slices = run.published.get(CorpusSlices.table_name, [])
    numbers = [(name, ref) for name, refs in run.published.items() for ref in refs if _MODEL in ref.columns]
    if slices and numbers:
        names, refs = zip(*numbers, strict=True)
        draws = list(run.runner.draws.values())
        work = CompareSlices(group="slice differences", names=names, slices=slices, numbers=refs, draws=draws)
        run.do([work], in_driver=True)
