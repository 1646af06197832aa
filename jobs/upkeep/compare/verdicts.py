"""What gates say of a night, by this night and by what the nights before it left in the store."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from tiltmeter.jobs.changes.wording import amount, with_interval
from tiltmeter.jobs.runtime.config import ConfigError, asked, recorded_settings
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.table import Estimate
from tiltmeter.jobs.runtime.wording import plural
from tiltmeter.jobs.runtime.work import Work, aside
from tiltmeter.jobs.upkeep.compare.gates import Gate, Gates
from tiltmeter.jobs.upkeep.compare.pairs import Pair
from tiltmeter.jobs.upkeep.overnight.gates import gates_of_comparison
from tiltmeter.jobs.upkeep.overnight.junit import junit_xml
from tiltmeter.jobs.upkeep.overnight.outcome import failure_of
from tiltmeter.operators.compute.arrays import FloatArray
from tiltmeter.operators.statistics.gates.e_detector import evidence, log_e_values, nights_to_alarm, stake
from tiltmeter.operators.statistics.gates.halves import halves, num_right, swapped
from tiltmeter.operators.statistics.gates.margins import margin_p, too_few
from tiltmeter.operators.statistics.gates.nightly import Nights, one_sided_p, p_limit, share_of_years
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.items.paired_items import paired_items
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.units import TooFew, units_of
from tiltmeter.storage.errors import choices
from tiltmeter.storage.store.identity import digest, table_digest
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.runs import read_run_table

_MOST_DRAWS = 5_000_000
_SYSTEMS = ("task", "score", "first", "second")
_KEPT = ("squares", "num_squares", "items", "first_items")
_AGAIN = " These are the logs of the last night again: no new night."


def judge_gates(run: Run[Any, Any], pairs: Sequence[Pair]) -> None:
    """Judge the gates of a comparison, as a run of its series, and publish the table ``gates``.

    Raises:
        ConfigError: for a gate that is about none of the pairs.
    """
    config, store = run.config, run.runner.store
    _check(config.gates, pairs)
    open_store(store)
    settings, register = recorded_settings(config, store.name), Registry(store)
    series = config.job.name, config.series or digest(asked(settings))
    last = register.last_succeeded(*series)
    run.runner.entry = register.enter(*series, run_dir=str(run.directory.path), settings=settings)
    work = JudgeGates(
        gates=config.gates,
        scores=tuple(_digest(pair.items) for pair in pairs),
        coverage=config.logs.level,
        before=last.tables["gates"][0] if last else None,
        pairs=tuple(pairs),
    )
    run.do([work], in_driver=True)


def conclude(run: Run[Any, Any]) -> None:
    """Once tables and page are there: leave ``junit.xml``, and end with the gates that failed.

    Raises:
        LimitExceeded: if one did.
    """
    if run.config.gates:
        name = run.config.job.name
        rows = [vars(row) for row in gates_of_comparison(name, read_run_table(run.directory.path, "gates").to_pylist())]
        job = {"name": name, "job": name, "status": "ok", "seconds": 0.0}
        run.directory.export_bytes("junit.xml", junit_xml([job], rows))
        if failure := failure_of([], rows):
            raise failure


def _check(gates: Sequence[Gate], pairs: Sequence[Pair]) -> None:
    known = [f"{pair.score} of {pair.second} in {pair.task}" for pair in pairs]
    places: dict[tuple[str, ...], int] = {}
    for index, gate in enumerate(gates):
        if not _about(gate, pairs):
            place = f"{f' of {gate.second}' if gate.second else ''}{f' in {gate.task}' if gate.task else ''}"
            there = choices(f"{gate.score}{place}", known)
            raise ConfigError(f"gates[{index}].score={gate.score}: the logs have none{place}; there are {there}")
        for pair in _about(gate, pairs):
            other = places.setdefault((*(getattr(pair, name) for name in _SYSTEMS), gate.fails_if), index)
            if other != index:
                raise ConfigError(f"gates[{index}]: says what gates[{other}] says; leave one of them out")


def _about(gate: Gate, pairs: Sequence[Pair]) -> list[Pair]:
    names = ("score", "task", "second")
    return [pair for pair in pairs if all(getattr(gate, name) in (None, getattr(pair, name)) for name in names)]


def _digest(items: pl.DataFrame) -> str:
    table = items.sort("item").to_arrow()
    kinds = [
        (field.name, pa.string() if pa.types.is_large_string(field.type) else field.type) for field in table.schema
    ]
    return table_digest(table.cast(pa.schema(kinds)))


class JudgeGates(Work, unit="gates/1", stage="judge gates", makes=[Gates]):
    """The gates of a night: ``scores`` are digests of the pairs, ``before`` is the table of the last night."""

    gates: tuple[Gate, ...]
    scores: tuple[str, ...]
    coverage: float
    before: TableRef | None
    pairs: tuple[Pair, ...] = aside(default=())

    def rows(self, store: Store) -> Iterator[Gates]:
        """A row for each gate and pair that it is about."""
        before = {_key(row): row for row in Gates.read(store, self.before)} if self.before else {}
        both = [(gate, pair) for gate in self.gates for pair in _about(gate, self.pairs)]
        for gate, pair in both:
            row = Gates(**{name: getattr(pair, name) for name in _SYSTEMS}, fails_if=gate.fails_if)
            row.level, row.nights = gate.level / len(both), 1 if gate.judged_by == "single" else gate.nights
            yield judged(row, gate, pair, before.get(_key(row)), self.coverage)


def _key(row: Gates) -> tuple[str, ...]:
    return *(getattr(row, name) for name in _SYSTEMS), row.fails_if


def judged(row: Gates, gate: Gate, pair: Pair, last: Gates | None, coverage: float) -> Gates:
    """The row of a gate with its verdict.

    Args:
        row: with its keys, level and nights.
        last: of the last night of the series; None: there is none.
        coverage: of its interval.
    """
    items, first = _digest(pair.items), _digest(pair.items.select("item", pl.selectors.starts_with("first")))
    if last and last.items == items:
        return replace(last, sentence=last.sentence.removesuffix(_AGAIN) + _AGAIN)
    row.night, row.squares, row.num_squares, row.items, row.first_items = 0, 0.0, 0, "", ""
    row.evidence, row.p, is_same = 0.0, 1.0, False
    if last:
        row.squares, row.num_squares, row.items, row.first_items = (getattr(last, name) for name in _KEPT)
        is_same = last.first_items == first
        if last.night < row.nights:
            row.night, row.p, row.evidence = last.night, last.p, 0.0 if last.verdict == "failed" else last.evidence
    if reason := _unfit(gate, pair, is_same):
        row.verdict, row.sentence = "not_judged", f"{row.task}, {row.score}: can't be judged: {reason}."
        return row
    row.night, row.items, row.first_items = row.night + 1, items, first
    return _Night(row, gate, pair).judge(coverage)


def _unfit(gate: Gate, pair: Pair, is_same: bool) -> str:
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


class _Night:
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
        """z sd of the stored mean, as if the repeats of a cluster shared all of their noise."""
        from scipy.special import ndtri

        spreads = (self.pair.items["first_variance"] / self.pair.items["first_repeats"]).sqrt().to_numpy()
        return float(-ndtri(level) * np.linalg.norm(self.units.sums(spreads)) / spreads.size)

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
        if right is None:
            sums, source = swapped(self.sums, num, rng), "swaps of both labels, which tell of symmetry alone"
        else:
            sums, source = self.units.sums(halves(right, repeats, num, rng)), "halves of the first system's repeats"
        if gate.margin is not None:
            return float((self._p(sums) > row.level).mean()), f"decisions that are no pass, on {num:,} {source}"
        nights = Nights(self._p(sums), self._log_e(sums, self._stake()))
        share = share_of_years(gate.judged_by, self.level, row.nights, nights, rng)
        return share, f"1,000 times {plural(row.nights, 'night')} drawn of {num:,} {source}"

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
