"""The smallest difference that so many replicas can show, from the draws that earlier runs left."""

import json
import math
from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from tiltmeter.jobs.runtime import draws
from tiltmeter.jobs.runtime.rows import Row
from tiltmeter.jobs.upkeep.plan.rates import EarlierRun
from tiltmeter.jobs.upkeep.plan.tables import Differences
from tiltmeter.operators.statistics.differences import Centre, smallest_paired, smallest_unpaired
from tiltmeter.storage.store.ledger import Store

_OTHERS = (8, 16, 32, 64, 128)
"""Numbers of replicas beside the planned one."""

_KEY = ["table", "key", "column", "scheme"]

_UNKNOWN = "no earlier run in this store left draws of its numbers: these are in units of their standard deviations"
_ALONE = "no second run shares draws with it, so that the spread of paired differences is not known"
_EQUAL = "the two runs that share draws have the same numbers"


def difference_rows(store: Store, runs: Sequence[EarlierRun], job: str, planned: int | None) -> Iterator[Differences]:
    """Rows of the table `plan_differences`.

    Args:
        store: of the runs.
        runs: earlier ones, the nearest first.
        job: that is planned.
        planned: replicas; None where there are none.
    """
    ended = [one for one in runs if one.run.job == job and one.run.status == "succeeded"]
    known = [one for one in ended if draws.NAME in one.run.tables]
    if not known:
        yield from _before_a_first_run(planned)
        return
    one, *others = known
    spreads = _spreads(_read(store, one), _read(store, others[0]) if others else None)
    for row in spreads.iter_rows(named=True):
        yield from _rows(row, planned, one, others[0] if others else None)


def _read(store: Store, one: EarlierRun) -> pl.DataFrame:
    frame = pl.DataFrame(one.run.read(store, draws.NAME))
    known = {scheme: draws.without_number(scheme) for scheme in frame["scheme"].drop_nulls().unique()}
    alike, num_items = ({scheme: parts[place] for scheme, parts in known.items()} for place in range(2))
    return frame.with_columns(
        pl.col("scheme").replace(alike),
        num_items=pl.col("scheme").replace_strict(num_items, default=None, return_dtype=pl.Float64),
    )


def _spreads(later: pl.DataFrame, earlier: pl.DataFrame | None) -> pl.DataFrame:
    """A row for each table, column and way of drawing, with the middle standard deviation of its numbers."""
    numbers = later.with_columns(sd=pl.col("values").list.std(), num=pl.col("values").list.drop_nulls().list.len())
    if earlier is None:
        numbers = numbers.with_columns(sd_paired=pl.lit(None, pl.Float64))
    else:
        numbers = numbers.join(_paired(later, earlier), on=_KEY, how="left", nulls_equal=False)
    sizes, middle = (
        (pl.len().alias("num_numbers"), pl.col("num").max()),
        pl.col("sd", "sd_paired", "num_items").median(),
    )
    return numbers.group_by("table", "column", "scheme", maintain_order=True).agg(*sizes, middle)


def _paired(later: pl.DataFrame, earlier: pl.DataFrame) -> pl.DataFrame:
    """The standard deviation of the differences of draws that both runs have."""
    both = later.join(earlier, on=_KEY, nulls_equal=False)
    num = pl.min_horizontal(pl.col("values").list.len(), pl.col("values_right").list.len())
    after, before = (pl.col(name).list.head(num) for name in ("values", "values_right"))
    return both.select(*_KEY, (after - before).list.std().alias("sd_paired"))


def _rows(spread: Row, planned: int | None, one: EarlierRun, other: EarlierRun | None) -> Iterator[Differences]:
    scheme: dict[str, Any] = json.loads(spread["scheme"]) if spread["scheme"] else {}
    is_of_items = scheme.get("paired_by") == "items"
    centre: Centre = "centred" if is_of_items else "averaged"
    num_items = math.inf if spread["num_items"] is None else spread["num_items"]
    usual = spread["num"] if is_of_items or planned is None else planned
    paired = spread["sd_paired"] or None  # that of equal numbers is 0
    reason = "" if paired else _EQUAL if spread["sd_paired"] == 0.0 else _ALONE
    basis = f"the run of {one.moment}" + (f", and that of {other.moment}" if paired and other else "")
    for num in sorted({usual, *(() if is_of_items else _OTHERS)}):
        yield Differences(
            **{name: spread[name] for name in ("table", "column", "num_numbers", "sd")},
            replicas=num,
            is_planned=num == usual,
            sd_paired=paired,
            smallest_unpaired=smallest_unpaired(spread["sd"], num, centre=centre, num_items=num_items),
            smallest_paired=smallest_paired(paired, num, centre=centre, num_items=num_items) if paired else None,
            basis=basis,
            reason=reason,
        )


def _before_a_first_run(planned: int | None) -> Iterator[Differences]:
    for num in sorted({*_OTHERS, *([planned] if planned else [])}):
        row = Differences(table="", column="", replicas=num, is_planned=num == planned, num_numbers=0)
        row.sd = row.sd_paired = 1.0
        row.smallest_unpaired, row.smallest_paired = smallest_unpaired(1.0, num), smallest_paired(1.0, num)
        row.basis = "one standard deviation"
        yield row.fail("unknown", _UNKNOWN)
