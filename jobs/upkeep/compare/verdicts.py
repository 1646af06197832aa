"""What gates say of a night, by the evidence of the nights before it in the store's register."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

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
from tiltmeter.operators.statistics.gates.margins import chance_if_equal, margin_p, too_few
from tiltmeter.operators.statistics.gates.nightly import Nights, one_sided_p, p_limit, share_of_years
from tiltmeter.operators.statistics.intervals import LOGIT
from tiltmeter.operators.statistics.means import mean
from tiltmeter.operators.statistics.paired_items import paired_items
from tiltmeter.operators.statistics.units import Units, units_of
from tiltmeter.storage.errors import choices
from tiltmeter.storage.store.identity import digest, table_digest
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.runs import read_run_table

_MOST_DRAWS = 5_000_000
_AGAIN = " These are the logs of the last night again, which are no new night."


def judge_gates(run: Run[Any, Any], pairs: Sequence[Pair]) -> None:
    """Judge the gates of a comparison, publish the table ``gates``, and leave ``junit.xml``.

    Raises:
        ConfigError: for a gate that is about none of the pairs.
    """
    config, store = run.config, run.runner.store
    if not config.gates:
        return
    _check(config.gates, pairs)
    open_store(store)
    settings = recorded_settings(config, store.name)
    series, register = config.series or digest(asked(settings)), Registry(store)
    last = register.last_succeeded(config.job.name, series)
    run.runner.entry = register.enter(config.job.name, series, run_dir=str(run.directory.path), settings=settings)
    work = JudgeGates(
        gates=config.gates,
        scores=tuple(_digest(pair.items) for pair in pairs),
        coverage=config.logs.level,
        before=last.tables["gates"][0] if last else None,
        pairs=tuple(pairs),
    )
    run.do([work], in_driver=True)
    job = {"name": config.job.name, "job": config.job.name, "status": "ok", "seconds": 0.0}
    run.directory.export_bytes("junit.xml", junit_xml([job], [vars(row) for row in _rows_of_night(run)]))


def conclude(run: Run[Any, Any]) -> None:
    """End with the gates that failed, once tables and page are there.

    Raises:
        LimitExceeded: if one did.
    """
    if run.config.gates and (failure := failure_of([], [vars(row) for row in _rows_of_night(run)])):
        raise failure


def _rows_of_night(run: Run[Any, Any]) -> list[Any]:
    return gates_of_comparison(run.config.job.name, read_run_table(run.directory.path, "gates").to_pylist())


def _check(gates: Sequence[Gate], pairs: Sequence[Pair]) -> None:
    for index, gate in enumerate(gates):
        for name in ("score", "task", "second"):
            known, word = sorted({getattr(pair, name) for pair in pairs}), getattr(gate, name)
            if word not in (None, *known):
                there = f"there are {choices(word, known)}"
                raise ConfigError(f"gates[{index}].{name}={word}: the logs have no such {name}; {there}")
        if not _about(gate, pairs):
            raise ConfigError(f"gates[{index}]: no task has its score; leave out task or second, or set another score")


def _about(gate: Gate, pairs: Sequence[Pair]) -> list[Pair]:
    names = ("score", "task", "second")
    return [pair for pair in pairs if all(getattr(gate, name) in (None, getattr(pair, name)) for name in names)]


class JudgeGates(Work, unit="gates/1", stage="judge gates", makes=[Gates]):
    """The gates of a night.

    Attributes:
        scores: digests of the items of each pair.
        coverage: of the intervals.
        before: the table of the last night of the series.
    """

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
            row = Gates(task=pair.task, score=pair.score, second=pair.second, fails_if=gate.fails_if)
            row.level, row.nights = gate.level / len(both), 1 if gate.judged_by == "single" else gate.nights
            yield judged(row, gate, pair, before.get(_key(row)), self.coverage)


def _key(row: Gates) -> tuple[str, ...]:
    return row.task, row.score, row.second, row.fails_if


# --- one gate -------------------------------------------------------------------------------------------------------


class _Night(NamedTuple):
    """What a gate looks at.

    Attributes:
        sums: of differences, by unit; those of units of the largest size are at most that size.
        allowance: of the mean of items.
        scale: mean of units of the largest size, of 1 for every item.
    """

    gate: Gate
    units: Units
    sums: FloatArray
    sizes: NDArray[np.int64]
    allowance: float
    level: float

    @property
    def scale(self) -> float:
        return float(self.sizes.mean() / self.sizes.max())

    def p(self, sums: FloatArray) -> FloatArray:
        """One-sided, of sums like these."""
        if self.gate.margin is None:
            return one_sided_p(sums, self.sizes, self.allowance)
        p = margin_p(sums, self.sizes, self.gate.margin)
        return np.maximum(p, margin_p(-sums, self.sizes, self.gate.margin)) if self.gate.kind == "equivalent" else p

    def log_e(self, sums: FloatArray, size: float) -> FloatArray:
        """Of the e-detector."""
        return log_e_values(sums / self.sizes.max(), size, self.allowance * self.scale)

    def stake(self, row: Gates) -> float:
        """By the nights that a row has seen."""
        return stake((self.gate.fall or 0.0) * self.scale, row.squares, row.num_squares, self.allowance * self.scale)


def judged(row: Gates, gate: Gate, pair: Pair, last: Gates | None, coverage: float) -> Gates:
    """The row of a gate with its verdict.

    Args:
        row: with its keys, level and nights.
        last: of the last night of the series.
    """
    digests = [_digest(pair.items), _digest(pair.items[[*_FIRST]])]
    if last and last.items == digests[0]:
        return replace(last, sentence=last.sentence.removesuffix(_AGAIN) + _AGAIN)
    is_anew = last is None or last.night >= row.nights
    row.night, row.squares, row.num_squares = (
        (0, 0.0, 0) if last is None else (last.night, last.squares, last.num_squares)
    )
    row.evidence = 0.0 if last is None or is_anew or last.verdict == "failed" else last.evidence
    row.items, row.first_items = (last.items, last.first_items) if last else ("", "")
    if reason := _unfit(gate, pair, digests[1] == row.first_items):
        row.verdict, row.sentence = "not_judged", f"{row.task}, {row.score}: can't be judged: {reason}."
        return row
    row.night, (row.items, row.first_items) = 1 if is_anew else row.night + 1, digests
    night = _night(row, gate, pair)
    _infer(row, night, pair, coverage)
    row.verdict = _verdict(row, night, None if is_anew or last is None else last.p)
    row.sentence = _sentence(row, night)
    return row


def _digest(items: pl.DataFrame) -> str:
    table = items.sort("item").to_arrow()
    kinds = [
        (field.name, pa.string() if pa.types.is_large_string(field.type) else field.type) for field in table.schema
    ]
    return table_digest(table.cast(pa.schema(kinds)))


_FIRST = ("item", "first", "first_variance", "first_repeats")


def _unfit(gate: Gate, pair: Pair, is_same: bool) -> str:
    """Why a night can't be judged; empty where it can."""
    first, second = (pair.items[name].to_numpy() for name in ("first", "second"))
    if min(first.min(), second.min()) < 0.0 or max(first.max(), second.max()) > 1.0:
        return "its scores are not all between 0 and 1"
    if pair.items["cluster"].n_unique() == 1 and pair.items["cluster"].null_count() == 0:
        return "all items are one cluster; set another logs.cluster"
    if gate.is_absolute or gate.judged_by == "single" or gate.baseline == "exact":
        return ""
    if gate.baseline == "stored" and pair.items["first_repeats"].min() < 2:  # type: ignore[operator]
        return (
            "its stored baseline is a single run, whose noise nights add up; log 2 repeats or more, or rerun it nightly"
        )
    if gate.baseline == "rerun" and is_same and (first != second).any():
        stored = (
            "log it with 2 repeats or more and set baseline: stored, or baseline: exact if it answers alike each time"
        )
        return (
            f"its first system has the scores of the last night, as a stored run would; rerun it nightly, or {stored}"
        )
    return ""


