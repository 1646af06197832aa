"""What a comparison of two systems would show with other numbers of items and repeats, from earlier logs."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from tiltmeter.jobs.upkeep.compare.log_settings import Logs
from tiltmeter.jobs.upkeep.compare.logs import TwoLogs
from tiltmeter.jobs.upkeep.compare.systems import Result, compared
from tiltmeter.jobs.upkeep.plan.tables import PlanItems
from tiltmeter.operators.statistics.items import power
from tiltmeter.operators.statistics.items.power import Spread, spread_of

_ITEMS = (100, 300, 1_000, 3_000, 10_000)
_REPEATS = (1, 2, 4, 8)
"""Numbers beside the planned ones."""

_CORRELATIONS = (0.0, 0.5, 0.9)
"""Of two systems, where there is one log."""

_BASES = ("differences of both logs", "one log, and a second system like it")
_SINGLE = "; with one repeat noise can't be told from items, and no other number of repeats can be planned"


def item_rows(logs: Logs, files: TwoLogs) -> Iterator[PlanItems]:
    """Rows of the table `plan_items`, of each task and their mean.

    Raises:
        InputError: as :func:`.systems.compared`.
    """
    pairs, is_one = files.pairs, logs.first == logs.second
    alone = compared(pairs, replace(logs, cluster=None))
    for result, by_items in zip(compared(pairs, logs), alone, strict=True):
        spread, usual = _spread(result, is_one), logs.items or result.items.height
        if not spread.error(usual, 1).sd > 0.0:
            reason = "no item differs from the others, or there are too few"
            yield PlanItems(**result.keys, num_items=usual, num_repeats=1).fail("no_spread", reason)
            continue
        clustering = power.cluster_correlation(spread, _spread(by_items, is_one)) if logs.cluster else None
        has_noise = spread.noise == spread.noise
        in_logs = round(float(result.items["first_repeats"].to_numpy().mean()))
        numbers = product(sorted({*_ITEMS, usual}), sorted({*_REPEATS, in_logs}) if has_noise else [1])
        for (num_items, num_repeats), rho in product(numbers, _CORRELATIONS if is_one else [None]):
            row = PlanItems(**result.keys, num_items=num_items, num_repeats=num_repeats, correlation=rho)
            row.is_planned, row.cluster_correlation = num_items == usual, clustering
            row.basis = _BASES[is_one] + ("" if has_noise else _SINGLE)
            yield _with_power(row, spread if rho is None else spread.of_two(rho), logs)


def _spread(result: Result, is_one: bool) -> Spread:
    mean, noise = (result.paired.first, result.noises[0]) if is_one else (result.paired.difference, result.noises[2])
    return spread_of(mean, noise, result.items.height)


def _with_power(row: PlanItems, spread: Spread, logs: Logs) -> PlanItems:
    error, level = spread.error(row.num_items, row.num_repeats), logs.level
    row.sd, row.smallest_detectable, row.wanted = error.sd, power.smallest_detectable(error, level), logs.wanted
    if logs.wanted:
        row.power, row.pass_rate = power.power_of(logs.wanted, error, level), power.pass_rate(logs.wanted, error, level)
        row.items_wanted = power.items_for(logs.wanted, spread, row.num_repeats, level)
    return row
