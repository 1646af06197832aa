"""Numbers of two runs judged by the interval of their difference, draw by draw where both rest on the same draws."""

import json
import math
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.changes.matching import Matched
from tiltmeter.jobs.changes.past_runs import PastRun
from tiltmeter.jobs.changes.tables import Differences
from tiltmeter.jobs.runtime.draws import NUM_ITEMS, ORDER, Scheme
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.differences import Centre, paired_difference, paired_means, unpaired_difference
from tiltmeter.operators.statistics.multiplicity import benjamini_hochberg

FALSE_MOVES = 0.05
"""Expected share of numbers that chance moved, of those that are said to have moved."""

MOVED, MOVED_IN_TEXTS, STAYED = "moved", "moved in these texts", "stayed"
"""By more than other texts of the kind would; or by more than drawing lines and training would, and not more."""

_ROUNDING = 1e-9
"""Relative distance of two numbers that tells nothing but how they were rounded."""

JUDGEMENT = {
    **dict.fromkeys(("low", "high", "p", "p_texts"), pl.Float64),
    "num_draws": pl.Int64,
    "paired_by": pl.String,
}


class Draws(NamedTuple):
    """Of one number in a run.

    Attributes:
        scheme: what they are keyed by; empty if nobody knows.
        values: ``[draws]``, NaN where a draw has none.
    """

    scheme: Scheme
    values: FloatArray

    @property
    def num_items(self) -> float:
        """That are resampled; infinite of replicas, or where nobody knows."""
        return float(self.scheme.get(NUM_ITEMS, math.inf))


class DrawsOfRuns:
    """The draws of an earlier run and a later one, which are read when a number asks for them."""

    def __init__(self, before: PastRun, after: PastRun) -> None:
        self._runs = before, after

    @cached_property
    def _known(self) -> tuple[dict[tuple[str, str, str], Draws], ...]:
        return tuple(dict(_read(run)) for run in self._runs)

    @cached_property
    def _columns(self) -> set[tuple[str, str]]:
        before, after = ({(table, column) for table, _, column in known} for known in self._known)
        return before & after

    def judged(self, table: str, column: str, matched: Matched, numbers: pl.DataFrame) -> pl.DataFrame:
        """Numbers of a column with the columns of :data:`JUDGEMENT`, null where a side has no draws of a number.

        Args:
            table: its name in the runs.
            column: of numbers.
            matched: the rows.
            numbers: of all pairs, in their order, with ``before``, ``after`` and ``difference``.
        """
        nothing = numbers.with_columns(pl.lit(None, kind).alias(name) for name, kind in JUDGEMENT.items())
        if (table, column) not in self._columns:
            return nothing
        keys = [[named(pair) for pair in range(numbers.height)] for named in (matched.key_before, matched.key_after)]
        before, after = (
            [known.get((table, key, column)) for key in side] for known, side in zip(self._known, keys, strict=True)
        )
        parts = [
            _judgement(kind, numbers[rows], _chosen(before, rows), _chosen(after, rows))
            for kind, rows in _groups(before, after).items()
        ]
        joined = pl.concat(parts).sort("pair") if parts else nothing.select("pair", *JUDGEMENT)
        return numbers.join(joined, on="pair", how="left", maintain_order="left")


class _Kind(NamedTuple):
    is_paired: bool
    centre: Centre
    paired_by: str
    trains_alike: bool = False


def _read(run: PastRun) -> Iterator[tuple[tuple[str, str, str], Draws]]:
    """Draws of a run by table, row and column; those of a night by the job too."""
    for name in run.draws:
        job, slash, _ = name.rpartition("/")
        draws = run.read(name)
        columns = [draws[column].to_pylist() for column in ("table", "key", "column", "scheme")]
        for values, (table, *key, scheme) in zip(_lists(draws["values"]), zip(*columns, strict=True), strict=True):
            yield (f"{job}{slash}{table}", *key), Draws(_parsed(scheme), values)


@lru_cache(maxsize=256)  # most numbers of a run have one of few schemes
def _parsed(scheme: str | None) -> Scheme:
    return json.loads(scheme) if scheme else {}


def _lists(values: pa.ChunkedArray) -> Iterator[FloatArray]:
    for chunk in values.chunks:
        numbers = chunk.values.to_numpy(zero_copy_only=False)
        for start, end in zip(chunk.offsets[:-1].to_pylist(), chunk.offsets[1:].to_pylist(), strict=True):
            yield numbers[start:end]


def _groups(before: Sequence[Draws | None], after: Sequence[Draws | None]) -> dict[_Kind, list[int]]:
    """The pairs of which both sides have draws, by how these are held against each other."""
    groups: dict[_Kind, list[int]] = {}
    for row, (one, other) in enumerate(zip(before, after, strict=True)):
        if one and other:
            groups.setdefault(_kind(one, other), []).append(row)
    return groups


def _kind(one: Draws, other: Draws) -> _Kind:
    schemes = [draws.scheme for draws in (one, other)]
    are_of_items = all(scheme.get("paired_by") == "items" for scheme in schemes)
    centre: Centre = "centred" if are_of_items else "averaged"
    first, second = (
        {key: value for key, value in scheme.items() if key not in (NUM_ITEMS, ORDER)} for scheme in schemes
    )
    if first and first == second:
        return _Kind(True, centre, first["paired_by"], ORDER in schemes[0] and schemes[0] == schemes[1])
    return _Kind(False, centre, "unpaired")


