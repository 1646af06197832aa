"""A state in DuckDB and in PostgreSQL is there whole or not at all, whatever it is called and whoever is killed."""

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from itertools import count
from pathlib import Path

import duckdb
import polars as pl
import psycopg
import pyarrow as pa
import pytest

from tiltmeter.storage.databases import duckdb as ducks
from tiltmeter.storage.databases import postgres as elephants
from tiltmeter.storage.databases.tables import State, Table, check_text, merge
from tiltmeter.storage.errors import InputError, StorageError

SCHEMA = 'e"; drop table runs; --%s$1'
EVIL = ['na"; drop table clusters; --', "%s", "select", "🙂", "ü" * 35, "excluded", "staged", "x.y", "ours", "{}"]
VALUES = ["'; drop table runs; --", "%s $1 \\N", 'a"b\nc\td\\', "", None, "𝔘", "null"]
EVENTS = pa.schema({"before": pa.int64(), "after": pa.int64(), "event": pa.string(), "num_records": pa.int64()}.items())
WRITE = {"duckdb": ducks.write_duckdb, "postgres": elephants.write_postgres}


def state(shift=0, num=30, names=EVIL, moves=()):
    """Of so many records, three to a cluster; ``shift`` changes some and leaves others."""
    clusters = [((number + shift) // 3) * 10 for number in range(num)]
    ids = sorted({*clusters})
    texts = {name: [VALUES[(id_ // 10 + place) % 7] for id_ in ids] for place, name in enumerate(names)}
    sizes = [float("nan"), float("-inf"), *(float(id_ + shift) for id_ in ids[2:])]
    at = pa.array([datetime(2021, 1, 1, 12, 30, 1, 5, UTC)] * len(ids), pa.timestamp("us", "UTC"))
    big = pa.array([2**64 - 1] * len(ids), pa.uint64())
    rows = {"cluster_id": ids, **texts, "size": sizes, "day": [date(2020, 1, 2)] * len(ids), "at": at, "big": big}
    cells = {"cluster_id": ids, "field": ["%s"] * len(ids), "value": [VALUES[0]] * len(ids)}
    records = {"record": [f"{number}'\n" for number in range(num)], "cluster_id": clusters}
    parts = [(records, ["record"]), (rows, ["cluster_id"]), (cells, ["cluster_id", "field"])]
    tables = [Table(name, pa.table(part), key) for name, (part, key) in zip(NAMES, parts, strict=True)]
    events = [dict(zip(EVENTS.names, move, strict=True)) for move in moves]
    return State(tables, pa.Table.from_pylist(events, EVENTS), "entity_resolution")


NAMES = ("clusters", "canonical", "cells")
MOVES = [(20, 10, "merged", 3), (None, 30, "new", 2)]
OLD, NEW = state, partial(state, 1, 27, [*EVIL[1:], "new"], MOVES)


def contents(place, table):
    query = f"select * from {ducks._quoted(SCHEMA, table)}"
    if place.startswith("postgresql:"):
        with psycopg.connect(place) as connection:
            rows = psycopg.RawCursor(connection).execute(query).fetchall()
    else:
        with duckdb.connect(place, read_only=True) as connection:
            rows = [row.values() for row in connection.sql(query).to_arrow_table().to_pylist()]
    return sorted([tuple(map(plain, row)) for row in rows], key=repr)


def plain(value):
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    return int(value) if isinstance(value, Decimal) else repr(value) if isinstance(value, float) else value


def holds(place, expected):
    """Whether a database has the rows of a state, and no others."""
    rows = {
        table.name: [tuple(map(plain, row.values())) for row in table.rows.to_pylist()] for table in expected.tables
    }
    return all(contents(place, name) == sorted(rows[name], key=repr) for name in NAMES)


@pytest.fixture
def place(request, tmp_path):
    if request.param == "duckdb":
        return str(tmp_path / "a.duckdb")
    server = request.getfixturevalue("postgres")
    server.rows(f"drop schema if exists {ducks._quoted(SCHEMA)} cascade")
    return server.uri()


both = pytest.mark.parametrize(("kind", "place"), [(kind, kind) for kind in WRITE], indirect=["place"])


@pytest.mark.long
@both
def test_a_schema_is_brought_from_state_to_state_and_back(kind, place):
    """What is evil in names and values stays a name and a value."""
    write = partial(WRITE[kind], place, SCHEMA)
    assert [change[1:] for change in write(OLD())] == [(30, 30, 0), (10, 10, 0), (10, 10, 0)]
    assert [change[1:] for change in write(OLD())] == [(30, 0, 0), (10, 0, 0), (10, 0, 0)]
    # Every third of 27 records moves; other columns make other rows, which are all written.
    assert [change[1:] for change in write(NEW())] == [(27, 9, 3), (10, 10, 0), (10, 0, 0)]
    assert holds(place, NEW())
    assert contents(place, "current_ids") == sorted([(id_, id_) for id_ in range(0, 100, 10)], key=repr)
    write(state(0, 6, moves=[(40, 0, "merged", 3), (50, 40, "merged", 1), (0, 10, "split", 1)]))
    assert contents(place, "current_ids") == [(0, 0), (10, 10), (20, 10), (40, 0), (50, 0)]
    write(OLD())
    assert holds(place, OLD())
    runs = sorted(contents(place, "runs"), key=lambda row: row[1])
    assert ([row[1] for row in runs], {row[3] for row in runs}) == ([1, 2, 3, 4], {"entity_resolution"})
    ledger = contents(place, "ledger")
    assert {row[0]: sum(row[0] == other[0] for other in ledger) for row in ledger} == {runs[1][0]: 2, runs[2][0]: 3}
    assert [row[1:] for row in ledger if row[0] == runs[1][0]] == [(at, *move) for at, move in enumerate(MOVES)]


def killed(kind, place, is_new):
    """Exports, each killed before one more of its steps; after each, the old state must be there."""
    module, old, new = ducks if kind == "duckdb" else elephants, OLD(), NEW()
    for step in count(0, 4 if is_new else 3):
        if not (child := os.fork()):
            if os.path.exists(place) if is_new else not holds(place, old):
                os._exit(1)
            module.merge = partial(dying, count(), step)
            WRITE[kind](place, SCHEMA, new)
            os._exit(0)
        if (status := os.waitpid(child, 0)[1]) != signal.SIGKILL:
            print(step)
            sys.exit(status)


def dying(steps, last, session, schema, state):
    def counted(call, *arguments):
        if next(steps) == last:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments)

    calls = {name: partial(counted, getattr(session, name)) for name in ("change", "stage")}
    changes = merge(session._replace(**calls), schema, state)
    counted(int)
    return changes


def process(call):
    code = f"from tests.storage.test_databases import *; {call}"
    return subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "place", "is_new"),
    [("duckdb", "duckdb", False), ("duckdb", "duckdb", True), ("postgres", "postgres", False)],
    indirect=["place"],
)
def test_a_process_that_is_killed_on_its_way_leaves_the_old_state(kind, place, is_new):
    """At every third step of those that change a standing schema, every fourth of those of a new file."""
    if not is_new:
        WRITE[kind](place, SCHEMA, OLD())
    exporter = process(f"killed({kind!r}, {place!r}, {is_new})")
    output, _ = exporter.communicate(timeout=120)
    assert (exporter.returncode, int(output) > 15) == (0, True)
    assert holds(place, NEW())
    if kind == "duckdb":
        WRITE[kind](place, SCHEMA, NEW())
        assert [path.name for path in Path(place).parent.iterdir()] == ["a.duckdb"]


def waiting(server, kind, num):
    for _ in range(2000):
        if server.rows("select 1 from pg_locks where not granted and locktype = $1", kind)[:num]:
            return
        time.sleep(0.01)
    raise TimeoutError(kind)


@pytest.mark.long
@pytest.mark.parametrize("place", ["postgres"], indirect=True)
def test_of_two_exporters_one_waits_and_the_other_may_be_killed_in_its_midst(postgres, place):
    """A lock that a third one holds keeps the first from its third table; who reads waits for nobody.

    What the second writes has as many rows as what was there.
    """
    elephants.write_postgres(place, SCHEMA, OLD())
    with psycopg.connect(place) as connection:
        connection.execute(f"lock table {ducks._quoted(SCHEMA, 'cells')} in share mode".encode())
        first = process(f"elephants.write_postgres({place!r}, SCHEMA, state(1))")
        waiting(postgres, "relation", 1)
        assert postgres.rows("select 1 from pg_stat_activity where query like 'insert into%'")
        second = process(f"elephants.write_postgres({place!r}, SCHEMA, state(3))")
        waiting(postgres, "advisory", 1)
        first.kill()
        first.wait()
        assert holds(place, OLD())
    assert second.wait(60) == 0
    assert holds(place, state(3))
    assert sorted(row[1] for row in contents(place, "runs")) == [1, 2]


def refused(call, error=InputError):
    with pytest.raises(error) as refusal:
        call()
    return str(refusal.value)


def test_what_does_not_fit_is_refused_by_name(postgres, tmp_path):
    postgres.rows("drop schema if exists other cascade; create schema other; create table other.cells (a int)")
    postgres.rows("create role plain login; create schema shut; grant usage on schema shut to plain")
    check, uri = partial(elephants.check_postgres, tables=NAMES), postgres.uri()
    other = "schema 'other' has a table 'cells' that no export made; set export.schema=<another>"
    assert refused(lambda: check(uri, "other")) == other
    assert refused(lambda: elephants.write_postgres(uri, "other", OLD())) == other
    said = "export.postgres=postgresql:///postgres: its user may not create tables in schema"
    assert refused(lambda: check(postgres.uri("plain"), "shut")) == f"{said} 'shut'"
    assert refused(lambda: check(postgres.uri("plain"), "none")) == f"{said} 'none'"
    assert refused(lambda: check(uri, "ü" * 32)) == f"export.schema={'ü' * 32}: must have 63 bytes or fewer"
    away = refused(lambda: check(uri.replace("port=", "port=1"), "x"), StorageError)
    assert away.startswith("export.postgres=postgresql:///postgres: ")
    long = "a" * 63
    assert elephants.column_names(["ü" * 40, "B", "b"]) == ["ü" * 31, "B", "b"]
    shared = f"columns {long!r} and {long + 'b'!r} share 63 bytes, all that PostgreSQL keeps of a name"
    assert refused(lambda: elephants.column_names([long, f"{long}b"])) == shared
    system = "no column of PostgreSQL may be called 'ctid': rename it, or leave out export.postgres"
    assert refused(lambda: elephants.column_names(["ctid"])) == system
    rows = pl.DataFrame({"record": ["a", "b"], "x": ["", "\0"]})
    nul = "record 'b' has NUL in column 'x', which PostgreSQL can't hold: take it out, or leave out export.postgres"
    assert refused(lambda: check_text(rows, "record")) == nul
    looked = partial(ducks.check_duckdb, schema="s", tables=NAMES)
    case = "columns 'A' and 'a' are one to DuckDB, which takes no notice of case"
    assert refused(lambda: looked(str(tmp_path / "a.duckdb"), columns=["A", "a"])) == case
    (tmp_path / "text").write_text("no database" * 1000)
    said = refused(lambda: looked(str(tmp_path / "text"), columns=[]), StorageError)
    assert said.startswith(f"export.duckdb={tmp_path}/text: IO Error: ")
    absent = f"export.duckdb={tmp_path}/no/a: no file can be made in {tmp_path}/no; choose another path"
    assert refused(lambda: looked(f"{tmp_path}/no/a", columns=[]), StorageError) == absent
