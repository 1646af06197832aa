"""What gates say of a night, by this night and by what the nights before it left in the store."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa

from tiltmeter.jobs.runtime.config import ConfigError, asked, recorded_settings
from tiltmeter.jobs.runtime.context import Run
from tiltmeter.jobs.runtime.work import Work, aside
from tiltmeter.jobs.upkeep.compare.gates import Gate, Gates
from tiltmeter.jobs.upkeep.compare.night import Night, unfit
from tiltmeter.jobs.upkeep.compare.pairs import Pair
from tiltmeter.jobs.upkeep.overnight.gates import gates_of_comparison
from tiltmeter.jobs.upkeep.overnight.junit import junit_xml
from tiltmeter.jobs.upkeep.overnight.outcome import failure_of
from tiltmeter.storage.errors import choices
from tiltmeter.storage.store.identity import digest, table_digest
from tiltmeter.storage.store.ledger import Store, TableRef
from tiltmeter.storage.store.marks import open_store
from tiltmeter.storage.store.registry import Registry
from tiltmeter.storage.store.runs import read_run_table

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
    if reason := unfit(gate, pair, is_same):
        row.verdict, row.sentence = "not_judged", f"{row.task}, {row.score}: can't be judged: {reason}."
        return row
    row.night, row.items, row.first_items = row.night + 1, items, first
    return Night(row, gate, pair).judge(coverage)
