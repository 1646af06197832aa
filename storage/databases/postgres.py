"""PostgreSQL: one connection and one transaction, from a lock to the row that says that a state is there."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from tiltmeter.storage.databases.tables import Change, Session, State, existing, merge
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files.redaction import reason, redacted
from tiltmeter.storage.store.identity import digest

_LONGEST_NAME = 63
_SYSTEM = ("cmax", "cmin", "ctid", "tableoid", "xmax", "xmin")
_KINDS = (
    (pa.types.is_string, "text"),
    (pa.types.is_uint64, "numeric"),
    (pa.types.is_integer, "int8"),
    (pa.types.is_boolean, "bool"),
    (pa.types.is_floating, "float8"),
    (pa.types.is_date, "date"),
    (pa.types.is_time, "time"),
    (lambda kind: kind.tz is not None, "timestamptz"),
    (pa.types.is_timestamp, "timestamp"),
)


def column_names(names: Sequence[str]) -> list[str]:
    """Names of columns as PostgreSQL keeps them: their first 63 bytes.

    Raises:
        InputError: for two that would be one, and for names that no column may have.
    """
    known: dict[str, str] = {}
    for name in names:
        short = name.encode()[:_LONGEST_NAME].decode(errors="ignore")
        if short in _SYSTEM or "\0" in name:
            raise InputError(f"no column of PostgreSQL may be called {name!r}: rename it, or leave out export.postgres")
        if short in known:
            raise InputError(
                f"columns {known[short]!r} and {name!r} share 63 bytes, all that PostgreSQL keeps of a name"
            )
        known[short] = name
    return list(known)


@contextmanager
def connected(uri: str) -> Iterator[Session]:
    """A transaction, which is committed at the end of the block, or not at all.

    Raises:
        StorageError: if the server can't be reached, or refuses something.
    """
    import psycopg

    def quoted(*names: str) -> str:
        return psycopg.sql.Identifier(*names).as_string(connection)

    def execute(statement: str, *values: object) -> Any:
        return cursor.execute(statement.encode(), values or None)

    def stage(table: str, rows: pa.Table) -> str:
        name, columns = quoted(f"staged {table}"), [(quoted(field.name), _kind(field.type)) for field in rows.schema]
        listed = ", ".join(map(" ".join, columns))
        execute(f"create temporary table {name} ({listed}) on commit drop")
        with cursor.copy(f"copy pg_temp.{name} from stdin (format binary)".encode()) as copy:
            copy.set_types([kind for _, kind in columns])
            for batch in rows.cast(pa.schema(map(_in_microseconds, rows.schema)), safe=False).to_batches(10_000):
                for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                    copy.write_row(row)
        return f"pg_temp.{name}"

    try:
        with psycopg.connect(uri) as connection:
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            cursor = psycopg.RawCursor(connection)
            yield Session(
                quoted,
                "udt_name",
                _kind,
                lambda statement, *values: execute(statement, *values).fetchall(),
                lambda statement: execute(statement).rowcount,
                stage,
            )
    except (psycopg.Error, UnicodeError, OverflowError) as error:
        raise StorageError(f"export.postgres={redacted(uri)}: {reason(error)}; nothing was written there") from None


def _kind(column: pa.DataType) -> str:
    return next(name for fits, name in _KINDS if fits(column))


def _in_microseconds(field: pa.Field) -> pa.Field:
    """A column, of moments with the digits that PostgreSQL has."""
    if pa.types.is_timestamp(field.type):
        return field.with_type(pa.timestamp("us", field.type.tz))
    return field.with_type(pa.time64("us")) if pa.types.is_time(field.type) else field


def check_postgres(uri: str, schema: str, tables: Sequence[str]) -> None:
    """Try the connection, and whether the user may write into the schema.

    Raises:
        InputError, StorageError: if not.
    """
    if len(schema.encode()) > _LONGEST_NAME:
        raise InputError(f"export.schema={schema}: must have {_LONGEST_NAME} bytes or fewer")
    with connected(uri) as session:
        existing(session, schema, tables)
        rights = "has_schema_privilege(oid, 'create') and has_schema_privilege(oid, 'usage')"
        [[is_allowed]] = session.rows(
            f"select coalesce((select {rights} from pg_namespace where nspname = $1), "  # noqa: S608
            "has_database_privilege(current_database(), 'create'))",
            schema,
        )
        if not is_allowed:
            raise InputError(f"export.postgres={redacted(uri)}: its user may not create tables in schema {schema!r}")


def write_postgres(uri: str, schema: str, state: State) -> list[Change]:
    """Bring a schema to a state, as :func:`.tables.merge` does; who exports meanwhile waits. Returns what changed.

    Raises:
        StorageError: if the server refuses something; the old state stays.
    """
    names = [column_names(table.rows.column_names) for table in state.tables]
    tables = [table._replace(rows=table.rows.rename_columns(n)) for table, n in zip(state.tables, names, strict=True)]
    with connected(uri) as session:
        session.rows("select pg_advisory_xact_lock($1)", int(digest(["export", schema])[:15], 16))
        return merge(session, schema, state._replace(tables=tables))