def _judgement(kind: _Kind, chosen: pl.DataFrame, before: Sequence[Draws], after: Sequence[Draws]) -> pl.DataFrame:
    """Columns ``pair`` and those of :data:`JUDGEMENT`, of numbers of one kind."""
    difference = chosen["difference"].fill_null(np.nan).to_numpy()
    size = max(len(one.values) for one in (*before, *after))
    draws = _padded(before, size), _padded(after, size)
    num_items = [np.array([one.num_items for one in side]) for side in (before, after)]
    if kind.is_paired:
        judged = paired_difference(difference, *draws, centre=kind.centre, num_items=np.minimum(*num_items))
    else:
        judged = unpaired_difference(difference, *draws, centre=kind.centre, num_items=num_items)
    p_texts = paired_means(difference, *draws) if kind.trains_alike else np.full(chosen.height, np.nan)
    is_rounding = chosen.select(
        pl.col("after").is_close("before", rel_tol=_ROUNDING, abs_tol=0.0).fill_null(False)
    ).to_series()
    p, p_texts = (np.where(is_rounding.to_numpy() & np.isfinite(p), 1.0, p) for p in (judged.p, p_texts))
    frame = pl.DataFrame(
        {
            "pair": chosen["pair"],
            "low": judged.low,
            "high": judged.high,
            "p": p,
            "p_texts": p_texts,
            "num_draws": judged.num,
            "paired_by": [kind.paired_by] * chosen.height,
        }
    ).fill_nan(None)
    known = pl.col("p").is_not_null()
    return frame.select(
        "pair", *(pl.when(known).then(name).otherwise(None).cast(kind).alias(name) for name, kind in JUDGEMENT.items())
    )


def _chosen(draws: Sequence[Draws | None], rows: Sequence[int]) -> list[Draws]:
    return [one for row in rows if (one := draws[row])]


def _padded(draws: Sequence[Draws], size: int) -> FloatArray:
    """``[numbers, draws]``; draws that only one run made have no partner."""
    padded = np.full((len(draws), size), np.nan)
    for row, one in enumerate(draws):
        padded[row, : len(one.values)] = one.values
    return padded


def difference_rows(matched: Matched, table: str, column: str, judged: pl.DataFrame) -> Iterator[Differences]:
    """Rows of the table ``differences``, but for what is corrected.

    Args:
        matched: the rows of both runs.
        table, column: of numbers that have an interval.
        judged: of all pairs, as :meth:`DrawsOfRuns.judged` gives them.
    """
    for number in judged.drop_nulls(["before", "after"]).to_dicts():
        known = {name: number[name] for name in ("before", "after", "difference", *JUDGEMENT)}
        row = Differences(table=table, column=column, **known, **matched.named(number["pair"]))
        row.verdict = None if number["beyond"] is None else MOVED if number["beyond"] else STAYED
        row.paired_by = row.paired_by or "none"
        yield row
    for side, rows, name in (("before", matched.gone, matched.named_gone), ("after", matched.came, matched.named_came)):
        frame = getattr(matched, side)
        verdict = "gone" if side == "before" else "came"
        for place, row in enumerate(rows):
            if (value := frame[column][row]) is not None:
                known = {side: float(value), "paired_by": "none", "verdict": verdict}
                yield Differences(table=table, column=column, **known, **name(place))


# --- all numbers of two runs, or of a night -------------------------------------------------------------------------


def largest_p(p_values: Sequence[pl.Series]) -> float:
    """The largest p-value of a family that :data:`FALSE_MOVES` lets pass after correction; -1 if there is none.

    >>> largest_p([pl.Series([0.001, 0.03]), pl.Series([None, 0.9], dtype=pl.Float64)])
    0.03
    """
    family = np.concatenate([np.empty(0), *(series.drop_nulls().to_numpy() for series in p_values)])
    adjusted = benjamini_hochberg(family)
    return float(family[adjusted <= FALSE_MOVES].max(initial=-1.0))


class Limits(NamedTuple):
    """The largest p-values of numbers that moved.

    Attributes:
        p: of those that moved.
        p_texts: of those that moved in these texts.
    """

    p: float
    p_texts: float


def limits_of(numbers: Sequence[pl.DataFrame]) -> Limits:
    """By :func:`largest_p`.

    Args:
        numbers: columns ``p`` and ``p_texts`` of all numbers of a family, in any number of frames.
    """
    return Limits(*(largest_p([frame[name] for frame in numbers]) for name in Limits._fields))


def corrected(differences: pa.Table) -> pa.Table:
    """The table ``differences`` with ``q`` and ``q_texts``, and with verdicts, over all its numbers.

    Args:
        differences: with ``p`` and ``p_texts``, and ``verdict`` where there is no ``p``.
    """
    rows = pl.DataFrame(differences)
    adjusted = [
        pl.Series(name, benjamini_hochberg(rows[p].fill_null(np.nan).to_numpy())).fill_nan(None)
        for name, p in (("q", "p"), ("q_texts", "p_texts"))
    ]
    verdict = (
        pl.when(pl.col("q") <= FALSE_MOVES)
        .then(pl.lit(MOVED))
        .when(pl.col("q_texts") <= FALSE_MOVES)
        .then(pl.lit(MOVED_IN_TEXTS))
        .otherwise(pl.lit(STAYED))
    )
    known = pl.col("p").is_not_null()
    judged = rows.with_columns(adjusted).with_columns(verdict=pl.when(known).then(verdict).otherwise("verdict"))
    return judged.to_arrow().cast(differences.schema)
