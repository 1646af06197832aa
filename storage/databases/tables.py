"""What a database gets, in one transaction: tables, merged into those that it had; ``ledger``, what became of ids in
each run; ``runs``, in their order; and ``current_ids``, a view of each id that is, or was, and where it leads.

The statements are those of PostgreSQL and DuckDB. Names are quoted by a session; values are staged, or parameters.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from tiltmeter.storage.errors import InputError
from tiltmeter.storage.store.identity import digest, table_digest

_RUNS = ("digest", "number", "time", "job")
_VIEW = """create or replace view {current_ids} as with recursive now as (select distinct cluster_id from {clusters}),
ways (id, cluster_id) as (select cluster_id, cluster_id from now union
select moves.before, ways.cluster_id from {ledger} as moves join ways on moves.after = ways.id
where moves.event = 'merged')
select ways.id, ways.cluster_id from ways left join now on now.cluster_id = ways.id
where now.cluster_id is null or ways.id = ways.cluster_id"""


class Table(NamedTuple):
    """Rows, and the columns that tell them apart."""

    name: str
    rows: pa.Table
    key: Sequence[str]


class State(NamedTuple):
    """What a run leaves: tables, one of them ``clusters``, and of ids ``before, after, event, num_records``."""

    tables: Sequence[Table]
    ledger: pa.Table
    job: str


class Change(NamedTuple):
    """Of a table: its rows, those of them that were written, and those that were removed."""

    table: str
    num_rows: int
    num_changed: int
    num_removed: int


class Session(NamedTuple):
    """A connection within a transaction.

    Attributes:
        quoted: a name, or one within another, as statements have it.
        kinds: column of ``information_schema.columns`` that has what ``kind`` gives.
        kind: the type of a column.
        rows: what a query with parameters ``$1, $2, ...`` finds.
        change: the number of rows that a statement changes.
        stage: puts rows where statements find them; returns its name, quoted.
    """

    quoted: Callable[..., str]
    kinds: str
    kind: Callable[[pa.DataType], str]
    rows: Callable[..., list[tuple[Any, ...]]]
    change: Callable[[str], int]
    stage: Callable[[str, pa.Table], str]


def existing(session: Session, schema: str, tables: Iterable[str]) -> Mapping[str, Mapping[str, str]]:
    """The columns with their types of each table that earlier runs left in a schema.

    Raises:
        InputError: if there is a table of such a name that no run has left.
    """
    there: dict[str, dict[str, str]] = {}
    query = f"select table_name, column_name, {session.kinds} from information_schema.columns "  # noqa: S608
    where = "where table_catalog = current_database() and table_schema = $1 order by ordinal_position"
    for table, column, kind in session.rows(query + where, schema):
        there.setdefault(str(table), {})[str(column)] = str(kind)
    names = [name for name in (*tables, "ledger", "runs", "current_ids") if name in there]
    if names and tuple(there.get("runs", ())) != _RUNS:
        raise InputError(f"schema {schema!r} has a table {names[0]!r} that no export made; set export.schema=<another>")
    return there


def merge(session: Session, schema: str, state: State) -> list[Change]:
    """Bring a schema to a state, the row of ``runs`` last; nothing is written where it is there already.

    A run's digest is of rows and columns, and of the run before, so that a state which comes back is another run.
    """
    there, known = existing(session, schema, [table.name for table in state.tables]), []
    names = ("clusters", "ledger", "current_ids")
    if "runs" in there:
        runs = session.quoted(schema, "runs")
        known = session.rows(f"select digest, number from {runs} order by number desc limit 2")  # noqa: S608
    last, before = ([row[0] for row in known] + [None, None])[:2]
    content = digest([[table.name, table_digest(table.rows)] for table in state.tables])
    if last == digest([content, before]):
        return [Change(table.name, table.rows.num_rows, 0, 0) for table in state.tables]
    if not session.rows("select 1 from information_schema.schemata where schema_name = $1", schema):
        session.change(f"create schema {session.quoted(schema)}")
    run, num = digest([content, last]), state.ledger.num_rows
    numbers = [pa.repeat(run, num), pa.array(range(num), pa.int64())]
    ledger = pa.table([*numbers, *state.ledger.columns], ["run", "number", *state.ledger.column_names])
    entry = [run, known[0][1] + 1 if known else 1, datetime.now(UTC), state.job]
    changes = [_merged(session, schema, table, there) for table in state.tables]
    _merged(session, schema, Table("ledger", ledger, ["run", "number"]), there, is_whole=False)
    session.change(_VIEW.format(**{name: session.quoted(schema, name) for name in names}))
    rows = pa.table([[value] for value in entry], list(_RUNS))
    _merged(session, schema, Table("runs", rows, ["digest"]), there, is_whole=False)
    return changes


def _merged(
    session: Session, schema: str, table: Table, there: Mapping[str, Mapping[str, str]], *, is_whole: bool = True
) -> Change:
    """Write what is new or differs, and delete what is lacking from rows that are the whole table."""
    place, quoted = session.quoted(schema, table.name), session.quoted
    kinds = {field.name: session.kind(field.type) for field in table.rows.schema}
    names, key = list(map(quoted, kinds)), list(map(quoted, table.key))
    if there.get(table.name) != kinds:
        if table.name in there:
            session.change(f"drop table {place}")
        columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in kinds.items())
        session.change(f"create table {place} ({columns}, primary key ({', '.join(key)}))")
    staged, others = session.stage(table.name, table.rows), [name for name in names if name not in key]
    sets = ", ".join(f"{name} = excluded.{name}" for name in others)
    ours, theirs = (", ".join(f"{side}.{name}" for name in others) for side in ("ours", "excluded"))
    action = f"update set {sets} where ({ours}) is distinct from ({theirs})" if others else "nothing"
    listed = ", ".join(names)
    insert = f"insert into {place} as ours ({listed}) select {listed} from {staged}"  # noqa: S608
    num_changed = session.change(f"{insert} on conflict ({', '.join(key)}) do {action}")
    same = " and ".join(f"staged.{name} = ours.{name}" for name in key)
    lacking = f"delete from {place} as ours where not exists (select 1 from {staged} as staged where {same})"  # noqa: S608
    return Change(table.name, table.rows.num_rows, num_changed, session.change(lacking) if is_whole else 0)


def check_text(rows: pl.DataFrame, ids: str) -> None:
    """Refuse texts with NUL, which PostgreSQL can't hold, naming the id in their row."""
    for name in rows.select(pl.col(pl.String)).columns:
        if (wrong := rows.filter(pl.col(name).str.contains("\0", literal=True))).height:
            raise InputError(
                f"record {wrong[ids][0]!r} has NUL in column {name!r}, which PostgreSQL can't hold: take it out, or "
                "leave out export.postgres"
            )