def _night(row: Gates, gate: Gate, pair: Pair) -> _Night:
    units = units_of(pair.items["cluster"].to_list(), "cluster")
    first, second = (pair.items[name].to_numpy() for name in ("first", "second"))
    sign = -1.0 if gate.kind == "at_most" else 1.0
    differences = sign * (second - gate.limit) if gate.limit is not None else second - first
    level, allowance = row.level, 0.0
    if gate.baseline == "stored" and not gate.is_absolute and gate.judged_by != "single":
        level, allowance = level / 2.0, _allowance(pair, units, level)
    return _Night(gate, units, units.sums(differences), units.sizes, allowance, level)


def _allowance(pair: Pair, units: Units, level: float) -> float:
    """z sd of the stored mean, as if repeats of one cluster shared all of their noise."""
    from scipy.special import ndtri

    spreads = (pair.items["first_variance"] / pair.items["first_repeats"]).sqrt().to_numpy()
    return float(-ndtri(level / 2.0) * np.sqrt(np.square(units.sums(spreads)).sum()) / spreads.size)


def _infer(row: Gates, night: _Night, pair: Pair, coverage: float) -> None:
    """The numbers of a night."""
    first, second = (pair.items[name].to_numpy() for name in ("first", "second"))
    inferred = (
        mean(second, night.units, level=coverage, scale=LOGIT)
        if night.gate.is_absolute
        else paired_items(first, second, night.units, coverage).difference
    )
    row.value, row.num_units = Estimate(inferred.value, inferred.low, inferred.high), night.units.num
    row.allowance, row.p = night.allowance, float(night.p(night.sums))
    if night.gate.judged_by == "e_detector":
        row.stake, row.threshold = night.stake(row), row.nights / night.level
        row.evidence = float(evidence(night.log_e(night.sums, row.stake)[None], row.evidence)[0])
    row.squares += float(np.square(night.sums / night.sizes.max()).sum())
    row.num_squares += night.units.num
    if night.gate.fall:
        fall, square = night.gate.fall * night.scale, (1.0 + row.squares) / (1.0 + row.num_squares)
        sizes = night.stake(row), square, night.units.num, night.allowance * night.scale
        row.nights_to_catch = nights_to_alarm(row.threshold, fall, *sizes)
    row.false_alarms, row.false_alarms_of = _false_alarms(row, night, pair)


