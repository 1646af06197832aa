"""A gate on a night: its differences by unit, the numbers of them, and what they say."""

from collections.abc import Iterator

import numpy as np

from tiltmeter.jobs.changes.wording import amount, with_interval
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.upkeep.compare.gates import Gate, Gates
from tiltmeter.jobs.upkeep.compare.pairs import Pair
from tiltmeter.operators.compute.arrays import FloatArray, IntArray
from tiltmeter.operators.statistics.gates.e_detector import evidence, log_e_values, nights_to_alarm, stake
from tiltmeter.operators.statistics.gates.halves import halves, num_right, swapped
from tiltmeter.operators.statistics.gates.margins import margin_p, too_few
from tiltmeter.operators.statistics.gates.nightly import (
    Nights,
    one_sided_p,
    p_limit,
    share_of_years,
    stored_allowance,
)
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.items.paired_items import paired_items
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import TooFew, units_of

_MOST_DRAWS = 5_000_000


def unfit(gate: Gate, pair: Pair, is_same: bool) -> str:
    """Why a night can't be judged; empty where it can. ``is_same``: whether the first system's scores are known."""
    scores, clusters = pair.items.select("first", "second").to_numpy(), pair.items["cluster"]
    if not (scores >= 0.0).all() or not (scores <= 1.0).all():
        return "not all of its scores lie between 0 and 1"
    if pair.items.height < 2 or (clusters.n_unique() == 1 and not clusters.null_count()):
        return "all of its items are one unit; log more items, or set another logs.cluster"
    if gate.baseline == "stored" and gate.adds_nights and not (pair.items["first_repeats"] >= 2).all():
        return "its baseline is a single stored run, whose noise adds up over nights; log 2 repeats, or baseline: rerun"
    if gate.baseline == "rerun" and gate.adds_nights and is_same and (scores[:, 0] != scores[:, 1]).any():
        instead = "store 2 repeats and set baseline: stored, or baseline: exact if it always answers alike"
        return f"its first system's log has the scores of the last night, as a stored one; run it anew, {instead}"
    return ""


