"""DuckDB: a new file is written beside its place; a standing one changes in one transaction."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa

from tiltmeter.storage.databases.tables import Change, Session, State, existing, merge
from tiltmeter.storage.errors import InputError, StorageError
from tiltmeter.storage.files.redaction import reason
from tiltmeter.storage.store.partial_files import clean_up_partial_files, temporary_path


def _quoted(*names: str) -> str:
    return ".".join('"' + name.replace('"', '""') + '"' for name in names)


@contextmanager
def connected(path: str, place: str) -> Iterator[Session]:
    """A transaction, which is committed at the end of the block, or not at all; errors name a place.

    Raises:
        StorageError: if the file is no database, another process holds it, or it can't be written.
    """

    import duckdb

    def stage(table: str, rows: pa.Table) -> str:
        connection.register(f"staged {table}", rows)
        return _quoted(f"staged {table}")

    def change(statement: str) -> int:
        count = connection.execute(statement).fetchone()
        return int(count[0]) if count else 0

    try:
        with duckdb.connect(path) as connection:
            connection.begin()
            yield Session(
                _quoted,
                "data_type",
                lambda column: str(connection.from_arrow(pa.schema([("x", column)]).empty_table()).types[0]),
                lambda statement, *values: connection.execute(statement, values).fetchall(),
                change,
                stage,
            )
            connection.commit()
    except duckdb.Error as error:
        raise StorageError(f"export.duckdb={place}: {reason(error)}; nothing was written there") from error


def check_duckdb(path: str, schema: str, tables: Sequence[str], columns: Sequence[str]) -> None:
    """Look whether a file can be written, and whether it can have columns of these names.

    Raises:
        InputError, StorageError: if not.
    """
    known: dict[str, str] = {}
    for name in columns:
        if (other := known.setdefault(name.lower(), name)) != name:
            raise InputError(f"columns {other!r} and {name!r} are one to DuckDB, which takes no notice of case")
    if os.path.exists(path):
        with connected(path, path) as session:
            existing(session, schema, tables)
    elif not os.access(Path(path).parent, os.W_OK):
        raise StorageError(f"export.duckdb={path}: no file can be made in {Path(path).parent}; choose another path")


def write_duckdb(path: str, schema: str, state: State) -> list[Change]:
    """Bring a schema to a state; a new file is there when it is whole. Returns what changed, as :func:`.tables.merge`.

    Raises:
        StorageError: if the file can't be written; the old state stays.
    """
    if not os.path.exists(path):
        new = temporary_path(path)
        clean_up_partial_files([Path(path).parent], is_recursive=False)
        try:
            with connected(new, path) as session:
                changes = merge(session, schema, state)
            with open(new, "rb") as file:
                os.fsync(file.fileno())
            # Unlike a renamed file, a link never takes the place of what another export has made meanwhile.
            os.link(new, path)
            return changes
        except FileExistsError:
            pass
        finally:
            for left in (new, f"{new}.wal"):
                Path(left).unlink(missing_ok=True)
    with connected(path, path) as session:
        return merge(session, schema, state)