def _false_alarms(row: Gates, night: _Night, pair: Pair) -> tuple[float, str]:
    if night.gate.is_absolute:
        return float("nan"), "nothing: without a baseline no two systems are equal"
    repeats = pair.items["first_repeats"].to_numpy()
    right = num_right(pair.items["first"].to_numpy(), pair.items["first_variance"].to_numpy(), repeats)
    num = int(np.clip(_MOST_DRAWS // repeats.size, 20, 1000))
    rng = np.random.default_rng(int(row.items[:8], 16))
    if right is None:
        sums, source = swapped(night.sums, num, rng), "swaps of labels, which tell of symmetry alone"
    else:
        sums, source = night.units.sums(halves(right, repeats, num, rng)), "halves of the first system's repeats"
    if night.gate.is_decision:
        return float((night.p(sums) > row.level).mean()), f"decisions on {num:,} {source}"
    nights = Nights(night.p(sums), night.log_e(sums, night.stake(row)))
    share = share_of_years(night.gate.judged_by, night.level, row.nights, nights, rng)
    return share, f"1,000 times {plural(row.nights, 'night')} of {num:,} {source}"


def _verdict(row: Gates, night: _Night, last_p: float | None) -> str:
    rule = night.gate.judged_by
    if night.gate.is_decision:
        few = too_few(night.sums, night.sizes, night.units.kind)
        return "too_few" if few else "passed" if row.p <= row.level else "failed"
    if rule == "e_detector":
        return "failed" if row.evidence >= row.threshold else "passed"
    limit = float(p_limit(rule, night.level, row.nights, row.night))
    ps = [row.p, 1.0 if last_p is None else last_p] if rule == "confirm" else [row.p]
    return "failed" if max(ps) <= limit else "passed"


def _sentence(row: Gates, night: _Night) -> str:
    gate, value = night.gate, row.value
    what = f"{row.second} has {with_interval(value.value, value.low, value.high)}"
    if not gate.is_absolute:
        what = f"{row.second} less first is {with_interval(value.value, value.low, value.high)}"
    notes = [f"{_reckoning(row, night)}, of level {amount(row.level)}"]
    if row.nights_to_catch and np.isfinite(row.nights_to_catch):
        notes.append(f"a fall by {amount(gate.fall)} takes about {plural(round(row.nights_to_catch), 'night')}")
    if row.allowance:
        notes.append(f"the stored baseline may be off by {amount(row.allowance)}")
    if night.sizes.max() == 1:
        notes.append("items are taken as independent given the night")
    if row.verdict == "failed" and gate.judged_by == "e_detector":
        notes.append("the evidence begins anew")
    return f"{row.task}, {row.score}: {row.verdict.replace('_', ' ')}: {what}; {'; '.join(notes)}."


def _reckoning(row: Gates, night: _Night) -> str:
    gate, place, p = night.gate, f"night {row.night} of {row.nights}", amount(row.p)
    if gate.margin is not None:
        chance = chance_if_equal(
            float(night.sums @ night.sums / night.sizes.sum()), int(night.sizes.sum()), gate.margin, row.level
        )
        few = too_few(night.sums, night.sizes, night.units.kind)
        return few.reason if few else f"p of that margin is {p}, and an equal system has {chance:.0%} to pass"
    if gate.judged_by == "e_detector":
        return f"evidence {amount(row.evidence)} of {row.threshold:,.0f} on {place}"
    limit = amount(float(p_limit(gate.judged_by, night.level, row.nights, row.night)))
    return f"p is {p} against {limit} on {place}{', and two nights in a row fail' * (gate.judged_by == 'confirm')}"