class Night:
    """A gate on a night.

    Attributes:
        sums, sizes: of differences, and how many items that are, by unit.
        level: of its rule; of a stored baseline the other half is for the allowance.
        scale: mean of units, as shares of the largest one, where every item is 1.
    """

    def __init__(self, row: Gates, gate: Gate, pair: Pair) -> None:
        self.row, self.gate, self.pair = row, gate, pair
        self.units = units_of(pair.items["cluster"].to_list(), "cluster")
        self.first, self.second = (pair.items[name].to_numpy() for name in ("first", "second"))
        differences = self.second - (self.first if gate.limit is None else gate.limit)
        self.sizes, self.sums = (
            self.units.sizes,
            self.units.sums(-differences if gate.kind == "at_most" else differences),
        )
        self.scale, self.level, row.allowance = float(self.sizes.mean() / self.sizes.max()), row.level, 0.0
        if gate.baseline == "stored" and gate.adds_nights:
            self.level, row.allowance = row.level / 2.0, self._allowance(row.level / 2.0)

    def _allowance(self, level: float) -> float:
        spreads = (self.pair.items["first_variance"] / self.pair.items["first_repeats"]).sqrt().to_numpy()
        return stored_allowance(spreads, self.units, level)

    def judge(self, coverage: float) -> Gates:
        """The row with its verdict, and what the next night goes on by."""
        row, gate, last_p = self.row, self.gate, self.row.p
        row.p, row.num_units = float(self._p(self.sums)), self.units.num
        inferred = paired_items(self.first, self.second, self.units, coverage).difference
        if gate.is_absolute:
            inferred = mean(self.second, self.units, level=coverage, scale=LOGIT)
        row.value = Estimate(inferred.value, inferred.low, inferred.high)
        if gate.judged_by == "e_detector":
            row.threshold, row.stake = row.nights / self.level, self._stake()
            row.evidence = float(evidence(self._log_e(self.sums, row.stake)[None], row.evidence)[0])
            has_failed = row.evidence >= row.threshold
        elif gate.margin is not None:
            has_failed = row.p > row.level
        else:
            limit = float(p_limit(gate.judged_by, self.level, row.nights, row.night))
            has_failed = row.p <= limit and (gate.judged_by != "confirm" or last_p <= limit)
        if gate.judged_by != "e_detector":
            row.evidence = np.nan
        few = too_few(self.sums, self.sizes) if gate.margin is not None else None
        row.verdict = "too_few" if few else "failed" if has_failed else "passed"
        row.squares += float(np.square(self.sums / self.sizes.max()).sum())
        row.num_squares += self.units.num
        if gate.fall:
            square, allowance = (1.0 + row.squares) / (1.0 + row.num_squares), row.allowance * self.scale
            size = self._stake(), square, self.units.num, allowance
            row.nights_to_catch = nights_to_alarm(row.threshold, gate.fall * self.scale, *size)
        row.false_alarms, row.false_alarms_of = self._false_alarms()
        row.sentence = f"{row.task}, {row.score}: {row.verdict.replace('_', ' ')}: {'; '.join(self._notes(few))}."
        return row

    def _p(self, sums: FloatArray) -> FloatArray:
        margin = self.gate.margin
        if margin is None:
            return one_sided_p(sums, self.sizes, self.row.allowance)
        p = margin_p(sums, self.sizes, margin)
        return np.maximum(p, margin_p(-sums, self.sizes, margin)) if self.gate.kind == "equivalent" else p

    def _log_e(self, sums: FloatArray, size: float) -> FloatArray:
        return log_e_values(sums / self.sizes.max(), size, self.row.allowance * self.scale)

    def _stake(self) -> float:
        """By the nights that the row has."""
        fall = (self.gate.fall or 0.0) * self.scale
        return stake(fall, self.row.squares, self.row.num_squares, self.row.allowance * self.scale)

    def _false_alarms(self) -> tuple[float, str]:
        row, gate, items = self.row, self.gate, self.pair.items
        if gate.is_absolute:
            return np.nan, "nothing: no two systems are compared"
        num = int(np.clip(_MOST_DRAWS // items.height, 20, 1000))
        rng = np.random.default_rng(int(row.items[:8], 16))
        repeats = items["first_repeats"].to_numpy()
        right = num_right(self.first, items["first_variance"].to_numpy(), repeats)
        is_halved, of_first = right is not None, "halves of the first system's repeats"
        sums = self.units.sums(halves(right, repeats, num, rng)) if right is not None else self.sums[None]
        if gate.margin is not None:
            sums = sums if is_halved else swapped(self.sums, num, rng)
            source = of_first if is_halved else "swaps of both labels, which tell of symmetry alone"
            return float((self._p(sums) > row.level).mean()), f"decisions that are no pass, on {num:,} {source}"
        share, num = share_of_years(gate.judged_by, self.level, row.nights, sums, self.sizes, self._nights, rng)
        source = of_first if is_halved else "both labels"
        tells = "" if is_halved else ", which tells of symmetry alone"
        return share, f"{num:,} times {plural(row.nights, 'night')}, {source} swapped unit by unit{tells}"

    def _nights(self, sums: FloatArray, sizes: IntArray, counts: IntArray) -> Nights:
        allowance, differences = self.row.allowance, sums / self.sizes.max()
        log_e = log_e_values(differences, self._stake(), allowance * self.scale, counts)
        return Nights(one_sided_p(sums, sizes, allowance, counts), log_e)

    def _notes(self, few: TooFew | None) -> Iterator[str]:
        row, gate, value = self.row, self.gate, self.row.value
        what = f"{row.second} is" if gate.is_absolute else f"{row.second} less {row.first} is"
        yield f"{what} {with_interval(value.value, value.low, value.high)}"
        place = "" if row.nights == 1 else f" on night {row.night} of {row.nights}"
        if few:
            yield few.reason
        elif gate.judged_by == "e_detector":
            yield f"evidence {amount(row.evidence)} of {amount(round(row.threshold))}{place}"
        else:
            limit = amount(float(p_limit(gate.judged_by, self.level, row.nights, row.night)))
            twice = ", twice in a row" if gate.judged_by == "confirm" else ""
            yield f"p = {amount(row.p)}, and {'passes at' if gate.margin else 'fails at'} {limit} or less{twice}{place}"
        yield f"level {amount(row.level)}"
        if np.isfinite(row.nights_to_catch or np.nan):
            way = "rise" if gate.kind == "at_most" else "fall"
            yield f"a {way} by {amount(gate.fall)} takes about {plural(max(1, round(row.nights_to_catch)), 'night')}"
        if row.allowance:
            yield f"the stored baseline may be off by {amount(row.allowance)}"
        if self.sizes.max() == 1:
            yield "items are taken as independent given the night"
        if row.verdict == "failed" and gate.judged_by == "e_detector":
            yield "the evidence begins anew"
