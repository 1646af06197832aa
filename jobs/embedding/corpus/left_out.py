"""Records that were left out of files: counted by the units that read them, held against the share that is allowed."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from tiltmeter.cluster.stages import Runner, Stage
from tiltmeter.cluster.work import Failure, Tables
from tiltmeter.jobs.embedding.corpus.parts import Part
from tiltmeter.storage.bad_records import BadRecords
from tiltmeter.storage.corpora.corpora import Source
from tiltmeter.storage.errors import InputError
from tiltmeter.storage.files.redaction import redacted
from tiltmeter.storage.store.ledger import Finished, Store, Unit

_NAME = "left_out"
_TEXTS, _NUMBERS = ("file", "reason", "kind", "first"), ("num", "num_records")
_SCHEMA = pa.schema([*((name, pa.string()) for name in _TEXTS), *((name, pa.int64()) for name in _NUMBERS)])
"""The last is of the file, as far as the unit read it."""


def left_out_table(bad: BadRecords) -> Tables:
    """The table ``left_out`` of a unit, if anything was."""
    rows = [row | {"num_records": bad.num_records.get(row["file"], 0)} for row in bad.rows()]
    if rows:
        yield _NAME, pa.Table.from_pylist(rows, _SCHEMA)


def left_out_of(store: Store, parts: Mapping[str, Part], finished: Sequence[Finished]) -> BadRecords:
    """What was left out of a corpus.

    Args:
        store: with the tables.
        parts: what its units read, by their places.
        finished: those that were done.
    """
    bad = _counted(store, finished)
    known = set(bad.num_records)
    for done in finished:
        files = {redacted(source.uri) for source in parts[done.place].sources}
        if _NAME not in done.tables and files <= known:
            pages = [ref for name, ref in done.tables.items() if name.startswith(("shard_", "part_"))]
            bad.read(files.pop(), sum(ref.num_rows for ref in pages))
    return bad


def _counted(store: Store, finished: Sequence[Finished]) -> BadRecords:
    """Of the files of which anything was left out."""
    bad = BadRecords()
    for done in finished:
        if _NAME in done.tables:
            rows = store.read(done.tables[_NAME]).to_pylist()
            bad.add_rows(rows)
            for file, num in {row["file"]: row["num_records"] for row in rows}.items():
                bad.read(file, num)
    return bad


def read_whole_files(runner: Runner, stage: Stage, max_share: float) -> dict[str, list[Finished]]:
    """Run units of which each reads a file; returns the groups of which all files can be used.

    Raises:
        InputError: if too many records of a file are bad, and no group is left.
        UnitsFailed: if no group is left for other reasons.
    """
    done = runner.run_whole(stage)
    refusals = []
    for name, finished in done.items():
        for unit, one in zip(stage.units[name], finished, strict=True):
            bad = _counted(runner.store, [one])
            runner.leave_out(bad)
            for _, error in bad.refusals(max_share):
                runner.failures[name].append(Failure(unit, f"InputError: {error}", ""))
                refusals.append(error)
    whole = {name: finished for name, finished in done.items() if not runner.failures[name]}
    if refusals and not whole:
        raise refusals[0]
    return whole


def refuse_bad_files(
    runner: Runner, name: str, units: Sequence[Unit], parts: Mapping[str, Part], bad: BadRecords, max_share: float
) -> Iterator[tuple[str, InputError]]:
    """Enter the units of files of which too many records are bad among the failures of a corpus; yields their places
    and why."""
    for file, error in sorted(bad.refusals(max_share)):
        reading = [unit for unit in units if any(_holds(source, file) for source in parts[unit.place].sources)]
        runner.failures[name].append(Failure(reading[0], f"InputError: {error}", ""))
        yield from ((unit.place, error) for unit in reading)


def _holds(source: Source, file: str) -> bool:
    """Whether it is the file, or the archive that the file is in, whose name begins with the archive's."""
    return f"{file}/".startswith(f"{redacted(source.uri)}/")
